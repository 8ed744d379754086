"""Interactions of all pairs of parameters as a map."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from parzax import _checks
from parzax.plotting import _axes, _square_map, _text
from parzax.plotting._arguments import check_names, level_number
from parzax.results import InteractionResult
from parzax.results.phrases import value_text

_MOST_NUMBERS = 16  # more parameters than this have no numbers in their cells
_SIZES = (0.6, 0.34, 0.5)  # of names and numbers in a cell


class _Map(NamedTuple):
    """(m, m) pairs of the parameters shown, the strongest first; masks are of the lower triangle."""

    names: list[str]
    importance: np.ndarray
    above: np.ndarray  # whether above chance
    chance: np.ndarray  # whether not above chance
    undefined: np.ndarray  # whether the pair was asked for, and nothing is known of it
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
    _checks.instance("result", result, InteractionResult, "a parzax.InteractionResult (px.interactions)")
    number = level_number(result.target_quantile, level)
    most = _checks.whole_number("max_parameters", max_parameters, 2)
    chosen = None if parameters is None else check_names("parameters", parameters, result.names)
    shown = _map(result, number, chosen, most)
    m, names = len(shown.names), list(_text.names(shown.names, 22).values())
    ax = _square_map.new_axes(ax, float(np.clip(1.9 + 0.42 * m, 3.0, 8.0)), names, title=0.3)
    _axes.set_title(ax, f"interactions at γ′ = {result.target_quantile[number]:g}")
    if m < 2:
        _axes.note(ax, "A single parameter has no pairs.", y=0.5)
    top = float(shown.importance[shown.above].max(initial=0)) or 1.0
    values = np.ma.masked_array(np.nan_to_num(shown.importance), ~shown.above)
    _square_map.draw_cells(ax, values, top, "share of the variance of membership")
    ax.set(xlim=(-0.5, max(m - 1, 1) - 0.5), ylim=(max(m, 2) - 0.5, 0.5))
    entries = _draw_grey_and_crossed(ax, result, shown)
    rest = len(result.names) - m
    others = f"; largest pair there {value_text(shown.others)}" if shown.others else ""
    several = f"mean of {result.n_seeds} seeds" if result.n_seeds > 1 else ""
    left_out = f"{rest} parameter{'s' * (rest > 1)} not shown{others}" if rest else ""
    _axes.key_below(ax, entries, ";  ".join(filter(None, (several, left_out))))
    numbers = {}
    for i, j in np.argwhere(shown.above if m <= _MOST_NUMBERS else []):
        share = float(shown.importance[i, j])
        numbers[i, j] = value_text(share), _square_map.number_colour(share / top)
    _square_map.write_labels(ax, names[: m - 1], dict(enumerate(names[1:], 1)), numbers, _SIZES)
    return ax


def _map(result: InteractionResult, level: int, chosen: list[str] | None, most: int) -> _Map:
    importance = result.matrix(level)
    above = result.to_matrix(result.stands_out[level]) == 1
    asked = ~np.isnan(result.to_matrix(np.zeros(len(result.pairs))))
    strength = np.where(above, importance, 0) + 1e-6 * np.nan_to_num(importance)
    if chosen is None:
        by_strength = np.argsort(-strength.max(axis=1, initial=0), kind="stable").tolist()
        order = [j for j in by_strength if asked[j].any()][:most]
        order = order or list(range(min(len(result.names), most)))
    else:
        order = [result.names.index(name) for name in chosen]
    pick = np.ix_(order, order)
    rest = np.ones_like(above)
    rest[pick] = False
    others = float(np.where(above & rest, importance, 0).max(initial=0))
    defined = ~np.isnan(importance)
    masks = above, defined & ~above, asked & ~defined
    above, chance, undefined = (np.tril(mask[pick], -1) for mask in masks)
    return _Map([result.names[j] for j in order], importance[pick], above, chance, undefined, others)


def _draw_grey_and_crossed(ax: Axes, result: InteractionResult, shown: _Map) -> list[_axes.Entry]:
    """Pairs not above chance and pairs of which nothing is known, and what they mean."""
    entries: list[_axes.Entry] = []
    grey = _square_map.CELL_GREY
    for i, j in np.argwhere(shown.chance):
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=grey, edgecolor="white", linewidth=0.8))
    if shown.chance.any():
        square = Line2D([], [], linestyle="None", marker="s", markersize=6.5, color=grey)
        p = len(result.pairs)
        how = f" (p > 0.05, adjusted for {p} pair{'s' * (p > 1)})" if result.n_draws else ""
        entries.append((square, f"not above chance{how}"))
    if shown.undefined.any():
        rows, columns = np.nonzero(shown.undefined)
        ax.scatter(columns, rows, 22.0, marker="x", color=_axes.GREY, linewidths=0.9)
        cross = Line2D([], [], linestyle="None", marker="x", markersize=5, color=_axes.GREY)
        entries.append((cross, "never active together, or not comparable"))
    return entries
