"""Which rows count, and which loss ranks them: an objective, a weighted combination or the Pareto order."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parzax import _checks
from parzax.importance.levels import level_weights
from parzax.importance.objectives import normalised
from parzax.lens.logs import ImportReport, Observations
from parzax.lens.results.fronts import pareto_places
from parzax.pareto import AbstractTies, Hypervolume

ROWS = ("all", "complete", "feasible")
Scalarisation = Callable[[Any, Any], Any]


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


def narrow_report(obs: Observations, report: ImportReport, objective: int) -> ImportReport:
    """The report, reduced to what concerns one of several objectives."""
    names, direction = objective_names(obs), obs.report.direction[objective]
    return replace(report, direction=(direction,), objectives=(names[objective],))


def ranking_losses(
    obs: Observations, objective: Any, selection: str, ties: Any, levels: Sequence[float], raw: bool
) -> np.ndarray:
    """(s, n) losses that rank the rows for level sets; NaN for rows that cannot be ranked.

    With "objective" the loss is one objective; with "pareto" it is the place by non-domination rank and
    tie-break, for sets that end at ``levels``; see `parzax.lens.results.fronts.pareto_places`. ``raw`` rounds
    and orders as in Optuna.
    """
    _checks.one_of("selection", selection, ("objective", "pareto"))
    number, losses = objective_index(obs, objective), losses_by_seed(obs)
    if ties is not None:
        _checks.instance("ties", ties, AbstractTies, "Hypervolume() or Crowding() of parzax.pareto")
        if selection == "objective":
            raise ValueError("ties are broken within fronts only: give selection='pareto' with ties=.")
    # With one objective the rows of a front have equal losses.
    if selection == "objective" or obs.n_objectives == 1:
        return losses[..., number]
    weights = np.ones(losses.shape[:-1]) if obs.weight is None else obs.weight.reshape(losses.shape[:-1])
    # A loss of +inf marks failed rows, which come last whatever their other objectives are.
    worst = (losses == np.inf).any(axis=-1, keepdims=True)
    losses = np.where(worst & ~np.isnan(losses).any(axis=-1, keepdims=True), np.inf, losses)
    how = {"integral": bool((weights == np.floor(weights)).all()), "optuna_rounding": raw}
    places = []
    for loss, weight in zip(losses, weights, strict=True):
        total = float(weight[~np.isnan(loss).any(axis=1)].sum())
        needed = level_weights(tuple(x for x in levels if x < 1), np.float64(total), **how).tolist()
        places.append(pareto_places(loss, weight, needed, ties or Hypervolume(), exact=raw))
    return np.stack(places)


def scalarised_losses(obs: Observations, weights: np.ndarray, scalarise: Scalarisation) -> np.ndarray:
    """(w, s, n) one loss per row of ``weights`` (w, m); NaN for rows that lack an objective with a weight.

    Every objective is scaled to [0, 1] by its smallest and largest finite value among the rows of each seed
    with a weight above 0; a constant objective becomes 0. Weights are divided by their sum. An objective with
    weight 0 is left out, so its missing values do not matter. If only one objective has a weight, it is not
    scaled, since rounding could make different losses equal.
    """
    losses = losses_by_seed(obs)
    all_shares = normalised(losses, usable_rows(obs).reshape(losses.shape[:-1]))
    out = []
    for weight in weights:
        counts = np.flatnonzero(weight > 0)
        if len(counts) == 1:
            out.append(losses[..., counts[0]])
            continue
        shares = all_shares[..., counts]
        loss = scalarise(np.where(np.isfinite(shares), shares, 0.0), weight[counts] / weight[counts].sum())
        for marked in (-np.inf, np.inf):
            loss = np.where((shares == marked).any(axis=-1), marked, loss)
        out.append(np.where(np.isnan(shares).any(axis=-1), np.nan, loss))
    return np.stack(out)
