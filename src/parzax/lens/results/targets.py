"""Which rows count, and which loss ranks them: an objective, a weighted combination or the Pareto order."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from parzax import _checks, pareto
from parzax.importance import Grid, weighted_sum
from parzax.importance.levels import level_weights
from parzax.lens.logs import Observations
from parzax.lens.results.texts import NAME, shorten
from parzax.pareto import AbstractTies, Crowding, Hypervolume

ROWS = ("all", "complete", "feasible")
# Relative tolerance between a sum of weights and the weight that a level needs.
_ROUNDING = 1e-9
# What ranks rows: an objective, "pareto", weights, or a function of the objectives.
Ranking = int | str | Sequence[float] | np.ndarray | Callable[[Any], Any]


def row_words(obs: Observations, rows: str | Sequence[str] | None) -> tuple[str, ...]:
    """The argument ``rows`` of `parzax.cond_ped_anova` as words, checked; "feasible" or "all" for None.

    Raises:
        TypeError, ValueError: for other ``rows``, and for "feasible" with a log without constraints.
    """
    if rows is None:
        return ("all",) if obs.constraints is None else ("feasible",)
    words = [rows] if isinstance(rows, str) else rows
    if not isinstance(words, Sequence) or not words:
        raise TypeError(f"rows must be one of {', '.join(map(repr, ROWS))}, or several, got {rows!r}.")
    for word in words:
        _checks.one_of("rows", word, ROWS)
    if "feasible" in words and obs.constraints is None:
        remedy = "give them when it is read (constraints=, feasible where <= 0), or take rows='all'"
        raise ValueError(f"rows='feasible' needs constraints, and the log has none: {remedy}.")
    return tuple(words)


def counted_rows(obs: Observations, rows: str | Sequence[str] | None) -> Observations:
    """The log with weight 0 for rows that do not count; the report has the number of these rows.

    All of `row_words` must hold: "all"; "complete", rows with a loss, so that rows kept by ``failed="worst"``
    or ``pruned="worst"`` do not count; "feasible", rows whose constraints are all given and <= 0.
    """
    keep, dropped = np.ones(obs.losses.shape[:-1], dtype=bool), dict(obs.report.dropped)
    for word in row_words(obs, rows):
        if word != "all":
            fits = obs.feasible if word == "feasible" else np.asarray((obs.losses < np.inf).all(axis=-1))
            n_dropped = int((keep & usable_rows(obs) & ~fits).sum())
            dropped[f"not {word}"] = dropped.get(f"not {word}", 0) + n_dropped
            keep &= fits
    if keep.all():
        return obs
    return replace(obs.select(keep), report=replace(obs.report, dropped=dropped))


def usable_rows(obs: Observations) -> np.ndarray:
    """(..., n) rows with a loss and a weight above 0."""
    return np.asarray(~np.isnan(obs.losses).all(axis=-1) & (obs.weight is None or obs.weight > 0))


def objective_names(obs: Observations) -> tuple[str, ...]:
    """Names of the objectives: the names of their columns if known, else objective_0, objective_1, ..."""
    return obs.report.objectives or tuple(f"objective_{i}" for i in range(obs.n_objectives))


def objective_index(obs: Observations, objective: int | str) -> int:
    """Index of an objective, from its index or its name."""
    if isinstance(objective, str):
        names = objective_names(obs)
        return names.index(_checks.one_of("objective", objective, names))
    return _checks.whole_number("objective", objective, 0, obs.losses.shape[-1] - 1)


def is_maximised(obs: Observations, objective: Ranking) -> bool:
    """Whether one objective ranks the rows, and large values of it are good."""
    if callable(objective) or np.ndim(objective) or (objective == "pareto" and obs.n_objectives > 1):
        return False
    number = 0 if objective == "pareto" else objective_index(obs, cast(int | str, objective))
    return obs.report.directions[number] == "maximize"


class Course(NamedTuple):
    """One objective of a log of one run, in the order of its rows.

    Attributes:
        name: the objective.
        values: (n,) the objective as it was given, NaN in rows that do not count.
        best: (n,) the best value so far.
        order: the rows that count, the best first.
        wide: whether the values are drawn on a log axis: positive numbers that span two powers of ten.
    """

    name: str
    values: np.ndarray
    best: np.ndarray
    order: np.ndarray
    wide: bool


def read_course(obs: Observations, objective: Ranking) -> Course | None:
    """The course of a search; None for several runs, and where not one objective ranks the rows."""
    if obs.values.ndim > 2 or not isinstance(objective, int | str) or objective == "pareto":
        return None
    j, sign = objective_index(obs, objective), -1 if is_maximised(obs, objective) else 1
    losses = np.where(usable_rows(obs), obs.losses[:, j], np.nan)
    order = np.argsort(losses, kind="stable")[: int((~np.isnan(losses)).sum())]
    name = objective_names(obs)[j] if obs.report.objectives else "objective"
    values = sign * losses
    finite = values[np.isfinite(values)]
    wide = finite.size > 0 and bool(finite.min() > 0 and finite.max() >= 100 * finite.min())
    return Course(name, values, sign * np.fmin.accumulate(losses), order, wide)


def ranked(
    obs: Observations, objective: Ranking, ties: Any, levels: Sequence[float], grid: Grid
) -> tuple[np.ndarray, str]:
    """(s, n) losses that rank the rows for level sets, NaN for rows that cannot be ranked; the goal in words.

    Sets end at ``levels``: they decide which fronts ``ties`` orders. ``grid`` says how many rows they have.
    """
    # (s, n, m): a log without a seed axis is one seed.
    losses = obs.losses.reshape(math.prod(obs.losses.shape[:-2]), *obs.losses.shape[-2:])
    names = objective_names(obs)
    by_front = isinstance(objective, str) and objective == "pareto"
    if ties is not None:
        _checks.instance("ties", ties, AbstractTies, "Hypervolume() or Crowding() of parzax.pareto")
        if not by_front:
            raise ValueError("ties are broken within fronts only: give objective='pareto' with ties=.")
    # With one objective the rows of a front have equal losses.
    if by_front and obs.n_objectives > 1:
        loss = _by_front(obs, losses, ties or Hypervolume(), levels, grid)
        return loss, f"by the Pareto rank of {obs.n_objectives} objectives"
    if callable(objective):
        return _combined(obs, losses, np.ones(obs.n_objectives), objective), "by a function of the objectives"
    if not (by_front or isinstance(objective, str) or np.ndim(objective) == 0):
        weights = _weights(objective, obs.n_objectives)
        terms = [f"{w:.3g} {name}" for w, name in zip(weights, names, strict=True) if w]
        loss = _combined(obs, losses, weights, partial(weighted_sum, weight=weights[weights > 0]))
        return loss, f"smallest {' + '.join(terms)}"
    number = 0 if by_front else objective_index(obs, cast(int | str, objective))
    best = "largest" if is_maximised(obs, number) else "smallest"
    unnamed = len(names) == 1 and not obs.report.objectives
    name = {"smallest": "loss", "largest": "value"}[best] if unnamed else shorten(names[number], NAME)
    return losses[..., number], f"{best} {name}"


def _by_front(
    obs: Observations, losses: np.ndarray, ties: AbstractTies, levels: Sequence[float], grid: Grid
) -> np.ndarray:
    """(s, n) places by non-domination rank and tie-break, see `pareto_places`."""
    weights = np.ones(losses.shape[:-1]) if obs.weight is None else obs.weight.reshape(losses.shape[:-1])
    # A loss of +inf marks failed rows, which come last whatever their other objectives are.
    worst = (losses == np.inf).any(axis=-1, keepdims=True)
    losses = np.where(worst & ~np.isnan(losses).any(axis=-1, keepdims=True), np.inf, losses)
    how = {"integral": bool((weights == np.floor(weights)).all()), "level_size": grid.level_size}
    places = []
    for loss, weight in zip(losses, weights, strict=True):
        total = float(weight[~np.isnan(loss).any(axis=1)].sum())
        needed = level_weights(tuple(x for x in levels if x < 1), np.float64(total), **how).tolist()
        places.append(pareto_places(loss, weight, needed, ties, exact=grid.of_reference))
    return np.stack(places)


def _combined(
    obs: Observations, losses: np.ndarray, weights: np.ndarray, function: Callable[[Any], Any]
) -> np.ndarray:
    """(s, n) ``function`` of the objectives with a weight, each scaled to [0, 1]; NaN where one is missing.

    Objectives are scaled by their smallest and largest finite value among the rows of each seed with a weight
    above 0; a constant objective becomes 0. A single objective is not scaled, since rounding could make
    different losses equal.
    """
    counts = np.flatnonzero(weights > 0)
    if len(counts) == 1:
        return losses[..., counts[0]]
    scaled = _scaled(losses, usable_rows(obs).reshape(losses.shape[:-1]))[..., counts]
    loss = np.asarray(function(np.where(np.isfinite(scaled), scaled, 0.0)))
    _checks.check_shape("the loss of objective=", loss, *losses.shape[:-1])
    for marked in (-np.inf, np.inf):
        loss = np.where((scaled == marked).any(axis=-1), marked, loss)
    return np.where(np.isnan(scaled).any(axis=-1), np.nan, loss)


def _scaled(losses: np.ndarray, used: np.ndarray) -> np.ndarray:
    """(..., n, m) objectives scaled to [0, 1] by their range among the rows ``used`` (..., n).

    Infinities and NaN stay and do not affect the range.
    """
    counted = used[..., None] & np.isfinite(losses)
    low = losses.min(axis=-2, keepdims=True, where=counted, initial=np.inf)
    high = losses.max(axis=-2, keepdims=True, where=counted, initial=-np.inf)
    varies = low < high
    low, high = np.where(varies, low, 0.0), np.where(varies, high, 1.0)
    # Values are halved so that no difference overflows.
    scaled = (losses / 2 - low / 2) / (high / 2 - low / 2)
    return np.where(varies | ~np.isfinite(losses), scaled, 0.0)


def _weights(weights: Any, m: int) -> np.ndarray:
    """(m,) weights, divided by their sum."""
    weights = _checks.check_weight(weights, (m,), "weights of objective=")
    if not weights.any():
        raise ValueError("objective: weights need one above 0.")
    # Weights are divided by the largest first, so that sums do not overflow.
    weights = weights / weights.max()
    return weights / weights.sum()


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
