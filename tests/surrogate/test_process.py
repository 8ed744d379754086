"""The Gaussian process beside loops in NumPy, its laws, and unusual logs."""

from functools import cache, partial
from typing import Any, cast

import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2, kstest, multivariate_normal, norm, t

import parzax as px
from parzax import surrogate
from parzax.surrogate.process import Warp, embed

SPACE = px.Space(
    {
        "lr": px.Float(1e-4, 1, log=True),
        "model": px.Categorical(["tree", "line", "net"]),
        "depth": px.Int(1, 9, when=px.In("model", ["tree"])),
        "kind": px.Categorical(["a", "b"], when=px.In("model", ["net"])),
    }
)
GP = surrogate.GaussianProcess()


def log(n=25, seed=0, space=SPACE):
    """Rows and losses that depend on all parameters, with some noise."""
    x = np.asarray(space.sample(jax.random.key(seed), n), np.float64)
    rng = np.random.default_rng(seed)
    places = np.where(np.isnan(x), 0, x)
    losses = (np.log10(places[:, 0]) + 2) ** 2 + places[:, 1] + 0.1 * places[:, 2] + 0.05 * rng.normal(size=n)
    return x, losses


def points_by_hand(x):
    """The rows of SPACE as points: unit axis, corners of a simplex, the middle where inactive."""
    rows = []
    for lr, model, depth, kind in x:
        at = [(np.log(lr) - np.log(1e-4)) / (np.log(1) - np.log(1e-4))]
        at += [float(model == k) / np.sqrt(2) for k in range(3)]
        at += [
            0.5 if np.isnan(depth) else SPACE.frame().encode(np.array([[lr, model, depth, kind]])).unit[0, 2]
        ]
        at += [(0.5 if np.isnan(kind) else float(kind == k)) / np.sqrt(2) for k in range(2)]
        rows.append(at)
    return np.array(rows)


AXES = np.array([0, 1, 1, 1, 2, 3, 3])


def covariance(values, a, b):
    """Matern 5/2 of the distance plus the constant, one pair at a time."""
    scale = np.exp(values[:-3])[AXES]
    found = np.zeros((len(a), len(b)))
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            r = np.sqrt(5) * np.linalg.norm((p - q) * scale)
            found[i, j] = np.exp(2 * values[-3]) * (1 + r + r * r / 3) * np.exp(-r) + 1
    return found


def with_noise(values, z):
    return covariance(values, z, z) + (np.exp(2 * values[-2]) + 1e-4) * np.eye(len(z))


def test_configurations_as_points():
    x, _ = log()
    with jax.enable_x64(True):
        points = jax.jit(partial(embed, SPACE))(jnp.asarray(x))
    np.testing.assert_allclose(points, points_by_hand(x), rtol=1e-12)


@cache
def anywhere(n=1024):
    """Random configurations as points."""
    with jax.enable_x64(True):
        frame = SPACE.frame(np.dtype(float))
        drawn = jax.jit(lambda key: frame.decode(frame.draw(key, n, float)))(jax.random.key(0))
    return points_by_hand(np.asarray(drawn))


def nearest_rows(z):
    """The nearest row of each of many random configurations."""
    return [np.argmin(((z - at) ** 2).sum(axis=1)) for at in anywhere()]


def warp_by_hand(place, losses, nearest):
    """Warped losses, and offset, mean and deviation; the ends of the offset are 0.01 and 3 of the median."""
    fraction = np.exp(np.log(0.01 * 3) / 2 + np.log(3 / 0.01) / 2 * np.tanh(place))
    # Of an even number the lower of the two in the middle.
    by = fraction * (np.sort(losses[nearest])[len(nearest) // 2 - 1] - losses.min())
    w = np.log(losses - losses.min() + by)
    mean, deviation = w[nearest].mean(), w[nearest].std()
    return (w - mean) / deviation, by, mean, deviation


def test_the_mode_is_a_mode_and_its_spread_follows_the_curvature():
    x, losses = log()
    posterior = GP.fit(SPACE, x, losses)
    z = points_by_hand(x)
    prior_mean = np.r_[np.full(4, -np.log(GP.length)), 0, np.log(0.1), 0]
    prior_deviation, nearest = np.r_[np.full(4, GP.spread), 0.7, 1.0, 0.5], nearest_rows(z)

    def log_posterior(values):
        w, by, _, deviation = warp_by_hand(values[-1], losses, nearest)
        fits = multivariate_normal(np.zeros(len(z)), with_noise(values, z)).logpdf(w)
        slopes = -np.log((losses - losses.min() + by) * deviation).sum()
        return fits + slopes + norm.logpdf(values, prior_mean, prior_deviation).sum()

    steps = 1e-4 * np.eye(7)
    rises = [log_posterior(posterior.mode + step) - log_posterior(posterior.mode - step) for step in steps]
    np.testing.assert_allclose(np.array(rises) / 2e-4, 0, atol=0.02)
    for i, step in enumerate(0.3 * np.eye(7)):
        for sign in (1, -1):
            assert log_posterior(posterior.mode + sign * step) < log_posterior(posterior.mode), i
    inverse = np.linalg.inv(posterior.spread @ posterior.spread.T)
    for i, step in enumerate(0.02 * np.eye(7)):
        up, down = (log_posterior(posterior.mode + sign * step) for sign in (1, -1))
        curvature = (2 * log_posterior(posterior.mode) - up - down) / 0.02**2
        assert inverse[i, i] == pytest.approx(max(curvature, 1.5**-2), rel=0.05)


def test_the_warp_and_the_quality_are_those_of_left_out_rows():
    x, losses = log()
    posterior = GP.fit(SPACE, x, losses)
    z, errors = points_by_hand(x), []
    nearest = nearest_rows(z)
    w, *wanted = warp_by_hand(posterior.mode[-1], losses, nearest)
    with jax.enable_x64(True):
        warp = jax.jit(lambda posterior: posterior.warp(posterior.mode))(posterior)
        np.testing.assert_allclose(jax.jit(Warp.__call__)(warp, losses), w, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(jax.jit(Warp.losses)(warp, w), losses, rtol=1e-10)
        warp = jax.tree.map(np.asarray, warp)
    assert warp.best == losses.min()
    np.testing.assert_allclose((warp.offset, warp.mean, warp.deviation), wanted, rtol=1e-10)
    for i in range(len(z)):
        rest = np.arange(len(z)) != i
        weights = np.linalg.solve(with_noise(posterior.mode, z[rest]), w[rest])
        errors.append(w[i] - (covariance(posterior.mode, z[i : i + 1], z[rest]) @ weights)[0])
    assert posterior.quality == pytest.approx(1 - np.mean(np.square(errors)[nearest]), abs=1e-8)


def test_predictions_are_those_of_the_conditional_normal():
    x, losses = log()
    at, _ = log(15, seed=1)
    posterior = GP.fit(SPACE, x, losses)
    z, new = points_by_hand(x), points_by_hand(at)
    across, rows = covariance(posterior.mode, new, z), with_noise(posterior.mode, z)
    spread = covariance(posterior.mode, new, new) - across @ np.linalg.solve(rows, across.T)
    w, by, center, scale = warp_by_hand(posterior.mode[-1], losses, nearest_rows(z))
    mean, best = across @ np.linalg.solve(rows, w), losses.min()
    for quantile, found in zip((0.05, 0.5, 0.95), posterior.predict(at), strict=True):
        w = mean + norm.ppf(quantile) * np.sqrt(np.diag(spread))
        np.testing.assert_allclose(found, best + np.exp(center + scale * w) - by, rtol=1e-6)


def test_slopes_of_predictions():
    x, losses = log()
    with jax.enable_x64(True):
        posterior = jax.tree.map(jnp.asarray, GP.fit(SPACE, x, losses))

        def upper(lr):
            return posterior.predict(jnp.array([[lr, 0, 4, np.nan]]))[2, 0]

        at, step = jnp.array(0.1), 1e-5
        values = jax.jit(lambda at: (upper(at), jax.grad(upper)(at), jax.jacfwd(upper)(at)))
        expected = (values(at + step)[0] - values(at - step)[0]) / (2 * step)
        np.testing.assert_allclose(values(at)[1:], np.array([expected, expected]), rtol=1e-6)


@pytest.mark.slow
def test_draws_have_the_conditional_mean_and_covariance():
    """With one value of lengths, amplitude, noise and offset the draws have Student's distribution."""
    x, losses = log(20)
    posterior = GP.fit(SPACE, x, losses)
    certain = eqx.tree_at(lambda p: p.spread, posterior, np.zeros_like(posterior.spread))
    at, _ = log(6, seed=1)
    z, new = points_by_hand(x), points_by_hand(at)
    warped, by, center, scale = warp_by_hand(posterior.mode[-1], losses, nearest_rows(z))
    functions = certain.functions(jax.random.key(0), 4000, elsewhere=0.0)
    with jax.enable_x64(True):
        drawn = jax.lax.map(lambda draw: draw.losses(jnp.asarray(new)), functions)
    w = (np.log(np.asarray(drawn) - losses.min() + by) - center) / scale
    across, rows = covariance(posterior.mode, new, z), with_noise(posterior.mode, z)
    mean = across @ np.linalg.solve(rows, warped)
    spread = covariance(posterior.mode, new, new) - across @ np.linalg.solve(rows, across.T)
    error = np.sqrt(np.diag(spread) / 4000)
    assert (np.abs(w.mean(axis=0) - mean) < 5 * error + 0.01).all()
    # A normal draw times a factor, the root of 5 / chi^2 with five degrees of freedom: Student's t.
    # The mean square of the weights of a draw's 1024 waves tells the factor.
    deviation, factor = np.sqrt(np.diag(spread)), np.sqrt((np.asarray(functions.weights) ** 2).mean(axis=1))
    errors = np.cov((w - mean).T / factor) - spread
    np.testing.assert_allclose(errors / np.outer(deviation, deviation), 0, atol=0.1)
    assert kstest(5 / factor**2, chi2(5).cdf).statistic < 0.03
    inside = np.abs(w - mean) < t(5).ppf(0.95) * deviation
    np.testing.assert_allclose(inside.mean(axis=0), 0.9, atol=0.03)


@pytest.mark.slow
def test_draws_are_functions():
    x, losses = log()
    at, _ = log(30, seed=1)
    posterior = GP.fit(SPACE, x, losses)
    with jax.enable_x64(True):
        functions = posterior.functions(jax.random.key(3), 4)
        values = jax.jit(jax.vmap(jax.vmap(lambda draw, x: draw(x), (None, 0)), (0, None)))(
            functions, jnp.asarray(at)
        )
    np.testing.assert_allclose(values, posterior.draws(jax.random.key(3), at, 4), rtol=1e-9)


@pytest.mark.slow
def test_rows_that_failed_say_nothing():
    x, losses = log()
    failed = np.r_[losses, np.nan, np.inf]
    at, _ = log(10, seed=1)
    some = GP.fit(SPACE, np.r_[x, x[:2]], failed)
    np.testing.assert_allclose(some.predict(at), GP.fit(SPACE, x, losses).predict(at), rtol=1e-4)


def test_the_best_loss_may_be_infinite():
    x, losses = log()
    tied = np.where(losses == np.sort(losses)[1], losses.min(), losses)
    infinite = np.where(losses == np.sort(losses)[1], -np.inf, losses)
    chex.assert_trees_all_close(GP.fit(SPACE, x, infinite), GP.fit(SPACE, x, tied))


@pytest.mark.parametrize(
    "losses", [np.ones(25), np.full(25, np.nan), np.arange(25.0), np.r_[np.zeros(24), 1.0]]
)
def test_unusual_losses_give_finite_numbers(losses):
    x, _ = log()
    posterior = GP.fit(SPACE, x, losses)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(posterior))
    assert np.isfinite(posterior.draws(jax.random.key(0), log(30)[0], 4)).all()


@pytest.mark.parametrize("n", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_rows_and_one_row(n):
    x, losses = log(n)
    at, _ = log(5)
    assert np.isfinite(GP.fit(SPACE, x, losses).predict(at)).all()


def test_jax_arrays_give_jax_arrays_and_the_same_numbers():
    x, losses = log()
    on_host = GP.fit(SPACE, x, losses)
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(on_host))
    with jax.enable_x64(True):
        on_device = jax.jit(lambda x, y: GP.fit(SPACE, x, y))(jnp.asarray(x), jnp.asarray(losses))
        chex.assert_trees_all_close(on_device, on_host, rtol=1e-6)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(on_device))
    single = GP.fit(SPACE, jnp.asarray(x, jnp.float32), jnp.asarray(losses, jnp.float32))
    assert single.mode.dtype == jnp.float32
    assert float(single.quality) == pytest.approx(float(on_host.quality), abs=0.02)


def test_a_batch_of_a_hundred_logs_in_one_call():
    logs = [log(25, seed=seed) for seed in range(100)]
    x, losses = (jnp.asarray(np.stack(a), jnp.float32) for a in zip(*logs, strict=True))
    fit = jax.jit(jax.vmap(lambda x, losses: GP.fit(SPACE, x, losses))).lower(x, losses)
    # On two threads a batch of matrices in one call of LAPACK may never return.
    calls = [line for line in fit.as_text().splitlines() if "@lapack_" in line]
    assert calls
    assert not any("tensor<100x" in line for line in calls)
    batch = fit.compile()(x, losses)
    assert jnp.isfinite(batch.quality).all()
    for i in range(3):
        alone = GP.fit(SPACE, x[i], losses[i])
        assert float(batch.quality[i]) == pytest.approx(float(alone.quality), abs=0.02)


def test_long_logs_are_thinned():
    x, losses = map(jnp.asarray, log(50))
    fit = partial(surrogate.GaussianProcess(max_rows=20).fit, SPACE)
    assert len(jax.eval_shape(fit, x, losses).z) == 20


def test_arguments_that_do_not_fit():
    x, losses = log(5)
    with pytest.raises(ValueError, match="losses must have shape"):
        GP.fit(SPACE, x, losses[:4])
    with pytest.raises(ValueError, match="x must have"):
        GP.fit(SPACE, x[:, :2], losses)
    with pytest.raises(TypeError, match="space must be"):
        GP.fit(cast(Any, "space"), x, losses)
