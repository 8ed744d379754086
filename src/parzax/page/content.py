"""Everything that a page says, in the order of the page, and the data of its pictures."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

import parzax
from parzax._palette import PALETTE
from parzax._words import visible
from parzax.page.numbers import TOP, Numbers, numbers
from parzax.page.pairs import pairs
from parzax.page.values import MOST_REGIMES, RegimeValues, regime_values, stride
from parzax.page.words import (
    LevelWords,
    interval_text,
    level_words,
    p_text,
    percent,
    status_words,
    summary,
)
from parzax.results import GridEstimator, ImportanceResult
from parzax.results.labels import short_names, shorten
from parzax.results.phrases import regime, value_text
from parzax.results.table import advice_lines, size_text

_LABEL, _SHORT, _TITLE, _LINE = 28, 15, 200, 400  # characters
_MOST_LINES = 100
_MOST_DOMAINS = 4  # of one parameter in the table of the space
_DECIMALS = 4
_GENERAL = (
    "Importances are shares of one log: they say what separates its best rows from the others, and add up to "
    "1 at each level, so that one that falls lets others rise.",
    "A log of a sampler that learns has few rows where it expects nothing, and can say little about these.",
)


class Origin(NamedTuple):
    """What the page is about, and what made it, as the caller says."""

    title: str | None
    command: str | None
    date: str | None


class Row(NamedTuple):
    """One parameter: short names, the full one, and a text per column at the level that the page opens at."""

    label: str
    short: str
    full: str
    cells: list[str]


class Pairs(NamedTuple):
    """Of interactions at one level: rows (name, name, texts, whether above chance), and what is said."""

    rows: list[tuple[str, str, list[str], bool]]
    more: str
    words: list[str]
    tested: bool


class SpaceRow(NamedTuple):
    """One parameter of the search space: its domains in words, and in how many rows it is active."""

    name: str
    domains: list[str]
    active: str


@dataclass(frozen=True)
class Content:
    """What the template shows; ``data`` is what the script draws, at all levels."""

    title: str
    summary: list[str]
    words: LevelWords
    several_levels: bool
    columns: list[tuple[str, str]]
    rows: list[Row]
    left_out: str
    values: list[tuple[Row, list[tuple[int, RegimeValues]]]]
    more_regimes: int
    pairs: Pairs | None
    beware: list[tuple[str, str]]
    log: list[str]
    space: list[SpaceRow]
    origin: Origin
    settings: list[tuple[str, str]]
    versions: dict[str, str]
    default: int
    data: dict[str, Any]


def content(result: ImportanceResult, interactions: Any, most: int, origin: Origin) -> Content:
    """The content of a page about ``result`` that shows ``most`` parameters."""
    own = numbers(result)
    names = [visible(name) for name in result.names]
    labels, short = (
        [chosen[name] for name in names] for chosen in (short_names(names, n) for n in (_LABEL, _SHORT))
    )
    shown = _shown(own, most)
    words = level_words(result, own, labels)
    columns, cells = _cells(result, own, shown)
    values = regime_values(result, own, shown)
    step = stride(values, len(own.levels))
    together = pairs(interactions, own, result.names, shown, labels)
    rows = [
        Row(labels[j], short[j], shorten(names[j], _TITLE), cells[own.default][row])
        for row, j in enumerate(shown)
    ]
    good = [(of.parameter, of.good[own.default]) for of in values if of.good[own.default]]
    first = together["level"][own.default] if together else 0
    data = {
        "levels": own.levels.tolist(),
        "start": own.default,
        "labels": [row.label for row in rows],
        "short": [row.short for row in rows],
        "mean": _rounded(own.mean[:, shown]),
        "low": _rounded(own.low[:, shown]),
        "high": _rounded(own.high[:, shown]),
        "pale": own.pale[:, shown].astype(int).tolist(),
        "colours": _colours(own, shown),
        "lines": [shown.index(j) for j in own.ranking[: len(PALETTE)].tolist() if j in shown],
        "cells": cells,
        "words": [level._asdict() for level in words],
        "rough": own.rough.tolist(),
        "values": [own_values.texts for own_values in values],
        "pictures": [_thinned(own_values.picture, step) for own_values in values],
        "step": step,
        "pairs": together,
        "region": result.region_quantile,
    }
    return Content(
        title=visible(shorten(origin.title or "Hyperparameter importance", _TITLE)),
        summary=summary(result, own, labels, good),
        words=words[own.default],
        several_levels=len(own.levels) > 1,
        columns=columns,
        rows=rows,
        left_out=_left_out(own, shown),
        values=_by_row(rows, shown, values),
        more_regimes=sum(max(len(result.space[name]) - MOST_REGIMES, 0) for name in result.names),
        pairs=None if together is None else _pairs(together, first, rows),
        beware=_beware(result),
        log=_log(result),
        space=_space(result, names),
        origin=Origin(*(None if text is None else visible(text) for text in origin)),
        settings=_settings(result, own),
        versions={"parzax": parzax.__version__, "jax": version("jax"), "numpy": np.__version__}
        | {"Python": platform.python_version()},
        default=own.default,
        data=data,
    )


def _shown(own: Numbers, most: int) -> list[int]:
    """The parameters with the highest importance at any level, by that at the default level."""
    mean = np.nan_to_num(own.mean)
    kept = set(np.argsort(-mean.max(axis=0), kind="stable")[:most].tolist())
    overall = {j: i for i, j in enumerate(own.ranking.tolist())}
    return sorted(kept, key=lambda j: (-mean[own.default, j], overall[j]))


def _left_out(own: Numbers, shown: Sequence[int]) -> str:
    rest = sorted(set(range(own.mean.shape[1])) - set(shown))
    if not rest:
        return ""
    highest = value_text(float(np.nan_to_num(own.mean[:, rest]).max()))
    if len(rest) == 1:
        return f"1 further parameter is not shown, with an importance of at most {highest}."
    return f"{len(rest)} further parameters are not shown, each with an importance of at most {highest}."


def _colours(own: Numbers, shown: Sequence[int]) -> list[str | None]:
    """Those of the pictures for the parameters that have a line, None for the others."""
    rank = {j: i for i, j in enumerate(own.ranking.tolist())}
    return [PALETTE[rank[j]] if rank[j] < len(PALETTE) else None for j in shown]


def _cells(
    result: ImportanceResult, own: Numbers, shown: Sequence[int]
) -> tuple[list[tuple[str, str]], list[list[list[str]]]]:
    """The columns of the table (title, explanation), and their texts by level and row."""
    active = result.regime_region[..., :-1].sum(axis=-1).reshape(-1, len(result.names))
    sizes = [size_text(column) for column in active.T]
    columns = [("importance", "share of all variances at this level")]
    has_p, has_top = np.isfinite(own.p).any(), np.isfinite(own.top).any()
    if own.interval:
        columns.append((own.interval, "of the importance"))
    if has_p:
        columns.append(("p", "against a random target, adjusted for the number of parameters (Holm)"))
    if has_top:
        columns.append((f"top {TOP}", f"probability of being among the {TOP} most important ones"))
    columns += [("rows", "in which the parameter is active"), ("remarks", "what is unusual")]
    cells = []
    for i in range(len(own.levels)):
        cells.append([])
        for j in shown:
            mean, p, top = own.mean[i, j], own.p[i, j], own.top[i, j]
            texts = [value_text(float(mean)) if np.isfinite(mean) else "–"]
            if own.interval:
                texts.append(interval_text(own.low[i, j], own.high[i, j]) or "–")
            if has_p:
                texts.append(p_text(float(p), bool(own.bound[i, j])) if np.isfinite(p) else "–")
            if has_top:
                texts.append(percent(round(top, 2)) if np.isfinite(top) else "–")
            cells[-1].append([*texts, sizes[j], status_words(own, i, j)])
    return columns, cells


def _by_row(
    rows: Sequence[Row], shown: Sequence[int], values: Sequence[RegimeValues]
) -> list[tuple[Row, list[tuple[int, RegimeValues]]]]:
    """The regimes of every row, each with its number among all."""
    return [
        (row, [(i, own) for i, own in enumerate(values) if own.parameter == j])
        for row, j in zip(rows, shown, strict=True)
    ]


def _pairs(together: dict[str, Any], level: int, rows: Sequence[Row]) -> Pairs:
    above = together["above"][level]
    table = []
    for i, *texts in together["table"][level]:
        a, b = together["pairs"][i]
        table.append((rows[a].label, rows[b].label, texts, bool(above[i])))
    return Pairs(table, together["more"][level], together["words"][level], together["tested"])


def _thinned(picture: dict[str, Any] | None, step: int) -> dict[str, Any] | None:
    return None if picture is None else picture | {"target": picture["target"][::step]}


def _beware(result: ImportanceResult) -> list[tuple[str, str]]:
    """Where each status holds, and what to do about it; then what holds always."""
    found = [line.split(": ", 1) for line in map(visible, advice_lines(result))]
    return [(_status_name(where), text) for where, text in found] + [("", text) for text in _GENERAL]


def _status_name(where: str) -> str:
    """ "Low data (level 0.01)" of "LOW_DATA (level 0.01)"; names of parameters in brackets stay."""
    name, *rest = where.split(" ", 1)
    return " ".join([name.replace("_", " ").capitalize(), *rest])


def _log(result: ImportanceResult) -> list[str]:
    lines = [*result.report.lines(result.n_seeds), f"used: {size_text(result.n_region)} rows"]
    if result.region_quantile < 1:
        lines[-1] += f", the best {100 * result.region_quantile:.6g} % of those that can be ranked"
    lines = [shorten(visible(line), _LINE) for line in lines]
    rest = len(lines) - _MOST_LINES
    return lines if rest <= 0 else [*lines[:_MOST_LINES], f"and {rest} more"]


def _space(result: ImportanceResult, names: Sequence[str]) -> list[SpaceRow]:
    active = result.regime_region[..., :-1].sum(axis=-1).reshape(-1, len(names))
    out = []
    for j, name in enumerate(names):
        domains = [visible(shorten(regime(domain), _TITLE)) for domain in result.space.domains[j]]
        if len(domains) > _MOST_DOMAINS + 1:
            domains[_MOST_DOMAINS:] = [f"and {len(domains) - _MOST_DOMAINS} more"]
        out.append(SpaceRow(shorten(name, _TITLE), domains, size_text(active[:, j])))
    return out


def _settings(result: ImportanceResult, own: Numbers) -> list[tuple[str, str]]:
    """How the importances were computed."""
    levels = f"{own.levels[0]:g}"
    if len(own.levels) > 1:
        levels = f"{len(own.levels)} from {own.levels[0]:g} to {own.levels[-1]:g}"
    known = {
        "default": GridEstimator(),
        "smoothed": GridEstimator.smoothed(),
        "optuna": GridEstimator.optuna(),
    }
    name = next((name for name, estimator in known.items() if estimator == result.estimator), None)
    return [
        ("method", "conditional PED-ANOVA (arXiv 2601.20800)"),
        ("target levels γ′", levels),
        ("region level γ", f"{result.region_quantile:g}"),
        ("compared with", "the region" if result.reference == "region" else "the uniform density"),
        ("estimator", name or repr(result.estimator)),
        ("precision", str(result.importance.dtype)),
    ]


def _rounded(x: np.ndarray) -> list[list[float | None]]:
    return [[round(float(v), _DECIMALS) if np.isfinite(v) else None for v in row] for row in x]
