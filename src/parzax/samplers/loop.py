"""Complete optimisation runs: rounds of ask, evaluate and tell, compiled as one loop."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled, is_tracing
from parzax._progress import is_shown, progress_bar
from parzax.samplers.problem import DIRECTIONS, Problem, bind, call_traced
from parzax.samplers.repeats import signed
from parzax.samplers.sampler import Sampler, check_confirm, warn_of_unseen
from parzax.samplers.stop import Stop, as_rules
from parzax.samplers.trace import Trace
from parzax.space import Space
from parzax.split import State
from parzax.split.state import fit_rows

# Capacities of the state in a single run, of whose time compilation takes most; then they double.
_ALONE = (256, 1024, 4096)
# With n_parallel > 1, this many rounds take far less time than their compilation, so they share a capacity.
_FEW_ROUNDS = 32
# This many operations of all evaluations take some 80 ms longer without optimisation.
_LIGHT = 8e6
# Most steps of the bar of a run.
_BAR_STEPS = 100
# From this many configurations per round on, the first rounds may be compiled without optimisation.
_SEVERAL = 4

OnRound = Callable[[int, Any, State], object]


class Setup(NamedTuple):
    """What a run is made of; numbers of which no program depends on the values are arrays.

    ``n_confirm`` is None for a run without repeats at its end.
    """

    sampler: Sampler
    problem: Problem
    n_evaluations: Int[Any, ""]
    n_confirm: Int[Any, ""] | None
    n_parallel: int
    stop: tuple[Stop, ...]
    on_round: OnRound | None = None
    mesh: Mesh | None = None


class Search(NamedTuple):
    """A run under way: the number of its evaluations, the rows, and what the problem's constraints were."""

    done: Int[Any, ""]
    state: State
    constraints: Float[Any, "n c"]

    def resized(self, capacity: int) -> "Search":
        """The same rows with another capacity."""
        empty = np.full((capacity, self.constraints.shape[-1]), np.nan)
        return Search(self.done, self.state.resized(capacity), fit_rows(empty, self.constraints))


# Parts of a run: the capacity of its state, and the number of evaluations of the run at the end.
Stages: TypeAlias = Sequence[tuple[int, int]]


@_checks.known_arguments(DIRECTIONS)
def optimize(
    key: Array,
    sampler: Sampler,
    problem: Any,
    n_evaluations: int,
    *,
    state: State | None = None,
    stop: Any = None,
    on_round: OnRound | None = None,
    progress: bool | None = None,
    n_confirm: int = 0,
    n_parallel: int = 1,
    mesh: Mesh | None = None,
) -> Trace:
    """One run: ask, evaluate and tell until there are ``n_evaluations`` more, compiled as one loop.

    It is compiled once for each combination of static sampler settings, problem, and static arguments below.
    Other keys and other values of arrays in the sampler or the problem use the same program. The function is
    pure: it can be vmapped over keys, the problem's leaves (thresholds, tables) and the sampler's settings.
    `parzax.optimize_many` makes many runs in chunks, with files to resume from.

    Args:
        key: a typed PRNG key, not to be used again, except to go on from the ``state`` of its trace.
        sampler: a sampler such as `parzax.tpe`. Objectives are optimised in the sampler's directions. A
            sampler without constraints ignores those of the problem and warns. A problem that uses neither
            its key nor functions of the host is taken to have no noise: for it ``repeats=None`` of
            `parzax.samplers.Proposal` is False, whatever ``state`` has.
        problem: a `parzax.Problem`, or any pure function ``problem(key, x)`` of one configuration x (d,),
            which returns what the function of a `parzax.Problem` returns, such as a number. Variables that
            the function uses must not change between calls.
        n_evaluations: number of evaluations n; static.
        state: rows told before, by any sampler of the same space, such as ``trace.state`` or
            ``observations.to_state(sampler)``. The trace has only the new rows; the best of all is
            ``sampler.best(trace.state)``. The random numbers of a row depend on the key and on the number of
            the row. So 50 evaluations and then, with the same key and the state of the first trace, 50
            more equal 100 in one call, to the last bit, if 50 is a multiple of ``n_parallel``.
        stop: a rule of `parzax.stop`, or several, of which the first to fire ends the run; or any pure
            function of (sampler, state), traced, that returns a bool. It is asked before every round, the
            first included; a target that ``state`` has met leaves no rows. Rows that were not run are NaN,
            see `Trace.n_evaluations`.
        on_round: a function ``on_round(number, best, state)`` called on the host after each round, in order,
            with the number of the round in this call, from 1 on, the best feasible loss so far (of several
            objectives the best of each), and the state, to print, to plot or to `Sampler.save`. An exception
            ends the run. Within your own compiled code it is a callback, whose order JAX does not promise.
        progress: whether to show a bar on stderr; None shows one on a terminal and in a notebook. Compiled
            code of your own shows none.
        n_confirm: number of evaluations at the end that repeat good configurations, for noisy evaluations of
            one objective. Each is chosen by `parzax.samplers.Sampler.ask` with ``confirm=True``. With
            ``n_parallel`` the repeats are the first suggestions of the last rounds. A round repeats only
            configurations that earlier rounds evaluated. While all repeats have given equal losses, a run
            makes at most three repeats. If a run stops early, repeats are another call, with its state.
        n_parallel: number of configurations k per round; static. A round is one call of `ask` for k
            configurations, `jax.vmap` of the problem over them, and one `tell`. If n is not a multiple of k,
            the last round still evaluates k configurations, and the trace drops the surplus, which its state
            has. Larger k needs fewer rounds, but usually more evaluations for the same loss
            (docs/studies/batches.md).
        mesh: devices for the k evaluations of a round, in a mesh with one axis; k must be a multiple of its
            size. Every device repeats the rest of the computation. With None, evaluations run where the
            arrays are. Not inside `jax.set_mesh` with axes of type Explicit.

    Returns:
        A `Trace` of n rows, in the order of evaluation, with the final state.

    Raises:
        TypeError, ValueError: an invalid sampler, key or number of evaluations; a problem whose space,
            number of objectives or number of constraints differs from the sampler's; a state of another
            space; a space whose values float32 cannot tell apart, if that is the default dtype; a mesh that
            does not fit.

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
    setup = check_run(sampler, problem, n_evaluations, n_confirm, n_parallel, state, stop, on_round)
    traced = is_tracing() or _checks.is_traced(key, setup, state)
    if traced and progress:
        raise ValueError("progress=True shows no bar in compiled code of your own; use on_round there.")
    shown, n, k = is_shown(progress), int(setup.n_evaluations), setup.n_parallel
    first, stages = plan_stages(state, n, k, _ALONE)
    (capacity, _), (_, total) = stages[0], stages[-1]
    search = begin(setup, state, capacity)
    start = search.state.count
    if np.ndim(start):
        raise ValueError(f"state must be that of one run, got {len(start)}; use px.optimize_many.")
    setup = without_repeats(setup, key.dtype)
    if mesh is not None:
        mesh = with_auto_axis(mesh)
        if k % mesh.size:
            raise ValueError(
                f"n_parallel must be a multiple of the {mesh.size} devices of mesh, got {n_parallel}."
            )
        key, setup, search = replicate(mesh, (key, setup._replace(mesh=mesh), search))
    if traced:
        search = run(partial(_advance["large"], key, setup._replace(on_round=on_round)), search, stages)
    else:
        few = least_capacity(k, _ALONE) if is_light(key, setup) else 0

        def advance_from_host(search: Search, end: int) -> Search:
            program = _advance["small" if search.state.capacity <= few else "large"]
            return program(key, setup, search, np.int32(end))

        with progress_bar(n, "evaluations", shown, "compiling") as draw:

            def watch(search: Search, end: int) -> bool:
                """Show what was done; whether the run has stopped."""
                done, best = int(search.done), np.asarray(best_losses(sampler.directions, search.state))
                if on_round is not None:
                    _call_back(on_round, done == end, done // k, best, search.state)
                draw(min(done, n), "best " + " ".join(f"{loss:.4g}" for loss in best))
                return done < end

            pause = k if on_round else -(-total // (k * _BAR_STEPS)) * k if shown else total
            watched = watch if shown or on_round or setup.stop else None
            search = run(advance_from_host, search._replace(done=np.int32(0)), stages, pause, watched)
    rows = take_rows(sampler.directions, search, start, n, first + total)
    return Trace(*rows[:3], directions=sampler.directions, space=sampler.space, state=rows[3])


def advance(key: PRNGKeyArray, setup: Setup, search: Search, end: Any) -> Search:
    """Rounds of a run, until it has ``end`` evaluations or ``stop`` says so."""
    sampler, problem, n_evaluations, n_confirm, k, rules, on_round, mesh = setup

    def goes_on(search: Search) -> Any:
        more = search.done < end
        for rule in rules:
            answer = call_traced(rule, "Write def stop(sampler, state).", sampler, search.state)
            fires = _checks.real_array("the answer of stop", answer)
            _checks.check_shape("the answer of stop", fires)
            more &= jnp.logical_not(fires)
        return more

    def one_round(search: Search) -> Search:
        done, state, rows = search
        # Random numbers depend on the number of the row alone, not on where the run began or will end.
        ask, evaluation = jax.random.split(jax.random.fold_in(key, state.count))
        confirm: Any = False
        if n_confirm is not None:
            # Repeats are the first suggestions of a round, so that all of them are in the trace.
            n_later = jnp.maximum(n_evaluations - done - k, 0)
            confirm = jnp.arange(k) < n_confirm - n_later
        x = sampler.ask(ask, state, k, confirm=confirm)
        losses, constraints = evaluate(evaluation, problem, x, mesh)
        rows = jax.lax.dynamic_update_slice_in_dim(rows, constraints, state.count, axis=0)
        state = sampler.tell(state, x, losses, constraints[:, : sampler.n_constraints])
        if on_round is not None:
            # Under `jax.vmap` rounds are computed for runs that have stopped, too.
            call, best = partial(_call_back, on_round), best_losses(sampler.directions, state)
            jax.debug.callback(call, goes_on(search), done // k + 1, best, state)
        return Search(done + k, state, rows)

    if not rules and isinstance(end, int):
        # A loop of fixed length can be differentiated in reverse mode.
        done, rows = search.done, search[1:]

        def next_round(i: Any, rows: Any) -> Any:
            return one_round(Search(done + i * k, *rows))[1:]

        return Search(end, *jax.lax.fori_loop(0, (end - done) // k, next_round, rows))
    return jax.lax.while_loop(goes_on, one_round, search._replace(done=jnp.asarray(search.done, jnp.int32)))


# JAX would compile a new loop in every call; `compiled` finds the earlier executable.
_advance = {work: compiled(advance, work) for work in ("small", "large")}
_resized = compiled(Search.resized)


def run(
    advance: Callable[[Search, int], Search],
    search: Search,
    stages: Stages,
    pause: int | None = None,
    watch: Callable[[Search, int], bool] | None = None,
) -> Search:
    """All rounds of a run.

    ``advance`` runs rounds until there is a given number of evaluations. After at most ``pause`` of them
    ``watch`` sees the run, and says whether it has stopped.
    """
    done = 0
    for capacity, end in stages:
        search = search if search.state.capacity == capacity else _resized(search, capacity)
        while done < end:
            done = min(done + (pause or end), end)
            search = advance(search, done)
            if watch is not None and watch(search, done):
                return search
    return search


def begin(setup: Setup, state: State | None, capacity: int) -> Search:
    """A run before its first round, with the rows of a state, or none."""
    state = setup.sampler.init(capacity) if state is None else state
    shape = (*np.shape(state.count), state.capacity, setup.problem.n_constraints)
    return Search(0, state, np.full(shape, np.nan, state.x.dtype))


def plan_stages(
    state: State | None, n_evaluations: int, n_parallel: int, steps: Sequence[int]
) -> tuple[int, Stages]:
    """Rows before a run (of a traced state, its capacity), and the stages that the run goes through.

    The capacity of a round depends on the number of its first row alone, not on where the run began or will
    end, so that sums in a part of a run are rounded as in the whole run. On a CPU the last capacity is just
    large enough, because sums over rows are in order there, and absent rows add zeros at their end.
    """
    first, k = 0, n_parallel
    if state is not None:
        count = state.capacity if _checks.is_traced(state) else jax.device_get(state.count)
        first = int(np.max(count, initial=0))
    total, capacities = -(-n_evaluations // k) * k, [least_capacity(k, steps)]
    while capacities[-1] < first + total:
        capacities.append(next((step for step in steps if step > capacities[-1]), 2 * capacities[-1]))
    if jax.default_backend() == "cpu":
        # A multiple of 32, because processors compute with vectors.
        capacities[-1] = min(capacities[-1], -(-(first + total) // 32) * 32)
    ends = ((capacity, min((capacity - first) // k * k, total)) for capacity in capacities)
    return first, [(capacity, end) for capacity, end in ends if end > 0]


def least_capacity(n_parallel: int, steps: Sequence[int]) -> int:
    """The capacity of the first rounds of a run."""
    return max(steps[0], _FEW_ROUNDS * n_parallel)


@compiled
def take_rows(
    directions: tuple[str, ...], search: Search, start: Any, n: int, capacity: int
) -> tuple[Array, Array, Array, State]:
    """n rows from ``start`` on: values, losses, constraints; and the state with a capacity."""
    _, state, constraints = search.resized(capacity)
    x, losses, constraints = (
        jax.lax.dynamic_slice_in_dim(rows, start, n) for rows in (state.x, state.losses, constraints)
    )
    return x, signed(directions, losses), constraints, state


@compiled
def best_losses(directions: tuple[str, ...], states: State) -> Float[Array, "*s m"]:
    """The best feasible value of each objective, in its direction, of a state or of several."""

    def best(state: State) -> Float[Array, " m"]:
        losses = jnp.where(state.feasible[:, None], state.losses, jnp.inf)
        return signed(directions, losses.min(axis=0, keepdims=True))[0]

    return jax.vmap(best)(states) if np.ndim(states.count) else best(states)


def _call_back(on_round: OnRound, was_run: Any, number: Any, best: Any, state: State) -> None:
    if was_run:
        on_round(int(number), float(best[0]) if len(best) == 1 else np.asarray(best), state)


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


def check_run(
    sampler: Any,
    problem: Any,
    n_evaluations: Any,
    n_confirm: Any = 0,
    n_parallel: Any = 1,
    state: Any = None,
    stop: Any = None,
    on_round: Any = None,
) -> Setup:
    """What a run is made of; raises for invalid arguments, or another kind of problem or state."""
    _checks.instance(
        "sampler", sampler, Sampler, "a parzax sampler such as px.tpe(space)", ", before problem"
    )
    if state is not None:
        sampler.check_state(state)
        sampler.check_space(state)
    n_evaluations = _checks.whole_number("n_evaluations", n_evaluations, 1)
    n_confirm = _checks.whole_number("n_confirm", n_confirm, 0, n_evaluations)
    n_parallel = _checks.whole_number("n_parallel", n_parallel, 1)
    _checks.instance("on_round", on_round, Callable | None, "a function of (number, best, state)")
    if n_confirm:
        check_confirm("n_confirm", sampler)
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
    n_repeats = np.int32(n_confirm) if n_confirm else None
    return Setup(sampler, problem, np.int32(n_evaluations), n_repeats, n_parallel, as_rules(stop))


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
    arrays, static = eqx.partition(tree, lambda leaf: eqx.is_array(leaf) or isinstance(leaf, np.ndarray))
    return eqx.combine(jax.device_put(arrays, NamedSharding(mesh, P())), static)


def without_repeats(setup: Setup, key_type: Any) -> Setup:
    """The run without repeats to look for noise, if its problem can have none."""
    sampler = setup.sampler
    if sampler.proposal.repeats is None and not may_have_noise(setup.problem, key_type):
        sampler = replace(sampler, proposal=replace(sampler.proposal, repeats=False))
    return setup._replace(sampler=sampler)


@compiled
def may_have_noise(problem: Problem, key_type: Any) -> bool:
    """Whether a problem uses its key, or functions of the host, which may have noise of their own."""
    given = jax.ShapeDtypeStruct((), key_type), jnp.zeros(len(problem.space))
    try:
        # JAX would compare two problems, and their arrays.
        jaxpr = jax.make_jaxpr(lambda *given: problem(*given))(*given).jaxpr
    except NameError:  # it uses the axis of a mesh
        return True
    return _uses(jaxpr, 0) or any(name in str(jaxpr) for name in ("pure_callback", "io_callback"))


def _uses(jaxpr: Any, i: int) -> bool:
    """Whether a program uses its i-th argument; a compiled function that it hands it to may not use it."""
    key = jaxpr.invars[i]
    takers = [(step, k) for step in jaxpr.eqns for k, v in enumerate(step.invars) if v is key]
    used = (step.primitive.name != "jit" or _uses(step.params["jaxpr"].jaxpr, k) for step, k in takers)
    return any(v is key for v in jaxpr.outvars) or any(used)


def is_light(key: Any, setup: Setup) -> bool:
    """Whether the first rounds take less time than their optimisation by the compiler of a CPU."""
    n_parallel = setup.n_parallel
    if n_parallel < _SEVERAL or jax.default_backend() != "cpu":
        return False
    arrays, static = eqx.partition(setup.problem, eqx.is_array)
    traced = jax.jit(lambda arrays, key, x: eqx.combine(arrays, static)(key, x)).trace(
        arrays, key, jnp.zeros(len(setup.sampler.space))
    )
    # XLA counts the body of a loop once.
    text, cost = str(traced.jaxpr), traced.lower().cost_analysis()
    if cost is None or "scan[" in text or "while[" in text:
        return False
    n_operations = sum(float(cost.get(kind, 0.0)) for kind in ("flops", "transcendentals"))
    return n_operations * least_capacity(n_parallel, _ALONE) <= _LIGHT
