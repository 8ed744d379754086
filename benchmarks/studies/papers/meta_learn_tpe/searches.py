"""Whole runs of samplers with sources, each seed with logs of its own, stacked into few programs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from parzax._numerics import capacity
from parzax.meta.comparison import rows_needed
from parzax.samplers import Sampler
from parzax.split.gamma import AbstractGamma

# Rows of a source log; the paper's MO-TPE takes 5 % of its suggestions at random.
N_ROWS, EPSILON = 100, 0.05
# Runs that share a program's call; samplers with eight sources do not fit a core's cache in greater number.
LANES = 10
# Of the number of good rows that tasks are compared by, see docs/meta.md: what is added before rounding down.
COUNTS = {"below": 1e6, "floor": 0.0, "ceil": 1 - 1e-4}


class Rounded(AbstractGamma):
    """floor(beta N + added): all ways of counting good rows, as one program."""

    beta: jax.Array
    added: jax.Array

    def __call__(self, n: jax.Array) -> jax.Array:
        """Number of good rows among n."""
        return jnp.floor(self.beta * n.astype(float) * (1 + 1e-6) + self.added).astype(jnp.int32)

    def most(self, n: int) -> int:
        """No bound."""
        return n


def with_eta(sampler: Sampler, eta: float | None) -> Sampler:
    """The same sources with another ``eta``, without fitting them again."""
    least = jnp.asarray(rows_needed(eta, len(sampler.space)))
    return eqx.tree_at(lambda own: own.smoothing.sources.comparison.least, sampler, least)


def with_count(sampler: Sampler, count: str) -> Sampler:
    """The same sources with a count of good rows."""
    rule = Rounded(jnp.asarray(0.1), jnp.asarray(COUNTS[count]))
    smoothing = sampler.smoothing
    assert isinstance(smoothing, px.meta.MixedSmoothing), "only samplers with sources have a count"
    comparison = replace(smoothing.sources.comparison, n_good=rule)
    return eqx.tree_at(lambda own: own.smoothing.sources.comparison, sampler, comparison)


@eqx.filter_jit
def _chunk(samplers: Sampler, problem: Any, keys: jax.Array, n_evaluations: int, alike: bool) -> tuple:
    """Objectives (s, n, m) and similarities (s, k, t) of whole runs of samplers whose arrays are stacked."""

    def run(sampler: Sampler, key: jax.Array) -> tuple:
        def step(state: Any, own: jax.Array) -> tuple:
            ask, evaluate = jax.random.split(own)
            x = sampler.ask(ask, state)
            objectives, _ = problem(evaluate, x[0])
            return sampler.tell(state, x, objectives[None]), (x[0], objectives)

        own = jax.random.split(key, n_evaluations)
        _, (x, objectives) = jax.lax.scan(step, sampler.init(capacity(n_evaluations)), own)
        if not alike:
            return objectives, jnp.zeros((0, 0))

        def compared(state: Any, rows: tuple) -> tuple:
            state = sampler.tell(state, *rows)
            return state, px.samplers.similarities(sampler, state)

        blocks = jax.tree.map(lambda a: a.reshape(-1, EVERY, a.shape[-1]), (x, objectives))
        return objectives, jax.lax.scan(compared, sampler.init(capacity(n_evaluations)), blocks)[1]

    return eqx.filter_vmap(run, in_axes=(eqx.if_array(0), 0))(samplers, keys)


# Evaluations between two similarities that are looked at.
EVERY = 10


def runs(
    samplers: Sequence[Sampler], problem: Any, n_evaluations: int, *, alike: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Objectives (s, n, m), one run of each sampler; if ``alike`` similarities (s, n / EVERY, t)."""
    keys = jax.random.split(jax.random.key(0), len(samplers))
    samplers = [jax.tree.map(lambda a: jnp.asarray(a) if eqx.is_array_like(a) else a, s) for s in samplers]
    losses: list[np.ndarray] = [np.empty(0)] * len(samplers)
    found: list[np.ndarray] = [np.empty(0)] * len(samplers)
    for chunk in chunks(samplers):
        together = jax.tree.map(
            lambda *a: jnp.stack(a) if eqx.is_array(a[0]) else a[0], *(samplers[i] for i in chunk)
        )
        objectives, similarities = _chunk(together, problem, keys[chunk], n_evaluations, alike)
        for i, own, s in zip(chunk, np.asarray(objectives), np.asarray(similarities), strict=True):
            losses[i], found[i] = own, s
    return np.stack(losses), np.stack(found)


def chunks(samplers: Sequence[Sampler], lanes: int = LANES) -> list[np.ndarray]:
    """Numbers of samplers whose arrays have one shape, some at a time; the last one repeated to fill up."""
    kinds: dict[tuple, list[int]] = {}
    for i, sampler in enumerate(samplers):
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(sampler) if eqx.is_array(leaf))
        kinds.setdefault(shapes, []).append(i)
    found = []
    for own in kinds.values():
        n = min(lanes, len(own))
        for start in range(0, len(own), n):
            found.append(np.array(own)[np.minimum(np.arange(start, start + n), len(own) - 1)])
    return found


def best(objectives: np.ndarray) -> np.ndarray:
    """(s, n) smallest loss so far."""
    return np.minimum.accumulate(objectives[..., 0].astype(np.float64), axis=-1)
