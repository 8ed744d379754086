"""Whole optimisation runs as one compiled scan, and thousands of them in chunks."""

import sys
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from parzax import _checks
from parzax.observations import capacity
from parzax.samplers.engine import Sampler, State
from parzax.samplers.progress import progress_bar

# Runs that share a chunk: more do not stay in a core's cache.
_LANES = 32


class Trace(eqx.Module):
    """What a run evaluated, in order; a leading axis of runs from `optimize_many`.

    Attributes:
        x: (..., n, d) native values.
        objectives: (..., n, m) losses.
        constraints: (..., n, c) values, satisfied where <= 0.
    """

    x: Float[Array, "... n d"]
    objectives: Float[Array, "... n m"]
    constraints: Float[Array, "... n c"]

    @property
    def feasible(self) -> Array:
        """(..., n) whether all constraints are satisfied."""
        return (self.constraints <= 0).all(axis=-1)

    def best(self, objective: int = 0) -> Array:
        """(..., n) best feasible value so far; +inf before there is one.

        Raises:
            ValueError: an objective that is none of 0, ..., m - 1.
        """
        objective = _checks.whole_number("objective", objective, 0, self.objectives.shape[-1] - 1)
        value = self.objectives[..., objective]
        usable = self.feasible & ~jnp.isnan(value)
        return jax.lax.cummin(jnp.where(usable, value, jnp.inf), axis=value.ndim - 1)


def optimize(sampler: Sampler, problem: Any, key: jax.Array, n_evaluations: int) -> Trace:
    """One run: ask, evaluate, tell, ``n_evaluations`` times, as one scan.

    Compiled once per sampler's settings, problem and number of evaluations; other keys, and other values of
    what is an array in the sampler or the problem, use the same program. Pure: vmap it over keys, over a
    problem's leaves (thresholds, tables) and over the sampler's settings.

    Args:
        sampler: `parzax.tpe` and so on, for the problem's space and number of objectives, and for its
            number of constraints or none: it then does not see them.
        problem: ``problem(key, x)`` gives objectives (m,) and constraints (c,) of one configuration; a
            `parzax.Problem`, or any pure function. What a function refers to must not change between calls.
        key: consumed.
        n_evaluations: static.

    Returns:
        A `Trace` of n rows, in order.

    Raises:
        TypeError, ValueError: a sampler, key or number of evaluations that is none, and a problem of another
            space or with other numbers of objectives and constraints than the sampler's.

    >>> import jax
    >>> import parzax as px
    >>> space = px.Space({"k": px.Categorical(["a", "b", "c"])})
    >>> problem = px.Problem(lambda key, x: abs(x[0] - 1), space)
    >>> trace = px.optimize(px.tpe(space), problem, jax.random.key(0), n_evaluations=15)
    >>> trace.x.shape, float(trace.best()[-1])
    ((15, 1), 0.0)
    """
    n_evaluations = check(sampler, problem, n_evaluations)
    _checks.check_key(key)
    return _one(sampler, hashable(problem), key, n_evaluations)


def optimize_many(
    sampler: Sampler,
    problem: Any,
    keys: jax.Array,
    n_evaluations: int,
    *,
    lanes: int = _LANES,
    progress: bool | None = None,
) -> Trace:
    """Many runs, in chunks of ``lanes`` that fit the cache; one compilation.

    Args:
        sampler, problem, n_evaluations: as for `optimize`.
        keys: (s,) one key per run.
        lanes: runs per chunk.
        progress: whether to show a progress bar on stderr; None shows one on a terminal.

    Returns:
        A `Trace` with a leading axis of s runs, on the host. A run is the same to the last bit whatever other
        runs there are, for the same ``lanes``: every chunk is filled up to that many. Another number of lanes
        is another program, whose sums may round otherwise.

    Raises:
        TypeError, ValueError: as for `optimize`; keys that are no vector of typed keys.

    >>> import jax
    >>> import parzax as px
    >>> space = px.Space({"k": px.Categorical(["a", "b", "c"])})
    >>> problem = px.Problem(lambda key, x: abs(x[0] - 1), space)
    >>> keys = jax.random.split(jax.random.key(0), 3)
    >>> px.optimize_many(px.tpe(space), problem, keys, n_evaluations=5, lanes=3).x.shape
    (3, 5, 1)
    """
    n_evaluations = check(sampler, problem, n_evaluations)
    if not isinstance(keys, jax.Array) or not jnp.issubdtype(keys.dtype, jax.dtypes.prng_key):
        raise TypeError(f"keys must be typed, such as jax.random.split(jax.random.key(0), s), got {keys!r}.")
    if keys.ndim != 1:
        raise ValueError(f"keys must have shape (s,), got {keys.shape}; use jax.random.split(key, s).")
    lanes, call = _checks.whole_number("lanes", lanes, 1), hashable(problem)
    show = sys.stderr.isatty() if progress is None else progress
    parts = []
    with progress_bar(len(keys), "runs", shown=show and len(keys) > 0) as update:
        for start in range(0, len(keys), lanes):
            # The last chunk is filled with copies: one program serves all, whose rounding is one.
            own = keys[jnp.minimum(jnp.arange(start, start + lanes), len(keys) - 1)]
            parts.append(jax.tree.map(np.asarray, _chunk(sampler, call, own, n_evaluations)))
            update(min(start + lanes, len(keys)))
    if not parts:
        n_constraints = getattr(problem, "n_constraints", sampler.n_constraints)
        widths = (len(sampler.space), sampler.n_objectives, n_constraints)
        none = Trace(*(jnp.zeros((0, n_evaluations, width)) for width in widths))
        return jax.tree.map(np.asarray, none)
    return jax.tree.map(lambda *a: np.concatenate(a)[: len(keys)], *parts)


def _run(sampler: Sampler, problem: Any, key: jax.Array, n_evaluations: int) -> Trace:
    def step(state: State, own: jax.Array) -> tuple[State, Trace]:
        ask, evaluate = jax.random.split(own)
        x = sampler.ask(ask, state)
        objectives, constraints = (row[None].astype(x.dtype) for row in problem(evaluate, x[0]))
        known = constraints[:, : sampler.n_constraints]
        return sampler.tell(state, x, objectives, known), Trace(x[0], objectives[0], constraints[0])

    # One scan per capacity, so that the first rows do not wait for the room of the last.
    parts, start = [], 0
    state = sampler.init(capacity(min(n_evaluations, 1)))
    keys = jax.random.split(key, n_evaluations)
    while start < n_evaluations:
        state = state.grown(sampler.space, capacity(start + 1))
        stop = min(n_evaluations, state.capacity)
        state, part = jax.lax.scan(step, state, keys[start:stop])
        parts.append(part)
        start = stop
    return jax.tree.map(lambda *a: jnp.concatenate(a), *parts)


# A body of a scan that is made anew is compiled anew; what is compiled here is found again.
_one = eqx.filter_jit(_run)


@eqx.filter_jit
def _chunk(sampler: Sampler, problem: Any, keys: jax.Array, n_evaluations: int) -> Trace:
    return jax.vmap(lambda key: _run(sampler, problem, key, n_evaluations))(keys)


def hashable(problem: Any) -> Any:
    """The problem; one without a hash (a dataclass, which may change) as a function made for this call.

    It is compiled anew in every call, so that no change of it is missed.
    """
    try:
        hash(tuple(leaf for leaf in jax.tree.leaves(problem) if not eqx.is_array(leaf)))
    except TypeError:
        return lambda key, x: problem(key, x)
    return problem


def check(sampler: Any, problem: Any, n_evaluations: Any) -> int:
    """The number of evaluations; the sampler and the problem must speak of the same things."""
    if not isinstance(sampler, Sampler):
        raise TypeError(f"sampler must be a parzax sampler such as px.tpe(space), got {sampler!r}.")
    n_evaluations = _checks.whole_number("n_evaluations", n_evaluations, 1)
    for name in ("space", "n_objectives", "n_constraints"):
        theirs = getattr(problem, name, None)
        unseen = name == "n_constraints" and sampler.n_constraints == 0
        if theirs is not None and theirs != getattr(sampler, name) and not unseen:
            raise ValueError(
                f"problem.{name} is {theirs!r}, but the sampler's is {getattr(sampler, name)!r}."
            )
    return n_evaluations
