"""Random samples of rows: their sizes, and how often each row is in one."""

import jax
import jax.numpy as jnp
import numpy as np

from parzax.importance.resample import half_sample


def test_each_row_is_drawn_alike():
    """Of 12 rows 9 are usable; 4 are drawn, each of the usable ones 4 / 9 times on average."""
    draw = jax.jit(jax.vmap(lambda key: half_sample(key, 12, jnp.int32(4), jnp.int32(9))))
    weight = np.asarray(draw(jax.random.split(jax.random.key(0), 9000)))
    assert (weight.sum(axis=1) == 4).all()
    assert (weight[:, 9:] == 0).all()
    assert weight.max() == 1
    np.testing.assert_allclose(weight[:, :9].mean(axis=0), 4 / 9, atol=0.03)


def test_nothing_to_draw_from():
    weight = jax.jit(lambda key: half_sample(key, 3, jnp.int32(0), jnp.int32(0)))(jax.random.key(0))
    assert weight.tolist() == [0, 0, 0]
