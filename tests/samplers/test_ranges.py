"""Ranges that move: `Sampler.move` against a loop in NumPy over rows that were told within other bounds."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import parzax as px
from parzax.samplers import suggestion

RANGES = (1e-3, 1e-1), (1e-4, 1.0), (1e-2, 10.0), (3e-3, 3e-1)
SMOOTHING = px.density.Smoothing(bandwidth=px.bandwidth.Constant(0.1), top=0.8)


def sampler_of(low, high):
    space = px.Space({"lr": px.Float(low, high, log=True), "k": px.Categorical(["a", "b"])})
    return px.tpe(space, split=px.Split(gamma=px.gamma.Linear(0.25), merit=None), smoothing=SMOOTHING)


@eqx.filter_jit
def densities_at(sampler, state, x):
    state = sampler.move(state)
    basis = sampler.smoothing.basis(sampler.space, state.x.dtype)
    points = basis.frame.encode(x)
    return suggestion.fit_scorer(sampler, basis, state)[0].log_prob(basis, points)[0]


@pytest.mark.parametrize("x64", [False, True])
def test_one_density_over_rows_of_many_ranges(x64):
    """Catches rows that are lost, kernels that reach beyond today's bounds, and bounds of an earlier day."""
    with jax.enable_x64(x64):
        rng, told = np.random.default_rng(0), []
        state = sampler_of(*RANGES[0]).init(16)
        for low, high in RANGES[:3]:
            sampler = sampler_of(low, high)
            x = np.stack([np.exp(rng.uniform(np.log(low), np.log(high), 4)), rng.integers(0, 2, 4)], axis=1)
            told.append((x, rng.normal(size=4)))
            state = sampler.tell(sampler.move(state), *told[-1])
        x, losses = (np.concatenate(part) for part in zip(*told, strict=True))
        low, high = RANGES[3]
        at = np.stack([np.geomspace(low, high, 9)[1:-1], np.arange(7) % 2], axis=1)
        found = np.asarray(densities_at(sampler_of(low, high), state, jnp.asarray(at, state.x.dtype)))
    order = np.argsort(losses)
    for group, rows in enumerate((order[:3], order[3:])):

        def place(lr):
            return np.clip(np.log(lr / low) / np.log(high / low), 0, 1)

        expected = []
        for lr, k in at:
            total = scipy.stats.truncnorm(-0.5, 0.5, 0.5, 1).pdf(place(lr)) / 2
            for row in rows:
                centre = place(x[row, 0])
                kernel = scipy.stats.truncnorm(-centre / 0.1, (1 - centre) / 0.1, centre, 0.1)
                total += kernel.pdf(place(lr)) * (0.8 if x[row, 1] == k else 0.2)
            expected.append(np.log(total / (len(rows) + 1)))
        np.testing.assert_allclose(found[group], expected, atol=1e-9 if x64 else 1e-3)


def test_move_is_a_new_start_with_the_nearest_values():
    """Catches a sort order or a status of the old bounds; under `jax.jit` too."""
    # Different rows that are moved to one end are no repeats with noise, as equal ones would be.
    never = px.samplers.Proposal(repeats=False)
    old, new = (replace(sampler_of(*RANGES[i]), proposal=never) for i in (1, 0))
    x = np.stack([np.geomspace(1e-4, 1, 20), np.arange(20) % 2], axis=1)
    losses = np.cos(np.arange(20.0))
    moved = jax.jit(new.move)(old.tell(old.init(), x, losses))
    clipped = np.stack([np.clip(x[:, 0], *RANGES[0]), x[:, 1]], axis=1)
    told = new.tell(new.init(), clipped, losses)
    assert int(new.status(moved)) == 0
    a, b = (np.asarray(new.ask(jax.random.key(0), state, 4)) for state in (moved, told))
    np.testing.assert_allclose(a, b, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(new.best(moved).x)[losses.argmin()], x[losses.argmin()], rtol=1e-6)
