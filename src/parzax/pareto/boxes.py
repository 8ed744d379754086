"""Boxes between rows and a reference point, in powers of two that keep their volumes in range."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax.pareto.order import order_key


class Boxes(NamedTuple):
    """One box per row, from the row up to the reference point; volume = volume of widths * 2^exponent.

    Attributes:
        width: widths in units of 2^exponent of their objective, at most 1; 0 where the row has no box.
        exponent: sum of the objectives' exponents.
        inside: rows that have a box: present, no NaN, better than the reference in every objective.
        endless: whether a width is infinite (and 0 in ``width``), so that the volume is infinite.
        lost: whether a box has a width that the dtype cannot hold.
    """

    width: Float[Array, "n m"]
    exponent: Int[Array, ""]
    inside: Bool[Array, " n"]
    endless: Bool[Array, "n m"]
    lost: Bool[Array, ""]


def boxes(losses: Float[Array, "n m"], reference: Float[Array, " m"], present: Bool[Array, " n"]) -> Boxes:
    """The boxes of the present rows. Scaling by powers of two rounds nothing."""
    inside = present & jnp.all(order_key(losses) < order_key(reference), axis=1)
    inside = inside & ~jnp.any(jnp.isnan(losses), axis=1) & ~jnp.any(jnp.isnan(reference))
    ends = inside[:, None] & jnp.isfinite(losses) & jnp.isfinite(reference)
    width = jnp.where(ends, reference, 0) - jnp.where(ends, losses, 0)
    endless = inside[:, None] & (~ends | (width == jnp.inf))
    width = jnp.where(endless, 0, width)
    lost = jnp.any(ends & ~endless & (width < jnp.finfo(width.dtype).tiny))
    widest = jnp.max(width, axis=0, initial=0)
    _, exponent = jnp.frexp(jax.lax.stop_gradient(jnp.where(widest > 0, widest, 1)))
    width = scale(width, -exponent)
    return Boxes(width, jnp.sum(exponent), inside, endless, lost)


def scale(x: Float[Array, "..."], exponent: Int[Array, "..."]) -> Float[Array, "..."]:
    """x times 2^exponent, in four steps, each of which the dtype can hold."""
    most = jnp.finfo(x.dtype).maxexp - 2
    for _ in range(4):
        step = jnp.clip(exponent, -most, most)
        x = x * power_of_two(step, x.dtype)
        exponent = exponent - step
    return x


def power_of_two(exponent: Int[Array, "..."], dtype: jnp.dtype) -> Float[Array, "..."]:
    """2^exponent for a normal result, from its bits: XLA's exp2 and ldexp round."""
    info = jnp.finfo(dtype)
    integer = jnp.int64 if info.bits == 64 else jnp.int32
    biased = (exponent + (info.maxexp - 1)).astype(integer)
    return jax.lax.bitcast_convert_type(jnp.left_shift(biased, info.nmant), dtype)
