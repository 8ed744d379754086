"""The null of an interaction: membership is a sum of a function of either parameter, and noise.

A shuffle of all losses would test that neither parameter has any effect: beside strong additive effects I
varies more than in such shuffles, and a shuffle within the cells of one parameter leaves out the effect of
the other. So the additive part is fitted by least squares, and the signs of what it leaves of every row are
flipped at random (the wild bootstrap of Wu, 1986, and Liu, 1988): rows stay where they are, and the noise of
every cell stays as large as it is.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt32

from parzax._numerics import divisor
from parzax.importance.anova import explained, inverse

# Rounds of the fit: after k of them rho^2k of the error is left, for parameters with a correlation of rho.
_ROUNDS = 30
_WORD = 32


def additive_fit(region: Float[Array, "w w"], excess: Float[Array, "w w"]) -> Float[Array, "w w"]:
    """a_x + b_y per cell, nearest to the cells' means under weights r (backfitting); 0 without rows."""
    of_rows, of_columns = inverse(region.sum(axis=1)), inverse(region.sum(axis=0))

    def step(_: Any, fit: tuple[Array, Array]) -> tuple[Array, Array]:
        _, b = fit
        a = (excess - region * b[None]).sum(axis=1) * of_rows
        return a, (excess - region * a[:, None]).sum(axis=0) * of_columns

    start = jnp.zeros(region.shape[0], region.dtype), jnp.zeros(region.shape[1], region.dtype)
    a, b = jax.lax.fori_loop(0, _ROUNDS, step, start)
    return a[:, None] + b[None]


def sign_sums(k: Float[Array, "w w"], words: UInt32[Array, "w w b"]) -> Float[Array, "w w b"]:
    """Sums of k random signs, from random words: twice the number of ones among k bits, less k.

    Beyond 32 signs, the sum of 32 of them scaled to the variance k, which is nearly normal; so are
    fractions of a sign.
    """
    bits = jnp.minimum(jnp.ceil(k), _WORD)
    # A shift by all the bits of a word is not defined.
    shift = jnp.minimum(_WORD - bits, _WORD - 1).astype(jnp.uint32)
    mask = jnp.where(bits > 0, jnp.uint32(2**_WORD - 1) >> shift, jnp.uint32(0))
    ones = jax.lax.population_count(words & mask[..., None]).astype(k.dtype)
    scale = jnp.sqrt(k / jnp.maximum(bits, 1))
    return (2 * ones - bits[..., None]) * scale[..., None]


def null_interactions(
    region: Float[Array, "w w"], target: Float[Array, "w w"], words: UInt32[Array, "2 w w b"]
) -> Float[Array, " b"]:
    """I of draws from the null, for one slot and level.

    Args:
        region, target: r and t, rows per cell.
        words: random bits, for the rows in the target and for the others.
    """
    share = target.sum() / divisor(region.sum())
    fit = additive_fit(region, target - share * region)
    # A row's residual is one of two numbers, by whether it is in the target.
    inside, outside = 1 - share - fit, -share - fit
    residual = inside[..., None] * sign_sums(target, words[0])
    residual += outside[..., None] * sign_sums(region - target, words[1])
    kept = (region * jnp.square(fit)).sum() + (target * jnp.square(inside)).sum()
    kept += ((region - target) * jnp.square(outside)).sum()
    squares = kept + 2 * (fit[..., None] * residual).sum(axis=(0, 1))
    return explained(region, (region * fit)[..., None] + residual, squares).interaction
