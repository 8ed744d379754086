"""A function of arrays in a loop of two rounds, so that XLA computes its result once and as one pass."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array


def in_two_rounds(function: Callable[[Any], Array], arrays: Any, axis: int) -> Array:
    """function(arrays), where each slice along an axis depends on the same slice of the arguments alone.

    XLA's CPU backend would merge it with a concatenation or a sum that follows, and compute it number by
    number, many times slower; a loop is not merged with anything.

    Args:
        function: from a pytree of arrays with n slices along an axis to one such array, for any n.
        arrays: at least one.
        axis: which one; 0 or negative.
    """
    first = jax.tree.map(lambda x: jnp.moveaxis(x, axis, 0), arrays)
    n = len(jax.tree.leaves(first)[0])
    if n == 0:
        return function(arrays)
    half = -(-n // 2)

    def halves(x: Array) -> Array:
        padded = jnp.pad(x, ((0, 2 * half - n), *((0, 0),) * (x.ndim - 1)), mode="edge")
        return jnp.moveaxis(padded.reshape(2, half, *x.shape[1:]), 1, axis if axis < 0 else axis + 1)

    out = jnp.moveaxis(jax.lax.map(function, jax.tree.map(halves, first)), axis if axis < 0 else axis + 1, 1)
    return jnp.moveaxis(out.reshape(2 * half, *out.shape[2:])[:n], 0, axis)
