"""Exact sorting: floats as integers, columns as ranks of their values, rows in lexicographic order."""

import functools
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Num, Shaped

from parzax import _checks
from parzax._numerics import ordered_key

Losses = Num[ArrayLike, "n m"]
Reference = Num[ArrayLike, " m"]
Mask = Num[ArrayLike, " n"] | Bool[ArrayLike, " n"] | None

# Largest n for which a pair of integers below n fits into one int32.
_LARGEST_PACKED = math.isqrt(2**31 - 1)


def checked_rows(losses: Any, mask: Any = None, *others: Any) -> tuple[Float[Any, "n m"], Bool[Any, " n"]]:
    """Losses as a floating-point matrix, and a mask of the rows that exist (positive weight, or all).

    In JAX if one of the arguments is a JAX array, else in NumPy and float64.
    """
    on_device = any(isinstance(given, jax.Array) for given in (losses, mask, *others))
    xp = jnp if on_device else np
    losses = jnp.asarray(losses) if on_device else _checks.float_array("losses", losses)
    if losses.ndim != 2 or losses.shape[1] < 1:
        expected = "(n, m) with at least one objective"
        hint = "use losses[:, None] for one objective" + ", jax.vmap for a batch" * on_device
        raise ValueError(f"losses must be {expected}, got shape {losses.shape}; {hint}.")
    n, mask = len(losses), xp.ones(len(losses), bool) if mask is None else xp.asarray(mask)
    _checks.check_shape("mask", mask, n, hint="; give one entry per row of losses")
    return losses.astype(xp.result_type(float, losses)), mask if mask.dtype == bool else mask > 0


def sort_keys(losses: Float[Any, "n m"], present: Bool[Any, " n"]) -> tuple[Int[Any, "n m"], Bool[Any, " n"]]:
    """Losses as integers in the same order, and a mask of proper rows: present and without NaN."""
    xp = losses.__array_namespace__()
    proper = present & ~xp.any(xp.isnan(losses), axis=1)
    keys = ordered_key(losses)
    # All other rows are equal, and every proper row dominates them.
    return xp.where(proper[:, None], keys, np.iinfo(keys.dtype).max), proper


def value_rank(key: Int[Any, " n"]) -> Int[Any, " n"]:
    """Number of smaller integers for each integer; equal integers have the same rank."""
    if isinstance(key, np.ndarray):
        return np.searchsorted(np.sort(key), key).astype(np.int32)
    # Sorting integers and a binary search is five times faster in XLA than sorting pairs of key and index.
    return jnp.searchsorted(jnp.sort(key), key, method="scan").astype(jnp.int32)


def value_ranks(losses: Float[Any, "n m"], present: Bool[Any, " n"]) -> tuple[list[Any], Any]:
    """Each column as ranks of its values, from 0, and the proper rows of `sort_keys`."""
    keys, proper = sort_keys(losses, present)
    return [value_rank(keys[:, j]) for j in range(keys.shape[1])], proper


def lexicographic(columns: Sequence[Int[Array, " n"]]) -> tuple[list[Array], Array, Array]:
    """Rows in lexicographic order: their columns, which are the first of equal rows, and where each row went.

    The entries lie in [0, n), n > 0. Equal rows share the position of the first of them.
    """
    n = len(columns[0])
    if n > _LARGEST_PACKED:
        return _sort_by_index(columns)
    # All columns except the last are combined into one column. With the last column it is packed into one
    # integer per row, and only this integer is sorted: in JAX 0.10.2 twice as fast for a batch of rows.
    leading = columns[0]
    for column in columns[1:-1]:
        leading = value_rank(leading * n + column)
    key = leading * n + columns[-1] if len(columns) > 1 else leading
    ordered_keys = jnp.sort(key)
    position = jnp.searchsorted(ordered_keys, key, method="scan").astype(jnp.int32)
    # Equal rows write the same value, so the order of the writes does not matter.
    first = changes([ordered_keys])
    start = latest(first)
    leading_columns = [jnp.zeros(n, jnp.int32).at[position].set(column)[start] for column in columns[:-1]]
    return [*leading_columns, ordered_keys % n], first, position


def _sort_by_index(columns: Sequence[Int[Array, " n"]]) -> tuple[list[Array], Array, Array]:
    *ordered, row = jax.lax.sort(
        (*columns, jnp.arange(len(columns[0]), dtype=jnp.int32)), num_keys=len(columns)
    )
    first = changes(ordered)
    position = jnp.zeros(len(row), jnp.int32).at[row].set(latest(first), unique_indices=True)
    return ordered, first, position


def running_max(x: Shaped[Any, " n"]) -> Shaped[Any, " n"]:
    """The largest of the entries up to each entry."""
    return np.maximum.accumulate(x) if isinstance(x, np.ndarray) else jax.lax.cummax(x)


def latest(where: Bool[Any, " n"]) -> Int[Any, " n"]:
    """Index of the last row, up to each row, where the condition holds."""
    xp = where.__array_namespace__()
    return running_max(xp.where(where, xp.arange(len(where), dtype=np.int32), 0))


def changes(columns: Sequence[Shaped[Any, " n"]]) -> Bool[Any, " n"]:
    """Mask of the rows that differ from the row before them."""
    xp = columns[0].__array_namespace__()
    changed = functools.reduce(xp.logical_or, (column[1:] != column[:-1] for column in columns))
    return xp.concatenate([xp.ones(1, bool), changed])


def loop(xp: ModuleType, n: Any, step: Callable[[Any, Any], Any], start: Any) -> Any:
    """`jax.lax.fori_loop` from 0 to n, or the same loop in Python for NumPy arrays."""
    if xp is not np:
        return jax.lax.fori_loop(0, n, step, start)
    for i in range(int(n)):
        start = step(i, start)
    return start


def while_loop(xp: ModuleType, goes_on: Callable[[Any], Any], step: Callable[[Any], Any], start: Any) -> Any:
    """`jax.lax.while_loop`, or the same loop in Python for NumPy arrays."""
    if xp is not np:
        return jax.lax.while_loop(goes_on, step, start)
    while goes_on(start):
        start = step(start)
    return start
