"""Widths from the joint density against loops, and against the likelihood at other factors."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.density.mixture import Mixture
from parzax.space import INACTIVE

SPACE = px.Space(
    {"x": px.Float(0, 1), "c": px.Categorical(["a", "b"]), "k": px.Int(0, 9, when=px.In("c", ["a"]))}
)


@pytest.fixture(scope="module")
def fitted() -> px.ParzenEstimator:
    with jax.enable_x64(True):
        rows = np.array(SPACE.sample(jax.random.key(0), 30))
        rows[:, 0] = 0.5 + 0.1 * (rows[:, 0] - 0.5)
        return px.ParzenEstimator.fit(SPACE, rows, np.arange(30.0))


def likelihood(pe: px.ParzenEstimator) -> float:
    """Leave-one-out log likelihood, by an estimator without each row in turn."""
    mixture, total = pe.mixture, 0.0
    weight = np.asarray(mixture.weight)
    for i in np.flatnonzero(weight):
        others = np.where(np.arange(len(weight)) == i, 0, weight) / (1 - weight[i])
        rest = replace(
            mixture, weight=jnp.asarray(others), prior_weight=mixture.prior_weight / (1 - weight[i])
        )
        total += weight[i] * float(rest.log_prob(pe.basis, mixture.rows[i : i + 1])[0])
    return total / weight.sum()


def test_adapted(fitted):
    """Catches a wrong power, mean or axis."""
    with jax.enable_x64(True):
        weight, logs = (
            np.asarray(fitted.weight),
            np.asarray(jax.jit(Mixture.log_prob)(fitted.mixture, fitted.basis, fitted.mixture.rows)),
        )
        mean = np.average(logs, weights=weight)
        # A row of weight 0 too has the width of its density, which its derivative by the weight needs.
        is_row = (np.asarray(fitted.mixture.rows.regime) != INACTIVE).any(axis=1)
        factor = np.where(is_row, np.exp(-0.3 * (logs - mean)), 1)
        wanted = np.asarray(fitted.scale) * np.stack([factor, np.ones_like(factor), factor], axis=1)
        np.testing.assert_allclose(fitted.adapted(0.3).scale, wanted, rtol=1e-12)
        np.testing.assert_allclose(fitted.adapted(0).scale, fitted.scale, rtol=1e-12)


@pytest.mark.slow
def test_tuned(fitted):
    """Catches a likelihood that counts a row as its own neighbour, which would end at the smallest factor."""
    with jax.enable_x64(True):
        tuned = fitted.tuned()
        ratio = np.asarray(tuned.scale / fitted.scale)[np.asarray(fitted.weight) > 0]
        np.testing.assert_allclose(ratio, ratio[:1] * np.ones((len(ratio), 1)), rtol=1e-12)
        best = likelihood(tuned)
        # Categories were drawn alike, so wider is better.
        for change, factors in (([1, 0, 0], (0.9, 1.1, 2.0)), ([0, 0, 1], (0.5, 1.1)), ([0, 1, 0], (0.9,))):
            for by in factors:
                scale = tuned.mixture.scale * (by ** np.array(change))[None]
                assert best >= likelihood(replace(tuned, mixture=replace(tuned.mixture, scale=scale))) - 1e-9
        assert best >= likelihood(fitted)


MIXED = px.Space(
    {
        "hour": px.Float(0, 24, periodic=True),
        "c": px.Categorical(["a", "b", "c"]),
        "z": px.Float(-np.inf, np.inf),
        "k": px.Int(1, 40, when=px.In("c", ["a", "b"])),
    }
)


def _mixed_rows(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 3, 40)
    hour, z = (23 + c + rng.normal(0, 1, 40)) % 24, rng.normal(3 * c, 0.5)
    return np.stack([hour, c, z, np.where(c < 2, rng.poisson(5 + 9 * c) + 1, np.nan)], axis=1)


@pytest.mark.slow
def test_tuned_in_every_form():
    """Padded or not, traced or in a batch, on circles and open axes the factors are the same."""
    rows, at = _mixed_rows(), _mixed_rows(1)
    with jax.enable_x64(True):

        def log_prob(rows, weight=None):
            return px.ParzenEstimator.fit(MIXED, rows, weight).adapted().tuned().log_prob(jnp.asarray(at))

        wanted = log_prob(rows)
        on_device = jnp.asarray(rows)
        np.testing.assert_allclose(jax.jit(log_prob)(on_device), wanted, rtol=1e-7)
        moved_rows, moved_at = rows.copy(), at.copy()
        for moved in (moved_rows, moved_at):
            moved[:, 0] = (moved[:, 0] + 5) % 24
        moved = px.ParzenEstimator.fit(MIXED, moved_rows).adapted().tuned()
        np.testing.assert_allclose(moved.log_prob(moved_at), wanted, rtol=1e-6)
        weights = jnp.stack([jnp.ones(40), jnp.arange(40.0)])
        batch = jax.vmap(log_prob, (None, 0))(on_device, weights)
        np.testing.assert_allclose(batch, [log_prob(rows, np.asarray(w)) for w in weights], rtol=1e-6)
        slopes = jax.grad(lambda rows, weight: log_prob(rows, weight).sum(), (0, 1))(on_device, weights[1])
        assert all(np.isfinite(slope).all() for slope in slopes)
    single = px.ParzenEstimator.fit(MIXED, rows).adapted().tuned()
    assert single.scale.dtype == np.float32
    np.testing.assert_allclose(single.log_prob(at).mean(), np.asarray(wanted).mean(), atol=0.02)


@pytest.mark.slow
def test_without_rows():
    """Nothing to adapt to: the prior alone."""
    pe = px.ParzenEstimator.fit(SPACE, np.zeros((0, 3)))
    x = np.array([[0.5, 1, np.nan]])
    for changed in (pe.adapted(), pe.tuned()):
        np.testing.assert_allclose(changed.log_prob(x), pe.log_prob(x), rtol=1e-6)
