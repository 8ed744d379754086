"""Normal distributions on an interval: log mass and derivatives without cancellation, and quantiles."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax._numerics.tails import gaussian, hazard

Real = Float[Array, "..."]
Where = Bool[Array, "..."]
_LOG_SQRT_2PI = math.log(2 * math.pi) / 2


class _Interval(NamedTuple):
    """The standard normal on [a, b], reflected if necessary so that a + b >= 0.

    An interval is narrow, in the tail (a >= 0), or contains 0. An invalid one is replaced by [-1, 1].
    """

    proper: Where
    flip: Where
    narrow: Where
    tail: Where
    low: Real
    high: Real
    width: Real


# Without this jit, an eager call would dispatch a hundred operations one by one.
@jax.jit
def log_normal_mass(a: Real, b: Real) -> Real:
    """log(Phi(b) - Phi(a)) of the standard normal for a <= b, elementwise; the bounds may be infinite.

    Three formulas, after a reflection that makes a + b >= 0. m is the midpoint, h the half-width, h(x) the
    hazard rate phi(x) / Q(x):

    * narrow, (m + 1) h small: log phi(m) + log 2h + log(1 + sum_k He_2k(m) h^2k / (2k + 1)!), the Taylor
      series of phi around m with Hermite's polynomials (Abramowitz and Stegun 26.2.28, 26.2.31);
    * tail, a >= 0: log phi(a) - log h(a) + log(1 - Q(b)/Q(a));
    * straddling 0: log1p(-Q(-a) - Q(b)).

    Error relative to max(1, |value|): 1e-12 (float64), 1e-6 (float32). The derivatives -phi(a)/mass and
    phi(b)/mass come from the same formulas and can be differentiated again. The value is -inf if a = b or
    b - a underflows, and NaN if a > b; the derivatives are 0 in both cases.
    """
    return _log_normal_mass(a, b)


@jax.custom_jvp
def _log_normal_mass(a: Real, b: Real) -> Real:
    at = _described(a, b)
    middle = at.low + 0.5 * at.width
    # One logarithm serves the three formulas, and one exponential the upper end in two of them.
    below, above = 1 / hazard(jnp.abs(at.low)), 1 / hazard(at.high)
    decay = jnp.exp(jnp.where(at.tail, -at.width * middle, -0.5 * jnp.square(at.high)))
    rest = jnp.where(at.tail, below, math.sqrt(2 * math.pi) - below * jnp.exp(-0.5 * jnp.square(at.low)))
    narrow = at.width * _hermite_sum(middle, 0.5 * at.width)
    reference = jnp.where(at.narrow, middle, jnp.where(at.tail, at.low, 0))
    mass = jnp.log(jnp.where(at.narrow, narrow, rest - above * decay)) - _LOG_SQRT_2PI
    return jnp.where(at.proper, mass - 0.5 * jnp.square(reference), jnp.where(a <= b, -jnp.inf, jnp.nan))


@_log_normal_mass.defjvp
def _log_normal_mass_jvp(primals, tangents):
    (a, b), (da, db) = primals, tangents
    at = _described(a, b)
    low_ratio, high_ratio = _end_ratios(at)
    ratio_a = jnp.where(at.flip, high_ratio, low_ratio)
    ratio_b = jnp.where(at.flip, low_ratio, high_ratio)
    return (
        _log_normal_mass(a, b),
        jnp.where(at.proper, ratio_b, 0) * db - jnp.where(at.proper, ratio_a, 0) * da,
    )


def _described(a: Real, b: Real) -> _Interval:
    proper = b - a > 0
    a, b = jnp.where(proper, a, -1), jnp.where(proper, b, 1)
    width, flip = b - a, a + b < 0
    low, high = jnp.where(flip, -b, a), jnp.where(flip, -a, b)
    limit = 0.25 if low.dtype == jnp.float64 else 0.4
    narrow = (low + 0.5 * width + 1) * (0.5 * width) <= limit
    return _Interval(proper, flip, narrow, ~narrow & (low >= 0), low, high, width)


def _end_ratios(at: _Interval) -> tuple[Real, Real]:
    """phi(a) and phi(b), divided by the mass.

    All three formulas are evaluated for every interval. A formula that is not selected gets harmless
    operands, so that its derivatives are not NaN.
    """
    narrow, tail, low, width = at.narrow, at.tail, at.low, at.width
    finite_width = jnp.where(tail & (width < jnp.inf), width, 1)
    # Distances of the ends from 0, for both formulas. An interval that contains 0 is cut at 64, where its
    # density is 0; without the cut 0 * infinity would be NaN.
    x_low = jnp.where(narrow, 1, jnp.where(tail, low, jnp.minimum(-low, 64)))
    x_high = jnp.where(narrow, 2, jnp.where(tail, x_low + finite_width, jnp.minimum(at.high, 64)))
    rates = hazard(x_low), hazard(x_high)
    formulas = (
        _narrow(jnp.where(narrow, low, 0), jnp.where(narrow, width, 0.25)),
        _tail(x_low, *rates, finite_width, tail & (width < jnp.inf)),
        _straddling(x_low, x_high, *rates),
    )
    low_ratio, high_ratio = (
        jnp.where(narrow, n, jnp.where(tail, t, s)) for n, t, s in zip(*formulas, strict=True)
    )
    return low_ratio, high_ratio


def _narrow(low: Real, width: Real) -> tuple[Real, Real]:
    h = 0.5 * width
    m = low + h
    mass = width * _hermite_sum(m, h)
    return jnp.exp(h * (m - 0.5 * h)) / mass, jnp.exp(-h * (m + 0.5 * h)) / mass


def _hermite_sum(m: Real, h: Real) -> Real:
    """1 + sum_k He_2k(m) h^2k / (2k + 1)!, for small (|m| + 1) h.

    It uses the recurrence of g_n = He_n(m) h^n. Unlike He_n(m), g_n cannot overflow.
    """
    x, y = m * h, jnp.square(h)
    total, previous, current = jnp.ones_like(x), jnp.ones_like(x), x
    # The first omitted term is He_16 h^16/17! <= 2e-18, or He_12 h^12/13! <= 2e-11, for narrow intervals.
    for k in range(1, 8 if m.dtype == jnp.float64 else 6):
        previous, current = current, x * current - (2 * k - 1) * y * previous
        total = total + current * (1 / math.factorial(2 * k + 1))
        previous, current = current, x * current - 2 * k * y * previous
    return total


def _tail(low: Real, rate_low: Real, rate_high: Real, width: Real, bounded: Where) -> tuple[Real, Real]:
    # Q(high)/Q(low)
    q = jnp.where(bounded, jnp.exp(-width * (low + 0.5 * width)) * (rate_low / rate_high), 0)
    return rate_low / (1 - q), q * rate_high / (1 - q)


def _straddling(low: Real, high: Real, rate_low: Real, rate_high: Real) -> tuple[Real, Real]:
    """The interval [-low, high], which contains 0."""
    low_density, high_density = (gaussian(x) * (2 * math.pi) ** -0.5 for x in (low, high))
    inside = 1 - (low_density / rate_low + high_density / rate_high)
    return low_density / inside, high_density / inside


def log_unit_mass(loc: Real, scale: Real) -> Real:
    """log of a normal's mass in [0, 1], for ``loc`` in [0, 1] and a positive scale, elementwise.

    log((erf(loc / s) + erf((1 - loc) / s)) / 2) with s = sqrt(2) scale. Both terms are positive, so nothing
    cancels. It is five times as fast as `log_normal_mass`.
    """
    unit = math.sqrt(0.5) / scale
    return jnp.log(0.5 * (jax.lax.erf(loc * unit) + jax.lax.erf((1 - loc) * unit)))


def unit_normal_quantile(u: Real, loc: Real, scale: Real) -> Real:
    """Quantile at level u in (0, 1) of a normal truncated to [0, 1], for ``loc`` in [0, 1].

    x = loc + s erfinv(u erf((1 - loc) / s) - (1 - u) erf(loc / s)) with s = sqrt(2) scale. Nothing cancels
    in the bulk of the density. In the tails the mass beyond x has an error of an ulp of 1, which is the
    spacing of uniform random numbers. It can be differentiated.
    """
    s = math.sqrt(2) * scale
    share = u * jax.lax.erf((1 - loc) / s) - (1 - u) * jax.lax.erf(loc / s)
    inside = 1 - float(jnp.finfo(u.dtype).epsneg)
    return jnp.clip(loc + s * jax.lax.erf_inv(jnp.clip(share, -inside, inside)), 0, 1)


def open_uniform(key: Array, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "..."]:
    """Uniform random numbers (k + 1/2)/2^n with an integer k < 2^n, so never 0 or 1; n = 23 or 52 bits."""
    double = dtype == jnp.float64
    n, bits = (52, jnp.uint64) if double else (23, jnp.uint32)
    k = jax.random.bits(key, shape, bits) >> (12 if double else 9)
    return (k.astype(dtype) + 0.5) * 2.0**-n
