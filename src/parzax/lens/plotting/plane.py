"""Two parameters: the acquisition function of a sampler as a map, the rows of one run as marks."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import capacity
from parzax._words import plural
from parzax.density.restriction import given_values, with_codes
from parzax.lens.plotting import _arguments, _axes
from parzax.lens.plotting._arguments import get_signs
from parzax.lens.plotting._parameters import Plane, choose_plane
from parzax.samplers import Problem, Sampler, State, Trace
from parzax.space import INACTIVE, Space

# The lowest cells, this share of all, have one colour: far from all rows the score falls without bound.
_LOWEST = 0.1
# More values than this are not drawn side by side.
_MOST_BESIDE = 64
_MARGIN = 0.03  # margin beyond the bounds, as a share of the axis
# Kinds of rows: marker, area in square points, words for the key, words if there are no constraints.
_KINDS = (
    ("D", 16.0, "constraints only", ""),
    ("s", 20.0, "pending or failed", ""),
    ("X", 30.0, "violates a constraint", ""),
    ("o", 26.0, "feasible", "evaluated"),
    ("*", 170.0, "best feasible", "best"),
)
_ONLY, _FAILED, _VIOLATING, _FEASIBLE, _BEST = range(5)


class _Rows(NamedTuple):
    """The rows of one run, in order."""

    x: np.ndarray  # (n, d) native values
    losses: np.ndarray  # (n, m) minimised for a state, as the problem gave them for a trace; may be NaN
    constraints: np.ndarray  # (n, c)
    kind: np.ndarray  # (n,) index in `_KINDS`
    nearest: int | None  # first row that violates fewest constraints, then with the least first objective


def _take_rows(rows: Any) -> _Rows:
    """The rows of a state or of a trace, in NumPy float64."""
    _checks.instance("rows", rows, (State, Trace), "a sampler's State or a parzax.samplers.Trace")
    _checks.on_host("a run", rows)
    if batch := np.shape(rows.x)[:-2]:
        hint = "trace.runs()[0], or jax.tree.map(lambda a: a[0], state)"
        raise ValueError(f"rows must be one run, got a batch of shape {batch}; choose one, as in {hint}.")
    is_state = isinstance(rows, State)
    n = int(rows.count if is_state else rows.n_evaluations)
    x, losses, constraints = (np.asarray(a, np.float64)[:n] for a in (rows.x, rows.losses, rows.constraints))
    evaluated = ~np.isnan(losses).any(axis=-1)
    n_violated = np.where(evaluated, (~(constraints <= 0)).sum(axis=-1), np.inf)
    kind = np.where(n_violated > 0, _VIOLATING, _FEASIBLE)
    kind[~evaluated] = _FAILED
    if is_state:
        kind[np.asarray(rows.constraint_only)[:n]] = _ONLY
    signed = losses[:, 0] if is_state else losses[:, 0] * get_signs(rows)[0]
    nearest = int(np.lexsort((signed, n_violated))[0]) if evaluated.any() else None
    if nearest is not None and kind[nearest] == _FEASIBLE:
        kind[nearest] = _BEST
    return _Rows(x, losses, constraints, kind, nearest)


def acquisition(
    sampler: Sampler,
    state: State | Trace,
    parameters: Sequence[str] | None = None,
    *,
    given: Mapping[str, Any] | None = None,
    problem: Problem | None = None,
    size: int = 101,
    ax: Axes | None = None,
) -> Axes:
    """The acquisition score over two parameters, as in Figure 2 of c-TPE (arXiv 2211.14411), and the rows.

    The score is `Sampler.score_of`: candidates with a larger score are better. The lowest tenth of the map
    has one colour. Cells outside the space (or where another parameter would need a value) stay white.

    Args:
        sampler: such as `parzax.tpe`.
        state: a state of the sampler, or the trace of one run, whose rows it is told.
        parameters: names of two parameters; by default the first two of the space.
        given: values of the other parameters, name -> native value (or choice); by default the values of the
            best feasible row (smallest first objective; if no row is feasible, a row that violates the fewest
            constraints).
        problem: the problem whose feasible region gets an edge, evaluated with a fixed key.
        size: cells along a continuous axis; discrete parameters have a cell per value, up to this many.
        ax: where to draw. The meaning of the marks and the values of other parameters are written below.

    Raises:
        ValueError: for an unknown parameter or value, a problem on another space, or values of other
            parameters that are not given and cannot be taken from a row.
    """
    _checks.instance("sampler", sampler, Sampler, "a parzax sampler such as px.tpe(space)")
    plane = choose_plane(sampler.space, parameters, _checks.whole_number("size", size, 2))
    of_problem = problem.space if isinstance(problem, Problem) else None
    if problem is not None and not (of_problem and of_problem.agrees_with(sampler.space)):
        raise ValueError("problem must be a parzax.Problem on the sampler's space.")
    rows = _take_rows(state)
    if isinstance(state, Trace):
        empty = sampler.init(capacity(max(len(rows.x), 1)))
        state = sampler.tell(empty, rows.x, rows.losses, rows.constraints)
    others, sentence = _fix_others(plane, rows, given)
    cells = plane.cells(others)
    cells = np.where(plane.space.derive_regimes(cells) == INACTIVE, np.nan, cells)
    # Converted to NumPy, which has no weak types: states that differ only in weak types share one program.
    score = _evaluate_cells(partial(sampler.score_of, jax.tree.map(np.asarray, state)), cells, size)
    ax = _axes.get_axes(ax, 5.2, 4.4)
    white = _draw_score(ax, plane, score)
    plane.label(ax)
    entries, left_out = _draw_rows(ax, plane, rows, by_order=False)
    sentences = [sentence, left_out, white]
    if problem is not None and problem.n_constraints:
        excess = _evaluate_cells(partial(_excess, problem, jax.random.key(0)), cells, size)
        feasible = excess <= 0
        if feasible.any() and not feasible.all():
            entries.append(_draw_edge(ax, plane, excess))
        else:
            sentences.append(f"{'everything' if feasible.all() else 'nothing'} here is feasible")
    _axes.add_key(ax, entries, *sentences)
    return ax


def _fix_others(plane: Plane, rows: _Rows, given: Mapping[str, Any] | None) -> tuple[np.ndarray, str]:
    """(d,) native values of the other parameters, NaN where they are inactive; and a sentence about them."""
    space = plane.space
    try:
        codes = given_values(space, given) if given else {}
    except (TypeError, ValueError) as error:
        raise type(error)(f"given: {error}") from error
    fixed = {name: np.max(by_domain, axis=0) for name, by_domain in codes.items()}
    for name, value in fixed.items():
        if name in plane.names:
            raise ValueError(f"given: {name!r} is an axis of the picture, so it cannot have a fixed value.")
        if not math.isnan(value) and all(domain.outside(np.asarray(value)) for domain in space[name]):
            raise ValueError(f"given: {name!r} = {value:g} is outside its domain.")
    missing = [name for name in space.names if name not in (*plane.names, *fixed)]
    if rows.nearest is None and missing:
        raise ValueError(f"given: there are no rows to take {', '.join(missing)} from; give their values.")
    taken = {name: float(rows.x[rows.nearest, space.index(name)]) for name in missing}
    source = "as in the best row" if (rows.kind == _BEST).any() else "as in a row (none is feasible)"
    parts = [_arguments.describe_settings(space, values) for values in (fixed, taken)]
    parts[1] = f"{parts[1]} {source}" if taken else ""
    values = fixed | taken
    row = np.array([[values.get(name, np.nan) for name in space.names]])
    return with_codes(space, space.frame(), row, codes)[0], "; ".join(filter(None, parts))


def _evaluate_cells(function: Callable[..., jax.Array], cells: np.ndarray, size: int) -> np.ndarray:
    """(rows, columns) values of a function of configurations in every cell."""
    # Rows are padded, so that one program serves all planes.
    x = cells.reshape(-1, cells.shape[-1])
    padded = np.pad(x, [(0, size**2 - len(x)), (0, 0)], mode="edge")
    return np.asarray(function(jnp.asarray(padded)), np.float64)[: len(x)].reshape(cells.shape[:-1])


@compiled
def _excess(problem: Problem, key: jax.Array, x: jax.Array) -> jax.Array:
    """The largest constraint value of every configuration."""
    return jax.vmap(lambda row: problem(key, row)[1].max())(x)


def _draw_score(ax: Axes, plane: Plane, score: np.ndarray) -> str:
    """Draw the map; return a sentence about its white cells, "" if no cell is white."""
    finite = score[np.isfinite(score)]
    low = float(np.quantile(finite, _LOWEST)) if finite.size else 0.0
    bar, edges = {"label": "acquisition score", "extend": "min"}, [axis.edges for axis in plane.axes]
    _axes.draw_map(ax, edges, np.ma.masked_invalid(score), bar, cmap="viridis", vmin=low)
    others = ", or another parameter would need a value" if len(plane.space) > 2 else ""
    return f"white: outside the space{others}" if finite.size < score.size else ""


def _draw_edge(ax: Axes, plane: Plane, excess: np.ndarray) -> Artist:
    """Draw the line at which the largest constraint is 0; return its entry for the key."""
    heights = np.nan_to_num(excess, nan=np.inf, posinf=np.finfo(np.float64).max)
    if any(axis.discrete for axis in plane.axes):
        heights = np.where(excess <= 0, -1.0, 1.0)
    look = {"colors": "white", "linewidths": 1.6, "linestyles": "--"}
    edge = ax.contour(*(axis.places for axis in plane.axes), heights, levels=[0.0], **look)
    # A white line with a dark edge is visible on every colour of the map.
    edge.set_path_effects([patheffects.withStroke(linewidth=3.2, foreground="0.1")])
    return _axes.make_handle(color="0.1", linewidth=1.6, linestyle="--", label="edge of the feasible region")


def observations(
    rows: State | Trace,
    space: Any,
    parameters: Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """The rows of one run in two of its parameters: the colour is the order, the mark the feasibility.

    Rows that violate a constraint (or whose constraint is NaN) are crosses, constraint-only rows are
    diamonds, other rows without a loss are squares, the rest are circles; the best feasible row is a star.
    Equal values of discrete parameters are shifted a little. Rows without one of the two parameters are left
    out and counted below the Axes; if no row remains, a sentence says so.

    Args:
        rows: a sampler's state, or the trace of one run, such as ``traces.runs()[0]``.
        space: the search space, or a sampler or problem that has it.
        parameters: names of two parameters; by default the first two of the space.
        ax: as in all pictures.

    Raises:
        ValueError: for an unknown parameter, a space with one parameter, a space whose size differs from the
            rows, and several runs.
    """
    space = getattr(space, "space", space)
    _checks.instance("space", space, Space, "a parzax.Space, or a sampler or problem that has one")
    plane = choose_plane(space, parameters, _MOST_BESIDE)
    run_rows = _take_rows(rows)
    n, d = run_rows.x.shape
    if d != len(space):
        raise ValueError(f"space has {plural(len(space), 'parameter')}, but the rows have {d}.")
    ax = _axes.get_axes(ax, 5.2, 4.2)
    plane.label(ax)
    # With margins, marks on the bounds are not cut off.
    ax.margins(_MARGIN)
    ax.update_datalim(np.transpose([axis.edges[[0, -1]] for axis in plane.axes]))
    entries, left_out = _draw_rows(ax, plane, run_rows, by_order=True)
    ax.autoscale_view()
    if entries:
        bar = _axes.add_colour_bar(ax, ax.collections[-1], label="evaluation")
        bar.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    else:
        _axes.write_note(ax, "No row has both parameters." if n else "There are no rows.")
    _axes.add_key(ax, entries, left_out)
    return ax


def _draw_rows(ax: Axes, plane: Plane, rows: _Rows, *, by_order: bool) -> tuple[list[Artist], str]:
    """Draw rows, coloured by order, or white with the best row red; return a key and a sentence."""
    places = plane.places(rows.x)
    lacking = np.isnan(places)
    incomplete = lacking.any(axis=-1)
    entries: list[Artist] = []
    for kind, (marker, area, *words) in enumerate(_KINDS):
        drawn = np.flatnonzero((rows.kind == kind) & ~incomplete)
        if not len(drawn):
            continue
        face = "0.75" if by_order else "#D55E00" if kind == _BEST else "white"
        numbers = {"c": drawn + 1, "cmap": "viridis", "vmin": 1, "vmax": max(len(places), 2)}
        look: dict[str, Any] = numbers if by_order else {"c": face}
        look |= {"edgecolors": "0.1", "linewidths": 0.6, "zorder": 3}
        ax.scatter(places[drawn, 0], places[drawn, 1], area, marker=marker, **look)
        sign = {"markersize": min(area**0.5, 9.0), "markeredgecolor": "0.1", "markeredgewidth": 0.6}
        text = words[0] if rows.constraints.shape[-1] else words[1] or words[0]
        entries.append(_axes.make_handle(marker=marker, color=face, label=text, **sign))
    n = int(incomplete.sum())
    names = [
        _arguments.shorten_name(name) for name, gap in zip(plane.names, lacking.T, strict=True) if gap.any()
    ]
    return entries, f"{plural(n, 'row')} without {' or '.join(names)} left out" if n else ""
