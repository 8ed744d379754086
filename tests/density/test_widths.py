"""Widths from the joint density against loops, and against the likelihood at other factors."""

from dataclasses import replace

import jax
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
            mixture, weight=jax.numpy.asarray(others), prior_weight=mixture.prior_weight / (1 - weight[i])
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
        np.testing.assert_allclose(ratio[:, 0], ratio[0, 0], rtol=1e-12)
        np.testing.assert_allclose(ratio[:, 1], 1)
        best = likelihood(tuned)
        for by in (1 / ratio[0, 0], 0.5, 0.9, 1.1, 2.0):
            scale = tuned.mixture.scale * np.array([by, 1.0, by])[None]
            assert best >= likelihood(replace(tuned, mixture=replace(tuned.mixture, scale=scale))) - 1e-9


def test_without_rows():
    """Nothing to adapt to: the prior alone."""
    pe = px.ParzenEstimator.fit(SPACE, np.zeros((0, 3)))
    x = np.array([[0.5, 1, np.nan]])
    for changed in (pe.adapted(), pe.tuned()):
        np.testing.assert_allclose(changed.log_prob(x), pe.log_prob(x), rtol=1e-6)
