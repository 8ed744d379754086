"""Similarities of all pairs of tasks as a map."""

import textwrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from parzax.importance.labels import short_names
from parzax.plotting._matplotlib import (
    GREY,
    axes_or_new,
    figure_of,
    font_points,
    key_below,
    plain,
    size_in_points,
    text_width,
)
from parzax.samplers import TaskSimilarity

# More tasks than this have no numbers in their cells, more parameters are not named.
_MOST_NUMBERS = 12
_MOST_NAMED = 4
_MOST_NAMES = 50
# Points: names smaller than this are thinned out, numbers are left out.
_SMALLEST = 6.0
_NUMBER_SMALLEST = 4.0
# Cells above this are bright, so their numbers are dark.
_BRIGHT = 0.6
_OWN = "0.87"
# Share of a cell that is taken to remain on Axes that stand beside others.
_OTHERS_MAY_COME = 0.8


def task_similarity(result: TaskSimilarity, *, ax: Axes | None = None) -> Axes:
    """How similar tasks are, pair by pair: a row and a column per task, in the order of ``result``.

    Colours reach from 0 (the good rows of two tasks have no place in common) to 1 (the same density). The
    diagonal is grey: a task is as similar to itself as can be. Up to 12 tasks have numbers in their cells.

    Args:
        result: from `parzax.task_similarity`.
        ax: where to draw (give its figure ``layout="constrained"``, so that names fit); a new figure by
            default.

    Returns:
        The Axes. The title has the parameters that the tasks were compared by. Where there is no room for
        all names (or there are more than 50), every second or third one is written, and so on. Tasks without
        good rows are named below.

    Raises:
        TypeError: ``result`` or ``ax`` of the wrong type.
    """
    if not isinstance(result, TaskSimilarity):
        raise TypeError(
            "result must be a parzax.samplers.TaskSimilarity (from parzax.task_similarity), "
            f"got {type(result).__name__}."
        )
    t = len(result.names)
    side = float(np.clip(2.4 + 0.42 * t, 3.2, 8.0))
    own_figure = ax is None
    ax = axes_or_new(ax, side + 1.0, side)
    shown = np.ma.masked_array(np.asarray(result.similarity, np.float64), np.eye(t, dtype=bool))
    edges = np.arange(t + 1) - 0.5
    colours = mpl.colormaps["viridis"].with_extremes(bad=_OWN)
    mesh = ax.pcolormesh(edges, edges, shown, cmap=colours, vmin=0, vmax=1, rasterized=True)
    label = "similarity s = (1 - d) / (1 + d)"
    figure_of(ax).colorbar(mesh, ax=ax, fraction=0.05, pad=0.02, label=label)
    ax.set_ylim(t - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    short = short_names(result.names, 22)
    names = [plain(short[name]) for name in result.names]
    _title(ax, result.parameters)
    lost = [name for name, n in zip(names, result.n_good, strict=True) if n == 0]
    key_below(ax, [], "a single task: nothing to compare with" if t == 1 else _lost(lost))
    _names(ax, names, _cell(ax, t))
    # The room of a cell depends on the layout, which neighbours may still change.
    figure_of(ax).draw_without_rendering()
    width, height = _cell(ax, t) * (1.0 if own_figure else _OTHERS_MAY_COME)
    _names(ax, names, np.array([width, height]))
    if t <= _MOST_NUMBERS:
        _numbers(ax, shown, min(0.38 * width, 0.6 * height, font_points(ax, 0.9)))
    return ax


def _cell(ax: Axes, t: int) -> np.ndarray:
    """Width and height of a cell in points."""
    return np.array(size_in_points(ax)) / t


def _names(ax: Axes, names: list[str], cell: np.ndarray) -> None:
    """On both axes, as large as the cells allow; upright where they are too wide for their column."""
    t, room = len(names), float(cell.min())
    size = float(np.clip(0.85 * room, _SMALLEST, font_points(ax, 1.0)))
    every = max(int(np.ceil(1.15 * size / room)), -(-t // _MOST_NAMES))
    at = np.arange(0, t, every)
    written = [names[i] for i in at]
    upright = max(text_width(ax, name, size) for name in written) > 0.9 * cell[0] * every
    ax.set_xticks(at, written, fontsize=size, rotation=90 if upright else 0)
    ax.set_yticks(at, written, fontsize=size)


def _title(ax: Axes, parameters: tuple[str, ...]) -> None:
    """The parameters by name, or how many."""
    short = short_names(parameters, 22)
    named = ", ".join(plain(short[name]) for name in parameters)
    words = named if len(parameters) <= _MOST_NAMED else f"{len(parameters)} parameters"
    size = font_points(ax, 1.0)
    width = max(int(size_in_points(ax)[0] / (0.52 * size)), 24)
    ax.set_title(textwrap.fill(f"compared by {words}", width, break_long_words=False), fontsize=size)


def _lost(names: list[str]) -> str:
    if not names:
        return ""
    words = ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} tasks"
    return f"no good rows, so 0 to all others: {words}"


def _numbers(ax: Axes, shown: Any, size: float) -> None:
    """Similarities to two decimals in their cells, where they fit."""
    if size < _NUMBER_SMALLEST:
        return
    for i, row in enumerate(shown.data):
        for j, s in enumerate(row):
            colour = GREY if i == j else ("0.1" if s > _BRIGHT else "white")
            text = "1" if i == j else f"{s:.2f}"
            ax.text(j, i, text, ha="center", va="center", fontsize=size, color=colour)
