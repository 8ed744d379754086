"""The log mass of an interval against mpmath at the exact floats, and by its laws."""

import jax
import jax.numpy as jnp
import numpy as np
from reference import normal

from parzax._numerics.interval import log_normal_mass

MASS = jax.jit(log_normal_mass)
GRADIENT = jax.jit(jax.vmap(jax.grad(log_normal_mass, (0, 1))))
HESSIAN = jax.jit(jax.vmap(jax.hessian(log_normal_mass, (0, 1))))


def test_log_normal_mass(both, every, record_property):
    """Catches a wrong formula, threshold or number of terms anywhere, in value and gradient."""
    a, b = (v[::every] for v in normal.intervals(both))
    value, (slope_a, slope_b) = MASS(a, b), GRADIENT(a, b)
    assert len(a) > 10_000 / every
    assert value.dtype == a.dtype
    found = zip(*(np.asarray(v).tolist() for v in (value, slope_a, slope_b)), strict=True)
    worst = [0.0, 0.0, 0.0]
    for low, high, mine in zip(a.tolist(), b.tolist(), found, strict=True):
        errors = map(normal.relative_error, mine, normal.log_mass(low, high))
        worst = [max(old, new) for old, new in zip(worst, errors, strict=True)]
    record_property("tried", f"log mass of {len(a)} intervals, {a.dtype}: worst errors {worst}")
    assert worst[0] <= (5e-15 if both else 1e-6)
    assert max(worst[1:]) <= (1e-14 if both else 2e-6)


def test_second_derivatives(x64, record_property):
    """Catches a missing term in what JAX derives from the ratios; all four, the mixed ones equal."""
    a, b = (v[::23] for v in normal.intervals(x64))
    (aa, ab), (ba, bb) = HESSIAN(a, b)
    np.testing.assert_allclose(ab, ba, rtol=1e-9 if x64 else 1e-3, atol=1e-9 if x64 else 1e-3)
    found = zip(*(np.asarray(v).tolist() for v in (aa, ab, bb)), strict=True)
    worst = 0.0
    for low, high, mine in zip(a.tolist(), b.tolist(), found, strict=True):
        _, slope_a, slope_b = normal.log_mass(low, high)
        true = slope_a * (-low - slope_a), -slope_a * slope_b, -slope_b * (high + slope_b)
        worst = max(worst, *map(normal.relative_error, mine, true))
    record_property("tried", f"second derivatives at {len(a)} intervals, {a.dtype}: worst error {worst}")
    assert worst <= (1e-11 if x64 else 1e-4)


def test_infinite_bounds(x64):
    """Catches 0 times infinity: one infinite bound is a tail, two are everything."""
    inf = np.inf
    a = jnp.asarray([-inf, -inf, -inf, 3.0, -3.0, 30.0])
    b = jnp.asarray([inf, 3.0, -3.0, inf, inf, inf])
    z = jnp.asarray([inf, 3.0, -3.0, -3.0, 3.0, -30.0])
    value, slope = (np.array(part, float) for part in zip(*map(normal.log_ndtr, z.tolist()), strict=True))
    # By the promise: relative to max(1, |value|).
    error = 1e-13 if x64 else 1e-6
    np.testing.assert_allclose(MASS(a, b), value, rtol=error, atol=error)
    slope_a, slope_b = GRADIENT(a, b)
    np.testing.assert_allclose(slope_b - slope_a, slope, rtol=error)
    np.testing.assert_array_equal(slope_a[:3], 0)
    np.testing.assert_array_equal(slope_b[3:], 0)
    assert all(np.isfinite(block).all() for row in HESSIAN(a, b) for block in row)


def test_no_interval(x64):
    """Equal bounds are -inf, exchanged bounds NaN; neither poisons a gradient."""
    inf, nan = np.inf, np.nan
    a = jnp.asarray([1.0, -5.0, inf, -inf, 2.0, inf, nan, 0.0])
    b = jnp.asarray([1.0, -5.0, inf, -inf, 1.0, -inf, 0.0, nan])
    np.testing.assert_array_equal(MASS(a, b), [-inf, -inf, -inf, -inf, nan, nan, nan, nan])
    for slope in GRADIENT(a, b):
        np.testing.assert_array_equal(slope, 0)


def test_far_out(x64):
    """Catches overflow between formulas: widths and bounds of any size have finite gradients."""
    tiny = float(jnp.finfo(jnp.zeros(()).dtype).tiny)
    a = jnp.asarray([0.0, 1e10, 1e20, -1e30, 1e6, 3.0, -tiny])
    b = jnp.asarray([2 * tiny, jnp.inf, jnp.inf, -1e25, 1e7, 1e30, tiny])
    assert not np.isnan(MASS(a, b)).any()
    slopes = GRADIENT(a, b)
    assert all(np.isfinite(slope).all() for slope in slopes)
    np.testing.assert_allclose(-slopes[0][1:3], [1e10, 1e20], rtol=1e-6)
    np.testing.assert_allclose(slopes[1][3], 1e25, rtol=1e-6)


def test_reflection(x64, every):
    """mass(a, b) = mass(-b, -a), exactly: catches a formula that is used on one side only."""
    a, b = (v[::every] for v in normal.intervals(x64))
    np.testing.assert_array_equal(MASS(a, b), MASS(-b, -a))
    (left_a, left_b), (right_a, right_b) = GRADIENT(a, b), GRADIENT(-b, -a)
    np.testing.assert_array_equal(left_a, -right_b)
    np.testing.assert_array_equal(left_b, -right_a)


def test_transformations(x64):
    """Catches a data-dependent branch or a scalar assumption: jit, vmap, broadcasting."""
    a, b = (v[::1999] for v in normal.intervals(x64))
    eager, eps = np.asarray(log_normal_mass(a, b)), 4 * np.finfo(a.dtype).eps
    for transformed in (MASS, jax.vmap(log_normal_mass)):
        np.testing.assert_allclose(transformed(a, b), eager, rtol=eps, atol=eps)
    table = log_normal_mass(a[:, None], 50.0)
    assert (table.shape, table.dtype) == ((len(a), 1), a.dtype)
