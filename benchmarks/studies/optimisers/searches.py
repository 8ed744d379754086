"""Whole runs of our samplers, all runs of a case in one call."""

import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

import parzax as px
from benchmarks.studies.optimisers import methods, suites
from benchmarks.studies.optimisers.problems import Case, Group
from benchmarks.studies.papers.runs import Arrays

# x, objectives and constraints of the evaluations.
Told = tuple[jax.Array, jax.Array, jax.Array]


def search(
    method: str,
    group: str,
    half: str,
    n_seeds: int,
    n_evaluations: int,
    cases: Sequence[str] | None = None,
) -> Arrays:
    """A unit: CASE -> gap (s, n) after each evaluation; "seconds", with compilation. All cases by default."""
    own, start = suites.build(group, n_seeds, half), time.perf_counter()
    found: Arrays = {}
    for case in [case for case in own.of(half) if cases is None or case.name in cases]:
        keys = jax.random.split(jax.random.key(zlib.crc32(f"{method}/{case.name}".encode())), n_seeds)
        rows = told(method, own, case, keys, n_evaluations)
        found[case.name] = np.asarray(_gaps(own.gaps, case.shared, case.own, rows), np.float32)
    found["seconds"] = np.array(time.perf_counter() - start)
    return found


def told(method: str, group: Group, case: Case, keys: jax.Array, n_evaluations: int) -> Told:
    """What the runs of a sampler evaluated: arrays (s, n, ...)."""
    counts = group.n_objectives, group.n_constraints
    sampler = None if method == methods.RANDOM else methods.sampler(method, group.space, *counts)
    return _many(sampler, group.space, group.evaluate, case.shared, case.own, keys, n_evaluations)


@eqx.filter_jit
def _many(
    sampler: Any, space: px.Space, evaluate: Callable, shared: Any, own: Any, keys: jax.Array, n: int
) -> Told:
    def run(own: Any, key: jax.Array) -> Told:
        def problem(key: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            return evaluate(shared, own, key, x)

        if sampler is not None:
            trace = px.optimize(sampler, problem, key, n)
            return trace.x, trace.objectives, trace.constraints
        anything = px.tpe(space)
        draw, measure = jax.random.split(key, (2, n))
        x = jax.vmap(lambda key: anything.ask(key, anything.init(1))[0])(draw)
        return x, *jax.lax.map(lambda pair: problem(*pair), (measure, x))

    return jax.vmap(run, in_axes=(_axis(own), 0))(own, keys)


@eqx.filter_jit
def _gaps(gaps: Callable, shared: Any, own: Any, told: Told) -> jax.Array:
    """A program of its own, which all samplers share."""
    return jax.vmap(lambda own, told: gaps(shared, own, *told), in_axes=(_axis(own), 0))(own, told)


def _axis(own: Any) -> int | None:
    return 0 if jax.tree.leaves(own) else None
