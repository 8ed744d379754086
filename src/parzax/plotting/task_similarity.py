"""Similarities of all pairs of tasks as a map."""

import numpy as np
from matplotlib.axes import Axes

from parzax import _checks
from parzax.meta import TaskSimilarity
from parzax.plotting import _axes, _square_map, _text

# More tasks than this have no numbers in their cells, more parameters (or tasks in a sentence) are not named.
_MOST_NUMBERS, _MOST_NAMED = 12, 4
_SIZES = (0.85, 0.38, 0.6)  # of names and numbers in a cell
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
    _checks.instance("result", result, TaskSimilarity, "a parzax.meta.TaskSimilarity (px.task_similarity)")
    t, names = len(result.names), list(_text.names(result.names, 22).values())
    room = 1.0 if ax is None else _OTHERS_MAY_COME
    ax = _square_map.new_axes(ax, float(np.clip(2.4 + 0.42 * t, 3.2, 8.0)), names)
    similarity = np.ma.masked_array(np.asarray(result.similarity, np.float64), np.eye(t, dtype=bool))
    label = "similarity s = (1 - d) / (1 + d)"
    _square_map.draw_cells(ax, similarity, 1, label, _square_map.CELL_GREY)
    ax.set_ylim(t - 0.5, -0.5)
    parameters = list(_text.names(result.parameters, 22).values())
    _axes.set_title(ax, f"compared by {_listed(parameters, 'parameters')}")
    lost = [name for name, n in zip(names, result.n_below, strict=True) if n == 0]
    sentence = f"no rows below, so 0 to all others: {_listed(lost, 'tasks')}" if lost else ""
    _axes.key_below(ax, [], "a single task: nothing to compare with" if t == 1 else sentence)
    numbers = {
        (i, j): ("1", _axes.GREY) if i == j else (f"{s:.2f}", _square_map.number_colour(s))
        for (i, j), s in np.ndenumerate(similarity.data if t <= _MOST_NUMBERS else np.empty((0, 0)))
    }
    _square_map.write_labels(ax, names, dict(enumerate(names)), numbers, _SIZES, room)
    return ax


def _listed(names: list[str], kind: str) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} {kind}"
