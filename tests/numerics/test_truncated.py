"""The truncated normal's log density against mpmath at the exact floats."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import normal

from parzax._numerics import truncated_normal_log_prob

LOG_PROB = jax.jit(truncated_normal_log_prob)
GRADIENT = jax.jit(jax.vmap(jax.grad(truncated_normal_log_prob, range(5))))
HESSIAN = jax.jit(jax.vmap(jax.hessian(truncated_normal_log_prob, range(5))))


def _inside(a: np.ndarray, b: np.ndarray, seed: int) -> np.ndarray:
    """Points of [a, b], often its ends or next to them."""
    share = np.random.default_rng(seed).choice([0, 1e-4, 0.1, 0.3, 0.5, 0.9, 1], a.shape).astype(a.dtype)
    return np.clip(a + share * (b - a), a, b)


def _standard(double: bool) -> tuple[np.ndarray, ...]:
    a, b = normal.intervals(double)
    return _inside(a, b, 0), np.zeros_like(a), np.ones_like(a), a, b


def _general(double: bool) -> tuple[np.ndarray, ...]:
    """Locations within 40 scales of the bounds, scales from 1e-3 to 1e3."""
    a, b = (v[::4] for v in normal.intervals(double))
    rng = np.random.default_rng(1)
    scale = 10 ** rng.uniform(-3, 3, a.shape)
    loc = rng.normal(size=a.shape) * rng.choice([0, 1, 100], a.shape) * scale
    loc, scale = loc.astype(a.dtype), scale.astype(a.dtype)
    low, high = loc + scale * a, loc + scale * b
    kept = high > low
    loc, scale, low, high = (v[kept] for v in (loc, scale, low, high))
    return _inside(low, high, 2), loc, scale, low, high


@pytest.mark.parametrize("problem", [_standard, _general], ids=["standard", "general"])
def test_log_prob(both, every, problem, record_property):
    """Catches lost digits in deep tails and narrow intervals, in the value and all five derivatives."""
    arguments = tuple(v[::every] for v in problem(both))
    value, gradient = LOG_PROB(*arguments), GRADIENT(*arguments)
    dtype = arguments[0].dtype
    assert value.dtype == dtype
    found = zip(*(np.asarray(v).tolist() for v in (value, *gradient)), strict=True)
    worst = [0.0] * 6
    for point, mine in zip(zip(*(v.tolist() for v in arguments), strict=True), found, strict=True):
        errors = map(normal.relative_error, mine, normal.log_prob(*point))
        worst = [max(old, new) for old, new in zip(worst, errors, strict=True)]
    text = f"truncated log density, {problem.__name__[1:]}, {len(value)} points, {dtype}: worst {worst}"
    record_property("tried", text)
    assert worst[0] <= (1e-14 if both else 1e-6)
    assert max(worst[1:]) <= (1e-8 if both else 1e-4)


def test_second_derivatives(x64, record_property):
    """Catches a term lost to a select, against central differences of mpmath's gradient."""
    arguments = [v[::301] for v in _standard(x64)]
    wide = arguments[4] - arguments[3] > 0.01
    arguments = [v[wide][:12] for v in arguments]
    hessian = np.asarray(HESSIAN(*arguments))
    step, worst = normal.mp.mpf("1e-15"), 0.0
    for i, point in enumerate(zip(*(v.tolist() for v in arguments), strict=True)):
        for j in range(5):
            ahead, behind = (
                normal.log_prob(*(normal.mp.mpf(v) + sign * step * (k == j) for k, v in enumerate(point)))
                for sign in (1, -1)
            )
            true = [(x - y) / (2 * step) for x, y in zip(ahead[1:], behind[1:], strict=True)]
            worst = max(worst, *map(normal.relative_error, hessian[:, j, i], true))
    record_property("tried", f"Hessians of the log density at {len(arguments[0])} points: worst {worst}")
    assert worst <= (1e-10 if x64 else 2e-3)


def test_infinite_bounds(x64):
    """Catches NaN from 0 times infinity: without bounds it is the normal, with one a tail's density."""
    inf = np.inf
    x, low = jnp.asarray([0.3, 5.1, -7.0, 31.0]), jnp.asarray([-inf, 5.0, -inf, 30.0])
    high = jnp.asarray([inf, inf, -6.5, inf])
    loc, scale = jnp.zeros(4), jnp.ones(4)
    z = [normal.mp.mpf(float(v)) for v in x]
    beyond = [1, normal.upper_tail(5), normal.upper_tail(6.5), normal.upper_tail(30)]
    expected = [float(normal.mp.log(normal.density(v) / m)) for v, m in zip(z, beyond, strict=True)]
    np.testing.assert_allclose(LOG_PROB(x, loc, scale, low, high), expected, rtol=1e-13 if x64 else 1e-6)
    gradient = GRADIENT(x, loc, scale, low, high)
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(gradient[1][0], 0.3, rtol=1e-6)
    np.testing.assert_allclose(gradient[2][0], 0.3**2 - 1, rtol=1e-6)
    np.testing.assert_array_equal(gradient[3][jnp.asarray([0, 2])], 0)
    np.testing.assert_array_equal(gradient[4][jnp.asarray([0, 1, 3])], 0)
    # Three times over: the other test has compiled it for 12 points.
    assert np.isfinite(np.asarray(HESSIAN(*(jnp.tile(v, 3) for v in (x, loc, scale, low, high))))).all()


def test_outside_and_undefined(x64):
    """-inf outside, NaN without a distribution, and no NaN in any gradient."""
    inf, nan = np.inf, np.nan
    rows = [  # x, loc, scale, low, high, value
        (-1.1, 0, 1, -1, 1, -inf),
        (1.1, 0, 1, -1, 1, -inf),
        (inf, 0, 1, -inf, inf, -inf),
        (-inf, 0, 1, -inf, 1, -inf),
        (nan, 0, 1, -1, 1, nan),
        (0, nan, 1, -1, 1, nan),
        (0, inf, 1, -1, 1, nan),
        (0, 0, 0, -1, 1, nan),
        (0, 0, -1, -1, 1, nan),
        (0, 0, inf, -1, 1, nan),
        (0, 0, nan, -1, 1, nan),
        (0, 0, 1, 0, 0, nan),
        (0, 0, 1, 1, -1, nan),
        (0, 0, 1, nan, 1, nan),
        (5, 0, 1, 1, nan, nan),
    ]
    *arguments, expected = jnp.asarray(rows, float).T
    np.testing.assert_array_equal(LOG_PROB(*arguments), expected)
    for slope in GRADIENT(*arguments):
        np.testing.assert_array_equal(slope, 0)


def test_unit_integral(double):
    """Catches a lost scale: the density integrates to 1, by Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for loc, scale, low, high in [(0.3, 0.5, -1, 2), (9, 0.4, 1, 3), (-2e3, 30, 5, 20), (0.5, 1e4, 0, 1)]:
        x = 0.5 * (high + low) + 0.5 * (high - low) * nodes
        density = np.exp(LOG_PROB(x, loc, scale, low, high))
        assert 0.5 * (high - low) * (weights * density).sum() == pytest.approx(1, rel=1e-10)


def test_transformations(x64):
    """Catches a data-dependent branch: jit and vmap against eager calls in a loop; dtypes and shapes."""
    arguments = [v[::1999] for v in _general(x64)]
    loop = [float(truncated_normal_log_prob(*point)) for point in zip(*arguments, strict=True)]
    eps = np.finfo(arguments[0].dtype).eps
    np.testing.assert_allclose(LOG_PROB(*arguments), loop, rtol=8 * eps, atol=8 * eps)
    np.testing.assert_allclose(
        jax.vmap(truncated_normal_log_prob)(*arguments), loop, rtol=8 * eps, atol=8 * eps
    )
    x = jnp.linspace(0, 1, 5)
    table = truncated_normal_log_prob(x[:, None], x, 1, 0, 1.0)
    assert table.shape == (5, 5)
    assert table.dtype == x.dtype
