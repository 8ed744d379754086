"""Samples and shuffles of logs: each is one that a user could have made, and all are equally likely."""

from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import OPTUNA, QUICK
from scipy import stats

import parzax as px
from parzax.importance.resample import half_sample
from parzax.lens.results import replicates

N, USABLE, CAPACITY = 60, 57, 64
# One program for all tests that ask for nothing else: so many levels, samples and shuffles, in float64.
LEVELS, NUMBERS = [0.1, 0.35, 0.8], {"n_resamples": 8, "n_shuffles": 16}


def _analyse(obs, *args, **options):
    with jax.enable_x64(True):
        return px.cond_ped_anova(obs, *args, **QUICK | options)


def _log(n=N, seed=0, ties=False):
    """A conditional log with a category, an integer, and rows without a loss."""
    rng = np.random.default_rng(seed)
    space = px.Space({
        "c": px.Categorical(["a", "b"]),
        "x": px.Float(0, 1, when=px.In("c", ["a"])),
        "k": px.Int(1, 5),
    })  # fmt: skip
    x = np.column_stack([rng.integers(0, 2, n), rng.uniform(size=n), rng.integers(1, 6, n)]).astype(float)
    loss = np.where(x[:, 0] == 0, x[:, 1], 0.3) + 0.1 * x[:, 2] + 0.2 * rng.normal(size=n)
    x[x[:, 0] == 1, 1] = np.nan
    loss = np.round(loss, 1) if ties else loss
    loss[:3] = np.nan
    return px.Observations.from_arrays(space, x, loss)


def _weights(key, b, size):
    """(b, CAPACITY) whether each row is in each sample, of the usable ones of `_log` in their order."""

    def sample(i):
        return half_sample(jax.random.fold_in(key, i), CAPACITY, jnp.int32(size), jnp.int32(USABLE))

    return np.asarray(jax.jit(jax.vmap(sample))(jnp.arange(b, dtype=jnp.int32)))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(QUICK, id="quick"),
        pytest.param({}, id="default", marks=pytest.mark.slow),
        pytest.param(OPTUNA, id="parity", marks=pytest.mark.slow),
    ],
)
def test_a_half_sample_is_the_analysis_of_the_log_that_has_its_rows(estimator, ties):
    obs, key, b = _log(ties=ties), jax.random.key(3), NUMBERS["n_resamples"]
    result = _analyse(obs, LEVELS, region=0.9, **estimator, key=key, **NUMBERS)
    with jax.enable_x64(True):
        weight = _weights(key, b, USABLE // 2)
    order = np.argsort(obs.losses[:, 0], kind="stable")
    for i in range(b):
        rows = order[np.flatnonzero(weight[i, :USABLE])]
        assert len(rows) == USABLE // 2
        alone = _analyse(obs.select(np.isin(np.arange(N), rows)), LEVELS, region=0.9, **estimator)
        assert alone.variance.any()
        np.testing.assert_allclose(result.sampled[i], alone.variance, rtol=1e-9, atol=1e-13)


def test_all_halves_are_equally_likely():
    n, size, b = 6, 3, 20_000

    @jax.jit
    @jax.vmap
    def draw(key):
        return half_sample(key, 8, jnp.int32(size), jnp.int32(n))

    weight = np.asarray(draw(jax.random.split(jax.random.key(0), b)))
    assert (weight[:, n:] == 0).all()
    assert (weight.sum(axis=1) == size).all()
    _, counts = np.unique(weight, axis=0, return_counts=True)
    assert len(counts) == comb(n, size)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_what_is_said_of_a_level_does_not_depend_on_the_other_levels():
    """Catches a page of many levels whose p-values are not those of the command, which has one."""
    obs = _log()
    several = _analyse(obs, LEVELS, **NUMBERS)
    alone = _analyse(obs, LEVELS[1], **NUMBERS)
    np.testing.assert_array_equal(several.p_value[1], alone.p_value[0])
    assert np.unique(alone.p_value).size > 1
    np.testing.assert_allclose(several.importance_interval[1], alone.importance_interval[0], atol=1e-12)
    # More shuffles begin with the same ones.
    more = _analyse(obs, LEVELS, n_resamples=8, n_shuffles=32)
    first, both = 17 * several.p_value - 1, 33 * more.p_value - 1
    assert ((first <= both + 1e-9) & (both <= first + 16 + 1e-9)).all()


@pytest.mark.slow
def test_padding_seeds_and_order_of_levels_change_nothing():
    obs, key = _log(), jax.random.key(7)
    one = px.cond_ped_anova(obs, [0.1, 0.5], n_resamples=40, key=key)
    other = px.cond_ped_anova(obs, [0.5, 0.1], n_resamples=40, key=key)
    for name in ("sampled", "p_value", "variance_interval"):
        mine, turned = getattr(one, name), getattr(other, name)
        axis = -3 if name == "variance_interval" else -2
        np.testing.assert_array_equal(mine, np.flip(turned, axis=axis))
    values, losses = np.stack([obs.values, obs.values]), np.stack([obs.losses[:, 0]] * 2)
    several = px.cond_ped_anova(
        px.Observations.from_arrays(obs.space, values, losses), [0.1, 0.5], n_resamples=40, key=key
    )
    assert several.variance_interval.shape == (2, 2, 3, 2)
    # The same log twice, with draws of their own.
    assert (several.sampled[:, 0] != several.sampled[:, 1]).any()


@pytest.mark.slow
def test_whole_weights_are_repeated_rows():
    # Without continuous values, so that repeats are no groups.
    log, key = _log(), jax.random.key(7)
    space = px.Space({name: log.space[name][0] for name in ("c", "k")})
    values, losses = log.values[:, [0, 2]], log.losses[:, 0]
    times = np.random.default_rng(1).integers(0, 3, N)
    weighted = px.Observations.from_arrays(space, values, losses, weight=times)
    rows = np.repeat(np.arange(N), times)
    repeated = px.Observations.from_arrays(space, values[rows], losses[rows])
    with jax.enable_x64(True):
        a, b = (px.cond_ped_anova(log, 0.2, n_resamples=60, key=key) for log in (weighted, repeated))
    # The rows are the same and so is their order: with one key the samples and shuffles are, too.
    np.testing.assert_allclose(a.sampled, b.sampled, rtol=1e-9, atol=1e-13)
    assert (a.sampled[0] != a.sampled[1]).any()
    np.testing.assert_array_equal(a.p_value, b.p_value)
    assert a.n_rows == b.n_rows == times[3:].sum()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_resamples": -1}, "n_resamples must be a whole number of at least 0, got -1"),
        ({"n_resamples": 2.5}, "n_resamples"),
        ({"n_resamples": 10, "n_shuffles": True}, "n_shuffles"),
        ({"n_resamples": 10, "key": 3}, "key must be a typed key"),
    ],
)
def test_bad_settings_are_named(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        px.cond_ped_anova(_log(), 0.2, **given)


def test_fractional_weights_are_refused():
    obs = _log()
    weighted = px.Observations.from_arrays(obs.space, obs.values, obs.losses[:, 0], weight=np.full(N, 0.5))
    with pytest.raises(ValueError, match="whole numbers"):
        px.cond_ped_anova(weighted, 0.2, **QUICK, n_resamples=10, key=jax.random.key(0))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_few_rows_give_intervals_without_an_error(n):
    obs = _log(max(n, 1) + 3).select(np.arange(max(n, 1) + 3) >= 3 + (n == 0))
    known = _analyse(obs, LEVELS, **NUMBERS)
    assert known.variance_interval.shape == (3, 3, 2)
    assert np.isfinite(known.variance_interval).all()
    assert known.margin.shape == (3,)


@pytest.mark.parametrize("counts", [1, 1 << 9, pytest.param(1 << 12, marks=pytest.mark.slow)])
def test_logs_that_do_not_fit_one_call_keep_their_places(monkeypatch, counts):
    """Catches replicates of one log under the name of another, and those of the log that fills up a group.

    In every log another parameter matters; a call has a part of the shuffles of a log, or one or two logs.
    """
    monkeypatch.setattr(replicates, "_CALL", counts)
    monkeypatch.setattr(replicates, "_COUNTS", 1 << 10)
    x = np.random.default_rng(0).uniform(size=(3, N, 3))
    losses = np.stack([x[j, :, j] for j in range(3)])
    obs = px.Observations.from_arrays(px.Space({f"x{j}": px.Float(0, 1) for j in range(3)}), x, losses)
    known = px.cond_ped_anova(obs, 0.3, n_resamples=6, n_shuffles=22, **QUICK)
    assert known.sampled.shape == (6, 3, 1, 3)
    assert (known.sampled[:, :, 0].argmax(axis=-1) == np.arange(3)).all()
    # No shuffle reaches the parameter that matters; others that do not matter are reached.
    np.testing.assert_allclose(known.p_value[np.arange(3), 0, np.arange(3)], 1 / 23)
    assert np.median(known.p_value) > 1 / 23


def test_other_levels_and_logs_share_a_program():
    """Values of levels, and rows, are data: only their numbers are compiled."""
    _analyse(_log(), LEVELS, **NUMBERS)
    before = replicates.compiled_replicates.n_compiled
    assert before > 0
    for levels, n in (([0.2, 0.5, 0.7], 40), ([0.31, 0.05, 0.9], 50)):
        _analyse(_log(n, seed=n), levels, **NUMBERS)
    assert replicates.compiled_replicates.n_compiled == before
