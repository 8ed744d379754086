"""Importance against the level gamma'."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from parzax import _checks
from parzax.importance import normalise as shares
from parzax.plotting import _arguments, _axes, _labels, _text
from parzax.results import ImportanceResult, Uncertainty
from parzax.results.arrays import seeds_with_data
from parzax.results.base import MOST_SEEDS, mean_and_error
from parzax.status import Status

_QUANTITIES = {
    "importance": "importance",
    "variance": "within-regime variance",
    "standard": "standard variance",
    "inter": "inter-regime variance",
    "unweighted": "unweighted variance",
}
Ends = tuple[np.ndarray, np.ndarray]
_FEW_LEVELS = 12  # so few levels are marked one by one
_UNSURE, _NEVER_SURE = "0.75", "0.5"  # lines where they are not above chance; names where they never are
_ALONE = 0.02  # half the width of the band of a single level


class _Line(NamedTuple):
    """A line that is drawn: (q,) heights, NaN where there is none, and what names it."""

    mean: np.ndarray
    name: str
    colour: str
    dash: Any


def importance_sweep(
    result: ImportanceResult,
    *,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 7,
    quantity: str = "importance",
    normalise: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Importance against the target quantile, one line per parameter.

    Of a single log with an uncertainty (`parzax.cond_ped_anova` with ``n_resamples``) the ribbon is its
    interval, and a line is thin and grey where it is not above chance; the label of the axis says what the
    ribbon is.
    With several seeds a line is the mean and its ribbon one standard error to either side; of shares over the
    seeds that have an importance at the level (see `ImportanceResult.over_seeds`), of raw variances over all
    but those with NO_DATA; the label of the axis says so where some are left out. Levels where some seed has
    the status LOW_DATA, most have REGIME_BOUNDARY for a line, or all have ALL_ZERO or SAME_SETS, lie under
    hatched bands. A single level is drawn as points.
    Where nothing is defined (`ImportanceResult.is_defined`) lines have a gap. The names stand beside the
    lines where these are apart, else to the right of the last level.

    Args:
        result, ax: as in all pictures.
        parameters: which to draw, and nothing else; by default the ``max_parameters`` most important (mean
            over the levels), and the sum of the others in grey.
        max_parameters: how many lines at most, without that of the others.
        quantity: "importance"; or the raw "variance" (within regimes), "standard", "inter" or
            "unweighted", the ablations.
        normalise: as importances are at each level, so that ablations can be compared with them.
    """
    _arguments.check_result(result)
    _checks.one_of("quantity", quantity, _QUANTITIES)
    asked, most = _arguments.check_choice(result, parameters, max_parameters)
    ranking = _arguments.overall_ranking(result)
    names = asked or ranking
    if asked is None:
        # Lines that are 0 everywhere would only hide others.
        most = max(1, min(most, int((result.over_seeds()[0] > 0).any(axis=0).sum())))
    order = np.argsort(result.target_quantile, kind="stable")
    levels = np.asarray(result.target_quantile, dtype=np.float64)[order]
    data, counts = (x[:, order] for x in _data(result, quantity, normalise))
    shares = normalise or quantity == "importance"
    known = result.by_seed(result.is_defined)[:, order] if shares else np.ones(data.shape, bool)
    by_samples = result.uncertainty if result.n_seeds == 1 and quantity == "importance" else None
    ax = _axes.axes_or_new(ax, 6.4, 3.8)
    lines, short = [], _text.names(result.names, 22)
    for name, columns, colour, dash in _arguments.contributions(result, names, most, ranking):
        mean, error = mean_and_error(data[..., columns].sum(axis=-1), counts)
        mean = np.where((counts & known[..., columns].any(axis=-1)).any(axis=0), mean, np.nan)
        ends, sure = (mean - error, mean + error), np.ones(len(levels), bool)
        if by_samples is not None:
            low, high = by_samples.interval_of(slice(None), columns)
            ends = low[order], high[order]
            # At 0 there is nothing above chance, tested or not.
            sure = by_samples.any_above_chance(slice(None), columns)[order] & (np.nan_to_num(mean) > 0)
        draw_line(ax, levels, mean, ends, sure, color=colour, linestyle=dash, label=_text.plain(name))
        lines.append(_Line(mean, short.get(name, name), colour if sure.any() else _NEVER_SURE, dash))
    bands = _bands(result, order, [result.names.index(n) for n in names[:most]], anything=bool(data.any()))
    top = _set_y_limits(ax, data, shares, len(bands))
    right = _name_lines(ax, levels, lines, result.region_quantile, top)
    for row, band in enumerate(bands):
        _draw_band(ax, levels, *band, row)
    left, end = ax.get_xlim()
    if not data.any():
        words = "No parameter has a positive variance\nat any of these levels."
        _axes.note(ax, words, (right - left) / (end - left) / 2)
    # A level is a share of all rows, so with a smaller region it is not a share of that.
    region = result.region_quantile
    best = "the region γ = 1" if region == 1 else f"all rows; region γ = {region:g}"
    ax.set_xlabel(f"target quantile γ′ (best share of {best})")
    share = "share of " if normalise and quantity != "importance" else ""
    ax.set_ylabel(share + _QUANTITIES[quantity] + _spread_words(by_samples, counts))
    _axes.tidy(ax)
    ax.spines["bottom"].set_bounds(left, right)
    return ax


def _data(result: ImportanceResult, quantity: str, normalise: bool) -> tuple[np.ndarray, np.ndarray]:
    """(s, q, d) what is drawn, and (s, q) whether a seed counts at a level."""
    data = result.by_seed(getattr(result, quantity).astype(np.float64))
    if not normalise and quantity != "importance":
        return data, seeds_with_data(result.status)
    data = shares(data, balance=result.estimator.balance) if normalise else data
    return data, np.asarray((data > 0).any(axis=-1))


def draw_line(ax: Axes, at: np.ndarray, mean: np.ndarray, ends: Ends, sure: np.ndarray, **look: Any) -> None:
    """A line with its ribbon, over a single level a point with its whisker; grey where it is not ``sure``."""
    if len(at) == 1:
        away = np.maximum(np.abs(np.stack(ends) - mean), 0)
        whisker = away if np.isfinite(away).any() else None
        look |= {} if sure[0] else {"color": _UNSURE}
        ax.errorbar(at, mean, yerr=whisker, fmt="o", capsize=3, **look)
        return
    known = np.isfinite(mean) & sure
    # Between gaps a line would be invisible.
    alone = known & ~np.append(known[1:], False) & ~np.append(False, known[:-1])
    marked = known if len(at) <= _FEW_LEVELS else alone
    marks = {"marker": "o", "markersize": 4, "markevery": marked.tolist()} if marked.any() else {}
    ax.plot(at, np.where(sure, mean, np.nan), linewidth=1.8, **marks, **look)
    if not sure.all():
        ax.plot(at, mean, linewidth=0.9, color=_UNSURE, zorder=1.5)
    low, high = (np.where(sure, end, np.nan) for end in ends)
    _axes.ribbon(ax, at, low, high, look["color"])


def _spread_words(by_samples: Uncertainty | None, counts: np.ndarray) -> str:
    """For a label: what ribbons are, or how many of several seeds count where some do not at some level."""
    n_counted = np.unique(counts.sum(axis=0))
    n_counted = n_counted[n_counted > 0]
    if by_samples is not None and by_samples.n_resamples:
        return f", {100 * by_samples.level:g} % interval\n(of one log, by resampling)"
    if n_counted.size and n_counted[0] < len(counts):
        span = "-".join(map(str, np.unique(n_counted[[0, -1]])))
        return f"\n(mean of {span} of {len(counts)} seeds)"
    return f"\n(mean ± standard error of {len(counts)} seeds)" if len(counts) > 1 else ""


def _set_y_limits(ax: Axes, data: np.ndarray, shares: bool, n_bands: int) -> float:
    """Show all of the lines, and above them a line of words for each band; where the lines end."""
    low, high = ax.get_ylim() if data.any() else (0.0, 1.0)
    low = 0.0 if shares or data.min() >= 0 else low
    high = min(high, 1.0) if shares else high
    words = n_bands * 1.5 * _axes.font_points(ax, 0.8) / _axes.size_in_points(ax)[1]
    # Margins keep lines at 0 off the axis and points at 1 whole.
    ax.set_ylim(low - 0.015 * (high - low), high + (high - low) * max(words, 0.015))
    ax.set_yticks([t for t in MaxNLocator(5).tick_values(low, high) if low <= t <= high * (1 + 1e-9)])
    return high


def _set_x_limits(ax: Axes, levels: np.ndarray, region: float, names: list[str]) -> float:
    """Show the levels, and to the right of them room for the names; where that begins."""
    size, span = _axes.font_points(ax, 0.95), max(float(levels[-1] - levels[0]), 0.1)
    left = max(0.0, float(levels[0]) - 0.04 * span)
    right = min(region, float(levels[-1]) + (0.04 if len(levels) > 1 else 0.2) * span)
    # As far beyond as the names are wide, but less than half of the axis.
    needed = max((_axes.text_width(ax, name, size) + 1.5 * size for name in names), default=0.0)
    share = min(needed / _axes.size_in_points(ax)[0], 0.45)
    ax.set_xlim(left, right + (right - left) * share / (1 - share))
    if len(levels) > _FEW_LEVELS:
        ax.set_xticks([t for t in MaxNLocator(6).tick_values(left, right) if left <= t <= right + 1e-9])
        return right
    gap = 0.06 * np.ptp(ax.get_xlim())
    labels, last = [], -np.inf
    for level in levels:
        labels.append(f"{level:g}" if level - last >= gap else "")
        last = level if labels[-1] else last
    ax.set_xticks(levels, labels)
    return right


def _bands(
    result: ImportanceResult, order: np.ndarray, drawn: list[int], *, anything: bool
) -> list[tuple[Any, str, str]]:
    """Which levels are rough in some seed or say nothing in every seed, each with words and hatch.

    Those at a boundary between regimes count where they concern most seeds of a parameter that is ``drawn``.
    """

    def share(bit: Status, columns: Any = slice(None)) -> np.ndarray:
        return result.share_of_seeds(bit)[:, columns].max(axis=1, initial=0)[order]

    # Of these, levels at which the target is the whole region, by ties: nothing was compared with chance.
    same, all_zero = share(Status.SAME_SETS) == 1, share(Status.ALL_ZERO) == 1
    bands = [
        (share(Status.LOW_DATA) > 0, "few rows: rough", "////"),
        (share(Status.REGIME_BOUNDARY, drawn) >= MOST_SEEDS, "cut-off between regimes", "||"),
        (all_zero & ~same & anything, "nothing above chance", "...."),
        (same & anything, "ties: all rows in the target", "\\\\\\\\"),
    ]
    return [band for band in bands if band[0].any()]


def _draw_band(ax: Axes, levels: np.ndarray, flagged: np.ndarray, words: str, hatch: str, row: int) -> None:
    """Hatch the flagged ones of ascending ``levels``, with the words in the ``row``-th line from the top."""
    # From half-way to the level before to half-way to the one after; before the first to the end of the axis.
    last = levels[-1] + _ALONE * (len(levels) == 1)
    ends = np.concatenate([ax.get_xlim()[:1], (levels[1:] + levels[:-1]) / 2, [last]])
    changes = np.flatnonzero(np.diff(flagged.astype(int), prepend=0, append=0))
    spans = ends[changes].reshape(-1, 2)
    for left, right in spans.tolist():
        ax.axvspan(left, right, hatch=hatch, zorder=0, facecolor=("0.5", 0.12), edgecolor="0.75", linewidth=0)
    # The words stand beside the first span, on the side that has room, or in it.
    size = _axes.font_points(ax, 0.8)
    room = (_axes.text_width(ax, words, size) + 8) / _axes.size_in_points(ax)[0] * np.ptp(ax.get_xlim())
    (left, right), before = spans[0].tolist(), False
    if right + room <= last:
        x = right
    elif before := left - room >= levels[0]:
        x = left
    else:
        x = left if right - left > room else right
    at, offset = (x, 1), (-4 if before else 4, -(0.3 + 1.4 * row) * size)
    place = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points", "va": "top"}
    # On white, since they may lie over the hatch of another band.
    white = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5, "alpha": 0.85}
    look = {"fontsize": size, "color": _axes.GREY, "bbox": white}
    ax.annotate(words, at, offset, ha="right" if before else "left", **look, **place)


def _name_lines(ax: Axes, levels: np.ndarray, lines: list[_Line], region: float, top: float) -> float:
    """Write the names, beside the lines where there is room; where the room for the others begins."""
    size, names = _axes.font_points(ax, 0.95), [line.name for line in lines]
    right = _set_x_limits(ax, levels, region, names)
    # From data to points, with the most room that names may need on the right.
    (low, high), (bottom, end), (width, height) = ax.get_xlim(), ax.get_ylim(), _axes.size_in_points(ax)
    scale = width / (high - low), height / (end - bottom)
    free: list[tuple[float, float] | None] = [None] * len(lines)
    if len(levels) > 1 and ax.get_yscale() == "linear":
        means = np.stack([line.mean for line in lines])
        widths = np.array([_axes.text_width(ax, name, size) for name in names])
        at = (levels - low) * scale[0], (means - bottom) * scale[1]
        free = _labels.beside(*at, widths, 1.1 * size, (top - bottom) * scale[1])
    for line, place in zip(lines, free, strict=True):
        if place is not None:
            x, y = low + place[0] / scale[0], bottom + place[1] / scale[1]
            ax.text(x, y, line.name, ha="center", va="center", fontsize=size, color=line.colour)
    rest = [line for line, place in zip(lines, free, strict=True) if place is None]
    right = _set_x_limits(ax, levels, region, [line.name for line in rest])
    _name_ends(ax, levels, rest, right, top)
    return right


def _name_ends(ax: Axes, levels: np.ndarray, lines: list[_Line], right: float, top: float) -> None:
    """Write names right of ``right``, below ``top``, none over another; strokes from where the lines end."""
    if not lines:
        return
    size = _axes.font_points(ax, 0.95)
    (width, height), bottom = _axes.size_in_points(ax), ax.get_ylim()[0]
    x = right + 1.1 * size / width * np.ptp(ax.get_xlim())
    gap = 1.2 * size / height * np.ptp(ax.get_ylim())
    ends = []
    for line in lines:
        # The last point of a line; at 0 of one that has none.
        known = np.flatnonzero(np.isfinite(line.mean))
        ends.append((levels[known[-1]], line.mean[known[-1]]) if len(known) else (levels[-1], 0.0))
    at = _labels.spread(np.array([y for _, y in ends]), gap, bottom + gap / 2, top - gap / 3)
    for end, line, place in zip(ends, lines, at, strict=True):
        stroke = {"arrowstyle": "-", "color": line.colour, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 2}
        look = {"va": "center", "fontsize": size, "color": line.colour}
        stroke |= {"relpos": (0, 0.5), "linestyle": line.dash}
        ax.annotate(line.name, end, (x, place), arrowprops=stroke, **look)
