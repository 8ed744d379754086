"""A map with a cell per pair: names on both axes, and numbers in the cells, as large as there is room."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from parzax.plotting import _axes

CELL_GREY = "0.87"  # of cells whose value says nothing
_MOST_NAMES = 50
_SMALLEST_NAME, _SMALLEST_NUMBER = 6.0, 4.0  # points: below them names are thinned out, numbers left out
_BRIGHT = 0.6  # cells above this share of the range are bright, so their numbers are dark


def new_axes(ax: Axes | None, cells: float, names: Sequence[str], title: float = 0.0) -> Axes:
    """Axes with ``cells`` inches for all cells, and room for their names, a colour bar and a title."""
    side = cells + max(0.06 * max(map(len, names)) - 0.5, 0.0)
    return _axes.axes_or_new(ax, side + 1.0, side + title)


def draw_cells(ax: Axes, values: np.ma.MaskedArray, top: float, label: str, masked: str = "none") -> None:
    """(n, n) values from 0 to ``top`` in colours, masked ones in the colour ``masked``; without a frame."""
    edges = np.arange(len(values) + 1) - 0.5
    look = {"cmap": mpl.colormaps["viridis"].with_extremes(bad=masked), "vmin": 0, "vmax": top}
    _axes.draw_map(ax, [edges, edges], values, {"label": label}, **look)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def number_colour(share: float) -> str:
    """Colour of the number in a cell at ``share`` of the range of colours."""
    return "0.1" if share > _BRIGHT else "white"


def write_labels(
    ax: Axes,
    columns: Sequence[str],
    rows: Mapping[int, str],
    numbers: Mapping[tuple[int, int], tuple[str, str]],
    sizes: tuple[float, float, float],
    room: float = 1.0,
) -> None:
    """Names of the columns 0, 1, ... and of ``rows``, and numbers (text, colour) by row and column.

    ``sizes`` are the largest fonts: of names as a share of the shorter side of a cell, of numbers as shares
    of its width and its height. ``room`` is the share of a cell that other Axes are taken to leave.
    """
    n = max(len(columns), 1)
    _write_names(ax, columns, rows, sizes[0], np.array(_axes.size_in_points(ax)) / n)
    # The room depends on the layout, which names and neighbours may still change.
    _axes.figure_of(ax).draw_without_rendering()
    cell = np.array(_axes.size_in_points(ax)) / n * room
    _write_names(ax, columns, rows, sizes[0], cell)
    size = min(sizes[1] * cell[0], sizes[2] * cell[1], _axes.font_points(ax, 0.9))
    for (i, j), (text, colour) in numbers.items() if size >= _SMALLEST_NUMBER else ():
        ax.text(j, i, text, ha="center", va="center", fontsize=size, color=colour)


def _write_names(
    ax: Axes, columns: Sequence[str], rows: Mapping[int, str], share: float, cell: np.ndarray
) -> None:
    """As large as a cell (in points) allows; upright where they are too wide for their column."""
    shorter = float(cell.min())
    size = float(np.clip(share * shorter, _SMALLEST_NAME, _axes.font_points(ax, 1.0)))
    every = max(int(np.ceil(1.15 * size / shorter)), -(-len(rows) // _MOST_NAMES))
    names = columns[::every]
    widest = max((_axes.text_width(ax, name, size) for name in names), default=0.0)
    rotation = 90 if widest > 0.9 * cell[0] * every else 0
    ax.set_xticks(range(0, len(columns), every), names, fontsize=size, rotation=rotation)
    ax.set_yticks(list(rows)[::every], list(rows.values())[::every], fontsize=size)
