"""Importances of a function, and of draws from the posterior of a surrogate."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax import surrogate

SPACE = px.Space(
    {
        "a": px.Float(0, 1),
        "gate": px.Categorical(["on", "off"]),
        "b": px.Float(0, 1, when=px.In("gate", ["on"])),
        "idle": px.Int(1, 5),
    }
)
LEVELS = (0.3, 0.1)


def loss(x):
    """Depends on all parameters but the last."""
    return (x[0] - 0.3) ** 2 + jnp.where(x[1] == 0, 0.5 * (x[2] - 0.7) ** 2, 0.1)


def test_a_function_as_its_rows():
    found = px.importance.of_function(jax.random.key(1), SPACE, loss, LEVELS, n=500, reference="uniform")
    x = SPACE.sample(jax.random.key(1), 500)
    encoded = px.encode(SPACE, x, jax.vmap(loss)(x), LEVELS)
    wanted = px.importance.estimate(encoded, reference="uniform")
    np.testing.assert_array_equal(found.importance, wanted.importance)
    in_blocks = px.importance.of_function(
        jax.random.key(1), SPACE, loss, LEVELS, n=500, batch_size=77, reference="uniform"
    )
    np.testing.assert_array_equal(in_blocks.importance, wanted.importance)


@pytest.mark.slow
def test_a_batch_of_functions():
    @jax.jit
    def shares(weight):
        return px.importance.of_function(
            jax.random.key(0), SPACE, lambda x: loss(x) + weight * x[3], 0.1
        ).importance[0]

    weights = jnp.array([0.0, 0.05, 9.0])
    batch = jax.vmap(shares)(weights)
    np.testing.assert_allclose(batch, jnp.stack([shares(w) for w in weights]), rtol=1e-5, atol=1e-6)
    assert batch[0, 3] < 0.02 < batch[1, 3] < batch[2, 3]


def test_a_function_that_gives_no_number():
    with pytest.raises(ValueError, match="function must give one number, got an array of shape"):
        px.importance.of_function(jax.random.key(0), SPACE, lambda x: x, 0.1)


@pytest.mark.slow
def test_draws_are_near_the_truth_where_the_rows_are_not():
    """Logs of a search that learns say more about the space through the surrogate; all in one batch."""
    problem = px.Problem(lambda _key, x: loss(x), SPACE)
    logs = px.optimize_many(jax.random.split(jax.random.key(0), 6), px.tpe(SPACE), problem, 60)
    truth = px.importance.of_function(jax.random.key(1), SPACE, loss, LEVELS, n=1 << 16).importance

    def shares(key, x, losses) -> tuple[jax.Array, ...]:
        posterior = surrogate.GaussianProcess().fit(SPACE, x, losses)
        of_points, of_draws = jax.random.split(key)
        pairs = jax.random.split(of_points, 8), posterior.functions(of_draws, 8)
        draws = jax.lax.map(lambda pair: shares_of_draw(*pair), pairs)
        rows = px.importance.estimate(px.encode(SPACE, x, losses, LEVELS))
        return draws, rows.importance, posterior.quality

    def shares_of_draw(key, draw):
        return px.importance.of_function(key, SPACE, draw, LEVELS, n=1024).importance

    keys = jax.random.split(jax.random.key(2), 6)
    draws, rows, quality = jax.vmap(shares)(keys, logs.x, logs.losses[..., 0])
    assert draws.shape == (6, 8, 2, 4)
    assert (quality > 0.8).all()
    assert jnp.abs(draws.mean(axis=1) - truth[None]).mean() < 0.6 * jnp.abs(rows - truth[None]).mean()


def test_noise_is_not_predicted():
    x = np.asarray(SPACE.sample(jax.random.key(0), 60), np.float64)
    losses = np.random.default_rng(0).normal(size=60)
    assert surrogate.GaussianProcess().fit(SPACE, x, losses).quality < 0.2
