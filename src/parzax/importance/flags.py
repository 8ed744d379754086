"""Which statuses apply to each level and parameter of a sweep; compiled with it."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import total
from parzax.observations import Layout
from parzax.parzen import GridEstimator
from parzax.status import Status

# As many rows or fewer, in the target or in the region outside it, set LOW_DATA: with about ten the
# debiased variance of a strong parameter comes out a third too low.
LOW_DATA_ROWS = 10


def level_status(
    variance: Float[Array, " d"],
    regime_target: Shaped[Array, "d k"],
    regime_region: Shaped[Array, "d k"],
) -> Int[Array, " d"]:
    """Status bits of one level, for all parameters, from what was counted.

    Args:
        variance: (d,) signed variances.
        regime_target, regime_region: (d, k) rows (weight) per regime, "inactive" last.
    """
    # Every row is in exactly one regime of the first parameter.
    n_target, n_region = total(regime_target[0]), total(regime_region[0])
    bits = _bit(Status.SAME_SETS, n_target == n_region)
    outside = n_region - n_target
    bits |= _bit(Status.LOW_DATA, (n_target <= LOW_DATA_ROWS) | ((outside <= LOW_DATA_ROWS) & (outside > 0)))
    bits |= _bit(Status.ALL_ZERO, ~(variance > 0).any())
    absent = (regime_target[:, :-1] == 0).all(axis=-1) & (regime_region[:, :-1] > 0).any(axis=-1)
    bits |= _bit(Status.NOT_IN_TARGET, absent & (n_target > 0))
    return bits | _bit(Status.NOT_ABOVE_CHANCE, variance < 0)


def parameter_status(
    n_region: Shaped[Array, "d k"],
    occupied: Int[Array, "d k"],
    layout: Layout,
    estimator: GridEstimator,
) -> Int[Array, " d"]:
    """Status bits that each parameter has at every level.

    Args:
        n_region: (d, k) rows of the region per regime, "inactive" last.
        occupied: (d, k) cells that the region occupies in each regime, 0 for "inactive".
        layout: its kinds of regime say which parameters have nothing to compare by construction.
        estimator: its ``min_regime_rows``.
    """
    active = n_region[:, :-1]
    sparse = ((active > 0) & (active < estimator.min_regime_rows)).any(axis=-1)
    bits = _bit(Status.SPARSE_REGIME, sparse) | _bit(Status.NEVER_ACTIVE, (active == 0).all(axis=-1))
    fixed = [_without_grid({s.kind for s in layout.slots if s.parameter == j}) for j in range(len(n_region))]
    constant = (occupied.max(axis=-1) == 1) & (jnp.asarray(fixed) == 0)
    return bits | _bit(Status.CONSTANT, constant) | jnp.asarray(fixed, jnp.int32)


def _without_grid(kinds: set[str]) -> int:
    if "varying" in kinds:
        return int(Status.UNIDENTIFIABLE)
    return int(Status.SINGLE_VALUE) if kinds == {"point"} else 0


def _bit(status: Status, where: Array) -> Array:
    return jnp.where(where, jnp.int32(status), jnp.int32(0))
