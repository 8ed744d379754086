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
from parzax._numerics import count_below, ordered_key
from parzax.importance.flags import status_bit
from parzax.status import Status

# Relative tolerance for rounding q * N to an integer.
ROUNDING = 1e-12
# For up to so many levels a partial sort for each takes less time than one sort.
_FEW = 3


def level_sets(
    losses: Float[Any, " n"],
    weight: Shaped[Any, " n"] | None,
    levels: tuple[float, ...],
    region: float,
    level_size: str,
    ranks: bool = True,
    cutoffs: Float[Any, " q1"] | None = None,
) -> tuple[Integer[Any, " n"], Any, Int[Any, " q"]]:
    """``level``, ``rank`` and ``status`` of `parzax.Encoded`; a set includes the rows tied with its cut-off.

    Rows whose loss is NaN and rows of weight 0 are in no set. ``ranks`` says whether ranks are needed; with
    ``cutoffs`` there are none, and the status is 0. With JAX arrays it is a pure function; NumPy arrays are
    computed on the host, with the same answer.
    """
    xp, n, q = losses.__array_namespace__(), len(losses), len(levels)
    order, levels = np.array(rank_levels(levels)), tuple(sorted(levels))
    if weight is not None:
        losses = xp.where(weight > 0, losses, xp.nan)
    usable = ~xp.isnan(losses)
    if cutoffs is not None:
        if xp is np:
            row, level = np.argsort(losses), np.empty(n, np.int32)
            # Searches take a quarter of the time if the losses are sorted; NaN is above all cut-offs.
            level[row] = np.searchsorted(np.sort(cutoffs), losses[row])
        else:
            ends, key = ordered_key(cutoffs), ordered_key(losses)
            level = xp.where(usable, count_below(xp.sort(ends), key, -1, q + 1, q + 1), q + 1)
        return level, None, xp.zeros(q, np.int32)
    if not n:
        return xp.zeros(0, np.int32), xp.zeros(0, np.int32), xp.full(q, int(Status.NO_DATA), np.int32)
    n_usable = np.int32(np.count_nonzero(usable)) if xp is np else usable.sum(dtype=np.int32)
    # Losses are compared as integers on a device: XLA may treat all subnormal floats as equal.
    key = losses if xp is np else ordered_key(losses)
    sizes = _sizes_on_host if xp is np else row_counts
    needed: Any = sizes((*levels, region), n_usable, level_size) if weight is None else None
    if xp is np and weight is None and not ranks and q < _FEW:
        level, end = _sets_by_partition(losses, needed, n_usable)
        rank, tied = None, end > needed
        all_equal = end[0] == n_usable and np.fmin.reduce(key) == np.fmax.reduce(key)
    else:
        row, ranked = _sort(key, stable=weight is not None)
        if weight is None:
            cut_off, end = _cut(ranked, needed - 1)
            tied = end > needed
        else:
            cut_off, end, tied = _weighted_cut(
                ranked, usable[row], weight[row], (*levels, region), n_usable, level_size
            )
        # The last set has all rows as well if its cut-off is the best loss.
        all_equal = (ranked[0] == cut_off[-1]) & (end[-1] >= n_usable)
        if xp is np:
            # Tied rows have the rank of the first; a level is the number of sets that end before the row.
            level, rank = np.empty(n, np.int32), np.empty(n, np.int32) if ranks else None
            level[row] = np.bincount(end, minlength=n + 1)[:n].cumsum()
            if rank is not None:
                first = np.r_[True, ranked[1:] != ranked[:-1]]
                rank[row] = np.maximum.accumulate(np.where(first, np.arange(n), 0))
        else:
            level = count_below(cut_off, key, -1, q + 1, q + 1)
            rank = count_below(ranked, key, -1, n, n).astype(np.int32) if ranks else None
    few = xp.where(n_usable < 2, np.int32(Status.NO_DATA), status_bit(Status.ALL_EQUAL, all_equal))
    status = (few | status_bit(Status.TIED_CUTOFF, tied[:-1] & (n_usable > 0)))[order]
    if xp is np and n_usable == n:
        return level, rank, status
    return (
        xp.where(usable, level, q + 1),
        None if rank is None else xp.where(usable, rank, np.int32(n)),
        status,
    )


def _sets_by_partition(
    losses: Float[np.ndarray, " n"], needed: Int[np.ndarray, " q"], n_usable: Any
) -> tuple[Integer[np.ndarray, " n"], Int[np.ndarray, " q"]]:
    """The first set of every row that is usable, and the number of rows in each set."""
    level, end = np.zeros(len(losses), np.uint8), needed.copy()
    for i, size in enumerate(needed.tolist()):
        if size < n_usable:  # a set of all rows has no row above its cut-off
            above = losses > np.partition(losses, size - 1)[size - 1]
            level += above.view(np.uint8)
            end[i] = n_usable - np.count_nonzero(above)
    return level, end


def _sort(key: Shaped[Any, " n"], stable: bool) -> tuple[Int[Any, " n"], Shaped[Any, " n"]]:
    """The order of the keys, and the keys in this order."""
    if isinstance(key, np.ndarray):
        row = np.argsort(key, kind="stable" if stable else None)
        return row, key[row]
    ranked, row = jax.lax.sort((key, jnp.arange(len(key), dtype=jnp.int32)), num_keys=1)
    return row, ranked


def _weighted_cut(
    ranked: Shaped[Any, " n"],
    usable: Bool[Any, " n"],
    weight: Shaped[Any, " n"],
    levels: tuple[float, ...],
    n_usable: Int[Any, ""],
    level_size: str,
) -> tuple[Any, Any, Any]:
    """`_cut` of sorted rows with weights, and whether a set reaches its weight without one of the tied rows.

    Derivatives treat the rows of a set as independent of the weights.
    """
    xp = ranked.__array_namespace__()
    fixed: Any = weight if xp is np else jax.lax.stop_gradient(weight)
    with wide(xp):
        weight = xp.where(usable, fixed, fixed.dtype.type(0)).astype(np.float64)
        running = xp.cumsum(weight)
        integral = (weight == xp.floor(weight)).all()
        needed = level_weights(levels, running[-1], integral, level_size)
        below = (running[None] < needed[:, None]).sum(axis=1, dtype=np.int32)
        last_row = xp.minimum(below, n_usable - np.int32(1))
    cut_off, end = _cut(ranked, last_row)
    with wide(xp):
        smallest = xp.where(ranked[None] == cut_off[:, None], weight[None], np.inf).min(axis=1)
        # A row of integer weight 2 stands for two equal rows, which are tied with each other.
        smallest = xp.where(integral, 1.0, smallest)
        return cut_off, end, running[xp.maximum(end - 1, 0)] - smallest >= needed


def _cut(ranked: Shaped[Any, " n"], last_row: Int[Any, " q"]) -> tuple[Any, Any]:
    """Keys of the cut-offs, and the number of rows that are not above them."""
    xp, n = ranked.__array_namespace__(), len(ranked)
    cut_off = ranked[xp.maximum(last_row, 0)]
    if xp is np:
        return cut_off, np.searchsorted(ranked, cut_off, side="right")
    return cut_off, count_below(ranked, cut_off + cut_off.dtype.type(1), -1, n, n)


def row_counts(levels: tuple[float, ...], n_usable: Int[Any, ""], level_size: str) -> Int[Any, " q"]:
    """Number of rows that each level needs, of ``n_usable`` rows without weights."""
    return level_weights(levels, n_usable, True, level_size).astype(np.int32)


_sizes_on_host = lru_cache(maxsize=256)(row_counts)


def wide(xp: Any) -> AbstractContextManager:
    """A context in which JAX computes in float64, as NumPy does."""
    return nullcontext() if xp is np else jax.enable_x64(True)


def level_weights(levels: tuple[float, ...], total: Any, integral: Any, level_size: str) -> Float[Any, " q"]:
    """Weight that the best rows of each level must reach, in float64, if all usable rows weigh ``total``.

    It is ceil(level * total), at least 1. A product that differs from an integer only by rounding is replaced
    by the integer (0.07 of 100 is 7, 2/3 of 300 is 200). If not all weights are integers (``integral``), the
    product is not rounded up. ``level_size`` is that of `parzax.Grid`. ``total``
    and ``integral`` are NumPy's or JAX's.
    """
    xp = total.__array_namespace__()
    with wide(xp):
        level, total = xp.asarray(np.array(levels, np.float64)), xp.asarray(total).astype(np.float64)
        product = level * total
        # Sums of fractional weights are rounded differently in another order.
        slack = xp.where(integral, 1.0, 1 - ROUNDING)
        if level_size == "optuna":
            needed = xp.ceil(product) * slack
        else:
            nearest = xp.round(product)
            is_integer = xp.abs(product - nearest) <= ROUNDING * product
            rounded = xp.floor(product) if level_size == "floor" else xp.ceil(product)
            least = xp.maximum(xp.where(is_integer, nearest, rounded), 1.0)
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
