"""Scott's rule on a grid against a loop and against the rows written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import grid

from parzax.kernels.bandwidth import scott_on_grid

_scott = {
    floor: jax.jit(
        lambda c, floor=floor: scott_on_grid(c, floor_quartiles=floor, dtype=jnp.result_type(float))
    )
    for floor in (False, True)
}


def _examples():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4, 5, 7, 8, 9, 30, 100, 1001):
        for _ in range(4):
            yield np.bincount(rng.integers(0, 12, n), minlength=12)
            yield np.bincount(np.minimum(rng.geometric(0.5, n) - 1, 11), minlength=12)


@pytest.mark.parametrize("floor", [False, True])
def test_against_the_loop(floor, double):
    """Both quartile rules at every remainder of n / 4: catches integer division and strict comparisons."""
    for counts in _examples():
        assert float(_scott[floor](counts)) == pytest.approx(grid.scott(counts, floor), rel=1e-12)


def test_mirror(double):
    """Read from either end the default rule is the same; catches a right-sided third quartile."""
    for counts in _examples():
        assert float(_scott[False](counts[::-1].copy())) == pytest.approx(
            float(_scott[False](counts)), rel=1e-12
        )


def test_minimum(x64):
    """No rows, one row, one cell: the minimum, without NaN."""
    for counts in (np.zeros(12, int), np.eye(12, dtype=int)[3], 1000 * np.eye(12, dtype=int)[11]):
        for floor in (False, True):
            assert float(_scott[floor](counts)) == pytest.approx(0.5 / 1.64)


def test_large_counts():
    """Counts near the end of an int32 in a float32 computation: catches 3 * n overflowing."""
    counts = np.array([0, 10**9, 0, 10**8, 0, 0, 0, 10**9, 0, 0, 0, 0])
    assert float(_scott[True](counts)) == pytest.approx(grid.scott(counts, True), rel=1e-4)
    assert float(_scott[False](counts)) == pytest.approx(grid.scott(counts, False), rel=1e-4)


def test_fractional_weights(double):
    """Float counts: quartiles by running weight."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        counts = rng.uniform(0, 3, 12) * (rng.uniform(size=12) < 0.6)
        if counts.sum() > 1:
            assert float(_scott[False](counts)) == pytest.approx(grid.scott(counts, False), rel=1e-10)
