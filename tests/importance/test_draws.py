"""Random samples of rows: their sizes, how often each row is in one, and the level sets of a sample."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from parzax.importance.draws import METHODS, sample_levels


@pytest.mark.parametrize("method", METHODS)
def test_each_row_is_drawn_alike(method):
    """Of 12 rows 9 are usable; 4 are drawn, each of the usable ones 4 / 9 times on average."""
    draw = jax.jit(jax.vmap(lambda key: METHODS[method](key, 12, jnp.int32(4), jnp.int32(9))))
    weight = np.asarray(draw(jax.random.split(jax.random.key(0), 9000)))
    assert (weight.sum(axis=1) == 4).all()
    assert (weight[:, 9:] == 0).all()
    assert (weight.max() == 1) == (method == "half-sampling")
    np.testing.assert_allclose(weight[:, :9].mean(axis=0), 4 / 9, atol=0.03)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_draw_from(method):
    weight = jax.jit(lambda key: METHODS[method](key, 3, jnp.int32(0), jnp.int32(0)))(jax.random.key(0))
    assert weight.tolist() == [0, 0, 0]


def test_levels_of_a_sample_against_a_loop():
    """A row is in the first set that still lacks rows after all better ones of the sample; ties share it."""
    rng = np.random.default_rng(0)
    weight, loss = rng.integers(0, 3, (5, 20)), np.sort(rng.integers(0, 8, 20))
    first_tied = np.searchsorted(loss, loss).astype(np.int32)
    needed = np.array([3, 7, 20])
    level_after = (needed[None] <= np.arange(42)[:, None]).sum(axis=1).astype(np.int32)
    found = jax.jit(sample_levels)(*(a.astype(np.int32) for a in (weight, first_tied, level_after)))
    for sample, levels in zip(weight, np.asarray(found), strict=True):
        for row, level in enumerate(levels):
            better = sample[loss < loss[row]].sum()
            assert level == (needed <= better).sum()
