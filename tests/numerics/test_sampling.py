"""Quantiles and draws of the truncated normal."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import normal
from scipy import stats

from parzax._numerics import (
    open_uniform,
    truncated_normal_quantile,
    truncated_normal_sample,
    unit_normal_quantile,
)

INF = np.inf
INTERVALS = [
    (5, 6), (5.5, 5.6), (10, 11), (8, 9), (20, INF), (38, 50), (60, 70), (-6, -5), (-12, -11.5),
    (-INF, -5), (-1, 2), (-3, 1), (-0.1, 40), (-40, 40), (-INF, INF), (-INF, 2), (0, 1),
    (0, 1e-4), (-0.3, 0.2), (0, 0.3), (10, 10.02), (10, 10.05),
]  # fmt: skip
QUANTILE = jax.jit(truncated_normal_quantile)
GRADIENT = jax.jit(
    jax.vmap(jax.grad(truncated_normal_quantile, range(5)), in_axes=(0, None, None, None, None))
)
SAMPLE = jax.jit(truncated_normal_sample, static_argnames="shape")


def _levels(dtype) -> np.ndarray:
    tiny = np.finfo(dtype).tiny
    near = 10.0 ** -np.arange(1, 30)
    u = np.concatenate([[2 * tiny], near, np.linspace(0.003, 0.997, 60), 1 - 2.0 ** -np.arange(2, 24)])
    return np.sort(u).astype(dtype)


def _resolution(x: np.ndarray, low: float, high: float, loc: float = 0, scale: float = 1) -> np.ndarray:
    """An ulp of x or of the effective width, whichever is larger."""
    width = np.minimum(high - low, scale / np.maximum(np.abs(x - loc) / scale, 1))
    return np.finfo(x.dtype).eps * np.maximum(np.abs(x), width)


def test_quantile(both, record_property):
    """Catches an iteration that stops early or cancels: F(x) = u to a few ulps of x, by mpmath."""
    dtype = np.float64 if both else np.float32
    u, worst = _levels(dtype), 0.0
    for low, high in INTERVALS:
        low, high = dtype(low), dtype(high)
        x = np.asarray(QUANTILE(u, dtype(0), dtype(1), low, high))
        assert x.dtype == dtype
        assert low <= x.min() <= x.max() <= high
        error = [
            normal.quantile_error(v, p, 0, 1, float(low), float(high))
            for v, p in zip(x.tolist(), u.tolist(), strict=True)
            # Beyond, the density of x itself cannot be told from 0.
            if abs(v) < 100
        ]
        worst = max(worst, (np.abs(error) / _resolution(x, low, high)).max())
    record_property(
        "tried", f"{len(INTERVALS) * u.size} quantiles, {dtype.__name__}: worst error {worst} ulps"
    )
    assert worst <= 8


def test_quantile_of_locations_and_scales(x64):
    """Catches a lost scale or a reflection on one side only."""
    dtype = np.float64 if x64 else np.float32
    u = np.linspace(0.01, 0.99, 9).astype(dtype)
    for loc, scale, low, high in [
        (3, 0.5, 0, 1),
        (-3, 0.5, 0, 1),
        (0.2, 7, 0, 1),
        (1e3, 20, 100, 300),
        (5, 2, 0, INF),
    ]:
        arguments = [dtype(v) for v in (loc, scale, low, high)]
        x = np.asarray(QUANTILE(u, *arguments))
        exact = [float(v) for v in arguments]
        error = [normal.quantile_error(float(v), float(p), *exact) for v, p in zip(x, u, strict=True)]
        assert (np.abs(error) / _resolution(x, low, high, loc, scale)).max() <= 8


@pytest.mark.slow
def test_quantile_increases(x64):
    """Levels apart by more than rounding keep their order; neighbours lose at most a few ulps."""
    dtype = np.float64 if x64 else np.float32
    u = np.sort(np.random.default_rng(0).uniform(size=20_000)).astype(dtype)
    coarse = np.linspace(0, 1, 10_001).astype(dtype)
    for low, high in INTERVALS:
        low, high = dtype(low), dtype(high)
        x = np.asarray(QUANTILE(u, dtype(0), dtype(1), low, high))
        assert (np.diff(x) >= -4 * _resolution(x[1:], low, high)).all()
        assert (np.diff(np.asarray(QUANTILE(coarse, dtype(0), dtype(1), low, high))) >= 0).all()


def test_quantile_gradient(x64):
    """Catches a wrong implicit derivative: against differences of mpmath's distribution function."""
    dtype = np.float64 if x64 else np.float32
    u = np.asarray([1e-6, 0.03, 0.5, 0.8, 0.999], dtype)
    step = normal.mp.mpf("1e-15")
    problems = [
        (0, 1, 5, 6),
        (0, 1, -11, -10),
        (0.5, 2, -1, 3),
        (0.1, 1, 0.2, 0.3),
        (2, 0.3, -1, 1),
        (0, 1, 0, 1),
    ]
    for problem in problems:
        arguments = [dtype(v) for v in problem]
        x, gradient = QUANTILE(u, *arguments), GRADIENT(u, *arguments)
        for i, (v, p) in enumerate(zip(np.asarray(x).tolist(), u.tolist(), strict=True)):
            point = [normal.mp.mpf(float(a)) for a in (p, *arguments)]
            for j in range(5):
                ahead, behind = (
                    _distance(v, *(a + sign * step * (k == j) for k, a in enumerate(point)))
                    for sign in (1, -1)
                )
                true = (behind - ahead) / (2 * step)
                assert normal.relative_error(gradient[j][i], true) <= (1e-9 if x64 else 1e-4), (problem, p, j)


def _distance(x, u, loc, scale, low, high):
    """(F(x) - u)/p(x), whose derivative by a parameter is minus that of the quantile."""
    z, a, b = ((normal.mp.mpf(v) - loc) / scale for v in (x, low, high))
    return (normal.mass(a, z) - u * normal.mass(a, b)) / normal.density(z) * scale


def test_quantile_ends(x64):
    """0 and 1 give the bounds, what is no level NaN, and every gradient is finite."""
    low, high = jnp.asarray([-1.0, 5.0, -INF, -INF]), jnp.asarray([1.0, 6.0, INF, -9.0])
    np.testing.assert_array_equal(QUANTILE(0.0, 0.0, 1.0, low, high), low)
    np.testing.assert_array_equal(QUANTILE(1.0, 0.0, 1.0, low, high), high)
    for bad in [
        (-0.1, 0, 1, 0, 1),
        (1.1, 0, 1, 0, 1),
        (np.nan, 0, 1, 0, 1),
        (0.5, 0, 0, 0, 1),
        (0.5, 0, 1, 1, 1),
    ]:
        assert np.isnan(truncated_normal_quantile(*bad))
    dtype = low.dtype
    u = jnp.asarray([0, *_levels(dtype), 1, -1, np.nan], dtype)
    for low, high in [*INTERVALS, (1, 0), (1, 1)]:
        slopes = GRADIENT(u, *(jnp.asarray(v, dtype) for v in (0, 1, low, high)))
        assert np.isfinite(slopes).all(), (low, high)
    # u = 0 is the lower bound, whatever else changes.
    assert [float(s[0]) for s in GRADIENT(u, *jnp.asarray([0.0, 1.0, 5.0, 6.0]))][1:] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (5, 6),
        *(
            pytest.param(*ends, marks=pytest.mark.slow)
            for ends in ((5.5, 5.6), (10, 11), (8, 9), (-11, -10), (38, 39), (0, 1e-4))
        ),
    ],
)
def test_distinct_draws(x64, low, high):
    """1e5 draws repeat no more than exact draws, rounded to the dtype's numbers, would."""
    dtype, n = (np.float64 if x64 else np.float32), 100_000
    low, high = dtype(low), dtype(high)
    x = np.asarray(SAMPLE(jax.random.key(0), dtype(0), dtype(1), low, high, shape=(n,)))
    assert x.dtype == dtype
    assert low <= x.min() <= x.max() <= high
    # Chance of a pair to meet: the mean over draws of (density times spacing), and that of equal uniforms.
    density = np.exp(stats.truncnorm.logpdf(x.astype(float), float(low), float(high)))
    meet = (density * np.spacing(np.abs(x)).astype(float)).mean() + 2.0 ** (-52 if x64 else -23)
    expected = (1 - np.exp(-n * meet)) / meet
    assert len(np.unique(x)) >= 0.95 * expected
    assert len(np.unique(x)) >= (0.999 if x64 else 0.2) * n


@pytest.mark.parametrize(
    ("loc", "scale", "low", "high"),
    [
        (3, 0.1, 0, 1),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((0, 1, 5, 6), (0, 1, -1, 2), (0.4, 5, 0, 1), (1, 2, -INF, 0))
        ),
    ],
)
def test_draws_follow_the_distribution(x64, loc, scale, low, high):
    """Catches a wrong distribution altogether: Kolmogorov and Smirnov at 2e4 draws."""
    x = SAMPLE(jax.random.key(1), *map(float, (loc, scale, low, high)), shape=(20_000,))
    truth = stats.truncnorm((low - loc) / scale, (high - loc) / scale, loc, scale)
    assert stats.kstest(np.asarray(x, float), truth.cdf).pvalue > 1e-3


@pytest.mark.slow
def test_draw_shapes_and_keys(x64):
    """Catches one uniform shared among entries, a key without effect, and shapes that do not broadcast."""
    key = jax.random.key(3)
    low = jnp.zeros((3, 1))
    x = SAMPLE(key, 0.5, 1.0, low, 1.0, shape=(4, 1, 5))
    assert x.shape == (4, 3, 5)
    assert x.dtype == low.dtype
    assert len(np.unique(x)) == 60
    assert SAMPLE(key, 0.5, 1.0, low, 1.0).shape == (3, 1)
    assert SAMPLE(key, 0.5, 1.0, 0.0, 1.0).shape == ()
    assert (SAMPLE(jax.random.key(4), 0.5, 1.0, low, 1.0, shape=(4, 1, 5)) != x).all()
    np.testing.assert_array_equal(SAMPLE(key, 0.5, 1.0, low, 1.0, shape=(4, 1, 5)), x)
    batch = jax.jit(jax.vmap(lambda k: truncated_normal_sample(k, 0.5, 1.0, 0.0, 1.0)))(
        jax.random.split(key, 6)
    )
    assert len(np.unique(batch)) == 6
    eager = truncated_normal_sample(key, 0.5, 1.0, low, 1.0, shape=(4, 1, 5))
    np.testing.assert_allclose(eager, x, rtol=8 * np.finfo(x.dtype).eps, atol=8 * np.finfo(x.dtype).eps)
    slope = jax.jit(jax.grad(lambda loc: SAMPLE(key, loc, 1.0, low, 1.0, shape=(4, 1, 5)).mean()))(0.5)
    assert 0 < float(slope) < 1


def test_draws_on_the_unit_interval(both, record_property):
    """Catches a fast quantile that leaves the exact one: by an ulp of 1 in mass, or of x."""
    dtype = jnp.float64 if both else jnp.float32
    eps, n, worst = float(jnp.finfo(dtype).eps), 20000, 0.0
    u, loc = open_uniform(jax.random.key(0), (2, n), dtype)
    loc = loc.at[: n // 10].set(0).at[n // 10 : n // 5].set(1)
    for scale in (1e-3, 0.01, 0.1, 0.5, 1.0, 10.0, 1e3):
        exact = QUANTILE(u, loc, dtype(scale), dtype(0), dtype(1))
        found = unit_normal_quantile(u, loc, jnp.asarray(scale, dtype))
        assert found.dtype == dtype
        assert 0 <= found.min() <= found.max() <= 1
        z = np.asarray((exact - loc) / scale, np.float64)
        # x moves by the error of the mass over the density; ulps of x come on top.
        density = np.exp(-(z**2) / 2) / min(scale, 1)
        error = np.abs(np.asarray(found - exact, np.float64)) / (eps * (1 + 1 / density))
        worst = max(worst, error.max())
    record_property("tried", f"{7 * n} draws on [0, 1]: worst error {worst:.2g} ulps of mass")
    assert worst <= 8


def test_slopes_of_draws_on_the_unit_interval(both):
    """Catches slopes of the formula instead of the distribution's: they agree with the exact quantile's."""
    near = {"rtol": 1e-6, "atol": 1e-9} if both else {"rtol": 1e-3, "atol": 1e-4}
    u = jnp.array([1e-9 if both else 1e-5, 0.01, 0.3, 0.7, 1 - (1e-9 if both else 1e-5)])
    for loc, scale in ((0.0, 0.01), (0.2, 0.1), (0.9, 1.0), (1.0, 0.3)):
        fast = jax.jacfwd(unit_normal_quantile, (1, 2))(u, jnp.asarray(loc), jnp.asarray(scale))
        exact = GRADIENT(u, loc, scale, 0.0, 1.0)[1:3]
        for ours, theirs in zip(fast, exact, strict=True):
            assert np.isfinite(ours).all()
            np.testing.assert_allclose(ours, theirs, **near)
