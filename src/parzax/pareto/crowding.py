"""Crowding distance."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from parzax import _checks
from parzax._mesh import jit_or_host
from parzax.pareto.order import Losses, Mask, changes, checked_rows, latest, value_ranks


def crowding_distance(losses: Losses, rank: Int[Any, " n"], mask: Mask = None) -> Float[Any, " n"]:
    """Distance between a row's neighbours within its front, summed over objectives (Deb et al. 2002, III.B).

    If the rows of a front are sorted by objective j,

        distance(i) = sum over j of (f_j[i + 1] - f_j[i - 1]) / (max f_j - min f_j)

    and it is infinite for the first and the last row. All fronts are computed in one call.

    * An objective that is constant in a front adds 0 for all rows, also for the first and the last.
    * A front of one row has distance infinity.
    * Rows that are equal in objective j are sorted by objectives j + 1, ..., m, 1, ..., j - 1, then by
      index, so the order of rows matters only for identical rows. Among these the inner rows have distance 0.
    * With infinite losses the range is that of the finite losses (the objective adds 0 if there are fewer
      than two). A neighbour at infinity makes the distance infinite, unless both neighbours are at the same
      infinity.

    Args:
        losses, mask: as in `non_domination_rank`.
        rank: (n,) fronts from `non_domination_rank`; any integers are allowed, equal integers are a front.

    Returns:
        (n,) distances from 0 to infinity in the dtype of the losses. Absent rows and rows with a NaN have 0.
        Optuna, and the authors of MO-TPE, sort ties by index only, and give infinity to the ends of constant
        objectives. Without ties the distances are the same.

    >>> import jax.numpy as jnp
    >>> losses = jnp.array([[0.0, 4.0], [1.0, 3.0], [2.0, 0.0], [4.0, 4.0]])
    >>> crowding_distance(losses, jnp.array([0, 0, 0, 1])).tolist()
    [inf, 2.0, inf, inf]
    """
    rows, present = checked_rows(losses, mask, rank)
    rank = rows.__array_namespace__().asarray(rank)
    _checks.check_shape("rank", rank, len(rows))
    return _distance(rows, rank, present)


@jit_or_host()
def _distance(losses, rank, present):
    (n, m), xp = losses.shape, losses.__array_namespace__()
    if n == 0:
        return xp.zeros(0, losses.dtype)
    columns, proper = value_ranks(losses, present)
    # Losses are halved, so that no difference overflows.
    half = xp.where(proper[:, None], losses, 0) / 2
    distance = xp.zeros(n, losses.dtype)
    for j in range(m):
        order = xp.lexsort((*reversed(columns[j:] + columns[:j]), rank, ~proper))
        added = _neighbour_gaps(half[order, j], columns[j][order], rank[order], proper[order])
        distance = distance + added[xp.argsort(order)]
    return xp.where(proper, distance, 0)


def _neighbour_gaps(half, value, rank, proper):
    """(n,) contribution of one objective to the distance of each row; rows are sorted by rank and value."""
    n, xp = len(half), half.__array_namespace__()

    def count(where):
        total = xp.cumsum(where, dtype=np.int32)
        return total[end] - total[start] + where[start].astype(np.int32)

    starts = changes([rank, proper])
    ends = xp.append(starts[1:], True)
    start, end = latest(starts), n - 1 - latest(ends[::-1])[::-1]
    # The finite values of a front lie between its rows at -inf and at +inf.
    low, high = start + count(half == -np.inf), end - count(half == np.inf)
    finite = low <= high
    width = xp.where(finite, half[xp.clip(high, 0, n - 1)] - half[xp.clip(low, 0, n - 1)], 0)
    before, after = xp.roll(half, 1), xp.roll(half, -1)
    gap = xp.where(before == after, 0, after - before)
    ratio = xp.where(gap == np.inf, np.inf, xp.where(width > 0, gap / xp.where(width > 0, width, 1), 0))
    # The distance is infinite at the ends of a front in which the objective varies, and for a row alone in
    # its front.
    varies = value[start] != value[end]
    endless = ((starts | ends) & varies) | (starts & ends)
    return xp.where(endless, np.inf, xp.where(varies, ratio, 0))
