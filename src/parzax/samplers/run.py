"""One optimisation run as scans over rounds of asking, evaluating and telling."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from parzax._numerics import capacity
from parzax.samplers.best import signed
from parzax.samplers.objective import RunSize
from parzax.samplers.sampler import Sampler
from parzax.split import State

# With n_parallel > 1, a run of up to so many rounds takes far less time than its compilation. It is one scan,
# because a second one would cost more to compile than it saves.
FEW_ROUNDS = 32

Rows = tuple[Float[Array, "n d"], Float[Array, "n m"], Float[Array, "n c"]]


def run(
    sampler: Sampler, problem: Any, key: PRNGKeyArray, size: RunSize, least: int, mesh: Mesh | None
) -> Rows:
    """All evaluations of a run. One of up to ``least`` evaluations is one scan, see `split_scans`."""
    dtype, widths = jnp.result_type(float), (len(sampler.space), sampler.n_objectives, sampler.n_constraints)
    n, k = size.n_evaluations, size.n_parallel
    basis, every = sampler.smoothing.basis(sampler.space, dtype), sampler.every_point(k, dtype)

    def step(
        state: State, of_step: tuple[PRNGKeyArray, Bool[Array, "*k"] | None]
    ) -> tuple[State, tuple[Array, Array, Array]]:
        key, confirm = of_step
        ask, evaluate = jax.random.split(key)
        x, at = sampler.strategy.suggest(basis, ask, state, k, every=every, confirm=confirm)
        objectives, constraints = (rows.astype(dtype) for rows in evaluate_round(problem, evaluate, x, mesh))
        losses, only = signed(sampler.directions, objectives), jnp.zeros(k, bool)
        state = state.add(x, at, losses, constraints[:, : sampler.n_constraints], only)
        return state, (x, objectives, constraints)

    n_rounds = -(-n // k)
    parts, state, keys = [], State.empty(*widths, 0, dtype), jax.random.split(key, n_rounds)
    # Repeats are the first suggestions of a round, so that all of them are in the trace.
    n_repeats = np.clip(np.minimum(np.arange(k, n + k, k), n) - (n - size.n_confirm), 0, k)
    confirm = jnp.asarray(n_repeats > 0 if k == 1 else np.arange(k) < n_repeats[:, None])
    for start, stop in split_scans(n, max(least, FEW_ROUNDS * k) if k > 1 else least):
        first, last = -(-start // k), -(-stop // k)
        state = jax.tree.map(jnp.asarray, state.grown(last * k))
        of_steps = keys[first:last], confirm[first:last] if size.n_confirm else None
        state, part = jax.lax.scan(step, state, of_steps)
        parts.append(part)
    x, objectives, constraints = (
        jnp.concatenate(arrays).reshape(n_rounds * k, arrays[0].shape[-1])[:n]
        for arrays in zip(*parts, strict=True)
    )
    return x, objectives, constraints


def evaluate_round(
    problem: Any, key: PRNGKeyArray, x: Float[Array, "k d"], mesh: Mesh | None
) -> tuple[Float[Array, "k m"], Float[Array, "k c"]]:
    """The problem at k configurations, side by side; each device of a mesh evaluates some of them."""
    if len(x) == 1:
        objectives, constraints = problem(key, x[0])
        return objectives[None], constraints[None]
    evaluate, keys = jax.vmap(lambda key, x: problem(key, x)), jax.random.split(key, len(x))
    if mesh is None:
        return evaluate(keys, x)
    split = P(mesh.axis_names)
    sharded = jax.shard_map(evaluate, mesh=mesh, in_specs=split, out_specs=split, check_vma=False)
    return jax.lax.with_sharding_constraint(sharded(keys, x), NamedSharding(mesh, P()))


def split_scans(n_evaluations: int, least: int) -> list[tuple[int, int]]:
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
