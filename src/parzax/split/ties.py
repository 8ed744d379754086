"""Order of rows with several objectives: by front, ties within one by crowding or by hypervolume."""

import abc
from functools import partial
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax import pareto
from parzax._numerics import namespace

# Optuna's reference where the worst value is 0.
_EPSILON = 1e-12

_Losses = Float[Array, "n m"]
_Rows = Bool[Array, " n"]
_Places = Int[Array, " n"]
_Count = Int[Array, ""]


class AbstractTies(eqx.Module):
    """A rule for which rows of a front fall below, if only some do."""

    @abc.abstractmethod
    def order(
        self, losses: _Losses, rank: _Places, evaluated: _Rows, counted: _Rows, count: _Count, most: int
    ) -> _Places:
        """Rows from best to worst, (n,).

        Args:
            losses: (n, m), minimised.
            rank: (n,) as of `non_domination_rank`; absent rows come last.
            evaluated: (n,) rows that have their objectives.
            counted: (n,) rows that count; ``count`` of them fall below.
            count: number of counted rows that fall below.
            most: a bound on the rows of a front that can be below without the whole front being so, static.
        """

    def check(self, n_objectives: int) -> None:
        """Raise ValueError if the rule cannot order rows of ``n_objectives`` objectives; this one can."""


@final
class Crowding(AbstractTies):
    """By rank, then by crowding distance, the largest first, as in meta-learning TPE (arXiv 2212.06751)."""

    def order(
        self, losses: _Losses, rank: _Places, evaluated: _Rows, counted: _Rows, count: _Count, most: int
    ) -> _Places:
        return pareto.order_by_rank_and_crowding(rank, pareto.crowding_distance(losses, rank, evaluated))


@final
class Hypervolume(AbstractTies):
    """By rank, then as greedy hypervolume subset selection takes them, as in MO-TPE and Optuna.

    MO-TPE is by Ozaki et al. (2022). There may be two or three objectives. Only the front that is cut, which
    has the ``count``-th row that counts, is ordered by hypervolume, as no other order decides who falls
    below; in other fronts rows keep their order. The selection goes through all rows of that front, whether
    they count or not. It is cheap but for three objectives with rows that do not count: one core takes 30 ms
    for 250 rows, 1 s for 1000.
    """

    def order(
        self, losses: _Losses, rank: _Places, evaluated: _Rows, counted: _Rows, count: _Count, most: int
    ) -> _Places:
        size = partial(jnp.sum, dtype=count.dtype)
        place = jnp.argsort(rank)
        last = jnp.searchsorted(jnp.cumsum(counted[place], dtype=count.dtype), count)
        cut = rank[place[jnp.minimum(last, len(rank) - 1)]]
        front = (rank == cut) & (rank < pareto.ABSENT)
        all_below = (size(counted & (rank <= cut)) <= count) & ~(front & ~counted).any()
        front = front & ~all_below
        # If every row of the front counts, ``missing`` rows decide; else the whole front must be ordered.
        missing = count - size(counted & (rank < cut))
        stop = jnp.where((front & ~counted).any(), size(front), jnp.minimum(missing, size(front)))
        reference = reference_point(losses, front)
        chosen = pareto.greedy_hypervolume_order(losses, reference, most, front, stop=stop)
        return jnp.lexsort((chosen, rank)).astype(jnp.int32)

    def check(self, n_objectives: int) -> None:
        if n_objectives > 3:
            raise ValueError(
                f"ties.hypervolume() takes at most 3 objectives, got {n_objectives}; use ties.crowding()."
            )


crowding, hypervolume = Crowding, Hypervolume


def reference_point(losses: Float[Any, "n m"], front: Bool[Any, " n"]) -> Float[Any, " m"]:
    """A little worse than the worst of a front in each objective: max(1.1 w, 0.9 w), and 1e-12 for w = 0.

    As in Optuna, but w is the worst finite value: beside a row at +inf all others would have infinite
    volumes. Without finite values w = 0. Of NumPy arrays it is computed on the host.
    """
    xp = namespace(losses)
    finite = front[:, None] & xp.isfinite(losses)
    worst = xp.max(xp.where(finite, losses, -xp.inf), axis=0)
    worst = xp.where(xp.isfinite(worst), worst, 0)
    beyond = xp.minimum(xp.maximum(1.1 * worst, 0.9 * worst), jnp.finfo(losses.dtype).max)
    return xp.where(beyond == 0, _EPSILON, beyond).astype(losses.dtype)
