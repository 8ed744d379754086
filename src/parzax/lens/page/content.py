"""The text of a page, in its order, and the data of its pictures."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from itertools import groupby
from typing import Any

import numpy as np

import parzax
from parzax._words import plural, visible
from parzax.lens._palette import PALETTE
from parzax.lens.page.numbers import TOP, Numbers, numbers, rounded, texts_or_dash
from parzax.lens.page.pairs import pairs
from parzax.lens.page.values import MOST_REGIMES, regime_values, stride
from parzax.lens.page.words import interval_text, level_words, percent, status_words, summary
from parzax.lens.results import ImportanceResult, InteractionResult
from parzax.lens.results.base import size_text
from parzax.lens.results.estimator import ESTIMATORS
from parzax.lens.results.labels import short_labels, shorten
from parzax.lens.results.phrases import INTERVAL_AND_P, regime_text, value_text
from parzax.lens.results.table import advice_lines

_LABEL, _SHORT, _TITLE, _LINE = 28, 15, 200, 400  # longest texts, in characters
_MOST_LINES = 100
_MOST_DOMAINS = 4  # largest number of domains shown per parameter in the table of the space
_GENERAL = (
    "Importances are shares of one log: they say what separates its best rows from the others, and add up to "
    "1 at each level, so others rise if one falls.",
    "A sampler that learns leaves few rows where it expects poor results, so its log says little about them.",
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
    stats = numbers(result)
    start = stats.default
    names = [visible(name) for name in result.names]
    labels, short = short_labels(names, _LABEL), short_labels(names, _SHORT)
    shown = _shown(stats, most)
    active = result.regime_region[..., :-1].sum(axis=-1).reshape(-1, len(names))
    n_active = [size_text(column) for column in active.T]
    columns, domains = _columns(stats, n_active), result.space.domains
    domain_texts = [[visible(shorten(regime_text(one), _TITLE)) for one in several] for several in domains]
    regimes = regime_values(result, stats, shown)
    pictures = [regime.picture for regime in regimes]
    step = stride(pictures, len(stats.levels))
    colour_of = dict(zip(stats.ranking, PALETTE, strict=False))
    good = [(regime.parameter, regime.good[start]) for regime in regimes if regime.good[start]]
    advice = (visible(line).split(": ", 1) for line in advice_lines(result))
    sentences = [*result.report.doubts(), *summary(result, stats, labels, good)]
    data = {
        "levels": stats.levels.tolist(),
        "start": start,
        "labels": [labels[j] for j in shown],
        "short": [short[j] for j in shown],
        **{name: rounded(getattr(stats, name)[:, shown]) for name in ("mean", "low", "high")},
        "pale": stats.pale[:, shown].astype(int).tolist(),
        "colours": [colour_of.get(j) for j in shown],
        "lines": [shown.index(j) for j in colour_of if j in shown],
        "cells": np.stack(list(columns.values()), axis=-1)[:, shown].tolist(),
        "words": level_words(result, stats, labels),
        "rough": stats.rough.tolist(),
        "values": [regime.texts for regime in regimes],
        "pictures": [picture and picture | {"target": picture["target"][::step]} for picture in pictures],
        "step": step,
        "pairs": interactions and pairs(interactions, stats, {result.names[j]: labels[j] for j in shown}),
        "region": result.region_quantile,
    }
    return {
        "data": data,
        "title": visible(shorten(title or "Hyperparameter importance", _TITLE)),
        "tested": stats.tested,
        "summary": sentences,
        "columns": list(columns),
        "full": [shorten(names[j], _TITLE) for j in shown],
        "left_out": _left_out(stats, shown),
        # The regimes of each parameter, each numbered among all regimes.
        "values": [list(group) for _, group in groupby(enumerate(regimes), lambda pair: pair[1].parameter)],
        "more_regimes": sum(max(len(several) - MOST_REGIMES, 0) for several in domains),
        # First the statuses that occur, with advice; then warnings that hold for every log.
        "beware": [(_status_name(where), text) for where, text in advice] + [("", text) for text in _GENERAL],
        "log": _log(result, " ".join(sentences)),
        "space": [
            (shorten(name, _TITLE), _first(texts, _MOST_DOMAINS), n_rows)
            for name, texts, n_rows in zip(names, domain_texts, n_active, strict=True)
        ],
        "command": command and visible(command),
        "date": date and visible(date),
        "settings": _settings(result, stats),
        "versions": {"parzax": parzax.__version__, "jax": version("jax"), "numpy": np.__version__}
        | {"Python": platform.python_version()},
    }


def _shown(stats: Numbers, most: int) -> list[int]:
    """The ``most`` parameters with the highest importance at any level, in the order at the default level."""
    mean = np.nan_to_num(stats.mean)
    kept = np.argsort(-mean.max(axis=0), kind="stable")[:most]
    by_rank = [j for j in stats.ranking if j in kept]
    return sorted(by_rank, key=lambda j: (stats.pale[stats.default, j], -mean[stats.default, j]))


def _left_out(stats: Numbers, shown: Sequence[int]) -> str:
    rest = sorted(set(range(stats.mean.shape[1])) - set(shown))
    if not rest:
        return ""
    highest = value_text(float(np.nan_to_num(stats.mean[:, rest]).max()))
    what = f"{plural(len(rest), 'further parameter')} {'is' if len(rest) == 1 else 'are'}"
    return f"{what} not shown, with an importance of at most {highest}."


def _columns(stats: Numbers, n_active: Sequence[str]) -> dict[tuple[str, str], Any]:
    """The columns of the table: (title, explanation) -> (q, d) texts."""
    q, d = stats.mean.shape
    importance = texts_or_dash(value_text, stats.mean)
    columns: dict[tuple[str, str], Any] = {("importance", "share of all variances at this level"): importance}
    tested = (stats.p != "–").any()
    if stats.interval:
        hint = INTERVAL_AND_P if tested and stats.tested else "of the importance"
        columns[stats.interval, hint] = texts_or_dash(interval_text, stats.low, stats.high)
    if tested:
        levels = ", not of levels" * (q > 1)
        hint = f"against a random target, adjusted for the number of parameters{levels} (Holm)"
        columns["p", hint] = stats.p
    if np.isfinite(stats.top).any():
        among = f"probability of being among the {TOP} most important ones"
        columns[f"top {TOP}", among] = texts_or_dash(percent, np.round(stats.top, 2))
    columns["rows", "in which the parameter is active"] = [n_active] * q
    remarks = [[status_words(stats, i, j) for j in range(d)] for i in range(q)]
    return columns | {("remarks", "what is unusual"): remarks}


def _status_name(where: str) -> str:
    """Turn "LOW_DATA (level 0.01)" into "Low data (level 0.01)"; names in brackets are unchanged."""
    name, *rest = where.split(" ", 1)
    return " ".join([name.replace("_", " ").capitalize(), *rest])


def _log(result: ImportanceResult, said: str) -> list[str]:
    """Sentences on how the log was read, without those that were ``said`` above."""
    lines = [line for line in result.report.lines(result.n_seeds) if line[1:] not in said]
    lines.append(f"used: {plural(size_text(result.n_region), 'row')}")
    if result.region_quantile < 1:
        lines[-1] += f", the best {100 * result.region_quantile:.6g} % of those that can be ranked"
    return _first([shorten(visible(line), _LINE) for line in lines], _MOST_LINES)


def _first(lines: list[str], most: int) -> list[str]:
    """The first ``most`` lines, and a last line with the number of further ones."""
    return lines if len(lines) <= most + 1 else [*lines[:most], f"and {len(lines) - most} more"]


def _settings(result: ImportanceResult, stats: Numbers) -> list[tuple[str, str]]:
    """Pairs (name, text) that say how the importances were computed."""
    low, high, q = stats.levels[0], stats.levels[-1], len(stats.levels)
    name = next((name for name, estimator in ESTIMATORS.items() if estimator == result.estimator), None)
    return [
        ("method", "conditional PED-ANOVA (arXiv 2601.20800)"),
        ("target levels γ′", f"{low:g}" if q == 1 else f"{q} from {low:g} to {high:g}"),
        ("region level γ", f"{result.region_quantile:g}"),
        ("compared with", "the region" if result.reference == "region" else "the uniform density"),
        ("estimator", name or repr(result.estimator)),
        ("precision", str(result.importance.dtype)),
    ]
