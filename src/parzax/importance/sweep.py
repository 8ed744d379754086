"""The whole sweep as one compiled function: counts, divergences, variances, importances."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, Shaped

from parzax import _checks
from parzax._programs import program
from parzax.importance import variance as variances
from parzax.importance.flags import level_status, parameter_status
from parzax.importance.grid import GridEstimator, Layout, sweep_counts
from parzax.importance.measures import measures, of_regimes, totals


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
    codes: Integer[np.ndarray, "s d n"],
    level: Integer[np.ndarray, "s n"],
    weight: Shaped[Array, "s n"] | None,
    log_status: Int[np.ndarray, "s q"],
    *,
    layout: Layout,
    estimator: GridEstimator,
    uniform: bool = False,
) -> Sweep:
    """Conditional PED-ANOVA of all seeds, levels and parameters; one dispatch, in JAX's default dtype.

    Args:
        codes: (s, d, n) unsigned grid codes, see `parzax.importance.grid.grid_codes`.
        level: (s, n) first level set of each row; q = region only, q + 1 = excluded.
        weight: (s, n) frequency weights (integers give integer counts) or None.
        log_status: (s, q) int32 bits known from the losses alone, see `parzax.observations.LevelSets`.
        layout, estimator: columns of the counts, and how; static.
        uniform: compare with the uniform density instead of the region's.
    """
    packed = compiled_sweep(
        codes, level, weight, log_status, layout=layout, estimator=estimator, uniform=uniform
    )
    _checks.on_host("cond_ped_anova", packed)
    counts, measures, status = map(np.asarray, packed)
    n, k = layout.n_columns, layout.n_regimes
    rows = counts[..., n:].reshape(*counts.shape[:-1], len(layout.offsets), k)
    n_target, n_region = rows[:, :-1], rows[:, -1]
    variance, inter, unweighted = (measures[..., k + i] for i in range(3))
    importance = variances.normalise(
        variance, balance=estimator.balance, uniform_when_undefined=estimator.uniform_when_undefined
    )
    of_parameters = variance, inter, unweighted, importance
    return Sweep(counts[..., :n], measures[..., :k], n_target, n_region, *of_parameters, status)


class _Packed(NamedTuple):
    """A `Sweep` in three arrays: each array that leaves compiled code costs about a microsecond.

    After the counts stand the rows of every regime, after the divergences the other measures in order.
    """

    counts: Shaped[Array, "s q1 all"]
    measures: Float[Array, "s q d m"]
    status: Int[Array, "s q d"]

    @property
    def variance(self) -> Float[Array, "s q d"]:
        """The within-regime variance."""
        return self.measures[..., -3]


def _library(*_: Any, estimator: GridEstimator, **__: Any) -> float:
    """How much of a sweep are products of matrices."""
    return 0.0 if estimator.resolutions is None else 0.75


def _weight(*_: Any, estimator: GridEstimator, **__: Any) -> float:
    """Passes over grids of levels and parameters gain more from full optimisation than products of them."""
    return 2.5 if estimator.resolutions is None else 0.4


@program(weight=_weight, library=_library)
def compiled_sweep(
    codes: Integer[Any, "s d n"],
    level: Integer[Any, "s n"],
    weight: Shaped[Any, "s n"] | None,
    log_status: Int[Any, "s q"],
    *,
    layout: Layout,
    estimator: GridEstimator,
    uniform: bool,
) -> _Packed:
    """`sweep` as one compiled function."""
    counts = sweep_counts(codes, level, weight, n_levels=log_status.shape[1], layout=layout)
    found = measures(counts, layout, estimator, uniform)
    divergence, rows, variance, inter, unweighted = found
    if layout.has_pools:
        rows, divergence = of_regimes(rows, divergence, layout)
    n_target, n_region = rows[:, :-1], rows[:, -1]
    of_levels = jax.vmap(jax.vmap(level_status, in_axes=(0, 0, None)))(variance, n_target, n_region)
    occupied = totals((counts[:, -1] > 0).astype(jnp.int32), layout)
    of_parameters = jax.vmap(partial(parameter_status, layout=layout, estimator=estimator))
    status = log_status[..., None] | of_levels | of_parameters(n_region, occupied)[:, None]
    of_parameter = jnp.stack([variance, inter, unweighted], axis=-1)
    return _Packed(
        jnp.concatenate([counts, rows.reshape(*rows.shape[:2], -1)], axis=-1),
        jnp.concatenate([divergence, of_parameter], axis=-1),
        status,
    )
