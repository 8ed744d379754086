"""Hypervolume, and the greedy choice by it, for any number of objectives: on the host, most by moocore."""

import math
from typing import Any

import numpy as np

from parzax import _checks
from parzax.pareto.hypervolume import boxes, checked_arguments
from parzax.pareto.ranks import ABSENT

# Gains that differ by less than this share of a row's box are equal: moocore's rounding.
_ROUNDING = 1e-12


def hypervolume_host(losses: Any, reference: Any, mask: Any = None) -> float:
    """`hypervolume` for any number of objectives, on the host in float64, by moocore (``parzax[pareto]``).

    The rules for NaN, rows beyond the reference and infinities are the same. Exponential in the number of
    objectives.

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

    What a row adds is its own box less the union of the chosen boxes within it:

        gain(p) = volume(box_p) - volume(union over chosen q of box_p and box_q)

    It never grows, so only rows are looked at whose previous gain may be the largest (lazy greedy, Minoux
    1978). The rules for ties, NaN, infinite boxes and rows beyond the reference are the same; gains that
    differ by 1e-12 of a row's box are equal. Exponential in the number of objectives. Two finite objectives
    need no moocore, and no tolerance; otherwise a missing moocore is an ImportError. Arguments, and the order
    (n,) that is returned, are those of that function too.

    >>> losses = [[0.0, 0.0, 0.0, 4.0], [2.0, 2.0, 2.0, 2.0], [4.0, 4.0, 4.0, 0.0]]
    >>> greedy_hypervolume_order_host(losses, [5.0, 5.0, 5.0, 5.0], size=2).tolist()
    [0, 1, 1073741824]
    """
    points, corner, present = checked_arguments(losses, reference, mask, xp=np)
    size = min(_checks.whole_number("size", size, 0), int(present.sum()))
    # Rows in the order that breaks ties; rows with a NaN come last.
    nan = np.asarray(np.isnan(points).any(axis=1))
    columns = np.where(nan[:, None], 0, points).T
    row = np.lexsort((*columns[::-1], nan, ~present))[: present.sum()]
    by_area = len(corner) == 2 and np.isfinite([*points[row], corner]).all()
    choose = _choose_by_area if by_area else _choose_lazily
    order = np.full(len(points), ABSENT, np.int32)
    order[row[choose(points[row], corner, size)]] = np.arange(size)
    return order


def _choose_by_area(points: np.ndarray, corner: np.ndarray, size: int) -> list[int]:
    """Two objectives, all finite, without moocore: chosen rows on both sides cut the area of a row.

    Cuts by position are right for dominated rows too: a row adds at least as much as those that it dominates,
    and precedes them.
    """
    # Scaling by powers of two rounds nothing; areas neither overflow nor vanish.
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
    """Any number of objectives: what a row added when last looked at bounds what it adds now."""
    with np.errstate(all="ignore"):
        box = boxes(points, corner, np.ones(len(points), bool))
    # An infinite box comes first, and then covers whatever of its objective the others have.
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
    """Volume of the union of boxes with one common corner, given their widths; 0 without boxes."""
    if width.shape[1] == 1 or not len(width):
        return float(width.max(initial=0))
    moocore = _checks.optional("moocore", "Hypervolume on the host", "pareto")
    return float(moocore.hypervolume(-width, ref=np.zeros(width.shape[1])))
