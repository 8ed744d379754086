"""Differences of importances between logs, and how often their intervals are right."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from conftest import QUICK
from scipy import stats

import parzax as px
from parzax.lens.results.comparison import _halves


def _log(seed, n=300, weights=(1.0, 0.5), seeds=None):
    shape = (n,) if seeds is None else (seeds, n)
    x = np.random.default_rng(seed).uniform(size=(*shape, 3))
    space = px.Space({name: px.Float(0, 1) for name in "abc"})
    return px.Observations.from_arrays(space, x, weights[0] * x[..., 0] + weights[1] * x[..., 1])


def test_the_difference_is_that_of_the_importances_and_its_interval_that_of_the_draws():
    key, levels = jax.random.key(5), [0.1, 0.4]
    found = px.compare(_log(0), _log(1, weights=(0.5, 1.0)), levels, n_resamples=300, key=key, **QUICK)
    keys = jax.random.split(key)
    first, second = (
        px.cond_ped_anova(log, levels, n_resamples=300, n_shuffles=0, key=own, **QUICK)
        for log, own in zip((_log(0), _log(1, weights=(0.5, 1.0))), keys, strict=True)
    )
    np.testing.assert_allclose(found.difference, second.importance - first.importance)
    draws = second.importance_draws - first.importance_draws
    np.testing.assert_allclose(found.interval[..., 0], np.quantile(draws, 0.05, axis=0), atol=1e-6)
    beyond = np.minimum((draws <= 0).mean(axis=0), (draws >= 0).mean(axis=0))
    np.testing.assert_allclose(found.p_value, np.minimum(2 * (300 * beyond + 1) / 301, 1))
    assert found.differs[:, :2].all()
    assert not found.differs[:, 2].any()
    assert " changed, for being among " in str(found)
    assert "differs" in found.text(verbose=True)
    assert "<table>" in found._repr_html_()
    assert found.cells(0)["remarks"] == ["differs", "differs", ""]
    same = replace(found, estimates=found.estimates._replace(p_value=np.ones((2, 3))))
    assert same.sentences()[1].startswith("What mattered: no parameter's importance changed beyond chance")
    assert same.cells(0)["remarks"] == [""] * 3
    assert repr(found).startswith("Comparison(2 levels, 3 parameters; first at ")


def test_halves_keep_groups_together():
    """Catches a group whose rows are on both sides: the halves would not be independent."""
    log = _log(2, n=60)
    labels = np.random.default_rng(0).integers(0, 12, 60)  # interleaved
    usable = np.arange(60) % 7 > 0
    obs = replace(log, groups=labels.astype(np.int32)).select(usable)
    first, second = (half.weight > 0 for half in _halves(obs))
    assert (first ^ second).tolist() == usable.tolist()
    in_order = list(dict.fromkeys(labels[usable].tolist()))
    assert set(labels[first]) == set(in_order[: len(in_order) // 2])
    assert set(labels[second]) == set(in_order[len(in_order) // 2 :])
    # Repeats of a configuration are groups, as in the importances; a group is not halved.
    x = np.repeat(log.values[:6], 5, axis=0)
    repeats = px.Observations.from_arrays(log.space, x, np.arange(30.0))
    assert _halves(repeats)[0].weight.tolist() == [1] * 15 + [0] * 15
    with pytest.raises(ValueError, match="a log of 3 groups has no halves"):
        px.compare(repeats.select(np.arange(30) < 15))
    seeds = _log(3, n=10, seeds=2)
    assert _halves(seeds)[1].weight.tolist() == [[0] * 5 + [1] * 5] * 2


def test_seeds_give_standard_errors():
    a, b = _log(3, seeds=8), _log(4, seeds=8)
    found = px.compare(a, b, 0.2, **QUICK)
    means = [px.cond_ped_anova(log, 0.2, **QUICK).importance for log in (a, b)]
    error = np.hypot(*(m.std(axis=0, ddof=1) / np.sqrt(8) for m in means))
    np.testing.assert_allclose(np.ptp(found.interval, axis=-1) / 2, 1.6449 * error, rtol=1e-3)
    np.testing.assert_allclose(found.p_value, 2 * stats.norm.sf(np.abs(found.difference) / error), rtol=1e-3)


def test_logs_that_cannot_be_compared_are_refused():
    other = px.Observations.from_arrays(px.Space({"a": px.Float(0, 1)}), np.ones((5, 1)), np.arange(5.0))
    with pytest.raises(ValueError, match="different spaces"):
        px.compare(_log(0), other)
    with pytest.raises(ValueError, match="no halves"):
        px.compare(_log(0, n=3))
    with pytest.raises(TypeError, match="second must be"):
        px.compare(_log(0), 3)


@pytest.mark.slow
def test_logs_of_one_search_rarely_differ():
    """Catches p-values that are far too low or too high: those of equal ones would be uniform."""
    key = jax.random.key(1)
    found = [px.compare(_log(2 * i), _log(2 * i + 1), 0.2, n_resamples=100, key=key) for i in range(150)]
    assert np.mean([own.differs[0].any() for own in found]) < 0.1
    below = np.mean([own.p_value[0] <= 0.5 for own in found], axis=0)
    assert ((below > 0.3) & (below < 0.6)).all()


@pytest.mark.slow
def test_nothing_differs_from_a_log_about_which_nothing_can_be_said():
    log = _log(0)
    flat = px.Observations.from_arrays(log.space, log.values, np.ones(log.n))
    found = px.compare(log, flat, n_resamples=20)
    assert np.isnan(found.difference).all()
    assert not found.differs.any()
    assert "all losses are equal, so no level set stands out" in str(found)
    assert "-0.00" not in str(px.compare(log, log, n_resamples=20))
    # Rows that do not count are in neither half.
    first = px.compare(log.select(np.arange(log.n) < 200), n_resamples=20)
    assert first.first.n_region == first.second.n_region == 100
