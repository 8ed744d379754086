"""The whole sweep as one compiled function: counts, densities, divergences, variances, importances."""

from collections import defaultdict
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import total
from parzax.importance.counts import sweep_counts
from parzax.importance.flags import level_status, parameter_status
from parzax.importance.regime import level_divergences
from parzax.importance.variance import (
    inter_regime_variance,
    normalise,
    unweighted_variance,
    within_regime_variance,
)
from parzax.observations import Layout, Slot
from parzax.parzen import GridEstimator


class Sweep(NamedTuple):
    """What `sweep` returns, as NumPy arrays; q levels of s seeds, levels in ascending order."""

    counts: Shaped[np.ndarray, "s q1 w"]
    divergence: Float[np.ndarray, "s q d k"]
    n_target: Shaped[np.ndarray, "s q d k"]
    n_region: Shaped[np.ndarray, "s d k"]
    variance: Float[np.ndarray, "s q d"]
    inter: Float[np.ndarray, "s q d"]
    unweighted: Float[np.ndarray, "s q d"]
    importance: Float[np.ndarray, "s q d"]
    status: Int[np.ndarray, "s q d"]


def sweep(
    codes: Int[np.ndarray, "s d n"],
    level: Int[np.ndarray, "s n"],
    weight: Shaped[Array, "s n"] | None,
    log_status: Int[np.ndarray, "s q"],
    *,
    layout: Layout,
    estimator: GridEstimator,
    uniform: bool = False,
) -> Sweep:
    """Conditional PED-ANOVA of all seeds, levels and parameters; one dispatch, in JAX's default dtype.

    Args:
        codes: (s, d, n) unsigned grid codes, see `parzax.observations.grid_codes`.
        level: (s, n) first level set of each row; q = region only, q + 1 = excluded.
        weight: (s, n) frequency weights (integers give integer counts) or None.
        log_status: (s, q) int32 bits known from the losses alone, see `parzax.observations.LevelSets`.
        layout: columns of the counts, static.
        estimator: static.
        uniform: compare with the uniform density instead of the region's.
    """
    packed = compiled_sweep(
        codes, level, weight, log_status, layout=layout, estimator=estimator, uniform=uniform
    )
    counts, measures, status = map(np.asarray, packed)
    n, k = layout.n_columns, layout.n_regimes
    rows = counts[..., n:].reshape(*counts.shape[:-1], layout.n_parameters, k)
    return Sweep(
        counts=counts[..., :n],
        divergence=measures[..., :k],
        n_target=rows[:, :-1],
        n_region=rows[:, -1],
        variance=measures[..., k],
        inter=measures[..., k + 1],
        unweighted=measures[..., k + 2],
        importance=measures[..., k + 3],
        status=status,
    )


class _Packed(NamedTuple):
    """A `Sweep` in three arrays: each array that leaves compiled code costs about a microsecond.

    Attributes:
        counts: the counts, then the rows of every regime.
        measures: the divergence of every regime, then variance, inter, unweighted and importance.
        status: as it is.
    """

    counts: Shaped[Array, "s q1 {w+d*k}"]
    measures: Float[Array, "s q d {k+4}"]
    status: Int[Array, "s q d"]

    @property
    def variance(self) -> Float[Array, "s q d"]:
        """The within-regime variance."""
        return self.measures[..., -4]


@partial(jax.jit, static_argnames=("layout", "estimator", "uniform"))
def compiled_sweep(
    codes: Int[Array, "s d n"],
    level: Int[Array, "s n"],
    weight: Shaped[Array, "s n"] | None,
    log_status: Int[Array, "s q"],
    *,
    layout: Layout,
    estimator: GridEstimator,
    uniform: bool,
) -> _Packed:
    """`sweep` as one compiled function."""
    dtype = jnp.result_type(float)
    counts = sweep_counts(codes, level, weight, n_levels=log_status.shape[1], layout=layout)
    rows = _regime_totals(counts, layout)
    n_target, n_region = rows[:, :-1], rows[:, -1]
    divergence = _divergences(counts, layout, estimator, uniform, dtype)
    enough = n_region >= estimator.min_regime_rows
    divergence = jnp.where(enough[:, None], divergence, 0)
    over_levels = jax.vmap(partial(_variances, dtype=dtype), in_axes=(0, 0, None))
    variance, inter, unweighted = jax.vmap(over_levels)(divergence, n_target, n_region)
    importance = normalise(variance, uniform_when_undefined=estimator.uniform_when_undefined)
    of_levels = jax.vmap(jax.vmap(level_status, in_axes=(0, 0, None)))(variance, n_target, n_region)
    occupied = _regime_totals((counts[:, -1] > 0).astype(jnp.int32), layout, inactive=False)
    of_parameters = jax.vmap(partial(parameter_status, layout=layout, estimator=estimator))(
        n_region, occupied
    )
    status = log_status[..., None] | of_levels | of_parameters[:, None]
    of_parameter = jnp.stack([variance, inter, unweighted, importance], axis=-1)
    return _Packed(
        jnp.concatenate([counts, rows.reshape(*rows.shape[:2], -1)], axis=-1),
        jnp.concatenate([divergence, of_parameter], axis=-1),
        status,
    )


def _variances(
    divergence: Float[Array, "d k"],
    n_target: Shaped[Array, "d k"],
    n_region: Shaped[Array, "d k"],
    dtype: jnp.dtype,
) -> tuple[Float[Array, " d"], Float[Array, " d"], Float[Array, " d"]]:
    """Within-regime, inter-regime and unweighted variance of every parameter at one level."""
    # Every row is in exactly one regime of the first parameter.
    total_target, total_region = total(n_target[0]), total(n_region[0])
    variance = jax.vmap(within_regime_variance, in_axes=(0, 0, 0, None))(
        divergence, n_target, n_region, total_region
    )
    inter = jax.vmap(partial(inter_regime_variance, dtype=dtype))(n_target, n_region)
    unweighted = jax.vmap(unweighted_variance, in_axes=(0, None, None))(
        divergence, total_target, total_region
    )
    return variance, inter, unweighted


def _divergences(
    counts: Shaped[Array, "s q1 w"], layout: Layout, estimator: GridEstimator, uniform: bool, dtype: jnp.dtype
) -> Float[Array, "s q d k"]:
    """Divergence of every regime; slots of one kind and similar size share one padded batch."""
    parts = []
    for (kind, width), slots in _groups(layout).items():
        if kind not in ("numeric", "categorical"):
            parts.append(jnp.zeros((counts.shape[0], counts.shape[1] - 1, len(slots)), dtype))
            continue
        one = partial(level_divergences, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype)
        sizes = [slot.n_cells for slot in slots]
        padded = any(size != width for size in sizes)
        over_slots = jax.vmap(one, in_axes=(1, 0 if padded else None), out_axes=1)
        over_seeds = jax.vmap(over_slots, in_axes=(0, None))
        parts.append(over_seeds(_stack(counts, slots, width), jnp.array(sizes) if padded else None))
    return _by_parameter(jnp.concatenate(parts, axis=-1), layout)


def _regime_totals(
    counts: Shaped[Array, "... w"], layout: Layout, *, inactive: bool = True
) -> Shaped[Array, "... d k"]:
    """Sums over the cells per parameter and regime; "inactive" last, or 0 there."""
    parts = [
        _stack(counts, slots, width).sum(axis=-1, dtype=counts.dtype)
        for (_, width), slots in _groups(layout).items()
    ]
    totals = _by_parameter(jnp.concatenate(parts, axis=-1), layout)
    if not inactive:
        return totals
    return totals.at[..., -1].set(counts[..., jnp.asarray(layout.inactive)])


def _groups(layout: Layout) -> dict[tuple[str, int], list[Slot]]:
    """Slots by kind and width: the power of two above their size, or their size where it is the only one.

    Each group is compiled once, and its code grows with its width; a grid size of its own for each slot
    would take minutes to compile where a domain of integers moves.
    """
    classes: dict[tuple[str, int], list[Slot]] = defaultdict(list)
    for slot in layout.slots:
        classes[slot.kind, 1 << (slot.n_cells - 1).bit_length()].append(slot)
    return {(kind, max(s.n_cells for s in slots)): slots for (kind, _), slots in classes.items()}


def _stack(counts: Shaped[Array, "... w"], slots: list[Slot], width: int) -> Shaped[Array, "... j g"]:
    """The columns of some slots, padded to a width: (..., number of slots, width)."""
    columns = [
        jnp.pad(
            counts[..., slot.start : slot.start + slot.n_cells],
            [(0, 0)] * (counts.ndim - 1) + [(0, width - slot.n_cells)],
        )
        for slot in slots
    ]
    return jnp.stack(columns, axis=-2)


def _by_parameter(x: Shaped[Array, "... j"], layout: Layout) -> Shaped[Array, "... d k"]:
    """Scatter one number per slot (in the order of `_groups`) to (parameter, regime); 0 elsewhere."""
    n_regimes = layout.n_regimes
    ordered = [slot for slots in _groups(layout).values() for slot in slots]
    source = [len(ordered)] * (layout.n_parameters * n_regimes)
    for i, slot in enumerate(ordered):
        source[slot.parameter * n_regimes + slot.regime] = i
    padded = jnp.concatenate([x, jnp.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)
    return padded[..., jnp.asarray(source)].reshape(*x.shape[:-1], layout.n_parameters, n_regimes)
