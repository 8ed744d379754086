"""Log-sum-exp of the same terms under several sets of weights."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

_LOG2_E = float(np.log2(np.e))
# Largest exponents, as shares of the log of the largest float: of a term of weight 0, and, above the last
# term of a row, of any term. The last term is divided by a power of two, whose exponent is a share of that of
# the largest float, so that terms above and below it fill the range.
_LARGEST_EXPONENT, ANCHORED_RANGE, _SHIFT = 0.9, 1.2, 0.25
# 2^f on [-1/2, 1/2], interpolated at Chebyshev's points: relative errors 2.0e-9 and 2.2e-16.
_SINGLE = (
    1.0, 0.6931472067028326, 0.24022650922288758, 0.055503272266703021, 0.0096180566785246381,
    0.0013400428177615838, 0.00015461444698569129,
)  # fmt: skip
_DOUBLE = (
    1.0, 0.69314718055994998, 0.24022650695910098, 0.055504108664447719, 0.0096181291076068885,
    0.0013333558230164974, 0.0001540353044173605, 1.5252657260200837e-5, 1.321544258792169e-6,
    1.0208690299958306e-7, 7.0725859492692237e-9,
)  # fmt: skip


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def weighted_logsumexp(
    x: Float[Array, "j n"], weight: Float[Array, "*g n"], anchored: bool = False
) -> Float[Array, "*g j"]:
    """log sum_n w_gn exp(x_jn) of finite terms; -inf where all weights of a set are 0.

    The largest term of a set is factored out of its sum, which is a matrix product with the weights. With
    ``anchored`` the last term is factored out of all sums, so each exponential is computed once and no pass
    over the terms is needed to find the largest; x is then as from `relative_to_last`. Every set must have a
    weight of the last term, and no term may exceed it by more than `ANCHORED_RANGE` of the log of the largest
    float.

    Derivatives of every order are finite. The derivative with respect to a weight that is 0 is the one-sided
    one, and where all weights of a set are 0 it is 0.
    """
    some = (weight > 0).any(axis=-1, keepdims=True)
    if anchored:
        shift = int(_SHIFT * jnp.finfo(x.dtype).maxexp)
        sums = _sums(power_of_two(x[:, :-1], -shift), weight[..., :-1]) + 0.5**shift * weight[..., -1:]
        common = x[:, -1] + shift / _LOG2_E
    elif weight.ndim > 1:
        return jax.vmap(weighted_logsumexp, in_axes=(None, 0))(x, weight)
    else:
        x = jnp.where(weight > 0, x, -jnp.inf)
        common = x.max(axis=-1, initial=-float(jnp.finfo(x.dtype).max))
        sums = _sums(power_of_two((x - common[:, None]) * _LOG2_E), weight)
    return jnp.where(some, jnp.log(sums) + jnp.broadcast_to(common, sums.shape), -jnp.inf)


def _sums(terms: Float[Array, "j n"], weight: Float[Array, "*g n"]) -> Float[Array, "*g j"]:
    """sum_n w_gn t_jn; in this order of the factors XLA does not transpose the terms."""
    return jnp.moveaxis(jnp.tensordot(terms, weight, (1, -1), precision="highest"), 0, -1)


def relative_to_last(x: Float[Array, "j n"]) -> Float[Array, "j n"]:
    """Logs to the base 2 of terms divided by the last one, whose natural log stays in the last place."""
    return jnp.where(_is_last(x), x, (x - x[:, -1:]) * _LOG2_E)


def _is_last(x: Float[Array, "j n"]) -> Bool[Array, "1 n"]:
    return jnp.arange(x.shape[-1])[None] == x.shape[-1] - 1


@weighted_logsumexp.defjvp
def _derivative(anchored: bool, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x, weight), (dx, dweight) = primals, tangents
    out = weighted_logsumexp(x, weight, anchored)
    if anchored:
        x, dx = (jnp.where(_is_last(a), a, a / _LOG2_E + a[:, -1:]) for a in (x, dx))
    some = out > -jnp.inf
    shape = (*out.shape, x.shape[-1])
    x, dx, weight, dweight = (
        jnp.broadcast_to(a, shape) for a in (x, dx, weight[..., None, :], dweight[..., None, :])
    )
    exponent = x - jnp.where(some, out, 0)[..., None]
    # A term without weight may be larger than the sum; the limit keeps the product with its weight finite.
    most = _LARGEST_EXPONENT * np.log(np.finfo(x.dtype).max)
    terms = jnp.where(some[..., None], jnp.exp(jnp.minimum(exponent, most)), 0)
    return out, (terms * (weight * dx + dweight)).sum(axis=-1)


def power_of_two(x: Float[Array, "j n"], shift: int = 0) -> Float[Array, "j n"]:
    """2^(x + shift) = 2^(k + shift) 2^f, where k is the integer nearest to x.

    Muller, Elementary Functions, 2016.

    It has no derivative. On a CPU this is 1.5 (float64) or 1.3 times (float32) as fast as XLA's exponential
    (JAX 0.10.2). The error is at most two units in the last place. The value is 0 below the smallest normal
    number, infinity above the largest, and NaN for NaN.
    """
    return jax.lax.platform_dependent(
        x, cpu=partial(_polynomial, shift), default=lambda x: jnp.exp2(x + shift)
    )


def _polynomial(shift: int, x: Array) -> Array:
    info = jnp.finfo(x.dtype)
    lowest, highest = 1 - info.maxexp - shift, info.maxexp - shift
    x = jnp.clip(x, float(lowest), float(highest))
    # The usual trick x + 1.5 * 2^23 - 1.5 * 2^23 does not round here, because XLA simplifies it to x.
    integer = jax.lax.round(x, jax.lax.RoundingMethod.TO_NEAREST_EVEN)
    out = jnp.zeros_like(x)
    for coefficient in reversed(_SINGLE if info.bits == 32 else _DOUBLE):
        out = out * (x - integer) + coefficient
    # The last bits of integer + 1.5 * 2^23 are those of the integer, and 2^k has k in its exponent.
    bits = jax.lax.bitcast_convert_type(integer + 1.5 * 2.0**info.nmant, jnp.dtype(f"int{info.bits}"))
    # The product keeps NaN. The power is 0 below the normal numbers and infinite above them.
    return out * jax.lax.bitcast_convert_type((bits - lowest) << info.nmant, x.dtype)
