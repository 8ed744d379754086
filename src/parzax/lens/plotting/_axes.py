"""Axes to draw on: new ones, panels, sizes in points; notes, maps with a colour bar, legends and keys."""

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
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
    from matplotlib.transforms import ScaledTranslation
except ModuleNotFoundError as error:
    message = f"parzax.lens.plotting needs {error.name}; install it with pip install 'parzax[plot]'."
    raise ModuleNotFoundError(message) from error

from parzax import _checks
from parzax.lens.results.phrases import number

Entry = tuple[Artist | None, str]
# A line: its heights (NaN is a gap), its name and the colour of the name.
NamedLine = tuple[np.ndarray, str, Any]
# Limits of decades of a log axis: below the first, labels are evenly spaced; below the second, they are at 1,
# 2 and 5; below the third, at 1 and 3.
_FEW_DECADES = (0.7, 1.3, 2.0)
GREY = "0.45"  # grey of everything that is not data; readable on white and on black


def get_axes(ax: Any, width: float, height: float) -> Axes:
    """The given Axes, or those of a new figure of ``width`` x ``height`` inches."""
    if ax is None:
        # pyplot chooses the backend, so it loads only when a figure has to be made.
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    _checks.instance("ax", ax, Axes, "a matplotlib Axes or None")
    get_figure(ax)
    return ax


def split_axes(ax: Axes, names: Sequence[Sequence[str]], *, share: bool = False, **grid: Any) -> np.ndarray:
    """Divide a subplot into panels labelled ``names``; ``ax`` becomes the first panel."""
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError("ax cannot be divided into panels: give a subplot, as from plt.subplots().")
    cells = place.subgridspec(len(names), len(names[0]), **grid)
    panels: Any = np.empty((len(names), len(names[0])), dtype=object)
    for i, j in np.ndindex(panels.shape):
        shared = {"sharex": panels[0, j], "sharey": panels[i, 0]} if share else {}
        panels[i, j] = ax.figure.add_subplot(cells[i, j], **shared) if i or j else ax
        panels[i, j].set_label(names[i][j])
    ax.set_subplotspec(cells[0, 0])
    for panel in panels.flat if share else ():
        panel.label_outer()
    return panels


def get_figure(ax: Axes) -> Figure:
    """The figure of ``ax``, also if ``ax`` is in a subfigure."""
    if ax.figure is None:
        raise ValueError("ax belongs to no figure (it was removed from its own).")
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


def tidy(ax: Axes) -> None:
    """Leave only the left and the bottom spine, and put the grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)


def write_note(ax: Axes, text: str, x: float = 0.5, y: float = 0.6) -> None:
    """Write a grey sentence at (x, y) of the Axes that says why nothing is drawn."""
    ax.text(x, y, text, transform=ax.transAxes, ha="center", va="center", color=GREY)


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


def get_font_size(ax: Axes, share: float) -> float:
    """``share`` of the font size of the Axes' labels, in points."""
    return float(ax.xaxis.label.get_fontsize()) * share


def wrap_text(ax: Axes, text: str, size: float) -> str:
    """Break ``text`` between words into lines as wide as the Axes, but at least 20 characters wide."""
    width = Text(text=text, fontsize=size, figure=get_figure(ax)).get_window_extent().width
    # With a margin of 5 %, since some lines have wider characters than others.
    n_characters = int(0.95 * ax.get_window_extent().width / max(width, 1.0) * len(text))
    return textwrap.fill(text, max(n_characters, 20), break_long_words=False)


def set_title(ax: Axes, text: str) -> None:
    """Write a title, in lines as wide as the Axes, with a font no larger than that of their labels."""
    size = get_font_size(ax, 1.0)
    ax.set_title(wrap_text(ax, text, size), fontsize=size)


def make_handle(**look: Any) -> Line2D:
    """Make a piece of a line, or a mark, for a legend or a key."""
    if "marker" in look:
        look["linestyle"] = "None"
    return Line2D([], [], **look)


def add_legend(ax: Axes, entries: Sequence[Entry], **look: Any) -> Legend:
    """Add a legend, by default in the upper right corner; ``look`` has options of `Legend`.

    An entry whose mark is None has its words alone.
    """
    marks = [make_handle(linestyle="None") if mark is None else mark for mark, _ in entries]
    look = {"loc": "upper right", "fontsize": get_font_size(ax, 0.9), "framealpha": 0.85} | look
    legend = Legend(ax, marks, [text for _, text in entries], **look)
    ax.add_artist(legend).set_clip_on(False)  # it counts in the layout, also outside of the Axes
    return legend


def add_key(ax: Axes, entries: Sequence[Entry], *sentences: str) -> None:
    """Write a key below the label of the horizontal axis: grey sentences, then marks with words."""
    # A legend inside the Axes would hide data, and a legend above them would hide the title.
    if not entries and not any(sentences):
        return
    figure, size = get_figure(ax), get_font_size(ax, 0.85)
    figure.draw_without_rendering()  # the place of the label is known only after a layout
    gap = ax.xaxis.label.get_window_extent().y0 - ax.get_window_extent().y0 - 0.3 * size
    shift = ScaledTranslation(0, gap / figure.dpi, figure.dpi_scale_trans)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "bbox_transform": ax.transAxes + shift}
    look = place | {"fontsize": size, "frameon": False, "borderpad": 0, "borderaxespad": 0}
    look |= {"handletextpad": 0.5, "columnspacing": 1.2}
    title = wrap_text(ax, ";  ".join(filter(None, sentences)), size)
    for n_columns in range(max(len(entries), 1), 0, -1):
        legend = add_legend(ax, entries, ncols=n_columns, title=title, title_fontsize=size, **look)
        legend.get_title().set_color(GREY)
        if n_columns == 1 or legend.get_window_extent().width <= ax.get_window_extent().width:
            return
        legend.remove()


def name_lines(ax: Axes, x: np.ndarray, lines: Sequence[NamedLine]) -> None:
    """Write the names of lines over ``x`` in a column right of the Axes, in the order of the lines' ends.

    Strokes join the names to the ends; a line without any point ends at 0.
    """
    lasts = [np.flatnonzero(np.isfinite(heights))[-1:] for heights, *_ in lines]
    ends = [
        (x[i[0]], line[0][i[0]]) if len(i) else (x[-1], 0.0) for i, line in zip(lasts, lines, strict=True)
    ]
    get_figure(ax).draw_without_rendering()  # the height of the Axes is known only after a layout
    (low, high), size = ax.get_ylim(), get_font_size(ax, 0.95)
    # Names keep a distance: they move up from below, and down from the upper end of the Axes.
    gaps = 1.15 * size / get_size(ax)[1] * (high - low) * np.arange(len(lines))
    order = sorted(range(len(lines)), key=lambda i: ends[i][1])
    places = np.maximum.accumulate([ends[i][1] - gap for i, gap in zip(order, gaps, strict=True)]) + gaps
    places = np.minimum(places, high - gaps[::-1])
    for i, height in zip(order, places, strict=True):
        _, name, colour = lines[i]
        stroke = {"arrowstyle": "-", "linewidth": 0.7, "color": colour, "shrinkA": 1, "shrinkB": 2}
        look = {
            "color": colour,
            "fontsize": size,
            "va": "center",
            "arrowprops": stroke | {"relpos": (0, 0.5)},
        }
        place = {"textcoords": ax.get_yaxis_transform(), "annotation_clip": False}
        ax.annotate(name, ends[i], (1.04, height), **place, **look)
