"""Interactions against loops over rows and cells, and closed forms."""

import jax
import numpy as np
import pytest
from reference import interactions as loops

import parzax as px

from .logs import gated, level_set, log_of, mixed, product


def check(found: px.lens.results.InteractionResult, obs: px.Observations, tolerance: float) -> None:
    region = level_set(obs, found.region)
    for q, level in enumerate(found.levels):
        expected = loops.interactions(obs, level_set(obs, level), region)
        for p, pair in enumerate(found.pairs):
            joint, first, second = expected[pair]
            ours = (found.joint[q, p], *found.main[q, p], found.variance[q, p])
            np.testing.assert_allclose(ours, (joint, first, second, joint - first - second), atol=tolerance)


@pytest.mark.parametrize("region", [1.0, 0.6])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float64", 1e-12), pytest.param("float32", 3e-6, marks=pytest.mark.slow)]
)
def test_every_kind_of_parameter(region, dtype, tolerance):
    # Catches a wrong cell, margin, regime, weight, tie or normaliser anywhere.
    obs = mixed()
    with jax.enable_x64(dtype == "float64"):
        found = px.interactions(obs, [0.3, 0.1], region=region, n_draws=0)
    assert found.variance.dtype == dtype
    check(found, obs, tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 17, 40, 100, 130, 700, 2500])
def test_every_number_of_rows(n):
    # Catches a grid size or a padding that is right for some numbers of rows only.
    for obs in (mixed(n, seed=n), gated(n, seed=n)):
        with jax.enable_x64(True):
            check(px.interactions(obs, [0.2, 0.5], n_draws=0), obs, 1e-12)


def closed_form(gamma: float) -> float:
    """I of x y on [-1, 1]^2, from P(x y <= -t | x) = max(0, 1 - t / |x|) / 2.

    The mean of that is (1 - t + t ln t) / 2 = gamma', that of its square (1 - t^2 + 2 t ln t) / 4.
    """
    if gamma == 0.5:
        return 0.25
    low, high = 1e-12, 1.0
    for _ in range(100):
        t = (low + high) / 2
        low, high = (t, high) if (1 - t + t * np.log(t)) / 2 > gamma else (low, t)
    of_one = (1 - t**2 + 2 * t * np.log(t)) / 4 - gamma**2
    return gamma * (1 - gamma) - 2 * of_one


@pytest.mark.parametrize(("gamma", "known"), [(0.1, 0.0676), (0.5, 0.25)])
@pytest.mark.parametrize(
    ("n", "share"), [(30_000, 0.78), pytest.param(1000, 0.7, marks=pytest.mark.slow)], ids=["30000", "1000"]
)
def test_a_product_is_near_its_closed_form(gamma, known, n, share):
    # Catches a bias of the estimator as a whole; with more rows it comes closer.
    truth = closed_form(gamma)
    assert truth == pytest.approx(known, abs=5e-5)
    found = px.interactions(log_of(product, n), gamma, n_draws=0)
    assert share < found.variance[0, 0] / truth < 1.1
    assert np.abs(found.variance[0, 1:]).max() < 12 / n


@pytest.mark.parametrize("n_draws", [0, pytest.param(100, marks=pytest.mark.slow)])
def test_a_sum_of_two_interacts_in_the_top_set(n_draws):
    # Catches documentation that takes an additive loss for additive membership: of x + y, uniform on [0, 1],
    # at gamma' = 1/2, P(T | x) = 1 - x, so that I = 1/4 - 2 / 12. Ten cells do not see all of the diagonal.
    found = px.interactions(log_of(lambda x, noise: x[:, 0] + x[:, 1], 30_000), 0.5, n_draws=n_draws)
    assert 0.65 / 12 < found.variance[0, 0] < 1 / 12
    assert found.above_chance[0, 0] or not n_draws
    assert found.main[0, 0] == pytest.approx(1 / 12, rel=0.05)


def test_an_additive_chance_has_none():
    # One parameter or the other decides, by chance: P(T | x, y) is a sum, though both effects are strong.
    def either(x, noise):
        return np.where(noise < 0.5, x[:, 0], x[:, 1])

    found = px.interactions(log_of(either, 30_000), 0.5, n_draws=0)
    assert found.main[0, 0] == pytest.approx(1 / 16, rel=0.1)
    assert abs(found.variance[0, 0]) < 2e-3


def test_a_gated_product_is_found_only_where_it_is_active():
    # Catches rows of other regimes on the grid, and pairs that are never active together.
    found = px.interactions(gated(2000), 0.5)
    (best,) = np.flatnonzero(found.above_chance[0])
    assert found.pairs[best] == ("x", "y")
    assert found.variance[0, best] == pytest.approx(0.125, rel=0.15)
    never = [
        found.status[0, p] == px.Status.NEVER_TOGETHER and np.isnan(found.p_value[0, p])
        for p, pair in enumerate(found.pairs)
        if {*pair} & {*"xy"} and {*pair} & {*"uv"}
    ]
    assert never == [True] * 4


def test_regimes_add_up_and_are_told_apart():
    # x has two domains; the product counts in the first alone.
    rng = np.random.default_rng(0)
    n = 4000
    c, y, noise = rng.uniform(size=n), rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    x = np.where(c < 0.5, rng.uniform(-1, 1, n), rng.uniform(5, 7, n))
    domains = (px.Float(-1, 1, when=px.Between("c", high=0.5)), px.Float(5, 7, when=px.Between("c", low=0.5)))
    space = px.Space({"c": px.Float(0, 1), "x": domains, "y": px.Float(-1, 1)})
    obs = px.Observations.from_arrays(space, np.stack([c, x, y], -1), np.where(c < 0.5, x * y, noise))
    found = px.interactions(obs, 0.5, pairs=[("y", "x")], n_draws=0)
    np.testing.assert_allclose(found.regime_variance.sum((-2, -1)), found.variance, atol=1e-7)
    assert found.regime_variance[0, 0, 0, 0] == pytest.approx(0.125, rel=0.1)
    assert abs(found.regime_variance[0, 0, 0, 1]) < 2e-3
    assert not found.regime_variance[0, 0, 1].any()
