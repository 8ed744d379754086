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


def to_device(tree: Any, dtype: Any = None) -> Any:
    """A tree with its NumPy arrays moved to the device, and its floats cast to ``dtype`` if it is given.

    `jax.numpy.asarray` would compile a program for each shape of a NumPy array; this function does not.
    """

    def put(leaf: Any) -> Any:
        if dtype is not None and leaf.dtype.kind == "f":
            leaf = leaf.astype(dtype)
        return jax.device_put(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf

    return jax.tree.map(put, tree)


def capacity(n: int) -> int:
    """Padded number of rows: 64, 256, 1024, 4096, then doubling, so that few shapes are compiled."""
    return next((size for size in (64, 256, 1024, 4096) if n <= size), 1 << (n - 1).bit_length())


def total(counts: Shaped[Array, " g"]) -> Shaped[Array, ""]:
    """Sum of counts in the dtype of the counts; NumPy's promotion to int64 would halve the speed."""
    return counts.sum(dtype=counts.dtype)


def divisor(total: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """The total, with 1 in place of 0, to divide by: if the total is 0, the dividend is 0 too."""
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
    rank = max(x.ndim, weight.ndim)
    x, weight = (array.reshape((1,) * (rank - array.ndim) + array.shape) for array in (x, weight))
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


def running_count(mask: Bool[Array, " n"]) -> Int[Array, " n"]:
    """Number of True entries up to and including each entry."""
    return _doubled(jnp.add, mask.astype(jnp.int32), 0)


def largest_before(x: Float[Array, " n"]) -> Float[Array, " n"]:
    """The largest of the entries before each entry; -inf for the first entry."""
    shifted = jnp.concatenate([jnp.full(1, -jnp.inf, x.dtype), x[:-1]])
    return _doubled(jnp.maximum, shifted, -jnp.inf)


def _doubled(combine: Callable[..., Array], x: Shaped[Array, " n"], neutral: float) -> Shaped[Array, " n"]:
    """Prefix combination of all entries up to each entry, in log2(n) steps (Hillis and Steele 1986).

    After step k an entry combines the last 2^k entries up to itself. In JAX 0.10.2, 256 rows of 1024 entries
    take a quarter of the time of `jax.lax.cummax` on a CPU, and 0.6 of that of `jax.numpy.cumsum`.
    """
    n = len(x)

    def step(k: Array, x: Array) -> Array:
        padded = jnp.concatenate([jnp.full_like(x, neutral), x])
        return combine(x, jax.lax.dynamic_slice_in_dim(padded, n - (1 << k), n))

    return jax.lax.fori_loop(0, (n - 1).bit_length(), step, x)
