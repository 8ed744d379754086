"""The truncated normal kernel: on the kernel axis, and on a grid of unit cells."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax._numerics import (
    log_unit_mass,
    truncated_normal_quantile,
    truncated_normal_sample,
    unit_cell_tails,
    upper_tail,
)


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
    def fit(
        cls, bandwidth: Float[Array, ""], width: int, n_cells: Int[Array, ""] | None = None
    ) -> "TruncatedNormalGrid":
        """Masses and normalisers for a bandwidth in cells.

        Args:
            bandwidth: in cells.
            width: g, cells of the arrays.
            n_cells: cells of the grid, where the arrays are padded; rows and columns beyond it mean
                nothing.
        """
        tails = unit_cell_tails(bandwidth, width)
        centre = 1 - 2 * tails[:1]
        mass = jnp.concatenate([centre, tails[:-1] - tails[1:]])
        if n_cells is None:
            upper = tails[::-1]
        else:
            edges = n_cells - 0.5 - jnp.arange(width, dtype=bandwidth.dtype)
            upper = upper_tail(jnp.maximum(edges, 0.5) / bandwidth)
        return cls(mass, 1 - tails - upper)

    def smooth(self, x: Float[Array, " g"]) -> Float[Array, " g"]:
        """K x."""
        return _toeplitz(self.mass, x / self.normaliser)

    def smooth_squared(self, x: Float[Array, " g"]) -> Float[Array, " g"]:
        """(K * K) x, with K squared entry by entry."""
        return _toeplitz(jnp.square(self.mass), x / jnp.square(self.normaliser))


def prior_on_grid(n_cells: int) -> np.ndarray:
    """The wide prior: masses (g,) of a normal in the middle of the grid, sigma = g, truncated to the grid.

    It depends on the size of the grid alone, so it is a constant of the compiled code.
    """
    edges = (np.arange(n_cells + 1) - 0.5 * n_cells) / n_cells
    cdf = np.array([0.5 * math.erfc(-edge * 0.5**0.5) for edge in edges])
    return np.diff(cdf) / (cdf[-1] - cdf[0])


def _toeplitz(mass: Float[Array, " g"], x: Float[Array, " g"]) -> Float[Array, " g"]:
    """sum_m mass[|b - m|] x[m]: shifted rows, about g^2 multiply-adds.

    In two rounds of a loop, each one fused pass: XLA cannot merge a loop with what comes before and
    after it, which would compute the operands, or the result, anew for every use.
    """
    n_cells = x.shape[0]
    half = (n_cells + 1) // 2
    both_sides = jnp.concatenate([jnp.zeros(2 * half - n_cells, mass.dtype), mass[:0:-1], mass])
    blocks = jnp.pad(x, (0, 2 * half - n_cells)).reshape(2, half)

    def add_block(out: Array, block: tuple[Array, Array]) -> tuple[Array, None]:
        start, weights = block
        rows = jax.lax.dynamic_slice_in_dim(both_sides, half - start, n_cells + half - 1)
        for i in range(half):
            out = out + rows[half - 1 - i : half - 1 - i + n_cells] * weights[i]
        return out, None

    return jax.lax.scan(add_block, jnp.zeros_like(x), (jnp.array([0, half]), blocks))[0]


class TruncatedNormal(eqx.Module):
    """A normal truncated to the kernel axis [0, 1]; densities are with respect to the unit coordinate.

    Attributes:
        loc: centre.
        scale: standard deviation before truncation.
    """

    loc: Float[Array, ""]
    scale: Float[Array, ""]

    def log_prob(
        self, unit: Float[Array, "..."], log_normaliser: Float[Array, "..."] | None = None
    ) -> Float[Array, "..."]:
        """log density at a unit coordinate; -inf outside [0, 1]. A normaliser may be given, computed once.

        The plain formula is exact here: a centre within [0, 1] leaves the kernel at least a third of its
        mass, or a scale above 1.
        """
        log_normaliser = self.log_normaliser() if log_normaliser is None else log_normaliser
        inside = (unit >= 0) & (unit <= 1)
        z = (jnp.where(inside, unit, 0.5) - self.loc) / self.scale
        return jnp.where(inside, -0.5 * jnp.square(z) - log_normaliser, -jnp.inf)

    def log_normaliser(self) -> Float[Array, ""]:
        """log of sqrt(2 pi) scale times the normal's mass within [0, 1]."""
        return log_unit_mass(self.loc, self.scale) + jnp.log(self.scale) + 0.5 * math.log(2 * math.pi)

    @staticmethod
    def features(unit: Float[Array, "..."]) -> tuple[Float[Array, "..."], ...]:
        """Functions of the point in which log density is linear: c^2 and c, with c = unit - 1/2.

        Centred, because squares of large numbers would cancel.
        """
        centred = unit - 0.5
        return jnp.square(centred), centred

    def coefficients(self, log_normaliser: Float[Array, ""] | None = None) -> tuple[Float[Array, ""], ...]:
        """What multiplies `features`, and last the constant: their sum is log density on [0, 1]."""
        log_normaliser = self.log_normaliser() if log_normaliser is None else log_normaliser
        precision, centred = 1 / jnp.square(self.scale), self.loc - 0.5
        constant = -0.5 * jnp.square(centred) * precision - log_normaliser
        return -0.5 * precision, centred * precision, constant

    def quantile(self, level: Float[Array, "..."]) -> Float[Array, "..."]:
        """The unit coordinate below which the mass is ``level``."""
        return truncated_normal_quantile(level, self.loc, self.scale, 0.0, 1.0)

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """Unit coordinates."""
        return truncated_normal_sample(key, self.loc, self.scale, 0.0, 1.0, shape)
