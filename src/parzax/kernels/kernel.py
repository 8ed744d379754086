"""Base classes of kernel families."""

import abc
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax.kernels.shapes import Cells, Count, Counts, GridRule, Scalar, Size


class AbstractSmoother(eqx.Module):
    """A kernel matrix K on a grid of g cells.

    K[b, m] is the mass that the kernel at cell m puts into cell b. Each column sums to 1.
    """

    @abc.abstractmethod
    def smooth(self, x: Cells) -> Cells:
        """The product K x."""

    @abc.abstractmethod
    def smooth_squared(self, x: Cells) -> Cells:
        """The product (K * K) x, where each entry of K is squared."""

    def moments(self, x: Cells, y: Cells) -> tuple[Cells, Cells, Cells]:
        """K x, K y and (K * K) y. A family overrides this method if a single pass compiles faster."""
        return self.smooth(x), self.smooth(y), self.smooth_squared(y)


class DenseSmoother(AbstractSmoother):
    """A kernel matrix K that is stored in full, for families without a faster form."""

    matrix: Float[Array, "g g"]

    def smooth(self, x: Cells) -> Cells:
        return jnp.matmul(self.matrix, x, precision="highest")

    def smooth_squared(self, x: Cells) -> Cells:
        return jnp.matmul(jnp.square(self.matrix), x, precision="highest")


class AbstractKernel(eqx.Module):
    """A density on the axis [0, 1] of one parameter, around one place.

    On a continuous domain the kernel is a density in the unit coordinate. On a discrete domain the values
    have cells that fill the axis, and the probability of a value is the mass of its cell. Every method
    handles one kernel, one parameter and one point; callers use `jax.vmap` for more.

    To write a new family, extend `AbstractPlainKernel`. If its log density is a sum of products, extend
    `AbstractProductKernel`, which is faster (see `TruncatedNormal`). `tests/extending/test_kernel.py` has an
    example of the first.

    Attributes:
        exchangeable: whether all cells except the kernel's have the same mass; False by default.
    """

    exchangeable: ClassVar[bool] = False

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
    @abc.abstractmethod
    def on_grid(cls, counts: Counts, bandwidth: GridRule, n_cells: Size, dtype: Any) -> AbstractSmoother:
        """Smoother with one kernel per cell of a grid of g cells.

        Args:
            counts: how often each cell was seen.
            bandwidth: function that returns Scott's bandwidth for the counts, in cells.
            n_cells: number of real cells if the counts are padded; None if they are not.
            dtype: dtype of the result.
        """

    @classmethod
    @abc.abstractmethod
    def prior_on_grid(cls, width: int, n_cells: Size, dtype: jnp.dtype) -> Float[Array, " {width}"]:
        """Masses of the prior in the cells of a grid; 0 in padding."""


class AbstractPlainKernel(AbstractKernel):
    """A family without a faster form: log densities and grid matrices are computed entry by entry."""

    @classmethod
    def on_grid(cls, counts: Counts, bandwidth: GridRule, n_cells: Size, dtype: Any) -> AbstractSmoother:
        """See `AbstractKernel`. The masses of each kernel are normalised to sum to 1 over the grid."""
        size = jnp.asarray(len(counts) if n_cells is None else n_cells)
        scale = bandwidth(counts, dtype) / size.astype(dtype)
        place = (jnp.arange(len(counts), dtype=dtype) + 0.5) / size.astype(dtype)
        kernels = jax.vmap(lambda at: cls.around(at, scale, size))(place)
        masses = jax.vmap(lambda one: _masses(one, len(counts), n_cells, size), out_axes=1)
        return DenseSmoother(masses(kernels))

    @classmethod
    def prior_on_grid(cls, width: int, n_cells: Size, dtype: jnp.dtype) -> Float[Array, " {width}"]:
        """See `AbstractKernel`. The prior is the wide kernel."""
        size = jnp.asarray(width if n_cells is None else n_cells)
        return _masses(cls.around(*cls.wide(size, dtype), size), width, n_cells, size)


class AbstractProductKernel(AbstractKernel):
    """A family whose log density on a continuous domain is a sum of products.

    log density(x) = sum_i features_i(x) weights_i(scale) centres_i(place) + constant. The factor
    ``centres_i`` is missing for the last feature. The log densities of all kernels at all points are
    therefore one matrix product, with one scale per row or with one scale for all rows.
    """

    @classmethod
    @abc.abstractmethod
    def features(cls, place: Scalar) -> Float[Array, " f"]:
        """Values of the f features at a point."""

    @classmethod
    @abc.abstractmethod
    def weights(cls, scale: Scalar) -> Float[Array, " f"]:
        """Factor of each feature that depends on the scale."""

    @classmethod
    @abc.abstractmethod
    def centres(cls, place: Scalar) -> Float[Array, " f1"]:
        """Factor of each feature except the last that depends on the kernel's place."""

    @abc.abstractmethod
    def constant(self) -> Scalar:
        """Constant term of the log density."""


def in_grid(x: Cells, n_cells: Size) -> Cells:
    """``x`` with padding set to 0."""
    return x if n_cells is None else jnp.where(jnp.arange(x.shape[0], dtype=n_cells.dtype) < n_cells, x, 0)


def uniform_on_grid(width: int, n_cells: Size, dtype: jnp.dtype) -> Float[Array, " {width}"]:
    """1/g in each of g cells; 0 in padding."""
    if n_cells is None:
        return jnp.full((width,), 1 / width, dtype)
    return in_grid(jnp.full((width,), 1, dtype) / n_cells.astype(dtype), n_cells)


def _masses(kernel: AbstractKernel, width: int, n_cells: Size, size: Count) -> Float[Array, " {width}"]:
    """Masses of a kernel in the cells of a grid, normalised to sum to 1; 0 in padding."""
    dtype = jax.tree.leaves(kernel)[0].dtype
    edges = jnp.arange(width + 1, dtype=dtype) / size.astype(dtype)
    masses = in_grid(jnp.exp(jax.vmap(kernel.log_mass)(edges[:-1], edges[1:])), n_cells)
    return masses / masses.sum()
