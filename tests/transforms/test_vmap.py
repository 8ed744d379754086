"""Array functions: vmap = a loop, whatever the number of batch axes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from array_functions import CASES, arguments
from conftest import zoo, zoo_sweep


@pytest.mark.parametrize("name", CASES)
@pytest.mark.some(4)
def test_vmap_equals_loop(name, x64):
    """Catches sums over all axes, and reductions that take the batch axis for cells."""
    function = CASES[name]
    batch = [arguments(name, seed) for seed in range(3)]
    stacked = [jnp.stack(column) for column in zip(*batch, strict=True)]
    together = jax.jit(jax.vmap(function))(*stacked)
    one = jax.jit(function)
    loop = jnp.stack([one(*args) for args in batch])
    tolerance = 100 * float(jnp.finfo(loop.dtype).eps) if jnp.issubdtype(loop.dtype, jnp.floating) else 0
    np.testing.assert_allclose(together, loop, rtol=tolerance, atol=tolerance)
    twice = jax.jit(jax.vmap(jax.vmap(function)))(*[x[None] for x in stacked])
    np.testing.assert_allclose(twice[0], together, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
def test_batch_of_one_against_many(x64):
    """One log alone and among 16: as close as the order of reductions allows (measured below 1e-15, 1e-7)."""
    values, losses = zoo(n_seeds=16)
    many, one = zoo_sweep(values, losses), zoo_sweep(values[:1], losses[:1])
    np.testing.assert_array_equal(many.counts[0], one.counts[0])
    scale = np.abs(one.variance).max()
    eps = np.finfo(one.variance.dtype).eps
    np.testing.assert_allclose(many.variance[0], one.variance[0], rtol=0, atol=20 * eps * scale)
