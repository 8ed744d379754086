"""Importance for every objective and over weights, in one call."""

import jax
import numpy as np
import pytest
from conftest import QUICK

import parzax as px
from parzax.lens.results.sweep import sweep as program

SPACE = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1), "c": px.Categorical(["u", "v"])})
LEVELS = [0.3, 0.1]
FIELDS = ("counts", "variance", "importance", "divergence", "status", "regime_target", "regime_region")


def log(seeds=None, n=60, **options):
    rng = np.random.default_rng(0)
    shape = (n,) if seeds is None else (seeds, n)
    x = rng.uniform(size=(*shape, 3))
    x[..., 2] = rng.integers(0, 2, shape)
    f = np.stack([x[..., 0] + 0.3 * x[..., 1], x[..., 1] ** 2 - 0.2 * x[..., 0]], axis=-1)
    return px.Observations.from_arrays(SPACE, x, f, **options)


def same(a, b):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("seeds", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_each_objective_is_what_it_is_alone(seeds):
    """Catches seeds and objectives mixed up, levels out of order, and weights given to the wrong rows."""
    obs = log(seeds).with_weight(np.broadcast_to(np.arange(60) % 3, (60,) if seeds is None else (2, 60)))
    with jax.enable_x64(True):
        found = px.importance_by_objective(obs, LEVELS, **QUICK)
        assert list(found) == ["objective_0", "objective_1"]
        for i, result in enumerate(found.values()):
            alone = px.cond_ped_anova(obs, LEVELS, objective=i, **QUICK)
            np.testing.assert_array_equal(result.counts, alone.counts)
            np.testing.assert_array_equal(result.status, alone.status)
            # Other shapes may sum in another order.
            np.testing.assert_allclose(result.variance, alone.variance, rtol=0, atol=1e-14)
            assert result.importance.shape == alone.importance.shape
            assert result.report.direction == ("minimize",)


@pytest.mark.slow
def test_all_weight_on_one_objective_is_that_objective_to_the_last_digit():
    obs = log()
    objectives = list(px.importance_by_objective(obs, LEVELS, **QUICK).values())
    sweep = px.importance_over_weights(obs, [[1, 0], [0, 3]], LEVELS, **QUICK)
    for a, b in zip(objectives, sweep.results, strict=True):
        same(a, b)
    np.testing.assert_array_equal(sweep.weights, [[1, 0], [0, 1]])
    assert sweep.importance.shape == (2, 2, 3)


def test_a_missing_objective_without_weight_is_not_missed():
    """Catches 0 * nan, and 0 * inf."""
    obs = log()
    losses = obs.losses.copy()
    losses[:9, 1] = np.nan
    losses[9:12, 1] = -np.inf
    part = px.Observations.from_arrays(SPACE, obs.values, losses)
    a = px.importance_over_weights(part, [[1, 0], [1, 1]], LEVELS, **QUICK)
    b = px.importance_over_weights(obs, [[1, 0], [1, 1]], LEVELS, **QUICK)
    same(a.results[0], b.results[0])
    assert a.results[1].n_region == 51


@pytest.mark.parametrize("scalarise", [px.importance.weighted_sum, px.importance.chebyshev])
def test_units_do_not_matter(scalarise):
    """A power of two rounds nothing, so nothing may change; nor may the sums of the weights."""
    obs = log()
    how = {"scalarise": scalarise, "estimator": QUICK}
    scaled = px.Observations.from_arrays(SPACE, obs.values, obs.losses * [1.0, 1024.0])
    a = px.importance_over_weights(obs, [[1, 3], [2, 2]], LEVELS, **how)
    b = px.importance_over_weights(scaled, [[0.5, 1.5], [1, 1]], LEVELS, **how)
    for one, other in zip(a.results, b.results, strict=True):
        same(one, other)


@pytest.mark.slow
def test_equal_weights_find_what_serves_both():
    """f1 = a + 0.3 b and f2 = b^2 - 0.2 a: b matters more as its weight grows, until a cancels out."""
    sweep = px.importance_over_weights(log(n=1000), None, 0.3)
    assert len(sweep) == 11
    share = sweep.importance[:, 0]
    assert share[0, 0] > 0.8
    assert share[-1, 1] > 0.8
    assert (np.diff(share[:9, 1]) > 0).all()
    assert share[8, 1] > 0.99
    size = "11 weights, 1 level, 3 parameters"
    assert repr(sweep) == f"ImportanceOverWeights({size}; objective_0 and objective_1)"


@pytest.mark.slow
def test_a_formula_of_ones_own():
    obs = log()
    first = px.importance_over_weights(obs, [[1, 1], [2, 2]], 0.3, scalarise=lambda f, w: f[..., 0])
    alone = px.cond_ped_anova(obs, 0.3)
    for result in first.results:
        np.testing.assert_array_equal(result.counts, alone.counts)


@pytest.mark.slow
def test_one_program_for_all():
    """Catches a program per objective, or per weight."""
    obs = log(n=40)
    levels = [0.11, 0.22, 0.33]
    before = program.n_compiled
    px.importance_over_weights(obs, np.random.default_rng(0).uniform(size=(5, 2)), levels)
    assert program.n_compiled == before + 1
    px.importance_over_weights(obs, np.random.default_rng(1).uniform(size=(5, 2)), levels)
    assert program.n_compiled == before + 1


@pytest.mark.slow
def test_feasible_rows():
    x = log().values[:, 0]
    obs = log(constraints=x - 0.5)
    sweep = px.importance_over_weights(obs, [[1, 0], [1, 1]], 0.3, rows="feasible")
    assert {int(result.n_region) for result in sweep.results} == {(x <= 0.5).sum()}
    none = log(constraints=np.ones(60))
    for result in px.importance_by_objective(none, 0.3, rows="feasible").values():
        assert (result.status & int(px.Status.NONE_FEASIBLE) > 0).all()
        assert not result.importance.any()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 0], "shape \\(w, 2\\)"),
        ([[1, 0, 0]], "shape \\(w, 2\\)"),
        (np.zeros((0, 2)), "shape \\(w, 2\\)"),
        ([[0, 0]], "one above 0 in each row"),
        ([[1, -1]], "at least 0"),
        ([[np.inf, 1]], "finite"),
        ([[np.nan, 1]], "finite"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        px.importance_over_weights(log(), weights)


def test_bad_arguments():
    three = px.Observations.from_arrays(SPACE, log().values, np.ones((60, 3)))
    with pytest.raises(ValueError, match="only two have a default"):
        px.importance_over_weights(three)
    with pytest.raises(TypeError, match="scalarise must be a function"):
        px.importance_over_weights(log(), scalarise="sum")
    for call in (px.importance_over_weights, px.importance_by_objective):
        with pytest.raises(TypeError, match="obs must be"):
            call([1, 2])
        with pytest.raises(TypeError, match="estimator"):
            call(log(), estimator="optuna")
        with pytest.raises(ValueError, match="reference"):
            call(log(), reference="both")
