"""What intervals, ranks, p-values and verdicts are, from replicates that are known."""

import jax
import numpy as np
import pytest
from scipy import stats

import parzax as px
from parzax.importance.uncertainty import holm


def _known(sampled, variance, method="half-sampling", p=None, n_rows=100):
    sampled, variance = np.asarray(sampled, float), np.asarray(variance, float)
    positive = np.maximum(variance, 0)
    importance = positive / positive.sum(axis=-1, keepdims=True)
    p = np.full(variance.shape, np.nan) if p is None else np.asarray(p)
    shape = variance.shape[:-2]
    return px.Uncertainty(
        sampled, variance, importance, p, np.ones(shape), np.full(shape, n_rows), 999, method
    )


def test_intervals_of_half_samples_are_recentred_quantiles_of_their_deviations():
    rng = np.random.default_rng(0)
    sampled, variance = rng.gamma(3, size=(500, 2, 3)), rng.gamma(3, size=(2, 3))
    known = _known(sampled, variance)
    low, high = np.quantile(sampled, [0.05, 0.95], axis=0) - sampled.mean(axis=0)
    np.testing.assert_allclose(known.variance_interval[..., 0], variance + low)
    np.testing.assert_allclose(known.variance_interval[..., 1], variance + high)
    shares = sampled / sampled.sum(axis=-1, keepdims=True)
    low, high = known.importance + np.quantile(shares, [0.05, 0.95], axis=0) - shares.mean(axis=0)
    np.testing.assert_allclose(known.importance_interval[..., 0], np.clip(low, 0, 1))
    np.testing.assert_allclose(known.importance_interval[..., 1], np.clip(high, 0, 1))
    # Of two parameters together, from the same samples.
    of_both = known.interval_of(1, [0, 2])
    both = shares[:, 1, [0, 2]].sum(axis=-1)
    wanted = known.importance[1, [0, 2]].sum() + np.quantile(both, [0.05, 0.95]) - both.mean()
    np.testing.assert_allclose(of_both, np.clip(wanted, 0, 1))


def test_intervals_of_bootstrap_samples_are_their_quantiles():
    sampled = np.random.default_rng(0).gamma(3, size=(500, 1, 3))
    known = _known(sampled, np.ones((1, 3)), method="bootstrap")
    np.testing.assert_allclose(known.variance_interval[0, :, 1], np.quantile(sampled[:, 0], 0.95, axis=0))


def test_ranks_are_those_of_the_draws():
    variance = np.array([[3.0, 2.0, 1.0, 0.0]])
    sampled = variance + np.array([[[0, 0, 0, 0]], [[-2, 0, 0, 0]], [[0, -1.5, 0, 0]], [[0.5, 0, 0, 0]]])
    known = _known(sampled, variance)
    draws = variance + sampled - sampled.mean(axis=0)
    np.testing.assert_allclose(known.draws, draws)
    first = (draws.argmax(axis=-1)[..., None] == np.arange(4)).mean(axis=0)
    np.testing.assert_allclose(known.top(), first)
    assert known.top(4)[0].tolist() == [1, 1, 1, 0]  # nothing that has no variance
    taus = [stats.kendalltau(draw[0], variance[0]).statistic for draw in draws]
    np.testing.assert_allclose(known.rank_stability, np.mean(taus))
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


def test_a_verdict_extrapolates_by_the_root_of_the_rows():
    deviations = np.linspace(-0.4, 0.4, 201)
    sampled = np.stack([0.5 + deviations, 0.5 - deviations], axis=-1)[:, None]
    known = _known(sampled, [[0.5, 0.5]], n_rows=100)
    np.testing.assert_allclose(known.margin, 0.36)
    np.testing.assert_allclose(known.rows_needed(), 100 * 3.6**2)
    (verdict,) = known.verdicts()
    assert verdict.startswith("about 1200 more rows")
    assert "extrapolated" in verdict
    assert known.verdicts(0.4) == ["enough rows: importances are known to within 0.36"]
    with pytest.raises(ValueError, match="tolerance"):
        known.rows_needed(0)


def _noisy(n=200, seed=0):
    rng = np.random.default_rng(seed)
    space = px.Space({name: px.Float(0, 1) for name in ("x", "noise", "constant")})
    x = rng.uniform(size=(n, 3))
    x[:, 2] = 0.5
    return px.Observations.from_arrays(space, x, (x[:, 0] - 0.3) ** 2)


def test_a_strong_parameter_is_above_chance_and_a_constant_is_not_tested():
    known = px.cond_ped_anova(_noisy(), [0.1, 0.5], n_resamples=199, key=jax.random.key(0)).uncertainty
    np.testing.assert_allclose(known.p_value[:, 0], 1 / 200)
    assert np.isnan(known.p_value[:, 2]).all()
    np.testing.assert_allclose(known.p_adjusted[:, 0], 2 / 200)  # two were tested
    assert known.above_chance[:, 0].all()
    assert not known.above_chance[:, 2].any()
    np.testing.assert_array_equal(known.importance_interval[:, 2], 0)


def test_results_with_an_uncertainty_are_saved_shown_and_listed(tmp_path):
    result = px.cond_ped_anova(_noisy(), [0.1, 0.5], n_resamples=99, key=jax.random.key(0))
    result.save(tmp_path / "result.npz")
    loaded = px.ImportanceResult.load(tmp_path / "result.npz")
    for name in ("variance_interval", "importance_interval", "p_adjusted", "rank_stability"):
        np.testing.assert_array_equal(getattr(loaded.uncertainty, name), getattr(result.uncertainty, name))
    assert str(loaded) == str(result)
    assert "90 % intervals of one log" in str(result)
    low, high = result.uncertainty.importance_interval[0, 0]
    assert f"{result.importance[0, 0]:.3f} ({low:.2f}-{high:.2f})" in str(result)
    frame = result.to_dataframe("pandas")
    assert frame["importance_low"][0] == low
    assert frame["p_adjusted"].isna().sum() == 2
    without = px.cond_ped_anova(_noisy(), [0.1, 0.5])
    assert without.uncertainty is None
    assert "p_value" not in without.to_dataframe("pandas")
    without.save(tmp_path / "without.npz")
    assert px.ImportanceResult.load(tmp_path / "without.npz").uncertainty is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [px.GridEstimator(), px.GridEstimator.smoothed()], ids=["default", "smoothed"]
)
def test_p_values_of_noise_are_uniform(estimator):
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
    known = px.cond_ped_anova(
        obs, [0.1, 0.4], estimator=estimator, n_resamples=0, n_shuffles=99, key=jax.random.key(0)
    ).uncertainty
    positives = (known.p_value <= 0.05).mean(axis=0)
    assert (positives[:, :2] > 0.5).all()
    assert (positives[:, 2:] < 0.085).all()  # 0.05 with three standard errors
    assert (positives[:, 2:] > 0.005).all()
