"""Whole runs of our samplers, all runs of a case in one call."""

import time
import zlib
from typing import Any

import equinox as eqx
import jax
import numpy as np

import parzax as px
from benchmarks.optimisers import methods, suites
from benchmarks.optimisers.problems import Case, Group
from benchmarks.papers.runs import Arrays


def search(method: str, group: str, half: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: CASE -> gap (s, n) after each evaluation; "seconds", with compilation."""
    own, start = suites.build(group, n_seeds), time.perf_counter()
    found: Arrays = {}
    for case in own.of(half):
        keys = jax.random.split(jax.random.key(zlib.crc32(f"{method}/{case.name}".encode())), n_seeds)
        found[case.name] = np.asarray(_runs(method, own, case, keys, n_evaluations), np.float32)
    found["seconds"] = np.array(time.perf_counter() - start)
    return found


def _runs(method: str, group: Group, case: Case, keys: jax.Array, n_evaluations: int) -> jax.Array:
    counts = group.n_objectives, group.n_constraints
    sampler = None if method == methods.RANDOM else methods.sampler(method, group.space, *counts)
    return _many(
        sampler, group.space, (group.evaluate, group.gaps), case.shared, case.own, keys, n_evaluations
    )


@eqx.filter_jit
def _many(
    sampler: Any, space: px.Space, functions: tuple, shared: Any, own: Any, keys: jax.Array, n: int
) -> jax.Array:
    evaluate, gaps = functions

    def run(own: Any, key: jax.Array) -> jax.Array:
        def problem(key: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            return evaluate(shared, own, key, x)

        if sampler is None:
            anything = px.tpe(space)
            draw, measure = jax.random.split(key, (2, n))
            x = jax.vmap(lambda key: anything.ask(key, anything.init(1))[0])(draw)
            objectives, constraints = jax.lax.map(lambda pair: problem(*pair), (measure, x))
        else:
            trace = px.optimize(sampler, problem, key, n)
            x, objectives, constraints = trace.x, trace.objectives, trace.constraints
        return gaps(shared, own, x, objectives, constraints)

    return jax.vmap(run, in_axes=(0, 0) if jax.tree.leaves(own) else (None, 0))(own, keys)
