"""Samples and shuffles of device arrays: those of the shell, or the same distribution."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COARSE

import parzax as px
from importance.test_estimate import LEVELS, MIXED, PLAIN, log

PEARSON = px.divergence.Pearson()
KEY = jax.random.key(3)


def log_without_ties() -> tuple[np.ndarray, np.ndarray]:
    """100 rows with a loss and one without."""
    x, loss = log(101, 1)
    loss[0, 7] = np.nan
    return x[0], loss[0] + np.arange(101) * 1e-6


@functools.cache
def encoded() -> px.importance.Encoded:
    """The log on a device; without ties."""
    with jax.enable_x64(True):
        return jax.device_put(px.encode(MIXED, *log_without_ties(), LEVELS, grid=COARSE))


@functools.cache
def samples(n: int) -> px.importance.Importance:
    """Samples of the log, on the host; nothing moves between host and device while they are drawn."""
    with jax.enable_x64(True):
        key, placed = jax.block_until_ready(jax.device_put((KEY, encoded())))
        with jax.transfer_guard("disallow"):
            found = px.importance.resample(key, placed, n, PEARSON)
            jax.block_until_ready((found, found.importance))
        return jax.device_get(found)


@pytest.mark.slow
def test_samples_are_the_shells(double):
    """The i-th sample depends on the key and i alone: equal to the shell's, for any number side by side.

    Of 70 samples 35 are side by side.
    """
    obs, how = (
        px.Observations.from_arrays(MIXED, *log_without_ties()),
        {"grid": COARSE, "divergence": PEARSON},
    )
    found, fewer = samples(70), samples(5)
    how |= {"n_resamples": 70, "n_shuffles": 0, "key": KEY}
    sampled = px.cond_ped_anova(obs, LEVELS, **how).sampled
    np.testing.assert_allclose(found.variance, sampled, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(found.variance[:5], fewer.variance, rtol=1e-11, atol=1e-14)
    host = px.importance.resample(KEY, obs.encode(LEVELS, grid=COARSE), 5, PEARSON)
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(host))
    np.testing.assert_allclose(host.variance, fewer.variance, rtol=1e-11, atol=1e-14)


def test_samples_of_seeds_are_a_vmap(double):
    """jit(vmap) over keys and logs, missing losses included: one log after the other."""
    x, loss = log_without_ties()
    keys, losses = (
        jnp.stack([KEY, jax.random.key(4)]),
        np.stack([loss, np.where(np.arange(101) % 4, loss, np.nan)]),
    )

    def importance(key, log):
        return px.importance.resample(key, log, 5, PEARSON).variance

    logs = [encoded(), jax.device_put(px.encode(MIXED, x, losses[1], LEVELS, grid=COARSE))]
    several = jax.jit(jax.vmap(importance))(keys, jax.tree.map(lambda *a: np.stack(a), *logs))
    np.testing.assert_allclose(several[0], samples(5).variance, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(several[1], importance(keys[1], logs[1]), rtol=1e-11, atol=1e-14)


def test_a_half_sample_is_a_log_of_half_the_rows():
    """Counts of a sample add up to half of the usable rows, and sets are as large as their levels say."""
    found = samples(70)
    assert (found.regime_region[:, 0].sum(axis=-1) == 50).all()
    sizes = found.regime_target[:, :, 0].sum(axis=-1)
    assert (sizes == [25, 5, 13]).all()


def test_shuffles_stay_within_regimes():
    """Rows of every regime in every set are those of the log; all that moves is where they are.

    In float32; nothing moves between host and device.
    """
    x, loss = log(200, 1)
    host = px.encode(MIXED, x[0], loss[0], LEVELS, 0.8, grid=COARSE)
    imp = px.importance.estimate(host, PEARSON)
    key, placed = jax.block_until_ready(jax.device_put((jax.random.key(0), host)))
    with jax.transfer_guard("disallow"):
        found = jax.block_until_ready(px.importance.shuffle(key, placed, 30, PEARSON))
    found = jax.device_get(found)
    for name in ("regime_target", "regime_region", "inter"):
        wanted = getattr(imp, name)
        np.testing.assert_allclose(getattr(found, name), np.broadcast_to(wanted, (30, *wanted.shape)))
    np.testing.assert_array_equal(
        found.counts[:, -1], np.broadcast_to(imp.counts[-1], found.counts[:, -1].shape)
    )
    assert np.unique(found.variance[:, 0, 0]).size > 20


@pytest.mark.slow
def test_shuffles_have_the_shells_distribution(double):
    """Means and deviations of 4000 shuffles beside the shell's draws from the counts."""
    x, loss = log(300, 1)
    obs = px.Observations.from_arrays(MIXED, x[0], loss[0])
    encoded = obs.encode(LEVELS, grid=COARSE)
    found = px.importance.shuffle(jax.random.key(0), encoded, 4000).variance
    again = px.importance.shuffle(jax.random.key(1), encoded, 4000).variance
    result = px.cond_ped_anova(
        obs, LEVELS, n_resamples=0, n_shuffles=4000, key=jax.random.key(2), grid=COARSE
    )
    p = (1 + (found >= result.variance[None]).sum(axis=0)) / 4001
    expected = result.p_value
    known = ~np.isnan(expected)
    error = np.sqrt(expected * (1 - expected) / 4000)
    assert (np.abs(p - expected)[known] <= (5 * np.sqrt(2) * error + 2e-3)[known]).all()
    spread = found.std(axis=0)
    np.testing.assert_allclose(again.std(axis=0), spread, rtol=0.2, atol=1e-12)
    assert (np.abs(found.mean(axis=0) - again.mean(axis=0)) <= 6 * spread / np.sqrt(2000) + 1e-15).all()


@pytest.mark.parametrize(
    ("seeds", "n", "most"), [(50, 1000, 4), pytest.param(50, 10, 3, marks=pytest.mark.slow)]
)
def test_loops_on_an_accelerator(seeds, n, most):
    """Lowered for CUDA: at most 3 loops for many rows, levels and logs, and one more over rounds."""
    x = np.random.default_rng(0).uniform(size=(1000, 3))
    log = px.encode(PLAIN, x, x[:, 0], np.arange(1, 100) / 100)
    keys = jax.random.split(jax.random.key(0), seeds)
    logs = jax.tree.map(lambda a: jax.ShapeDtypeStruct((seeds, *a.shape), a.dtype), log)
    batch = jax.jit(jax.vmap(lambda key, log: px.importance.resample(key, log, n).variance))
    lowered = batch.trace(keys, logs).lower(lowering_platforms=("cuda",))
    assert lowered.as_text().count("stablehlo.while") <= most


def test_refused_with_the_remedy(as_installed):
    x, loss, key = np.ones((4, 3)), np.arange(4.0), jax.random.key(0)
    encoded = px.encode(PLAIN, x, loss, 0.5, weight=np.ones(4))
    with pytest.raises(ValueError, match="repeat the rows"):
        px.importance.resample(key, encoded, 3)
    encoded = px.encode(PLAIN, x, loss, 0.5)
    with pytest.raises(ValueError, match="n must be a whole number"):
        px.importance.shuffle(key, encoded, 0)
    with pytest.raises(TypeError, match="key must be a typed key"):
        px.importance.resample(0, encoded, 3)
