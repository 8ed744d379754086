"""Matplotlib, or an error that says how to get it; the few things all pictures share."""

from typing import Any

import numpy as np

from parzax.importance.labels import shorten as shorten

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"parzax.plotting needs {error.name}; install it with pip install 'parzax[plot]'."
    ) from error

# Grey of everything that is not data; readable on white and on black.
GREY = "0.45"


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


def plain(text: str) -> str:
    """``text`` to be drawn as it is: Matplotlib would read two dollar signs as a formula."""
    return text.replace("$", r"\$")


def note(ax: Axes, text: str, x: float = 0.5, y: float = 0.6) -> None:
    """A grey sentence at (x, y) of the Axes: why there is nothing to see."""
    ax.text(x, y, text, transform=ax.transAxes, ha="center", va="center", color=GREY)
