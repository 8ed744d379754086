"""Random halves of a log and bootstrap samples of it: levels and weights of rows.

Rows stand in the order of their losses, best first; those without a place in it, and padding, come last.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

_LARGEST = np.uint32(2**32 - 1)


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


METHODS = {"half-sampling": half_samples, "bootstrap": bootstrap_samples}


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
