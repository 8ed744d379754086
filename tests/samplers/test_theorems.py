"""What the papers prove of the scores, and the order that Optuna's density ratio gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers._tpe import parzen_estimator as optunas
from reference import tpe as oracle

import parzax as px
from parzax.acquisition import constrained_score

from .tables import FAMILY, SPACE_OF, candidates, score_of, table, told

LAW = settings(deadline=None, max_examples=200, derandomize=True)
RATIOS = st.lists(st.floats(-30, 30), min_size=3, max_size=3)
SHARES = st.lists(st.floats(0.001, 1), min_size=3, max_size=3)


@jax.jit
def _slopes(ratio, gamma):
    """Gradient of the score with respect to log r_i, which is that with respect to log l_i, and -log g_i."""
    below = jax.grad(lambda r: constrained_score(r, jnp.zeros(3), gamma))(ratio)
    above = jax.grad(lambda g: constrained_score(ratio, g, gamma))(jnp.zeros(3))
    return below, -above


@LAW
@given(RATIOS, SHARES)
def test_theorem_1(ratio, gamma):
    """A group with a smaller share and no larger ratio pulls at least as hard (c-TPE, Theorem 1).

    log r_rel = -log(gamma + (1 - gamma) / r), so d log r_rel / d log r = 1 / (1 + r gamma / (1 - gamma)), and
    d / d r is that over r. Both fall with gamma and with r: where gamma_i <= gamma_j and r_i <= r_j, i's is
    at least j's.
    """
    with jax.enable_x64(True):
        slope, other = map(np.asarray, _slopes(jnp.asarray(ratio), jnp.asarray(gamma)))
    ratio, gamma = np.asarray(ratio), np.asarray(gamma)
    # (1 - gamma) is exact enough; sums of two terms, one division.
    np.testing.assert_allclose(slope, (1 - gamma) / (1 - gamma + gamma * np.exp(ratio)), rtol=1e-12)
    np.testing.assert_allclose(other, slope, rtol=1e-12)
    for i in range(3):
        for j in range(3):
            if gamma[i] <= gamma[j] and ratio[i] <= ratio[j]:
                assert slope[i] >= slope[j] * (1 - 1e-12)
                assert slope[i] / np.exp(ratio[i]) >= slope[j] / np.exp(ratio[j]) * (1 - 1e-12)


def test_the_premise_of_theorem_1():
    """c-TPE, Theorem 1: r_i + r_i^2 gamma_i / (1 - gamma_i) at most that of j, also where r_i > r_j.

    Catches a slope that falls with the ratio alone, which the law above, for r_i <= r_j, would let pass.
    """
    rng = np.random.default_rng(0)
    ratio, gamma = rng.normal(0, 2, (4000, 3)), rng.uniform(0.001, 1, (4000, 3))
    with jax.enable_x64(True):
        slope = np.asarray(jax.vmap(_slopes)(jnp.asarray(ratio), jnp.asarray(gamma))[0])
    assert (slope > 0).all()
    r = np.exp(ratio)
    load, by_ratio = r + r**2 * gamma / (1 - gamma), slope / r
    premise = (load[:, 0] <= load[:, 1]) & (gamma[:, 0] <= gamma[:, 1])
    larger = premise & (r[:, 0] > r[:, 1])
    assert larger.sum() > 100
    for chosen in (premise, larger):
        assert (by_ratio[chosen, 0] >= by_ratio[chosen, 1] * (1 - 1e-12)).all()


@LAW
@given(RATIOS, SHARES)
def test_a_share_of_one_has_no_slope(ratio, gamma):
    """gamma_i = 1: everything is good, and the group has no say (c-TPE, Corollary 2)."""
    with jax.enable_x64(True):
        slope, _ = _slopes(jnp.asarray(ratio), jnp.asarray([gamma[0], 1.0, 1.0]))
        assert (np.asarray(slope[1:]) == 0).all()
        assert float(slope[0]) > 0 or gamma[0] == 1


def _same_order(found, wanted):
    """The same order, but for candidates that are equal within rounding."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    order = np.argsort(-wanted, kind="stable")
    assert (np.diff(found[order]) <= 1e-11).all()
    distinct = -np.diff(wanted[order]) > 1e-9
    assert distinct.sum() > 3
    assert (np.diff(found[order])[distinct] < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["categories", pytest.param("mixed", marks=pytest.mark.slow)])
def test_corollary_2_of_the_engine(name, double):
    """With everything feasible c-TPE orders candidates as TPE does, the groups being the same."""
    space = SPACE_OF[name]
    c_tpe, tpe = px.c_tpe(space, n_constraints=2), px.papers.tpe(space)
    for seed in range(3):
        own = table(name, "all feasible", 1, 2, seed)
        at = jnp.asarray(candidates(name))
        plain = told(tpe, own._replace(constraints=own.constraints[:, :0]))
        score, ratio = score_of(c_tpe, told(c_tpe, own), at), score_of(tpe, plain, at)
        _same_order(score, ratio)
        gamma = 2 / 30  # ceil(sqrt(30) / 4) of 30 rows
        np.testing.assert_allclose(score, [oracle.relative(float(r), gamma) for r in ratio], rtol=1e-10)


class _StableNumpy:
    """NumPy with a stable argsort: Optuna's order of equal values is that of an unstable one."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def argsort(a, **options):
        return np.argsort(a, **(options | {"kind": "stable"}))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["optuna_tpe", "optuna_tpe, all ages"])
def test_the_order_of_optunas_density_ratio(family, double, monkeypatch):
    """Optuna's own estimators of the groups; also the values, as logs of densities cancel their measure."""
    monkeypatch.setattr(optunas, "np", _StableNumpy())
    make, m, c, own_settings = FAMILY[family]
    sampler = make(SPACE_OF["mixed"])
    distributions = {
        "lr": FloatDistribution(1e-5, 10.0, log=True),
        "k": IntDistribution(1, 7),
        "kind": CategoricalDistribution(["a", "b", "c"]),
    }
    ages = oracle.ages if own_settings.forget else lambda n: [1.0] * n
    parameters = optunas._ParzenEstimatorParameters(1.0, True, False, lambda n: np.asarray(ages(n)), True)
    at = candidates("mixed")

    def log_pdf(rows):
        estimator = optunas._ParzenEstimator(
            dict(zip(distributions, rows.T, strict=False)), distributions, parameters
        )
        return estimator.log_pdf(dict(zip(distributions, at.T, strict=False)))

    for data in ("random", "few values", "pending", "infinite"):
        own = table("mixed", data, m, c)
        (group,) = oracle.groups(own_settings, own.x, own.losses, own.constraints, own.constraint_only)
        wanted = log_pdf(own.x[group.below]) - log_pdf(own.x[group.above])
        found = score_of(sampler, told(sampler, own), jnp.asarray(at))
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
        _same_order(found, wanted)
