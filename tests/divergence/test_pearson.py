"""The Pearson divergence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

pearson_divergence = jax.jit(px.divergence.pearson_divergence)


def test_zero_exactly_when_equal(x64):
    """p = q gives exactly 0, and a difference of one part in a thousand does not."""
    p = np.random.default_rng(1).dirichlet(np.ones(9))
    assert float(pearson_divergence(p, p)) == 0
    assert float(pearson_divergence(p, p * (1 + 1e-3 * np.sign(p - p.mean())))) > 0


def test_empty_cells():
    """Both empty: no term. Only q empty: infinite, not NaN and not skipped."""
    assert float(pearson_divergence(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]))) == 0
    assert float(pearson_divergence(jnp.array([0.5, 0.5]), jnp.array([0.0, 1.0]))) == np.inf
    assert float(pearson_divergence(jnp.array([0.0, 1.0]), jnp.array([0.5, 0.5]))) == 1


@pytest.mark.parametrize(
    ("p", "q"), [([np.nan, 1], [0, 1]), ([0, 1], [np.nan, 1]), ([np.nan, 1], [0.5, 0.5])]
)
def test_nan_is_not_zero(p, q):
    """NaN masses give NaN: catches a comparison with NaN that drops the cell in silence."""
    assert np.isnan(pearson_divergence(jnp.array(p, float), jnp.array(q, float)))


@pytest.mark.slow
def test_scale_of_masses():
    """Tiny masses keep their relative accuracy: catches an epsilon added to q."""
    p, q = np.array([2e-20, 1.0]), np.array([1e-20, 1.0])
    assert float(pearson_divergence(p, q)) == pytest.approx(1e-20, rel=1e-5)
