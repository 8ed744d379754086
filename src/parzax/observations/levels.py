"""Level sets on the host: which rows are within the best share of the losses, for many shares at once."""

from dataclasses import dataclass

import numpy as np

# Up to this many levels a partial sort finds the cut-offs faster than a full one.
_FEW_LEVELS = 4


@dataclass(frozen=True)
class LevelSets:
    """First level set that contains each row, for q target levels and the region.

    Attributes:
        level: (s, n) unsigned: index (in ascending order of level) of the first target set that holds
            the row; q if only the region does; q + 1 if nothing does.
        order: (q,) position of each requested level in ascending order.
        requested: (s, q) weight asked for in each target set, in the order requested.
        total: (s,) weight of all usable rows.
    """

    level: np.ndarray
    order: np.ndarray
    requested: np.ndarray
    total: np.ndarray


def level_weight(quantile: float, total: float, *, raw: bool = False) -> float:
    """Weight that the best ``quantile`` of a ``total`` weight must reach.

    ceil(quantile * total) with the quantile taken as the decimal it was written as (12 digits), so that
    0.07 of 100 is 7; for totals that are not whole numbers, quantile * total. ``raw`` takes the
    floating-point product as it comes (Optuna's rule).
    """
    if quantile == 1.0:
        return total
    if raw:
        return float(np.ceil(quantile * total))
    if total == int(total):
        return float(-(-round(quantile * 10**12) * int(total) // 10**12))
    return quantile * total * (1 - 1e-12)


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
    order = np.argsort(target, kind="stable")
    levels = [*target[order].tolist(), region]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    q = len(order)
    level = np.empty((s, n), dtype=np.uint8 if q < 255 else np.uint16 if q < 2**16 - 1 else np.uint32)
    requested = np.empty((s, q + 1))
    total = np.empty(s)
    known: dict[float, np.ndarray] = {}
    plain = weight is None and not np.isnan(losses).any()
    for i in range(s):
        row_weight = None if plain else np.where(np.isnan(losses[i]), 0.0, 1.0 if weight is None else weight[i])
        total[i] = n if row_weight is None else row_weight.sum()
        if total[i] not in known:
            known[total[i]] = np.array([level_weight(x, total[i], raw=raw) for x in levels])
        requested[i] = known[total[i]]
        if total[i] == 0:
            level[i] = q + 1
            continue
        cutoffs = (
            _plain_cutoffs(losses[i], requested[i].astype(np.int64) - 1)
            if row_weight is None
            else _weighted_cutoffs(losses[i], row_weight, requested[i])
        )
        found = _position(cutoffs, losses[i])
        level[i] = found if row_weight is None else np.where(row_weight > 0, found, q + 1)
    return LevelSets(level, rank, requested[:, :-1][:, rank], total)


def _position(cutoffs: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Number of (ascending) cut-offs below each loss."""
    if len(cutoffs) > _FEW_LEVELS:
        return np.searchsorted(cutoffs, losses)
    found = np.zeros(losses.shape, dtype=np.uint8)
    for cutoff in cutoffs:
        found += losses > cutoff
    return found


def _plain_cutoffs(losses: np.ndarray, index: np.ndarray) -> np.ndarray:
    if len(index) <= _FEW_LEVELS:
        return np.partition(losses, np.unique(index))[index]
    return np.sort(losses)[index]


def _weighted_cutoffs(losses: np.ndarray, weight: np.ndarray, needed: np.ndarray) -> np.ndarray:
    usable = np.flatnonzero(weight)
    usable = usable[np.argsort(losses[usable], kind="stable")]
    running = np.cumsum(weight[usable])
    index = np.searchsorted(running, needed)
    return losses[usable][np.minimum(index, len(usable) - 1)]
