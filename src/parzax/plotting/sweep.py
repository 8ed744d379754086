"""Importance against the level gamma'."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from parzax._checks import one_of
from parzax.importance import ImportanceResult
from parzax.importance.labels import short_names
from parzax.importance.seeds import mean_and_error, seeds_with_data
from parzax.plotting import _arguments as args
from parzax.plotting._matplotlib import (
    GREY,
    axes_or_new,
    font_points,
    note,
    plain,
    size_in_points,
    spread,
    text_width,
    tidy,
)
from parzax.status import Status

_QUANTITIES = {
    "importance": "importance",
    "variance": "within-regime variance",
    "standard": "standard variance",
    "inter": "inter-regime variance",
    "unweighted": "unweighted variance",
}
# So few levels are marked one by one.
_FEW_LEVELS = 12
_BANDS = {
    Status.LOW_DATA: ("few rows: rough", "////"),
    Status.ALL_ZERO: ("nothing above chance", "...."),
}


def importance_sweep(
    result: ImportanceResult,
    *,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 10,
    quantity: str = "importance",
    normalise: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Importance against the target quantile, one line per parameter.

    With several seeds a line is the mean and its ribbon one standard error to either side; of shares over the
    seeds that have an importance at the level (see `ImportanceResult.over_seeds`), of raw variances over all
    but those with NO_DATA; the label of the axis says so where some are left out. Levels where some seed has
    the status LOW_DATA, or all have ALL_ZERO, lie under a hatched band. A single level is drawn as points.

    Args:
        result: from `parzax.cond_ped_anova`.
        parameters: which to draw, and nothing else; by default the ``max_parameters`` most important (mean
            over the levels), and the sum of the others in grey.
        max_parameters: how many lines at most, without that of the others.
        quantity: "importance"; or the raw "variance" (within regimes), "standard", "inter" or
            "unweighted", the ablations.
        normalise: divide each level's positive values by their sum, as importances are, so that ablations
            can be compared with them.
        ax: where to draw; a new figure by default.

    Returns:
        The Axes. The names of the lines stand inside them, to the right of the last level.

    Raises:
        TypeError: ``result`` or ``ax`` of the wrong type.
        KeyError: an unknown parameter.
        ValueError: an unknown quantity, an empty or repeated list of parameters.
    """
    args.check_result(result)
    one_of("quantity", quantity, _QUANTITIES)
    args.check_count("max_parameters", max_parameters)
    quantiles = np.asarray(result.target_quantile, dtype=np.float64)
    by_level = np.argsort(quantiles, kind="stable")
    levels = quantiles[by_level]
    data = args.by_seed(result, getattr(result, quantity), 2)[:, by_level]
    counts = seeds_with_data(result)[:, by_level]
    if normalise:
        positive = np.maximum(data, 0)
        total = positive.sum(axis=-1, keepdims=True)
        data = positive / np.where(total > 0, total, 1)
    if normalise or quantity == "importance":
        counts = np.asarray((data > 0).any(axis=-1))
    names, rest = _choose(result, parameters, max_parameters)
    ax = axes_or_new(ax, 6.4, 3.8)

    colours, styles = args.colours(result), args.line_styles(result)
    short = short_names(result.names, 22)
    lines = [(n, data[..., result.names.index(n)], colours[n], styles[n]) for n in names]
    if rest:
        summed = data[..., [result.names.index(n) for n in rest]].sum(axis=-1)
        # One left out needs no summing up, so it keeps its name.
        lines.append((f"{len(rest)} others" if len(rest) > 1 else rest[0], summed, args.OTHERS, "solid"))
    ends = [_line(ax, levels, plain(name), x, counts, *look) for name, x, *look in lines]

    nothing = not data.any()
    # A sentence says it where nothing is to be seen at all.
    flagged = {Status.LOW_DATA: args.any_seed, Status.ALL_ZERO: args.all_seeds}
    at = {bit: np.asarray(of_seeds(result, bit).any(axis=1)) for bit, of_seeds in flagged.items()}
    bands = [b for b in _BANDS if at[b].any() and not (nothing and b == Status.ALL_ZERO)]
    bottom, top = _y_limits(ax, data, quantity, normalise, len(bands))
    right = _x_limits(ax, levels, result.region_quantile, [short.get(label, label) for label, *_ in lines])
    for row, bit in enumerate(bands):
        _band(ax, levels, at[bit][by_level], bit, row)
    named = [(short.get(label, label), *line) for label, *line in lines]
    _name_lines(ax, levels[-1], right, ends, named, bottom, top)
    if nothing:
        left, end = ax.get_xlim()
        middle = (right - left) / (end - left) / 2
        note(ax, "No parameter has a positive variance\nat any of these levels.", middle)

    # A level is a share of all rows, so with a smaller region it is not a share of that.
    whole = "best share of the region γ = 1" if result.region_quantile == 1 else "best share of all rows"
    region = "" if result.region_quantile == 1 else f"; region γ = {result.region_quantile:g}"
    ax.set_xlabel(f"target quantile γ′ ({whole}{region})")
    label = _QUANTITIES[quantity]
    label = f"share of {label}" if normalise and quantity != "importance" else label
    ax.set_ylabel(label + _left_out(counts))
    tidy(ax)
    ax.spines["bottom"].set_bounds(ax.get_xlim()[0], right)
    return ax


def _left_out(counts: np.ndarray) -> str:
    """For a label, how many of several seeds count, where at some level some but not all of them do."""
    n, most = counts.sum(axis=0), len(counts)
    some = n[n > 0]
    if most == 1 or not (some < most).any():
        return ""
    return f"\n(mean of {some.min()}{f'-{some.max()}' if some.max() > some.min() else ''} of {most} seeds)"


def _choose(result: ImportanceResult, parameters: Any, most: int) -> tuple[list[str], list[str]]:
    if parameters is not None:
        return args.parameter_names(result, parameters), []
    ranking = args.overall_ranking(result)
    return ranking[:most], ranking[most:]


def _line(
    ax: Axes, levels: np.ndarray, label: str, seeds: np.ndarray, counts: np.ndarray, colour: str, style: Any
) -> float:
    """Draw one parameter; the height at which its line ends."""
    mean, error = mean_and_error(seeds, counts)
    several = len(seeds) > 1
    if len(levels) == 1:
        ax.errorbar(
            levels, mean, yerr=error if several else None, fmt="o", color=colour, capsize=3, label=label
        )
    else:
        (line,) = ax.plot(levels, mean, color=colour, linestyle=style, linewidth=1.8, label=label)
        if len(levels) <= _FEW_LEVELS:
            line.set(marker="o", markersize=4)
        if several:
            ax.fill_between(levels, mean - error, mean + error, color=colour, alpha=0.22, linewidth=0)
    return float(mean[-1])


def _y_limits(ax: Axes, data: np.ndarray, quantity: str, normalise: bool, rows: int) -> tuple[float, float]:
    """Whole range of the lines, with headroom for one line of text per band."""
    low, high = ax.get_ylim()
    shares = normalise or quantity == "importance"
    low = 0.0 if shares or data.min() >= 0 else low
    high = min(high, 1.0) if shares else high
    if not data.any():
        low, high = 0.0, 1.0
    per_row = 1.5 * font_points(ax, 0.8) / size_in_points(ax)[1]
    # Margins keep lines at 0 off the axis and points at 1 whole.
    bottom, top = low - 0.015 * (high - low), high + (high - low) * max(rows * per_row, 0.015)
    ax.set_ylim(bottom, top)
    ax.set_yticks([t for t in MaxNLocator(5).tick_values(low, high) if low <= t <= high * (1 + 1e-9)])
    return bottom, high


def _x_limits(ax: Axes, levels: np.ndarray, region: float, labels: list[str]) -> float:
    """Make room for the names to the right of the data; where the data's part of the axis ends."""
    span = max(float(levels[-1] - levels[0]), 0.1)
    left = max(0.0, float(levels[0]) - 0.04 * span)
    right = min(region, float(levels[-1]) + (0.04 if len(levels) > 1 else 0.2) * span)
    width = size_in_points(ax)[0]
    size = font_points(ax, 0.95)
    needed = max(text_width(ax, plain(label), size) for label in labels) + 1.5 * size
    share = min(needed / width, 0.45)
    ax.set_xlim(left, right + (right - left) * share / (1 - share))
    if len(levels) <= _FEW_LEVELS:
        ax.set_xticks(levels, _level_labels(ax, levels))
    else:
        ax.set_xticks([t for t in MaxNLocator(6).tick_values(left, right) if left <= t <= right + 1e-9])
    return right


def _level_labels(ax: Axes, levels: np.ndarray) -> list[str]:
    """Labels of ticks at ``levels``; "" where one would run into the label before it."""
    size = font_points(ax, 1)
    low, high = ax.get_xlim()
    free, labels = -np.inf, []
    width = size_in_points(ax)[0]
    for level in levels:
        text, at = f"{level:g}", (level - low) / (high - low) * width
        half = text_width(ax, text, size) / 2
        fits = at - half >= free
        labels.append(text if fits else "")
        free = at + half + 0.4 * size if fits else free
    return labels


def _name_lines(
    ax: Axes, last: float, right: float, ends: list[float], lines: list[Any], low: float, high: float
) -> None:
    size = font_points(ax, 0.95)
    low_y, high_y = ax.get_ylim()
    gap = 1.2 * size / size_in_points(ax)[1] * (high_y - low_y)
    at = spread(np.asarray(ends), gap, low + gap / 2, high - gap / 3)
    x = right + 1.1 * size / size_in_points(ax)[0] * (ax.get_xlim()[1] - ax.get_xlim()[0])
    for (label, _, colour, _), end, y in zip(lines, ends, at, strict=True):
        ax.annotate(
            plain(label),
            xy=(last, end),
            xytext=(x, y),
            va="center",
            fontsize=size,
            color=colour if colour != args.OTHERS else GREY,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.7,
                "relpos": (0, 0.5),
                "shrinkA": 2,
                "shrinkB": 2,
            },
        )


def _band(ax: Axes, levels: np.ndarray, flagged: np.ndarray, bit: Status, row: int) -> None:
    """Hatch the runs of flagged levels, from half-way to the level before to half-way to the one after."""
    text, hatch = _BANDS[bit]
    middle = (levels[1:] + levels[:-1]) / 2
    starts, stops = np.append(levels[0], middle), np.append(middle, levels[-1])
    if len(levels) == 1:
        starts, stops = levels - 0.02, levels + 0.02
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flagged.astype(int), [0]])))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        # At the ends of the sweep the band reaches the end of the axis, or it would be hard to see.
        left = ax.get_xlim()[0] if begin == 0 else float(starts[begin])
        stop = float(stops[end - 1])
        ax.axvspan(left, stop, facecolor="0.5", alpha=0.12, linewidth=0, zorder=0)
        ax.axvspan(left, stop, fill=False, hatch=hatch, edgecolor="0.75", linewidth=0, zorder=0)
    # The text stands beside the first run, on the side that has room.
    begin, stop = edges[0], edges[1]
    left = ax.get_xlim()[0] if begin == 0 else starts[begin]
    on_right = bool(left > (levels[0] + levels[-1]) / 2)
    size = font_points(ax, 0.8)
    ax.annotate(
        text,
        (left if on_right else stops[stop - 1], 1),
        (-4 if on_right else 4, -(0.3 + 1.4 * row) * size),
        xycoords=ax.get_xaxis_transform(),
        textcoords="offset points",
        ha="right" if on_right else "left",
        va="top",
        fontsize=size,
        color=GREY,
    )
