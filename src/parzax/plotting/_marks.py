"""Rows as marks in two parameters: circles, crosses where a constraint is violated, a star for the best."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D

from parzax.plotting._matplotlib import plain
from parzax.plotting._parameter_axis import ParameterAxis
from parzax.plotting._runs import Rows
from parzax.space import Space

Entry = tuple[Line2D, str]
# Kinds of rows: marker, area in square points, words.
_FEASIBLE = ("o", 26.0)
_VIOLATING = ("X", 30.0)
_PENDING = ("s", 20.0)
_BEST = ("*", 170.0)


def draw_rows(
    ax: Axes,
    axes: Sequence[ParameterAxis],
    rows: Rows,
    columns: tuple[int, int],
    colours: Any,
    *,
    best_colour: str | None = None,
    **look: Any,
) -> tuple[PathCollection | None, list[Entry], np.ndarray]:
    """Draw the rows that have both parameters, the best feasible one on top.

    Args:
        ax: where.
        axes: of the two parameters.
        rows: of one run.
        columns: of the two parameters.
        colours: one colour, or one number per row.
        best_colour: of the star; as the other rows if None.
        **look: of `Axes.scatter`, such as norm and map of the colours.

    Returns:
        The last marks with numbers for colours (for a colour bar), entries for a key, and the mask of the
        rows that were drawn.
    """
    places = np.stack([axis.place(rows.x[:, j]) for axis, j in zip(axes, columns, strict=True)], axis=-1)
    # Discrete values of several rows would hide each other; a fixed spread shows how many there are.
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, places.shape)
    places = places + shift * [axis.discrete for axis in axes]
    present = np.asarray(~np.isnan(places).any(axis=-1))
    best = np.zeros(len(present), bool)
    if rows.best is not None:
        best[rows.best] = True
    constrained = rows.constraints.shape[-1] > 0
    kinds = [
        (_PENDING, ~rows.told, "pending or failed"),
        (_VIOLATING, rows.told & ~rows.satisfied, "violates a constraint"),
        (_FEASIBLE, rows.told & rows.satisfied & ~best, "feasible" if constrained else "evaluated"),
        (_BEST, best, "best feasible" if constrained else "best"),
    ]
    entries, last = [], None
    for (marker, area), chosen, words in kinds:
        mask = chosen & present
        if not mask.any():
            continue
        numbered = not isinstance(colours, str)
        own = colours[mask] if numbered else colours
        if marker == "*" and best_colour is not None:
            own, numbered = best_colour, False
        style = look if numbered else {}
        marks = ax.scatter(
            *places[mask].T, s=area, c=own, marker=marker, edgecolors="0.1", linewidths=0.6, zorder=3, **style
        )
        last = marks if numbered else last
        face = "0.75" if numbered else own
        entries.append((_sign(marker, face, area), words))
    return last, entries, present


def left_out(space: Space, names: Sequence[str], rows: Rows, present: np.ndarray) -> str:
    """A sentence about rows that lack one of the parameters; "" if there are none."""
    n = int((~present).sum())
    lacking = [name for name in names if np.isnan(rows.x[:, space.index(name)]).any()]
    rows_text = "1 row" if n == 1 else f"{n} rows"
    return f"{rows_text} without {plain(' or '.join(lacking))} left out" if n else ""


def _sign(marker: str, face: str, area: float) -> Line2D:
    size = min(area**0.5, 9.0)
    return Line2D(
        [], [], marker=marker, markersize=size, markerfacecolor=face, markeredgecolor="0.1",
        markeredgewidth=0.6, linestyle="None",
    )  # fmt: skip
