"""What the recipes share: a small space, rows of it, and a compiled run of any sampler."""

import dataclasses

import jax
import numpy as np

import parzax as px

SPACE = px.Space({"x": px.Float(-5, 5), "k": px.Int(0, 9), "c": px.Categorical(["a", "b", "c"])})


def loss(x):
    """Smallest at x = 1, k = 3, c = 1."""
    return (x[:, 0] - 1) ** 2 + 0.2 * (x[:, 1] - 3) ** 2 + (x[:, 2] != 1).astype(x.dtype)


def rows(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(-5, 5, n), rng.integers(0, 10, n), rng.integers(0, 3, n)], axis=1)


def told(sampler: px.samplers.Sampler, n: int = 40):
    x = rows(n)
    return sampler.tell(sampler.init(64), x, loss(x))


def with_part(preset=px.tpe, **parts) -> px.samplers.Sampler:
    """TPE with one part of one's own."""
    return dataclasses.replace(preset(SPACE), **parts)


def gain_of_compiled_runs(sampler: px.samplers.Sampler, n: int = 40) -> float:
    """How many times smaller the last ten losses are than the first ten, which are random; of four runs.

    The runs are one compiled function.
    """

    @jax.jit
    @jax.vmap
    def run(key):
        def step(state, key):
            x = sampler.ask(key, state)
            return sampler.tell(state, x, loss(x)), loss(x)[0]

        return jax.lax.scan(step, sampler.init(64), jax.random.split(key, n))[1]

    losses = run(jax.random.split(jax.random.key(0), 4))
    return float(losses[:, :10].mean() / losses[:, -10:].mean())
