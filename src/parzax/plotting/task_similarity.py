"""Similarities of all pairs of tasks as a map."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from parzax.meta import TaskSimilarity
from parzax.plotting import _axes, _text

# More tasks than this have no numbers in their cells, more parameters (or tasks in a sentence) are not named.
_MOST_NUMBERS, _MOST_NAMED, _MOST_NAMES = 12, 4, 50
# Points: names smaller than this are thinned out, numbers are left out.
_SMALLEST, _SMALLEST_NUMBER = 6.0, 4.0
_BRIGHT = 0.6  # cells above this are bright, so their numbers are dark
_DIAGONAL = "0.87"
_OTHERS_MAY_COME = 0.8  # share of a cell that is taken to remain on Axes that stand beside others


def task_similarity(result: TaskSimilarity, *, ax: Axes | None = None) -> Axes:
    """How similar tasks are, pair by pair: a row and a column per task, in the order of ``result``.

    Colours reach from 0 (the rows below of two tasks have no place in common) to 1 (the same density). The
    diagonal is grey: a task is as similar to itself as can be. Up to 12 tasks have numbers in their cells.
    The title has the parameters that the tasks were compared by. Where there is no room for all names (or
    there are more than 50), every second or third one is written, and so on. A sentence underneath names
    tasks without rows below.

    Args:
        result: from `parzax.task_similarity`.
        ax: where to draw; give its figure ``layout="constrained"``, so that names fit.
    """
    if not isinstance(result, TaskSimilarity):
        kind = type(result).__name__
        raise TypeError(f"result must be a parzax.meta.TaskSimilarity (px.task_similarity), got {kind}.")
    t, names = len(result.names), list(_text.names(result.names, 22).values())
    # Inches: cells, and what is needed for long names.
    side, alone = float(np.clip(2.4 + 0.42 * t, 3.2, 8.0)), ax is None
    more = max(0.06 * max(map(len, names)) - 0.5, 0.0)
    ax = _axes.axes_or_new(ax, side + more + 1.0, side + more)
    shown = np.ma.masked_array(np.asarray(result.similarity, np.float64), np.eye(t, dtype=bool))
    edges = np.arange(t + 1) - 0.5
    look = {"cmap": mpl.colormaps["viridis"].with_extremes(bad=_DIAGONAL), "vmin": 0, "vmax": 1}
    _axes.draw_map(ax, [edges, edges], shown, {"label": "similarity s = (1 - d) / (1 + d)"}, **look)
    ax.set_ylim(t - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    parameters = list(_text.names(result.parameters, 22).values())
    _axes.set_title(ax, f"compared by {_listed(parameters, 'parameters')}")
    lost = [name for name, n in zip(names, result.n_below, strict=True) if n == 0]
    sentence = f"no rows below, so 0 to all others: {_listed(lost, 'tasks')}" if lost else ""
    _axes.key_below(ax, [], "a single task: nothing to compare with" if t == 1 else sentence)
    # The room of a cell depends on the layout, which names and neighbours may still change.
    _write_names(ax, names, np.array(_axes.size_in_points(ax)) / t)
    _axes.figure_of(ax).draw_without_rendering()
    cell = np.array(_axes.size_in_points(ax)) / t * (1.0 if alone else _OTHERS_MAY_COME)
    _write_names(ax, names, cell)
    size = min(0.38 * cell[0], 0.6 * cell[1], _axes.font_points(ax, 0.9))
    for (i, j), s in np.ndenumerate(shown.data) if t <= _MOST_NUMBERS and size >= _SMALLEST_NUMBER else ():
        text, colour = ("1", _axes.GREY) if i == j else (f"{s:.2f}", "0.1" if s > _BRIGHT else "white")
        ax.text(j, i, text, ha="center", va="center", fontsize=size, color=colour)
    return ax


def _listed(names: list[str], kind: str) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} {kind}"


def _write_names(ax: Axes, names: list[str], cell: np.ndarray) -> None:
    """On both axes, as large as cells (in points) allow; upright where they are too wide for their column."""
    t, room = len(names), float(cell.min())
    size = float(np.clip(0.85 * room, _SMALLEST, _axes.font_points(ax, 1.0)))
    every = max(int(np.ceil(1.15 * size / room)), -(-t // _MOST_NAMES))
    at, written = np.arange(0, t, every), names[::every]
    upright = max(_axes.text_width(ax, name, size) for name in written) > 0.9 * cell[0] * every
    ax.set_xticks(at, written, fontsize=size, rotation=90 if upright else 0)
    ax.set_yticks(at, written, fontsize=size)
