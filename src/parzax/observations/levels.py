"""Level sets on the host: which rows are within the best share of the losses, for many shares at once."""

from dataclasses import dataclass

import numpy as np

from parzax.status import Status

# Up to this many levels a partial sort finds the cut-offs faster than a full one.
_FEW_LEVELS = 4
# Size of the sample that brackets an order statistic.
_SAMPLE = 2048


@dataclass(frozen=True)
class LevelSets:
    """First level set that contains each row, for q target levels and the region.

    Attributes:
        level: (s, n) unsigned: index (in ascending order of level) of the first target set that holds
            the row; q if only the region does; q + 1 if nothing does.
        order: (q,) position of each requested level in ascending order.
        status: (s, q) int32 bits NO_DATA, ALL_EQUAL and TIED_CUTOFF of each target, in ascending order.
    """

    level: np.ndarray
    order: np.ndarray
    status: np.ndarray


def level_weight(quantile: float, total: float, *, whole: bool = True, raw: bool = False) -> float:
    """Weight that the best ``quantile`` of a ``total`` weight must reach.

    ceil(quantile * total), at least 1, with the quantile taken as the decimal it was written as (12
    digits), so that 0.07 of 100 is 7. Weights that are not ``whole`` numbers need no rounding:
    quantile * total. ``raw`` takes the floating-point product as it comes (Optuna's rule).
    """
    if quantile == 1.0:
        return total
    if raw:
        return float(np.ceil(quantile * total))
    if not whole:
        return quantile * total * (1 - 1e-12)
    return float(max(1, -(-round(quantile * 10**12) * int(total) // 10**12)))


def level_sets(
    losses: np.ndarray,
    weight: np.ndarray | None,
    target: np.ndarray,
    region: float,
    *,
    raw: bool = False,
) -> LevelSets:
    """Assign every row the first level set that contains it; rows tied with a cut-off are in.

    Args:
        losses: (s, n) float64, lower is better; NaN = not usable.
        weight: (s, n) frequency weights or None for 1 each.
        target: (q,) levels in (0, 1).
        region: level in (0, 1].
        raw: see `level_weight`.
    """
    s, n = losses.shape
    q = len(target)
    order = np.argsort(target, kind="stable")
    levels = [*target[order].tolist(), region]
    rank = np.empty_like(order)
    rank[order] = np.arange(q)
    level = np.empty((s, n), dtype=np.uint8 if q < 255 else np.uint16 if q < 2**16 - 1 else np.uint32)
    status = np.zeros((s, q), dtype=np.int32)
    # One pass finds NaN as well as equal losses: both extremes of a row with NaN are NaN.
    lowest, highest = losses.min(axis=-1, initial=np.inf), losses.max(axis=-1, initial=-np.inf)
    all_equal, n_usable = lowest == highest, np.full(s, n)
    if weight is not None or np.isnan(lowest).any():
        weight = np.where(np.isnan(losses), 0.0, 1.0 if weight is None else weight)
        all_equal, n_usable = _all_equal(losses, weight), (weight > 0).sum(axis=-1)
    whole = weight is None or bool((weight == np.floor(weight)).all())
    known: dict[float, np.ndarray] = {}
    for i in range(s):
        own = None if weight is None else weight[i]
        if n_usable[i] == 0:
            level[i] = q + 1
            continue
        total = float(n if own is None else own.sum())
        if total not in known:
            known[total] = np.array([level_weight(x, total, whole=whole, raw=raw) for x in levels])
        if own is None and q < _FEW_LEVELS:
            level[i], tied = _by_comparison(losses[i], known[total])
        else:
            level[i], tied = _by_sorting(losses[i], own, known[total], whole=whole)
        status[i, tied[:-1]] = Status.TIED_CUTOFF
    status[n_usable < 2] |= Status.NO_DATA
    status[all_equal & (n_usable >= 2)] |= Status.ALL_EQUAL
    return LevelSets(level, rank, status)


def _by_comparison(losses: np.ndarray, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of cut-offs below each loss, and which cut-offs are tied.

    For few levels selection and comparison are fastest.
    """
    level = np.zeros(losses.shape, dtype=np.uint8)
    tied = np.zeros(len(needed), dtype=bool)
    for i, count in enumerate(needed.astype(np.int64).tolist()):
        # Nothing lies above the worst loss.
        if count < losses.size:
            above = losses > _order_statistic(losses, count - 1)
            level += above
            tied[i] = losses.size - np.count_nonzero(above) > count
    return level, tied


def _order_statistic(x: np.ndarray, k: int) -> float:
    """The k-th smallest value (from 0), as np.partition finds it but faster for long arrays.

    Floyd and Rivest's selection: a sorted sample brackets the answer, and only what lies between the
    brackets is partitioned.
    """
    if x.size > _SAMPLE * 4:
        sample = np.sort(x[:: x.size // _SAMPLE])
        middle = k * sample.size // x.size
        # Five standard deviations of the rank in the sample.
        margin = int(5 * (sample.size * (k / x.size) * (1 - k / x.size)) ** 0.5) + 2
        low = sample[middle - margin] if middle >= margin else -np.inf
        high = sample[middle + margin] if middle + margin < sample.size else np.inf
        below = int(np.count_nonzero(x < low))
        between = x[(x >= low) & (x <= high)]
        if below <= k < below + between.size:
            x, k = between, k - below
    return np.partition(x, k)[k]


def _by_sorting(
    losses: np.ndarray, weight: np.ndarray | None, needed: np.ndarray, *, whole: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The same from one sort: each set ends after the last row tied with the row that reaches its weight."""
    order = np.argsort(losses)  # NaN last
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
    if weight is None or not whole:
        return level, ends > reached + 1
    # A weight of 2 is two equal rows, so it is tied with itself.
    return level, np.cumsum(weight[order])[ends - 1] > needed


def _all_equal(losses: np.ndarray, weight: np.ndarray) -> np.ndarray:
    used = np.where(weight > 0, losses, np.nan)
    lowest = np.fmin.reduce(used, axis=-1, initial=np.inf)
    return ((used == lowest[:, None]) | np.isnan(used)).all(axis=-1)
