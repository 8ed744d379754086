"""Half-samples and bootstrap samples of a log, as weights and levels of its rows.

Rows stand in the order of their losses, best first; rows that are left out, and padding, come last.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

_LARGEST = np.uint32(2**32 - 1)


def half_sample(key: PRNGKeyArray, n: int, size: Int[Array, ""], usable: Int[Array, ""]) -> Int[Array, " n"]:
    """Draw ``size`` of the first ``usable`` of n rows at random: 1 for the rows drawn, else 0."""
    is_usable = jnp.arange(n, dtype=jnp.int32) < usable
    bits = jnp.where(is_usable, jax.random.bits(key, (n,), jnp.uint32), _LARGEST)

    def set_bit(k: Int[Array, ""], cut: Array) -> Array:
        higher = cut | (np.uint32(1 << 31) >> k.astype(jnp.uint32))
        return jnp.where((bits < higher).sum(dtype=jnp.int32) < size, higher, cut)

    # The cut-off is found bit by bit, faster than by a sort. The number of steps is fixed, so that devices
    # that draw different samples need not agree when to end. One subset in 2^32 / n has one row more, since
    # two rows have the same bits at the cut-off.
    cut = jax.lax.fori_loop(0, 32, set_bit, jnp.zeros((), jnp.uint32))
    return ((bits <= cut) & is_usable & (size > 0)).astype(jnp.int32)


def bootstrap_sample(
    key: PRNGKeyArray, n: int, size: Int[Array, ""], usable: Int[Array, ""]
) -> Int[Array, " n"]:
    """How often each of n rows occurs in ``size`` draws with replacement from the first ``usable`` rows."""
    rows = jax.random.randint(key, (n,), 0, jnp.maximum(usable, 1), dtype=jnp.int32)
    return jnp.zeros(n, jnp.int32).at[rows].add((jnp.arange(n, dtype=jnp.int32) < size).astype(jnp.int32))


METHODS = {"half-sampling": half_sample, "bootstrap": bootstrap_sample}


def sample_size(usable: Any, method: str) -> Any:
    """Number of rows in a sample of ``usable`` rows: half of them, or all for the bootstrap."""
    return usable // 2 if method == "half-sampling" else usable


def sample_levels(
    weight: Int[Array, "b n"], first_tied: Int[Array, " n"], level_after: Int[Array, " n1"]
) -> Int[Array, "b n"]:
    """First level set of each row if the cut-offs are those of the sample.

    Args:
        weight: how often each row is in the sample.
        first_tied: for each row, the first row with the same loss.
        level_after: entry k is the first level set of a row with k better rows in the sample.
    """
    return level_after[rows_before(weight, first_tied)]


def rows_before(weight: Int[Array, "b n"], first_tied: Int[Array, " n"]) -> Int[Array, "b n"]:
    """Number of better rows in the sample, for each row; arguments as in `sample_levels`."""
    upto = jnp.cumsum(weight, axis=1, dtype=jnp.int32)
    return (upto - weight)[:, first_tied]
