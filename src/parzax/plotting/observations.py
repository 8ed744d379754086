"""Observations of one run in two parameters, coloured by order."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from parzax.plotting._marks import draw_rows, left_out
from parzax.plotting._matplotlib import axes_or_new, figure_of, key_below, note
from parzax.plotting._parameter_axis import ParameterAxis, label_axes, parameter_axis, two_parameters
from parzax.plotting._runs import rows_of, space_of
from parzax.samplers import State, Trace

# Cells of a continuous axis: here only its ends count. More values than this do not stand side by side.
_SIZE, _MOST_DISCRETE = 2, 64
# Share of the axis around its bounds.
_MARGIN = 0.03


def observations(
    rows: State | Trace,
    space: Any,
    x: str | None = None,
    y: str | None = None,
    *,
    run: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The rows of one run in two of its parameters: the colour is the order, the mark the feasibility.

    Rows that violate a constraint (or whose constraint is NaN) are crosses, those without a loss squares, all
    others circles; the best feasible one is a star. Values of discrete parameters are spread a little, so
    that equal rows can be counted. Rows that lack one of the parameters are left out, and counted below.

    Args:
        rows: a sampler's state, or a trace.
        space: the search space, or a sampler or problem that has it.
        x, y: names of two parameters; by default the first ones of the space.
        run: which run, of a trace with several.
        ax: where to draw; a new figure by default.

    Returns:
        The Axes. Without rows a sentence says so.

    Raises:
        TypeError: arguments of another kind.
        ValueError: an unknown parameter, a space of one parameter or of another size than the rows, a run
            that is not there.
    """
    space = space_of(space)
    names = two_parameters(space, x, y)
    own = rows_of(rows, run)
    if own.x.shape[-1] != len(space):
        raise ValueError(f"space has {len(space)} parameters, but the rows have {own.x.shape[-1]}.")
    ax = axes_or_new(ax, 5.2, 4.2)
    axes = [parameter_axis(space, name, _SIZE, _MOST_DISCRETE) for name in names]
    label_axes(ax, axes, names)
    ax.set_xlim(_with_margins(axes[0]))
    ax.set_ylim(_with_margins(axes[1]))
    columns = (space.index(names[0]), space.index(names[1]))
    order = np.arange(1, len(own.x) + 1)
    marks, entries, present = draw_rows(
        ax, axes, own, columns, order, cmap="viridis", vmin=1, vmax=max(len(own.x), 2)
    )
    if marks is not None:
        bar = figure_of(ax).colorbar(marks, ax=ax, fraction=0.05, pad=0.02, label="evaluation")
        bar.ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    if not present.any():
        note(ax, "There are no rows." if not len(present) else "No row has both parameters.")
    key_below(ax, entries, left_out(space, names, own, present))
    return ax


def _with_margins(axis: ParameterAxis) -> tuple[float, float]:
    """Ends of the axis with room for whole marks on its bounds."""
    low, high = axis.edges[[0, -1]]
    if axis.log:
        return low / (high / low) ** _MARGIN, high * (high / low) ** _MARGIN
    return low - _MARGIN * (high - low), high + _MARGIN * (high - low)
