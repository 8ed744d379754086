"""The rows of a log: the course of a search, slices along each parameter, parallel coordinates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from parzax.lens._palette import PALETTE
from parzax.lens.logs import Observations
from parzax.lens.logs.observations import checked_log
from parzax.lens.plotting import _axes
from parzax.lens.plotting._arguments import choose_names, shorten_name, shorten_names
from parzax.lens.plotting._parameters import Plane, parameter_axis
from parzax.lens.results.targets import Course, Ranking, counted_rows, read_course
from parzax.lens.results.texts import number

_CELLS = 64  # more values than this are not drawn side by side
_MOST_TICKS = 8  # largest number of values that are named along a line of parallel coordinates
_INACTIVE = -0.12  # height of parameters that are inactive, below the axis from 0 to 1
_BACK = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.6}  # behind texts on lines
# Names of parameters, or the number of the first ones.
_Names = int | str | Sequence[str]


def history(obs: Observations, *, objective: Ranking = 0, ax: Axes | None = None) -> Axes:
    """The course of a search: the objective of every row in order, and the best value so far.

    Positive values that span two powers of ten are drawn on a log axis. Rows that do not count are left out.

    Args:
        obs: a log of one run (else ValueError).
        objective: number or name of the objective.
        ax: as in all pictures.
    """
    course = _read_course(obs, objective)
    ax = _axes.get_axes(ax, 6.4, 3.4)
    places = np.arange(1, len(course.values) + 1)
    look = {"drawstyle": "steps-post", "color": PALETTE[0], "linewidth": 1.8, "label": "best so far"}
    handles = ax.plot(places, course.values, "o", color="0.6", markersize=4, label="row")
    handles += ax.plot(places, course.best, **look)
    _label_objective(ax, course)
    ax.set_xlabel("row")
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    _axes.add_key(ax, handles)
    return ax


def slices(
    obs: Observations, *, parameters: _Names = 6, objective: Ranking = 0, ax: Axes | None = None
) -> Axes:
    """The objective of every row against each parameter, one panel each; colours are the order of the rows.

    Rows without a value of a parameter are not in its panel. Equal values of discrete
    parameters are shifted a little.

    Args:
        obs, objective: as in `history`.
        parameters: the parameters to draw, or the number of the first ones.
        ax: where to draw; it must be a subplot (else ValueError), and all panels share its place.
    """
    course = _read_course(obs, objective)
    names = choose_names(parameters, obs.space.names)
    ax = _axes.get_axes(ax, 2.5 * len(names) + 0.8, 3.0)
    _label_objective(ax, course)
    panels = _axes.split_axes(ax, [names])[0]
    for panel, name in zip(panels, names, strict=True):
        plane = Plane(obs.space, [name], [parameter_axis(obs.space, name, _CELLS)])
        x = plane.places(obs.values)[:, 0]
        look = {"cmap": "viridis", "vmin": 1, "vmax": max(obs.n, 2), "linewidths": 0}
        points = panel.scatter(x, course.values, 18, c=np.arange(1, obs.n + 1), **look)
        plane.axes[0].label(panel.xaxis, name)
        panel.label_outer()
        if panel is panels[-1]:
            _axes.add_colour_bar(panel, points, label="row", ticks=[1, obs.n])
    return ax


def parallel(
    obs: Observations, *, parameters: _Names = 8, objective: Ranking = 0, ax: Axes | None = None
) -> Axes:
    """Parallel coordinates: a line for each row through its values; the darker, the better the row.

    Each parameter has a vertical axis, logarithmic for a log domain. Lines go below the axes of parameters
    that are inactive.

    Args:
        obs, parameters, objective, ax: as in `slices`; any Axes will do.
    """
    course = _read_course(obs, objective)
    names = choose_names(parameters, obs.space.names)
    ax = _axes.get_axes(ax, 1.2 * len(names) + 1.4, 3.8)
    heights = []
    for i, name in enumerate(names):
        axis = parameter_axis(obs.space, name, _CELLS)
        places, ends = Plane(obs.space, [name], [axis]).places(obs.values)[:, 0], axis.edges[[0, -1]]
        scale = np.log if axis.log else np.asarray
        low, high = scale(ends)
        heights.append(np.nan_to_num((scale(places) - low) / (high - low), nan=_INACTIVE))
        shown = np.linspace(0, len(axis.labels) - 1, min(len(axis.labels), _MOST_TICKS)).round().astype(int)
        ticks: list[tuple[Any, Any]] = [(axis.labels[j], axis.places[j]) for j in shown.tolist()]
        written = (np.ceil(ends[0]), np.floor(ends[1])) if axis.integer else ends.round(12)
        for text, place in ticks or [(number(end), end) for end in written]:
            at = float((scale(place) - low) / (high - low))
            ax.text(i + 0.04, at, text, fontsize="x-small", va="center", zorder=4, bbox=_BACK)
        ax.axvline(i, color=_axes.GREY, linewidth=0.8, zorder=3)
    # The best rows are drawn last.
    segments = [list(enumerate(row)) for row in np.transpose(heights)[course.order[::-1]]]
    lines = LineCollection(segments, cmap="viridis", linewidths=1.1, alpha=0.8)
    lines.set_array(np.linspace(1, 0, len(course.order)))
    ax.add_collection(lines, autolim=False)
    bar = _axes.add_colour_bar(ax, lines, label=f"rank by {shorten_name(course.name)}", ticks=[0, 1])
    bar.set_yticklabels(["best", "worst"])
    bar.invert_yaxis()
    inactive = bool((np.array(heights) == _INACTIVE).any())
    ax.set(xlim=(-0.1, len(names) - 0.6), ylim=(1.5 * _INACTIVE if inactive else -0.04, 1.04), yticks=[])
    ax.set_xticks(range(len(names)), list(shorten_names(names).values()), rotation=30, ha="right")
    ax.spines[:].set_visible(False)
    _axes.add_key(ax, [], "below the axis: inactive" if inactive else "")
    return ax


def _read_course(obs: Any, objective: Ranking) -> Course:
    """The course of a search by the rows that count by default, or an error if there is none."""
    obs = checked_log("obs", obs)
    course = read_course(counted_rows(obs, None), objective)
    if course is None:
        raise ValueError("obs must be one run, and objective one of its objectives, by number or name.")
    return course


def _label_objective(ax: Axes, course: Course) -> None:
    """Name the vertical axis, and make it logarithmic for values that span decades."""
    ax.set_ylabel(shorten_name(course.name))
    if course.wide:
        values = course.values[np.isfinite(course.values)]
        _axes.set_log_scale(ax.yaxis, values.min(), values.max())
