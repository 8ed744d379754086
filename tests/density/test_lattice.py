"""Integers with many values in float32, whose masses come from polynomials, against float64."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

SPACE = px.Space(
    {
        "n": px.Int(0, 99),
        "c": px.Categorical(["a", "b"]),
        "m": px.Int(-10, 9),
        "k": px.Int(0, 999, step=3, when=[px.In("c", ["a"])]),
        "j": px.Int(1, 40, log=True),
    }
)


def configurations() -> np.ndarray:
    """70 random configurations."""
    with jax.enable_x64(True):
        uniform = px.ParzenEstimator.fit(SPACE, np.zeros((0, 5)))
        return np.asarray(uniform.sample(jax.random.key(0), (70,)))


def results(double: bool, bandwidth: px.bandwidth.AbstractBandwidth) -> tuple[np.ndarray, ...]:
    """Log densities of 40 points, and the derivative of half the sum of their squares by the 30 weights."""
    x = configurations()
    with jax.enable_x64(double):

        def log_prob(weight: jax.Array) -> jax.Array:
            pe = px.ParzenEstimator.fit(SPACE, jnp.asarray(x[:30]), weight=weight, bandwidth=bandwidth)
            return pe.log_prob(jnp.asarray(x[30:]))

        def half_squares(weight: jax.Array) -> tuple[jax.Array, jax.Array]:
            value = log_prob(weight)
            return 0.5 * jnp.square(value).sum(), value

        slope, value = jax.jit(jax.grad(half_squares, has_aux=True))(jnp.ones(30))
        return np.asarray(value), np.asarray(slope)


NARROW = px.bandwidth.Scott(1e-3, discrete_minimum=0.02)


@pytest.mark.slow  # kept masses are compared below
@pytest.mark.parametrize("rule", [px.bandwidth.Neighbours(), NARROW])
def test_float32_is_float64(rule):
    """Catches a wrong distance, mask, anchor or normaliser; the float64 masses are tested against loops."""
    (value, slope), (true, true_slope) = (results(double, rule) for double in (False, True))
    assert value.dtype == np.float32
    assert np.isfinite(true).all()
    np.testing.assert_allclose(value, true, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(slope, true_slope, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("double", [pytest.param(True, marks=pytest.mark.slow), False])
def test_kept_masses_are_the_same_density(double):
    """Catches tables of other parts or regimes, and tables that a marginal or a conditional keeps."""
    x = configurations()
    with jax.enable_x64(double):
        pe = px.ParzenEstimator.fit(SPACE, x[:30])
        kept = pe.prepared()
        assert [table is not None for table in kept.mixture.tables].count(True) > 1
        for of in (lambda pe: pe, lambda pe: pe.marginal("k", "m"), lambda pe: pe.conditional({"n": 7})):
            at = of(pe).sample(jax.random.key(1), (20,))
            close = partial(np.testing.assert_allclose, rtol=1e-12 if double else 2e-5)
            close(of(kept).log_prob(at), of(pe).log_prob(at))
