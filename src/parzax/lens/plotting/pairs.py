"""Maps with one cell per pair: interactions of parameters, similarities of tasks."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from parzax import _checks
from parzax._words import plural
from parzax.lens.plotting import _axes, _text
from parzax.lens.plotting._arguments import choose_names, find_index
from parzax.lens.results import InteractionResult
from parzax.lens.results.phrases import value_text
from parzax.lens.similarity import TaskSimilarity

# With more parameters or tasks than this, no numbers are written in the cells.
_MOST_PARAMETERS, _MOST_TASKS = 16, 12
_MOST_NAMED = 4  # more parameters or tasks than this are not named in a sentence
_MOST_NAMES = 50  # with more than this, not every name is written beside the cells
# Largest fonts: names, as a fraction of a cell's shorter side; numbers, of its width and of its height.
_PARAMETER_SIZES, _TASK_SIZES = (0.6, 0.34, 0.5), (0.85, 0.38, 0.6)
# in points: if names would be smaller, only some are written; if numbers would be, none are
_SMALLEST_NAME, _SMALLEST_NUMBER = 6.0, 4.0
_LEFT = 0.85  # share of a cell that is assumed to remain after names and neighbouring Axes took their room
_BRIGHT = 0.6  # cells above this share of the range are bright, so their numbers are dark
_CELL_GREY = "0.87"  # colour of cells whose value means nothing


def interactions(
    result: InteractionResult,
    *,
    level: int | float | None = None,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Which parameters interact: a map with one cell per pair, the strongest parameters first.

    The colour is the pair's importance, its share of the variance of membership in the target (mean over
    seeds). Pairs that are not above chance are grey: their adjusted p is above 5 % in half of the seeds or
    more, or, if the result has no p-values (``n_draws=0``), their importance is 0. Undefined pairs, such as
    those that are never active together, have a cross. Pairs that were not requested are blank. With up to
    16 parameters the cells of pairs above chance show their values.

    Args:
        result: from `parzax.interactions`.
        level: as in all pictures.
        parameters: names to draw, in this order; by default those with the largest interactions.
        max_parameters: the largest number of parameters, if ``parameters`` is not given.
        ax: where to draw; give its figure ``layout="constrained"``, so that names fit.
    """
    _checks.instance(
        "result", result, InteractionResult, "a parzax.lens.results.InteractionResult (px.interactions)"
    )
    index = find_index(result, level)
    most = _checks.whole_number("max_parameters", max_parameters, 2)
    importance = result.matrix(index)
    defined, asked = ~np.isnan(importance), ~np.isnan(result.to_matrix(np.zeros(len(result.pairs))))
    importance = np.nan_to_num(importance)
    above = result.to_matrix(result.above[index]) == 1
    hidden = np.where(above, importance, 0)
    strongest = np.argsort(-(hidden + 1e-6 * importance).max(axis=1, initial=0), kind="stable")
    ranking = [result.names[j] for j in strongest if asked[j].any()] or list(result.names)
    chosen, most = choose_names(result, parameters, most, ranking)
    chosen = chosen[:most]
    order, m = [result.names.index(name) for name in chosen], len(chosen)
    pick, lower = np.ix_(order, order), np.tri(m, k=-1, dtype=bool)
    masks = above, defined & ~above, asked & ~defined
    above, chance, undefined = (mask[pick] & lower for mask in masks)
    hidden[pick], importance = 0, importance[pick]

    names = list(_text.shorten_names(chosen).values())
    ax = _make_axes(ax, float(np.clip(1.9 + 0.42 * m, 3.0, 8.0)), names, title=0.3)
    _axes.set_title(ax, f"interactions at γ′ = {result.levels[index]:g}")
    if m < 2:
        _axes.write_note(ax, "A single parameter has no pairs.", y=0.5)
    top = float(importance[above].max(initial=0)) or 1.0
    _draw_cells(ax, np.ma.masked_array(importance, ~above), top, "share of the variance of membership")
    ax.set(xlim=(-0.5, max(m - 1, 1) - 0.5), ylim=(max(m, 2) - 0.5, 0.5))
    entries: list[_axes.Entry] = []
    for i, j in np.argwhere(chance):
        look = {"facecolor": _CELL_GREY, "edgecolor": "white", "linewidth": 0.8}
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **look))
    if chance.any():
        how = f" (p > 0.05, adjusted for {plural(len(result.pairs), 'pair')})" if result.n_draws else ""
        square = _axes.make_handle(marker="s", markersize=6.5, color=_CELL_GREY)
        entries.append((square, f"not above chance{how}"))
    if undefined.any():
        rows, columns = np.nonzero(undefined)
        ax.scatter(columns, rows, 22.0, marker="x", color=_axes.GREY, linewidths=0.9)
        cross = _axes.make_handle(marker="x", markersize=5, color=_axes.GREY)
        entries.append((cross, "never active together, or not comparable"))
    rest = len(result.names) - m
    largest = f"; largest pair there {value_text(hidden.max())}" if hidden.any() else ""
    left_out = f"{plural(rest, 'parameter')} not shown{largest}" if rest else ""
    _axes.add_key(ax, entries, f"mean of {result.n_seeds} seeds" if result.n_seeds > 1 else "", left_out)
    numbers = {
        (i, j): (value_text(x), _choose_colour(x / top))
        for (i, j), x in np.ndenumerate(importance)
        if above[i, j] and m <= _MOST_PARAMETERS
    }
    _write_labels(ax, names[: m - 1], dict(enumerate(names[1:], 1)), numbers, _PARAMETER_SIZES)
    return ax


def task_similarity(result: TaskSimilarity, *, ax: Axes | None = None) -> Axes:
    """How similar tasks are, pair by pair: one row and one column per task, in the order of ``result``.

    Colours go from 0 (the good rows of two tasks do not overlap) to 1 (the same density). The diagonal is
    grey, since a task is always fully similar to itself. Up to 12 tasks have numbers in their cells. The
    title names the parameters by which the tasks were compared. If there is no room for all names (or there
    are more than 50), only every second or third name is written, and so on. A sentence below the map lists
    the tasks without rows below the split.

    Args:
        result: from `parzax.lens.similarity.task_similarity`.
        ax: where to draw; give its figure ``layout="constrained"``, so that names fit.
    """
    _checks.instance(
        "result", result, TaskSimilarity, "a parzax.meta.TaskSimilarity (px.lens.similarity.task_similarity)"
    )
    t, names = len(result.names), list(_text.shorten_names(result.names).values())
    ax = _make_axes(ax, float(np.clip(2.4 + 0.42 * t, 3.2, 8.0)), names)
    similarity = np.ma.masked_array(np.asarray(result.similarity, np.float64), np.eye(t, dtype=bool))
    _draw_cells(ax, similarity, 1, "similarity s = (1 - d) / (1 + d)", _CELL_GREY)
    ax.set_ylim(t - 0.5, -0.5)
    parameters = list(_text.shorten_names(result.parameters).values())
    _axes.set_title(ax, f"compared by {_name_few(parameters, 'parameters')}")
    lost = [name for name, n in zip(names, result.n_below, strict=True) if n == 0]
    sentence = (
        f"no rows below the split, so similarity 0 to all others: {_name_few(lost, 'tasks')}" if lost else ""
    )
    _axes.add_key(ax, [], "a single task: nothing to compare with" if t == 1 else sentence)
    numbers = {
        (i, j): ("1", _axes.GREY) if i == j else (f"{s:.2f}", _choose_colour(s))
        for (i, j), s in np.ndenumerate(similarity.data)
        if t <= _MOST_TASKS
    }
    _write_labels(ax, names, dict(enumerate(names)), numbers, _TASK_SIZES)
    return ax


def _name_few(names: list[str], kind: str) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} {kind}"


def _make_axes(ax: Axes | None, cells: float, names: Sequence[str], title: float = 0.0) -> Axes:
    """Make Axes with ``cells`` inches for all cells, and room for their names, a colour bar and a title."""
    side = cells + max(0.06 * max(map(len, names)) - 0.5, 0.0)
    return _axes.get_axes(ax, side + 1.0, side + title)


def _draw_cells(ax: Axes, values: np.ma.MaskedArray, top: float, label: str, masked: str = "none") -> None:
    """Draw (n, n) values from 0 to ``top`` as colours, and masked entries in the colour ``masked``."""
    edges = np.arange(len(values) + 1) - 0.5
    look = {"cmap": mpl.colormaps["viridis"].with_extremes(bad=masked), "vmin": 0, "vmax": top}
    _axes.draw_map(ax, [edges, edges], values, {"label": label}, **look)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _choose_colour(share: float) -> str:
    """Colour of the number in a cell at ``share`` of the range of colours."""
    return "0.1" if share > _BRIGHT else "white"


def _write_labels(ax: Axes, columns: list[str], rows: dict[int, str], numbers: dict, sizes: Any) -> None:
    """Write names of the columns 0, 1, ... and of ``rows``, and numbers (text, colour) by row and column.

    Names are as large as a cell allows; where they would be too small, only some are written.
    """
    _axes.get_figure(ax).draw_without_rendering()  # the size of a cell is known only after a layout
    cell = _axes.get_size(ax) / max(len(columns), 1)
    size = float(np.clip(sizes[0] * cell.min(), _SMALLEST_NAME, _axes.get_font_size(ax, 1.0)))
    every = max(int(np.ceil(1.15 * size / cell.min())), -(-len(rows) // _MOST_NAMES))
    # A character is about 0.6 of the font's size wide.
    steep = 0.6 * size * max(map(len, columns[::every]), default=0) > 0.9 * cell[0] * every
    ax.set_xticks(range(0, len(columns), every), columns[::every], fontsize=size, rotation=90 if steep else 0)
    ax.set_yticks(list(rows)[::every], list(rows.values())[::every], fontsize=size)
    size = min(_LEFT * min(sizes[1] * cell[0], sizes[2] * cell[1]), _axes.get_font_size(ax, 0.9))
    for (i, j), (text, colour) in numbers.items() if size >= _SMALLEST_NUMBER else ():
        ax.text(j, i, text, ha="center", va="center", fontsize=size, color=colour)
