"""Sums and loops in forms that XLA's CPU backend compiles well, and the choice of NumPy or jax.numpy."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, Shaped


def namespace(x: Any) -> ModuleType:
    """NumPy for NumPy arrays and scalars, else jax.numpy, so one formula serves the host and the device.

    >>> namespace(np.float64(1)).__name__, namespace(jnp.ones(1)).__name__
    ('numpy', 'jax.numpy')
    """
    return np if isinstance(x, (np.ndarray, np.generic)) else jnp


# Largest exponent of an entry of weight 0, as a share of the log of the largest float.
_LARGEST_EXPONENT = 0.9
# Number of entries in a block of rows, small enough for intermediate values to stay in the cache.
_BLOCK = 32768


def map_blocks(function: Callable[..., Any], *arrays: Any) -> Any:
    """function(arrays), for a function that treats each row separately.

    Long NumPy arrays (n, d) are passed in blocks of rows with contiguous columns. The function must return an
    array, or a tree of arrays, with as many rows as it was given.
    """
    n, width = arrays[0].shape
    size = max(1, _BLOCK // width)
    if n <= size or not all(isinstance(array, np.ndarray) for array in arrays):
        return function(*arrays)
    results: list[np.ndarray] = []
    tree: Any = None
    for start in range(0, n, size):
        rows = slice(start, start + size)
        blocks, tree = jax.tree.flatten(function(*(np.asfortranarray(array[rows]) for array in arrays)))
        results = results or [np.empty((n, *block.shape[1:]), block.dtype) for block in blocks]
        for result, block in zip(results, blocks, strict=True):
            result[rows] = block
    return jax.tree.unflatten(tree, results)


def to_device(tree: Any, dtype: Any = None) -> Any:
    """A tree with its NumPy arrays moved to the device, and its floats cast to ``dtype`` if it is given.

    `jax.numpy.asarray` would compile a program for each shape of a NumPy array; this function does not.
    """

    def put(leaf: Any) -> Any:
        if dtype is not None and leaf.dtype.kind == "f":
            leaf = leaf.astype(dtype)
        return jax.device_put(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf

    return jax.tree.map(put, tree)


def cell_sum(x: Float[Array, " g"]) -> Float[Array, ""]:
    """Sum over the cells, computed as a product with a vector of ones.

    XLA's CPU backend would fuse a plain sum with the computation of its operand. A convolution before the sum
    would then run as scalar code, eight times slower. XLA does not fuse a product.
    """
    return jnp.dot(x, jnp.ones(x.shape, x.dtype), precision="highest")


def total(counts: Shaped[Array, " g"]) -> Shaped[Array, ""]:
    """Sum of counts in the dtype of the counts; NumPy's promotion to int64 would halve the speed."""
    if jnp.issubdtype(counts.dtype, jnp.floating):
        return cell_sum(counts)
    return counts.sum(dtype=counts.dtype)


def divisor(total: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """The total, with 1 in place of 0, to divide by: if the total is 0, the dividend is 0 too."""
    # With `total + (total == 0)` instead, a sweep over levels takes twice as long on XLA's CPU backend.
    return jnp.where(total > 0, total, 1)


def masked_logsumexp(
    x: Float[Array, "..."],
    weight: Num[Array, "..."] | Bool[Array, "..."],
    axis: int | tuple[int, ...] | None = None,
) -> Float[Array, "..."]:
    """log sum_i w_i exp(x_i) along the axis; entries of weight 0 are ignored.

    An ignored entry may be NaN or infinite: it does not affect the value or other derivatives, and its
    derivative with respect to x_i is 0. The derivative with respect to w_i is the one-sided one, or 0 where
    x_i is not finite. If all entries are ignored, the value is -inf and all
    derivatives are 0. The maximum of x_i + log w_i is factored out of the sum. x and the weights, or a mask,
    are broadcast. Negative and NaN weights give NaN.
    """
    weight = jnp.asarray(weight).astype(x.dtype)
    log_weight = jnp.log(jnp.where(weight == 0, 1, weight))
    present = (weight != 0) & (x != -jnp.inf)
    absent = (weight == 0) & jnp.isfinite(x)
    logs = jnp.where(present | absent, x, 0) + log_weight
    largest = jnp.max(jnp.where(present, logs, -jnp.inf), axis=axis, keepdims=True, initial=-jnp.inf)
    largest = jax.lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0))
    exponent = jnp.where(present | absent, logs - largest, 0)
    # An entry without weight may be larger than all others; the limit keeps its derivative finite.
    most = _LARGEST_EXPONENT * np.log(np.finfo(x.dtype).max)
    terms = jnp.exp(jnp.where(absent, jnp.minimum(jax.lax.stop_gradient(exponent), most), exponent))
    total = jnp.sum(jnp.where(present, terms, jnp.where(absent, weight * terms, 0)), axis=axis)
    empty = total == 0
    log_total = jnp.log(jnp.where(empty, 1, total))
    return jnp.where(empty, -jnp.inf, jnp.squeeze(largest, axis=axis) + log_total)


def in_two_rounds(function: Callable[[Any], Array], arrays: Any) -> Array:
    """function(arrays) in a loop of two rounds; the function must treat slices of the first axis separately.

    XLA's CPU backend would fuse the function with a concatenation or a sum that follows, and compute it as
    scalar code, many times slower. XLA does not fuse a loop.
    """
    n = len(jax.tree.leaves(arrays)[0])
    if n == 0:
        return function(arrays)
    half = -(-n // 2)

    def halves(x: Array) -> Array:
        padded = jnp.pad(x, ((0, 2 * half - n), *((0, 0),) * (x.ndim - 1)), mode="edge")
        return padded.reshape(2, half, *x.shape[1:])

    out = jax.lax.map(function, jax.tree.map(halves, arrays))
    return out.reshape(2 * half, *out.shape[2:])[:n]


def running_count(mask: Bool[Array, " n"]) -> Int[Array, " n"]:
    """Number of True entries up to and including each entry."""
    return _doubled(jnp.add, mask.astype(jnp.int32), 0)


def largest_before(x: Float[Array, " n"]) -> Float[Array, " n"]:
    """The largest of the entries before each entry; -inf for the first entry."""
    shifted = jnp.concatenate([jnp.full(1, -jnp.inf, x.dtype), x[:-1]])
    return _doubled(jnp.maximum, shifted, -jnp.inf)


def _doubled(combine: Callable[..., Array], x: Shaped[Array, " n"], neutral: float) -> Shaped[Array, " n"]:
    """Prefix combination of all entries up to each entry, in log2(n) steps (Hillis and Steele 1986).

    After step k an entry combines the last 2^k entries up to itself. On a CPU this is several times faster
    than XLA's scans.
    """
    n = len(x)

    def step(k: Array, x: Array) -> Array:
        padded = jnp.concatenate([jnp.full_like(x, neutral), x])
        return combine(x, jax.lax.dynamic_slice_in_dim(padded, n - (1 << k), n))

    return jax.lax.fori_loop(0, (n - 1).bit_length(), step, x)
