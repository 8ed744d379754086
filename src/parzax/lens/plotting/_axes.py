"""Axes to draw on: new ones, panels, sizes in points; notes, maps with a colour bar, legends and keys."""

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

try:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import AnnotationBbox, DrawingArea, HPacker, TextArea, VPacker
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
except ModuleNotFoundError as error:
    message = f"parzax.lens.plotting needs {error.name}; install it with pip install 'parzax[plot]'."
    raise ModuleNotFoundError(message) from error

from parzax import _checks
from parzax.lens.results.phrases import number

Entry = tuple[Artist | None, str]
# Limits of decades of a log axis: below the first, labels are evenly spaced; below the second, they are at 1,
# 2 and 5; below the third, at 1 and 3.
_FEW_DECADES = (0.7, 1.3, 2.0)
_MOST_HEADROOM = 0.6  # a legend takes at most this share of the height of its Axes
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


def measure_text(ax: Axes, size: float, *texts: str) -> float:
    """Width of the widest of the ``texts`` in a font of ``size`` points, in points; 0 without any."""
    figure = get_figure(ax)
    drawn = (Text(text=text, fontsize=size, figure=figure) for text in texts)
    return max((text.get_window_extent().width for text in drawn), default=0.0) * 72 / figure.dpi


def wrap_text(ax: Axes, text: str, size: float) -> list[str]:
    """Split ``text`` between words into lines as wide as the Axes, but at least 20 characters wide."""
    # With a margin of 5 %, since some lines have wider characters than others.
    share = 0.95 * get_size(ax)[0] / max(measure_text(ax, size, text), 1.0)
    return textwrap.wrap(text, max(int(share * len(text)), 20), break_long_words=False)


def set_title(ax: Axes, text: str) -> None:
    """Write a title, in lines as wide as the Axes, with a font no larger than that of their labels."""
    size = get_font_size(ax, 1.0)
    ax.set_title("\n".join(wrap_text(ax, text, size)), fontsize=size)


def make_handle(**look: Any) -> Line2D:
    """Make a piece of a line, or a mark, for a legend or a key."""
    if "marker" in look:
        look["linestyle"] = "None"
    return Line2D([], [], **look)


def add_legend(ax: Axes, entries: Sequence[Entry], *, above: bool = False) -> None:
    """Add a legend in the upper right corner; with ``above`` the vertical axis grows to make room for it."""
    if not entries:
        return
    handles, texts = zip(*entries, strict=True)
    # Matplotlib would leave out names that begin with an underscore.
    texts = [f" {text}" if text.startswith("_") else text for text in texts]
    look: dict[str, Any] = {"fontsize": get_font_size(ax, 0.9), "framealpha": 0.85}
    legend = ax.legend(handles, texts, loc="upper right", **look)
    if above:
        box, frame = ax.get_window_extent(), legend.get_window_extent()
        share = min((box.y1 - frame.y0) / box.height, _MOST_HEADROOM)
        # The vertical axis becomes longer by the factor 1 / (1 - share).
        to_data = (ax.transScale + ax.transLimits).inverted()
        ax.set_ylim(ax.get_ylim()[0], to_data.transform((0.0, 1 / (1 - share)))[1])


def add_key(ax: Axes, entries: Sequence[Entry], *sentences: str) -> None:
    """Write a key (marks with words) and grey sentences below the label of the horizontal axis."""
    # A legend inside the Axes would hide data, and a legend above them would hide the title.
    size = get_font_size(ax, 0.85)
    room = max(get_size(ax)[0], 20 * size)
    lines = split_lines(entries, lambda text: measure_text(ax, size, text) + 2.6 * size, room)
    rows = [pack_line(line, size, 0.8 * size) for line in lines]
    sentence = ";  ".join(filter(None, sentences))
    rows += [
        TextArea(line, textprops={"fontsize": size, "color": GREY}) for line in wrap_text(ax, sentence, size)
    ]
    # The key follows the label wherever the layout puts it.
    place = {"xycoords": ("axes fraction", ax.xaxis.label), "annotation_clip": False}
    x, align = (0.5, "center") if entries else (0.0, "left")
    if rows:
        add_rows(ax, rows, (x, 0), (0, -3), box_alignment=(x, 1), align=align, **place)


def split_lines(entries: Sequence[Entry], measure: Callable[[str], float], room: float) -> list[list[Entry]]:
    """Break entries into lines, each with as many entries as fit into ``room``, but at least one.

    ``measure`` returns the width of an entry with given words.
    """
    lines, left = [], 0.0
    for mark, text in entries:
        width = measure(text)
        if not lines or width > left:
            lines.append([])
            left = room
        left -= width
        lines[-1].append((mark, text))
    return lines


def pack_line(entries: Sequence[Entry], size: float, gap: float) -> Artist:
    """Put marks (or pieces of lines), each followed by its words, into one row; ``size`` is in points."""
    parts: list[Artist] = []
    for mark, text in entries:
        parts.append(TextArea(text, textprops={"fontsize": size}))
        if isinstance(mark, Line2D):
            ends = [0, 2.4 * size] if mark.get_linestyle() != "None" else [0.6 * size]
            mark.set_data(ends, [0.4 * size] * len(ends))
            area = DrawingArea(2.4 * size if len(ends) > 1 else 1.2 * size, size)
            area.add_artist(mark)
            parts[-1] = HPacker(children=[area, parts[-1]], pad=0, sep=3, align="center")
    return HPacker(children=parts, pad=0, sep=gap, align="center")


def add_rows(ax: Axes, rows: list[Artist], xy: Any, offset: Any, *, align: Any, **place: Any) -> None:
    """Write rows below each other, ``offset`` points from ``xy``; ``place`` goes to `AnnotationBbox`."""
    box = VPacker(children=rows, pad=0, sep=2, align=align)
    ax.add_artist(AnnotationBbox(box, xy, offset, boxcoords="offset points", pad=0, frameon=False, **place))
