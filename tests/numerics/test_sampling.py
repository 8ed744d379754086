"""Uniform numbers, and quantiles of normals truncated to [0, 1]."""

import jax
import jax.numpy as jnp
import numpy as np
from reference import normal

from parzax._numerics.interval import open_uniform, unit_normal_quantile

QUANTILE = jax.jit(unit_normal_quantile)
LOCATIONS = (0.0, 1e-3, 0.2, 0.5, 0.9, 1.0)
SCALES = (1e-3, 0.01, 0.1, 0.5, 1.0, 10.0, 1e3)


def test_uniforms_are_inside(both):
    """Catches 0 and 1, which have no quantile, and bits that are lost."""
    dtype = jnp.float64 if both else jnp.float32
    u = np.asarray(open_uniform(jax.random.key(0), (1 << 20,), dtype))
    assert u.dtype == dtype
    assert 0 < u.min() <= u.max() < 1
    # As many different ones as of 2^52 or 2^23 values.
    n = len(u) if both else 2**23 * -np.expm1(-(2.0**-3))
    assert len(np.unique(u)) >= 0.995 * n
    assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * len(u))


def test_quantile(both, record_property):
    """Catches a quantile that is off: F(x) = u by mpmath, up to ulps of 1 in mass, or of x."""
    dtype = np.float64 if both else np.float32
    eps = float(np.finfo(dtype).eps)
    u = np.concatenate([2.0 ** -np.arange(1, 23), 1 - 2.0 ** -np.arange(2, 23), np.linspace(0.01, 0.99, 30)])
    u, worst = u.astype(dtype), 0.0
    for loc in map(dtype, LOCATIONS):
        for scale in map(dtype, SCALES):
            x = np.asarray(QUANTILE(u, loc, scale))
            assert x.dtype == dtype
            assert 0 <= x.min() <= x.max() <= 1
            for v, p in zip(x.tolist(), u.tolist(), strict=True):
                error = normal.quantile_error(v, p, float(loc), float(scale), 0, 1)
                # x moves by the error of the mass over the density; ulps of x come on top.
                density = np.exp(-(((v - float(loc)) / float(scale)) ** 2) / 2) / min(float(scale), 1)
                worst = max(worst, abs(error) / (eps * (1 + 1 / density)))
    record_property("tried", f"quantiles on [0, 1], {dtype.__name__}: worst error {worst:.2g} ulps of mass")
    assert worst <= 8


def test_slopes(both):
    """Catches slopes of the formula instead of the distribution's: by differences of mpmath's."""
    near = {"rtol": 1e-6, "atol": 1e-9} if both else {"rtol": 1e-3, "atol": 1e-4}
    dtype = np.float64 if both else np.float32
    # As uniform numbers are: 1 - u is exact.
    far = 2.0**-30 if both else 2.0**-16
    u = np.array([far, 0.01, 0.3, 0.7, 1 - far], dtype)
    step = normal.mp.mpf("1e-15")
    gradient = jax.jit(jax.vmap(jax.grad(unit_normal_quantile, (0, 1, 2)), in_axes=(0, None, None)))
    for loc, scale in ((0.0, 0.01), (0.2, 0.1), (0.9, 1.0), (1.0, 0.3), (0.4, 30.0)):
        arguments = dtype(loc), dtype(scale)
        found, x = np.asarray(gradient(u, *arguments)), np.asarray(QUANTILE(u, *arguments))
        assert np.isfinite(found).all()
        for i, (v, p) in enumerate(zip(x.tolist(), u.tolist(), strict=True)):
            point = [normal.mp.mpf(float(a)) for a in (p, *arguments)]
            for _ in range(3):
                # The slope is that at the true quantile.
                v = v - _distance(v, *point)
            for j in range(3):
                ahead, behind = (
                    _distance(v, *(a + sign * step * (k == j) for k, a in enumerate(point)))
                    for sign in (1, -1)
                )
                true, rtol = float((behind - ahead) / (2 * step)), near["rtol"]
                # The density at x moves with an ulp of 1 in mass.
                rtol = rtol + np.finfo(dtype).eps / min(p, 1 - p) if j == 0 else rtol
                np.testing.assert_allclose(found[j, i], true, rtol=rtol, atol=near["atol"])


def _distance(x, u, loc, scale):
    """(F(x) - u)/p(x), whose derivative by a parameter is minus that of the quantile."""
    z, a, b = ((normal.mp.mpf(v) - loc) / scale for v in (x, 0, 1))
    return (normal.mass(a, z) - u * normal.mass(a, b)) / normal.density(z) * scale
