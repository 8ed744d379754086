"""Matplotlib, or an error that says how to get it; the few things all pictures share."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from parzax.importance.labels import shorten as shorten

try:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.offsetbox import AnnotationBbox, DrawingArea, HPacker, TextArea, VPacker
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"parzax.plotting needs {error.name}; install it with pip install 'parzax[plot]'."
    ) from error

# Grey of everything that is not data; readable on white and on black.
GREY = "0.45"
# Points between a mark and its words.
_SEPARATION = 3.0


def axes_or_new(ax: Any, width: float, height: float) -> Axes:
    """The given Axes, or those of a new figure of ``width`` x ``height`` inches."""
    if ax is None:
        # pyplot chooses the backend, so it loads only when a figure has to be made.
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be a matplotlib Axes or None, got {type(ax).__name__}.")
    return ax


def figure_of(ax: Axes) -> Figure:
    """The figure that ``ax`` stands in, also within a subfigure."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("ax belongs to no figure (it was removed from its own).")
    return figure


def tidy(ax: Axes) -> None:
    """Leave only the left and the bottom spine, and put the grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the Axes in points, as the layout stands now."""
    box, dpi = ax.get_window_extent(), figure_of(ax).dpi
    return box.width * 72 / dpi, box.height * 72 / dpi


def text_width(ax: Axes, text: str, fontsize: float) -> float:
    """Width of ``text`` in points."""
    probe = ax.text(0, 0, text, fontsize=fontsize)
    width = probe.get_window_extent().width
    probe.remove()
    return width * 72 / figure_of(ax).dpi


def font_points(ax: Axes, share: float) -> float:
    """``share`` of the size of the Axes' own labels, in points."""
    return float(ax.xaxis.label.get_fontsize()) * share


def spread(wanted: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Positions at least ``gap`` apart within [low, high], as near to ``wanted`` as can be.

    Least squares under the order of ``wanted``: an isotonic regression (pool adjacent violators). Where
    there is no room, the gap shrinks to what fits.
    """
    n = len(wanted)
    if n == 0:
        return wanted
    gap = min(gap, (high - low) / max(n - 1, 1))
    order = np.argsort(wanted, kind="stable")
    blocks: list[list[float]] = []  # mean, size
    for i, y in enumerate(wanted[order]):
        blocks.append([y - i * gap, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, size = blocks.pop()
            other, other_size = blocks[-1]
            blocks[-1] = [(mean * size + other * other_size) / (size + other_size), size + other_size]
    level = np.concatenate([np.full(int(size), mean) for mean, size in blocks])
    out = np.empty(n)
    out[order] = np.clip(level, low, high - (n - 1) * gap) + gap * np.arange(n)
    return out


def headroom_for(ax: Axes, legend: Any) -> None:
    """Raise the upper end of the vertical axis, so that a legend at the top stands above all data.

    Args:
        ax: whose limits are those of the data.
        legend: at the top of ``ax``, or None. With limits reached by a scale of its own (log) as with any.
    """
    if legend is None:
        return
    box, frame = ax.get_window_extent(), legend.get_window_extent()
    share = min((box.y1 - frame.y0) / box.height, 0.6)
    transform = ax.transScale + ax.transLimits
    low = ax.get_ylim()[0]
    # Where 1 / (1 - share) of the present height ends.
    top = transform.inverted().transform((0.0, 1 / (1 - share)))[1]
    ax.set_ylim(low, top)


def key_below(ax: Axes, entries: Sequence[tuple[Line2D, str]], sentence: str = "") -> None:
    """Marks with their words, and a sentence, centred below the label of the horizontal axis.

    For pictures that fill their Axes: a legend within them would hide data, one above them a title.
    """
    size = font_points(ax, 0.85)
    width = max(size_in_points(ax)[0], 20 * size)
    gap = 0.8 * size
    lines: list[list[Artist]] = []
    room = 0.0
    for mark, text in entries:
        line = mark.get_linestyle() != "None"
        sign = DrawingArea((2.4 if line else 1.2) * size, size)
        needed = text_width(ax, text, size) + sign.width + _SEPARATION + gap
        if not lines or needed > room:
            lines.append([])
            room = width + gap
        room -= needed
        x = [0, 2.4 * size] if line else [0.6 * size]
        mark.set_data(x, [0.4 * size] * len(x))
        sign.add_artist(mark)
        words = TextArea(text, textprops={"fontsize": size})
        lines[-1].append(HPacker(children=[sign, words], pad=0, sep=_SEPARATION, align="center"))
    rows: list[Artist] = [HPacker(children=line, pad=0, sep=gap, align="center") for line in lines]
    for text in textwrap.wrap(sentence, max(int(width / (0.52 * size)), 20), break_long_words=False):
        rows.append(TextArea(text, textprops={"fontsize": size, "color": GREY}))
    if not rows:
        return
    box = VPacker(children=rows, pad=0, sep=2.5, align="center")
    # Below the label of the axis, wherever the layout puts that.
    ax.add_artist(
        AnnotationBbox(
            box,
            (0.5, 0),
            (0, -3),
            xycoords=("axes fraction", ax.xaxis.label),
            boxcoords="offset points",
            box_alignment=(0.5, 1),
            frameon=False,
            pad=0,
            annotation_clip=False,
        )
    )


def plain(text: str) -> str:
    """``text`` to be drawn as it is: Matplotlib would read two dollar signs as a formula."""
    return text.replace("$", r"\$")


def note(ax: Axes, text: str, x: float = 0.5, y: float = 0.6) -> None:
    """A grey sentence at (x, y) of the Axes: why there is nothing to see."""
    ax.text(x, y, text, transform=ax.transAxes, ha="center", va="center", color=GREY)
