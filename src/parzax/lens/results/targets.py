"""Which rows count, and which loss ranks them: an objective, a weighted combination or the Pareto order."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from parzax import _checks
from parzax.importance.levels import level_weights
from parzax.importance.objectives import normalised, weighted_sum
from parzax.lens.logs import Observations
from parzax.lens.results.fronts import pareto_places
from parzax.lens.results.labels import shorten
from parzax.lens.results.phrases import NAME
from parzax.pareto import AbstractTies, Hypervolume

ROWS = ("all", "complete", "feasible")
# What ranks rows: an objective, "pareto", weights, or a function of the objectives.
Ranking = int | str | Sequence[float] | np.ndarray | Callable[[Any], Any]


def counted_rows(obs: Observations, rows: str | Sequence[str]) -> Observations:
    """The log with weight 0 for rows that do not count; the report has the number of these rows.

    Args:
        rows: "all"; "complete", rows with a loss, so that rows kept by ``failed="worst"`` or
            ``pruned="worst"`` do not count; "feasible", rows whose constraints are all given and <= 0; or
            several of these words, which must all hold.

    Raises:
        TypeError, ValueError: for other ``rows``, and for "feasible" with a log without constraints.
    """
    words = [rows] if isinstance(rows, str) else rows
    if not isinstance(words, Sequence) or not words:
        raise TypeError(f"rows must be one of {', '.join(map(repr, ROWS))}, or several, got {rows!r}.")
    if rows == "all":
        return obs
    keep, dropped = np.ones(obs.losses.shape[:-1], dtype=bool), dict(obs.report.dropped)
    for word in words:
        _checks.one_of("rows", word, ROWS)
        if word == "feasible" and obs.constraints is None:
            remedy = "give them when it is read (constraints=, feasible where <= 0), or take rows='all'"
            raise ValueError(f"rows='feasible' needs constraints, and the log has none: {remedy}.")
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


def losses_by_seed(obs: Observations) -> np.ndarray:
    """(s, n, m) losses; a log without a seed axis is one seed."""
    return obs.losses.reshape(math.prod(obs.batch_shape), obs.n, obs.n_objectives)


def objective_names(obs: Observations) -> tuple[str, ...]:
    """Names of the objectives: the names of their columns if known, else objective_0, objective_1, ..."""
    return obs.report.objectives or tuple(f"objective_{i}" for i in range(obs.n_objectives))


def objective_index(obs: Observations, objective: int | str) -> int:
    """Index of an objective, from its index or its name."""
    if isinstance(objective, str):
        names = objective_names(obs)
        return names.index(_checks.one_of("objective", objective, names))
    return _checks.whole_number("objective", objective, 0, obs.n_objectives - 1)


def ranked(
    obs: Observations, objective: Ranking, ties: Any, levels: Sequence[float], raw: bool
) -> tuple[np.ndarray, str]:
    """(s, n) losses that rank the rows for level sets, NaN for rows that cannot be ranked; the goal in words.

    Sets end at ``levels``: they decide which fronts ``ties`` orders. ``raw`` rounds and orders as in Optuna.
    """
    losses, names = losses_by_seed(obs), objective_names(obs)
    pareto = isinstance(objective, str) and objective == "pareto"
    if ties is not None:
        _checks.instance("ties", ties, AbstractTies, "Hypervolume() or Crowding() of parzax.pareto")
        if not pareto:
            raise ValueError("ties are broken within fronts only: give objective='pareto' with ties=.")
    # With one objective the rows of a front have equal losses.
    if pareto and obs.n_objectives > 1:
        loss = _by_front(obs, losses, ties or Hypervolume(), levels, raw)
        return loss, f"by the Pareto rank of {obs.n_objectives} objectives"
    if callable(objective):
        return _combined(obs, losses, np.ones(obs.n_objectives), objective), "by a function of the objectives"
    if not (pareto or isinstance(objective, str) or np.ndim(objective) == 0):
        weights = _weights(objective, obs.n_objectives)
        terms = [f"{w:.3g} {name}" for w, name in zip(weights, names, strict=True) if w]
        return _combined(
            obs, losses, weights, partial(weighted_sum, weight=weights[weights > 0])
        ), f"smallest {' + '.join(terms)}"
    number = 0 if pareto else objective_index(obs, cast(int | str, objective))
    best = "largest" if obs.report.directions[number] == "maximize" else "smallest"
    name = shorten(names[number], NAME) if obs.report.objectives or len(names) > 1 else "loss"
    return losses[..., number], f"{best} {name}"


def _by_front(
    obs: Observations, losses: np.ndarray, ties: AbstractTies, levels: Sequence[float], raw: bool
) -> np.ndarray:
    """(s, n) places by non-domination rank and tie-break, see `parzax.lens.results.fronts.pareto_places`."""
    weights = np.ones(losses.shape[:-1]) if obs.weight is None else obs.weight.reshape(losses.shape[:-1])
    # A loss of +inf marks failed rows, which come last whatever their other objectives are.
    worst = (losses == np.inf).any(axis=-1, keepdims=True)
    losses = np.where(worst & ~np.isnan(losses).any(axis=-1, keepdims=True), np.inf, losses)
    how = {"integral": bool((weights == np.floor(weights)).all()), "optuna_rounding": raw}
    places = []
    for loss, weight in zip(losses, weights, strict=True):
        total = float(weight[~np.isnan(loss).any(axis=1)].sum())
        needed = level_weights(tuple(x for x in levels if x < 1), np.float64(total), **how).tolist()
        places.append(pareto_places(loss, weight, needed, ties, exact=raw))
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
    scaled = normalised(losses, usable_rows(obs).reshape(losses.shape[:-1]))[..., counts]
    loss = np.asarray(function(np.where(np.isfinite(scaled), scaled, 0.0)))
    _checks.check_shape("the loss of objective=", loss, *losses.shape[:-1])
    for marked in (-np.inf, np.inf):
        loss = np.where((scaled == marked).any(axis=-1), marked, loss)
    return np.where(np.isnan(scaled).any(axis=-1), np.nan, loss)


def _weights(weights: Any, m: int) -> np.ndarray:
    """(m,) weights, divided by their sum."""
    weights = _checks.float_array("objective", weights)
    if weights.shape != (m,):
        raise ValueError(
            f"objective: weights must have shape ({m},), one per objective, got {weights.shape}."
        )
    if not ((weights >= 0) & (weights < np.inf)).all() or not (weights > 0).any():
        raise ValueError("objective: weights must be finite and at least 0, with one above 0.")
    # Weights are divided by the largest first, so that sums do not overflow.
    weights = weights / weights.max()
    return weights / weights.sum()
