"""Sums and loops in forms that XLA's CPU backend compiles well, and moves to the device."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped


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


@jax.custom_batching.custom_vmap
def somewhere(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """The flag itself; under `jax.vmap` whether it is set for any member of the batch, one flag for all.

    `jax.lax.cond` of it skips work that no member needs, while of the flag itself both branches are computed.
    So the work must change nothing for members whose flag is not set.
    """
    return flag


@somewhere.def_vmap
def _somewhere_in_batch(_: int, is_batched: list[bool], flag: Bool[Array, " b"]) -> tuple[Array, bool]:
    return somewhere(flag.any(axis=0) if is_batched[0] else flag), False


def total(counts: Shaped[Array, " g"]) -> Shaped[Array, ""]:
    """Sum of counts in the dtype of the counts; NumPy's promotion to int64 would halve the speed."""
    return counts.sum(dtype=counts.dtype)


def divisor(total: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """The total, with 1 in place of 0, to divide by: if the total is 0, the dividend is 0 too."""
    return jnp.where(total > 0, total, 1)


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
