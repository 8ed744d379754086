"""Random halves of a log, bootstrap samples of it, and shuffles of its losses: levels and weights of rows.

Rows stand in the order of their losses, best first; those without a place in it, and padding, come last.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, UInt

_BITS, _LARGEST = 32, np.uint32(2**32 - 1)
# Up to this many places are compared with every key; beyond, they are searched.
_COMPARED = 32


def half_samples(
    key: PRNGKeyArray, b: int, n: int, size: Int[Array, ""], usable: Int[Array, ""]
) -> Int[Array, "b n"]:
    """1 for the rows of each of b random subsets of ``size`` of the first ``usable`` rows, else 0."""
    there = (jnp.arange(n, dtype=jnp.int32) < usable)[None]
    bits = jnp.where(there, jax.random.bits(key, (b, n), jnp.uint32), _LARGEST)

    def number(cut: Array) -> Array:
        return (bits <= cut[:, None]).sum(axis=1, dtype=jnp.int32)

    def halve(now: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        low, high, _ = now
        middle = low + (high - low) // 2
        found = number(middle)
        # Once the number is right both ends are the cut-off.
        low, high = (
            jnp.where(found >= size, jnp.where(found == size, middle, low), middle + 1),
            jnp.where(found >= size, middle, high),
        )
        return low, high, (low < high).any()

    # Bisection for a cut-off, in less time than a sort. Equal bits there add a row once in 2^32 / n subsets.
    ends = jnp.zeros(b, jnp.uint32), jnp.full(b, _LARGEST), jnp.array(True)
    _, cut, _ = jax.lax.while_loop(lambda now: now[2], halve, ends)
    return ((bits <= cut[:, None]) & there & (size > 0)).astype(jnp.int32)


def bootstrap_samples(
    key: PRNGKeyArray, b: int, n: int, size: Int[Array, ""], usable: Int[Array, ""]
) -> Int[Array, "b n"]:
    """How often each of the first ``usable`` rows is among ``size`` that are drawn with replacement."""
    drawn = jax.random.randint(key, (b, n), 0, jnp.maximum(usable, 1), dtype=jnp.int32)
    once = (jnp.arange(n, dtype=jnp.int32) < size).astype(jnp.int32)
    return jnp.zeros((b, n), jnp.int32).at[jnp.arange(b, dtype=jnp.int32)[:, None], drawn].add(once[None])


def sample_levels(
    weight: Int[Array, "b n"], first_tied: Int[Array, " n"], level_after: Int[Array, " n1"]
) -> Int[Array, "b n"]:
    """First level set of each row when cut-offs are those of the sample.

    Args:
        weight: how often each row is in the sample.
        first_tied: the first row, in order, of those with the same loss.
        level_after: the first level set that a row is in of which so many rows of the sample are better.
    """
    upto = jnp.cumsum(weight, axis=1, dtype=jnp.int32)
    better = (upto - weight)[:, first_tied]
    return level_after[better]


def shuffled_levels(
    key: PRNGKeyArray, b: int, regime: UInt[Array, "u n"], ends: Int[Array, "u e"], n_sets: int
) -> Int[Array, "b u n"]:
    """First level set of each row after the losses were shuffled within regimes, b times.

    The target rows of a regime are then a random subset of its rows, so that counts per cell are
    multivariate hypergeometric, and the sets of all levels are nested as before.

    Args:
        regime: of each row, for u ways in which rows have regimes; rows outside the region are in the last.
        ends: for each regime but the last, and each of its ``n_sets`` target sets in ascending order, the
            rows of regimes before it and of the set.
        n_sets: q, number of target sets.
    """
    e, n = ends.shape[1], regime.shape[1]
    shift = (e // n_sets).bit_length()
    bits = jax.random.bits(key, (b, n), jnp.uint32) >> shift

    def of_one(own: UInt[Array, " n"], end: Int[Array, " e"]) -> Int[Array, "b n"]:
        # In order, keys of a regime follow those of the regime before it.
        keys = (own.astype(jnp.uint32) << (_BITS - shift))[None] | bits
        ordered = jnp.sort(keys, axis=1)
        first_out = jnp.where(end < n, ordered[:, jnp.minimum(end, n - 1)], _LARGEST)
        method = "compare_all" if e <= _COMPARED else "scan_unrolled"
        search = jax.vmap(lambda a, v: jnp.searchsorted(a, v, side="right", method=method))
        level = search(first_out, keys).astype(jnp.int32) - n_sets * own.astype(jnp.int32)[None]
        return jnp.clip(level, 0, n_sets)

    return jnp.moveaxis(jax.lax.map(lambda pair: of_one(*pair), (regime, ends)), 0, 1)
