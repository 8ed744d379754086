"""The first rows under a mask, and their sort orders, against NumPy."""

import jax
import numpy as np
import pytest

from parzax.split import first_orders, first_rows


@pytest.mark.parametrize("n_below", [0, 1, 5, 8])
def test_orders_are_those_of_sorting_the_rows(n_below):
    # Rows with ties, of which some are under the mask; the mask may have fewer rows than the arrays.
    rng, n, d, size = np.random.default_rng(n_below), 20, 3, 8
    x = rng.integers(0, 6, (n, d)) / 5
    mask = np.zeros(n, bool)
    mask[rng.choice(n, n_below, replace=False)] = True
    order = np.argsort(x, axis=0, kind="stable").T.astype(np.int32)
    index, present = jax.jit(first_rows, static_argnums=1)(mask, size)
    orders = np.asarray(jax.jit(first_orders, static_argnums=2)(order, mask, size))
    assert np.array_equal(np.asarray(index)[present], np.flatnonzero(mask))
    below = x[np.flatnonzero(mask)]
    assert np.array_equal(orders[:, :n_below], np.argsort(below, axis=0, kind="stable").T)
    # Absent rows come last, each once.
    assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(size), (d, 1)))
