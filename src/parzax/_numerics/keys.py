"""Floats as integers in the same order: comparisons that are exact where XLA takes subnormals for 0."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from parzax._numerics.arrays import namespace

_BITS = {8: np.int64, 4: np.int32}


def ordered_key(x: Any) -> Any:
    """Integers of the same width in the order of the floats; 0.0 and -0.0 are one, NaN is the largest.

    >>> ordered_key(np.array([-1.0, -0.0, 5e-324])).tolist()
    [-4607182418800017408, 0, 1]
    """
    xp = namespace(x)
    dtype = _BITS[x.dtype.itemsize]
    bits = x.view(dtype) if xp is np else jax.lax.bitcast_convert_type(x, dtype)
    info = np.iinfo(dtype)
    key = xp.where(bits < 0, dtype(info.min) - bits, bits)
    return xp.where(xp.isnan(x), dtype(info.max), key)


def float_of_key(key: Any, dtype: Any = None) -> Any:
    """The floats of `ordered_key`; of NumPy's integers of another width, those of ``dtype``."""
    xp = namespace(key)
    bits = xp.where(key < 0, key.dtype.type(np.iinfo(key.dtype).min) - key, key)
    if dtype is not None:
        bits = bits.astype(_BITS[np.dtype(dtype).itemsize])
    dtype = np.float64 if bits.dtype.itemsize == 8 else np.float32
    return bits.view(dtype) if xp is np else jax.lax.bitcast_convert_type(bits, dtype)


def count_below(table: Any, x: Int[Array, "..."], start: Any, size: Any, largest: int) -> Int[Array, "..."]:
    """How many of the ascending ``table[start + 1], ..., table[start + size]`` are below x; start may be -1.

    A bisection of ``largest.bit_length()`` written-out steps, so that there is no loop in compiled code
    (`jax.numpy.searchsorted` has one). ``start`` and ``size`` are broadcast against x; no size is above
    ``largest``. What stands at ``table[start]`` does not matter; with a size of 0 it must exist.
    """
    table, position = jnp.asarray(table), jnp.zeros_like(x, jnp.int32)
    for step in (1 << k for k in reversed(range(largest.bit_length()))):
        probe = position + step
        # Beyond the end the last entry is looked at, and not counted.
        value = table.at[start + jnp.minimum(probe, size)].get(mode="promise_in_bounds")
        position = jnp.where((probe <= size) & (value < x), probe, position)
    return position
