"""Sums of numbers given by their logarithms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parzax._numerics import weighted_logsumexp

SUM = jax.jit(
    lambda x, weight: weighted_logsumexp(jnp.asarray(x, float)[None], jnp.asarray(weight, float))[0]
)


def test_value_and_derivatives(x64):
    """Catches anything that leaks from terms of weight 0 into the value or other derivatives.

    The derivative with respect to a weight of 0 is one-sided.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 12)) * 3 - 800
    weight = rng.integers(0, 3, (5, 12)).astype(float) / 2
    weight[3] = 0
    weight[:, 0] = 1.5
    weight[3, 0] = 0
    with_outliers = np.where(weight == 0, rng.choice([1e30, -1e30, -810], x.shape), x)

    def loss(x, weight):
        out = jax.vmap(SUM)(x, weight)
        return jnp.where(jnp.isfinite(out), out, 0).sum(), out

    (_, out), (dx, dw) = jax.jit(jax.value_and_grad(loss, (0, 1), has_aux=True))(with_outliers, weight)
    dx, dw = np.asarray(dx), np.asarray(dw)
    with np.errstate(divide="ignore"):
        shares = weight * np.exp(x + 800)
        expected = np.log(shares.sum(1)) - 800
    rtol = 1e-13 if x64 else 1e-6
    np.testing.assert_allclose(out, expected, rtol=rtol)
    assert out[3] == -np.inf
    rows = [0, 1, 2, 4]
    normalised = shares[rows] / shares[rows].sum(1, keepdims=True)
    # In float32 x itself is rounded, by up to 3e-5.
    np.testing.assert_allclose(dx[rows, :], normalised, rtol=1e-11 if x64 else 3e-4)
    np.testing.assert_array_equal(dx[3], 0)
    checked = with_outliers[rows] != 1e30
    expected = np.exp(np.where(checked, with_outliers[rows], -800) + 800) / shares[rows].sum(1, keepdims=True)
    assert (expected[weight[rows] == 0] > 0).any()
    np.testing.assert_allclose(dw[rows, :][checked], expected[checked], rtol=1e-11 if x64 else 3e-4)
    assert np.isfinite(dw).all()
    np.testing.assert_array_equal(dw[3], 0)


def test_no_weight(x64):
    """Catches NaN from log 0 behind a select: nothing left is -inf with gradient 0, unguarded."""
    slope = jax.jit(jax.grad(SUM))
    np.testing.assert_array_equal(slope(np.array([1.0, 1e30, -1e30]), np.zeros(3)), 0)
    np.testing.assert_allclose(slope(np.array([1.0, -np.inf, 1.0]), np.ones(3)), [0.5, 0, 0.5])
    np.testing.assert_array_equal(SUM(np.zeros(0), np.ones(0)), -np.inf)


def test_forms_of_weights(x64):
    """Masks, a duplicate as a weight of two, several sets of weights, and weights that are none."""
    x = np.array([0.5, -1.0, 2.0])
    mask = np.array([True, False, True])
    expected = float(np.log(np.exp(0.5) + np.exp(2.0)))
    assert float(SUM(x, mask)) == pytest.approx(expected, rel=1e-6)
    assert SUM(x, mask).dtype == (np.float64 if x64 else np.float32)
    twice = SUM(np.array([0.5, 2.0, 2.0]), np.ones(3))
    assert float(SUM(x, np.array([1, 0, 2]))) == pytest.approx(float(twice), rel=1e-6)
    points, weights = (
        jnp.arange(12.0).reshape(3, 4),
        jnp.asarray([[1, 0, 0, 2], [0, 0, 0, 0], [1, 1, 1, 1.0]]),
    )
    wanted = np.log(np.asarray(weights) @ np.exp(np.arange(12.0).reshape(3, 4)).T + 1e-300)
    found = np.asarray(weighted_logsumexp(points, weights))
    np.testing.assert_allclose(found[[0, 2]], wanted[[0, 2]], rtol=1e-6)
    np.testing.assert_array_equal(found[1], -np.inf)
    assert np.isnan(SUM(x, np.array([1.0, np.nan, 1.0])))
