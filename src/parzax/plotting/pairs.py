"""Interactions of all pairs of parameters as a map."""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from parzax import _checks
from parzax.plotting import _axes, _text
from parzax.plotting._arguments import check_names, level_number
from parzax.results import InteractionResult
from parzax.results.phrases import value_text

_MOST_SEEDS = 0.5  # a pair is above chance where it is in more than this share of the seeds
_CHANCE = "0.87"  # cells of pairs that are not
_MOST_NUMBERS = 16  # more parameters than this have no numbers in their cells
_SMALLEST, _SMALLEST_NUMBER = 6.0, 4.0  # points: names are not smaller, smaller numbers are left out
_BRIGHT = 0.6  # cells above this share of the range are bright, so their numbers are dark


class _Map(NamedTuple):
    """(m, m) what is known of the parameters shown, the strongest first; NaN, and False, elsewhere."""

    names: list[str]
    importance: np.ndarray
    above: np.ndarray  # whether above chance
    asked: np.ndarray  # whether the pair was asked for
    others: float  # the largest importance of a pair that is above chance and not shown


def interactions(
    result: InteractionResult,
    *,
    level: int | float = 0,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Which parameters interact: a map with a cell per pair, the strongest parameters first.

    Colours are the pair's importance, its share of the variance of membership in the target (mean over
    seeds). Pairs that are not above chance (adjusted p above 5 %, in half of the seeds or more; without
    permutations those with importance 0) are grey, and pairs of which nothing is known, such as those that
    are never active together, have a cross. Pairs that were not asked for are blank. With up to 16
    parameters the values of pairs above chance stand in their cells.

    Args:
        result: from `parzax.interactions`.
        level: as in all pictures.
        parameters: which to draw, in this order; by default those with the largest interactions.
        max_parameters: how many at most, by default.
        ax: where to draw; give its figure ``layout="constrained"``, so that names fit.
    """
    if not isinstance(result, InteractionResult):
        kind = type(result).__name__
        raise TypeError(f"result must be a parzax.InteractionResult (px.interactions), got {kind}.")
    number = level_number(result.target_quantile, level)
    most = _checks.whole_number("max_parameters", max_parameters, 2)
    chosen = None if parameters is None else check_names("parameters", parameters, result.names)
    shown = _map(result, number, chosen, most)
    m, names = len(shown.names), list(_text.names(shown.names, 22).values())
    side, more = float(np.clip(1.9 + 0.42 * m, 3.0, 8.0)), max(0.06 * max(map(len, names)) - 0.5, 0.0)
    ax = _axes.axes_or_new(ax, side + more + 1.0, side + more + 0.3)
    ax.set(xlim=(-0.5, max(m - 1, 1) - 0.5), ylim=(max(m, 2) - 0.5, 0.5))
    _axes.set_title(ax, f"interactions at γ′ = {result.target_quantile[number]:g}")
    if m < 2:
        _axes.note(ax, "A single parameter has no pairs.", y=0.5)
    top = _draw_cells(ax, shown)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    entries, sentence = _words(result, shown)
    # Which cells have room for a number depends on the layout, which all of this may change.
    _write_names(ax, names)
    _axes.key_below(ax, entries, sentence)
    _axes.figure_of(ax).draw_without_rendering()
    _write_names(ax, names)
    if m <= _MOST_NUMBERS:
        _write_numbers(ax, shown, top)
    return ax


def _map(result: InteractionResult, level: int, chosen: list[str] | None, most: int) -> _Map:
    importance = result.matrix(level)
    if result.n_draws:
        share = result.by_seed(result.above_chance)[:, level].mean(axis=0)
        above = result.to_matrix(share) > _MOST_SEEDS
    else:
        above = importance > 0
    asked = ~np.isnan(result.to_matrix(np.zeros(len(result.pairs))))
    strength = np.where(above, importance, 0) + 1e-6 * np.nan_to_num(importance)
    own = strength.max(axis=1, initial=0)
    if chosen is None:
        order = [j for j in np.argsort(-own, kind="stable").tolist() if asked[j].any()][:most]
        order = order or list(range(min(len(result.names), most)))
    else:
        order = [result.names.index(name) for name in chosen]
    rest = np.ones_like(above)
    rest[np.ix_(order, order)] = False
    others = float(np.where(above & rest, importance, 0).max(initial=0))
    pick = np.ix_(order, order)
    return _Map([result.names[j] for j in order], importance[pick], above[pick], asked[pick], others)


def _draw_cells(ax: Axes, shown: _Map) -> float:
    """Cells below the diagonal, grey ones and crosses; returns the top of the colours."""
    m = len(shown.names)
    below = np.tril(np.ones((m, m), dtype=bool), -1)
    coloured = below & shown.above
    values = np.ma.masked_array(np.nan_to_num(shown.importance), ~coloured)
    top = float(values.max()) if coloured.any() else 1.0
    edges = np.arange(m + 1) - 0.5
    look = {"cmap": mpl.colormaps["viridis"].with_extremes(bad="none"), "vmin": 0, "vmax": top}
    _axes.draw_map(ax, [edges, edges], values, {"label": "share of the variance of membership"}, **look)
    ax.set(xlim=(-0.5, max(m - 1, 1) - 0.5), ylim=(max(m, 2) - 0.5, 0.5))
    known = ~np.isnan(shown.importance)
    for i, j in np.argwhere(below & known & ~shown.above):
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=_CHANCE, edgecolor="white", linewidth=0.8))
    crossed = np.argwhere(below & shown.asked & ~known)
    if len(crossed):
        ax.scatter(crossed[:, 1], crossed[:, 0], 22.0, marker="x", color=_axes.GREY, linewidths=0.9)
    return top


def _words(result: InteractionResult, shown: _Map) -> tuple[list[_axes.Entry], str]:
    """What grey cells and crosses mean; how many parameters are left out."""
    below = np.tril(np.ones_like(shown.above), -1)
    known, entries = ~np.isnan(shown.importance), []
    if (below & known & ~shown.above).any():
        square = Line2D([], [], linestyle="None", marker="s", markersize=6.5, color=_CHANCE)
        p = len(result.pairs)
        how = f" (p > 0.05, adjusted for {p} pair{'s' * (p > 1)})" if result.n_draws else ""
        entries.append((square, f"not above chance{how}"))
    if (below & shown.asked & ~known).any():
        cross = Line2D([], [], linestyle="None", marker="x", markersize=5, color=_axes.GREY)
        entries.append((cross, "never active together, or not comparable"))
    rest = len(result.names) - len(shown.names)
    others = f"; largest pair there {value_text(shown.others)}" if shown.others else ""
    several = f"mean of {result.n_seeds} seeds" if result.n_seeds > 1 else ""
    left_out = f"{rest} parameter{'s' * (rest > 1)} not shown{others}" if rest else ""
    return entries, ";  ".join(filter(None, (several, left_out)))


def _write_names(ax: Axes, names: list[str]) -> None:
    """On both axes, as large as cells allow; upright where they are too wide for their column."""
    m = len(names)
    cells = max(m - 1, 1)
    width, height = (side / cells for side in _axes.size_in_points(ax))
    size = float(np.clip(0.6 * min(width, height), _SMALLEST, _axes.font_points(ax, 1.0)))
    columns = names[: m - 1]
    upright = max((_axes.text_width(ax, name, size) for name in columns), default=0.0) > 0.9 * width
    ax.set_xticks(np.arange(len(columns)), columns, fontsize=size, rotation=90 if upright else 0)
    ax.set_yticks(np.arange(1, m), names[1:], fontsize=size)


def _write_numbers(ax: Axes, shown: _Map, top: float) -> None:
    cells = max(len(shown.names) - 1, 1)
    width, height = (side / cells for side in _axes.size_in_points(ax))
    size = min(0.34 * width, 0.5 * height, _axes.font_points(ax, 0.9))
    for i, j in np.argwhere(np.tril(shown.above, -1)) if size >= _SMALLEST_NUMBER else ():
        x = float(shown.importance[i, j])
        colour = "0.1" if x > _BRIGHT * top else "white"
        ax.text(j, i, value_text(x), ha="center", va="center", fontsize=size, color=colour)
