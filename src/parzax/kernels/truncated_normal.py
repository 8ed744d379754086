"""The truncated normal kernel for numbers (arXiv 2304.11127)."""

import math
from typing import Any, Self, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._numerics.interval import log_normal_mass, log_unit_mass, unit_normal_quantile
from parzax._numerics.tails import upper_tail
from parzax.kernels.kernel import AbstractProductKernel
from parzax.kernels.shapes import Cells, Count, Counts, GridRule, Scalar, Size, Smoother


@final
class TruncatedNormal(AbstractProductKernel):
    """A normal truncated to [0, 1]. On a stepped domain the masses of its cells form a discrete normal.

    Attributes:
        place: mean before truncation.
        scale: standard deviation before truncation.
        log_inside: log of the normal's mass within [0, 1].
    """

    place: Scalar
    scale: Scalar
    log_inside: Scalar

    @classmethod
    def around(cls, place: Scalar, scale: Scalar, n_values: Any) -> Self:
        return cls(place, scale, log_unit_mass(place, scale))

    @classmethod
    def wide(cls, n_values: Count, dtype: jnp.dtype) -> tuple[Scalar, Scalar]:
        """Place 1/2 and scale 1: the middle and the length of the axis."""
        return jnp.asarray(0.5, dtype), jnp.asarray(1, dtype)

    def log_density(self, place: Scalar) -> Scalar:
        """log density. It needs no tail formula: [0, 1] has a third of the mass, or the scale exceeds 1."""
        return -0.5 * jnp.square((place - self.place) / self.scale) - self._log_normaliser()

    def log_mass(self, lower: Scalar, upper: Scalar) -> Scalar:
        ends = ((end - self.place) / self.scale for end in (lower, upper))
        return log_normal_mass(*ends) - self.log_inside

    @classmethod
    def quantile(cls, level: Scalar, place: Scalar, scale: Scalar, n_values: Count) -> Scalar:
        return unit_normal_quantile(level, place, scale)

    @classmethod
    def features(cls, place: Scalar) -> Float[Array, " f"]:
        """c and c^2, with c = place - 1/2. Centring keeps squares small and saves digits."""
        centred = place - 0.5
        return jnp.stack([centred, jnp.square(centred)])

    def coefficients(self) -> Float[Array, " f"]:
        precision = 1 / jnp.square(self.scale)
        return jnp.stack([precision * (self.place - 0.5), -0.5 * precision])

    def constant(self) -> Scalar:
        return -0.5 * jnp.square((self.place - 0.5) / self.scale) - self._log_normaliser()

    def _log_normaliser(self) -> Scalar:
        return self.log_inside + jnp.log(self.scale) + 0.5 * math.log(2 * math.pi)

    @classmethod
    def on_grid(cls, counts: Counts, bandwidth: GridRule, n_cells: Size, dtype: Any) -> Smoother:
        """See `AbstractKernel`. The mass |b - m| cells from the kernel is divided by the mass in the grid.

        All kernels share one bandwidth, so the masses are those of a Toeplitz matrix.
        """
        scale, width = bandwidth(counts, dtype), len(counts)
        # The mass beyond the far edge of a cell, by the cell's distance from the kernel.
        tails = upper_tail((jnp.arange(width, dtype=scale.dtype) + 0.5) / scale)
        mass = jnp.concatenate([1 - 2 * tails[:1], tails[:-1] - tails[1:]])
        if n_cells is None:
            upper = tails[::-1]
        else:  # entries beyond the grid's cells are padding
            edges = n_cells.astype(scale.dtype) - 0.5 - jnp.arange(width, dtype=scale.dtype)
            upper = upper_tail(jnp.maximum(edges, 0.5) / scale)
        normaliser = 1 - tails - upper
        return lambda x: _toeplitz(mass, x / normaliser)


def _toeplitz(mass: Cells, x: Cells) -> Cells:
    """sum_m mass[|b - m|] x[m] from shifted rows, with about g^2 multiply-adds.

    The loop has two rounds, and each round is one fused pass. XLA cannot fuse a loop with the code before or
    after it, so it does not compute the operands or the result again for every use.
    """
    n_cells = x.shape[0]
    half = (n_cells + 1) // 2
    mirrored = jnp.concatenate([jnp.zeros(2 * half - n_cells, mass.dtype), mass[:0:-1], mass])
    blocks = jnp.pad(x, (0, 2 * half - n_cells)).reshape(2, half)

    def add_block(out: Array, block: tuple[Array, Array]) -> tuple[Array, None]:
        start, weights = block
        rows = jax.lax.dynamic_slice_in_dim(mirrored, half - start, n_cells + half - 1)
        for i in range(half):
            out = out + rows[half - 1 - i : half - 1 - i + n_cells] * weights[i]
        return out, None

    return jax.lax.scan(add_block, jnp.zeros_like(x), (jnp.array([0, half]), blocks))[0]
