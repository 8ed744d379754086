"""Order rows with several objectives by Pareto front, and by a tie-break within a front that is cut."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from parzax import pareto
from parzax.pareto import AbstractTies, Crowding, Hypervolume

# Relative tolerance between a sum of weights and the weight that a level needs.
_ROUNDING = 1e-9


def pareto_places(
    losses: np.ndarray, weight: np.ndarray, needed: Sequence[float], ties: AbstractTies, exact: bool = False
) -> np.ndarray:
    """A loss 0, 1, 2, ... that orders rows by non-domination rank, and within a front by ``ties``.

    For every k, the first k rows are the best k rows by rank and tie-break (arXiv 2212.06751 breaks ties by
    crowding; Ozaki et al. 2022 and Optuna 5 by greedy hypervolume subset selection), since a greedy choice
    does not depend on later ones. Only fronts that a level cuts are ordered by ``ties``. All other fronts are
    entirely inside or outside every set; their order is lexicographic.

    Args:
        losses: (n, m) float64, minimised. Rows with a NaN get no place.
        weight: (n,) frequency weights; rows of weight 0 get no place.
        needed: weights at which sets end; they decide which fronts are cut.
        ties: `parzax.pareto.Hypervolume()`, `parzax.pareto.Crowding()` or your own.
        exact: whether equal or tied rows are ordered by their position in the log, as in Optuna: first one
            row of each group of equal rows, then the other rows in the order of the log. If False, equal or
            tied rows share a place, so that a set has all of them or none.

    Returns:
        (n,) float64 places, lower is better; NaN for rows without a place.
    """
    used = (weight > 0) & ~np.isnan(losses).any(axis=1)
    places = np.full(len(losses), np.nan)
    if not used.any():
        return places
    # 0.0 and -0.0 are one loss.
    distinct, first, number = np.unique(losses[used] + 0.0, axis=0, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    rank = pareto.non_domination_rank(distinct)
    reached = np.cumsum(np.bincount(rank[number], weights=weight[used]))
    within = np.arange(len(distinct))
    for front in _cut_fronts(reached, needed):
        rows = rank == front
        if rows.sum() > 1:
            within[rows] = places_within(ties, distinct[rows])
    if exact:
        again = np.arange(len(number)) != first[number]
        row = np.lexsort((np.where(again, 0, within[number]), again, rank[number]))
        places[np.flatnonzero(used)[row]] = np.arange(len(number))
    else:
        _, place = np.unique(np.stack([rank, within]), axis=1, return_inverse=True)
        places[used] = place.reshape(-1)[number]
    return places


def _cut_fronts(reached: np.ndarray, needed: Sequence[float]) -> list[int]:
    """Fronts that a set cuts, given the weight ``reached`` up to each front."""
    ends = np.asarray(needed)
    before = np.searchsorted(reached, ends * (1 - _ROUNDING))
    after = np.searchsorted(reached, ends * (1 + _ROUNDING))
    # The two searches differ if a set ends exactly with a front. Such a set cuts no front.
    return np.unique(before[(before == after) & (before < len(reached))]).tolist()


def places_within(ties: AbstractTies, front: np.ndarray) -> np.ndarray:
    """Place of each of the distinct rows (f, m) of a front, in lexicographic order; ties share a place."""
    n, rank, every = len(front), np.zeros(len(front), np.int32), np.ones(len(front), bool)
    if isinstance(ties, Crowding):  # rows with equal distances share a place
        ranking = -pareto.crowding_distance(front, rank, every)
    elif isinstance(ties, Hypervolume):
        ranking = pareto.greedy_hypervolume_order(front, pareto.reference_point(front, every), n)
    else:
        with jax.enable_x64(True):
            losses, rank, mask, count = map(jnp.asarray, (front, rank, every, np.int32(n - 1)))
            ranking = np.argsort(ties.order(losses, rank, mask, mask, count, n))
    return np.unique(ranking, return_inverse=True)[1]
