"""Draw the importance of parameters against the target quantile, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any
from typing import NamedTuple

import numpy as np
import optuna
import parzax
from parzax.adapters.optuna import observations
from parzax.lens._palette import PALETTE
from parzax.lens.page.report import compute_result
from parzax.lens.results.result import short_names
import plotly.graph_objects as go


# Values of ``meta``: what a trace shows. Later layers lie above earlier ones.
_LAYERS = _INTERVAL, _COMPLETE, _ABOVE_CHANCE = "interval", "importance", "above chance"
_GREY = "rgba(140,140,140,0.6)"  # curves that are not above chance
_ROUGH = "rgba(140,140,140,0.22)"  # levels that rest on few rows
_OTHERS = "#8a93a0"
_DASHES = ("solid", "dash", "dot", "dashdot")
_LABEL = 28  # longest name of a parameter, in characters
_FEW_LEVELS = 12  # up to this many levels are marked one by one
_HALF_WIDTH = 0.004  # of the ribbon of a level without neighbours


def plot_importance_over_quantiles(
    source: optuna.Study | parzax.Observations | parzax.ImportanceResult,
    *,
    target_quantile: Any = None,
    target: Callable[[optuna.trial.FrozenTrial], float] | None = None,
    direction: str | None = None,
    max_parameters: int = len(PALETTE),
    **options: Any,
) -> go.Figure:
    """Plot the importance of every parameter against the target quantile, with intervals.

    The importance at a quantile says how much a parameter matters for reaching the best trials of
    that share (conditional PED-ANOVA, arXiv 2601.20800). Importances sum to 1 at each quantile
    where some parameter has a positive variance. A ribbon is the interval of a curve. A curve is
    thin and grey, without a ribbon, where it is not above chance. Grey bands cover quantiles with
    ten rows or fewer in the target, or outside it.

    The ``meta`` of a trace says what it is: "importance" (a complete curve, with all quantiles),
    "above chance" (its coloured part), or "interval".

    Args:
        source: a study, or `parzax.Observations`, or a result of `parzax.cond_ped_anova`.
        target_quantile: quantiles in (0, 1). The default is 0.02 to 0.98 in steps of 0.02, and the
            quantile that `parzax.cond_ped_anova` chooses by default.
        target: for studies, a function of a complete trial; its value is explained instead of
            the objective.
        direction: "minimize" or "maximize", the direction of ``target``.
        max_parameters: number of curves. The sum of the other parameters is one more curve.
        options: further arguments of `parzax.cond_ped_anova`, such as ``region``,
            ``n_resamples``, ``objective`` or ``objective="pareto"``. By default a single log has
            500 resamples, or fewer if it is large.

    Returns:
        A plotly figure.

    Raises:
        TypeError: for another source; for ``target`` or ``direction`` without a study; for
            ``target_quantile`` or ``options`` together with a result.
        ValueError: for a study without a complete trial, and for wrong options.
    """
    if max_parameters < 1:
        raise ValueError(f"max_parameters must be at least 1, got {max_parameters!r}.")
    if isinstance(source, optuna.Study):
        chosen: Any = {"target": target, "direction": direction}
        source = observations(source, **chosen)
    elif target is not None or direction is not None:
        raise TypeError("target and direction need an optuna.Study as the source.")
    elif not isinstance(source, (parzax.Observations, parzax.ImportanceResult)):
        wanted = "an optuna.Study, a parzax.Observations or a parzax.ImportanceResult"
        raise TypeError(f"source must be {wanted}, got {type(source).__name__}.")
    result = compute_result(source, target_quantile, options)
    stats = _numbers(result)
    names = [escape(name, quote=False) for name in short_names(result.names, _LABEL)]
    max_parameters += len(names) == max_parameters + 1  # a single other parameter has a name
    traces = []
    for rank, j in enumerate(stats.ranking[:max_parameters]):
        colour, dash = PALETTE[rank % len(PALETTE)], _DASHES[rank // len(PALETTE) % len(_DASHES)]
        look = _Look(names[j], colour, dash, rank)
        sure, hover = ~stats.pale[:, j], _hover_texts(stats, j)
        traces += _draw_ribbon(stats.levels, stats.low[:, j], stats.high[:, j], sure, look)
        traces += _draw_curve(stats.levels, stats.mean[:, j], sure, look, hover)
    rest = stats.ranking[max_parameters:]
    if rest:
        total = np.nan_to_num(stats.mean[:, rest]).sum(axis=1)
        sure = ~np.asarray(stats.pale[:, rest].all(axis=1))
        look = _Look(f"{len(rest)} others together", _OTHERS, "dash", len(names))
        traces += _draw_curve(stats.levels, total, sure, look, [f"{value:.3f}" for value in total])
    # Ribbons lie below all curves, and grey curves below coloured ones.
    figure = go.Figure(sorted(traces, key=lambda trace: _LAYERS.index(trace.meta)))
    _set_layout(figure, stats)
    return figure


class _Numbers(NamedTuple):
    """What is drawn: arrays (q,) and (q, d), at ascending levels; NaN where undefined."""

    levels: np.ndarray
    mean: np.ndarray
    low: np.ndarray  # ends of the intervals
    high: np.ndarray
    p: list[list[str]]  # p-values as texts; "" without one
    pale: np.ndarray  # not above chance
    rough: np.ndarray  # (q,) ten rows or fewer in the target, or outside it
    ranking: list[int]  # parameters, the most important first
    interval: str  # what the intervals are; "" without any


def _numbers(result: parzax.ImportanceResult) -> _Numbers:
    """Importances with their intervals: of one log, or one standard error over seeds."""
    order = np.argsort(result.levels, kind="stable")
    mean, error = (np.asarray(x, float)[order] for x in (result.mean, result.standard_error))
    mean = np.where(result.by_seed(result.is_defined)[:, order].any(axis=0), mean, np.nan)
    if result.n_seeds > 1:
        low, high, interval = mean - error, mean + error, "± standard error"
    else:
        ends = result.by_seed(result.importance_interval)[0, order]
        low, high = (np.where(np.isnan(mean), np.nan, end) for end in np.moveaxis(ends, -1, 0))
        interval = "90 % interval" if np.isfinite(low).any() else ""
    cells = [result.cells(int(i)) for i in order]
    return _Numbers(
        levels=np.asarray(result.levels)[order],
        mean=mean,
        low=low,
        high=high,
        p=[list(of_level.get("p") or [""] * mean.shape[1]) for of_level in cells],
        pale=np.asarray(~result.above[order]),
        rough=(result.usual_status[order] & int(parzax.Status.LOW_DATA) != 0).any(axis=1),
        ranking=np.argsort(-np.nan_to_num(mean).mean(axis=0), kind="stable").tolist(),
        interval=interval,
    )


class _Look(NamedTuple):
    """Name, colour and dashes of a curve, and its place in the legend."""

    name: str
    colour: str
    dash: str
    rank: int

    @property
    def legend(self) -> dict[str, Any]:
        """Arguments that show and hide all traces of a parameter together."""
        return {"name": self.name, "legendgroup": self.name, "legendrank": self.rank}


def _draw_curve(
    levels: np.ndarray, importance: np.ndarray, sure: np.ndarray, look: _Look, hover: list[str]
) -> list[go.Scatter]:
    """A complete thin grey curve, and for the levels where it is ``sure`` a coloured one."""
    drawn = sure & np.isfinite(importance)
    # A single level between two gaps would be invisible as a line.
    alone = drawn & ~np.append(drawn[1:], False) & ~np.append(False, drawn[:-1])
    sizes = np.where(drawn if len(levels) <= _FEW_LEVELS else alone, 6, 0)
    shared = {"x": levels, "customdata": hover, **look.legend}
    shown = {"hovertemplate": "%{customdata}"}
    complete = go.Scatter(
        y=importance,
        mode="lines+markers" if len(levels) == 1 else "lines",
        line={"color": _GREY, "width": 1, "dash": look.dash},
        meta=_COMPLETE,
        showlegend=not drawn.any(),
        **shared,
        **({"hoverinfo": "skip"} if drawn.any() else shown),
    )
    if not drawn.any():
        return [complete]
    coloured = go.Scatter(
        y=np.where(drawn, importance, np.nan),
        mode="lines+markers",
        line={"color": look.colour, "width": 2, "dash": look.dash},
        marker={"color": look.colour, "size": sizes, "opacity": 1, "line": {"width": 0}},
        meta=_ABOVE_CHANCE,
        **shared,
        **shown,
    )
    return [complete, coloured]


def _draw_ribbon(
    levels: np.ndarray, low: np.ndarray, high: np.ndarray, sure: np.ndarray, look: _Look
) -> list[go.Scatter]:
    """The space between both ends of the intervals where ``sure``; NaN is a gap."""
    x: list[float | None] = []
    y: list[float | None] = []
    for run in _find_runs(sure & np.isfinite(low) & np.isfinite(high)):
        at, lower, upper = levels[run], low[run], high[run]
        if len(run) == 1:
            at = at + np.array([-_HALF_WIDTH, _HALF_WIDTH])
            lower, upper = lower.repeat(2), upper.repeat(2)
        x += [*at.tolist(), *at[::-1].tolist(), None]
        y += [*lower.tolist(), *upper[::-1].tolist(), None]
    if not x:
        return []
    fill = {"fill": "toself", "fillcolor": f"{look.colour}30", "line": {"width": 0}}
    hidden = {"mode": "lines", "hoverinfo": "skip", "showlegend": False}
    return [go.Scatter(x=x, y=y, meta=_INTERVAL, **fill, **hidden, **look.legend)]


def _hover_texts(stats: _Numbers, j: int) -> list[str]:
    """The importance of a parameter at each level, with its interval and p-value, if any."""
    texts = []
    columns = (column[:, j] for column in (stats.mean, stats.low, stats.high))
    for mean, low, high, p in zip(*columns, [row[j] for row in stats.p], strict=True):
        interval = f" ({low:.3f} to {high:.3f})" if np.isfinite([low, high]).all() else ""
        p_value = "" if p in ("", "–") else f", p {escape(p)}"
        texts.append(f"{mean:.3f}{interval}{p_value}")
    return texts


def _set_layout(figure: go.Figure, stats: _Numbers) -> None:
    """Name the axes, shade the rough levels, and explain grey curves in the legend."""
    levels = stats.levels
    edges = np.concatenate([levels[:1], (levels[1:] + levels[:-1]) / 2, levels[-1:]])
    for run in _find_runs(stats.rough):
        x0, x1 = edges[run[0]], edges[run[-1] + 1]
        figure.add_vrect(x0=x0, x1=x1, layer="below", line_width=0, fillcolor=_ROUGH)
    if stats.pale.any():
        line = {"color": _GREY, "width": 1}
        entry = {"name": "not above chance", "meta": "legend", "hoverinfo": "skip"}
        figure.add_scatter(x=[None], y=[None], mode="lines", line=line, **entry)
    rough = " (grey bands: few rows, rough)" if stats.rough.any() else ""
    interval = f", {stats.interval}" if stats.interval else ""
    figure.update_layout(
        title={"text": "Importance over target quantiles"},
        template="plotly_white",
        hovermode="x unified",
        showlegend=True,
        xaxis={"title": {"text": f"target quantile γ′{rough}"}},
        yaxis={"title": {"text": f"importance{interval}"}, "rangemode": "tozero"},
    )


def _find_runs(mask: np.ndarray) -> list[np.ndarray]:
    """Indices of each run of neighbouring true entries."""
    indices = np.flatnonzero(mask)
    runs = np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
    return [run for run in runs if len(run)]
