"""Problems whose importances are known, and searches on them, for `benchmarks.studies.adaptive_logs`."""

import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.optimisers.peers import PEERS
from benchmarks.studies.papers.runs import Arrays

# The last parameter of each problem does nothing.
IDLE = "idle"
# Rows of the uniform sample that the true shares come from.
N_TRUTH = 1 << 19


def quadratic(_key: jax.Array, x: jax.Array) -> jax.Array:
    """Four parameters add up, each of half the weight of the one before."""
    return jnp.sum(jnp.array([4.0, 2, 1, 0.5]) * (x[:4] - jnp.array([0.3, 0.6, 0.5, 0.2])) ** 2)


def gated(_key: jax.Array, x: jax.Array) -> jax.Array:
    """The gate chooses which of two parameters matters; one choice is better."""
    gate, first, second, always, _ = x
    chosen = jnp.where(gate == 0, 2 * (first - 0.3) ** 2, 0.2 + 2 * (second - 0.7) ** 2)
    return chosen + 0.3 * (always - 0.5) ** 2


def interacting(_key: jax.Array, x: jax.Array) -> jax.Array:
    """A ridge: the sum of two parameters matters, so that each makes up for the other."""
    return 4 * (x[0] + x[1] - 0.7) ** 2 + 0.5 * (x[2] - 0.4) ** 2 + 0.2 * (x[3] - 0.8) ** 2


def noise(key: jax.Array, _x: jax.Array) -> jax.Array:
    """No parameter does anything."""
    return jax.random.normal(key)


def _problem(loss: Callable, *names: str, **domains: Any) -> px.Problem:
    space = {name: domains.get(name, px.Float(0, 1)) for name in (*names, IDLE)}
    return px.Problem(loss, px.Space(space), name=loss.__name__)


PROBLEMS: Mapping[str, px.Problem] = {
    "quadratic": _problem(quadratic, "x1", "x2", "x3", "x4"),
    "gated": _problem(gated, "gate", "first", "second", "always", gate=px.Categorical(["first", "second"])),
    "interacting": _problem(interacting, "x1", "x2", "x3", "x4"),
    "noise": _problem(noise, "x1", "x2", "x3", "x4"),
}
RANDOM = "random search"
SAMPLERS: Mapping[str, Callable[[px.Space], Any]] = {
    "px.tpe": px.tpe,
    "px.optuna_tpe": px.optuna_tpe,
}
# Searchers of `benchmarks.studies.optimisers.peers`, which run in Optuna studies.
PEER_NAMES = ("Optuna TPE, independent", "Optuna CMA-ES", "Optuna GP")


def search(searcher: str, problem: str, n_seeds: int, n: int) -> Arrays:
    """A unit: "x" (s, n, d) native values and "loss" (s, n) of runs of n trials."""
    seed = zlib.crc32(f"{searcher}/{problem}".encode())
    own, keys = PROBLEMS[problem], jax.random.split(jax.random.key(seed), n_seeds)
    if searcher == RANDOM:
        runs = [uniform(problem, n, seed + i) for i in range(n_seeds)]
        return {name: np.stack([run[name] for run in runs]) for name in ("x", "loss")}
    if searcher in SAMPLERS:
        trace = px.optimize_many(SAMPLERS[searcher](own.space), own, keys, n)
        return {"x": np.asarray(trace.x), "loss": np.asarray(trace.objectives[..., 0])}
    evaluate, runs = jax.jit(own), []
    for i, key in enumerate(keys):
        rows: list[np.ndarray] = []
        losses: list[float] = []

        def told(at: Mapping[str, float], key=key, rows=rows, losses=losses) -> tuple[list, list]:
            rows.append(np.array([at[name] for name in own.space.names]))
            losses.append(float(evaluate(jax.random.fold_in(key, len(rows)), rows[-1])[0][0]))
            return losses[-1:], []

        PEERS[searcher].optimise(own.space, told, n, i, 1)
        runs.append((rows, losses))
    x, loss = map(np.array, zip(*runs, strict=True))
    return {"x": x, "loss": loss}


def uniform(problem: str, n: int, seed: int) -> Arrays:
    """One random search: "x" (n, d) and "loss" (n,)."""
    own = PROBLEMS[problem]
    x = np.random.default_rng(seed).uniform(size=(n, len(own.space)))
    for j, (domain,) in enumerate(own.space.domains):
        if isinstance(domain, px.Categorical):
            x[:, j] = np.floor(x[:, j] * domain.n_values)
    keys = jax.random.split(jax.random.key(seed), n)
    loss = jax.jit(jax.vmap(own))(keys, jnp.asarray(x))[0][:, 0]
    return {"x": x, "loss": np.asarray(loss)}


@cache
def true_shares(problem: str, levels: tuple[float, ...], n: int = N_TRUTH) -> np.ndarray:
    """(q, d) shares of one uniform sample of ``n`` rows, by the estimator of the logs."""
    log = uniform(problem, n, 0)
    obs = px.Observations.from_arrays(PROBLEMS[problem].space, log["x"], log["loss"])
    return px.cond_ped_anova(obs, levels).importance
