"""Axes to draw on: new ones, panels, scales; notes, maps with a colour bar, ribbons, legends."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
    from matplotlib.transforms import ScaledTranslation
except ModuleNotFoundError as error:
    message = f"parzax.lens.plotting needs {error.name}; install it with pip install 'parzax[plot]'."
    raise ModuleNotFoundError(message) from error

from parzax import _checks
from parzax.lens.results.texts import number

# Limits of decades of a log axis: below the first, labels are evenly spaced; below the second, they are at 1,
# 2 and 5; below the third, at 1 and 3.
_FEW_DECADES = (0.7, 1.3, 2.0)
GREY = "0.45"  # grey of everything that is not data; readable on white and on black
CHARACTER = 4.7  # usual width of a character in points, in a small font


def get_axes(ax: Any, width: float, height: float) -> Axes:
    """The given Axes, or those of a new figure of ``width`` x ``height`` inches, without a frame."""
    if ax is None:
        # pyplot chooses the backend, so it loads only when a figure has to be made.
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(width, height), layout="constrained")[1]
    _checks.instance("ax", ax, Axes, "a matplotlib Axes or None")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def split_axes(ax: Axes, names: Sequence[Sequence[str]]) -> np.ndarray:
    """Divide a subplot into one or two rows of panels labelled ``names``; ``ax`` is the first.

    Panels of a row share their vertical axis, panels of a column their horizontal one.
    """
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError("ax cannot be divided into panels: give a subplot, as from plt.subplots().")
    cells = place.subgridspec(len(names), len(names[0]), height_ratios=[3, 2][: len(names)])
    panels: Any = np.empty((len(names), len(names[0])), dtype=object)
    for i, j in np.ndindex(panels.shape):
        shared = {"sharex": panels[0, j], "sharey": panels[i, 0]}
        panels[i, j] = ax.figure.add_subplot(cells[i, j], **shared) if i or j else ax
        get_axes(panels[i, j], 0, 0).set_label(names[i][j])
    ax.set_subplotspec(cells[0, 0])
    return panels


def get_figure(ax: Axes) -> Figure:
    """The figure of ``ax``, also if ``ax`` is in a subfigure."""
    return ax.figure.figure


def set_log_scale(which: XAxis | YAxis, low: float, high: float) -> None:
    """Make an axis logarithmic, for values from ``low`` to ``high``, with two to six labels.

    Two decades or more have labels at powers of ten; fewer decades have labels in between.
    """
    which.axes.set(**{f"{which.axis_name}scale": "log"})
    # Matplotlib's labels between powers of ten overlap.
    which.set_minor_formatter(NullFormatter())
    decades = np.log10(high) - np.log10(low)
    if decades < _FEW_DECADES[0]:
        which.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        which.set_major_formatter(ScalarFormatter())
    elif decades < _FEW_DECADES[2]:
        which.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < _FEW_DECADES[1] else (1, 3)))
        which.set_major_formatter(FuncFormatter(lambda x, _: number(x)))


def write_note(ax: Axes, text: str, y: float = 0.6) -> None:
    """Write a grey sentence in the middle of the Axes, at height ``y``, that says why nothing is drawn."""
    ax.text(0.5, y, text, transform=ax.transAxes, ha="center", va="center", color=GREY)


def draw_map(ax: Axes, edges: Sequence[np.ndarray], values: np.ndarray, bar: Any, **look: Any) -> None:
    """Colour (rows, columns) ``values`` between the ``edges`` of the axes; ``bar`` as in `add_colour_bar`."""
    add_colour_bar(ax, ax.pcolormesh(*edges, values, rasterized=True, **look), **bar)


def add_colour_bar(ax: Axes, mappable: Any, **bar: Any) -> Axes:
    """Add a thin colour bar to the right of ``ax``; ``bar`` has options of `Figure.colorbar`."""
    return get_figure(ax).colorbar(mappable, ax=ax, fraction=0.05, pad=0.02, **bar).ax


def draw_ribbon(ax: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    """Draw the band between two lines where both are finite."""
    if np.isfinite(low).any():
        ax.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0)


def draw_whiskers(ax: Axes, x: Any, y: Any, **errors: Any) -> None:
    """Draw whiskers at the ends of bars if errors are finite; ``errors`` is ``xerr`` or ``yerr``."""
    if np.isfinite([*errors.values()]).any():
        ax.errorbar(x, y, fmt="none", ecolor="0.25", elinewidth=1, capsize=2, **errors)


def get_size(ax: Axes) -> np.ndarray:
    """Width and height of the Axes in points, in the present layout."""
    box, dpi = ax.get_window_extent(), get_figure(ax).dpi
    return np.array([box.width, box.height]) * 72 / dpi


def wrap_text(ax: Axes, text: str) -> str:
    """Break ``text`` between words into lines about as wide as the Axes, in a small font."""
    return textwrap.fill(text, max(int(get_size(ax)[0] / CHARACTER), 20), break_long_words=False)


def make_handle(**look: Any) -> Line2D:
    """Make a piece of a line, or a mark, for a key."""
    if "marker" in look:
        look["linestyle"] = "None"
    return Line2D([], [], **look)


def add_legend(ax: Axes, handles: Sequence[Artist], **look: Any) -> Legend:
    """Write the labels of ``handles`` beside the Axes; there may be several legends."""
    words = [str(handle.get_label()) for handle in handles]
    legend = Legend(ax, handles, words, frameon=False, borderaxespad=0.2, **look)
    ax.add_artist(legend).set_clip_on(False)  # it counts in the layout, also outside of the Axes
    return legend


def add_key(ax: Axes, handles: Sequence[Artist], *sentences: str) -> None:
    """Write a key below the label of the horizontal axis: grey sentences, then marks with their labels.

    It is the last to be written, since its place depends on the labels.
    """
    # A legend inside the Axes would hide data, and a legend above them would hide the title.
    if not handles and not any(sentences):
        return
    figure = get_figure(ax)
    figure.draw_without_rendering()  # the place of the label is known only after a layout
    gap = ax.xaxis.label.get_window_extent().y0 - ax.get_window_extent().y0
    shift = ScaledTranslation(0, gap / figure.dpi, figure.dpi_scale_trans)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": ax.transAxes + shift}
    look = {"fontsize": "small", "title_fontsize": "small", "handletextpad": 0.5, "columnspacing": 1.2}
    # A mark is as wide as six characters.
    n_characters = sum(len(str(handle.get_label())) + 6 for handle in handles)
    n_rows = max(math.ceil(n_characters * CHARACTER / get_size(ax)[0]), 1)
    n_columns = max(math.ceil(len(handles) / n_rows), 1)
    title = wrap_text(ax, ";  ".join(filter(None, sentences)))
    legend = add_legend(ax, handles, title=title, ncols=n_columns, **place, **look)
    legend.get_title().set_color(GREY)
