"""Hypervolume and greedy hypervolume selection for any number of objectives, on the host with moocore."""

import math
from typing import Any

import numpy as np

from parzax import _checks
from parzax.pareto.hypervolume import boxes, checked_arguments
from parzax.pareto.ranks import ABSENT

# Gains that differ by less than this fraction of a row's box count as equal, because moocore rounds.
_ROUNDING = 1e-12


def hypervolume_host(losses: Any, reference: Any, mask: Any = None) -> float:
    """`hypervolume` for any number of objectives, on the host in float64, by moocore (``parzax[pareto]``).

    NaN, rows beyond the reference and infinities are handled as in `hypervolume`. The time is exponential in
    the number of objectives.

    >>> hypervolume_host([[1.0, 1.0, 1.0, 1.0]], [2.0, 2.0, 2.0, 3.0])
    2.0
    """
    points, corner, present = checked_arguments(losses, reference, mask, xp=np)
    with np.errstate(all="ignore"):
        box = boxes(points, corner, present)
        if np.isnan(corner).any() or box.endless.any():
            return math.nan if np.isnan(corner).any() else math.inf
        return float(np.ldexp(_union(box.width[box.width.any(axis=1)]), box.exponent))


def greedy_hypervolume_order_host(losses: Any, reference: Any, size: int, mask: Any = None) -> np.ndarray:
    """`greedy_hypervolume_order` for any number of objectives, in float64, by moocore (``parzax[pareto]``).

    The gain of a row is its box minus the union of the chosen boxes within it:

        gain(p) = volume(box_p) - volume(union over chosen q of (box_p intersected with box_q))

    A gain never grows, so it is computed again only for rows whose previous gain is the largest (lazy greedy,
    Minoux 1978). Arguments and result (n,) are those of `greedy_hypervolume_order`, and so are the rules for
    ties, NaN, infinite boxes and rows beyond the reference. Gains that differ by less than 1e-12 of a row's
    box count as equal. The time is exponential in the number of objectives. Two finite objectives need
    neither moocore nor the tolerance; otherwise ImportError is raised if moocore is missing.

    >>> losses = [[0.0, 0.0, 0.0, 4.0], [2.0, 2.0, 2.0, 2.0], [4.0, 4.0, 4.0, 0.0]]
    >>> greedy_hypervolume_order_host(losses, [5.0, 5.0, 5.0, 5.0], size=2).tolist()
    [0, 1, 1073741824]
    """
    points, corner, present = checked_arguments(losses, reference, mask, xp=np)
    size = min(_checks.whole_number("size", size, 0), int(present.sum()))
    # Rows are sorted in the order that breaks ties; rows with a NaN come last.
    nan = np.asarray(np.isnan(points).any(axis=1))
    columns = np.where(nan[:, None], 0, points).T
    row = np.lexsort((*columns[::-1], nan, ~present))[: present.sum()]
    by_area = len(corner) == 2 and np.isfinite([*points[row], corner]).all()
    choose = _choose_by_area if by_area else _choose_lazily
    order = np.full(len(points), ABSENT, np.int32)
    order[row[choose(points[row], corner, size)]] = np.arange(size)
    return order


def _choose_by_area(points: np.ndarray, corner: np.ndarray, size: int) -> list[int]:
    """Greedy choice for two finite objectives, without moocore.

    Chosen rows before and after a row in the order cut its area. This is right for dominated rows too,
    because a row comes before all rows that it dominates and adds at least as much.
    """
    # Scaling by powers of two is exact and keeps areas from overflow and underflow.
    exponent = -np.frexp(np.maximum(np.abs(points).max(axis=0, initial=0), np.abs(corner)))[1]
    points, corner = np.ldexp(points, exponent), np.ldexp(corner, exponent)
    corners, free, chosen = np.tile(corner, (len(points), 1)), np.ones(len(points), bool), []
    for _ in range(size):
        area = np.prod(np.maximum(corners - points, 0), axis=1)
        best = int(np.argmax(np.where(free, area, -1)))
        chosen.append(best)
        free[best] = False
        # Rows ascend in the first objective, so the first rows of a front descend in the second.
        np.minimum(corners[:best, 0], points[best, 0], out=corners[:best, 0])
        np.minimum(corners[best + 1 :, 1], points[best, 1], out=corners[best + 1 :, 1])
    return chosen


def _choose_lazily(points: np.ndarray, corner: np.ndarray, size: int) -> list[int]:
    """Greedy choice for any number of objectives; the last computed gain of a row is an upper bound."""
    with np.errstate(all="ignore"):
        box = boxes(points, corner, np.ones(len(points), bool))
    # An infinite box is chosen first. Afterwards it covers all other boxes in its infinite objective.
    width, chosen = np.where(box.endless, 1, box.width), []
    volume = np.array([_union(w[None]) for w in width])
    gain, slack = np.where(box.endless.any(axis=1), np.inf, volume), _ROUNDING * volume
    free = np.ones(len(points), bool)
    for _ in range(size):
        top = -1.0
        for i in np.argsort(np.where(free, -gain, np.inf), kind="stable")[: free.sum()]:
            if 0 < gain[i] < np.inf and gain[i] + slack[i] >= top:
                within = np.minimum(width[chosen], width[i])
                covered = (within == width[i]).all(axis=1).any()
                gain[i] = 0 if covered else min(gain[i], volume[i] - _union(within))
                gain[i] = gain[i] if gain[i] > slack[i] else 0
            top = max(top, gain[i])
        best = int(np.argmax(free & (gain + slack >= top) & ((gain > 0) | (top == 0))))
        chosen.append(best)
        free[best] = False
    return chosen


def _union(width: np.ndarray) -> float:
    """Volume of the union of boxes with a common corner, from their widths (n, m); 0 without boxes."""
    if width.shape[1] == 1 or not len(width):
        return float(width.max(initial=0))
    moocore = _checks.optional("moocore", "Hypervolume on the host", "pareto")
    return float(moocore.hypervolume(-width, ref=np.zeros(width.shape[1])))
