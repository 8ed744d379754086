"""Axes to draw on: new ones, panels, sizes in points; notes, maps with a colour bar, legends and keys."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import AnnotationBbox, DrawingArea, HPacker, TextArea, VPacker
except ModuleNotFoundError as error:
    message = f"parzax.plotting needs {error.name}; install it with pip install 'parzax[plot]'."
    raise ModuleNotFoundError(message) from error

from parzax import _checks

Entry = tuple[Artist | None, str]
_MOST_HEADROOM = 0.6  # no legend takes more of the height of its Axes
GREY = "0.45"  # grey of everything that is not data; readable on white and on black


def axes_or_new(ax: Any, width: float, height: float) -> Axes:
    """The given Axes, or those of a new figure of ``width`` x ``height`` inches."""
    if ax is None:
        # pyplot chooses the backend, so it loads only when a figure has to be made.
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    _checks.instance("ax", ax, Axes, "a matplotlib Axes or None")
    figure_of(ax)
    return ax


def panels(ax: Axes, names: Sequence[Sequence[str]], *, share: bool = False, **grid: Any) -> np.ndarray:
    """Divide a subplot, which becomes the first of them, into panels labelled ``names``."""
    place = ax.get_subplotspec()
    if place is None:
        raise ValueError("ax cannot be divided into panels: give a subplot, as from plt.subplots().")
    cells = place.subgridspec(len(names), len(names[0]), **grid)
    out: Any = np.empty((len(names), len(names[0])), dtype=object)
    for i, j in np.ndindex(out.shape):
        shared = {"sharex": out[0, j] if i else None, "sharey": out[i, 0] if j else None} if share else {}
        out[i, j] = ax.figure.add_subplot(cells[i, j], **shared) if i or j else ax
        out[i, j].set_label(names[i][j])
    ax.set_subplotspec(cells[0, 0])
    for panel in out.flat if share else ():
        panel.label_outer()
    return out


def figure_of(ax: Axes) -> Figure:
    """The figure that ``ax`` stands in, also within subfigures."""
    if ax.figure is None:
        raise ValueError("ax belongs to no figure (it was removed from its own).")
    return ax.figure.figure


def tidy(ax: Axes) -> None:
    """Leave only the left and the bottom spine, and put the grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)


def note(ax: Axes, text: str, x: float = 0.5, y: float = 0.6) -> None:
    """A grey sentence at (x, y) of the Axes: why there is nothing to see."""
    ax.text(x, y, text, transform=ax.transAxes, ha="center", va="center", color=GREY)


def draw_map(ax: Axes, edges: Sequence[np.ndarray], values: np.ndarray, bar: Any, **look: Any) -> None:
    """(rows, columns) ``values`` in colours between the ``edges`` of both axes; ``bar`` of `colour_bar`."""
    colour_bar(ax, ax.pcolormesh(*edges, values, rasterized=True, **look), **bar)


def colour_bar(ax: Axes, mappable: Any, **bar: Any) -> Axes:
    """The Axes of a thin bar to the right of ``ax``; ``bar`` as of `Figure.colorbar`."""
    return figure_of(ax).colorbar(mappable, ax=ax, fraction=0.05, pad=0.02, **bar).ax


def ribbon(ax: Axes, at: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    """The band between two lines, where there are any."""
    if np.isfinite(low).any():
        ax.fill_between(at, low, high, color=colour, alpha=0.22, linewidth=0)


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the Axes in points, as the layout stands now."""
    box, dpi = ax.get_window_extent(), figure_of(ax).dpi
    return box.width * 72 / dpi, box.height * 72 / dpi


def font_points(ax: Axes, share: float) -> float:
    """``share`` of the size of the Axes' own labels, in points."""
    return float(ax.xaxis.label.get_fontsize()) * share


def text_width(ax: Axes, text: str, fontsize: float) -> float:
    """Width of ``text`` in points."""
    probe = ax.text(0, 0, text, fontsize=fontsize)
    width = probe.get_window_extent().width
    probe.remove()
    return width * 72 / figure_of(ax).dpi


def wrapped(ax: Axes, text: str, fontsize: float) -> list[str]:
    """Lines of ``text`` about as wide as the Axes, or 20 characters if those are narrower; whole words."""
    # Some lines have wider characters than others.
    shown = 0.95 * size_in_points(ax)[0] / max(text_width(ax, text, fontsize), 1.0)
    return textwrap.wrap(text, max(int(shown * len(text)), 20), break_long_words=False)


def set_title(ax: Axes, text: str) -> None:
    """A title of whole words in lines as wide as the Axes, no larger than their labels."""
    size = font_points(ax, 1.0)
    ax.set_title("\n".join(wrapped(ax, text, size)), fontsize=size)


def legend(ax: Axes, entries: Sequence[Entry], *, above: bool = False) -> None:
    """A legend of handles and words in the upper right corner, on request above all data, on any scale."""
    if not entries:
        return
    handles, texts = zip(*entries, strict=True)
    # Matplotlib would leave out names that begin with an underscore.
    texts = [f" {text}" if text.startswith("_") else text for text in texts]
    found = ax.legend(handles, texts, loc="upper right", fontsize=font_points(ax, 0.9), framealpha=0.85)
    if above:
        box, frame = ax.get_window_extent(), found.get_window_extent()
        share = min((box.y1 - frame.y0) / box.height, _MOST_HEADROOM)
        # The vertical axis ends where 1 / (1 - share) of its height would.
        to_data = (ax.transScale + ax.transLimits).inverted()
        ax.set_ylim(ax.get_ylim()[0], to_data.transform((0.0, 1 / (1 - share)))[1])


def key_below(ax: Axes, entries: Sequence[Entry], sentence: str = "") -> None:
    """Marks with their words, and a sentence in grey, below the label of the horizontal axis."""
    # A legend within full Axes would hide data, one above them a title.
    size = font_points(ax, 0.85)
    widths = [text_width(ax, text, size) + 2.6 * size for _, text in entries]
    lines = in_lines(entries, widths, max(size_in_points(ax)[0], 20 * size))
    rows = [key_line(line, size, 0.8 * size) for line in lines]
    grey = {"fontsize": size, "color": GREY}
    rows += [TextArea(line, textprops=grey) for line in wrapped(ax, sentence, size)]
    # Wherever the layout puts the label.
    below = {"xycoords": ("axes fraction", ax.xaxis.label), "annotation_clip": False}
    x, align = (0.5, "center") if entries else (0.0, "left")
    write_rows(ax, rows, (x, 0), (0, -3), box_alignment=(x, 1), align=align, **below)


def in_lines(entries: Sequence[Entry], widths: Sequence[float], room: float) -> list[list[Entry]]:
    """Entries line by line, as many in each as there is room for, but at least one."""
    lines, left = [], 0.0
    for entry, width in zip(entries, widths, strict=True):
        if not lines or width > left:
            lines.append([])
            left = room
        left -= width
        lines[-1].append(entry)
    return lines


def key_line(entries: Sequence[Entry], size: float, gap: float) -> Artist:
    """Marks, or pieces of lines, each with its words to the right of it, in a font of ``size`` points."""
    parts: list[Artist] = []
    for mark, text in entries:
        parts.append(TextArea(text, textprops={"fontsize": size}))
        if isinstance(mark, Line2D):
            ends = [0, 2.4 * size] if mark.get_linestyle() != "None" else [0.6 * size]
            mark.set_data(ends, [0.4 * size] * len(ends))
            sign = DrawingArea(2.4 * size if len(ends) > 1 else 1.2 * size, size)
            sign.add_artist(mark)
            parts[-1] = HPacker(children=[sign, parts[-1]], pad=0, sep=3, align="center")
    return HPacker(children=parts, pad=0, sep=gap, align="center")


def write_rows(ax: Axes, rows: Sequence[Artist], at: Any, offset: Any, *, align: Any, **place: Any) -> None:
    """Rows below each other, ``offset`` points from ``at``; ``place`` as of `AnnotationBbox`."""
    if rows:
        box, place = VPacker(children=list(rows), pad=0, sep=2, align=align), place | {"frameon": False}
        ax.add_artist(AnnotationBbox(box, at, offset, boxcoords="offset points", pad=0, **place))
