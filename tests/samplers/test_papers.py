"""Presets of the papers' texts against loops in float64."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
from benchmarks.settings import adjusted
from reference import bandwidth as rules
from reference import meta as meta_loops
from reference import mixture
from reference import tpe as loops

import parzax as px

from .tables import Table

SPACE = px.Space({"u": px.Float(-1, 3), "k": px.Int(1, 6), "c": px.Categorical(["a", "b", "d"])})
PARAMETERS = mixture.parameters_of(SPACE)


def _configurations(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.uniform(-1, 3, n), rng.integers(1, 7, n), rng.integers(0, 3, n)], axis=-1)


def _losses(x: np.ndarray, shift: float = 0.0) -> np.ndarray:
    return (x[:, 0] - 1 - shift) ** 2 + 0.3 * (x[:, 1] - 2) ** 2 + 0.5 * (x[:, 2] == 1)


def _scores(sampler, rows, objectives, constraints=None):
    state = sampler.tell(sampler.init(64), rows, objectives, constraints)
    return np.asarray(jax.jit(sampler.score_of)(state, jnp.asarray(_configurations(20, 9))))


@pytest.mark.parametrize("feasible", [True, False])
def test_c_tpe(feasible, double):
    """Scores; while nothing is feasible, all rows at the smallest value of a constraint are below."""
    x = _configurations(40, 1)
    constraints = (x[:, 1] - (3 if feasible else 0))[:, None]
    settings = loops.Settings(score="relative", unsatisfied="all", every_tie=True, kernel="normal_reference")
    wanted = loops.scores(
        settings, SPACE, (x, _losses(x)[:, None], constraints, np.zeros(40, bool)), _configurations(20, 9)
    )
    found = _scores(px.papers.c_tpe(SPACE), x, _losses(x), constraints)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.slow
def test_mo_tpe(double):
    """Scores; the best ceil(0.1 N) rows are below, although the first front is larger."""
    x = _configurations(40, 1)
    losses = np.stack([_losses(x), -x[:, 0] + 0.1 * x[:, 1]], axis=-1)
    settings = loops.Settings(rule="linear", kernel="normal_reference", top=0.9)
    table = x, losses, np.zeros((40, 0)), np.zeros(40, bool)
    assert len(loops.groups(settings, *table)[0].below) == 4
    wanted = loops.scores(settings, SPACE, table, _configurations(20, 9))
    np.testing.assert_allclose(_scores(px.papers.mo_tpe(SPACE), x, losses), wanted, atol=1e-12)


def _density(rows: np.ndarray, columns: list[int], at: np.ndarray) -> np.ndarray:
    """Eq. 17 of arXiv 2212.06751: kernels of the score with top 0.9, no prior."""

    def rule(positions, n_values, has_prior):
        return rules.normal_reference(positions, len(PARAMETERS), minimum=1 / n_values if n_values else 0.01)

    parameters = [PARAMETERS[j] for j in columns]
    fitted = mixture.fit(parameters, rows[:, columns], None, rule, 0.9, 0.0)
    return np.array([math.exp(loops.log_density(parameters, fitted, x)) for x in at[:, columns]])


def _divergences(rows: np.ndarray) -> list[float]:
    """Eq. 15 without gamma^2, for each parameter."""
    found = []
    for j, values in enumerate((np.linspace(-1, 3, 2001), np.arange(1, 7), np.arange(3))):
        at = np.zeros((len(values), 3))
        at[:, j] = values
        ratio = _density(rows, [j], at) * (1 if j == 0 else len(values))
        gap = (ratio - 1) ** 2
        found.append(scipy.integrate.simpson(gap, x=np.linspace(0, 1, 2001)) if j == 0 else gap.mean())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("n", [pytest.param(20, marks=pytest.mark.slow), 40])
def test_meta_learn_tpe(n, double):
    """Similarities by Eq. 10, 15 and 17 at the same points, scores by Eq. 8; below 30 rows all are alike."""
    x, others = _configurations(n, 1), [_configurations(50, 2 + i) for i in range(2)]
    logs = [px.Observations.from_arrays(SPACE, y, _losses(y, 0.5 * i)) for i, y in enumerate(others)]
    sampler = adjusted(px.papers.meta_learn_tpe, n_samples=200)(SPACE, logs)
    state = sampler.tell(sampler.init(64), x, _losses(x))
    found = np.asarray(px.samplers.similarities(sampler, state))
    best = [x[np.argsort(_losses(x))[: math.ceil(n / 10)]]]
    best += [y[np.argsort(_losses(y, 0.5 * i))[:5]] for i, y in enumerate(others)]
    wanted = np.ones(2)
    if n >= 30:
        comparison = sampler.smoothing.sources.comparison
        at = np.asarray(comparison.basis.frame.decode(comparison.scattered))
        divergences = [_divergences(rows) for rows in best]
        columns = [int(np.argmax(np.mean(divergences, axis=0)))]
        uniform = 1 / {0: 1, 1: 6, 2: 3}[columns[0]]
        p, *q = (_density(rows, columns, at) / uniform for rows in best)
        apart = np.array([min(0.5 * np.abs(p - other).mean(), 1) for other in q])
        wanted = (1 - apart) / (1 + apart)
        assert (found < 0.95).any()
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    rows = [(x, _losses(x)), *((y, _losses(y, 0.5 * i)) for i, y in enumerate(others))]
    tables = [Table(y, losses[:, None], np.zeros((len(y), 0)), np.zeros(len(y), bool)) for y, losses in rows]
    settings = loops.Settings(rule="linear", kernel="normal_reference", top=0.9)
    scores = meta_loops.scores(settings, SPACE, tables, [found], _configurations(20, 9))
    at = jnp.asarray(_configurations(20, 9))
    np.testing.assert_allclose(np.asarray(sampler.score_of(state, at)), scores, atol=1e-12)
