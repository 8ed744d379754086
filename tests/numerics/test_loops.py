"""Running counts and maxima, and padded numbers of rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parzax._numerics.arrays import capacity, largest_before, running_count

SIZES = [1, 2, 3, 31, 32, 33, 200]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.some(5)
def test_running(n, both):
    """Catches a step too few or one too far."""
    rng = np.random.default_rng(n)
    mask, x = rng.random(n) < 0.3, rng.normal(size=n)
    x[mask] = -np.inf
    assert np.array_equal(running_count(jnp.asarray(mask)), np.cumsum(mask))
    x = jnp.asarray(x)
    expected = np.concatenate([[-np.inf], np.maximum.accumulate(np.asarray(x))[:-1]])
    found = largest_before(x)
    assert found.dtype == x.dtype
    assert np.array_equal(found, expected)


def test_slope_of_the_largest(x64):
    """Catches a slope that reaches another entry, or is NaN beside what is absent."""
    x = jnp.array([0.3, -jnp.inf, 0.1, 0.7, -jnp.inf, 0.2])
    weight = jnp.arange(1.0, 7.0)
    slope = jax.jit(jax.grad(lambda x: jnp.where(jnp.isfinite(out := largest_before(x)), out, 0) @ weight))(x)
    # 0.3 is the largest before entries 1 to 3, 0.7 before 4 and 5.
    assert np.array_equal(slope, [2 + 3 + 4, 0, 0, 5 + 6, 0, 0])


def test_capacity():
    """64, 256, 1024, 4096, then doubling: at most four sizes up to 4096."""
    assert {capacity(n) for n in range(4097)} == {64, 256, 1024, 4096}
    for n in (4097, 8192, 8193, 100_000, 2**20, 2**20 + 1):
        size = capacity(n)
        assert size >= n
        assert size < 2 * n
        assert size & (size - 1) == 0
