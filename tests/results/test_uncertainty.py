"""What intervals, ranks, p-values and verdicts are, from replicates that are known."""

import statistics
from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest
from conftest import QUICK

import parzax as px
from parzax.lens.results.replicates import Replicates
from parzax.lens.results.result import Method, holm

# Importances do not subtract negative variances.
_RAW = Method(grid=px.Grid.optuna())


def _known(sampled, variance, p=None, n_rows=100, n_fewer=30):
    sampled, variance = np.asarray(sampled, float), np.asarray(variance, float)
    p = np.full(variance.shape, np.nan) if p is None else np.asarray(p)
    shape, target = variance.shape[:-2], np.full((*variance.shape, 1), n_fewer)
    estimates = px.importance.Importance(
        variance, px.importance.importance(variance), np.zeros(variance.shape), variance, target * 0.0,
        target, 10 * target[..., 0, :, :], np.zeros((*shape, 1, 1)), np.zeros(variance.shape, np.int32),
    )  # fmt: skip
    replicates = Replicates(sampled, p, np.ones(shape), np.full(shape, n_rows), 999)
    space = px.Space({f"p{j}": px.Float(0, 1) for j in range(variance.shape[-1])})
    x = np.full((1, len(space)), 0.5)
    report = px.Observations.from_arrays(space, x, [0.0]).report
    levels = np.arange(1, 1 + variance.shape[-2]) / 10
    about: dict = {"space": space, "levels": levels, "region": 1.0, "report": report, "method": _RAW}
    return px.ImportanceResult(estimates=estimates, replicates=replicates, **about)


def _recentred(whole: np.ndarray, sampled: np.ndarray, spread: float = 1.0) -> np.ndarray:
    """Entry by entry."""
    out = np.empty(sampled.shape)
    for index, v in np.ndenumerate(whole):
        own = [float(x) for x in sampled[(slice(None), *index)]]
        middle = statistics.mean(sorted(own)[len(own) // 5 : len(own) - len(own) // 5])
        out[(slice(None), *index)] = [v + spread * (x - middle) for x in own]
    return out


def test_intervals_of_half_samples_are_quantiles_of_recentred_ones():
    """Catches a mean of all or a median in place of that of the middle, and deviations not scaled."""
    rng = np.random.default_rng(0)
    sampled, variance = rng.gamma(3, size=(501, 2, 3)), rng.gamma(3, size=(2, 3))
    known = _known(sampled, variance)
    draws = _recentred(variance, sampled)
    np.testing.assert_allclose(known.variance_draws, draws)
    wanted = np.quantile(draws, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(np.moveaxis(known.variance_interval, -1, 0), wanted)
    shares = sampled / sampled.sum(axis=-1, keepdims=True)
    wanted = np.quantile(_recentred(known.importance, shares), [0.05, 0.95], axis=0)
    np.testing.assert_allclose(np.moveaxis(known.importance_interval, -1, 0), np.clip(wanted, 0, 1))
    wider = replace(known, replicates=known.replicates._replace(spread=np.asarray(1.5)))
    np.testing.assert_allclose(wider.variance_draws, _recentred(variance, sampled, 1.5))


def test_ranks_are_those_of_the_draws():
    variance = np.array([[3.0, 2.0, 1.0, 0.0]])
    sampled = variance + np.array([[[0, 0, 0, 0]], [[-2, 0, 0, 0]], [[0, -1.5, 0, 0]], [[0.5, 0, 0, 0]]])
    known = _known(sampled, variance)
    draws = _recentred(variance, sampled)
    np.testing.assert_allclose(known.variance_draws, draws)
    first = (draws.argmax(axis=-1)[..., None] == np.arange(4)).mean(axis=0)
    np.testing.assert_allclose(known.top(), first)
    assert known.top(4)[0].tolist() == [1, 1, 1, 0]  # nothing that has no variance
    for bad in (0, True, 1.5):
        with pytest.raises(ValueError, match="r must be"):
            known.top(bad)


def test_holm_agrees_with_its_definition_and_leaves_out_what_was_not_tested():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=(50, 6)) ** 3
    p[::3, 2] = np.nan
    for row, found in zip(p, holm(p), strict=True):
        tested = np.flatnonzero(~np.isnan(row))
        wanted, worst = np.full(6, np.nan), 0.0
        for i, j in enumerate(tested[np.argsort(row[tested])]):
            worst = max(worst, min(1, (len(tested) - i) * row[j]))
            wanted[j] = worst
        np.testing.assert_allclose(found, wanted)


def test_rows_needed_extrapolate_by_the_root_of_the_rows():
    deviations = np.linspace(-0.4, 0.4, 201)
    sampled = np.stack([0.5 + deviations, 0.5 - deviations], axis=-1)[:, None]
    known = _known(sampled, [[0.5, 0.5]], n_rows=100)
    np.testing.assert_allclose(known.margin, 0.36)
    np.testing.assert_allclose(known.rows_needed(), 100 * 3.6**2)
    with pytest.raises(ValueError, match="tolerance"):
        known.rows_needed(0)


def test_nothing_is_extrapolated_from_few_rows():
    deviations = np.linspace(-0.4, 0.4, 201)
    sampled = np.stack([0.5 + deviations, 0.5 - deviations], axis=-1)[:, None]
    known = _known(sampled, [[0.5, 0.5]], n_fewer=20)
    assert np.isnan(known.rows_needed()).all()
    np.testing.assert_allclose(known.rows_needed(0.4), 100 * 0.9**2)
    # Of ten not even that.
    assert np.isnan(_known(sampled, [[0.5, 0.5]], n_fewer=10).rows_needed(0.4)).all()


@pytest.mark.slow
def test_the_fewer_rows_are_those_of_the_target_or_those_outside_it():
    obs, levels = _noisy(), [0.9, 0.1, 0.5]
    known = px.cond_ped_anova(obs, levels, n_resamples=4, key=jax.random.key(0))
    assert known.n_fewer.tolist() == [20, 20, 100]
    inside = px.cond_ped_anova(obs, [0.3, 0.1, 0.2], region=0.4, n_resamples=4, key=jax.random.key(0))
    assert inside.n_fewer.tolist() == [20, 20, 40]


def _noisy(n=200, seed=0):
    rng = np.random.default_rng(seed)
    space = px.Space({name: px.Float(0, 1) for name in ("x", "noise", "constant")})
    x = rng.uniform(size=(n, 3))
    x[:, 2] = 0.5
    return px.Observations.from_arrays(space, x, (x[:, 0] - 0.3) ** 2)


def _analyse(**options):
    return px.cond_ped_anova(_noisy(), 0.2, **QUICK, key=jax.random.key(0), **options)


@cache
def _both_drawn():
    """With samples and shuffles."""
    return _analyse(n_resamples=199, n_shuffles=199)


def test_a_strong_parameter_is_above_chance_and_a_constant_is_not_tested():
    known = _both_drawn()
    np.testing.assert_allclose(known.p_value[:, 0], 1 / 200)
    assert np.isnan(known.p_value[:, 2]).all()
    np.testing.assert_allclose(known.p_adjusted[:, 0], 2 / 200)  # two were tested
    assert known.above_chance[:, 0].all()
    assert not known.above_chance[:, 2].any()
    np.testing.assert_array_equal(known.importance_interval[:, 2], 0)


def test_results_with_an_uncertainty_are_shown_and_listed():
    result = _both_drawn()
    low, high = result.importance_interval[0, 0]
    row = next(line for line in str(result).splitlines() if line.startswith("x "))
    assert row.split()[1:5] == [f"{result.importance[0, 0]:.2f}", f"{low:.2f}", "to", f"{high:.2f}"]
    frame = result.to_dataframe("pandas")
    assert frame["importance_low"][0] == low
    assert frame["p_adjusted"].isna().sum() == 1
    without = _analyse(n_resamples=0)
    assert without.to_dataframe("pandas")["p_value"].isna().all()
    assert np.isnan(without.importance_interval).all()


@pytest.mark.slow
def test_p_values_of_noise_are_uniform():
    """Of noise of four kinds, one of them active in a branch that decides the loss."""
    rng, n, seeds = np.random.default_rng(0), 60, 400
    space = px.Space({
        "c": px.Categorical(["a", "b"]),
        "x": px.Float(0, 1),
        "branch": px.Float(0, 1, when=px.In("c", ["a"])),
        "label": px.Categorical(list("uvwxyz")),
        "skewed": px.Float(0, 1),
    })  # fmt: skip
    x = rng.uniform(size=(seeds, n, 5))
    x[..., 0], x[..., 3] = x[..., 0] < 0.5, np.floor(6 * x[..., 3])
    x[..., 4] **= 4
    loss = x[..., 1] + 0.7 * x[..., 0]
    x[..., 2] = np.where(x[..., 0] == 0, x[..., 2], np.nan)
    obs = px.Observations.from_arrays(space, x, loss)
    known = px.cond_ped_anova(obs, [0.1, 0.4], n_resamples=0, n_shuffles=99, key=jax.random.key(0))
    positives = (known.p_value <= 0.05).mean(axis=0)
    assert (positives[:, :2] > 0.5).all()
    assert (positives[:, 2:] < 0.085).all()  # 0.05 with three standard errors
    assert (positives[:, 2:] > 0.005).all()


def test_what_was_not_drawn_is_not_a_number_and_not_an_error():
    """Samples without shuffles, and shuffles without samples: tables, pictures and ranks of both."""
    sampled = _analyse(n_resamples=20, n_shuffles=0)
    assert np.isnan(sampled.p_value).all()
    assert " p " not in str(sampled).split("\n\n")[1]
    shuffled = _analyse(n_resamples=0, n_shuffles=99)
    known = shuffled
    for array in (known.top(), known.importance_interval, known.margin):
        assert np.isnan(array).all()
    assert "≤0.020" in str(shuffled)  # of two that were tested
    assert "interval" not in str(shuffled).split("\n\n")[1]


@pytest.mark.slow
def test_seeds_without_a_loss_do_not_count_as_sure():
    obs = _noisy()
    losses = np.stack([obs.losses[:, 0], np.full(200, np.nan)])
    both = px.Observations.from_arrays(obs.space, np.stack([obs.values] * 2), losses)
    known = px.cond_ped_anova(both, 0.2, n_resamples=50, key=jax.random.key(0))
    np.testing.assert_allclose(known.rows_needed()[1], np.nan)


@pytest.mark.slow
def test_many_parameters_can_be_above_chance():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(150, 102))
    space = px.Space({f"p{i}": px.Float(0, 1) for i in range(102)})
    obs = px.Observations.from_arrays(space, x, (x[:, 0] - 0.3) ** 2)
    coarse = {"grid": px.Grid(max_cells=6)}
    known = px.cond_ped_anova(obs, 0.2, **coarse, n_resamples=2, key=jax.random.key(0))
    assert known.above_chance[0, 0]


@pytest.mark.slow
def test_samples_of_a_front_do_not_depend_on_the_order_of_the_objectives():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(300, 2))
    f = np.stack([x[:, 0] + 0.1 * rng.uniform(size=300), (1 - x[:, 0]) ** 2 + x[:, 1]], axis=1)
    space = px.Space({name: px.Float(0, 1) for name in "ab"})

    def sampled(objectives):
        obs = px.Observations.from_arrays(space, x, objectives, directions=["minimize"] * 2)
        how = {"objective": "pareto", "n_resamples": 400, "n_shuffles": 0, "key": jax.random.key(0)}
        return px.cond_ped_anova(obs, [0.1, 0.3], **how)

    one, other = sampled(f), sampled(f[:, ::-1])
    np.testing.assert_allclose(one.variance, other.variance, rtol=1e-5)
    # Other rows are drawn, as places in fronts that no level cuts go by the first objective.
    apart = np.abs(one.sampled.mean(axis=0) - other.sampled.mean(axis=0))
    error = np.hypot(one.sampled.std(axis=0), other.sampled.std(axis=0)) / 400**0.5
    assert (apart < 4.5 * error).all()
