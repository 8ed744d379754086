"""The papers' synthetic problems: formulas, conditions, marginals."""

import jax
import numpy as np
import pytest
from benchmarks.synthetic import PROBLEMS as SYNTHETIC
from reference import logs
from reference import problems as written

import parzax as px

N = 4000
PROBLEMS = {problem.name: problem for problem in SYNTHETIC}
each = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


def draw(problem, seed=0, n=N):
    values, objective = problem.sample(jax.random.key(seed), n)
    return np.asarray(values), np.asarray(objective)


def objective_of(name, row):
    """The objective of one configuration, written down from the papers' text."""
    v = dict(row)
    if name.startswith("activation"):
        return v["x"] if v["c"] < 0.5 else v["y"]
    if name == "regime-dependent-domain":
        return v["x"] + v["y"]
    if name == "nested-conditions":
        if v["c0"] >= 0.75:
            return v["z"]
        return v["x"] if v["c1"] < 0.5 else v["y"]
    return v["x"] if v["c"] < 2 / 3 else v["y"]


@each
def test_objective_and_conditions(problem):
    """Catches a wrong branch, a value outside its domain, and inactive values that are not NaN."""
    values, objective = draw(problem)
    px.Observations.from_arrays(problem.space, values, objective)
    for row, f in zip(values[:200], objective[:200], strict=True):
        assert f == pytest.approx(
            objective_of(problem.name, zip(problem.space.names, row, strict=True)), rel=1e-6
        )


@each
def test_space_is_the_one_of_the_paper_and_of_the_stored_logs(problem):
    """Catches bounds or conditions that differ from those written down here, or the reference data's."""
    stored, _, _ = logs.synthetic(problem.name)
    for parameters in (stored["parameters"], written.SPACES[problem.name]):
        assert problem.space == px.Space.from_json({"parameters": parameters})


@each
def test_marginals_are_uniform(problem):
    """Catches a density that is not uniform; five standard errors of a uniform mean and variance."""
    values, _ = draw(problem)
    regime = problem.space.derive_regimes(values)
    for j, domains in enumerate(problem.space.domains):
        for i, domain in enumerate(domains):
            u = (values[regime[:, j] == i, j] - domain.low) / (domain.high - domain.low)
            assert len(u) > 200
            assert abs(u.mean() - 0.5) < 5 * np.sqrt(1 / 12 / len(u))
            assert abs(u.var() - 1 / 12) < 5 * np.sqrt(1 / 180 / len(u))


def test_pure_and_batched():
    """Catches hidden state, a key reused for two parameters, and seeds that vmap mixes up."""
    problem = PROBLEMS["activation-disjoint"]
    keys = jax.random.split(jax.random.key(1), 3)
    values, objective = jax.jit(jax.vmap(lambda key: problem.sample(key, 64)))(keys)
    assert values.shape == (3, 64, 3)
    assert objective.shape == (3, 64)
    one, _ = jax.jit(lambda key: problem.sample(key, 64))(keys[1])
    np.testing.assert_allclose(values[1], one, rtol=1e-6)
    v, _ = draw(PROBLEMS["regime-dependent-domain"])
    low = v[v[:, 0] < 0.5]
    assert np.abs(np.corrcoef(low.T) - np.eye(3)).max() < 0.15
    assert draw(problem, n=0)[0].shape == (0, 3)
