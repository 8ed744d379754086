"""What is written and drawn on Axes, for tests to compare."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.offsetbox import TextArea
from matplotlib.text import Text


def written(ax: Axes) -> str:
    """Everything that is written on the Axes and about them, on one line."""
    return " ".join(" ".join(text.get_text() for text in ax.findobj(Text)).split())


def below(ax: Axes) -> list[str]:
    """Words of the key below the Axes: the sentence, on one line, then those beside the marks."""
    keys = [own for own in legends(ax) if own._get_loc() == Legend.codes["upper center"]]
    areas = [area for own in keys for area in own.findobj(TextArea)]
    words = [" ".join(area.get_text().split()) for area in areas]
    return [text for text in words if text]


def names_of_lines(ax: Axes) -> list[str]:
    """Names to the right of the Axes, from the top down."""
    return [text.get_text() for text in legends(ax)[0].get_texts()]


def coloured(ax: Axes) -> list[Line2D]:
    """The lines with a name; pieces that are not above chance have none, and follow their line."""
    return [line for line in ax.lines if not line.get_label().startswith("_")]


def heights(ax: Axes, line: Line2D) -> np.ndarray:
    """Heights of a line, also where it is grey."""
    following = ax.lines[list(ax.lines).index(line) + 1 :][:1]
    grey = [after for after in following if after not in coloured(ax)]
    return np.asarray((grey or [line])[0].get_ydata())


def in_legend(ax: Axes) -> list[str]:
    """Words of the legend."""
    return [text.get_text() for text in legend(ax).get_texts()] if legends(ax) else []


def legends(ax: Axes) -> list[Legend]:
    """The names of lines beside the Axes, and the key below them."""
    return ax.findobj(Legend)


def legend(ax: Axes) -> Legend:
    """The legend of the Axes."""
    (only,) = legends(ax)
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
