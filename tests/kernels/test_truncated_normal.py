"""The truncated normal kernel on a grid against SciPy and mpmath."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import stats

from parzax.kernels import TruncatedNormal


def _on_grid(bandwidth, size):
    """The product with the kernel matrix of a grid whose rule gives this bandwidth."""
    counts = jnp.zeros(size, bandwidth.dtype)
    return TruncatedNormal.on_grid(counts, lambda *_: bandwidth, None, bandwidth.dtype)


def _scipy(bandwidth, size):
    edges = np.arange(size + 1) - 0.5
    columns = []
    for m in range(size):
        cdf = stats.truncnorm.cdf(edges, (-0.5 - m) / bandwidth, (size - 0.5 - m) / bandwidth, m, bandwidth)
        columns.append(np.diff(cdf))
    return np.stack(columns, axis=1)


@functools.partial(jax.jit, static_argnums=1)
def _matrix(bandwidth, size):
    return jax.vmap(_on_grid(bandwidth, size), out_axes=1)(jnp.eye(size))


@pytest.mark.parametrize("size", [2, 7, 50])
@pytest.mark.parametrize("bandwidth", [0.5 / 1.64, 1.0, 4.0, 60.0])
def test_columns_are_truncated_normals(size, bandwidth, double):
    """Every column against scipy.stats.truncnorm: catches a wrong edge, centre or normaliser."""
    matrix = _matrix(jnp.asarray(bandwidth), size)
    # Absolute: far cells are differences of cumulative probabilities near 1 in the oracle.
    np.testing.assert_allclose(matrix, _scipy(bandwidth, size), atol=1e-14)
    np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=1e-13)
    np.testing.assert_allclose(matrix, np.asarray(matrix)[::-1, ::-1], atol=1e-15)


def test_far_masses_against_mpmath(double):
    """Masses of distant cells keep their relative accuracy: catches a difference of values near 1."""
    column = _matrix(jnp.asarray(0.5 / 1.64), 12)[:, 0]
    mpmath.mp.dps = 60
    sigma = mpmath.mpf(0.5 / 1.64)
    ends = [mpmath.ncdf((cell - mpmath.mpf(0.5)) / sigma) for cell in range(13)]
    for distance in (0, 1, 3, 6, 10):
        exact = (ends[distance + 1] - ends[distance]) / (ends[-1] - ends[0])
        if exact > 1e-300:
            # The exponent z^2/2 of up to 600 multiplies the rounding of z by as much.
            assert float(column[distance]) == pytest.approx(float(exact), rel=3e-13)


@pytest.mark.parametrize("size", [2, 5, 50])
def test_prior(size, double):
    """A normal in the middle with sigma = g, truncated: symmetric, sums to 1."""
    edges = np.arange(size + 1) - 0.5
    centre = (size - 1) / 2
    cdf = stats.norm.cdf(edges, centre, size)
    prior = np.asarray(TruncatedNormal.prior_on_grid(size, None, jnp.float64))
    np.testing.assert_allclose(prior, np.diff(cdf) / (cdf[-1] - cdf[0]), rtol=1e-12)
    np.testing.assert_allclose(prior, prior[::-1], rtol=1e-13)
