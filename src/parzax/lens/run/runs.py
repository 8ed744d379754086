"""Thousands of optimisation runs in chunks, with a progress bar and a folder to resume from."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from jaxtyping import Int

from parzax import _checks
from parzax._compile import compiled
from parzax._progress import is_shown
from parzax.lens.run.chunks import Chunks, run_chunks
from parzax.samplers import Sampler, Trace
from parzax.samplers.loop import (
    Search,
    Setup,
    Stages,
    advance,
    begin,
    best_losses,
    check_run,
    plan_stages,
    replicate,
    run,
    take_rows,
    with_auto_axis,
    without_repeats,
)
from parzax.samplers.problem import DIRECTIONS
from parzax.split import State

# Runs per chunk, which fits a core's cache.
_LANES = 32
# Capacities of the states of runs side by side, whose rounds take more time than their compilation.
_STEPS = (128, 256, 512, 1024, 2048, 4096)
# Parts of a state that most runs have in common.
_ALIKE = "count", "overflow", "constraint_only"


@_checks.known_arguments(DIRECTIONS)
def optimize_many(
    keys: jax.Array,
    sampler: Sampler,
    problem: Any,
    n_evaluations: int,
    *,
    state: State | None = None,
    stop: Any = None,
    on_round: Callable[[int, np.ndarray, State], object] | None = None,
    progress: bool | None = None,
    n_confirm: int = 0,
    n_parallel: int = 1,
    lanes: int = _LANES,
    folder: str | os.PathLike[str] | None = None,
    mesh: Mesh | None = None,
) -> Trace:
    """Many independent runs, in chunks of ``lanes`` runs that fit the cache, with one compilation.

    Args:
        keys: (s,) one key per run.
        sampler, problem, n_evaluations, stop, n_confirm, n_parallel: as in `parzax.optimize`.
        state: rows told before, one state for all runs, or one for each run, such as ``traces.state``.
        on_round: a function ``on_round(number, best, state)`` called on the host after each chunk, with the
            number of finished runs, and the best losses and final states of the chunk's runs.
        progress: whether to show a progress bar on stderr; None shows one on a terminal and in a notebook.
        lanes: runs per chunk, on each device.
        folder: where to keep finished chunks, one file each, as in `parzax.lens.run.map_chunks`. After a
            kill, the same call computes only the missing chunks and returns the same bits.
        mesh: devices, in a mesh with one axis; None computes on the default device. Each device does
            ``lanes`` runs at a time, and devices do not communicate.

    Returns:
        A `parzax.samplers.Trace` with a leading axis of s runs, on the host, final states included. With the
        same ``lanes`` a run has the same bits whatever the other runs are, and on any number of devices of
        one kind, because every chunk is filled up to ``lanes`` runs. A different ``lanes`` compiles a
        different program, which may round sums differently.

    Raises:
        TypeError, ValueError: as in `parzax.optimize`; also for keys that are not a vector of typed keys, and
            a mesh with several axes.
        OSError: a chunk cannot be written, such as on a full disk. Earlier chunks are kept.

    >>> import jax
    >>> import parzax as px
    >>> space = px.Space({"k": px.Categorical(["a", "b", "c"])})
    >>> keys = jax.random.split(jax.random.key(0), 3)
    >>> px.optimize_many(keys, px.tpe(space), lambda key, x: abs(x[0] - 1), 5, lanes=3).x.shape
    (3, 5, 1)
    """
    _checks.on_host("keys", keys)
    if not isinstance(keys, jax.Array) or not jnp.issubdtype(keys.dtype, jax.dtypes.prng_key):
        wanted = "such as jax.random.split(jax.random.key(0), s), and come first"
        raise TypeError(f"keys must be typed, {wanted}, got {keys!r}.")
    _checks.check_shape("keys", keys, "s", hint="; use jax.random.split(key, s)")
    setup = check_run(sampler, problem, n_evaluations, n_confirm, n_parallel, state, stop, on_round)
    n, lanes = int(setup.n_evaluations), _checks.whole_number("lanes", lanes, 1)
    first, stages = plan_stages(state, n, setup.n_parallel, _STEPS)
    told: Any = jax.device_get(state)
    setup, many = without_repeats(setup, keys.dtype), told is not None and np.ndim(told.count) > 0
    if told is not None and many:
        _checks.check_shape("state.count", told.count, len(keys), hint="; one state for each key")
    # Loops are faster if all runs do the same number of rounds from rows of the same number and kind.
    each = [getattr(told, name) for name in _ALIKE] if many else []
    together = not setup.stop and all(bool((a == a[:1]).all()) for a in each)
    (capacity, _), (_, total) = stages[0], stages[-1]
    start = jax.device_get(begin(setup, told, capacity))
    if mesh is not None:
        mesh = with_auto_axis(mesh)
        keys, setup = replicate(mesh, (keys, setup._replace(mesh=mesh)))
    n_lanes, final = lanes * (1 if mesh is None else mesh.size), first + total

    def begin_lanes(rows: np.ndarray) -> Search:
        """The runs of these rows before their first round."""
        state, constraints = jax.tree.map(
            lambda a: a[rows] if many else np.broadcast_to(a, (n_lanes, *np.shape(a))), start[1:]
        )
        if together:
            alike = [getattr(start.state, name) for name in _ALIKE]
            alike = [a[0] if many else a for a in alike]
            state = eqx.tree_at(lambda one: [getattr(one, name) for name in _ALIKE], state, alike)
            return Search(np.int32(0), state, constraints)
        return Search(np.zeros(n_lanes, np.int32), state, constraints)

    def compute(rows: np.ndarray) -> tuple[Any, ...]:
        parts = _chunk(_lane_keys(keys, rows), setup, begin_lanes(rows), stages, n, final)
        if on_round is not None:
            n_runs, last = len(np.unique(rows)), int(rows.max()) + 1
            states = jax.tree.map(lambda a: a[:n_runs], jax.device_get(parts[-1]))
            best = np.asarray(best_losses(sampler.directions, states))
            on_round(last, best[:, 0] if best.shape[1] == 1 else best, states)
        return parts

    chunks = None
    if folder is not None:
        arrays, static = eqx.partition(setup, eqx.is_array)

        def text(keys: Any, arrays: Any, search: Search) -> Any:
            return _chunk(keys, eqx.combine(arrays, static), search, stages, n, final)

        example = begin_lanes(np.zeros(n_lanes, np.int32))
        lowered = jax.jit(text).lower(jax.ShapeDtypeStruct((n_lanes,), keys.dtype), arrays, example)
        chunks = Chunks(folder, keys, arrays, start[1:], n_lanes, lowered.as_text())
    widths = len(sampler.space), sampler.n_objectives, setup.problem.n_constraints
    dtype = jnp.result_type(float)
    rows_like = (np.empty((n, width), dtype) for width in widths)
    run_like = *rows_like, State.empty(*widths[:2], sampler.n_constraints, final, dtype)
    like = jax.tree.map(lambda a: jax.ShapeDtypeStruct((n_lanes, *a.shape), a.dtype), run_like)
    rows, shown = np.arange(len(keys), dtype=np.int32), is_shown(progress)
    parts = run_chunks(compute, (rows,), len(keys), like, chunks, what="runs", shown=shown)
    return Trace(*parts[:3], directions=sampler.directions, space=sampler.space, state=parts[3])


@compiled
def _lane_keys(keys: jax.Array, rows: Int[Any, " lanes"]) -> jax.Array:
    return keys[rows]


def _chunk(
    keys: jax.Array, setup: Setup, search: Search, stages: Stages, n: int, final: int
) -> tuple[Any, ...]:
    """Values, losses and constraints of the rows of a chunk of runs, and the final states."""
    start = search.state.count
    search = run(lambda search, end: _advance_lanes(keys, setup, search, np.int32(end)), search, stages)
    return _take_rows_of_lanes(setup.sampler.directions, search, start, n, final)


@partial(compiled, size="large")
def _advance_lanes(keys: jax.Array, setup: Setup, search: Search, end: Any) -> Search:
    axes, mesh = _lane_axes(search), setup.mesh

    def step(key: jax.Array, search: Search) -> Search:
        return advance(key, setup._replace(mesh=None), search, end)

    steps = jax.vmap(step, in_axes=(0, axes), out_axes=axes)
    if mesh is None:
        return steps(keys, search)
    # Each device runs the program of one device on its own keys, so no collective is needed.
    split = P(mesh.axis_names)
    specs = jax.tree.map(lambda axis: P() if axis is None else split, axes, is_leaf=lambda axis: axis is None)
    sharded = jax.shard_map(steps, mesh=mesh, in_specs=(split, specs), out_specs=specs, check_vma=False)
    return sharded(keys, search)


@compiled
def _take_rows_of_lanes(
    directions: tuple[str, ...], search: Search, start: Any, n: int, capacity: int
) -> tuple[Any, ...]:
    in_axes = _lane_axes(search), 0 if np.ndim(start) else None

    def take(search: Search, start: Any) -> tuple[Any, ...]:
        return take_rows(directions, search, start, n, capacity)

    return jax.vmap(take, in_axes)(search, start)


def _lane_axes(search: Search) -> Any:
    """0 for each array of a search, None for what all lanes share."""
    of_one = Search(np.int32(0), State.empty(1, 1, 1, 1, np.float32), np.zeros((1, 1)))
    return jax.tree.map(lambda a, one: 0 if np.ndim(a) > np.ndim(one) else None, search, of_one)
