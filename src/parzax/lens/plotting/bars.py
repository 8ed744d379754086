"""Importances at one level as sorted bars, in one piece or by regime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from parzax import _checks
from parzax.lens.plotting import _arguments, _axes, _text
from parzax.lens.plotting._arguments import Level
from parzax.lens.results import ImportanceResult
from parzax.lens.results.phrases import regime_text, shorten, value_text
from parzax.lens.results.result import MOST_SEEDS
from parzax.space import Domain
from parzax.status import OF_LEVELS, Status

# Signs after the name of a parameter, by status; the footnote has the words of `Status.fact`.
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
_UNSURE, _UNSURE_WORDS = "0.75", "grey: not above chance"
_THICKEST = 22.0  # largest thickness of a bar, in points
_MOST_REGIMES = 6  # more regimes than this are not captioned
_CAPTION = 64  # largest number of characters in one line of the caption above a bar
_SQUARE = 6.5  # size of a square in a caption, in points
_NO_MARKS = {"handlelength": 0, "handletextpad": 0}
# Inches: a line of a caption; the bar below it with its margins; from the bar's lower margin to its middle.
_LINE, _BAR, _MIDDLE = 0.19, 0.3, 0.14


def importance_bars(
    result: ImportanceResult,
    *,
    level: int | float | None = None,
    max_parameters: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Importances at one level: horizontal bars, the largest on top, with their values.

    If a single log has an uncertainty (`parzax.cond_ped_anova` with ``n_resamples``), whiskers are its
    intervals, and bars that are not above chance are grey.
    With several seeds a bar is the mean over the seeds that have an importance at the level, and its whisker
    is one standard error to either side. A sign after a name refers to the footnote: the parameter is
    constant, never active, not comparable or not above chance (in at least half of the seeds). The footnote
    also has the statuses of the level. Values have two decimals; positive values below 0.01 are written as
    "<0.01", and "0" is exactly 0.

    Args:
        result, level: as in all pictures.
        max_parameters: the largest number of bars, at least 1; one more bar is the sum of the others.
        ax: where to draw; give its figure ``layout="constrained"``, so that the footnote fits.
    """
    at_level = _arguments.find_level(result, level)
    most = _checks.whole_number("max_parameters", max_parameters, 1)
    ranking, by_importance = _arguments.rank_overall(result), result.ranking(at_level.number)
    names, columns, looks = zip(*_arguments.split_names(result, by_importance, most, ranking), strict=True)
    importance = at_level.by_seed(result.importance)
    mean, error = at_level.mean_and_error(np.stack([importance[:, j].sum(axis=1) for j in columns], axis=1))
    alone = [name for name, j in zip(names, columns, strict=True) if len(j) == 1]
    labels, footnote = _explain(at_level, alone)
    labels += names[len(alone) :]

    ax = _axes.get_axes(ax, 6.4, 1.0 + 0.28 * len(labels))
    y = np.arange(len(labels))
    height = min(0.72, _THICKEST / _axes.get_size(ax)[1] * (len(labels) + 0.2))
    sure = [bool(result.may_matter(at_level.number, j)) for j in columns]
    away, remarks = np.stack([error, error]), [] if all(sure) else [_UNSURE_WORDS]
    if result.sampled is not None and result.n_seeds == 1:
        low, high = np.transpose([result.sampled.interval_of(at_level.number, j) for j in columns])
        away = np.maximum(np.stack([mean - low, high - mean]), 0)
        if result.sampled.n_resamples:
            remarks.insert(0, f"{100 * result.sampled.level:g} % interval of one log, by resampling")
    colours = [look["color"] if above else _UNSURE for look, above in zip(looks, sure, strict=True)]
    ax.barh(y, mean, color=colours, height=height)
    _axes.draw_whiskers(ax, mean, y, xerr=away)
    kind = "\n" * bool(remarks) + "; ".join(remarks)
    ax.set(ylim=(len(labels) - 0.4, -0.6), xlabel=at_level.label(kind, "mean ± standard error, {}"))
    return _finish(ax, y, mean, np.nan_to_num(away[1]), labels, footnote)


def regimes(
    result: ImportanceResult,
    *,
    level: int | float | None = None,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Each regime's part of a parameter's importance: one stacked bar per parameter, the largest on top.

    The length of a bar is the importance (mean over the seeds that have one). The caption above a bar lists
    its regimes in the order of the stack, each with its domain, its conditions and its part. If a single log
    has an uncertainty, bars of parameters that are not above chance are grey.

    Args:
        result, level, ax: as in all pictures.
        parameters: names to draw; by default the most important at that level.
        max_parameters: the largest number of bars, if ``parameters`` is not given.
    """
    at_level = _arguments.find_level(result, level)
    ranking = result.ranking(at_level.number)
    chosen, most = _arguments.choose_names(result, parameters, max_parameters, ranking)
    names = [name for name in ranking if name in chosen][:most]
    columns = [result.names.index(name) for name in names]
    importance, _ = at_level.mean_and_error(at_level.by_seed(result.importance)[:, columns])
    parts, _ = at_level.mean_and_error(at_level.by_seed(result.regime_importance)[:, columns])
    sure = result.may_matter(at_level.number, np.array(columns)[:, None]).tolist()
    colours, shades, captions = _arguments.colours(result), [], []
    for name, regime_parts, above in zip(names, parts, sure, strict=True):
        domains, rgb = result.space[name], np.array(to_rgb(colours[name] if above else _UNSURE))
        # Shades go from the colour towards white.
        shades.append(rgb + (1 - rgb) * np.linspace(0, 0.68, len(domains))[:, None])
        captions.append(_write_caption(domains, regime_parts, shades[-1]))

    heights = [_LINE * -(-len(entries) // n_columns) + _BAR for entries, n_columns in captions]
    y = np.cumsum(heights) - _MIDDLE
    ax = _axes.get_axes(ax, 6.4, 0.8 + sum(heights))
    thickness = min(0.17, _THICKEST / _axes.get_size(ax)[1] * sum(heights))
    place = {"loc": "lower left", "bbox_transform": ax.get_yaxis_transform(), "labelspacing": 0.2}
    look = {"fontsize": _axes.get_font_size(ax, 0.8), "frameon": False, "borderpad": 0, "borderaxespad": 0.2}
    for middle, (entries, n_columns), *bar in zip(y, captions, parts, importance, shades, strict=True):
        _draw_bar(ax, middle, thickness, *bar)
        marks = {"handlelength": 1, "handletextpad": 0.5} if len(entries) > 1 else _NO_MARKS
        at = 0, middle - thickness / 2 - 0.025
        _axes.add_legend(ax, entries, ncols=n_columns, bbox_to_anchor=at, **place, **look, **marks)
    kind = ", by regime" + ("" if all(sure) else f"\n{_UNSURE_WORDS}")
    ax.set(ylim=(sum(heights) + 0.06, 0), xlabel=at_level.label(kind, "mean of {}"))
    return _finish(ax, y, importance, 0.0, *_explain(at_level, names))


def _explain(level: Level, names: Sequence[str]) -> tuple[list[str], str]:
    """Short ``names`` with signs for statuses set in most seeds, and a footnote on signs and level."""
    columns = [level.result.names.index(name) for name in names]
    short, signs, notes = _text.shorten_names(level.result.names, 28), [""] * len(names), {}
    for bit in OF_LEVELS & ~Status.ALL_ZERO:
        if (share := level.result.share_of_seeds(bit)[level.number].max()) > 0:
            notes[bit.fact] = "" if share == 1 else " (some seeds)"
    for bit, sign in _SIGNS.items():
        shares = level.result.share_of_seeds(bit)[level.number, columns]
        marked = np.flatnonzero(shares >= MOST_SEEDS)
        for i in marked:
            signs[i] = signs[i].removesuffix(sign) + sign
        if len(marked):
            seeds = "" if shares[marked].min() == 1 else " (half of the seeds or more)"
            notes.setdefault(f"{sign}\N{NO-BREAK SPACE}{bit.fact}", seeds)
    labels = [f"{short[name]} {sign}".rstrip() for name, sign in zip(names, signs, strict=True)]
    return labels, ";  ".join(map("".join, notes.items()))


def _finish(ax: Axes, y: Any, values: Any, errors: Any, labels: Sequence[str], footnote: str) -> Axes:
    """Write the labels of bars, their ``values`` at their ends, and a footnote."""
    ax.set_yticks(y, labels)
    look = {"textcoords": "offset points", "va": "center", "fontsize": _axes.get_font_size(ax, 0.9)}
    for middle, value, end in zip(y, values, values + errors, strict=True):
        ax.annotate(value_text(value), (end, middle), (4, 0), **look)
    # Texts at the ends of bars are in the layout, so the axis need not be longer than they.
    ax.set_xlim(0, 1.1 * (values + errors).max() if values.any() else 1.0)
    if not values.any():
        _axes.write_note(ax, "No parameter has a positive variance\nat this level.", 0.6, 0.5)
    _axes.add_key(ax, [], footnote)
    _axes.tidy(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def _draw_bar(
    ax: Axes, y: float, thickness: float, parts: np.ndarray, importance: float, shades: np.ndarray
) -> None:
    """Draw the parts of a bar side by side, and hatch the rest, which belongs to no regime."""
    left, look = 0.0, dict[str, Any](height=thickness, linewidth=0.6)
    for part, shade in zip(parts, shades, strict=False):
        if part > 0:
            # The edge separates neighbouring shades.
            ax.barh(y, part, left=left, color=tuple(shade), edgecolor="white", **look)
            left += part
    if importance > left + 1e-6:
        # A rest without a regime occurs if the parity estimator gives 1/d to every parameter.
        rest = importance - left
        ax.barh(y, rest, left=left, color="none", edgecolor=tuple(shades[0]), hatch="////", **look)


def _write_caption(domains: Sequence[Domain], parts: np.ndarray, shades: np.ndarray) -> tuple[list, int]:
    """Entries of a caption, and its number of columns: a square in the shade of each regime, if several.

    If there are many regimes, the smallest are only counted.
    """
    n = len(domains)
    largest = np.sort(np.argsort(-parts[:n], kind="stable")[:_MOST_REGIMES])
    entries: list[_axes.Entry] = []
    for i in largest:
        text = _text.escape(shorten(regime_text(domains[i]), _CAPTION))
        square = _axes.make_handle(marker="s", markersize=_SQUARE, color=tuple(shades[i]))
        entries.append((square, f"{text}: {value_text(float(parts[i]))}") if n > 1 else (None, text))
    if len(largest) < n:
        entries.append((None, f"{n - len(largest)} smaller ones"))
    return entries, max(_CAPTION // (max(len(text) for _, text in entries) + 5), 1)
