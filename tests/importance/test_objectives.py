"""Several objectives on a device: one loss for each row, against the shell."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COARSE

import parzax as px
from importance.test_estimate import LEVELS, PLAIN, assert_equal


@pytest.mark.slow
def test_several_objectives_are_a_vmap(double):
    """Each objective by itself, the Pareto order with both ties, and two weighted sums, against the shell."""
    rng = np.random.default_rng(2)
    x, objectives = rng.uniform(size=(60, 3)), np.round(rng.uniform(size=(60, 2)), 2)
    objectives[:, 0] += x[:, 0]
    obs = px.Observations.from_arrays(PLAIN, x, objectives)
    estimator = {"grid": COARSE}
    weights = np.array([[0.2, 0.8], [0.5, 0.5]])
    ties = (px.pareto.Hypervolume(), px.pareto.Crowding())

    @jax.jit
    def losses(f):
        low, high = f.min(axis=0, keepdims=True), f.max(axis=0, keepdims=True)
        scaled = (f / 2 - low / 2) / (high / 2 - low / 2)
        places = [px.importance.pareto_losses(f, LEVELS, ties=rule) for rule in ties]
        return jnp.stack([*f.T, *places, *(px.importance.weighted_sum(scaled, w[None]) for w in weights)])

    @jax.jit
    @jax.vmap
    def importance(loss):
        return px.importance.estimate(px.encode(PLAIN, jnp.asarray(x), loss, LEVELS, grid=COARSE))

    found = jax.device_get(importance(losses(objectives)))
    expected = [
        *(
            px.cond_ped_anova(obs, LEVELS, objective=i, **estimator, n_resamples=0)
            for i in range(obs.n_objectives)
        ),
        *(
            px.cond_ped_anova(obs, LEVELS, objective="pareto", ties=rule, **estimator, n_resamples=0)
            for rule in ties
        ),
        *(px.cond_ped_anova(obs, LEVELS, objective=weight, **estimator, n_resamples=0) for weight in weights),
    ]
    for i, result in enumerate(expected):
        assert_equal(jax.tree.map(lambda a, i=i: a[i], found), result, 1e-12)
