"""The normal and its truncation in mpmath, at 50 digits, at the exact values of the floats given."""

import functools

import mpmath
import numpy as np

mp = mpmath.MPContext()
mp.dps = 50
SQRT2, LOG_SQRT_2PI = mp.sqrt(2), mp.log(2 * mp.pi) / 2


@functools.cache
def upper_tail(x):
    return mp.erfc(mp.mpf(x) / SQRT2) / 2


def density(z):
    return mp.exp(-(mp.mpf(z) ** 2) / 2) / mp.sqrt(2 * mp.pi) if mp.isfinite(z) else mp.mpf(0)


def log_ndtr(z):
    """Value and derivative."""
    z = mp.mpf(z)
    value = mp.log(upper_tail(-z)) if z < 0 else mp.log1p(-upper_tail(z))
    return value, density(z) / upper_tail(-z)


def mass(a, b):
    """Phi(b) - Phi(a), from the side on which fewer digits cancel."""
    a, b = (mp.mpf(a), mp.mpf(b)) if a + b >= 0 else (-mp.mpf(b), -mp.mpf(a))
    return upper_tail(a) - upper_tail(b)


def log_mass(a, b):
    """Value and derivatives by a and b."""
    m = mass(a, b)
    return mp.log(m), -density(a) / m, density(b) / m


def log_prob(x, loc, scale, low, high):
    """Value and derivatives by the five arguments."""
    x, loc, scale, low, high = (mp.mpf(v) for v in (x, loc, scale, low, high))
    z, a, b = ((v - loc) / scale for v in (x, low, high))
    m = mass(a, b)
    at_a, at_b = density(a) / m, density(b) / m
    mean, square = at_a - at_b, 1 + a * at_a - b * at_b
    value = -(z**2) / 2 - LOG_SQRT_2PI - mp.log(scale) - mp.log(m)
    return value, *(d / scale for d in (-z, z - mean, z**2 - square, at_a, -at_b))


def quantile_error(x, u, loc, scale, low, high):
    """F(x) - u over p(x): how far x is from the quantile, in its own units, to first order."""
    x, u, loc, scale, low, high = (mp.mpf(v) for v in (x, u, loc, scale, low, high))
    z, a, b = ((v - loc) / scale for v in (x, low, high))
    # Whichever end is nearer in probability, so that neither tail's digits are lost.
    gap = mass(a, z) - u * mass(a, b) if u < 0.5 else (1 - u) * mass(a, b) - mass(z, b)
    return float(gap / density(z) * scale)


def relative_error(mine, true):
    """|mine - true| / max(1, |true|)."""
    return float(abs(mp.mpf(float(mine)) - true) / max(1, abs(true)))


@functools.cache
def intervals(double: bool) -> tuple[np.ndarray, np.ndarray]:
    """More than 10,000 intervals a < b within [-40, 40], widths from 1e-10 (float32: 1e-6) to 30."""
    dtype = np.float64 if double else np.float32
    rng = np.random.default_rng(20)
    widths = np.geomspace(1e-10 if double else 1e-6, 30, 121)
    start = np.concatenate([np.linspace(-40, 40, 41), rng.uniform(-40, 40, 54), rng.uniform(-2, 2, 10)])
    a, width = (v.ravel() for v in np.meshgrid(start, widths))
    a = a.astype(dtype)
    b = a + width.astype(dtype)
    kept = (b > a) & (b <= 40)
    return a[kept], b[kept]
