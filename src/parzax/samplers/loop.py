"""Complete optimisation runs as one compiled scan; thousands of runs in chunks, with a progress bar."""

import os
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Int

from parzax import _checks
from parzax._compile import compiled
from parzax.lens.run.chunks import Chunks, digest, run_chunks
from parzax.lens.run.progress import is_shown
from parzax.samplers.arguments import call
from parzax.samplers.objective import RunSize, check_run, hashable, operations, sizes
from parzax.samplers.run import FEW_ROUNDS, run
from parzax.samplers.sampler import Sampler
from parzax.samplers.trace import Trace

# Runs per chunk, which fits a core's cache.
_LANES = 32
# A run of up to this many evaluations is short: its compilation takes most of the time. It is one scan, which
# halves that time and is slightly slower.
_ONE_SCAN = 256
# So many operations of all evaluations of a run take some 20 ms longer without optimisation.
_LIGHT = 2e6


def optimize(
    sampler: Sampler,
    problem: Any,
    key: jax.Array,
    n_evaluations: int,
    *,
    n_confirm: int = 0,
    n_parallel: int = 1,
    mesh: Mesh | None = None,
) -> Trace:
    """One run: ask, evaluate and tell until there are ``n_evaluations``, compiled as one program.

    It is compiled once for each combination of static sampler settings, problem, and static arguments below.
    Other keys and other values of arrays in the sampler or the problem use the same program. The function is
    pure: it can be vmapped over keys, the problem's leaves (thresholds, tables) and the sampler's settings.

    Args:
        sampler: a sampler such as `parzax.tpe`, for the space and the numbers of objectives and constraints
            of the problem. Objectives are optimised in the sampler's directions. A sampler without
            constraints ignores those of the problem and warns.
        problem: a `parzax.Problem`, or any pure function: ``problem(key, x)`` returns objectives (m,) and
            constraints (c,) of one configuration. Variables that the function uses must not change between
            calls.
        key: a typed PRNG key, not to be used again.
        n_evaluations: number of evaluations n; static.
        n_confirm: number of evaluations at the end that repeat good configurations, for noisy evaluations of
            one objective; static. Each is chosen by `parzax.samplers.Sampler.ask` with ``confirm=True``. With
            ``n_parallel`` the repeats are the first suggestions of the last rounds. A round repeats only
            configurations that earlier rounds evaluated. While all repeats have given equal losses, a run
            makes at most three repeats.
        n_parallel: number of configurations k per round; static. A round is one call of `ask` for k
            configurations, `jax.vmap` of the problem over them, and one `tell`. If n is not a multiple of k,
            the last round still evaluates k configurations, and the trace drops the surplus. Larger k needs
            fewer rounds, but usually more evaluations for the same loss (docs/studies/batches.md).
        mesh: devices for the k evaluations of a round, in a mesh with one axis; k must be a multiple of its
            size. Every device repeats the rest of the computation. With None, evaluations run where the
            arrays are. Not inside `jax.set_mesh` with axes of type Explicit.

    Returns:
        A `Trace` of n rows, in the order of evaluation.

    Raises:
        TypeError, ValueError: an invalid sampler, key or number of evaluations; a problem whose space,
            number of objectives or number of constraints differs from the sampler's; a space whose values
            float32 cannot tell apart, if that is the default dtype; a mesh that does not fit.

    Warns:
        UserWarning: the problem has constraints and the sampler has none.

    >>> import jax
    >>> import parzax as px
    >>> space = px.Space({"k": px.Categorical(["a", "b", "c"])})
    >>> problem = px.Problem(lambda key, x: abs(x[0] - 1), space)
    >>> trace = px.optimize(px.tpe(space), problem, jax.random.key(0), n_evaluations=15)
    >>> trace.x.shape, float(trace.best()[-1])
    ((15, 1), 0.0)
    """
    size = check_run(sampler, problem, n_evaluations, n_confirm, n_parallel)
    _checks.check_key(key)
    function = hashable(problem)
    if mesh is not None:
        mesh = _with_auto_axis(mesh)
        if size.n_parallel % mesh.size:
            raise ValueError(
                f"n_parallel must be a multiple of the {mesh.size} devices of mesh, got {n_parallel}."
            )
        sampler, function, key = _replicate(mesh, (sampler, function, key))
    rows = call(_run_alone, sampler, function, key, size, _ONE_SCAN, mesh)
    return Trace(*rows, directions=sampler.directions, space=sampler.space)


def optimize_many(
    sampler: Sampler,
    problem: Any,
    keys: jax.Array,
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
        sampler, problem, n_evaluations, n_confirm, n_parallel: as in `optimize`.
        keys: (s,) one key per run.
        lanes: runs per chunk, on each device.
        folder: where to keep finished chunks, one file each, as in `parzax.map_chunks`. After a kill, the
            same call computes only the missing chunks and returns the same bits.
        mesh: devices, in a mesh with one axis; None computes on the default device. Each device does
            ``lanes`` runs at a time, and devices do not communicate.
        progress: whether to show a progress bar on stderr; None shows one on a terminal.

    Returns:
        A `Trace` with a leading axis of s runs, on the host. With the same ``lanes`` a run has the same bits
        whatever the other runs are, and on any number of devices of one kind, because every chunk is filled
        up to ``lanes`` runs. A different ``lanes`` compiles a different program, which may round sums
        differently.

    Raises:
        TypeError, ValueError: as in `optimize`; also for keys that are not a vector of typed keys, a mesh
            with several axes, and a folder that holds other runs.
        OSError: a chunk cannot be written, such as on a full disk. Earlier chunks are kept.

    >>> import jax
    >>> import parzax as px
    >>> space = px.Space({"k": px.Categorical(["a", "b", "c"])})
    >>> problem = px.Problem(lambda key, x: abs(x[0] - 1), space)
    >>> keys = jax.random.split(jax.random.key(0), 3)
    >>> px.optimize_many(px.tpe(space), problem, keys, n_evaluations=5, lanes=3).x.shape
    (3, 5, 1)
    """
    of_run = check_run(sampler, problem, n_evaluations, n_confirm, n_parallel)
    if _checks.is_traced(keys):
        raise TypeError("keys are traced, but optimize_many runs on the host; use jax.vmap over optimize.")
    if not isinstance(keys, jax.Array) or not jnp.issubdtype(keys.dtype, jax.dtypes.prng_key):
        raise TypeError(f"keys must be typed, such as jax.random.split(jax.random.key(0), s), got {keys!r}.")
    if keys.ndim != 1:
        raise ValueError(f"keys must have shape (s,), got {keys.shape}; use jax.random.split(key, s).")
    lanes, function = _checks.whole_number("lanes", lanes, 1), hashable(problem)
    if mesh is not None:
        mesh = _with_auto_axis(mesh)
        sampler, function, keys = _replicate(mesh, (sampler, function, keys))
    size = lanes * (1 if mesh is None else mesh.size)
    chunks = None
    if folder is not None:
        arrays, static = eqx.partition((sampler, function), eqx.is_array)

        def text(arrays: Any, keys: Any) -> Any:
            sampler, function = eqx.combine(arrays, static)
            return _chunk.__wrapped__(sampler, function, keys, of_run, mesh)

        lowered = jax.jit(text).lower(arrays, jax.ShapeDtypeStruct((size,), keys.dtype))
        work = {"runs": len(keys), "size": size, **of_run._asdict()}
        digests = {"arrays": digest(arrays, keys), "function": digest(lowered.as_text())}
        chunks = Chunks(folder, work | digests)
    widths = (len(sampler.space), *sizes(sampler, problem))
    dtype = jnp.result_type(float)
    like = [jax.ShapeDtypeStruct((size, of_run.n_evaluations, width), dtype) for width in widths]

    def compute(rows: np.ndarray) -> Any:
        return call(_chunk, sampler, function, call(_lane_keys, keys, rows), of_run, mesh)

    rows, shown = np.arange(len(keys), dtype=np.int32), is_shown(progress)
    parts = run_chunks(compute, (rows,), len(keys), like, chunks, what="runs", shown=shown)
    return Trace(*parts, directions=sampler.directions, space=sampler.space)


def _with_auto_axis(mesh: Any) -> Mesh:
    """The same mesh with an axis of type Auto. An Explicit axis would refuse arrays not sharded yet."""
    if len(_checks.instance("mesh", mesh, Mesh, "a jax.sharding.Mesh").axis_names) != 1:
        raise ValueError(f"mesh must have one axis, got {mesh.axis_names}; use jax.make_mesh((n,), ('s',)).")
    if AxisType.Explicit in jax.sharding.get_abstract_mesh().axis_types:
        raise ValueError(
            "mesh= does not work inside jax.set_mesh of a mesh with Explicit axes; call it outside."
        )
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,))


def _replicate(mesh: Mesh, tree: Any) -> Any:
    """Put the arrays of a tree on every device of the mesh."""
    arrays, static = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, NamedSharding(mesh, P())), static)


def _size_of_run(
    sampler: Sampler, problem: Any, key: Any, size: RunSize, _least: int, _mesh: Mesh | None
) -> str:
    """Size of a run's work for the compiler: "small" for few rounds of light evaluations, on a CPU."""
    few = size.n_parallel > 1 and size.n_evaluations <= min(_ONE_SCAN, FEW_ROUNDS * size.n_parallel)
    if jax.default_backend() != "cpu" or not few:
        return "large"
    if size.n_evaluations * operations(problem, key, jnp.zeros(len(sampler.space))) <= _LIGHT:
        return "small"
    return "large"


# JAX would compile a new scan body in every call; `program` finds the earlier executable.
_run_alone = compiled(size=_size_of_run)(run)


@compiled
def _lane_keys(keys: jax.Array, rows: Int[Array, " lanes"]) -> jax.Array:
    return keys[rows]


@compiled(size="large")
def _chunk(sampler: Sampler, problem: Any, keys: jax.Array, size: RunSize, mesh: Mesh | None) -> Any:
    runs = jax.vmap(lambda key: run(sampler, problem, key, size, 1, None))
    if mesh is None:
        return runs(keys)
    # Each device runs the program of one device on its own keys, so no collective is needed.
    split = P(mesh.axis_names)
    return jax.shard_map(runs, mesh=mesh, in_specs=split, out_specs=split, check_vma=False)(keys)
