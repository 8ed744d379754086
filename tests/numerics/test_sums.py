"""Sums of numbers given by their logarithms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parzax._numerics import masked_logsumexp

SUM = jax.jit(masked_logsumexp, static_argnames="axis")


def test_masked_logsumexp(x64):
    """Catches anything that leaks from masked entries into the value or other derivatives.

    The derivative with respect to a weight of 0 is one-sided, and 0 for an entry that is not finite.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 12)) * 3 - 800
    weight = rng.integers(0, 3, (5, 12)).astype(float) / 2
    weight[3] = 0
    weight[:, 0] = 1.5
    weight[3, 0] = 0
    dirty = np.where(weight == 0, rng.choice([np.nan, np.inf, -np.inf, 1e30, -810], x.shape), x)

    def loss(x, weight):
        out = SUM(x, weight, axis=1)
        return jnp.where(jnp.isfinite(out), out, 0).sum(), out

    (_, out), (dx, dw) = jax.jit(jax.value_and_grad(loss, (0, 1), has_aux=True))(dirty, weight)
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
    usual = np.isfinite(dirty) & (dirty < 0)
    terms = np.where(usual, np.exp(np.where(usual, dirty, -800) + 800), 0)[rows]
    expected = terms / shares[rows].sum(1, keepdims=True)
    assert (expected[weight[rows] == 0] > 0).any()
    checked = dirty[rows] != 1e30
    np.testing.assert_allclose(dw[rows, :][checked], expected[checked], rtol=1e-11 if x64 else 3e-4)
    assert np.isfinite(dw).all()
    np.testing.assert_array_equal(dw[3], 0)


def test_masked_logsumexp_all_masked_gradient(x64):
    """Catches NaN from log 0 behind a select: nothing left is -inf with gradient 0, unguarded."""
    slope = jax.jit(jax.grad(masked_logsumexp))
    np.testing.assert_array_equal(slope(np.array([1.0, np.nan, np.inf]), np.zeros(3)), 0)
    np.testing.assert_allclose(slope(np.array([1.0, -np.inf, 1.0]), np.ones(3)), [0.5, 0, 0.5])


def test_masked_logsumexp_forms(x64):
    """Masks, a duplicate as a weight of two, tiny weights, axes, and weights that are none."""
    x = np.array([0.5, -1.0, 2.0])
    mask = jnp.asarray([True, False, True])
    expected = float(np.log(np.exp(0.5) + np.exp(2.0)))
    assert float(SUM(x, mask)) == pytest.approx(expected, rel=1e-6)
    assert SUM(x, mask).dtype == (np.float64 if x64 else np.float32)
    twice = SUM(np.array([0.5, 2.0, 2.0]), np.ones(3))
    assert float(SUM(x, np.array([1, 0, 2]))) == pytest.approx(float(twice), rel=1e-6)
    # The largest x has next to no weight: its exponential alone would underflow all others.
    out = SUM(np.array([300.0, 200.0]), np.array([1e-37, 1.0]))
    assert float(out) == pytest.approx(np.logaddexp(300 + np.log(1e-37), 200.0), rel=1e-6)
    out = SUM(np.arange(24.0).reshape(2, 3, 4), np.ones(4), axis=(0, 2))
    np.testing.assert_allclose(out, np.log(np.exp(np.arange(24.0).reshape(2, 3, 4)).sum((0, 2))), rtol=1e-6)
    assert np.isnan(SUM(x, np.array([1.0, -1.0, 1.0])))
    assert np.isnan(SUM(np.array([0.0, np.nan]), np.ones(2)))
    assert SUM(np.array([0.0, np.inf]), np.ones(2)) == np.inf
    np.testing.assert_array_equal(SUM(np.zeros((2, 0)), np.ones(0), axis=1), -np.inf)
