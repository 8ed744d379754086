"""The Aitchison-Aitken kernel against its matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import grid

from parzax.kernels import AitchisonAitken


def _on_grid(counts):
    """The product with the kernel matrix of some counts; categories have no use for a rule of bandwidths."""
    return AitchisonAitken.on_grid(jnp.asarray(counts), lambda *_: jnp.nan, None, jnp.float64)


@jax.jit
def _smoothed(counts, x):
    return _on_grid(counts)(x)


@pytest.mark.parametrize("counts", [[3, 0, 1, 0], [5, 0, 0, 0], [0, 0, 0, 0], [1, 1], [2] * 9])
def test_matrix(counts, double):
    """K against the matrix written out: catches choices counted for occupied ones."""
    counts = np.array(counts)
    matrix = grid.kernel_matrix(counts, "categorical", False)
    x = np.random.default_rng(0).uniform(size=len(counts))
    np.testing.assert_allclose(_smoothed(counts, x), matrix @ x, rtol=1e-13)
    np.testing.assert_allclose(matrix.sum(axis=0), 1, rtol=1e-14)
