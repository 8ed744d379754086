"""Settings of bandwidth rules with one number for each parameter."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from densities import log_prob_in

import parzax as px

FORMS = ("product", "pairwise")

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
    pe = px.ParzenEstimator.fit(SPACE, ROWS, bandwidth=px.bandwidth.Constant(SCALES))
    np.testing.assert_allclose(pe.scale[:4][:, [0, 2, 3]], np.tile(SCALES[[0, 2, 3]], (4, 1)))

    @jax.jit
    @jax.value_and_grad
    def log_likelihood(scales):
        rule = px.bandwidth.Constant(scales)
        return px.ParzenEstimator.fit(SPACE, jnp.asarray(ROWS), bandwidth=rule).log_prob(ROWS).sum()

    value, gradient = log_likelihood(jnp.asarray(SCALES))
    np.testing.assert_allclose(value, pe.log_prob(ROWS).sum(), rtol=1e-9)
    for j, step in enumerate(1e-5 * np.eye(4)):
        change = log_likelihood(SCALES + step)[0] - log_likelihood(SCALES - step)[0]
        np.testing.assert_allclose(gradient[j], change / 2e-5, atol=1e-7)


def test_settings_of_other_rules():
    """A clip of Scott's rule, and the probability of a row's own category; a sampler takes them too."""
    lowest = jnp.array([0.45, 0.01, 0.45, 0.01])
    options = {"bandwidth": px.bandwidth.Scott(lowest, discrete_minimum=None)}
    found = px.ParzenEstimator.fit(SPACE, ROWS, top=np.array([0.1, 0.7, 0.1, 0.1]), **options).scale[0]
    usual = px.ParzenEstimator.fit(SPACE, ROWS).scale[0]
    np.testing.assert_allclose(found, [0.45, 0.3, 0.45, usual[3]], rtol=1e-6)
    assert adjusted(px.tpe, **options)(SPACE).smoothing.bandwidth.smallest is None


@pytest.mark.usefixtures("as_installed")
def test_refused():
    rule = px.bandwidth.Constant(SCALES)
    with pytest.raises(ValueError, match=r"^Constant: .* \(4,\), but a single parameter needs one number"):
        rule(jnp.zeros(3), jnp.ones(3))
    with pytest.raises(ValueError, match=r"has shape \(4,\); give a number, or an array \(1,\)"):
        px.ParzenEstimator.fit(px.Space({"x": px.Float(0, 1)}), ROWS[:, :1], bandwidth=rule)
    with pytest.raises(ValueError, match="Constant: scale must be positive and finite"):
        px.bandwidth.Constant(np.array([0.1, 0.0]))
    with pytest.raises(TypeError, match="scale must be a number or an array with one per parameter"):
        px.bandwidth.Constant([0.1, 0.2])
    with pytest.raises(ValueError, match=r"Scott: minimum .* must not exceed maximum"):
        px.bandwidth.Scott(np.array([0.1, 0.9]))


@pytest.mark.parametrize("x64", [False, True])
def test_derivatives_at_a_weight_of_zero(x64):
    """The one-sided ones, in every form; rows outside the space have none, rows of weight 0 move nothing."""
    space, scale, forms = px.Space({"x": px.Float(0, 1)}), px.bandwidth.Constant(0.05), FORMS
    with jax.enable_x64(x64):
        at = jnp.array([[0.8]])

        def log_prob(weight, mixture_weight, prior_weight, rows):
            options = {"bandwidth": scale, "mixture_weight": mixture_weight, "prior_weight": prior_weight}
            pe = px.ParzenEstimator.fit(space, rows, weight, **options)
            return jnp.stack([log_prob_in(form, pe, at)[0] for form in forms])

        slopes = jax.jit(jax.jacrev(log_prob, argnums=(0, 1, 2, 3)))
        rows = jnp.array([[0.2], [0.5], [0.8], [7.0]])
        ones, without = jnp.ones(4), jnp.array([1.0, 2.0, 0.0, 0.0])
        by_weight, *_, by_rows = slopes(without, ones, jnp.array(1.0), rows)
        _, by_mixture_weight, *_ = slopes(ones, without, jnp.array(1.0), rows)
        *_, by_prior, _ = slopes(jnp.array([1.0, 2.0, 1.0, 0.0]), ones, jnp.array(0.0), rows)
        near = slopes(without.at[2].set(1e-6), ones, jnp.array(1.0), rows)[0]
    np.testing.assert_allclose(by_weight[:, 2], 7.761, atol=1e-3)
    np.testing.assert_allclose(by_weight[:, 2], near[:, 2], rtol=1e-4)
    np.testing.assert_allclose(by_mixture_weight[:, 2], by_weight[:, 2], rtol=1e-5)
    # 1 / p - 1 / 4 with p = 4 times the density, for the prior instead of a row.
    np.testing.assert_allclose(by_prior, -0.12518, atol=1e-5)
    for slope in (by_weight, by_mixture_weight, by_prior, by_rows):
        assert np.isfinite(slope).all()
    np.testing.assert_array_equal(by_weight[:, 3], 0)
    np.testing.assert_array_equal(by_rows[:, 2:], 0)
