"""Order of rows with several objectives: by front, and within a front by crowding or by hypervolume."""

import abc
from functools import partial
from typing import Any, final

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float, Int

from parzax.pareto.crowding import crowding_distance
from parzax.pareto.ranks import ABSENT
from parzax.pareto.subset import greedy_hypervolume_order

# Optuna's coordinate of the reference point if the worst value is 0.
_EPSILON = 1e-12

_Losses = Float[Any, "n m"]
_Rows = Bool[Any, " n"]
_Places = Int[Any, " n"]
_Count = Int[Any, ""] | int


class AbstractTies(eqx.Module):
    """A rule that orders the rows of a front, to choose which are below if not all of them are."""

    @abc.abstractmethod
    def order(
        self, losses: _Losses, rank: _Places, evaluated: _Rows, counted: _Rows, count: _Count, most: int
    ) -> _Places:
        """Order rows from best to worst: (n,) indices.

        Args:
            losses: (n, m), minimised.
            rank: (n,) ranks from `non_domination_rank`; absent rows come last.
            evaluated: (n,) mask of rows with objectives.
            counted: (n,) mask of the rows that ``count`` refers to.
            count: number of counted rows to put below.
            most: upper bound on the number of rows below from a front that is only partly below; static.
        """

    def check(self, n_objectives: int) -> None:
        """Raise ValueError if the rule does not support ``n_objectives``; by default it supports any."""


@final
class Crowding(AbstractTies):
    """Order by rank, then by decreasing crowding distance, as in meta-learning TPE (arXiv 2212.06751)."""

    def order(
        self, losses: _Losses, rank: _Places, evaluated: _Rows, counted: _Rows, count: _Count, most: int
    ) -> _Places:
        xp = losses.__array_namespace__()
        return xp.lexsort((-crowding_distance(losses, rank, evaluated), rank)).astype(np.int32)


@final
class Hypervolume(AbstractTies):
    """Order by rank, then by greedy hypervolume subset selection, as in MO-TPE and Optuna.

    MO-TPE is by Ozaki et al. (2022). The rule supports two or three objectives. Only the front with the
    ``count``-th counted row is ordered by hypervolume, because the order within other fronts does not change
    which rows are below. The selection includes all rows of this front, counted or not. It is slow only for
    three objectives with rows that are not counted: one core takes 30 ms for 250 rows and 1 s for 1000.
    """

    def order(
        self, losses: _Losses, rank: _Places, evaluated: _Rows, counted: _Rows, count: _Count, most: int
    ) -> _Places:
        xp = losses.__array_namespace__()
        size = partial(xp.sum, dtype=np.int32)
        place = xp.argsort(rank)
        last = xp.searchsorted(xp.cumsum(counted[place], dtype=np.int32), count)
        cut = rank[place[xp.minimum(last, len(rank) - 1)]]
        front = (rank == cut) & (rank < ABSENT)
        all_below = (size(counted & (rank <= cut)) <= count) & ~(front & ~counted).any()
        front = front & ~all_below
        # If all rows of the front are counted, only its first ``missing`` rows are needed. Otherwise the
        # whole front must be ordered.
        missing = count - size(counted & (rank < cut))
        stop = xp.where((front & ~counted).any(), size(front), xp.minimum(missing, size(front)))
        reference = reference_point(losses, front)
        chosen = greedy_hypervolume_order(losses, reference, most, front, stop=stop)
        return xp.lexsort((chosen, rank)).astype(np.int32)

    def check(self, n_objectives: int) -> None:
        if n_objectives > 3:
            remedy = "use parzax.pareto.Crowding()"
            raise ValueError(f"Hypervolume() supports at most 3 objectives, got {n_objectives}; {remedy}.")


def reference_point(losses: Float[Any, "n m"], front: Bool[Any, " n"]) -> Float[Any, " m"]:
    """Reference point of a front: max(1.1 w, 0.9 w) in each objective, where w is the worst value.

    It is 1e-12 if w = 0. The rule is Optuna's, except that w is the worst finite value: with a row at +inf
    all other rows would have infinite volumes. Without finite values w = 0. NumPy arrays are handled on the
    host.
    """
    xp = losses.__array_namespace__()
    finite = front[:, None] & xp.isfinite(losses)
    worst = xp.max(xp.where(finite, losses, -xp.inf), axis=0)
    worst = xp.where(xp.isfinite(worst), worst, 0)
    beyond = xp.minimum(xp.maximum(1.1 * worst, 0.9 * worst), np.finfo(losses.dtype).max)
    return xp.where(beyond == 0, _EPSILON, beyond).astype(losses.dtype)
