"""Whole runs of our samplers, all runs of a case in one call."""

import time
import zlib
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.optimisers import methods, suites
from benchmarks.optimisers.problems import Case, Group
from benchmarks.papers.runs import Arrays


def search(method: str, group: str, half: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: CASE -> regret (s, n) of the best evaluation so far; "seconds", with compilation."""
    own, start = suites.build(group, n_seeds), time.perf_counter()
    found: Arrays = {}
    for case in own.of(half):
        keys = jax.random.split(jax.random.key(zlib.crc32(f"{method}/{case.name}".encode())), n_seeds)
        found[case.name] = np.asarray(_runs(method, own, case, keys, n_evaluations), np.float32)
    found["seconds"] = np.array(time.perf_counter() - start)
    return found


def _runs(method: str, group: Group, case: Case, keys: jax.Array, n_evaluations: int) -> jax.Array:
    sampler = None if method == methods.RANDOM else methods.sampler(method, group.space)
    return _many(sampler, group.space, (group.loss, group.regret), case.shared, case.own, keys, n_evaluations)


@eqx.filter_jit
def _many(
    sampler: Any, space: px.Space, functions: tuple, shared: Any, own: Any, keys: jax.Array, n: int
) -> jax.Array:
    loss, regret = functions

    def run(own: Any, key: jax.Array) -> jax.Array:
        problem = px.Problem(lambda key, x: loss(shared, own, key, x), space)
        if sampler is None:
            anything = px.tpe(space)
            draw, evaluate = jax.random.split(key, (2, n))
            x = jax.vmap(lambda key: anything.ask(key, anything.init(1))[0])(draw)
            losses = jax.vmap(problem)(evaluate, x)[0][:, 0]
        else:
            trace = px.optimize(sampler, problem, key, n)
            x, losses = trace.x, trace.objectives[:, 0]
        return of_best(jax.vmap(lambda x: regret(shared, own, x))(x), losses)

    return jax.vmap(run, in_axes=(0, 0) if jax.tree.leaves(own) else (None, 0))(own, keys)


def of_best(regrets: jax.Array, losses: jax.Array) -> jax.Array:
    """The regret (n,) of the smallest loss (n,) so far; a failed evaluation, NaN, is none."""
    losses = jnp.where(jnp.isnan(losses), jnp.inf, losses)
    index = jnp.arange(len(losses))
    better = losses < jnp.concatenate([jnp.full(1, jnp.inf, losses.dtype), jax.lax.cummin(losses)[:-1]])
    return regrets[jax.lax.cummax(jnp.where(better, index, 0))]
