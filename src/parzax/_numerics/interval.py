"""Normal distributions on an interval: log mass and derivatives without cancellation, and quantiles."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax._numerics.tails import hazard

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


# Without jit, an eager call would dispatch a hundred operations one by one.
@jax.custom_jvp
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
    at = _described(a, b)
    mass, reference, *_ = _relative_mass(at)
    value = jnp.log(mass) - _LOG_SQRT_2PI - 0.5 * jnp.square(reference)
    return jnp.where(at.proper, value, jnp.where(a <= b, -jnp.inf, jnp.nan))


@log_normal_mass.defjvp
@jax.jit
def _derivative(primals: Any, tangents: Any) -> tuple[Real, Real]:
    (a, b), (da, db) = primals, tangents
    at = _described(a, b)
    mass, _, at_low, at_high = _relative_mass(at)
    slope_a = jnp.where(at.proper, jnp.where(at.flip, at_high, at_low) / mass, 0)
    slope_b = jnp.where(at.proper, jnp.where(at.flip, at_low, at_high) / mass, 0)
    return log_normal_mass(a, b), slope_b * db - slope_a * da


def _described(a: Real, b: Real) -> _Interval:
    proper = b - a > 0
    a, b = jnp.where(proper, a, -1), jnp.where(proper, b, 1)
    width, flip = b - a, a + b < 0
    low, high = jnp.where(flip, -b, a), jnp.where(flip, -a, b)
    limit = 0.25 if low.dtype == jnp.float64 else 0.4
    narrow = (low + 0.5 * width + 1) * (0.5 * width) <= limit
    return _Interval(proper, flip, narrow, ~narrow & (low >= 0), low, high, width)


def _relative_mass(at: _Interval) -> tuple[Real, Real, Real, Real]:
    """The mass divided by phi(r), the reference r, phi(low) / phi(r) and phi(high) / phi(r).

    The reference is the midpoint of a narrow interval, the lower end of one in the tail, and 0 within an
    interval. All three formulas are evaluated for every interval. A formula that is not selected gets
    harmless operands, so that its derivatives are not NaN.
    """
    narrow, tail = at.narrow, at.tail
    bounded = tail & (at.width < jnp.inf)
    width = jnp.where(bounded, at.width, 1)
    # Distances of the ends from 0, for both formulas. An interval that contains 0 is cut at 64, where its
    # density is 0; without the cut 0 * infinity would be NaN.
    low = jnp.where(narrow, 1, jnp.where(tail, at.low, jnp.minimum(-at.low, 64)))
    high = jnp.where(narrow, 2, jnp.where(tail, low + width, jnp.minimum(at.high, 64)))
    h = jnp.where(narrow, 0.5 * at.width, 0.125)
    m = jnp.where(narrow, at.low, 0) + h
    at_low = jnp.where(narrow, h * (m - 0.5 * h), jnp.where(tail, 0, -0.5 * jnp.square(low)))
    beyond = jnp.where(tail, -width * (low + 0.5 * width), -0.5 * jnp.square(high))
    at_low, at_high = jnp.exp(at_low), jnp.exp(jnp.where(narrow, -h * (m + 0.5 * h), beyond))
    at_high = jnp.where(tail & ~bounded, 0, at_high)
    below, above = 1 / hazard(low), 1 / hazard(high)
    mass = jnp.where(tail, below, math.sqrt(2 * math.pi) - below * at_low) - above * at_high
    mass = jnp.where(narrow, 2 * h * _hermite_sum(m, h), mass)
    return mass, jnp.where(narrow, m, jnp.where(tail, at.low, 0)), at_low, at_high


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


def bisected(is_above: Callable[[Array], Array], low: Array, high: Array, n: int) -> tuple[Array, Array]:
    """Ends around the place where ``is_above`` becomes true, after n halvings of [low, high]."""

    def halve(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = low + ((high - low) // 2 if jnp.issubdtype(low.dtype, jnp.integer) else (high - low) / 2)
        above = is_above(middle)
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    return jax.lax.fori_loop(0, n, halve, jax.lax.stop_gradient((low, high)))


def open_uniform(key: Array, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "..."]:
    """Uniform random numbers (k + 1/2)/2^n with an integer k < 2^n, so never 0 or 1; n = 23 or 52 bits."""
    double = dtype == jnp.float64
    n, bits = (52, jnp.uint64) if double else (23, jnp.uint32)
    k = jax.random.bits(key, shape, bits) >> (12 if double else 9)
    return (k.astype(dtype) + 0.5) * 2.0**-n
