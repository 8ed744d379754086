"""Complete optimisation runs: ask, evaluate and tell, compiled as one program."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import capacity
from parzax.samplers.problem import DIRECTIONS, Problem, bind
from parzax.samplers.sampler import Sampler, check_confirm, warn_of_unseen
from parzax.samplers.trace import Trace
from parzax.space import Space
from parzax.split import State

# A run of up to this many evaluations is short: its compilation takes most of the time. It is one scan, which
# halves that time and is slightly slower.
_ONE_SCAN = 256
# With n_parallel > 1, a run of up to so many rounds takes far less time than its compilation. It is one scan,
# because a second one would cost more to compile than it saves.
_FEW_ROUNDS = 32
# So many operations of all evaluations of a run take some 20 ms longer without optimisation.
_LIGHT = 2e6

Rows = tuple[Float[Array, "n d"], Float[Array, "n m"], Float[Array, "n c"]]


class RunSize(NamedTuple):
    """Numbers of evaluations of a run: in total, reserved for repeats, and per round."""

    n_evaluations: int
    n_confirm: int = 0
    n_parallel: int = 1


@_checks.known_arguments(DIRECTIONS)
def optimize(
    key: Array,
    sampler: Sampler,
    problem: Any,
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
    `parzax.optimize_many` makes many runs in chunks, with files to resume from.

    Args:
        key: a typed PRNG key, not to be used again.
        sampler: a sampler such as `parzax.tpe`. Objectives are optimised in the sampler's directions. A
            sampler without constraints ignores those of the problem and warns.
        problem: a `parzax.Problem`, or any pure function ``problem(key, x)`` of one configuration x (d,),
            which returns what the function of a `parzax.Problem` returns, such as a number. Variables that
            the function uses must not change between calls.
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
    >>> trace = px.optimize(jax.random.key(0), px.tpe(space), lambda key, x: abs(x[0] - 1), 15)
    >>> trace.x.shape, float(trace.best_losses()[-1])
    ((15, 1), 0.0)
    """
    _checks.instance("key", key, jax.Array, "a typed key such as jax.random.key(0)", "; the key comes first")
    _checks.check_key(key)
    problem, size = check_run(sampler, problem, n_evaluations, n_confirm, n_parallel)
    if mesh is not None:
        mesh = with_auto_axis(mesh)
        if size.n_parallel % mesh.size:
            raise ValueError(
                f"n_parallel must be a multiple of the {mesh.size} devices of mesh, got {n_parallel}."
            )
        key, sampler, problem = replicate(mesh, (key, sampler, problem))
    rows = _run_alone(key, sampler, problem, size, _ONE_SCAN, mesh)
    return Trace(*rows, directions=sampler.directions, space=sampler.space)


def run(
    key: PRNGKeyArray, sampler: Sampler, problem: Problem, size: RunSize, least: int, mesh: Mesh | None
) -> Rows:
    """All evaluations of a run: the loop `ask`, evaluate, `tell`.

    A run of up to ``least`` evaluations is one scan, see `split_scans`.
    """
    n, k = size.n_evaluations, size.n_parallel

    def step(state: State, of_step: tuple[PRNGKeyArray, Bool[Array, " k"] | None]) -> tuple[State, Rows]:
        key, confirm = of_step
        ask, evaluation = jax.random.split(key)
        x = sampler.ask(ask, state, k, confirm=False if confirm is None else confirm)
        losses, constraints = evaluate(evaluation, problem, x, mesh)
        state = sampler.tell(state, x, losses, constraints[:, : sampler.n_constraints])
        return state, (x, losses, constraints)

    n_rounds = -(-n // k)
    parts, state, keys = [], sampler.init(1), jax.random.split(key, n_rounds)
    # Repeats are the first suggestions of a round, so that all of them are in the trace.
    n_repeats = np.clip(np.minimum(np.arange(k, n + k, k), n) - (n - size.n_confirm), 0, k)
    confirm = jnp.asarray(np.arange(k) < n_repeats[:, None])
    for start, stop in split_scans(n, max(least, _FEW_ROUNDS * k) if k > 1 else least):
        first, last = -(-start // k), -(-stop // k)
        of_steps = keys[first:last], confirm[first:last] if size.n_confirm else None
        state, part = jax.lax.scan(step, sampler.grow(state, last * k), of_steps)
        parts.append(part)
    x, losses, constraints = (
        jnp.concatenate(arrays).reshape(n_rounds * k, arrays[0].shape[-1])[:n]
        for arrays in zip(*parts, strict=True)
    )
    return x, losses, constraints


def evaluate(
    key: PRNGKeyArray, problem: Problem, x: Float[Array, "k d"], mesh: Mesh | None
) -> tuple[Float[Array, "k m"], Float[Array, "k c"]]:
    """The problem at k configurations, side by side; each device of a mesh evaluates some of them."""

    def one(key: PRNGKeyArray, x: Float[Array, " d"]) -> tuple[Array, Array]:
        losses, constraints = problem(key, x)
        return losses.astype(x.dtype), constraints.astype(x.dtype)

    if len(x) == 1:
        return jax.tree.map(lambda a: a[None], one(key, x[0]))
    keys = jax.random.split(key, len(x))
    if mesh is None:
        return jax.vmap(one)(keys, x)
    split = P(mesh.axis_names)
    sharded = jax.shard_map(jax.vmap(one), mesh=mesh, in_specs=split, out_specs=split, check_vma=False)
    return jax.lax.with_sharding_constraint(sharded(keys, x), NamedSharding(mesh, P()))


def split_scans(n_evaluations: int, least: int) -> Sequence[tuple[int, int]]:
    """First step and capacity of each scan of a run. The next scan begins when the capacity is reached.

    All scans have about the same number of steps. The first ones have less capacity, so their steps compute
    with fewer absent rows. A run of up to ``least`` evaluations is one scan.
    """
    n_scans, size = 1, capacity(least)
    while size < n_evaluations:
        n_scans, size = n_scans + 1, capacity(size + 1)
    # Capacities are multiples of 32, because processors compute with vectors.
    size, most = (-(-n // 32) * 32 for n in (-(-n_evaluations // n_scans), n_evaluations))
    return [(start, min(start + size, most)) for start in range(0, n_evaluations, size)]


def check_run(
    sampler: Any, problem: Any, n_evaluations: Any, n_confirm: Any, n_parallel: Any
) -> tuple[Problem, RunSize]:
    """The problem and the size of a run; raises for invalid arguments, or another kind of problem."""
    _checks.instance(
        "sampler", sampler, Sampler, "a parzax sampler such as px.tpe(space)", ", before problem"
    )
    size = RunSize(
        _checks.whole_number("n_evaluations", n_evaluations, 1),
        _checks.whole_number("n_confirm", n_confirm, 0, n_evaluations),
        _checks.whole_number("n_parallel", n_parallel, 1),
    )
    if size.n_confirm:
        check_confirm("n_confirm", sampler)
    sampler.space.check_dtype(jnp.result_type(float), native=True, arrays=False)
    problem = bind(problem, sampler.space, sampler.n_objectives, sampler.n_constraints)
    given = {name: getattr(problem, name) for name in ("space", "n_objectives", "n_constraints")}
    if problem.n_constraints and not sampler.n_constraints:
        warn_of_unseen("the problem has", given.pop("n_constraints"))
    for name, value in given.items():
        wanted = getattr(sampler, name)
        # Only the function of a problem looks at the structure of a space.
        same = value == wanted
        if isinstance(value, Space):
            same = wanted.agrees_with(value) and value.valid in ((), wanted.valid)
        if not same:
            remedy = "make the sampler of problem.space" if name == "space" else f"give both the same {name}"
            raise ValueError(f"problem.{name} is {value!r}, but the sampler's is {wanted!r}; {remedy}.")
    return problem, size


def with_auto_axis(mesh: Any) -> Mesh:
    """The same mesh with an axis of type Auto. An Explicit axis would refuse arrays not sharded yet."""
    if len(_checks.instance("mesh", mesh, Mesh, "a jax.sharding.Mesh").axis_names) != 1:
        raise ValueError(f"mesh must have one axis, got {mesh.axis_names}; use jax.make_mesh((n,), ('s',)).")
    if AxisType.Explicit in jax.sharding.get_abstract_mesh().axis_types:
        raise ValueError(
            "mesh= does not work inside jax.set_mesh of a mesh with Explicit axes; call it outside."
        )
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,))


def replicate(mesh: Mesh, tree: Any) -> Any:
    """Put the arrays of a tree on every device of the mesh."""
    arrays, static = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, NamedSharding(mesh, P())), static)


def _count_operations(problem: Any, key: Any, x: Any) -> float:
    """XLA's count of operations of one evaluation; infinite if it is unknown, or with a `jax.lax` loop."""
    arrays, static = eqx.partition(problem, eqx.is_array)
    traced = jax.jit(lambda arrays, key, x: eqx.combine(arrays, static)(key, x)).trace(arrays, key, x)
    # XLA counts the body of a loop once.
    text, cost = str(traced.jaxpr), traced.lower().cost_analysis()
    if cost is None or "scan[" in text or "while[" in text:
        return float("inf")
    return sum(float(cost.get(kind, 0.0)) for kind in ("flops", "transcendentals"))


def _size_of_run(
    key: Any, sampler: Sampler, problem: Any, size: RunSize, _least: int, _mesh: Mesh | None
) -> str:
    """Size of a run's work for the compiler: "small" for few rounds of light evaluations, on a CPU."""
    few = size.n_parallel > 1 and size.n_evaluations <= min(_ONE_SCAN, _FEW_ROUNDS * size.n_parallel)
    if jax.default_backend() != "cpu" or not few:
        return "large"
    x = jnp.zeros(len(sampler.space))
    return "small" if size.n_evaluations * _count_operations(problem, key, x) <= _LIGHT else "large"


# JAX would compile a new scan body in every call; `compiled` finds the earlier executable.
_run_alone = compiled(run, _size_of_run)
