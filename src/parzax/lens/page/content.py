"""The variables of the template of the page: a result at every level, and the data of the pictures."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from itertools import groupby
from typing import Any

import numpy as np

import parzax
from parzax._words import plural
from parzax.lens._palette import PALETTE
from parzax.lens.logs import Observations
from parzax.lens.page.search import answer_first_questions, describe_search
from parzax.lens.results import ImportanceResult, InteractionResult
from parzax.lens.results.result import RegimeDensity, good_text
from parzax.lens.results.targets import Ranking
from parzax.lens.results.texts import label_text, percent, regime_text, short_names, shorten
from parzax.space import Categorical, Domain, Numeric, Varying
from parzax.status import Status

_LABEL, _SHORT, _TITLE, _DOMAIN, _LINE = 48, 20, 200, 120, 400  # longest texts, in characters
_MOST_LINES, _MOST_DOMAINS, _MOST_PAIRS = 100, 4, 20
_MOST_EFFECTS = 12  # largest number of curves of effects, those worth most
_MOST_REGIMES = 6  # largest number of regimes shown per parameter
_MOST_CELLS = 20  # largest number of choices in a picture
_MOST_TICKS = 8  # largest number of values that are named below a picture
_UNIT = 5000  # masses are whole numbers of 1 / 5000
_DECIMALS = 4


def content(
    result: ImportanceResult,
    interactions: InteractionResult | None,
    most: int,
    title: str | None = None,
    command: str | None = None,
    date: str | None = None,
    obs: Observations | None = None,
    objective: Ranking = 0,
) -> dict[str, Any]:
    """Variables of the page's template, by name, for the ``most`` important parameters.

    The script draws ``data``, at all levels; the template shows the level ``start``. ``title``, ``command``
    and ``date`` are printed on the page. The log ``obs``, if there is one, has the course of the search.
    """
    search = describe_search(obs, objective)
    order = np.argsort(result.levels, kind="stable").tolist()
    start, names = order.index(result.usual_level), result.names
    labels, short = short_names(names, _LABEL), short_names(names, _SHORT)
    mean, error = (np.asarray(x[order], np.float64) for x in (result.mean, result.standard_error))
    mean = np.where(result.has_mean[order], mean, np.nan)
    low, high = np.moveaxis(result.by_seed(result.importance_interval)[0, order], -1, 0)
    if result.n_seeds > 1:
        low, high = mean - error, mean + error
    pale = np.asarray(~result.above[order])
    highest = set(np.argsort(-np.nan_to_num(mean).max(axis=0), kind="stable")[:most].tolist())
    place = np.argsort(result.order())
    # A parameter stands beside the gate of its special values.
    for j, gate in result.gates.items():
        place[[j, gate]] = place[[j, gate]].min()
    shown = [j for j in np.argsort(place, kind="stable").tolist() if j in highest]
    overall = np.argsort(-np.nan_to_num(mean).mean(axis=0), kind="stable").tolist()
    colour_of = dict(zip(overall, PALETTE, strict=False))
    cells = [result.cells(i) for i in order]
    columns = [name for name in cells[0] if name == "remarks" or any(any(x[name]) for x in cells)]
    regimes = _regime_values(result, order, shown)
    effects, n_above = getattr(result, "effects", ())[:_MOST_EFFECTS], result.above.sum(axis=0)
    advice = [line.split(": ", 1) for line in result.advice() if not line.startswith("NOT_ABOVE_CHANCE")]
    data = {
        "levels": result.levels[order].tolist(),
        "start": start,
        "labels": [labels[j] for j in shown],
        "short": [short[j] for j in shown],
        **{name: _rounded(x[:, shown]) for name, x in {"low": low, "mean": mean, "high": high}.items()},
        "pale": pale[:, shown].astype(int).tolist(),
        "colours": [colour_of.get(j) for j in shown],
        "lines": [shown.index(j) for j in colour_of if j in shown],
        "cells": [[[of_level[name][j] for name in columns] for j in shown] for of_level in cells],
        "level_labels": [f"{result.best_rows(i)}, γ′ = {result.levels[i]:g}" for i in order],
        "sentences": [result.sentences(i) for i in order],
        "rough": (result.usual_status[order] & int(Status.LOW_DATA) != 0).any(axis=1).tolist(),
        "values": [regime["texts"] for regime in regimes],
        "pictures": [regime["picture"] for regime in regimes],
        "course": search,
        "pairs": interactions and pairs(interactions, result.levels[order], [result.names[j] for j in shown]),
    }
    domains = [[shorten(regime_text(one), _TITLE) for one in x] for x in result.space.domains]
    by_parameter = groupby(enumerate(regimes), lambda pair: pair[1]["parameter"])
    left, lines = len(names) - len(shown), result.report.lines(result.n_seeds)
    return {
        "data": data,
        "title": shorten(title or "Hyperparameter importance", _TITLE),
        "answers": answer_first_questions(result, lines, obs, search),
        "names": [shorten(name, _LABEL) for name in names],
        "above": [f"{labels[j]} at {n_above[j]} of {len(order)}" for j in shown if n_above[j]],
        "columns": columns,
        "full": [shorten(names[j], _TITLE) for j in shown],
        "left_out": left and f"{plural(left, 'further parameter')} with lower importances not shown.",
        # The regimes of each parameter, each numbered among all regimes.
        "values": [list(group) for _, group in by_parameter],
        "effects": [_draw_effect(result, effect) for effect in effects],
        "next_steps": getattr(result, "next_steps", list)(),
        "more_regimes": sum(max(len(several) - _MOST_REGIMES, 0) for several in domains),
        "advice": [(name.replace("_", " ").capitalize(), text) for name, text in advice],
        "log": _first([shorten(line, _LINE) for line in lines], _MOST_LINES),
        "space": [
            (shorten(name, _TITLE), _first(texts, _MOST_DOMAINS))
            for name, texts in zip(names, domains, strict=True)
        ],
        "active_rows": cells[start].get("rows", []),
        "command": command,
        "date": date,
        "settings": [line.split(": ", 1) for line in result.details()] + [("facts", x) for x in result.facts],
        "versions": {"parzax": parzax.__version__, "jax": version("jax"), "numpy": version("numpy")}
        | {"Python": platform.python_version()},
    }


def _regime_values(
    result: ImportanceResult, order: list[int], parameters: Sequence[int]
) -> list[dict[str, Any]]:
    """The regimes of ``parameters``, at the levels ``order``.

    ``caption`` is the domain with its conditions. ``texts`` say at each level which values are good, and how
    many rows the regime has. ``picture`` is None if there is nothing to draw.
    """
    good = [{(x.parameter, x.regime): x for x in result.good_values(i)} for i in order]
    alpha, beta = (result.mean_over_seeds(x)[order] for x in (result.alpha, result.beta))
    out: list[dict[str, Any]] = []
    for j in parameters:
        name = result.names[j]
        domains = result.space.domains[j]
        for k, domain in enumerate(domains[:_MOST_REGIMES]):
            shared, texts = len(domains) > 1 or bool(domain.conditions), []
            for i, at_level in enumerate(good):
                values = at_level.get((name, k))
                nothing = "nothing stands out" if alpha[i, j, k] > 0 else "no good values"
                target, region = (percent(round(share, 2)) for share in (alpha[i, j, k], beta[i, j, k]))
                part = f"; here are {target} of the best, {region} of all" if shared else ""
                texts.append(((values and good_text(values, domains)) or nothing) + part)
            density, has_rows = result.density(name)[k], alpha[:, j, k] > 0
            picture = _draw_picture(result, density, order, has_rows) if beta[0, j, k] > 0 else None
            caption = shorten(regime_text(domain), _DOMAIN)
            out.append({"parameter": j, "caption": caption, "texts": texts, "picture": picture})
    return out


def _draw_picture(
    result: ImportanceResult, density: RegimeDensity, order: list[int], has_rows: np.ndarray
) -> dict[str, Any] | None:
    """A picture's data: mean masses of the cells over seeds, in the region and in each target.

    The region is as smooth as the target of the usual level. The masses of targets without rows in the regime
    are 0.
    """
    if len(density.values) < 2:
        return None
    target = result.mean_over_seeds(density.target)[order] * has_rows[:, None]
    region = result.mean_over_seeds(density.region)[result.usual_level]
    values, kept = list(density.values), np.arange(len(density.values))
    choices = isinstance(density.domain, Categorical)
    if choices and len(values) > _MOST_CELLS:
        most = np.maximum(target.max(axis=0), region)
        kept = np.sort(np.argsort(-most, kind="stable")[:_MOST_CELLS])
    return {
        "region": np.round(region[kept] * _UNIT).astype(int).tolist(),
        "target": np.round(target[:, kept] * _UNIT).astype(int).tolist(),
        "ticks": _ticks(density.domain, [values[i] for i in kept]),
        "hidden": len(values) - len(kept),
    }


def _draw_effect(result: ImportanceResult, effect: Any) -> dict[str, Any]:
    """The sentence, the curve and its band of one `parzax.lens.results.surrogates.Effect`.

    All curves share one scale: that of the means, and a tenth of it to either side.
    """
    means = np.concatenate([one.mean for one in result.effects])
    low, high = np.nanmin(means), np.nanmax(means)
    margin = 0.1 * (high - low) or 1.0
    below = high + margin - np.stack([effect.mean, effect.low, effect.high])
    heights = 60 * below / (high - low + 2 * margin)
    y, bottom, top = np.nan_to_num(np.clip(heights, 0, 60), nan=60).round(1)
    ends = np.linspace(0, 300, len(y) + 1).round(1)
    x = np.repeat(ends, 2)[1:-1]
    line, low, high = (np.column_stack([x, np.repeat(at, 2)]).tolist() for at in (y, bottom, top))
    line, band = ("L".join(f"{x} {y}" for x, y in points) for points in (line, low + high[::-1]))
    return {
        "text": str(effect),
        "line": f"M{line}",
        "band": f"M{band}Z",
        "ticks": _ticks(result.space[effect.parameter][effect.regime], effect.values),
    }


def _ticks(domain: Domain, values: Sequence[Any]) -> list[str]:
    """The texts below a picture: of few values all, of a range of numbers its ends."""
    ends: Sequence[Any] = values
    if len(values) > _MOST_TICKS:
        ends = values[0], values[-1]
        if isinstance(domain, Numeric) and not isinstance(domain, Varying):
            ends = domain.low, domain.high
    return list(map(label_text, ends))


def pairs(interactions: InteractionResult, levels: np.ndarray, names: list[str]) -> dict[str, Any] | None:
    """Interactions of the parameters ``names`` at every level of the page, or None.

    Each level of the page shows the nearest level of the interactions. In the answer, places in ``names``
    stand for parameters: ``pairs`` has them, ``map`` those that occur. For each level of the interactions
    there are ``importance`` (None if unknown), ``above`` (chance), ``table`` (number of a pair and texts) and
    ``words``; ``any`` says whether any pair is above chance. ``level`` has, for each level of the page, the
    index of the nearest of these.
    """
    kept = [i for i, pair in enumerate(interactions.pairs) if set(pair) <= set(names)]
    if not kept:
        return None
    nearest = np.abs(levels[:, None] - interactions.levels).argmin(axis=1)
    at, level = np.unique(nearest, return_inverse=True)
    mean = np.where(interactions.has_mean, interactions.mean, np.nan)[at][:, kept]
    tables = []
    for q in at.tolist():
        cells, place = interactions.cells(q), {i: number for number, i in enumerate(kept)}
        listed = [i for i in interactions.order(q) if i in place][:_MOST_PAIRS]
        tables.append([[place[i], cells["importance"][i], cells.get("p", [""] * (i + 1))[i]] for i in listed])
    rows = [[names.index(name) for name in interactions.pairs[i]] for i in kept]
    return {
        "pairs": rows,
        "map": sorted({row for pair in rows for row in pair}),
        "importance": _rounded(mean),
        "above": interactions.above[at][:, kept].astype(int).tolist(),
        "any": bool(interactions.above[at][:, kept].any()),
        "table": tables,
        "words": [interactions.sentences(q) for q in at.tolist()],
        "level": level.tolist(),
    }


def _first(lines: list[str], most: int) -> list[str]:
    """The first ``most`` lines, and a last line with the number of further ones."""
    return lines if len(lines) <= most + 1 else [*lines[:most], f"and {len(lines) - most} more"]


def _rounded(x: np.ndarray) -> Any:
    """Turn an array into nested lists for JSON: numbers with four decimals, None for NaN."""
    return np.where(np.isfinite(x), np.round(np.float64(x), _DECIMALS), np.array(None)).tolist()
