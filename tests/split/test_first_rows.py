"""The first rows under a mask, against NumPy."""

import jax
import numpy as np
import pytest

from parzax.split import first_rows


@pytest.mark.parametrize("n_below", [0, 1, 5, 8])
def test_first_rows(n_below):
    """The mask may have fewer rows than the arrays."""
    rng, n, size = np.random.default_rng(n_below), 20, 8
    mask = np.zeros(n, bool)
    mask[rng.choice(n, n_below, replace=False)] = True
    index, present = jax.jit(first_rows, static_argnums=1)(mask, size)
    assert np.array_equal(np.asarray(index)[present], np.flatnonzero(mask))
    assert present.sum() == n_below
