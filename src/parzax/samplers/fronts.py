"""Order of rows with several objectives: by front, ties within one by crowding or by hypervolume."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax.pareto import (
    ABSENT,
    crowding_distance,
    greedy_hypervolume_order,
    order_by_rank_and_crowding,
)

Ties = Literal["crowding", "hypervolume"]
# Optuna's, for a reference of 0.
_EPSILON = 1e-12


def by_crowding(losses: Float[Array, "n m"], rank: Int[Array, " n"], told: Bool[Array, " n"]) -> Array:
    """(n,) rows from best to worst: by rank, then by crowding distance (arXiv 2212.06751)."""
    return order_by_rank_and_crowding(rank, crowding_distance(losses, rank, told))


def by_hypervolume(
    losses: Float[Array, "n m"],
    rank: Int[Array, " n"],
    counted: Bool[Array, " n"],
    count: Int[Array, ""],
    most: int,
) -> Int[Array, " n"]:
    """Rows from best to worst: by rank, then as greedy hypervolume subset selection takes them.

    MO-TPE (Ozaki et al. 2022). Only the front that is cut, which has the ``count``-th row that
    counts, is ordered by hypervolume, as no other order decides who is good; in other fronts rows keep their
    order. The selection goes through all rows of that front, whether they count or not. It is cheap but
    for three objectives with rows that do not count: one core takes 30 ms for 250 rows, 1 s for 1000.

    Args:
        losses: two or three objectives, minimised.
        rank: as of `non_domination_rank`; absent rows come last.
        counted: rows of which ``count`` shall be good.
        count: how many; `split_by_order` cuts there.
        most: the largest number of rows of a front that can be good without the whole front being so, static.
    """
    place = jnp.argsort(rank)
    last = jnp.searchsorted(jnp.cumsum(counted[place]), count)
    cut = rank[place[jnp.minimum(last, len(rank) - 1)]]
    front = (rank == cut) & (rank < ABSENT)
    whole = ((counted & (rank <= cut)).sum() <= count) & ~(front & ~counted).any()
    front = front & ~whole
    # Where every row of the front counts, so many of them are good; else it depends on which are chosen.
    missing = count - (counted & (rank < cut)).sum()
    stop = jnp.where((front & ~counted).any(), front.sum(), jnp.minimum(missing, front.sum()))
    chosen = greedy_hypervolume_order(losses, reference_point(losses, front), most, front, stop=stop)
    return jnp.lexsort((chosen, rank)).astype(jnp.int32)


def reference_point(losses: Float[Array, "n m"], front: Bool[Array, " n"]) -> Float[Array, " m"]:
    """A little worse than the worst of a front in each objective: max(1.1 w, 0.9 w), and 1e-12 for w = 0.

    As in Optuna, but w is the worst finite value: beside a row at +inf all others would have infinite
    volumes. Without finite values w = 0.
    """
    finite = front[:, None] & jnp.isfinite(losses)
    worst = jnp.max(jnp.where(finite, losses, -jnp.inf), axis=0)
    worst = jnp.where(jnp.isfinite(worst), worst, 0)
    beyond = jnp.minimum(jnp.maximum(1.1 * worst, 0.9 * worst), jnp.finfo(losses.dtype).max)
    return jnp.where(beyond == 0, _EPSILON, beyond).astype(losses.dtype)
