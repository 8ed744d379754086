"""The wrapped normal kernel for numbers on a circle, such as angles and hours."""

from functools import partial
from typing import Any, ClassVar, Self, final

import jax.numpy as jnp
from jax.scipy.special import ndtri

from parzax._numerics.circle import UNIFORM_SCALE, log_wrapped_density, log_wrapped_mass, unrolled_cells
from parzax.kernels.kernel import AbstractKernel, masses_on_grid
from parzax.kernels.shapes import Count, Counts, GridRule, Scalar, Size, Smoother


@final
class WrappedNormal(AbstractKernel):
    """A normal on a circle of length 1, the sum of its images one turn apart; uniform if it is wide.

    Attributes:
        place: mean of the normal, in [0, 1]; 0 and 1 are one place.
        scale: standard deviation of the normal, before it is wrapped.
    """

    periodic: ClassVar[bool] = True
    place: Scalar
    scale: Scalar

    @classmethod
    def around(cls, place: Scalar, scale: Scalar, n_values: Count) -> Self:
        return cls(place, scale)

    @classmethod
    def wide(cls, n_values: Count, dtype: jnp.dtype) -> tuple[Scalar, Scalar]:
        """The uniform distribution, because a circle has no middle."""
        return jnp.asarray(0.5, dtype), jnp.asarray(UNIFORM_SCALE, dtype)

    def log_density(self, place: Scalar) -> Scalar:
        return log_wrapped_density(place - self.place, self.scale)

    def log_mass(self, lower: Scalar, upper: Scalar) -> Scalar:
        return log_wrapped_mass(lower - self.place, upper - self.place, self.scale)

    @classmethod
    def quantile(cls, level: Scalar, place: Scalar, scale: Scalar, n_values: Count) -> Scalar:
        """A draw from the normal, wrapped; it increases with the level but for turns."""
        x = place + jnp.minimum(scale, UNIFORM_SCALE) * ndtri(level)
        return x - jnp.floor(x)

    @classmethod
    def on_grid(cls, counts: Counts, bandwidth: GridRule, n_cells: Size, dtype: Any) -> Smoother:
        """See `AbstractKernel`: a circulant matrix. The bandwidth is that of the cells on a line."""
        size = jnp.asarray(len(counts) if n_cells is None else n_cells)
        scale = bandwidth(counts[unrolled_cells(counts, size)], dtype) / size.astype(dtype)
        number = jnp.arange(len(counts), dtype=size.dtype)
        mass = masses_on_grid(cls.around(0.5 / size.astype(dtype), scale, size), len(counts), n_cells, size)
        return partial(jnp.matmul, mass[(number[:, None] - number[None]) % size], precision="highest")
