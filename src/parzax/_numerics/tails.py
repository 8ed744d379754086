"""Tails of the standard normal: Q(x), log Phi(z), and masses beyond the edges of unit cells."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from parzax._numerics.dtypes import as_floats
from parzax._numerics.hazard import gaussian, hazard, log1m

# Mills ratio R(x) = exp(x^2/2) sqrt(2 pi) Q(x) = P(t) / (1 + x), t = (x - 4)/(x + 4), for x >= 0: Chebyshev
# interpolants of P found with mpmath, as coefficients of t^0, t^1, ...; relative error 3e-16 and 1.7e-7.
# (tests/numerics compares them with mpmath.)
_MILLS_64 = (
    1.1832619145678034,
    -0.2423996705218081,
    0.035091880234748005,
    0.07169048120143744,
    -0.0807080096790523,
    0.04495912907706981,
    -0.01253910362039814,
    -0.0007159509052838121,
    0.001741848773732585,
    -0.00023670175882712258,
    -0.0002202155756957516,
    5.3266970938315365e-05,
    3.415881433183821e-05,
    -8.606187876096938e-06,
    -6.5533544552582505e-06,
    1.0194890870987357e-06,
    1.390762707984928e-06,
    -3.101083609757584e-09,
    -2.869299965207942e-07,
    -4.494916382038613e-08,
    5.077844122332048e-08,
    1.3723059452459651e-08,
    -6.5624402369464745e-09,
    -1.6952996818880583e-09,
    4.480233382099169e-10,
)
_MILLS_32 = (
    1.183261905003296,
    -0.24239965322841212,
    0.035092579442418156,
    0.0716899901274411,
    -0.0807163453792018,
    0.04496313583061264,
    -0.012502345564494057,
    -0.0007300993390324564,
    0.0016668794578253972,
    -0.00021194549193020052,
    -0.00014561313280773365,
    3.150467452294298e-05,
)


def mills_ratio(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """exp(x^2/2) sqrt(2 pi) Q(x) for x >= 0, with Q the upper tail of the standard normal."""
    t = (x - 4) / (x + 4)
    ratio = jnp.zeros_like(t)
    for coefficient in reversed(_MILLS_64 if x.dtype == jnp.float64 else _MILLS_32):
        ratio = ratio * t + jnp.asarray(coefficient, x.dtype)
    return ratio / (1 + x)


def upper_tail(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Q(x) = 1 - Phi(x) of the standard normal for x >= 0, accurate relative to itself.

    One exponential and one polynomial, without the branches of erfc, so that XLA can evaluate it again
    wherever it is used instead of storing intermediates: twice as fast in float32.
    """
    return jnp.exp(-0.5 * jnp.square(x)) * mills_ratio(x) * jnp.asarray((2 * jnp.pi) ** -0.5, x.dtype)


def unit_cell_tails(bandwidth: Float[Array, ""], n: int) -> Float[Array, " {n}"]:
    """Q((j + 1/2) / bandwidth) for j = 0..n-1: the mass beyond the far edge of the j-th cell.

    The masses of all cells around a centre, and of any range of cells that ends at cell edges, are
    differences of these, so one table of n tails serves a whole grid.
    """
    edges = jnp.arange(n, dtype=bandwidth.dtype) + 0.5
    return upper_tail(edges / bandwidth)


def log_ndtr(z: Num[Array, "..."] | float) -> Float[Array, "..."]:
    """log Phi(z) of the standard normal, with its derivatives, for any z.

    With h the hazard rate, log Phi(z) = -z^2/2 - log sqrt(2 pi) - log h(-z) for z < 0 and
    log1p(-phi(z)/h(z)) for z >= 0; its derivative phi(z)/Phi(z) is h(-z) for z < 0, hence 1e20 at -1e20.

    Relative error 1e-12 (float64) and 1e-6 (float32), up to z = 37.5 and 13.0, from where on the value is
    below the least normal number and XLA flushes it to 0. It is -inf, with the largest finite number as
    derivative, where z^2/2 overflows and at -inf; 0 with derivative 0 at +inf; NaN at NaN.
    """
    return _compiled_log_ndtr(*as_floats(z))


def log_upper_tail(x: Num[Array, "..."] | float) -> Float[Array, "..."]:
    """log Q(x) = log Phi(-x) of the standard normal, for any x; see `log_ndtr`."""
    return _compiled_log_ndtr(-as_floats(x)[0])


@jax.custom_jvp
def _log_ndtr(z: Float[Array, "..."]) -> Float[Array, "..."]:
    x = jnp.where(z < 0, -z, z)
    below = -0.5 * jnp.square(x) - _constant(math.log(2 * math.pi) / 2, z) - jnp.log(hazard(x))
    return jnp.where(z < 0, below, log1m(_upper_tail(x)))


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals, tangents):
    (z,), (dz,) = primals, tangents
    return _log_ndtr(z), _inverse_mills(z) * dz


# Outside of jit, a hundred operations would be dispatched one by one.
_compiled_log_ndtr = jax.jit(_log_ndtr)


def _inverse_mills(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """phi(z)/Phi(z); differentiable as it stands."""
    x = jnp.minimum(jnp.where(z < 0, -z, z), jnp.finfo(z.dtype).max)
    density = gaussian(x) * _constant((2 * math.pi) ** -0.5, z)
    return jnp.where(z < 0, hazard(x), density / (1 - _upper_tail(x)))


def _upper_tail(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Q(x) for x >= 0 within a few ulps, at twice the cost of `upper_tail`; 0 at infinity."""
    return gaussian(x) / hazard(x) * _constant((2 * math.pi) ** -0.5, x)


def _constant(value: float, like: Float[Array, "..."]) -> Float[Array, ""]:
    return jnp.asarray(value, like.dtype)
