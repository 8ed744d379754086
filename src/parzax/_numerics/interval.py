"""The standard normal on an interval: log mass, boundary densities and moments without cancellation."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num

from parzax._numerics.dtypes import as_floats
from parzax._numerics.hazard import gaussian, hazard_excess, log1m

LOG_SQRT_2PI = math.log(2 * math.pi) / 2


class Interval(NamedTuple):
    """A standard normal Z on [a, b] with a + b >= 0, seen from a reference point c.

    c is the midpoint of a narrow interval, a in the tail, and 0 where the interval straddles 0: whatever
    would cancel at c is left out by formula, not subtracted.

    Attributes:
        reference: c.
        log_mass: log(Phi(b) - Phi(a)) + c^2/2.
        low_ratio: phi(a) / (Phi(b) - Phi(a)).
        high_ratio: phi(b) / (Phi(b) - Phi(a)).
        mean: E[Z] - c.
        square: E[Z^2] - c^2.
        narrow: which formula was used.
        tail: which formula was used.
    """

    reference: Float[Array, "..."]
    log_mass: Float[Array, "..."]
    low_ratio: Float[Array, "..."]
    high_ratio: Float[Array, "..."]
    mean: Float[Array, "..."]
    square: Float[Array, "..."]
    narrow: Bool[Array, "..."]
    tail: Bool[Array, "..."]


def log_normal_mass(a: Num[Array, "..."] | float, b: Num[Array, "..."] | float) -> Float[Array, "..."]:
    """log(Phi(b) - Phi(a)) of the standard normal for a <= b, elementwise; the bounds may be infinite.

    Three formulas, after a reflection that makes a + b >= 0 (m midpoint, h half-width, h(x) hazard rate):

    * narrow, (m + 1) h small: log phi(m) + log 2h + log(1 + sum_k He_2k(m) h^2k / (2k + 1)!), the Taylor
      series of phi around m with Hermite's polynomials (Abramowitz and Stegun 26.2.28, 26.2.31);
    * tail, a >= 0: log phi(a) - log h(a) + log(1 - Q(b)/Q(a));
    * straddling 0: log1p(-Q(-a) - Q(b)).

    Error relative to max(1, |value|): 1e-12 (float64), 1e-6 (float32). The derivatives -phi(a)/mass and
    phi(b)/mass come from the same formulas and can be differentiated again. The value is -inf where a = b or
    b - a underflows, NaN where a > b, with derivatives 0 in both.
    """
    return _compiled_log_normal_mass(*as_floats(a, b))


@jax.custom_jvp
def _log_normal_mass(a: Float[Array, "..."], b: Float[Array, "..."]) -> Float[Array, "..."]:
    proper, _, interval = _of_bounds(a, b)
    value = interval.log_mass - 0.5 * jnp.square(interval.reference)
    return jnp.where(proper, value, jnp.where(a <= b, -jnp.inf, jnp.nan))


@_log_normal_mass.defjvp
def _log_normal_mass_jvp(primals, tangents):
    (a, b), (da, db) = primals, tangents
    proper, flip, interval = _of_bounds(a, b)
    ratio_a, ratio_b = swap(flip, interval.low_ratio, interval.high_ratio)
    return _log_normal_mass(a, b), jnp.where(proper, ratio_b, 0) * db - jnp.where(proper, ratio_a, 0) * da


# Outside of jit, a hundred operations would be dispatched one by one.
_compiled_log_normal_mass = jax.jit(_log_normal_mass)


def _of_bounds(
    a: Float[Array, "..."], b: Float[Array, "..."]
) -> tuple[Bool[Array, "..."], Bool[Array, "..."], Interval]:
    proper = b - a > 0
    a, b = jnp.where(proper, a, -1), jnp.where(proper, b, 1)
    flip = a + b < 0
    low, high = swap(flip, a, b, -1)
    return proper, flip, describe(low, high, b - a)


def swap(
    flip: Bool[Array, "..."], low: Float[Array, "..."], high: Float[Array, "..."], sign: int = 1
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """What belongs to the two ends, exchanged (and multiplied by the sign) where flipped."""
    return jnp.where(flip, sign * high, low), jnp.where(flip, sign * low, high)


def describe(low: Float[Array, "..."], high: Float[Array, "..."], width: Float[Array, "..."]) -> Interval:
    """The interval [low, high], low + high >= 0, of a width that may be known better than high - low.

    Every formula is evaluated everywhere, on harmless operands where it is not the one wanted, so that no
    derivative of an unselected branch is NaN.
    """
    limit = 0.25 if low.dtype == jnp.float64 else 0.4
    narrow = (low + 0.5 * width + 1) * (0.5 * width) <= limit
    tail = ~narrow & (low >= 0)
    finite_width = jnp.where(tail & (width < jnp.inf), width, 1)
    # Distances of the ends from 0, for both formulas; beyond 64 a straddling interval's density is 0, and
    # infinity would be multiplied by it.
    x_low = jnp.where(narrow, 1, jnp.where(tail, low, jnp.minimum(-low, 64)))
    x_high = jnp.where(narrow, 2, jnp.where(tail, x_low + finite_width, jnp.minimum(high, 64)))
    ends = x_low, x_high, hazard_excess(x_low), hazard_excess(x_high)
    branches = (
        _narrow(jnp.where(narrow, low, 0), jnp.where(narrow, width, 0.25)),
        _tail(*ends, finite_width, tail & (width < jnp.inf)),
        _straddling(*ends),
    )
    chosen = (jnp.where(narrow, a, jnp.where(tail, b, c)) for a, b, c in zip(*branches, strict=True))
    return Interval(*chosen, narrow=narrow, tail=tail)


def _narrow(low: Float[Array, "..."], width: Float[Array, "..."]) -> tuple[Float[Array, "..."], ...]:
    h = 0.5 * width
    m = low + h
    one_plus_sum, odd, even = hermite_sums(m, h)
    low_ratio = jnp.exp(h * (m - 0.5 * h)) / (width * one_plus_sum)
    high_ratio = jnp.exp(-h * (m + 0.5 * h)) / (width * one_plus_sum)
    log_mass = jnp.log(width) + (jnp.log(one_plus_sum) - jnp.asarray(LOG_SQRT_2PI, m.dtype))
    # From d log mass / dm = -E[Z] and (m d/dm + h d/dh) log mass = 1 - E[Z^2].
    mean = -h * odd / one_plus_sum
    square = -(m * h * odd + even) / one_plus_sum
    return m, log_mass, low_ratio, high_ratio, mean, square


def hermite_sums(
    m: Float[Array, "..."], h: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
    """1 + S, (dS/dm)/h and h dS/dh of S = sum_k He_2k(m) h^2k / (2k + 1)!, for (|m| + 1) h small.

    By the recurrence of g_n = He_n(m) h^n, which, unlike He_n(m), cannot overflow.
    """
    x, y = m * h, jnp.square(h)
    previous, current = jnp.ones_like(x), x
    total, odd, even = jnp.ones_like(x), jnp.zeros_like(x), jnp.zeros_like(x)
    # First term left out: He_16 h^16/17! <= 2e-18 and He_12 h^12/13! <= 2e-11, at the limits of `describe`.
    for k in range(1, 8 if m.dtype == jnp.float64 else 6):
        factorial = math.factorial(2 * k + 1)
        odd = odd + current * (2 * k / factorial)
        previous, current = current, x * current - (2 * k - 1) * y * previous
        total, even = total + current / factorial, even + current * (2 * k / factorial)
        previous, current = current, x * current - 2 * k * y * previous
    return total, odd, even


def _tail(
    low: Float[Array, "..."],
    high: Float[Array, "..."],
    excess_low: Float[Array, "..."],
    excess_high: Float[Array, "..."],
    width: Float[Array, "..."],
    bounded: Bool[Array, "..."],
) -> tuple[Float[Array, "..."], ...]:
    rate_low, rate_high = low + excess_low, high + excess_high
    # Q(high)/Q(low)
    q = jnp.where(bounded, jnp.exp(-width * (low + 0.5 * width)) * (rate_low / rate_high), 0)
    low_ratio, high_ratio = rate_low / (1 - q), q * rate_high / (1 - q)
    log_mass = log1m(q) - jnp.log(rate_low) - jnp.asarray(LOG_SQRT_2PI, low.dtype)
    # The mean of Z - a above a, less the part above b; then E[Z^2] = 1 + a low_ratio - b high_ratio.
    mean = (excess_low - q * (excess_high + width)) / (1 - q)
    square = 1 + low * mean - width * high_ratio
    return low, log_mass, low_ratio, high_ratio, mean, square


def _straddling(
    low: Float[Array, "..."],
    high: Float[Array, "..."],
    excess_low: Float[Array, "..."],
    excess_high: Float[Array, "..."],
) -> tuple[Float[Array, "..."], ...]:
    """[-low, high]."""
    scale = jnp.asarray((2 * math.pi) ** -0.5, low.dtype)
    low_density, high_density = scale * gaussian(low), scale * gaussian(high)
    outside = low_density / (low + excess_low) + high_density / (high + excess_high)
    low_ratio, high_ratio = low_density / (1 - outside), high_density / (1 - outside)
    mean = low_ratio - high_ratio
    square = 1 - low * low_ratio - high * high_ratio
    return jnp.zeros_like(low), log1m(outside), low_ratio, high_ratio, mean, square


def log_unit_mass(loc: Float[Array, "..."], scale: Float[Array, "..."]) -> Float[Array, "..."]:
    """log of the mass within [0, 1] of a normal centred in it, elementwise.

    log((erf(loc / s) + erf((1 - loc) / s)) / 2) with s = sqrt(2) scale: both terms are positive, so nothing
    cancels and no tail is far. Five times as fast as `log_normal_mass`.

    Args:
        loc: centre, in [0, 1].
        scale: standard deviation, positive.
    """
    unit = math.sqrt(0.5) / scale
    return jnp.log(0.5 * (jax.lax.erf(loc * unit) + jax.lax.erf((1 - loc) * unit)))
