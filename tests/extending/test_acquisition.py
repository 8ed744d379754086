"""An acquisition function of one's own: expected improvement, only where the ratio reaches a threshold."""

import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from extending.runs import SPACE, gain_of_compiled_runs, rows, told, with_part


class ExpectedImprovement(px.acquisition.AbstractAcquisition):
    """log of 1 / (gamma + (1 - gamma) g / l) (Bergstra et al. 2011), where log(l / g) > threshold."""

    threshold: float

    def __call__(self, below, above, gamma):
        ratio = px.acquisition.log_ratio(below[0], above[0])
        improvement = -jnp.log(gamma[0] + (1 - gamma[0]) * jnp.exp(-ratio))
        return jnp.where(ratio > self.threshold, improvement, -jnp.inf)


def test_scores_are_those_of_a_loop():
    """Catches a score that is not what the acquisition function says of the densities."""
    sampler = with_part(px.papers.tpe, acquisition=ExpectedImprovement(0.2))
    state, at = told(sampler), rows(30, seed=1)
    gamma = np.ceil(0.25 * np.sqrt(40)) / 40
    expected = []
    for ratio in np.asarray(px.papers.tpe(SPACE).score_of(state, at), np.float64):
        expected.append(-np.log(gamma + (1 - gamma) / np.exp(ratio)) if ratio > 0.2 else -np.inf)
    scores = np.asarray(sampler.score_of(state, at))
    assert 0 < np.isfinite(scores).sum() < len(scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_compiled_run_improves():
    assert gain_of_compiled_runs(with_part(acquisition=ExpectedImprovement(0.0))) > 2
