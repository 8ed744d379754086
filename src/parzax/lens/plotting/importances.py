"""Importances: bars at one level, of parameters or of regimes; lines over levels, or over weights."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from parzax import _checks
from parzax.lens.plotting import _arguments, _axes
from parzax.lens.plotting._parameters import get_edges
from parzax.lens.results import ImportanceResult
from parzax.lens.results.result import MOST_SEEDS, mean_and_error
from parzax.lens.results.texts import regime_text, value_text
from parzax.status import OF_LEVELS, Status

_UNSURE = "0.75"  # grey of bars and of pieces of a line where a parameter is not said to matter
_NEVER_SURE = "0.5"  # grey of the name of a line whose parameter matters at no level
_THICKEST = 22.0  # largest thickness of a bar, in points
_CAPTION = 64  # largest number of characters in the caption above a bar
_FEW_LEVELS = 12  # up to this many levels are marked one by one


class _Bar(NamedTuple):
    """A bar with its whisker."""

    label: str
    ends: np.ndarray  # (3,) of the bar, and the low and the high end of the whisker; NaN without one
    colour: str
    remark: str = ""  # after the value
    caption: str = ""  # above the bar


def importance_bars(
    result: ImportanceResult,
    *,
    level: float | None = None,
    parameters: int | str | Sequence[str] = 20,
    ax: Axes | None = None,
) -> Axes:
    """Importances at one level: horizontal bars, the largest on top, with their values and remarks.

    The bar of a parameter that does not matter, or cannot be told yet, is grey, and its remark says which
    (`ImportanceResult.verdicts`). If a single log has an uncertainty (`parzax.cond_ped_anova` with
    ``n_resamples``), whiskers are its intervals. With several seeds a bar is the mean over the seeds that
    have an importance at the level, and its whisker is one standard error to either side. Remarks
    are those of the result's table, for example that a parameter is constant. A sentence below says what is
    unusual about the level. Values have two decimals; positive values below 0.01 are written as "<0.01", and
    "0" is exactly 0.

    Args:
        result, level: as in all pictures.
        parameters: the parameters to draw, or their number: those with the largest importances, and one more
            bar for the sum of the others.
        ax: where to draw; give its figure ``layout="constrained"``, so that remarks fit.
    """
    index = _arguments.find_level(_arguments.check_result(result), level)
    parts = _arguments.choose_parts(result, parameters, result.ranking(index))
    data, counts = result.by_seed(result.importance), result.by_seed(result.has_importance)
    remarks, log = result.cells(index)["remarks"], result if result.n_seeds == 1 else None
    bars = []
    for name, columns, look in parts:
        ends = np.array(_arguments.sum_part(data, counts, columns, log))[:, index]
        colour = look["color"] if result.above[index, columns].any() else _UNSURE
        bars.append(_Bar(name, ends, colour, remarks[columns[0]] if len(columns) == 1 else ""))
    return _draw_bars(ax, result, index, bars, "")


def regimes(
    result: ImportanceResult,
    *,
    level: float | None = None,
    parameters: int | str | Sequence[str] = 12,
    ax: Axes | None = None,
) -> Axes:
    """Each regime's part of a parameter's importance: a bar per regime, the most important parameter on top.

    The caption above a bar is the regime's domain and conditions. The lengths of a parameter's bars add up to
    its importance, except for an importance by convention (1/d on Optuna's grid), which has no parts. With
    several seeds they are means, with one standard error to either side. Bars of parameters that do not
    matter, or cannot be told yet, are grey.

    Args:
        result, level, ax: as in all pictures.
        parameters: the parameters to draw, or the number of the most important ones.
    """
    index = _arguments.find_level(_arguments.check_result(result), level)
    ranking = result.ranking(index)
    chosen = _arguments.choose_names(parameters, ranking)
    counts, shares = (result.by_seed(x)[:, index] for x in (result.has_importance, result.regime_importance))
    short, remarks = _arguments.shorten_names(result.names), result.cells(index)["remarks"]
    looks, bars = _arguments.choose_looks(result), []
    for name in sorted(chosen, key=ranking.index):
        j, domains = result.names.index(name), result.space[name]
        colour = looks[name]["color"] if result.above[index, j] else _UNSURE
        for i, domain in enumerate(domains):
            mean, error = mean_and_error(shares[:, j, i], counts)
            ends = np.array([mean, mean - error, mean + error])
            label, remark = ("", "") if i else (short[name], remarks[j])
            caption = _arguments.shorten_name(regime_text(domain), _CAPTION)
            bars.append(_Bar(label, ends, colour, remark, caption))
    return _draw_bars(ax, result, index, bars, ", by regime")


def _draw_bars(ax: Axes | None, result: ImportanceResult, index: int, bars: Sequence[_Bar], how: str) -> Axes:
    """Draw bars from the top down, and write what is special about the level of the ``index``."""
    labels, ends, colours, remarks, captions = zip(*bars, strict=True)
    mean, low, high = np.transpose(ends)
    y, row = np.arange(len(bars)), 0.46 if any(captions) else 0.28
    ax = _axes.get_axes(ax, 6.4, 1.0 + row * len(bars))
    thickness = min(0.2 / row, _THICKEST / _axes.get_size(ax)[1] * len(bars))
    ax.barh(y, mean, color=colours, height=thickness)
    _axes.draw_whiskers(ax, mean, y, xerr=np.maximum([mean - low, high - mean], 0))
    right = np.fmax(mean, high)
    for middle, value, end, remark, caption in zip(y, mean, right, remarks, captions, strict=True):
        look: dict[str, Any] = {"textcoords": "offset points", "fontsize": "small"}
        text = ax.annotate(value_text(value), (end, middle), (4, 0), va="center", **look)
        grey = look | {"xycoords": text, "color": _axes.GREY}
        at, align = ((1, 1), "top") if caption else ((1, 0.5), "center")
        ax.annotate(remark.replace("; ", ";\n"), at, (6, 0), va=align, **grey)
        ax.annotate(caption, (0, middle - thickness / 2), (2, 1), va="bottom", **look)
    ax.set_yticks(y, labels)
    ax.set_ylim(len(bars) - 0.4, -0.85 if any(captions) else -0.6)
    # Texts at the ends of bars are in the layout, so the axis need not be longer than they.
    ax.set_xlim(0, 1.1 * right.max() if mean.any() else 1.0)
    if not mean.any():
        _axes.write_note(ax, "No parameter has a positive variance\nat this level.", 0.5)
    counts = result.by_seed(result.has_importance)[:, index]
    spread = _arguments.describe_spread(counts, result if result.n_seeds == 1 and not how else None)
    ax.set_xlabel(f"{_arguments.label_level(result, index)}{how}{spread}")
    ax.tick_params(axis="y", length=0)
    shares = {bit: float(result.share_of_seeds(bit)[index].max()) for bit in OF_LEVELS & ~Status.ALL_ZERO}
    facts = [bit.fact + " (some seeds)" * (share < 1) for bit, share in shares.items() if share > 0]
    _axes.add_key(ax, [], *facts)
    return ax


def importance_sweep(
    result: ImportanceResult,
    *,
    parameters: int | str | Sequence[str] = 7,
    ax: Axes | None = None,
) -> Axes:
    """Importance against the target quantile, one line per parameter.

    A line is thin and grey where its parameter does not matter, or cannot be told yet. If a single log has an
    uncertainty (`parzax.cond_ped_anova` with ``n_resamples``), the ribbon is its interval. The label of the
    axis says what the ribbon is. p-values are not adjusted for the number of levels: among many levels, some
    show noise above chance.
    With several seeds a line is the mean over the seeds that have an importance at the level (see
    `ImportanceResult.mean`), and its ribbon is one standard error to either side; the label of the axis
    says if seeds are left out.
    Hatched bands cover the levels where some seed has the status LOW_DATA, where most seeds have
    REGIME_BOUNDARY for a line, and where all seeds have ALL_ZERO or SAME_SETS. A single level is drawn as
    points.
    Lines have a gap where they are undefined (`ImportanceResult.is_defined`). The names are written to the
    right of the last level.

    Args:
        result, ax: as in all pictures.
        parameters: the parameters to draw, or their number: those with the largest importances (mean over the
            levels), and the sum of the others in grey. Lines that are 0 everywhere are among the others.
    """
    _arguments.check_result(result)
    n_positive = int((result.mean > 0).any(axis=0).sum())
    parts = _arguments.choose_parts(result, parameters, _arguments.rank_overall(result), max(n_positive, 1))
    data, defined = result.by_seed(result.importance), result.by_seed(result.is_defined)
    log = result if result.n_seeds == 1 else None
    ax = _axes.get_axes(ax, 6.4, 3.8)
    counts = np.any(data > 0, axis=-1)
    _draw_lines(ax, result.levels, parts, data, counts, defined, result.above, log)
    ax.margins(0.03)
    low, high = ax.get_ylim()
    high = min(high, 1.015) if data.any() else 1.0  # ribbons may reach beyond the possible values
    ax.set(xlim=np.clip(ax.get_xlim(), 0, 1), ylim=(max(low, -0.015), high))
    if len(result.levels) == 1:
        ax.set_xticks(result.levels)
    alone = [columns[0] for _, columns, _ in parts if len(columns) == 1]
    entries = _draw_bands(ax, result, alone, bool(data.any()))
    if not data.any():
        _axes.write_note(ax, "No parameter has a positive variance\nat any of these levels.")
    # A target level is a share of all rows, also if the region is smaller.
    within = "" if result.region == 1 else f"; region γ = {result.region:g}"
    ax.set_xlabel(f"target quantile γ′ (best share of all rows{within})")
    ax.set_ylabel("importance" + _arguments.describe_spread(counts, log))
    _axes.add_key(ax, entries)
    return ax


def _draw_lines(
    ax: Axes,
    x: np.ndarray,
    parts: Sequence[_arguments.Part],
    data: np.ndarray,
    counts: np.ndarray,
    defined: np.ndarray,
    above: np.ndarray,
    log: ImportanceResult | None = None,
) -> None:
    """Draw a line with a ribbon for every part at (q,) places ``x``; write the names to the right.

    A line is thin and grey where its parameter is not said to matter, and has a gap where it is undefined.
    At a single place it is a point with a whisker.

    Args:
        data, counts, log: as for `sum_part`.
        defined: (s, q, d) whether a value is defined.
        above: (q, d) whether a parameter matters.
    """
    order, ends, handles = np.argsort(x, kind="stable"), [], []
    x = np.asarray(x, np.float64)[order]
    for name, columns, look in parts:
        sums = _arguments.sum_part(data, counts, columns, log)
        usable = np.any(counts & np.any(defined[..., columns], axis=-1), axis=0)[order]
        sure = above[order][:, columns].any(axis=1)
        mean = np.where(usable, sums[0][order], np.nan)
        drawn, low, high = (np.where(sure, line, np.nan) for line in (mean, sums[1][order], sums[2][order]))
        finite = np.isfinite(drawn)
        # A single level between two gaps would be invisible as a line.
        alone = finite & ~np.append(finite[1:], False) & ~np.append(False, finite[:-1])
        marked = finite if len(x) <= _FEW_LEVELS else alone
        ax.plot(
            x, drawn, linewidth=1.8, marker="o", markersize=4, markevery=marked.tolist(), label=name, **look
        )
        if not sure.all():
            ax.plot(x, mean, linewidth=0.9, color=_UNSURE, zorder=1.5, marker="o" if len(x) == 1 else None)
        if len(x) == 1:
            _axes.draw_whiskers(ax, x, mean, yerr=np.maximum([mean - low, high - mean], 0))
        _axes.draw_ribbon(ax, x, low, high, look["color"])
        grey = {} if sure.any() else {"color": _NEVER_SURE}
        handles.append(_axes.make_handle(linewidth=1.8, label=name, **look | grey))
        ends.append(mean[np.isfinite(mean)][-1:].sum())  # a line without any point ends at 0
    # Names stand in the order of the ends of lines.
    ordered = [handles[i] for i in np.argsort(ends, kind="stable")[::-1]]
    look = {"labelcolor": "linecolor", "handlelength": 1.0}
    _axes.add_legend(ax, ordered, loc="center left", bbox_to_anchor=(1, 0.5), **look)


def _draw_bands(ax: Axes, result: ImportanceResult, drawn: list[int], anything: bool) -> list[Artist]:
    """Hatch levels, half-way to their neighbours; return handles for the key.

    Levels get a band if they are rough in some seed, or empty in every seed. A level at a boundary between
    regimes gets a band if most seeds have this status for a ``drawn`` parameter.
    """
    order = np.argsort(result.levels, kind="stable")

    def share(bit: Status, columns: Any = slice(None)) -> np.ndarray:
        return result.share_of_seeds(bit)[:, columns].max(axis=1, initial=0)[order]

    # At levels where ties make the target as large as the region, nothing was compared with chance.
    same, all_zero = share(Status.SAME_SETS) == 1, share(Status.ALL_ZERO) == 1
    entries: list[Artist] = []
    for flagged, words, hatch in (
        (share(Status.LOW_DATA) > 0, "few rows: rough", "////"),
        (share(Status.REGIME_BOUNDARY, drawn) >= MOST_SEEDS, "cut-off between regimes", "||"),
        (all_zero & ~same & anything, "nothing above chance", "...."),
        (same & anything, "ties: all rows in the target", "\\\\\\\\"),
    ):
        if flagged.any():
            look = {"facecolor": ("0.5", 0.12), "edgecolor": "0.75", "linewidth": 0, "zorder": 0}
            place = {"fill": True, "transform": ax.get_xaxis_transform()}
            edges = get_edges(result.levels[order])
            entries.append(ax.stairs(flagged, edges, hatch=hatch, label=words, **place, **look))
    return entries


def importance_over_weights(
    results: Mapping[float, ImportanceResult],
    *,
    level: float | None = None,
    parameters: int | str | Sequence[str] = 7,
    ax: Axes | None = None,
) -> Axes:
    """Importance against the weight of the second of two objectives, one line per parameter.

    At the left end only the first objective counts, at the right end only the second. A line is a parameter's
    importance for the weighted combinations. With several seeds it is the mean over the seeds that have an
    importance, and its ribbon is one standard error to either side. Lines are thin and grey where the
    parameter does not matter, or cannot be told yet, and have a gap where they are undefined
    (`ImportanceResult.is_defined`).

    Args:
        results: weight of the second objective -> result, such as
            ``{w: px.cond_ped_anova(obs, objective=[1 - w, w]) for w in np.linspace(0, 1, 11)}``.
        level, ax: as in all pictures.
        parameters: the parameters to draw, or their number: those with the largest importances (mean over the
            weights), and the sum of the others in grey.

    Raises:
        TypeError, ValueError: for ``results`` of another type, and unknown parameters or levels.
    """
    wanted = "a dictionary weight -> parzax.ImportanceResult"
    _checks.instance("results", results, Mapping, wanted)
    weights, ordered = np.array(sorted(results), float), [results[weight] for weight in sorted(results)]
    if not ordered:
        raise ValueError(f"results must be {wanted}, got none.")
    # All results have the same levels and names.
    first = _arguments.check_result(ordered[0])
    index = _arguments.find_level(first, level)
    overall = np.mean([result.mean[index] for result in ordered], axis=0)
    ranking = [first.names[j] for j in np.argsort(-overall, kind="stable")]
    data, defined = (
        np.stack([result.by_seed(getattr(result, name))[:, index] for result in ordered], axis=1)
        for name in ("importance", "is_defined")
    )
    above = np.stack([result.above[index] for result in ordered])
    ax = _axes.get_axes(ax, 6.4, 3.8)
    counts = np.any(data > 0, axis=-1)
    _draw_lines(
        ax, weights, _arguments.choose_parts(first, parameters, ranking), data, counts, defined, above
    )
    objectives = first.report.objectives or ("first objective", "second objective")
    one, other = (_arguments.shorten_name(name) for name in objectives[:2])
    ax.set(xlabel=f"weight of {other} (the rest: {one})", ylim=(0, None))
    ax.set_ylabel(_arguments.label_level(first, index) + _arguments.describe_spread(counts))
    return ax
