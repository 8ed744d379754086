"""Level sets on the host: which rows have the best losses, for many shares of the rows at once."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from parzax.importance.levels import ROUNDING
from parzax.status import Status

# With fewer levels than this a partial sort finds the cut-offs faster than a full one.
_FEW_LEVELS = 4
# As plain integers, because combining an enum with an array takes a microsecond each time.
_NO_DATA, _ALL_EQUAL, _TIED_CUTOFF = map(int, (Status.NO_DATA, Status.ALL_EQUAL, Status.TIED_CUTOFF))


class LevelSets(NamedTuple):
    """First level set that contains each row, for q target levels in ascending order and the region."""

    # (s, rows) unsigned: index of the first target set with the row; q: the region alone; q + 1: none.
    level: np.ndarray
    status: np.ndarray  # (s, q) int32 bits NO_DATA, ALL_EQUAL and TIED_CUTOFF of each target


def level_weight(quantile: float, total: float, *, counts: bool = True, raw: bool = False) -> float:
    """Weight that the best ``quantile`` of a ``total`` weight must reach.

    It is ceil(quantile * total), at least 1. A product that differs from an integer only by rounding is
    replaced by the integer (0.07 of 100 is 7, 2/3 of 300 is 200). If the weights are fractions instead of
    ``counts``, the product is not rounded up. ``raw`` uses ceil of the floating-point product itself
    (Optuna's rule).
    """
    if quantile == 1.0:
        return total
    product = quantile * total
    # Sums of fractional weights are rounded differently in another order.
    slack = 1.0 if counts else 1 - ROUNDING
    if raw:
        return float(np.ceil(product)) * slack
    if not counts:
        return product * slack
    nearest = round(product)
    return float(max(1, nearest if abs(product - nearest) <= ROUNDING * product else math.ceil(product)))


def level_sets(
    losses: np.ndarray,
    weight: np.ndarray | None,
    target: np.ndarray,
    region: float,
    *,
    raw: bool = False,
    rows: int | None = None,
) -> LevelSets:
    """Find the first level set that contains each row; a set includes the rows tied with its cut-off.

    Args:
        losses: (s, n) float64, lower is better; NaN = not usable.
        weight: (s, n) frequency weights or None for 1 each.
        target: (q,) levels in (0, 1).
        region: level in (0, 1].
        raw: see `level_weight`.
        rows: number of rows to pad to; padding is in no set.
    """
    s, n = losses.shape
    q, levels = len(target), sorted(target.tolist())
    dtype = np.uint8 if q < 255 else np.uint16 if q < 2**16 - 1 else np.uint32
    level = np.full((s, n if rows is None else rows), q + 1, dtype=dtype)
    status = np.zeros((s, q), dtype=np.int32)
    # The extremes show NaN as well as equal losses: with a NaN both are NaN. They are compared as Python
    # numbers, since each NumPy call would cost as much as a pass over the rows of one log.
    lowest = np.minimum.reduce(losses, axis=-1, initial=np.inf).tolist()
    highest = np.maximum.reduce(losses, axis=-1, initial=-np.inf).tolist()
    if weight is None and any(low != low for low in lowest):
        weight = np.ones(losses.shape)
    weight = None if weight is None else np.where(np.isnan(losses), 0.0, weight)
    counts = weight is None or bool((weight == np.floor(weight)).all())
    for i, loss in enumerate(losses):
        row_weight = None if weight is None else weight[i]
        used = loss if row_weight is None else loss[row_weight > 0]
        all_equal = lowest[i] == highest[i] if row_weight is None else (used == used[:1]).all()
        status[i] = _NO_DATA if len(used) < 2 else _ALL_EQUAL if all_equal else 0
        if len(used) == 0:
            continue
        needed = _level_weights(
            (*levels, region), float(n if row_weight is None else row_weight.sum()), counts, raw
        )
        if row_weight is None and q < _FEW_LEVELS:
            level[i, :n], tied = _by_comparison(loss, needed)
        else:
            level[i, :n], tied = _by_sorting(loss, row_weight, np.array(needed), counts)
        if any(tied):
            status[i, tied[:-1]] |= _TIED_CUTOFF
    return LevelSets(level, status)


@lru_cache(maxsize=256)
def _level_weights(levels: tuple[float, ...], total: float, counts: bool, raw: bool) -> list[float]:
    return [level_weight(level, total, counts=counts, raw=raw) for level in levels]


def _by_comparison(losses: np.ndarray, needed: list[float]) -> tuple[np.ndarray | int, list[bool]]:
    """Number of cut-offs below each loss, and which cut-offs are tied; the fastest method for few levels."""
    level, tied = 0, []
    for count in map(int, needed):
        n_above = 0
        if count < losses.size:  # a set of all rows has no row above its cut-off
            above = losses > np.partition(losses, count - 1)[count - 1]
            level, n_above = level + above.view(np.uint8), int(np.count_nonzero(above))
        tied.append(losses.size - n_above > count)
    return level, tied


def _by_sorting(
    losses: np.ndarray, weight: np.ndarray | None, needed: np.ndarray, counts: bool
) -> tuple[np.ndarray, list[bool]]:
    """The result of `_by_comparison`, from one sort: a set ends after the last row tied with its cut-off."""
    order = np.argsort(losses)  # NaN comes last
    ranked = losses[order]
    if weight is None:
        reached = needed.astype(np.int64) - 1
    else:
        used = weight[order] > 0
        order, ranked = order[used], ranked[used]
        reached = np.minimum(np.searchsorted(np.cumsum(weight[order]), needed), len(order) - 1)
    ends = np.searchsorted(ranked, ranked[reached], side="right")
    sizes = np.diff(ends, prepend=0, append=len(order))
    level = np.full(losses.shape, len(needed), dtype=np.int64)
    level[order] = np.repeat(np.arange(len(needed) + 1), sizes)
    if weight is None:
        return level, (ends > reached + 1).tolist()
    # Whether the set would reach its weight without one of the tied rows, whatever their order. A row of
    # weight 2 stands for two equal rows, which are tied.
    starts = np.searchsorted(ranked, ranked[reached])
    groups = [weight[order[start:end]] for start, end in zip(starts, ends, strict=True)]
    smallest = 1.0 if counts else np.array([group.min() for group in groups])
    return level, (np.cumsum(weight[order])[ends - 1] - smallest >= needed).tolist()
