"""Several objectives on a device: one loss for each row, against the shell."""

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from importance.test_estimate import LEVELS, PLAIN, assert_equal


def test_several_objectives_are_a_vmap(double):
    """Each objective by itself, and the Pareto order, against the shell."""
    rng = np.random.default_rng(2)
    x, objectives = rng.uniform(size=(150, 3)), np.round(rng.uniform(size=(150, 2)), 2)
    objectives[:, 0] += x[:, 0]
    obs = px.Observations.from_arrays(PLAIN, x, objectives)
    x, losses = jnp.asarray(x), jnp.asarray(objectives)

    def importance(loss):
        return px.importance.estimate(px.encode(PLAIN, x, loss, LEVELS))

    found = jax.jit(jax.vmap(importance))(losses.T)
    for i, expected in enumerate(px.importance_by_objective(obs, LEVELS).values()):
        assert_equal(jax.tree.map(lambda a, i=i: a[i], found), expected, 1e-12)
    for ties in (px.ties.hypervolume(), px.ties.crowding()):
        places = jax.jit(lambda f, ties=ties: px.importance.pareto_losses(f, LEVELS, ties=ties))(losses)
        expected = px.cond_ped_anova(obs, LEVELS, selection="pareto", ties=ties)
        assert_equal(importance(places), expected, 1e-12)
    weights = np.array([[0.2, 0.8], [0.5, 0.5]])
    used = jnp.ones(150, bool)
    scaled = px.importance.objectives.normalised(losses, used)
    combined = jax.vmap(lambda w: importance(px.importance.weighted_sum(scaled, w[None])))(
        jnp.asarray(weights)
    )
    for i, expected in enumerate(px.importance_over_weights(obs, weights, LEVELS).results):
        assert_equal(jax.tree.map(lambda a, i=i: a[i], combined), expected, 1e-12)
