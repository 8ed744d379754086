"""Importances at one level as sorted bars, whole or by regime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from parzax import _checks
from parzax.plotting import _arguments, _axes, _text
from parzax.plotting._arguments import Level
from parzax.results import ImportanceResult
from parzax.results.arrays import may_matter
from parzax.results.base import MOST_SEEDS
from parzax.results.labels import shorten
from parzax.results.phrases import value_text
from parzax.space import Domain
from parzax.status import OF_LEVELS, Status

# The signs of what is marked at a parameter; the words of the footnote are `Status.fact`.
_SIGNS = {
    Status.CONSTANT: "*",
    Status.SINGLE_VALUE: "*",
    Status.NEVER_ACTIVE: "†",
    Status.NOT_IN_TARGET: "¶",
    Status.UNIDENTIFIABLE: "‡",
    Status.UNIQUE_LABELS: "#",
    Status.LOW_REGIME_DATA: "~",
    Status.SPARSE_REGIME: "§",
    Status.REGIME_BOUNDARY: "»",
    Status.CROWDED: "^",
    Status.NOT_ABOVE_CHANCE: "∅",
}
_UNSURE = "0.75"  # of bars that are not above chance
_THICKEST = 22.0  # no bar is thicker, in points, however few there are and however large the Axes
_MOST_REGIMES = 6  # more regimes than this are not captioned
_CAPTION = 64  # characters of one line of the caption above a bar
_SQUARE = 6.5  # points
# Inches: a line of a caption, the bar below it with its margins, from the lower end of that to its middle.
_LINE, _BAR, _MIDDLE = 0.19, 0.3, 0.14


def importance_bars(
    result: ImportanceResult, *, level: int | float = 0, max_parameters: int = 20, ax: Axes | None = None
) -> Axes:
    """Importances at one level: horizontal bars, the largest on top, with their values.

    Of a single log with an uncertainty (`parzax.cond_ped_anova` with ``n_resamples``) whiskers are its
    intervals, and bars are grey where they are not above chance.
    With several seeds a bar is the mean over those that have an importance at the level, and its whisker one
    standard error to either side. A sign after a name refers to the footnote: parameters that are constant,
    never active, not comparable or not above chance (in at least half of the seeds). What concerns the level
    as a whole stands there too. Values have two decimals; positive ones below 0.01 read "<0.01", and "0" is
    exactly 0.

    Args:
        result, level: as in all pictures.
        max_parameters: how many bars at most, 1 or more; the others are summed in one more.
        ax: where to draw; give its figure ``layout="constrained"``, so that the footnote fits.
    """
    own = _arguments.find_level(result, level)
    most = _checks.whole_number("max_parameters", max_parameters, 1)
    ranking = _arguments.overall_ranking(result)
    drawn = _arguments.contributions(result, result.ranking(own.number), most, ranking)
    seeds = np.stack([own.of(result.importance)[:, part.columns].sum(axis=1) for part in drawn], axis=1)
    mean, error = own.mean_and_error(seeds)
    names = [part.name for part in drawn if len(part.columns) == 1]
    labels = _names_with_signs(own, names) + [part.name for part in drawn[len(names) :]]

    ax = _axes.axes_or_new(ax, 6.4, 1.0 + 0.28 * len(labels))
    y = np.arange(len(labels))
    height = min(0.72, _THICKEST / _axes.size_in_points(ax)[1] * (len(labels) + 0.2))
    away, colours, kind = np.stack([error, error]), [part.colour for part in drawn], ""
    if (known := result.uncertainty) is not None and result.n_seeds == 1:
        ends = np.array([known.interval_of(own.number, part.columns) for part in drawn])
        away = np.maximum(np.stack([mean - ends[:, 0], ends[:, 1] - mean]), 0)
        sure = [may_matter(result, own.number, part.columns) for part in drawn]
        colours = [colour if above else _UNSURE for colour, above in zip(colours, sure, strict=True)]
        if known.n_resamples:
            kind = f"\n{100 * known.level:g} % interval of one log, by resampling"
        kind += "" if all(sure) else ("; " if kind else "\n") + _grey(sure)
    ax.barh(y, mean, color=colours, height=height)
    if np.isfinite(away).any():
        ax.errorbar(mean, y, xerr=away, fmt="none", ecolor="0.25", elinewidth=1, capsize=2)
    ax.set_yticks(y, labels)
    ax.set(ylim=(len(labels) - 0.4, -0.6), xlabel=own.label(kind, "mean ± standard error, {}"))
    return _finish(ax, own, names, y, mean, np.nan_to_num(away[1]))


def regimes(
    result: ImportanceResult,
    *,
    level: int | float = 0,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Each regime's part of a parameter's importance: one bar per parameter, stacked, the largest on top.

    A bar is as long as the importance (mean over the seeds that have one); above it stand its regimes, in the
    order of the stack, each with its domain, the conditions under which it applies, and its part. Of a single
    log with an uncertainty they are grey where the parameter is not above chance.

    Args:
        result, level, ax: as in all pictures.
        parameters: which to draw; by default the most important at that level.
        max_parameters: how many bars at most, by default.
    """
    at_level = _arguments.find_level(result, level)
    asked, most = _arguments.check_choice(result, parameters, max_parameters)
    names = [name for name in result.ranking(at_level.number) if asked is None or name in asked][:most]
    rows = [result.names.index(name) for name in names]
    importance, _ = at_level.mean_and_error(at_level.of(result.importance)[:, rows])
    parts, _ = at_level.mean_and_error(at_level.of(result.regime_importance)[:, rows])
    sure = [may_matter(result, at_level.number, row) for row in rows]
    colour_of, shades, captions = _arguments.colours(result), [], []
    for name, regime_parts, above in zip(names, parts, sure, strict=True):
        domains, rgb = result.space[name], np.array(to_rgb(colour_of[name] if above else _UNSURE))
        # From the colour itself towards white.
        shades.append(list(map(tuple, rgb + (1 - rgb) * np.linspace(0, 0.68, len(domains))[:, None])))
        captions.append(_caption(domains, regime_parts, shades[-1]))

    heights = [_LINE * len(caption) + _BAR for caption in captions]
    centres = np.cumsum(heights) - _MIDDLE
    ax = _axes.axes_or_new(ax, 6.4, 0.8 + sum(heights))
    thick = min(0.17, _THICKEST / _axes.size_in_points(ax)[1] * sum(heights))
    size = _axes.font_points(ax, 0.8)
    place = {"xycoords": ("axes fraction", "data"), "box_alignment": (0, 0), "align": "left"}
    for y, caption, *bar in zip(centres, captions, parts, importance, shades, strict=True):
        _draw_bar(ax, y, thick, *bar)
        lines = [_axes.key_line(line, size, 10) for line in caption]
        _axes.write_rows(ax, lines, (0, y - thick / 2 - 0.025), (3, 0), **place)
    ax.set_yticks(centres, _names_with_signs(at_level, names))
    label = at_level.label(", by regime" + "\n" * (not all(sure)) + _grey(sure), "mean of {}")
    ax.set(ylim=(sum(heights) + 0.06, 0), xlabel=label)
    return _finish(ax, at_level, names, centres, importance)


def _grey(sure: Sequence[bool]) -> str:
    return "" if all(sure) else "grey: not above chance"


def _names_with_signs(own: Level, names: Sequence[str]) -> list[str]:
    """What stands beside the bars of parameters: short names, each with the signs of its statuses."""
    short = _text.names(own.result.names, 28)
    signs = ["".join(dict.fromkeys(sign for sign, *_ in _signs_of(own, [name]))) for name in names]
    return [f"{short[name]} {sign}".rstrip() for name, sign in zip(names, signs, strict=True)]


def _finish(ax: Axes, own: Level, names: Sequence[str], at: Any, values: Any, errors: Any = 0.0) -> Axes:
    """What is written around bars and their names: ``values`` at their ends, a footnote about ``names``."""
    _axes.figure_of(ax).draw_without_rendering()  # long names take width from all of this
    size = _axes.font_points(ax, 0.9)
    ends = values + errors
    look = {"textcoords": "offset points", "va": "center", "fontsize": size}
    for y, value, end in zip(at, values, ends, strict=True):
        ax.annotate(value_text(value), (end, y), (4, 0), **look)
    # Room for the text of the longest bar.
    share = min((_axes.text_width(ax, "<0.01", size) + 8) / _axes.size_in_points(ax)[0], 0.5)
    ax.set_xlim(0, (ends.max() if values.any() else 1.0) / (1 - share))
    if not values.any():
        _axes.note(ax, "No parameter has a positive variance\nat this level.", 0.6, 0.5)
    _axes.key_below(ax, [], _footnote(own, names))
    _axes.tidy(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def _signs_of(own: Level, names: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Sign and words of every status that some of ``names`` have in most seeds, and if they do in all."""
    shown = [own.result.names.index(name) for name in names]
    found = []
    for bit, sign in _SIGNS.items():
        shares = own.result.share_of_seeds(bit)[own.number, shown]
        marked = shares[shares >= MOST_SEEDS]
        if marked.size:
            found.append((sign, bit.fact, bool(marked.min() == 1)))
    return found


def _footnote(own: Level, names: Sequence[str]) -> str:
    """What concerns the level as a whole, and what the signs of ``names`` mean."""
    parts = {}
    for bit in OF_LEVELS & ~Status.ALL_ZERO:
        if (share := own.result.share_of_seeds(bit)[own.number].max()) > 0:
            parts[bit.fact] = "" if share == 1 else " (some seeds)"
    for sign, words, always in _signs_of(own, names):
        parts.setdefault(f"{sign}\N{NO-BREAK SPACE}{words}", "" if always else " (half of the seeds or more)")
    return ";  ".join(words + seeds for words, seeds in parts.items())


def _draw_bar(ax: Axes, y: float, thick: float, parts: np.ndarray, whole: float, shades: list) -> None:
    left = 0.0
    for part, shade in zip(parts, shades, strict=False):
        if part > 0:
            # The edge keeps neighbouring shades apart.
            ax.barh(y, part, thick, left, color=shade, edgecolor="white", linewidth=0.6)
            left += part
    if whole > left + 1e-6:
        # The parity estimator gives 1/d where nothing is known: no regime has earned that.
        ax.barh(y, whole - left, thick, left, color="none", edgecolor=shades[0], hatch="////", linewidth=0.6)


def _caption(domains: Sequence[Domain], parts: np.ndarray, shades: list) -> list[list[_axes.Entry]]:
    """Lines of regimes, several of them with squares of their shades; without the smallest of many."""
    n = len(domains)
    kept = np.sort(np.argsort(-parts[:n], kind="stable")[:_MOST_REGIMES])
    entries: list[_axes.Entry] = []
    for i in kept:
        square = Line2D([], [], linestyle="None", marker="s", markersize=_SQUARE, color=shades[i])
        text = _text.plain(shorten(_text.regime_text(domains[i]), _CAPTION))
        entries.append((square, f"{text}: {value_text(float(parts[i]))}") if n > 1 else (None, text))
    if len(kept) < n:
        entries.append((None, f"{n - len(kept)} smaller ones"))
    return _axes.in_lines(entries, [len(text) + 5 for _, text in entries], _CAPTION)
