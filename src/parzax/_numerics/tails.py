"""Tails and density of the standard normal, from which masses of intervals are built."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

# Coefficients of t^0, t^1, ... in polynomials for (1 + x)(phi(x)/Q(x) - x), x >= 0, with t = (x - 4)/(x + 4).
# They are Chebyshev interpolants, computed with mpmath; relative error 1.1e-16 and 5.7e-8.
_EXCESS_64 = (
    1.1280357224473554, -0.06205637998113549, -0.19210374819083376, 0.19293246887897159,
    -0.06107108420352686, -0.030769392017918357, 0.03242420505717472, -0.001129086189823061,
    -0.010605539170500963, 0.0032926612522686917, 0.0027520392212998517, -0.001693717712426102,
    -0.0005603950341127854, 0.0006390165951763686, 6.878569826622831e-05, -0.00020246947030178015,
    9.092377311851648e-06, 5.5382649247310664e-05, -1.0051919134851641e-05, -1.286520764436133e-05,
    4.307608660948105e-06, 2.393855835481708e-06, -1.2862324025882422e-06, -3.14547041957056e-07,
    2.591874182191717e-07, 2.149335897334697e-08, -2.6445542802363845e-08,
)  # fmt: skip
_EXCESS_32 = (
    1.1280357224473554, -0.06205713214369327, -0.1921039488616688, 0.1929538006468635, -0.06106544751494536,
    -0.030945553587987132, 0.03237876014255992, -0.0004883241379477277, -0.010447605632406693,
    0.002102365750058964, 0.00248306837447811, -0.000507478945188888, -0.0003382823586154505,
)  # fmt: skip


def hazard(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Hazard rate phi(x)/Q(x) for x >= 0, with a small relative error; it can be differentiated.

    It is computed as its asymptote x plus a remainder, which is sqrt(2/pi) at 0 and falls like 1/x. The value
    at infinity is infinity.
    """
    # This equals (x - 4)/(x + 4), which would be NaN at infinity.
    t = 1 - 8 / (x + 4)
    excess = jnp.zeros_like(t)
    for coefficient in reversed(_EXCESS_64 if x.dtype == jnp.float64 else _EXCESS_32):
        excess = excess * t + jnp.asarray(coefficient, x.dtype)
    return x + excess / (1 + x)


def upper_tail(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Q(x) = 1 - Phi(x) of the standard normal for x >= 0, with a small relative error.

    It takes one exponential and one polynomial. Unlike erfc it has no branches, so XLA can evaluate it again
    in each use instead of storing intermediate values: this is twice as fast in float32.
    """
    return jnp.exp(-0.5 * jnp.square(x)) / hazard(x) * (2 * math.pi) ** -0.5
