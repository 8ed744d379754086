"""The acquisition function of a sampler as a map over two parameters."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from parzax.observations import capacity
from parzax.parzen.restriction import given_values
from parzax.plotting import _text
from parzax.plotting._arguments import check_count
from parzax.plotting._marks import Entry, draw_rows, left_out
from parzax.plotting._matplotlib import axes_or_new, figure_of, key_below, note, plain
from parzax.plotting._parameter_axis import ParameterAxis, label_axes, parameter_axis, two_parameters
from parzax.plotting._runs import Rows, check_sampler, rows_of
from parzax.problems import AbstractProblem
from parzax.samplers import Sampler, State, Trace
from parzax.space import INACTIVE, Categorical, Space

# What lies lower than this share of all cells has one colour: far from all rows the score falls without end.
_LOWEST = 0.1
# Values of so many other parameters are named.
_MOST_NAMED = 4


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
        sampler: such as `parzax.c_tpe`.
        state: what it knows; or a trace, all of whose rows are told.
        x, y: names of two parameters; by default the first ones of the space.
        at: values of the others, name -> native value (or choice); those that are not given are as in the
            best feasible row (least first objective; where nothing is feasible, a row that violates fewest
            constraints).
        problem: draws the edge of its feasible region, evaluated with a fixed key.
        rows: whether to draw the rows too, wherever their other parameters are.
        run: which run, of a trace with several.
        size: cells along a continuous axis; discrete parameters have a cell per value, up to this many.
        ax: where to draw; a new figure by default.

    Returns:
        The Axes; below them stands what the marks mean, and which values the others have.

    Raises:
        TypeError: arguments of another kind.
        ValueError: an unknown parameter or value, a problem on another space, or no row to
            take the values of the others from.
    """
    space = check_sampler(sampler).space
    names = two_parameters(space, x, y)
    check_count("size", size)
    if problem is not None and (not isinstance(problem, AbstractProblem) or problem.space != space):
        raise ValueError("problem must be a parzax.Problem on the sampler's space.")
    own = rows_of(state, run)
    if isinstance(state, Trace):
        state = _told(sampler, *own, capacity(max(len(own.x), 1)))
    fixed = _fixed(space, names, own, at)
    axes = [parameter_axis(space, name, size, size) for name in names]
    x_grid = _grid(space, names, axes, fixed)
    shape = (len(axes[1].values), len(axes[0].values))
    # By way of NumPy, as otherwise states that differ in weak types only would be compiled for one by one.
    known = jax.tree.map(np.asarray, state)
    score = _evaluate(_scores, (sampler, known), x_grid, size).reshape(shape)

    ax = axes_or_new(ax, 5.2, 4.4)
    _draw_map(ax, axes, score)
    label_axes(ax, axes, names)
    entries: list[Entry] = []
    columns = (space.index(names[0]), space.index(names[1]))
    sentences = [_at_text(space, names, fixed, own, at)]
    if rows:
        _, entries, present = draw_rows(ax, axes, own, columns, "white", best_colour="#D55E00")
        sentences.append(left_out(space, names, own, present))
    if problem is not None and problem.n_constraints:
        excess = _evaluate(_excess, (problem, jax.random.key(0)), x_grid, size)
        entries.append(_draw_feasible(ax, axes, excess.reshape(shape)))
    if not np.isfinite(score).any():
        note(ax, "No score is finite here.")
    elif not np.isfinite(score).all():
        sentences.append(
            "white: outside the space" + (", or the others have no values there" if len(space) > 2 else "")
        )
    key_below(ax, entries, ";  ".join(filter(None, sentences)))
    return ax


# --- where -----------------------------------------------------------------------------------------


def _fixed(space: Space, names: tuple[str, str], own: Rows, at: Mapping[str, Any] | None) -> np.ndarray:
    """(d,) native values of the other parameters, NaN where they are inactive."""
    values = np.full(len(space), np.nan)
    others = [name for name in space.names if name not in names]
    if own.nearest is not None:
        values = own.x[own.nearest].copy()
    given: dict[str, float] = {}
    if at:
        try:
            given = given_values(space, at)
        except (TypeError, ValueError) as error:
            raise type(error)(f"at: {error}") from error
        if both := [name for name in names if name in given]:
            raise ValueError(f"at: {both[0]!r} is an axis of the picture and has no one value.")
    for name, value in given.items():
        values[space.index(name)] = value
    missing = [name for name in others if name not in given]
    if own.nearest is None and missing:
        raise ValueError(f"at: there are no rows to take {', '.join(missing)} from; give their values.")
    return values


def _grid(space: Space, names: tuple[str, str], axes: list[ParameterAxis], fixed: np.ndarray) -> np.ndarray:
    """(j, d) configurations, the second parameter slowest; what is inactive is NaN."""
    mesh = np.meshgrid(*(axis.values for axis in axes))
    x = np.tile(fixed, (mesh[0].size, 1))
    for name, values in zip(names, mesh, strict=True):
        x[:, space.index(name)] = values.ravel()
    return np.where(space.derive_regimes(x) == INACTIVE, np.nan, x)


# --- what is evaluated there -------------------------------------------------------------------------


def _evaluate(function: Callable[..., jax.Array], arguments: tuple, x: np.ndarray, size: int) -> np.ndarray:
    """(j,) values at all configurations in one call; one program serves every pair of parameters."""
    padded = np.concatenate([x, np.repeat(x[-1:], max(size**2 - len(x), 0), axis=0)])
    return np.asarray(function(*arguments, jnp.asarray(padded)), np.float64)[: len(x)]


@eqx.filter_jit
def _told(
    sampler: Sampler, x: np.ndarray, objectives: np.ndarray, constraints: np.ndarray, size: int
) -> State:
    return sampler.tell(sampler.init(size), x, objectives, constraints)


@eqx.filter_jit
def _scores(sampler: Sampler, state: State, x: jax.Array) -> jax.Array:
    return sampler.score_of(state, x.astype(state.x.dtype))


@eqx.filter_jit
def _excess(problem: AbstractProblem, key: jax.Array, x: jax.Array) -> jax.Array:
    """The largest constraint value of every configuration."""
    return jax.vmap(lambda row: problem(key, row)[1].max())(x)


# --- what is drawn ---------------------------------------------------------------------------------


def _draw_map(ax: Axes, axes: list[ParameterAxis], score: np.ndarray) -> None:
    shown = np.ma.masked_invalid(score)
    finite = score[np.isfinite(score)]
    low, high = (float(np.quantile(finite, _LOWEST)), float(finite.max())) if finite.size else (0.0, 1.0)
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    mesh = ax.pcolormesh(
        axes[0].edges, axes[1].edges, shown, cmap="viridis", vmin=low, vmax=high, rasterized=True
    )
    extend = "min" if finite.size and finite.min() < low else "neither"
    figure_of(ax).colorbar(mesh, ax=ax, fraction=0.05, pad=0.02, extend=extend, label="acquisition score")


def _draw_feasible(ax: Axes, axes: list[ParameterAxis], excess: np.ndarray) -> Entry:
    """The line at which the largest constraint is 0."""
    feasible = excess <= 0
    line = Line2D([], [], color="0.1", linewidth=1.6, linestyle="--")
    if feasible.all() or not feasible.any():
        line.set(linestyle="None")
        return line, "everything here is feasible" if feasible.all() else "nothing here is feasible"
    # White on a dark edge is seen on every colour of the map.
    stroke: list[patheffects.AbstractPathEffect] = [patheffects.withStroke(linewidth=3.2, foreground="0.1")]
    finite = np.nan_to_num(excess, nan=np.inf, posinf=np.finfo(np.float64).max)
    if any(axis.discrete for axis in axes):
        finite = np.where(feasible, -1.0, 1.0)
    ax.contour(
        axes[0].places, axes[1].places, finite, levels=[0.0], colors="white", linewidths=1.6, linestyles="--"
    ).set_path_effects(stroke)
    return line, "edge of the feasible region"


def _at_text(
    space: Space, names: tuple[str, str], fixed: np.ndarray, own: Rows, at: Mapping[str, Any] | None
) -> str:
    """What the other parameters are, for the line below the picture."""
    given = [name for name in space.names if name in (at or {})]
    taken = [name for name in space.names if name not in (*names, *given)]
    source = "as in the best row" if own.best is not None else "as in a row (none is feasible)"
    parts = [_values(space, given, fixed)]
    parts.append(f"{_values(space, taken, fixed)} {source}" if taken else "")
    return plain("; ".join(filter(None, parts)))


def _values(space: Space, names: list[str], fixed: np.ndarray) -> str:
    if len(names) > _MOST_NAMED:
        return f"{len(names)} other parameters"
    return ", ".join(_value(space, name, float(fixed[space.index(name)])) for name in names)


def _value(space: Space, name: str, value: float) -> str:
    if np.isnan(value):
        return f"no {name}"
    domain = space[name][0]
    categorical = isinstance(domain, Categorical)
    return f"{name} = {_text.choice(domain.choices[int(value)]) if categorical else _text.number(value)}"
