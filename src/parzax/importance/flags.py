"""Status bits of each level and parameter of a sweep, computed in the compiled sweep."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax._numerics import divisor, total
from parzax.importance.layout import Layout
from parzax.status import Status

# LOW_DATA is set if the target, or the region outside it, has at most this many rows. With about ten rows
# the variance of a strong parameter is estimated a tenth too low, and that of a useless one too high.
LOW_DATA_ROWS = 10
# LOW_REGIME_DATA is set if regimes with few rows hold at least one row in four.
_LOW_SHARE = 4


def level_status(
    variance: Float[Array, " d"], regime_target: Shaped[Array, "d k"], regime_region: Shaped[Array, "d k"]
) -> Int[Array, " d"]:
    """Status bits of one level, for all parameters, from signed variances and the rows of every regime."""
    # Every row is in exactly one regime of the first parameter.
    regime_target, regime_region = (x.astype(variance.dtype) for x in (regime_target, regime_region))
    n_target, n_region = total(regime_target[0]), total(regime_region[0])
    target, region = regime_target[:, :-1], regime_region[:, :-1]
    low = few_rows(n_target, n_region)
    absent = (target == 0).all(axis=-1) & (region > 0).any(axis=-1)
    # A target with few rows counts as large enough if a random target would have enough rows there: then the
    # few rows are a result, not a lack of data.
    expected = region * (n_target / divisor(n_region))
    rough = jnp.where(few_rows(jnp.maximum(target, expected), region), region, 0).sum(axis=-1)
    much = (rough > 0) & (_LOW_SHARE * rough >= region.sum(axis=-1)) & ~low & ~absent
    bits = status_bit(Status.SAME_SETS, n_target == n_region) | status_bit(Status.LOW_DATA, low)
    bits |= status_bit(Status.ALL_ZERO, ~(variance > 0).any()) | status_bit(Status.LOW_REGIME_DATA, much)
    bits |= status_bit(Status.NOT_IN_TARGET, absent & (n_target > 0))
    between = between_regimes(regime_target, regime_region, n_target, n_region)
    bits |= status_bit(Status.REGIME_BOUNDARY, between & ~low)
    return bits | status_bit(Status.NOT_ABOVE_CHANCE, variance < 0)


def few_rows(n_target: Shaped[Any, "*#n"], n_region: Shaped[Any, "*#n"]) -> Bool[Any, "*n"]:
    """Whether the target, or the region outside it, has ten rows or fewer."""
    outside = n_region - n_target
    return (n_target <= LOW_DATA_ROWS) | ((outside <= LOW_DATA_ROWS) & (outside > 0))


def between_regimes(
    target: Shaped[Array, "d k"], region: Shaped[Array, "d k"], n_target: Any, n_region: Any
) -> Bool[Array, " d"]:
    """Which parameters have some regimes inside the target and others outside it, up to sampling noise.

    The number of target rows varies from log to log with standard deviation sqrt(n_T (n_R - n_T) / n_R). In
    each regime, the rows on the side of the minority are counted. If they sum to at most two deviations, the
    cut-off may lie exactly between regimes. "Inactive" counts as a regime here.
    """
    mixed = jnp.minimum(target, region - target).sum(axis=-1)
    deviation = jnp.sqrt(n_target * (n_region - n_target) / divisor(n_region))
    into, out = (2 * target > region).any(axis=-1), (2 * target < region).any(axis=-1)
    return into & out & (mixed <= 2 * deviation)


def parameter_status(
    n_region: Shaped[Array, "d k"],
    occupied: Shaped[Array, "d l"],
    crowded: Shaped[Array, "d l"],
    layout: Layout,
    min_rows: int,
) -> Int[Array, " d"]:
    """Status bits of each parameter that are the same at every level, from the region's rows and cells.

    ``occupied`` and ``crowded`` have one entry per slot, see `parzax.importance.regimes.estimate_regimes`. A
    parameter whose bounds move is unidentifiable if no row is in a pool.
    """
    active = n_region[:, :-1]
    most, constant = active.max(axis=-1), occupied.max(axis=-1) == 1
    bits = status_bit(Status.SPARSE_REGIME, ((active > 0) & (active < min_rows)).any(axis=-1))
    bits |= status_bit(Status.NEVER_ACTIVE, most == 0) | status_bit(Status.SINGLE_VALUE, layout.single_valued)
    bits |= status_bit(Status.CROWDED, crowded.max(axis=-1) > 0)
    # Tests of kinds of parameters that the space lacks would only take time to compile.
    if layout.varying.any():
        pools = np.zeros(occupied.shape, bool)
        for block in layout.blocks:
            pools[block.parameter, block.slot] = block.is_pool
        unplaced = ~((occupied > 0) & pools).any(axis=-1) & layout.varying
        bits |= status_bit(Status.UNIDENTIFIABLE, unplaced)
        constant &= ~unplaced
    labels = np.array([any(block.is_categorical for block in blocks) for blocks in layout.by_parameter])
    if labels.any():
        # Categorical parameters have no pools, so their slots are their regimes.
        each_once = (occupied[:, : active.shape[1]].astype(active.dtype) == active).all(axis=-1)
        bits |= status_bit(Status.UNIQUE_LABELS, each_once & (most > 1) & labels)
    # A single row cannot show that a parameter is constant.
    return bits | status_bit(Status.CONSTANT, constant & (most > 1) & ~layout.single_valued)


def status_bit(status: Status, where: Any) -> Any:
    """One status bit as int32 where ``where`` holds, else 0."""
    return where.astype(np.int32) * np.int32(status)
