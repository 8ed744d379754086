"""What is written and drawn on Axes, for tests to compare."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.legend import Legend
from matplotlib.offsetbox import TextArea
from matplotlib.text import Text


def written(ax: Axes) -> str:
    """Everything that is written on the Axes and about them, on one line."""
    return " ".join(" ".join(text.get_text() for text in ax.findobj(Text)).split())


def below(ax: Axes) -> list[str]:
    """Words of the key below the Axes: the sentence, on one line, then those beside the marks."""
    words = [" ".join(area.get_text().split()) for area in ax.findobj(TextArea)]
    return [text for text in words if text]


def in_legend(ax: Axes) -> list[str]:
    """Words of the legend."""
    return [text.get_text() for text in legend(ax).get_texts()] if ax.findobj(Legend) else []


def legend(ax: Axes) -> Legend:
    """The legend of the Axes."""
    (only,) = ax.findobj(Legend)
    return only


def ribbons(ax: Axes) -> list[PolyCollection]:
    """Filled areas between two lines, without those down to the axis."""
    found = [area for area in ax.collections if isinstance(area, PolyCollection)]
    return [area for area in found if area.get_label() != "_area"]


def panel(ax: Axes, label: str) -> Axes:
    """Another panel of the picture."""
    (found,) = (own for own in ax.figure.axes if own.get_label() == label)
    return found


def places(ax: Axes) -> np.ndarray:
    """(n, 2) of all marks."""
    return np.concatenate([np.asarray(marks.get_offsets()) for marks in ax.collections])
