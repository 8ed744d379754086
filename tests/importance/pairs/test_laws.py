"""Laws of interactions: order, names, units, seeds, padding, weights, filters; compilation."""

import importlib

import jax
import numpy as np
import pytest

import parzax as px

from .logs import gated, log_of, mixed, product

_program = importlib.import_module("parzax.lens.results.analysis")
MEASURES = ("variance", "joint", "importance", "status", "n_active")


def without_draws(obs, levels=(0.1, 0.5), **settings):
    return px.interactions(obs, levels, n_draws=0, **settings)


def test_an_order_of_parameters_is_an_order_of_results():
    # Catches a pair that is counted in the columns of another one.
    obs = log_of(lambda x, noise: x[:, 0] * x[:, 1] + 0.3 * x[:, 2] + 0.1 * noise, 60)
    order, names = [2, 0, 1], list(obs.space.names)
    domains = {names[j]: obs.space.domains[j] for j in order}
    other = px.Observations.from_arrays(px.Space(domains), obs.values[:, order], obs.losses)
    found, again = (px.interactions(log, [0.1, 0.5], n_draws=50) for log in (obs, other))
    assert again.pairs == (("z", "x"), ("z", "y"), ("x", "y"))
    places = [found.pairs.index(pair) for pair in (("x", "z"), ("y", "z"), ("x", "y"))]
    for name in MEASURES:
        np.testing.assert_allclose(getattr(again, name), getattr(found, name)[..., places], atol=1e-7)
    np.testing.assert_allclose(again.main[:, :2], found.main[:, places[:2], ::-1], atol=1e-7)
    np.testing.assert_allclose(again.main[:, 2], found.main[:, places[2]], atol=1e-7)


def test_levels_come_back_in_the_order_asked():
    obs = log_of(product, 60)
    up, down = (px.interactions(obs, levels, n_draws=50) for levels in ([0.1, 0.5], [0.5, 0.1]))
    for name in ("variance", "p_value", "p_adjusted", "status", "n_target", "regime_variance"):
        np.testing.assert_array_equal(getattr(up, name)[::-1], getattr(down, name))


def test_a_log_axis_is_a_change_of_units():
    # Catches cells in native units.
    rng = np.random.default_rng(0)
    u, v = rng.uniform(size=(2, 500))
    loss = (u - 0.5) * (v - 0.5)
    plain = px.Space({"u": px.Float(0, 1), "v": px.Float(0, 1)})
    logs = px.Space({"u": px.Float(1e-4, 1, log=True), "v": px.Float(0, 1)})
    one = px.Observations.from_arrays(plain, np.stack([u, v], -1), loss)
    other = px.Observations.from_arrays(logs, np.stack([10 ** (4 * u - 4), v], -1), loss)
    np.testing.assert_allclose(without_draws(one).variance, without_draws(other).variance, atol=1e-7)


def test_crowded_rows_are_cut_by_rank():
    # Catches cells that are nearly all empty, as of a sampler's log: how far apart the occupied cells of the
    # grid are does not matter.
    rng = np.random.default_rng(0)
    index, noise = rng.integers(0, 30, size=(1000, 2)), rng.uniform(size=1000)
    loss = (index[:, 0] - 15) * (index[:, 1] - 15) / 100 + noise
    space = px.Space({"u": px.Int(0, 95), "v": px.Int(0, 95)})
    found = [
        without_draws(px.Observations.from_arrays(space, places[index], loss))
        for places in (np.arange(30), np.r_[np.arange(20), 60:70])
    ]
    np.testing.assert_array_equal(found[0].variance, found[1].variance)


@pytest.mark.slow
def test_seeds_are_logs_of_their_own():
    # Catches cells, levels or regimes of another seed.
    logs = [gated(300, seed) for seed in range(3)]
    arrays = [np.stack([getattr(own, name) for own in logs]) for name in ("values", "losses")]
    found = without_draws(px.Observations.from_arrays(logs[0].space, *arrays))
    assert found.variance.shape == (3, 2, 10)
    assert found.n_active.shape == (3, 10)
    for seed, own in enumerate(logs):
        for name in MEASURES:
            np.testing.assert_allclose(
                getattr(found, name)[seed], getattr(without_draws(own), name), atol=1e-7
            )


@pytest.mark.slow
def test_rows_of_weight_zero_and_failed_rows_are_not_there():
    # Catches padding and filters that move cells or counts.
    obs = mixed()
    kept = obs.weight > 0
    assert not kept.all()
    fewer = px.Observations.from_arrays(
        obs.space, obs.values[kept], obs.losses[kept], weight=obs.weight[kept], regime=obs.regime[kept]
    )
    for name in MEASURES:
        np.testing.assert_array_equal(getattr(without_draws(obs), name), getattr(without_draws(fewer), name))


@pytest.mark.slow
def test_a_weight_of_two_is_a_row_seen_twice():
    log = log_of(product, 200)
    # Integers, so that repeats are no groups.
    obs = px.Observations.from_arrays(
        px.Space({name: px.Int(-9, 9) for name in log.space.names}), np.round(9 * log.values), log.losses
    )
    weight = np.random.default_rng(1).integers(1, 4, obs.n)
    rows = np.repeat(np.arange(obs.n), weight)
    twice = px.Observations.from_arrays(obs.space, obs.values[rows], obs.losses[rows])
    for settings in ({"n_draws": 0}, {"n_draws": 300}):
        one = px.interactions(obs.with_weight(weight), 0.3, **settings)
        other = px.interactions(twice, 0.3, **settings)
        np.testing.assert_allclose(one.variance, other.variance, atol=1e-7)
        np.testing.assert_array_equal(one.p_value, other.p_value)


@pytest.mark.slow
def test_float32_and_float64_agree():
    obs = mixed(2000)
    with jax.enable_x64(True):
        wide = without_draws(obs)
    narrow = without_draws(obs)
    assert (wide.variance.dtype, narrow.variance.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(wide.variance, narrow.variance, atol=3e-6)


@pytest.mark.slow
def test_a_key_makes_the_p_values():
    # Catches draws that differ from call to call, or that no key changes.
    obs = log_of(lambda x, noise: noise, 200)
    found = [px.interactions(obs, 0.3, key=key).p_value for key in (None, None, jax.random.key(1))]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


@pytest.mark.slow
def test_more_pairs_and_rows_of_a_capacity_share_a_program():
    # Catches compilation for every number of rows.
    before = _program._interactions.n_compiled
    for n in (201, 230, 256):
        px.interactions(log_of(product, n), [0.2, 0.4, 0.7], n_draws=77)
    assert _program._interactions.n_compiled - before == 1


@pytest.mark.parametrize("n", [0, 1, 2, 3, 12])
def test_few_rows(n):
    # Catches a division by nothing; so few rows say nothing, and a status says that.
    found = px.interactions(log_of(product, n), [0.1, 0.5], n_draws=50)
    assert np.isfinite(found.variance).all()
    assert (found.status != 0).all()
    assert not found.above_chance.any()
    if n < 2:
        assert (found.status & int(px.Status.NO_DATA)).all()
        assert np.isnan(found.p_value).all()
    str(found)
