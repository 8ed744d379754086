"""Samples and shuffles of device arrays: those of the shell, or the same distribution."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from importance.test_estimate import COARSE, LEVELS, MIXED, PLAIN, log


@pytest.mark.parametrize("method", ["half-sampling", pytest.param("bootstrap", marks=pytest.mark.slow)])
def test_samples_are_the_shells(method, double):
    """The i-th sample depends on the key and i alone: equal to the shell's, for any number side by side."""
    x, loss = log(150, 1)
    obs, key = px.Observations.from_arrays(MIXED, x[0], loss[0]), jax.random.key(3)
    result = px.cond_ped_anova(
        obs,
        LEVELS,
        n_resamples=70,
        n_shuffles=0,
        key=key,
        resampling=method,
        estimator=px.GridEstimator(COARSE),
    )
    encoded = px.encode(MIXED, jnp.asarray(x[0]), jnp.asarray(loss[0]), LEVELS, grid=COARSE)
    found = px.importance.resample(key, encoded, 70, method=method)
    np.testing.assert_allclose(np.asarray(found.variance), result.uncertainty.sampled, rtol=1e-11, atol=1e-14)
    fewer = px.importance.resample(key, encoded, 5, method=method)
    np.testing.assert_allclose(found.variance[:5], fewer.variance, rtol=1e-11, atol=1e-14)
    host = px.importance.resample(key, obs.encode(LEVELS, grid=COARSE), 5, method=method)
    assert isinstance(host.variance, np.ndarray)
    np.testing.assert_allclose(host.variance, fewer.variance, rtol=1e-11, atol=1e-14)


def test_samples_of_seeds_are_a_vmap(double):
    """jit(vmap) over keys and logs, missing losses included: one log after the other."""
    x, loss = log(80, 3)
    loss[1, ::4] = np.nan
    keys = jax.random.split(jax.random.key(0), 3)

    def samples(key, x, loss):
        return px.importance.resample(key, px.encode(MIXED, x, loss, LEVELS, grid=COARSE), 4).variance

    x, loss = jnp.asarray(x), jnp.asarray(loss)
    several = jax.jit(jax.vmap(samples))(keys, x, loss)
    for i in range(3):
        np.testing.assert_allclose(several[i], samples(keys[i], x[i], loss[i]), rtol=1e-11, atol=1e-14)


def test_a_half_sample_is_a_log_of_half_the_rows(double):
    """Counts of a sample add up to half of the usable rows, and sets are as large as their levels say."""
    x, loss = log(101, 1)
    loss[0, 7] = np.nan
    loss[0] += np.arange(101) * 1e-6  # no ties
    encoded = px.encode(MIXED, jnp.asarray(x[0]), jnp.asarray(loss[0]), LEVELS, grid=COARSE)
    found = px.importance.resample(jax.random.key(1), encoded, 20)
    assert (found.regime_region[:, 0].sum(axis=-1) == 50).all()
    sizes = np.asarray(found.regime_target[:, :, 0].sum(axis=-1))
    assert (sizes == [25, 5, 13]).all()


def test_shuffles_stay_within_regimes(double):
    """Rows of every regime in every set are those of the log; all that moves is where they are."""
    x, loss = log(200, 1)
    encoded = px.encode(MIXED, jnp.asarray(x[0]), jnp.asarray(loss[0]), LEVELS, 0.8, grid=COARSE)
    imp = px.importance.estimate(encoded)
    found = px.importance.shuffle(jax.random.key(0), encoded, 30)
    for name in ("regime_target", "regime_region", "inter"):
        wanted = np.asarray(getattr(imp, name))
        np.testing.assert_allclose(
            np.asarray(getattr(found, name)), np.broadcast_to(wanted, (30, *wanted.shape))
        )
    np.testing.assert_array_equal(
        found.counts[:, -1], np.broadcast_to(imp.counts[-1], found.counts[:, -1].shape)
    )
    assert np.unique(np.asarray(found.variance[:, 0, 0])).size > 20


def test_no_transfers():
    """Nothing goes through the host once the arrays are placed."""
    x = np.random.default_rng(0).uniform(size=(60, 3)).astype(np.float32)
    placed = jax.block_until_ready(jax.device_put((x, x[:, 0], jax.random.key(0))))
    with jax.transfer_guard("disallow"):
        x, loss, key = placed
        encoded = px.encode(PLAIN, x, loss, LEVELS)
        found = px.importance.resample(key, encoded, 3).share, px.importance.shuffle(key, encoded, 3).variance
        jax.block_until_ready(found)


@pytest.mark.slow
def test_shuffles_have_the_shells_distribution(double):
    """Means and deviations of 4000 shuffles beside the shell's draws from the counts."""
    x, loss = log(300, 1)
    obs = px.Observations.from_arrays(MIXED, x[0], loss[0])
    encoded = obs.encode(LEVELS, grid=COARSE)
    found = px.importance.shuffle(jax.random.key(0), encoded, 4000).variance
    again = px.importance.shuffle(jax.random.key(1), encoded, 4000).variance
    result = px.cond_ped_anova(
        obs, LEVELS, n_shuffles=4000, key=jax.random.key(2), estimator=px.GridEstimator(COARSE)
    )
    p = (1 + (found >= result.variance[None]).sum(axis=0)) / 4001
    expected = result.uncertainty.p_value
    known = ~np.isnan(expected)
    error = np.sqrt(expected * (1 - expected) / 4000)
    assert (np.abs(p - expected)[known] <= (5 * np.sqrt(2) * error + 2e-3)[known]).all()
    spread = found.std(axis=0)
    np.testing.assert_allclose(again.std(axis=0), spread, rtol=0.2, atol=1e-12)
    assert (np.abs(found.mean(axis=0) - again.mean(axis=0)) <= 6 * spread / np.sqrt(2000) + 1e-15).all()


def test_loops_on_an_accelerator():
    """Lowered for CUDA the number of loops is the same for any number of rows, levels and logs."""

    def loops(seeds, n, levels, replicates):
        def half(key, x, loss):
            return px.importance.resample(key, px.encode(PLAIN, x, loss, levels), replicates).variance

        keys = jax.random.split(jax.random.key(0), seeds)
        shapes = (jax.ShapeDtypeStruct(s, jnp.float32) for s in ((seeds, n, 3), (seeds, n)))
        traced = jax.jit(jax.vmap(half)).trace(keys, *shapes)
        return traced.lower(lowering_platforms=("cuda",)).as_text().count("stablehlo.while")

    few = loops(2, 100, [0.1, 0.5], 10)
    assert loops(50, 200, np.arange(1, 100) / 100, 10) <= few <= 3
    assert loops(2, 1000, np.arange(1, 100) / 100, 1000) <= 4  # and one over rounds


def test_refused_with_the_remedy(as_installed):
    x, loss, key = jnp.ones((4, 3)), jnp.arange(4.0), jax.random.key(0)
    encoded = px.encode(PLAIN, x, loss, 0.5, weight=jnp.ones(4))
    with pytest.raises(ValueError, match="repeat the rows"):
        px.importance.resample(key, encoded, 3)
    encoded = px.encode(PLAIN, x, loss, 0.5)
    with pytest.raises(ValueError, match="n must be a whole number"):
        px.importance.shuffle(key, encoded, 0)
    with pytest.raises(ValueError, match="method must be one of"):
        px.importance.resample(key, encoded, 3, method="jackknife")
    with pytest.raises(TypeError, match="key must be a typed key"):
        px.importance.resample(0, encoded, 3)
