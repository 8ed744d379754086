"""Floats as integers in the same order, for exact comparisons although XLA may treat subnormals as 0."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Integer, Shaped

_BITS = {8: np.int64, 4: np.int32}


# Number of entries below which comparisons are faster than a bisection.
_FEW = 8


def ordered_key(x: Any) -> Any:
    """Integers of the same width in the order of the floats; 0.0 equals -0.0, and NaN is the largest.

    >>> ordered_key(np.array([-1.0, -0.0, 5e-324])).tolist()
    [-4607182418800017408, 0, 1]
    """
    xp = x.__array_namespace__()
    dtype = _BITS[x.dtype.itemsize]
    bits = x.view(dtype) if xp is np else jax.lax.bitcast_convert_type(x, dtype)
    info = np.iinfo(dtype)
    key = xp.where(bits < 0, dtype(info.min) - bits, bits)
    return xp.where(xp.isnan(x), dtype(info.max), key)


def float_of_key(key: Any) -> Any:
    """The inverse of `ordered_key`."""
    xp = key.__array_namespace__()
    bits = xp.where(key < 0, key.dtype.type(np.iinfo(key.dtype).min) - key, key)
    dtype = np.float64 if bits.dtype.itemsize == 8 else np.float32
    return bits.view(dtype) if xp is np else jax.lax.bitcast_convert_type(bits, dtype)


def round_up(x: np.ndarray, dtype: Any) -> np.ndarray:
    """The smallest floats of ``dtype`` that are not below float64 numbers."""
    if dtype == np.float64:
        return x
    with np.errstate(over="ignore"):
        near = x.astype(dtype)
    return np.where(near < x, np.nextafter(near, np.float32(np.inf)), near)


def count_below(
    table: Any, x: Shaped[Any, "..."], start: Any, size: Any, largest: int
) -> Integer[Any, "..."]:
    """Number of entries below x among the ascending ``table[start + 1], ..., table[start + size]``.

    The bisection has ``largest.bit_length()`` unrolled steps, so compiled code has no loop
    (`jax.numpy.searchsorted` has one). ``start`` and ``size`` are broadcast against x, and no size may exceed
    ``largest``. ``start`` may be -1. The value of ``table[start]`` does not matter, but the entry must exist
    if the size is 0. With NumPy arrays the whole table is searched.
    """
    if x.__array_namespace__() is np:
        if len(table) < _FEW:
            return sum((x > entry for entry in table), np.zeros(x.shape, np.uint8))
        return np.searchsorted(table, x)
    table, position = jnp.asarray(table), jnp.zeros_like(x, jnp.int32)
    for step in (1 << k for k in reversed(range(largest.bit_length()))):
        probe = position + step
        # Beyond the end the last entry is read but not counted.
        value = table.at[start + jnp.minimum(probe, size)].get(mode="promise_in_bounds")
        position = jnp.where((probe <= size) & (value < x), probe, position)
    return position
