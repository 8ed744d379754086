"""The truncated normal kernel on a grid of unit cells."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from parzax._numerics import unit_cell_tails


class TruncatedNormalGrid(eqx.Module):
    """Kernel matrix K[b, m]: mass in cell b of a normal at cell m, normalised over the grid.

    K[b, m] = mass(|b - m|) / Z(m): all kernels share a bandwidth, so the masses depend on the distance
    alone (a Toeplitz matrix) and the normaliser on the kernel's cell alone.

    Attributes:
        mass: (g,) mass of the cell at distance 0..g-1 from the centre.
        normaliser: (g,) Z(m), the mass of all g cells for a normal at cell m.
    """

    mass: Float[Array, " g"]
    normaliser: Float[Array, " g"]

    @classmethod
    def fit(cls, bandwidth: Float[Array, ""], n_cells: int) -> "TruncatedNormalGrid":
        """Masses and normalisers for a bandwidth in cells."""
        tails = unit_cell_tails(bandwidth, n_cells)
        centre = 1 - 2 * tails[:1]
        mass = jnp.concatenate([centre, tails[:-1] - tails[1:]])
        return cls(mass, 1 - tails - tails[::-1])

    def smooth(self, x: Float[Array, " g"]) -> Float[Array, " g"]:
        """K x."""
        return _toeplitz(self.mass, x / self.normaliser)

    def smooth_squared(self, x: Float[Array, " g"]) -> Float[Array, " g"]:
        """(K * K) x, with K squared entry by entry."""
        return _toeplitz(jnp.square(self.mass), x / jnp.square(self.normaliser))


def prior_on_grid(n_cells: int) -> np.ndarray:
    """The wide prior: masses (g,) of a normal in the middle of the grid with sigma = g, truncated to the grid.

    It depends on the size of the grid alone, so it is a constant of the compiled code.
    """
    edges = (np.arange(n_cells + 1) - 0.5 * n_cells) / n_cells
    cdf = np.array([0.5 * math.erfc(-edge * 0.5**0.5) for edge in edges])
    return np.diff(cdf) / (cdf[-1] - cdf[0])


def _toeplitz(mass: Float[Array, " g"], x: Float[Array, " g"]) -> Float[Array, " g"]:
    """sum_m mass[|b - m|] x[m]: one fused pass of shifted rows, about g^2 multiply-adds."""
    n_cells = x.shape[0]
    # Without the barrier XLA would compute both operands anew inside the loop, for every use.
    both_sides, x = jax.lax.optimization_barrier((jnp.concatenate([mass[:0:-1], mass]), x))
    out = jnp.zeros_like(x)
    for m in range(n_cells):
        out = out + both_sides[n_cells - 1 - m : 2 * n_cells - 1 - m] * x[m]
    return out
