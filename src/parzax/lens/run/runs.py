"""Thousands of optimisation runs in chunks, with a progress bar and a folder to resume from."""

import os
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
from parzax.lens.run.chunks import Chunks, run_chunks
from parzax.lens.run.progress import is_shown
from parzax.samplers import Sampler, Trace
from parzax.samplers.loop import RunSize, check_run, replicate, run, with_auto_axis
from parzax.samplers.problem import DIRECTIONS

# Runs per chunk, which fits a core's cache.
_LANES = 32


@_checks.known_arguments(DIRECTIONS)
def optimize_many(
    keys: jax.Array,
    sampler: Sampler,
    problem: Any,
    n_evaluations: int,
    *,
    n_confirm: int = 0,
    n_parallel: int = 1,
    lanes: int = _LANES,
    folder: str | os.PathLike[str] | None = None,
    mesh: Mesh | None = None,
    progress: bool | None = None,
) -> Trace:
    """Many independent runs, in chunks of ``lanes`` runs that fit the cache, with one compilation.

    Args:
        keys: (s,) one key per run.
        sampler, problem, n_evaluations, n_confirm, n_parallel: as in `parzax.optimize`.
        lanes: runs per chunk, on each device.
        folder: where to keep finished chunks, one file each, as in `parzax.lens.run.map_chunks`. After a
            kill, the same call computes only the missing chunks and returns the same bits.
        mesh: devices, in a mesh with one axis; None computes on the default device. Each device does
            ``lanes`` runs at a time, and devices do not communicate.
        progress: whether to show a progress bar on stderr; None shows one on a terminal.

    Returns:
        A `parzax.samplers.Trace` with a leading axis of s runs, on the host. With the same ``lanes`` a run
        has the same bits whatever the other runs are, and on any number of devices of one kind, because every
        chunk is filled up to ``lanes`` runs. A different ``lanes`` compiles a different program, which may
        round sums differently.

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
    problem, of_run = check_run(sampler, problem, n_evaluations, n_confirm, n_parallel)
    lanes = _checks.whole_number("lanes", lanes, 1)
    if mesh is not None:
        mesh = with_auto_axis(mesh)
        keys, sampler, problem = replicate(mesh, (keys, sampler, problem))
    size = lanes * (1 if mesh is None else mesh.size)
    chunks = None
    if folder is not None:
        arrays, static = eqx.partition((sampler, problem), eqx.is_array)

        def text(keys: Any, arrays: Any) -> Any:
            sampler, problem = eqx.combine(arrays, static)
            return _chunk.__wrapped__(keys, sampler, problem, of_run, mesh)

        lowered = jax.jit(text).lower(jax.ShapeDtypeStruct((size,), keys.dtype), arrays)
        chunks = Chunks(folder, keys, arrays, size, lowered.as_text())
    widths, dtype = (len(sampler.space), problem.n_objectives, problem.n_constraints), jnp.result_type(float)
    like = [jax.ShapeDtypeStruct((size, of_run.n_evaluations, width), dtype) for width in widths]

    def compute(rows: np.ndarray) -> Any:
        return _chunk(_lane_keys(keys, rows), sampler, problem, of_run, mesh)

    rows, shown = np.arange(len(keys), dtype=np.int32), is_shown(progress)
    parts = run_chunks(compute, (rows,), len(keys), like, chunks, what="runs", shown=shown)
    return Trace(*parts, directions=sampler.directions, space=sampler.space)


@compiled
def _lane_keys(keys: jax.Array, rows: Int[Any, " lanes"]) -> jax.Array:
    return keys[rows]


@partial(compiled, size="large")
def _chunk(keys: jax.Array, sampler: Sampler, problem: Any, size: RunSize, mesh: Mesh | None) -> Any:
    runs = jax.vmap(lambda key: run(key, sampler, problem, size, 1, None))
    if mesh is None:
        return runs(keys)
    # Each device runs the program of one device on its own keys, so no collective is needed.
    split = P(mesh.axis_names)
    return jax.shard_map(runs, mesh=mesh, in_specs=split, out_specs=split, check_vma=False)(keys)
