"""Two parameters: the acquisition function of a sampler as a map, the rows of one run as marks."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from parzax import _checks
from parzax._programs import program
from parzax.observations import capacity
from parzax.parzen.restriction import given_values
from parzax.plotting import _axes, _text
from parzax.plotting._arguments import Rows, check_names, rows_of
from parzax.plotting._parameters import Parameters, parameter_axis
from parzax.problems import AbstractProblem
from parzax.samplers import Sampler, State, Trace
from parzax.space import INACTIVE, Space

# What lies lower than this share of all cells has one colour: far from all rows the score falls without end.
_LOWEST = 0.1
# More values than this do not stand side by side; of a continuous axis only the ends count here.
_MOST_BESIDE = 64
_MARGIN = 0.03  # share of the axis around its bounds


def acquisition(
    sampler: Sampler,
    state: State | Trace,
    x: str | None = None,
    y: str | None = None,
    *,
    at: Mapping[str, Any] | None = None,
    problem: AbstractProblem | None = None,
    rows: bool = True,
    run: int | None = None,
    size: int = 101,
    ax: Axes | None = None,
) -> Axes:
    """The acquisition score over two parameters, as in Figure 2 of c-TPE (arXiv 2211.14411).

    The score is `Sampler.score_of`: the larger, the better a candidate there. The lowest tenth of the map has
    one colour. Cells outside the space (or where another parameter would need a value) stay white.

    Args:
        sampler, state: such as `parzax.tpe`, and what it knows; or a trace, whose rows it is told.
        x, y: names of two parameters; by default the first ones of the space.
        at: values of the others, name -> native value (or choice); by default as in the best feasible row
            (least first objective; where nothing is feasible, a row that violates fewest constraints).
        problem: draws the edge of its feasible region, evaluated with a fixed key.
        rows: whether to draw the rows too, wherever their other parameters are.
        run: which run, of a trace with several.
        size: cells along a continuous axis; discrete parameters have a cell per value, up to this many.
        ax: where to draw; what the marks mean, and which values the others have, stands below.

    Raises:
        ValueError: an unknown parameter or value, a problem on another space, no row for the other values.
    """
    _checks.instance("sampler", sampler, Sampler, "a parzax sampler such as px.tpe(space)")
    plane = find_plane(sampler.space, x, y, _checks.whole_number("size", size, 2))
    if problem is not None and (not isinstance(problem, AbstractProblem) or problem.space != sampler.space):
        raise ValueError("problem must be a parzax.Problem on the sampler's space.")
    own = rows_of(state, run)
    if isinstance(state, Trace):
        empty = sampler.init(capacity(max(len(own.x), 1)))
        state = sampler.tell(empty, own.x, own.objectives, own.constraints)
    fixed, sentence = _others(plane, own, at)
    cells = plane.cells(fixed)
    cells = np.where(plane.space.derive_regimes(cells) == INACTIVE, np.nan, cells)
    # By way of NumPy, as otherwise states that differ in weak types only would be compiled for one by one.
    score = _in_cells(partial(sampler.score_of, jax.tree.map(np.asarray, state)), cells, size)
    ax = _axes.axes_or_new(ax, 5.2, 4.4)
    white = _draw_score(ax, plane, score)
    plane.label(ax)
    entries, left_out = draw_rows(ax, plane, own, by_order=False) if rows else ([], "")
    if problem is not None and problem.n_constraints:
        excess = _in_cells(partial(_excess, problem, jax.random.key(0)), cells, size)
        entries.append(_draw_feasible(ax, plane, excess))
    _axes.key_below(ax, entries, ";  ".join(filter(None, (sentence, left_out, white))))
    return ax


def _others(plane: Parameters, rows: Rows, at: Mapping[str, Any] | None) -> tuple[np.ndarray, str]:
    """(d,) native values of the other parameters, NaN where they are inactive; and a sentence about them."""
    space = plane.space
    try:
        given = given_values(space, at) if at else {}
    except (TypeError, ValueError) as error:
        raise type(error)(f"at: {error}") from error
    if both := [name for name in plane.names if name in given]:
        raise ValueError(f"at: {both[0]!r} is an axis of the picture and has no one value.")
    missing = [name for name in space.names if name not in (*plane.names, *given)]
    if rows.nearest is None and missing:
        raise ValueError(f"at: there are no rows to take {', '.join(missing)} from; give their values.")
    taken = {name: float(rows.x[rows.nearest, space.index(name)]) for name in missing}
    source = "as in the best row" if rows.best is not None else "as in a row (none is feasible)"
    parts = [_text.settings(space, given), f"{_text.settings(space, taken)} {source}" if taken else ""]
    values = given | taken
    return np.array([values.get(name, np.nan) for name in space.names]), "; ".join(filter(None, parts))


def _in_cells(function: Callable[..., jax.Array], cells: np.ndarray, size: int) -> np.ndarray:
    """(rows, columns) what a function of configurations gives in every cell."""
    # Padded, so that one program serves all planes.
    x = cells.reshape(-1, cells.shape[-1])
    padded = np.concatenate([x, np.repeat(x[-1:], size**2 - len(x), axis=0)])
    return np.asarray(function(jnp.asarray(padded)), np.float64)[: len(x)].reshape(cells.shape[:-1])


@program
def _excess(problem: AbstractProblem, key: jax.Array, x: jax.Array) -> jax.Array:
    """The largest constraint value of every configuration."""
    return jax.vmap(lambda row: problem(key, row)[1].max())(x)


def _draw_score(ax: Axes, plane: Parameters, score: np.ndarray) -> str:
    """The map, and a sentence about its white cells; "" without any."""
    finite = score[np.isfinite(score)]
    low, high = (float(np.quantile(finite, _LOWEST)), float(finite.max())) if finite.size else (0.0, 1.0)
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    bar = {"label": "acquisition score", "extend": "min" if (finite < low).any() else "neither"}
    edges, shown = [axis.edges for axis in plane.axes], np.ma.masked_invalid(score)
    _axes.draw_map(ax, edges, shown, bar, cmap="viridis", vmin=low, vmax=high)
    if not finite.size:
        _axes.note(ax, "No score is finite here.")
    others = ", or the others have no values there" if len(plane.space) > 2 else ""
    return f"white: outside the space{others}" if 0 < finite.size < score.size else ""


def _draw_feasible(ax: Axes, plane: Parameters, excess: np.ndarray) -> _axes.Entry:
    """The line at which the largest constraint is 0."""
    feasible = excess <= 0
    if feasible.all() or not feasible.any():
        return None, "everything here is feasible" if feasible.all() else "nothing here is feasible"
    shown = np.nan_to_num(excess, nan=np.inf, posinf=np.finfo(np.float64).max)
    if any(axis.discrete for axis in plane.axes):
        shown = np.where(feasible, -1.0, 1.0)
    look = {"colors": "white", "linewidths": 1.6, "linestyles": "--"}
    edge = ax.contour(*(axis.places for axis in plane.axes), shown, levels=[0.0], **look)
    # White on a dark edge is seen on every colour of the map.
    edge.set_path_effects([patheffects.withStroke(linewidth=3.2, foreground="0.1")])
    return Line2D([], [], color="0.1", linewidth=1.6, linestyle="--"), "edge of the feasible region"


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

    Rows that violate a constraint (or whose constraint is NaN) are crosses, constraint-only ones diamonds,
    others without a loss squares, the rest circles; the best feasible one is a star. Equal values of discrete
    parameters are spread a little. Rows that lack one of the parameters are left out, and counted below; a
    sentence says so where there are none.

    Args:
        rows: a sampler's state, or a trace.
        space: the search space, or a sampler or problem that has it.
        x, y: names of two parameters; by default the first ones of the space.
        run: which run, of a trace with several.
        ax: as in all pictures.

    Raises:
        ValueError: an unknown parameter, a space of one parameter or of another size than the rows, a run
            that is not there.
    """
    space = getattr(space, "space", space)
    _checks.instance("space", space, Space, "a parzax.Space, or a sampler or problem that has one")
    plane = find_plane(space, x, y, _MOST_BESIDE)
    own = rows_of(rows, run)
    if own.x.shape[-1] != len(space):
        raise ValueError(f"space has {len(space)} parameters, but the rows have {own.x.shape[-1]}.")
    ax = _axes.axes_or_new(ax, 5.2, 4.2)
    plane.label(ax)
    # Whole marks also on the bounds.
    ax.margins(_MARGIN)
    ax.update_datalim(np.transpose([axis.edges[[0, -1]] for axis in plane.axes]))
    entries, left_out = draw_rows(ax, plane, own, by_order=True)
    ax.autoscale_view()
    if entries:
        bar = _axes.colour_bar(ax, ax.collections[-1], label="evaluation")
        bar.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    else:
        _axes.note(ax, "No row has both parameters." if len(own.x) else "There are no rows.")
    _axes.key_below(ax, entries, left_out)
    return ax


def find_plane(space: Space, x: Any, y: Any, size: int) -> Parameters:
    """The two parameters asked for, by default the first ones of the space, in ``size`` cells each."""
    if len(space) < 2:
        raise ValueError(f"space has one parameter, {space.names[0]!r}; this picture needs two.")
    x = next(name for name in space.names if name != y) if x is None else x
    y = next(name for name in space.names if name != x) if y is None else y
    names = check_names("x and y", [x, y], space.names)
    return Parameters(space, names, [parameter_axis(space, name, size) for name in names])


def draw_rows(ax: Axes, plane: Parameters, rows: Rows, *, by_order: bool) -> tuple[list[_axes.Entry], str]:
    """Draw rows, coloured by number, or white and the best one red; a key, and words about those left out."""
    places = plane.places(rows.x)
    lacking = np.isnan(places)
    best = np.arange(len(places)) == (-1 if rows.best is None else rows.best)
    constrained = rows.constraints.shape[-1] > 0
    # Kinds of rows: which, marker, area in square points, words.
    kinds = (
        (rows.constraint_only, "D", 16.0, "constraints only"),
        (~rows.evaluated & ~rows.constraint_only, "s", 20.0, "pending or failed"),
        (rows.evaluated & ~rows.feasible, "X", 30.0, "violates a constraint"),
        (rows.feasible & ~best, "o", 26.0, "feasible" if constrained else "evaluated"),
        (best, "*", 170.0, "best feasible" if constrained else "best"),
    )
    entries: list[_axes.Entry] = []
    for kind, marker, area, words in kinds:
        drawn = np.flatnonzero(kind & ~lacking.any(axis=-1))
        face = "0.75" if by_order else "#D55E00" if marker == "*" else "white"
        numbers = {"c": drawn + 1, "cmap": "viridis", "vmin": 1, "vmax": max(len(places), 2)}
        look: dict[str, Any] = numbers if by_order else {"c": face}
        if len(drawn):
            x, y = places[drawn].T
            ax.scatter(x, y, area, marker=marker, edgecolors="0.1", linewidths=0.6, zorder=3, **look)
            sign = Line2D([], [], linestyle="None", marker=marker, markersize=min(area**0.5, 9.0))
            sign.set(markerfacecolor=face, markeredgecolor="0.1", markeredgewidth=0.6)
            entries.append((sign, words))
    n = int(lacking.any(axis=-1).sum())
    names = [_text.name(name) for name, column in zip(plane.names, lacking.T, strict=True) if column.any()]
    return entries, f"{n} row{'s' * (n > 1)} without {' or '.join(names)} left out" if n else ""
