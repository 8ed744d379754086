"""Settings of bandwidth rules with one number for each parameter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

SPACE = px.Space(
    {
        "x": px.Float(0, 1),
        "c": px.Categorical(["a", "b"]),
        "k": px.Int(0, 9),
        "y": (px.Float(0, 1, when=px.In("c", ["a"])), px.Float(5, 9, when=px.In("c", ["b"]))),
    }
)
ROWS = np.array([[0.2, 0, 3, 0.4], [0.7, 1, 5, 6.5], [0.4, 0, 9, 0.9], [0.9, 1, 0, 8.0]])
# The second is that of the category, and does not count.
SCALES = np.array([0.1, 7.0, 0.3, 0.2])


def test_a_bandwidth_for_each_parameter(double):
    """In all regimes of a parameter; the gradient, under jit, is that of central differences."""
    pe = px.ParzenEstimator.fit(SPACE, ROWS, bandwidth=px.bandwidth.constant(SCALES))
    np.testing.assert_allclose(pe.scale[:4][:, [0, 2, 3]], np.tile(SCALES[[0, 2, 3]], (4, 1)))

    @jax.jit
    @jax.value_and_grad
    def log_likelihood(scales):
        rule = px.bandwidth.constant(scales)
        return px.ParzenEstimator.fit(SPACE, jnp.asarray(ROWS), bandwidth=rule).log_prob(ROWS).sum()

    value, gradient = log_likelihood(jnp.asarray(SCALES))
    np.testing.assert_allclose(value, pe.log_prob(ROWS).sum(), rtol=1e-9)
    for j, step in enumerate(1e-5 * np.eye(4)):
        change = log_likelihood(SCALES + step)[0] - log_likelihood(SCALES - step)[0]
        np.testing.assert_allclose(gradient[j], change / 2e-5, atol=1e-7)


def test_settings_of_other_rules():
    """A clip of Scott's rule, and the probability of a row's own category; a sampler takes them too."""
    lowest = jnp.array([0.45, 0.01, 0.45, 0.01])
    options = {"bandwidth": px.bandwidth.scott(lowest, discrete_minimum=None)}
    found = px.ParzenEstimator.fit(SPACE, ROWS, top=np.array([0.1, 0.7, 0.1, 0.1]), **options).scale[0]
    usual = px.ParzenEstimator.fit(SPACE, ROWS).scale[0]
    np.testing.assert_allclose(found, [0.45, 0.3, 0.45, usual[3]], rtol=1e-6)
    assert px.tpe(SPACE, **options).smoothing.bandwidth.smallest is None


def test_refused():
    rule = px.bandwidth.constant(SCALES)
    with pytest.raises(ValueError, match=r"^constant: .* \(4,\), but a single parameter needs one number"):
        rule(jnp.zeros(3), jnp.ones(3))
    with pytest.raises(ValueError, match=r"has shape \(4,\); give a number, or an array \(1,\)"):
        px.ParzenEstimator.fit(px.Space({"x": px.Float(0, 1)}), ROWS[:, :1], bandwidth=rule)
    with pytest.raises(ValueError, match="constant: scale must be positive and finite"):
        px.bandwidth.constant(np.array([0.1, 0.0]))
    with pytest.raises(TypeError, match="scale must be a number or an array with one per parameter"):
        px.bandwidth.constant([0.1, 0.2])
    with pytest.raises(ValueError, match=r"scott: minimum .* must not exceed maximum"):
        px.bandwidth.scott(np.array([0.1, 0.9]))
