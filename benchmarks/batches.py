"""What asking for several configurations at once costs: ``python -m benchmarks.batches [--quick] [--out DIR]``.

Gaps after one number of evaluations of `px.tpe`, asked for 1, 4, 16 or 64 at a time by several rules, and of
Optuna's TPE with as many trials running at a time, on problems of `benchmarks.optimisers` from its half for
choosing. Writes a page, docs/batches.md for a full run without --out. Exits with status 1 where a claim does
not hold.
"""

import argparse
import platform
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.optimisers import peers, scores, suites
from benchmarks.optimisers.problems import CHOICE
from benchmarks.optimisers.scores import Curves
from benchmarks.papers import runs
from benchmarks.papers.runs import Arrays, Unit
from parzax.samplers import Sampler
from parzax.split import State

PAGE = Path(__file__).parents[1] / "docs" / "batches.md"
SIZES, GROUPS = (4, 16, 64), ("bbob-05d", "mixed")
N_SEEDS, N_EVALUATIONS = 30, 192
# What the default must keep of a sequential run: by at most this is its gap larger, on geometric average.
ALONE, PEER = "one at a time", "Optuna TPE"
# (sampler, key, state, n) -> (n, d).
Rule = Callable[[Sampler, jax.Array, State, int], jax.Array]


def together(sampler: Sampler, key: jax.Array, state: State, n: int) -> jax.Array:
    """``sampler.ask(key, state, n)``."""
    return sampler.ask(key, state, n)


def each_alone(sampler: Sampler, key: jax.Array, state: State, n: int) -> jax.Array:
    """n single suggestions that know nothing of each other."""
    return jax.vmap(lambda own: sampler.ask(own, state)[0])(jax.random.split(key, n))


def one_by_one(sampler: Sampler, key: jax.Array, state: State, n: int) -> jax.Array:
    """n single suggestions, each told as pending to those that follow: it is in the group above."""

    def step(state: State, own: jax.Array) -> tuple[State, jax.Array]:
        x = sampler.ask(own, state)
        return sampler.tell(state, x, jnp.full((1, 1), jnp.nan)), x[0]

    return jax.lax.scan(step, state, jax.random.split(key, n))[1]


RULES: Mapping[str, Rule] = {"ask(n)": together, "each alone": each_alone, "one by one, pending": one_by_one}


def search(rule: str, n: int, group: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: CASE -> gaps (s, n_evaluations)."""
    own = suites.build(group, n_seeds)
    found: Arrays = {}
    for case in own.of(CHOICE):
        keys = jax.random.split(jax.random.key(zlib.crc32(f"{rule}/{n}/{case.name}".encode())), n_seeds)
        arguments = px.tpe(own.space), RULES[rule], n, (own.evaluate, own.gaps), case.shared, case.own, keys
        found[case.name] = np.asarray(_runs(*arguments, n_evaluations), np.float32)
    return found


@eqx.filter_jit
def _runs(
    sampler: Sampler, rule: Rule, n: int, functions: Any, shared: Any, own: Any, keys: jax.Array, n_evaluations: int
) -> jax.Array:
    evaluate, gaps = functions

    def run(own: Any, key: jax.Array) -> jax.Array:
        def step(state: State, key: jax.Array) -> tuple[State, tuple[jax.Array, ...]]:
            ask, measure = jax.random.split(key)
            x = rule(sampler, ask, state, n)
            pairs = jax.random.split(measure, n), x
            objectives, constraints = jax.lax.map(lambda pair: evaluate(shared, own, *pair), pairs)
            return sampler.tell(state, x, objectives), (x, objectives, constraints)

        state = sampler.init(n_evaluations)
        _, told = jax.lax.scan(step, state, jax.random.split(key, n_evaluations // n))
        return gaps(shared, own, *(part.reshape(n_evaluations, -1) for part in told))

    return jax.vmap(run)(own, keys)


def of_peer(n: int, group: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: the same of Optuna's TPE, n trials running at a time."""
    found: Arrays = {}
    for case in suites.cases(group, CHOICE):
        found |= peers.searched(peers.optuna_at_once(n), group, case, n_seeds, n_evaluations)
    return {case: gaps for case, gaps in found.items() if case != "seconds"}
