"""The problem of a run: a function that compiled programs can hold, checked beside the sampler."""

import warnings
from contextlib import suppress
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from parzax import _checks
from parzax.samplers.arguments import warn_of_unseen
from parzax.samplers.sampler import Sampler, check_confirm
from parzax.space import Space, check_dtype


class RunSize(NamedTuple):
    """Numbers of evaluations of a run: in total, reserved for repeats, and per round."""

    n_evaluations: int
    n_confirm: int = 0
    n_parallel: int = 1


def hashable(problem: Any) -> Any:
    """A hashable problem. One without a hash is wrapped in a new function, so every call compiles again."""
    try:
        hash(tuple(leaf for leaf in jax.tree.leaves(problem) if not eqx.is_array(leaf)))
    except TypeError:
        return lambda key, x: problem(key, x)
    return problem


def check_run(sampler: Any, problem: Any, n_evaluations: Any, n_confirm: Any, n_parallel: Any) -> RunSize:
    """The size of a run; raises for invalid arguments, or another kind of problem."""
    _checks.instance("sampler", sampler, Sampler, "a parzax sampler such as px.tpe(space)")
    n_evaluations = _checks.whole_number("n_evaluations", n_evaluations, 1)
    n_confirm = _checks.whole_number("n_confirm", n_confirm, 0, n_evaluations)
    n_parallel = _checks.whole_number("n_parallel", n_parallel, 1)
    if n_confirm:
        check_confirm("n_confirm", sampler)
    check_dtype(sampler.space, jnp.result_type(float), native=True, arrays=False)
    space, (n_objectives, n_constraints) = getattr(problem, "space", sampler.space), sizes(sampler, problem)
    given = {"space": space, "n_objectives": n_objectives, "n_constraints": n_constraints}
    if n_constraints and not sampler.n_constraints:
        warn_of_unseen("the problem has", given.pop("n_constraints"))
    for name, value in given.items():
        wanted = getattr(sampler, name)
        # Only the function of a problem looks at the structure of a space.
        same = wanted.agrees_with(value) if isinstance(value, Space) else value == wanted
        if not same:
            raise ValueError(f"problem.{name} is {value!r}, but the sampler's is {wanted!r}.")
    return RunSize(n_evaluations, n_confirm, n_parallel)


def operations(problem: Any, key: Any, x: Any) -> float:
    """XLA's count of operations of one evaluation; infinite if it is unknown, or with a `jax.lax` loop."""
    arrays, static = eqx.partition(problem, eqx.is_array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the trace of the run has given them
        traced = jax.jit(lambda arrays, key, x: eqx.combine(arrays, static)(key, x)).trace(arrays, key, x)
    # XLA counts the body of a loop once.
    text, cost = str(traced.jaxpr), traced.lower().cost_analysis()
    if cost is None or "scan[" in text or "while[" in text:
        return float("inf")
    return sum(float(cost.get(kind, 0.0)) for kind in ("flops", "transcendentals"))


def sizes(sampler: Sampler, problem: Any) -> tuple[int, int]:
    """Numbers of objectives and constraints of a problem, by its attributes or its result shapes."""
    with suppress(AttributeError):
        return problem.n_objectives, problem.n_constraints
    try:
        parts = jax.eval_shape(lambda: problem(jax.random.key(0), jnp.zeros(len(sampler.space))))
    except TypeError as error:
        error.add_note("A plain function gets a vector; parzax.Problem.from_params gives it values by name.")
        raise
    shapes = [jnp.shape(part) for part in parts] if isinstance(parts, tuple) else [jnp.shape(parts)]
    if [len(shape) for shape in shapes] != [1, 1]:
        raise ValueError(
            "problem(key, x) must give a tuple of objectives (m,) and constraints (c,), got shapes "
            f"{', '.join(map(str, shapes))}; parzax.Problem also takes a number alone."
        )
    if isinstance(parts, tuple) and parts[1].dtype == bool:
        raise TypeError("the constraints of problem are booleans; return numbers, satisfied where <= 0.")
    (n_objectives,), (n_constraints,) = shapes
    return n_objectives, n_constraints
