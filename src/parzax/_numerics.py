"""Tail arithmetic in one place: normal masses of unit cells."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def upper_tail(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """Q(z) = 1 - Phi(z) of the standard normal, accurate relative to itself for z >= 0."""
    return 0.5 * jax.lax.erfc(z * jnp.asarray(0.5**0.5, z.dtype))


def unit_cell_tails(bandwidth: Float[Array, ""], n: int) -> Float[Array, "{n}"]:
    """Q((j + 1/2) / bandwidth) for j = 0..n-1: the mass beyond the far edge of the j-th cell.

    The masses of all cells around a centre, and of any range of cells that ends at cell edges, are
    differences of these, so one table of n tails serves a whole grid.
    """
    edges = jnp.arange(n, dtype=bandwidth.dtype) + 0.5
    # The table is read many times by the convolution that follows; without the barrier XLA would
    # evaluate erfc again for every use.
    return jax.lax.optimization_barrier(upper_tail(edges / bandwidth))
