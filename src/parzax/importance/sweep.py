"""The whole sweep as one compiled function: counts, densities, divergences, variances, importances."""

from collections import defaultdict
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax.importance.counts import sweep_counts
from parzax.importance.regime import regime_divergence
from parzax.importance.variance import (
    inter_regime_variance,
    normalise,
    unweighted_variance,
    within_regime_variance,
)
from parzax.observations import Layout, Slot
from parzax.parzen import GridEstimator


class Sweep(NamedTuple):
    """What `sweep` returns; q levels of s seeds, levels in ascending order."""

    counts: Shaped[Array, "s q1 w"]
    divergence: Float[Array, "s q d k"]
    n_target: Shaped[Array, "s q d k"]
    n_region: Shaped[Array, "s d k"]
    variance: Float[Array, "s q d"]
    inter: Float[Array, "s q d"]
    unweighted: Float[Array, "s q d"]
    importance: Float[Array, "s q d"]


@partial(jax.jit, static_argnames=("n_levels", "layout", "estimator", "uniform"))
def sweep(
    codes: Int[Array, "s d n"],
    level: Int[Array, "s n"],
    weight: Shaped[Array, "s n"] | None,
    *,
    n_levels: int,
    layout: Layout,
    estimator: GridEstimator,
    uniform: bool = False,
) -> Sweep:
    """Conditional PED-ANOVA of all seeds, levels and parameters; one dispatch, in JAX's default dtype.

    Args:
        codes: (s, d, n) unsigned grid codes, see `parzax.observations.grid_codes`.
        level: (s, n) first level set of each row; n_levels = region only, n_levels + 1 = excluded.
        weight: (s, n) frequency weights (integers give integer counts) or None.
        n_levels: q, static.
        layout: columns of the counts, static.
        estimator: static.
        uniform: compare with the uniform density instead of the region's.
    """
    dtype = jnp.result_type(float)
    counts = sweep_counts(codes, level, weight, n_levels=n_levels, layout=layout)
    target, region = counts[:, :-1], counts[:, -1]
    n_target, n_region = _regime_totals(target, layout), _regime_totals(region, layout)
    divergence = _divergences(target, region, layout, estimator, uniform, dtype)
    enough = n_region >= estimator.min_regime_rows
    divergence = jnp.where(enough[:, None], divergence, 0)
    over_levels = jax.vmap(partial(_variances, dtype=dtype), in_axes=(0, 0, None))
    variance, inter, unweighted = jax.vmap(over_levels)(divergence, n_target, n_region)
    importance = normalise(variance, uniform_when_undefined=estimator.uniform_when_undefined)
    return Sweep(counts, divergence, n_target, n_region, variance, inter, unweighted, importance)


def _variances(
    divergence: Float[Array, "d k"], n_target: Shaped[Array, "d k"], n_region: Shaped[Array, "d k"], dtype: jnp.dtype
) -> tuple[Float[Array, " d"], Float[Array, " d"], Float[Array, " d"]]:
    """Within-regime, inter-regime and unweighted variance of every parameter at one level."""
    # Every row is in exactly one regime of the first parameter.
    total_target, total_region = n_target[0].sum(), n_region[0].sum()
    variance = jax.vmap(within_regime_variance, in_axes=(0, 0, 0, None))(
        divergence, n_target, n_region, total_region
    )
    inter = jax.vmap(partial(inter_regime_variance, dtype=dtype))(n_target, n_region)
    unweighted = jax.vmap(unweighted_variance, in_axes=(0, None, None))(divergence, total_target, total_region)
    return variance, inter, unweighted


def _divergences(
    target: Shaped[Array, "s q w"],
    region: Shaped[Array, "s w"],
    layout: Layout,
    estimator: GridEstimator,
    uniform: bool,
    dtype: jnp.dtype,
) -> Float[Array, "s q d k"]:
    """Divergence of every regime; slots of one kind and size share one batch."""
    parts = []
    for (kind, _), slots in _groups(layout).items():
        if kind == "point":
            parts.append(jnp.zeros((*target.shape[:2], len(slots)), dtype))
            continue
        one = partial(regime_divergence, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype)
        over_levels = jax.vmap(jax.vmap(one), in_axes=(0, None))
        parts.append(jax.vmap(over_levels)(_stack(target, slots), _stack(region, slots)))
    return _by_parameter(jnp.concatenate(parts, axis=-1), layout)


def _regime_totals(counts: Shaped[Array, "... w"], layout: Layout) -> Shaped[Array, "... d k"]:
    """Rows per parameter and regime, "inactive" last."""
    parts = [_stack(counts, slots).sum(axis=-1) for slots in _groups(layout).values()]
    totals = _by_parameter(jnp.concatenate(parts, axis=-1), layout)
    inactive = counts[..., jnp.asarray([layout.inactive(j) for j in range(layout.n_parameters)])]
    return totals.at[..., -1].set(inactive)


def _groups(layout: Layout) -> dict[tuple[str, int], list[Slot]]:
    groups: dict[tuple[str, int], list[Slot]] = defaultdict(list)
    for slot in layout.slots:
        groups[slot.kind, slot.n_cells].append(slot)
    return groups


def _stack(counts: Shaped[Array, "... w"], slots: list[Slot]) -> Shaped[Array, "... j g"]:
    """The columns of some slots of equal size, (..., number of slots, g)."""
    return jnp.stack([counts[..., slot.start : slot.start + slot.n_cells] for slot in slots], axis=-2)


def _by_parameter(x: Shaped[Array, "... j"], layout: Layout) -> Shaped[Array, "... d k"]:
    """Scatter one number per slot (in the order of `_groups`) to (parameter, regime); 0 elsewhere."""
    n_regimes = layout.n_regimes
    ordered = [slot for slots in _groups(layout).values() for slot in slots]
    source = [len(ordered)] * (layout.n_parameters * n_regimes)
    for i, slot in enumerate(ordered):
        source[slot.parameter * n_regimes + slot.regime] = i
    padded = jnp.concatenate([x, jnp.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)
    return padded[..., jnp.asarray(source)].reshape(*x.shape[:-1], layout.n_parameters, n_regimes)
