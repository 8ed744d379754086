"""The variables of the template of the page: a result at every level, and the data of the pictures."""

import platform
from importlib.metadata import version
from itertools import groupby
from typing import Any

import numpy as np

import parzax
from parzax._words import plural, visible
from parzax.lens._palette import PALETTE
from parzax.lens.page.values import MOST_REGIMES, regime_values, stride
from parzax.lens.results import ImportanceResult, InteractionResult
from parzax.lens.results.phrases import percent, regime_text, short_labels, shorten, size_text
from parzax.status import Status

_LABEL, _SHORT, _TITLE, _LINE = 28, 15, 200, 400  # longest texts, in characters
_MOST_LINES, _MOST_DOMAINS, _MOST_PAIRS = 100, 4, 20
_DECIMALS = 4
_EXPLANATIONS = {
    "importance": "part of what separates the best rows from the others; those of a level add up to 1",
    "p": "of no effect, adjusted for the number of parameters; it is low where chance explains little",
    "rows": "in which the parameter is active",
    "remarks": "what is unusual",
}
_GENERAL = (
    "Importances say what separates the best rows of one log from the others, so one rises if another falls.",
    "A search that learns leaves few rows where it expects poor results, so its log says little about them.",
)


def content(
    result: ImportanceResult,
    interactions: InteractionResult | None,
    most: int,
    title: str | None = None,
    command: str | None = None,
    date: str | None = None,
) -> dict[str, Any]:
    """Variables of the page's template, by name, for the ``most`` important parameters.

    The script draws ``data``, at all levels; the template shows the level ``start``. ``title``, ``command``
    and ``date`` are printed on the page.
    """
    order = np.argsort(result.levels, kind="stable").tolist()
    start, names = order.index(result.usual_level), [visible(name) for name in result.names]
    labels, short = short_labels(names, _LABEL), short_labels(names, _SHORT)
    mean, error = (np.asarray(x[order], np.float64) for x in (result.mean, result.standard_error))
    mean = np.where(result.has_mean[order], mean, np.nan)
    ends = (mean - error, mean + error) if result.n_seeds > 1 else _ends(result, order, mean)
    pale = np.asarray(~result.above[order])
    highest = set(np.argsort(-np.nan_to_num(mean).max(axis=0), kind="stable")[:most].tolist())
    shown = [j for j in result.order() if j in highest]
    overall = np.argsort(-np.nan_to_num(mean).mean(axis=0), kind="stable").tolist()
    colour_of = dict(zip(overall, PALETTE, strict=False))
    cells = [result.cells(i) for i in order]
    columns = [name for name in cells[0] if name == "remarks" or any(any(x[name]) for x in cells)]
    regimes = regime_values(result, order, shown)
    pictures = [regime.picture for regime in regimes]
    step = stride(pictures, len(order))
    advice = [visible(line).split(": ", 1) for line in result.advice()]
    data = {
        "levels": result.levels[order].tolist(),
        "start": start,
        "labels": [labels[j] for j in shown],
        "short": [short[j] for j in shown],
        **{name: _rounded(x[:, shown]) for name, x in zip(("low", "high"), ends, strict=True)},
        "mean": _rounded(mean[:, shown]),
        "pale": pale[:, shown].astype(int).tolist(),
        "colours": [colour_of.get(j) for j in shown],
        "lines": [shown.index(j) for j in colour_of if j in shown],
        "cells": [[[of_level[name][j] for name in columns] for j in shown] for of_level in cells],
        "words": [_words(result, i) for i in order],
        "rough": (result.usual_status[order] & int(Status.LOW_DATA) != 0).any(axis=1).tolist(),
        "values": [regime.texts for regime in regimes],
        "pictures": [picture and picture | {"target": picture["target"][::step]} for picture in pictures],
        "step": step,
        "pairs": interactions and pairs(interactions, result.levels[order], [result.names[j] for j in shown]),
    }
    domains = [[visible(shorten(regime_text(one), _TITLE)) for one in x] for x in result.space.domains]
    left = len(names) - len(shown)
    return {
        "data": data,
        "title": visible(shorten(title or "Hyperparameter importance", _TITLE)),
        "columns": [(name, _EXPLANATIONS.get(name, "of the importance")) for name in columns],
        "full": [shorten(names[j], _TITLE) for j in shown],
        "left_out": left and f"{plural(left, 'further parameter')} with lower importances not shown.",
        # The regimes of each parameter, each numbered among all regimes.
        "values": [list(group) for _, group in groupby(enumerate(regimes), lambda pair: pair[1].parameter)],
        "more_regimes": sum(max(len(several) - MOST_REGIMES, 0) for several in domains),
        # First the statuses that occur, with advice; then warnings that hold for every log.
        "beware": [(name.replace("_", " ").capitalize(), text) for name, text in advice]
        + [("", text) for text in _GENERAL],
        "log": _first(
            [shorten(visible(line), _LINE) for line in result.report.lines(result.n_seeds)], _MOST_LINES
        ),
        "space": [
            (shorten(name, _TITLE), _first(texts, _MOST_DOMAINS), cells[start]["rows"][j])
            for j, (name, texts) in enumerate(zip(names, domains, strict=True))
        ],
        "command": command and visible(command),
        "date": date and visible(date),
        "settings": [line.split(": ", 1) for line in result.details()] + [("facts", x) for x in result.facts],
        "versions": {"parzax": parzax.__version__, "jax": version("jax"), "numpy": np.__version__}
        | {"Python": platform.python_version()},
    }


def _ends(result: ImportanceResult, order: list[int], mean: np.ndarray) -> list[np.ndarray]:
    """Low and high ends (q, d) of the intervals of a single log; NaN without samples."""
    ends = np.moveaxis(result.by_seed(result.uncertainty.importance_interval)[0, order], -1, 0)
    return [np.where(np.isnan(mean), np.nan, end) for end in ends]


def _words(result: ImportanceResult, level: int) -> dict[str, Any]:
    """The texts of a level: a label of the slider, and the sentences."""
    rows = f"{size_text(result.n_target[..., level])} of {plural(size_text(result.n_region), 'row')}"
    within = "" if result.region == 1 else f" within the best {percent(result.region)}"
    best = f"best {percent(result.levels[level])} (γ′ = {result.levels[level]:g}){within}: {rows}"
    return {"label": best, "sentences": [visible(text) for text in result.sentences(level)]}


def pairs(interactions: InteractionResult, levels: np.ndarray, names: list[str]) -> dict[str, Any] | None:
    """Interactions of the parameters ``names`` at every level of the page, or None.

    Each level of the page shows the nearest level of the interactions. In the answer, places in ``names``
    stand for parameters: ``pairs`` has them, ``map`` those that occur. For each level of the interactions
    there are ``importance`` (None if unknown), ``above`` (chance), ``table`` (number of a pair and texts) and
    ``words``. ``level`` has, for each level of the page, the index of the nearest of these.
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
