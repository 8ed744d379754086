"""The leave-one-out likelihood and its maximiser against loops over rows and brute force."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import bandwidth as loops
from scipy import stats

from parzax.kernels import bandwidth
from parzax.kernels.bandwidth.leave_one_out import leave_one_out_log_likelihood

_rule = jax.jit(lambda rule, x, w, prior, n_values: rule(x, w, prior_position=prior, n_values=n_values)[0])
_likelihood = jax.jit(
    lambda h, x, w, prior, n_values, prior_weight: leave_one_out_log_likelihood(
        h, x, w, prior_position=prior, n_values=n_values, prior_weight=prior_weight
    )
)


def _bimodal(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.clip(
        np.where(rng.uniform(size=n) < 0.5, rng.normal(0.2, 0.03, n), rng.normal(0.8, 0.03, n)), 0, 1
    )


@pytest.mark.parametrize(
    ("prior", "prior_weight"),
    [(0.3, 2.5), *(pytest.param(*own, marks=pytest.mark.slow) for own in ((0.5, 1.0), (None, 1.0)))],
)
@pytest.mark.parametrize("n_values", [None, 9])
def test_likelihood_against_the_loop(prior, prior_weight, n_values, double):
    """Truncation, the row itself left out, the prior's share, cells of a discrete domain."""
    rows = _bimodal(12)
    if n_values is not None:
        rows = (np.floor(np.minimum(rows, 0.999) * n_values) + 0.5) / n_values
    for scale in (0.03, 0.1, 0.5):
        expected = loops.leave_one_out(scale, rows, prior, prior_weight, n_values)
        found = _likelihood(scale, jnp.asarray(rows), jnp.ones(12), prior, n_values, prior_weight)
        assert float(found) == pytest.approx(expected, rel=1e-11)


@pytest.mark.slow
def test_chunks(double):
    """Above 256 rows they are taken in chunks; catches a last, shorter chunk left out."""
    rows = np.random.default_rng(1).uniform(size=300)
    found = _likelihood(0.05, jnp.asarray(rows), jnp.ones(300), 0.5, None, 1.0)
    kernels = np.exp(-0.5 * np.square((rows[:, None] - rows) / 0.05)) / (0.05 * np.sqrt(2 * np.pi))
    kernels /= stats.norm.cdf((1 - rows) / 0.05) - stats.norm.cdf(-rows / 0.05)
    np.fill_diagonal(kernels, 0)
    prior = stats.truncnorm(-0.5, 0.5, loc=0.5).pdf(rows)
    assert float(found) == pytest.approx(np.log((kernels.sum(1) + prior) / 300).sum(), rel=1e-11)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
@pytest.mark.parametrize("prior", [0.5, pytest.param(None, marks=pytest.mark.slow)])
def test_best_of_brute_force(seed, prior, double):
    """The maximum that a fine grid and SciPy's search find, in likelihood; and better than Scott's."""
    rows = _bimodal(14, seed)
    x, ones = jnp.asarray(rows), jnp.ones(14)
    found = float(_rule(bandwidth.LeaveOneOut(), x, ones, prior, None))
    best, _ = loops.best_leave_one_out(rows, prior=prior)
    assert loops.leave_one_out(found, rows, prior) == pytest.approx(best, abs=1e-6)
    scott = float(loops.scott(rows, prior))
    assert loops.leave_one_out(found, rows, prior) > loops.leave_one_out(scott, rows, prior) + 1


@pytest.mark.slow
def test_never_below_scott(double):
    """Whatever the rows: Scott's scale is among those tried."""
    ones = jnp.ones(14)
    for seed in range(20):
        rows = jnp.asarray(np.random.default_rng(seed).beta(0.4, 0.9, 14))
        best, scott = (
            float(_likelihood(_rule(rule, rows, ones, 0.5, None), rows, ones, 0.5, None, 1.0))
            for rule in (bandwidth.LeaveOneOut(), bandwidth.Scott())
        )
        assert best >= scott - 1e-12


def test_ties_and_too_few_rows(double):
    """Equal rows draw a continuous scale to the minimum; one row or none has Scott's."""
    tied = jnp.asarray([0.3] * 7 + [0.6] * 7)
    assert float(_rule(bandwidth.LeaveOneOut(), tied, jnp.ones(14), 0.5, None)) == pytest.approx(0.01)
    for weight in (jnp.zeros(14), jnp.zeros(14).at[3].set(1.0)):
        found, scott = (
            float(_rule(rule, tied, weight, 0.5, None))
            for rule in (bandwidth.LeaveOneOut(), bandwidth.Scott())
        )
        assert found == scott


@pytest.mark.slow
def test_gradients_of_the_likelihood(x64):
    """Finite in scale and rows, absent rows NaN, ties and a single row included."""
    gradient = jax.jit(jax.grad(_likelihood, argnums=(0, 1)))
    for n_values in (0, 5):
        for prior in (0.5, None):
            for weight in ([1, 1, 1, 0.0], [0, 0, 1, 0.0], [0, 0, 0, 0.0]):
                x = jnp.array([0.2, 0.2, 0.9, jnp.nan])
                for part in gradient(jnp.asarray(0.1), x, jnp.array(weight), prior, n_values, 1.0):
                    assert bool(jnp.isfinite(part).all()), (n_values, prior, weight)
