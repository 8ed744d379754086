"""Level sets: which rows have the best losses, for many shares of the rows at once, in NumPy or JAX."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Integer, Shaped

from parzax import _checks
from parzax._numerics import count_below, namespace, ordered_key
from parzax.importance.flags import status_bit
from parzax.status import Status

# Relative tolerance for rounding q * N to an integer.
ROUNDING = 1e-12
# For up to so many levels a partial sort for each takes less time than one sort.
_FEW = 2


def level_sets(
    losses: Float[Any, " n"],
    usable: Bool[Any, " n"],
    weight: Shaped[Any, " n"] | None,
    levels: tuple[float, ...],
    region: float,
    optuna_rounding: bool,
    ranks: bool = True,
    cutoffs: Float[Any, " q1"] | None = None,
) -> tuple[Integer[Any, " n"], Any, Int[Any, " q"]]:
    """``level``, ``rank`` and ``status`` of `parzax.Encoded`; a set includes the rows tied with its cut-off.

    Rows that are not ``usable``, rows of weight 0, and rows whose loss is NaN are in no set. ``ranks`` says
    whether ranks are needed; with ``cutoffs`` there are none, and the status is 0. With JAX arrays it is a
    pure function; NumPy arrays are computed on the host, with the same answer.
    """
    xp, n, q = namespace(losses), len(losses), len(levels)
    order, levels = np.array(rank_levels(levels)), tuple(sorted(levels))
    usable = usable & ~xp.isnan(losses) & (True if weight is None else weight > 0)
    if cutoffs is not None:
        ends, key = (cutoffs, losses) if xp is np else map(ordered_key, (cutoffs, losses))
        level = xp.where(usable, count_below(xp.sort(ends), key, -1, q + 1, q + 1), q + 1)
        return level, None, xp.zeros(q, np.int32)
    key = xp.where(usable, losses, xp.nan)
    if xp is not np:
        # Losses are compared as integers: XLA may treat all subnormal floats as equal.
        key = ordered_key(key)
    n_usable = np.int32(np.count_nonzero(usable)) if xp is np else usable.sum(dtype=np.int32)
    if not n:
        return xp.zeros(0, np.int32), xp.zeros(0, np.int32), xp.full(q, int(Status.NO_DATA), np.int32)
    row: Any = None
    last_row: Any = None
    if weight is None:
        needed = level_weights((*levels, region), n_usable, True, optuna_rounding)
        last_row = xp.minimum(needed.astype(np.int32), n) - 1
    if xp is not np:
        ranked, row = jax.lax.sort((key, jnp.arange(n, dtype=jnp.int32)), num_keys=1)
    elif weight is not None or ranks:
        row = np.argsort(key, kind="stable")
        ranked = key[row]
    elif q <= _FEW:
        ranked = key
    else:
        ranked = np.sort(key)
    # Number of rows up to the last one tied with the cut-off, and whether the set would reach its weight
    # without one of the tied rows, whatever their order.
    if ranked is key:
        cut_off = np.array([np.partition(key, last)[last] for last in last_row.tolist()])
        end = np.array([np.count_nonzero(key <= cut) for cut in cut_off])
        tied = end > last_row + 1
    elif last_row is not None:
        cut_off, end = _cut(ranked, last_row)
        tied = end > last_row + 1
    else:
        # Derivatives treat the rows of a set as independent of the weights.
        fixed: Any = weight if xp is np else jax.lax.stop_gradient(weight)
        with wide(xp):
            ranked_weight = xp.where(usable, fixed, fixed.dtype.type(0))[row].astype(np.float64)
            running = xp.cumsum(ranked_weight)
            integral = (ranked_weight == xp.floor(ranked_weight)).all()
            needed = level_weights((*levels, region), running[-1], integral, optuna_rounding)
            below = (running[None] < needed[:, None]).sum(axis=1, dtype=np.int32)
            last_row = xp.minimum(below, n_usable - np.int32(1))
        cut_off, end = _cut(ranked, last_row)
        with wide(xp):
            is_tied = ranked[None] == cut_off[:, None]
            smallest = xp.where(is_tied, ranked_weight[None], np.inf).min(axis=1)
            # A row of integer weight 2 stands for two equal rows, which are tied with each other.
            smallest = xp.where(integral, 1.0, smallest)
            tied = running[xp.maximum(end - 1, 0)] - smallest >= needed
    level = xp.where(usable, count_below(cut_off, key, -1, q + 1, q + 1), q + 1)
    # The last set has all rows as well if its cut-off is the best loss.
    best = np.fmin.reduce(key) if ranked is key else ranked[0]
    all_equal = (best == cut_off[-1]) & (end[-1] >= n_usable)
    few = xp.where(n_usable < 2, np.int32(Status.NO_DATA), status_bit(Status.ALL_EQUAL, all_equal))
    status = (few | status_bit(Status.TIED_CUTOFF, tied[:-1] & (n_usable > 0)))[order]
    if row is None:
        return level, None, status
    return level, xp.where(usable, count_below(ranked, key, -1, n, n).astype(np.int32), np.int32(n)), status


def _cut(ranked: Shaped[Any, " n"], last_row: Int[Any, " q"]) -> tuple[Any, Any]:
    """Keys of the cut-offs, and the number of rows that are not above them."""
    xp, n = namespace(ranked), len(ranked)
    cut_off = ranked[xp.maximum(last_row, 0)]
    if xp is np:
        return cut_off, np.searchsorted(ranked, cut_off, side="right")
    return cut_off, count_below(ranked, cut_off + cut_off.dtype.type(1), -1, n, n)


def wide(xp: Any) -> AbstractContextManager:
    """A context in which JAX computes in float64, as NumPy does."""
    return nullcontext() if xp is np else jax.enable_x64(True)


def level_weights(
    levels: tuple[float, ...], total: Any, integral: Any, optuna_rounding: bool
) -> Float[Any, " q"]:
    """Weight that the best rows of each level must reach, in float64, if all usable rows weigh ``total``.

    It is ceil(level * total), at least 1. A product that differs from an integer only by rounding is replaced
    by the integer (0.07 of 100 is 7, 2/3 of 300 is 200). If not all weights are integers (``integral``), the
    product is not rounded up. ``optuna_rounding`` uses ceil of the floating-point product itself. ``total``
    and ``integral`` are NumPy's or JAX's.
    """
    xp = namespace(total)
    with wide(xp):
        level, total = xp.asarray(np.array(levels, np.float64)), xp.asarray(total).astype(np.float64)
        product = level * total
        # Sums of fractional weights are rounded differently in another order.
        slack = xp.where(integral, 1.0, 1 - ROUNDING)
        if optuna_rounding:
            needed = xp.ceil(product) * slack
        else:
            nearest = xp.round(product)
            is_integer = xp.abs(product - nearest) <= ROUNDING * product
            least = xp.maximum(xp.where(is_integer, nearest, xp.ceil(product)), 1.0)
            needed = xp.where(integral, least, product * slack)
        return xp.where(level == 1.0, total, needed)


@lru_cache(maxsize=256)
def rank_levels(levels: tuple[float, ...]) -> tuple[int, ...]:
    """Position of each level in ascending order."""
    return tuple(np.argsort(np.argsort(levels, kind="stable")).tolist())


def checked_levels(levels: Any, region: Any) -> tuple[np.ndarray, float]:
    """Return (q,) target levels and the region's level, or raise a ValueError."""
    region = _checks.quantile("region", region)
    levels = _checks.float_array("levels", levels)
    if levels.ndim > 1 or levels.size == 0:
        raise ValueError(f"levels must be a number or a non-empty list, got shape {levels.shape}.")
    levels = levels.reshape(-1)
    # A Python loop: for one level a single NumPy call would cost as much as the loop.
    for level in levels.tolist():
        if not 0 < level <= 1:
            raise ValueError(f"levels must lie in (0, 1], got {level!r}.")
        if level >= region:
            raise ValueError(f"levels must be below region = {region!r}, got {level!r}.")
    # Levels that differ only by rounding count as equal; levels below 1e-12 are compared exactly.
    if len({round(level, 12) or level for level in levels.tolist()}) < len(levels):
        raise ValueError("levels hold the same level twice.")
    return levels, region


def checked_cutoffs(cutoffs: Any, levels: Sequence[float]) -> Float[np.ndarray, " q1"]:
    """(q + 1,) cut-offs in float64, or an error if they are NaN or do not ascend with the levels.

    Of traced cut-offs only the shape is checked.
    """
    hint = "; give one per level and the region's last"
    _checks.check_shape("cutoffs", cutoffs, len(levels) + 1, hint=hint)
    if _checks.is_traced(cutoffs):
        return cutoffs
    array = _checks.float_array("cutoffs", cutoffs)
    if np.isnan(array).any():
        raise ValueError(f"cutoffs must not be NaN, got {array.tolist()}; rows without a loss have no rank.")
    ascending = array[[*np.argsort(levels), len(levels)]]
    if (ascending[1:] < ascending[:-1]).any():
        raise ValueError(f"cutoffs must ascend with the levels, the region's last, got {array.tolist()}.")
    return array
