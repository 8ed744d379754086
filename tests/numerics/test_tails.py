"""Tail arithmetic against mpmath."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from reference import normal

from parzax._numerics import log_ndtr, log_upper_tail, mills_ratio, unit_cell_tails, upper_tail

POINTS = np.concatenate([np.linspace(0, 12, 500), np.geomspace(1e-6, 1e4, 200)])


def _upper_tail(x: float) -> mpmath.mpf:
    return mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2


def _mills(x: float) -> mpmath.mpf:
    return mpmath.exp(mpmath.mpf(x) ** 2 / 2) * mpmath.sqrt(2 * mpmath.pi) * _upper_tail(x)


def test_mills_ratio(both):
    """Catches a wrong coefficient or a transposed digit: the polynomial is good to a few ulps everywhere."""
    x = POINTS.astype(np.float64 if both else np.float32)
    mine = np.asarray(mills_ratio(jnp.asarray(x)), dtype=np.float64)
    with mpmath.workdps(40):
        error = [abs(float(a / _mills(float(b)) - 1)) for a, b in zip(mine.tolist(), x, strict=True)]
    # A few roundings on top of the interpolants' 3e-16 and 1.7e-7.
    assert max(error) <= (2e-15 if both else 1e-6)


def test_upper_tail(x64):
    """Catches a wrong scale or a lost tail; in float32 rounding x^2/2 costs x^2/2 ulps."""
    x = POINTS[POINTS <= 12].astype(np.float64 if x64 else np.float32)
    mine = np.asarray(upper_tail(jnp.asarray(x)), dtype=np.float64)
    eps = float(np.finfo(x.dtype).eps)
    with mpmath.workdps(40):
        for a, b in zip(mine.tolist(), x.tolist(), strict=True):
            assert a == pytest.approx(float(_upper_tail(b)), rel=(8 + b * b) * eps)


def test_unit_cell_tails_telescope(double):
    """Catches an edge half a cell off: the masses of all cells around a centre add up to 1."""
    tails = unit_cell_tails(jnp.asarray(2.5), 60)
    masses = jnp.concatenate([1 - 2 * tails[:1], tails[:-1] - tails[1:]])
    assert float(masses[0] + 2 * masses[1:].sum()) == pytest.approx(1.0, abs=1e-12)


SLOPE = jax.jit(jax.vmap(jax.grad(log_ndtr)))
CURVATURE = jax.jit(jax.vmap(jax.grad(jax.grad(log_ndtr))))


def test_log_ndtr(both, every, record_property):
    """Catches lost digits of a value that is itself tiny (z = 12), and of a gradient anywhere."""
    dtype = np.float64 if both else np.float32
    z = np.concatenate([np.linspace(-40, 40, 8001), np.random.default_rng(0).normal(size=2000)])[::every]
    z = np.concatenate([z, [4.97, 8.0, -0.0, 13.0, 37.5]]).astype(dtype)
    value, slope, curvature = (np.asarray(f(jnp.asarray(z))) for f in (jax.jit(log_ndtr), SLOPE, CURVATURE))
    assert value.dtype == dtype
    tiny, worst = np.finfo(dtype).tiny, [0.0, 0.0, 0.0]
    for point, v, s, c in zip(z.tolist(), value.tolist(), slope.tolist(), curvature.tolist(), strict=True):
        true, true_slope = normal.log_ndtr(point)
        # XLA flushes what is below the least normal number.
        error = float(abs(v / true - 1)) if -true > 2 * tiny else float(abs(v - true) > 2 * tiny)
        true_curvature = -true_slope * (point + true_slope)
        errors = error, normal.relative_error(s, true_slope), normal.relative_error(c, true_curvature)
        worst = [max(old, new) for old, new in zip(worst, errors, strict=True)]
    record_property("tried", f"log_ndtr at {z.size} points, {dtype.__name__}: worst errors {worst}")
    assert worst[0] <= (1e-14 if both else 1e-6)
    assert worst[1] <= (1e-14 if both else 1e-6)
    # The derivative of an interpolant of degree n loses up to n^2.
    assert worst[2] <= (1e-12 if both else 2e-5)


def test_log_ndtr_far_out(x64):
    """Catches gradients of 1 or NaN far in the tail, and 0 times infinity at either end."""
    z = jnp.asarray([-1e5, -1e18, -1e20, -jnp.inf, jnp.inf, 1e20, jnp.nan])
    top = float(jnp.finfo(z.dtype).max)
    value, slope, curvature = log_ndtr(z), SLOPE(z), CURVATURE(z)
    np.testing.assert_allclose(value[:2], [-5e9, -5e35], rtol=1e-6)
    assert float(value[2]) == (pytest.approx(-5e39) if x64 else -np.inf)
    assert float(value[3]) == -np.inf
    np.testing.assert_array_equal(value[4:], [0, 0, np.nan])
    np.testing.assert_allclose(slope[:4], [1e5, 1e18, 1e20, top], rtol=1e-6)
    np.testing.assert_array_equal(slope[4:], [0, 0, np.nan])
    np.testing.assert_allclose(curvature[:3], -1, rtol=1e-5)
    np.testing.assert_array_equal(curvature[4:6], 0)


def test_log_upper_tail(double):
    """Catches a lost sign, in the value or its derivative, and integers that stay integers."""
    assert float(log_upper_tail(3.0)) == float(log_ndtr(-3.0))
    assert float(jax.grad(log_upper_tail)(3.0)) == -float(jax.grad(log_ndtr)(-3.0))
    assert log_upper_tail(jnp.asarray(2)).dtype == jnp.float64
