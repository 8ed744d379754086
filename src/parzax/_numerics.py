"""Tail arithmetic in one place: the normal's upper tail, masses of unit cells; sums over cells."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

# Mills ratio R(x) = exp(x^2/2) sqrt(2 pi) Q(x) = P(t) / (1 + x), t = (x - 4)/(x + 4), for x >= 0: Chebyshev
# interpolants of P found with mpmath, as coefficients of t^0, t^1, ...; relative error 3e-16 and 1.7e-7.
# (tests/test_numerics.py compares them with mpmath.)
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


def cell_sum(x: Float[Array, " g"]) -> Float[Array, ""]:
    """Sum over the cells, as a product with ones.

    XLA's CPU backend merges a plain reduction with all that produced its operand, which turns the
    convolution before it into scalar code, eight times slower; it leaves a product alone.
    """
    return jnp.dot(x, jnp.ones(x.shape, x.dtype), precision="highest")


def total(counts: Shaped[Array, " g"]) -> Shaped[Array, ""]:
    """Sum of counts in their own dtype; NumPy's promotion to int64 would halve the speed."""
    if jnp.issubdtype(counts.dtype, jnp.floating):
        return cell_sum(counts)
    return counts.sum(dtype=counts.dtype)


def divisor(total: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """A total to divide by: 1 where it is 0, where what is divided is 0 too."""
    return jnp.where(total > 0, total, 1)
