"""Base classes of kernel families."""

import abc
from functools import partial
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax.kernels.shapes import Cells, Count, Counts, GridRule, Scalar, Size, Smoother


class AbstractKernel(eqx.Module):
    """A density on the axis [0, 1] of one parameter, around one place.

    On a continuous domain the kernel is a density in the unit coordinate. On a discrete domain the values
    have cells that fill the axis, and the probability of a value is the mass of its cell. Every method
    handles one kernel, one parameter and one point; callers use `jax.vmap` for more.

    A new family extends this class (`tests/extending/test_kernel.py` has an example), or
    `AbstractProductKernel`, which is faster, if its log density is a sum of products. It overrides `on_grid`
    if it has a faster form, as `TruncatedNormal` does.

    Attributes:
        exchangeable: whether all cells except the kernel's have the same mass; False by default.
        periodic: whether both ends of the axis are one place, as on a circle; False by default.
        ends: ends of the axis; 0 and 1 unless the domain is open.
    """

    exchangeable: ClassVar[bool] = False
    periodic: ClassVar[bool] = False
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)

    @classmethod
    @abc.abstractmethod
    def around(cls, place: Scalar, scale: Scalar, n_values: Count) -> Self:
        """The kernel around a place.

        Args:
            place: centre of the kernel, in [0, 1].
            scale: bandwidth from the rule; for categories, the probability of all other categories.
            n_values: number of values of the parameter; 0 if it is continuous.
        """

    @classmethod
    @abc.abstractmethod
    def wide(cls, n_values: Count, dtype: jnp.dtype) -> tuple[Scalar, Scalar]:
        """Place and scale of the wide kernel, which is the prior: it depends on the domain alone."""

    @abc.abstractmethod
    def log_density(self, place: Scalar) -> Scalar:
        """log density at a place of a continuous domain."""

    @abc.abstractmethod
    def log_mass(self, lower: Scalar, upper: Scalar) -> Scalar:
        """log mass of a cell."""

    def log_mass_of_cell(self, lower: Scalar, upper: Scalar, width: Scalar) -> Scalar:
        """log mass of a cell, given a ``width`` that is more precise than ``upper - lower``.

        The mass is corrected in proportion to the width, unless the family is exchangeable.
        """
        mass = self.log_mass(lower, upper)
        return mass if self.exchangeable else mass + jnp.log(width / (upper - lower))

    @classmethod
    @abc.abstractmethod
    def quantile(cls, level: Scalar, place: Scalar, scale: Scalar, n_values: Count) -> Scalar:
        """A draw from the kernel with this place and scale, given a uniform level in (0, 1).

        It should increase with the level if the family allows it.
        """

    @classmethod
    def on_grid(cls, counts: Counts, bandwidth: GridRule, n_cells: Size, dtype: Any) -> Smoother:
        """Function that multiplies (g,) by the kernel matrix K of a grid of g cells.

        K[b, m] is the mass that the kernel at cell m puts into cell b; each column sums to 1.

        Args:
            counts: how often each cell was seen.
            bandwidth: function that returns Scott's bandwidth for the counts, in cells.
            n_cells: number of real cells if the counts are padded; None if they are not.
            dtype: dtype of the result.
        """
        size = jnp.asarray(len(counts) if n_cells is None else n_cells)
        scale = bandwidth(counts, dtype) / size.astype(dtype)
        place = (jnp.arange(len(counts), dtype=dtype) + 0.5) / size.astype(dtype)
        kernels = jax.vmap(lambda at: cls.around(at, scale, size))(place)
        masses = jax.vmap(lambda one: masses_on_grid(one, len(counts), n_cells, size), out_axes=1)
        return partial(jnp.matmul, masses(kernels), precision="highest")

    @classmethod
    def prior_on_grid(cls, width: int, n_cells: Size, dtype: jnp.dtype) -> Float[Array, " {width}"]:
        """Masses of the prior, which is the wide kernel, in the cells of a grid; 0 in padding."""
        size = jnp.asarray(width if n_cells is None else n_cells)
        return masses_on_grid(cls.around(*cls.wide(size, dtype), size), width, n_cells, size)


class AbstractProductKernel(AbstractKernel):
    """A family whose log density on a continuous domain is a sum of products.

    log density(x) = constant(kernel) + sum_i features_i(x) coefficients_i(kernel), so the log densities of
    all kernels at all points are one matrix product.
    """

    @classmethod
    @abc.abstractmethod
    def features(cls, place: Scalar) -> Float[Array, " f"]:
        """Values of the f features at a point."""

    @abc.abstractmethod
    def coefficients(self) -> Float[Array, " f"]:
        """Factors of the features."""

    @abc.abstractmethod
    def constant(self) -> Scalar:
        """The term that does not depend on the point."""


def in_grid(x: Cells, n_cells: Size) -> Cells:
    """``x`` with padding set to 0."""
    return x if n_cells is None else jnp.where(jnp.arange(x.shape[0], dtype=n_cells.dtype) < n_cells, x, 0)


def uniform_on_grid(width: int, n_cells: Size, dtype: jnp.dtype) -> Float[Array, " {width}"]:
    """1/g in each of g cells; 0 in padding."""
    size = jnp.asarray(width if n_cells is None else n_cells, dtype)
    return in_grid(jnp.full((width,), 1, dtype) / size, n_cells)


def masses_on_grid(
    kernel: AbstractKernel, width: int, n_cells: Size, size: Count
) -> Float[Array, " {width}"]:
    """Masses of a kernel in the cells of a grid, normalised to sum to 1; 0 in padding."""
    dtype = jax.tree.leaves(kernel)[0].dtype
    edges = jnp.arange(width + 1, dtype=dtype) / size.astype(dtype)
    masses = in_grid(jnp.exp(jax.vmap(kernel.log_mass)(edges[:-1], edges[1:])), n_cells)
    return masses / masses.sum()
