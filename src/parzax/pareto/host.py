"""Hypervolume, and the greedy choice by it, for any number of objectives: on the host, by moocore."""

import math
from typing import Any

import numpy as np

from parzax import _checks
from parzax.pareto.hypervolume import arguments, boxes
from parzax.pareto.ranks import ABSENT

# Additions that differ by less than this share of a row's own box are equal: moocore's rounding.
_ROUNDING = 1e-12


def hypervolume_host(losses: Any, reference: Any, mask: Any = None) -> float:
    """`hypervolume` for any number of objectives, on the host in float64, by moocore (``parzax[pareto]``).

    The rules for NaN, rows beyond the reference and infinities are the same. Exponential in the number of
    objectives.

    >>> hypervolume_host([[1.0, 1.0, 1.0, 1.0]], [2.0, 2.0, 2.0, 3.0])
    2.0
    """
    points, corner, present = arguments(losses, reference, mask, xp=np)
    with np.errstate(all="ignore"):
        box = boxes(points, corner, present)
        if np.isnan(corner).any() or box.endless.any():
            return math.nan if np.isnan(corner).any() else math.inf
        return float(np.ldexp(_union(box.width[box.width.any(axis=1)]), box.exponent))


def greedy_hypervolume_order_host(losses: Any, reference: Any, size: int, mask: Any = None) -> np.ndarray:
    """`greedy_hypervolume_order` for any number of objectives, in float64, by moocore (``parzax[pareto]``).

    What a row adds is its own box less the union of the chosen boxes within it:

        gain(p) = volume(box_p) - volume(union over chosen q of box_p and box_q)

    It never grows, so only rows are looked at whose last known gain may be the largest (lazy greedy,
    Minoux 1978). The rules for ties, NaN, infinite boxes and rows beyond the reference are the same; gains
    that differ by 1e-12 of a row's box are equal. Exponential in the number of objectives. Arguments, and
    the order (n,) that is returned, are those of that function too; without moocore it is an ImportError.

    >>> losses = [[0.0, 0.0, 0.0, 4.0], [2.0, 2.0, 2.0, 2.0], [4.0, 4.0, 4.0, 0.0]]
    >>> greedy_hypervolume_order_host(losses, [5.0, 5.0, 5.0, 5.0], size=2).tolist()
    [0, 1, 1073741824]
    """
    points, corner, present = arguments(losses, reference, mask, xp=np)
    size = min(_checks.whole_number("size", size, 0), int(present.sum()))
    # Rows in the order that breaks ties, those with a NaN behind.
    nan = np.asarray(np.isnan(points).any(axis=1))
    columns = np.where(nan[:, None], 0, points).T
    row = np.lexsort((*columns[::-1], nan, ~present))[: present.sum()]
    with np.errstate(all="ignore"):
        box = boxes(points[row], corner, np.ones(len(row), bool))
    # An infinite box comes first, and then covers whatever of its objective the others have.
    width = np.where(box.endless, 1, box.width)
    own = np.array([_union(w[None]) for w in width])
    gain = np.where(box.endless.any(axis=1), np.inf, own)
    order, chosen = np.full(len(points), ABSENT, np.int32), []
    for k in range(size):
        best = _next(width, own, gain, chosen)
        chosen.append(best)
        order[row[best]] = k
    return order


def _union(width: np.ndarray) -> float:
    """Volume of the union of boxes with one common corner, given their widths; 0 without boxes."""
    if width.shape[1] == 1 or not len(width):
        return float(width.max(initial=0))
    moocore = _checks.optional("moocore", "Hypervolume on the host", "pareto")
    return float(moocore.hypervolume(-width, ref=np.zeros(width.shape[1])))


def _next(width: np.ndarray, own: np.ndarray, gain: np.ndarray, chosen: list[int]) -> int:
    """The first row of those that add most; ``gain`` has what rows added when last looked at."""
    free = np.ones(len(width), bool)
    free[chosen] = False
    slack, top = _ROUNDING * own, -1.0
    for i in np.argsort(np.where(free, -gain, np.inf), kind="stable")[: free.sum()]:
        if 0 < gain[i] < np.inf and gain[i] + slack[i] >= top:
            within = np.minimum(width[chosen], width[i])
            covered = (within == width[i]).all(axis=1).any()
            gain[i] = 0 if covered else min(gain[i], own[i] - _union(within))
            gain[i] = gain[i] if gain[i] > slack[i] else 0
        top = max(top, gain[i])
    return int(np.argmax(free & (gain + slack >= top) & ((gain > 0) | (top == 0))))
