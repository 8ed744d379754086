"""Non-domination ranks on the host: for few rows, or once, when compiling would take longest."""

from bisect import bisect_right
from typing import Any

import numpy as np

from parzax import _checks
from parzax.pareto.ranks import ABSENT


def non_domination_rank_host(losses: Any, mask: Any = None) -> np.ndarray:
    """`non_domination_rank` on the host, in float64 and without compilation.

    Distinct rows go through in lexicographic order, so that only earlier ones can dominate a row, and a row
    that one of a front dominates is dominated by one of each front before it: its front is found by
    bisection (ENS-BS of Zhang, Tian, Cheng and Jin 2015). With two objectives the last row of a front
    decides; O(n log n). With more all of them do; O(m n^2) comparisons at worst.

    Args:
        losses: (n, m), minimised.
        mask: (n,) rows that are there, or their weights (present where positive); all by default.

    Returns:
        (n,) int32 ranks, of rows with a NaN and of absent ones as of `non_domination_rank`.

    >>> non_domination_rank_host([[1.0, 4.0], [2.0, 2.0], [2.0, 4.0], [2.0, 2.0], [0.0, np.nan]]).tolist()
    [0, 0, 1, 0, 2]
    """
    points = _checks.float_array("losses", losses)
    if points.ndim != 2 or points.shape[1] < 1:
        raise ValueError(f"losses must be (n, m) with at least one objective, got shape {points.shape}.")
    weight = np.ones(len(points)) if mask is None else np.asarray(mask)
    if weight.shape != points.shape[:1]:
        raise ValueError(f"mask must be a vector of length {len(points)}, got shape {weight.shape}.")
    present, nan = weight > 0, np.isnan(points).any(axis=1)
    rank = np.full(len(points), ABSENT, np.int32)
    proper = present & ~nan
    if proper.any():
        # 0.0 and -0.0 are one loss.
        distinct, own = np.unique(points[proper] + 0.0, axis=0, return_inverse=True)
        ranks = {1: lambda rows: np.arange(len(rows), dtype=np.int32), 2: _of_two}
        of_distinct = ranks.get(distinct.shape[1], _of_more)(distinct)
        rank[proper] = of_distinct[own.reshape(-1)]
    rank[present & nan] = rank[proper].max(initial=-1) + 1
    return rank


def _of_two(distinct: np.ndarray) -> np.ndarray:
    """Ranks by the smallest second objective of every front so far, which rises with the front."""
    smallest: list[float] = []
    rank = np.empty(len(distinct), np.int32)
    for i, y in enumerate(distinct[:, 1].tolist()):
        front = bisect_right(smallest, y)
        smallest[front : front + 1] = [y]
        rank[i] = front
    return rank


def _of_more(distinct: np.ndarray) -> np.ndarray:
    """Ranks by comparing with whole fronts; the first objective is in order already."""
    others = distinct[:, 1:]
    fronts: list[np.ndarray] = []  # room for the rows of each, and how many there are
    sizes: list[int] = []
    rank = np.empty(len(distinct), np.int32)
    for i, row in enumerate(others):
        low, high = 0, len(fronts)
        while low < high:
            middle = (low + high) // 2
            if (fronts[middle][: sizes[middle]] <= row).all(axis=1).any():
                low = middle + 1
            else:
                high = middle
        if low == len(fronts):
            fronts.append(np.empty((16, others.shape[1])))
            sizes.append(0)
        if sizes[low] == len(fronts[low]):
            fronts[low] = np.concatenate([fronts[low], np.empty_like(fronts[low])])
        fronts[low][sizes[low]] = row
        sizes[low] += 1
        rank[i] = low
    return rank
