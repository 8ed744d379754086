"""The contract of all kernel families; each family has a file of its own."""

import abc
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax.kernels.shapes import Cells, Count, Counts, GridRule, Scalar, Size


class AbstractSmoother(eqx.Module):
    """A kernel matrix K on a grid: K[b, m] is the mass in cell b of the kernel at m; columns sum to 1."""

    @abc.abstractmethod
    def smooth(self, x: Cells) -> Cells:
        """K x."""

    @abc.abstractmethod
    def smooth_squared(self, x: Cells) -> Cells:
        """(K * K) x, with K squared entry by entry."""

    def moments(self, x: Cells, y: Cells) -> tuple[Cells, Cells, Cells]:
        """K x, K y and (K * K) y; a family overrides it where one pass compiles faster."""
        return self.smooth(x), self.smooth(y), self.smooth_squared(y)


class DenseSmoother(AbstractSmoother):
    """A kernel matrix K in full, for families without a faster form."""

    matrix: Float[Array, "g g"]

    def smooth(self, x: Cells) -> Cells:
        return jnp.matmul(self.matrix, x, precision="highest")

    def smooth_squared(self, x: Cells) -> Cells:
        return jnp.matmul(jnp.square(self.matrix), x, precision="highest")


class AbstractKernel(eqx.Module):
    """A density on the axis [0, 1] of one parameter, around one place.

    On a continuum it is a density in the unit coordinate; a domain of values to count has cells that fill the
    axis, and the probability of a value is the mass of its cell. Everything is unbatched: kernels, parameters
    and points are axes of `jax.vmap`. Your own family extends `AbstractPlainKernel`, or, where its log
    density is a sum of products, `AbstractProductKernel` (`tests/extending/test_kernel.py`).

    Attributes:
        exchangeable: whether all cells but the kernel's own are alike; not unless a family says so.
    """

    exchangeable: ClassVar[bool] = False

    @classmethod
    @abc.abstractmethod
    def around(cls, place: Scalar, scale: Scalar, n_values: Count) -> Self:
        """The kernel around a place.

        Args:
            place: in [0, 1].
            scale: by the bandwidth rule; of categories the probability of another one.
            n_values: of the parameter, 0 on a continuum.
        """

    @classmethod
    @abc.abstractmethod
    def wide(cls, n_values: Count, dtype: jnp.dtype) -> tuple[Scalar, Scalar]:
        """Place and scale of the prior: the kernel that knows nothing but the domain."""

    @abc.abstractmethod
    def log_density(self, place: Scalar) -> Scalar:
        """log density at a place of a continuum."""

    @abc.abstractmethod
    def log_mass(self, lower: Scalar, upper: Scalar) -> Scalar:
        """log mass of a cell."""

    def log_mass_of_cell(self, lower: Scalar, upper: Scalar, width: Scalar) -> Scalar:
        """The same where the width is known to more digits than the ends: a narrow cell is in proportion."""
        mass = self.log_mass(lower, upper)
        return mass if self.exchangeable else mass + jnp.log(width / (upper - lower))

    @classmethod
    @abc.abstractmethod
    def quantile(cls, level: Scalar, place: Scalar, scale: Scalar, n_values: Count) -> Scalar:
        """A draw from the kernel of these settings, from a uniform level in (0, 1); monotone if possible."""

    @classmethod
    @abc.abstractmethod
    def on_grid(cls, counts: Counts, bandwidth: GridRule, n_cells: Size, dtype: Any) -> AbstractSmoother:
        """The kernels at the g cells of a grid, for counts of them.

        Args:
            counts: how often each cell was seen.
            bandwidth: gives Scott's bandwidth of the counts, in cells.
            n_cells: cells of the grid where the counts are padded; None where they are not.
            dtype: of the answer.
        """

    @classmethod
    @abc.abstractmethod
    def prior_on_grid(cls, width: int, n_cells: Size, dtype: jnp.dtype) -> Float[Array, " {width}"]:
        """Masses of the prior, 0 in padding."""


class AbstractPlainKernel(AbstractKernel):
    """A family that evaluates its log density pair by pair, and its matrix on a grid entry by entry."""

    @classmethod
    def on_grid(cls, counts: Counts, bandwidth: GridRule, n_cells: Size, dtype: Any) -> AbstractSmoother:
        """See `AbstractKernel`; masses of the cells, normalised."""
        size = jnp.asarray(len(counts) if n_cells is None else n_cells)
        scale = bandwidth(counts, dtype) / size.astype(dtype)
        place = (jnp.arange(len(counts), dtype=dtype) + 0.5) / size.astype(dtype)
        kernels = jax.vmap(lambda at: cls.around(at, scale, size))(place)
        masses = jax.vmap(lambda one: _masses(one, len(counts), n_cells, size), out_axes=1)
        return DenseSmoother(masses(kernels))

    @classmethod
    def prior_on_grid(cls, width: int, n_cells: Size, dtype: jnp.dtype) -> Float[Array, " {width}"]:
        """See `AbstractKernel`; masses of the wide kernel."""
        size = jnp.asarray(width if n_cells is None else n_cells)
        return _masses(cls.around(*cls.wide(size, dtype), size), width, n_cells, size)


class AbstractProductKernel(AbstractKernel):
    """A family whose log density on a continuum is a sum of products.

    log density = sum_i features_i(x) weights_i(scale) centres_i(place) + constant, where the last feature has
    no centre. So all kernels at all points are a product of matrices, whether each row has its scale or all
    rows share one.
    """

    @classmethod
    @abc.abstractmethod
    def features(cls, place: Scalar) -> Float[Array, " f"]:
        """Functions of the point."""

    @classmethod
    @abc.abstractmethod
    def weights(cls, scale: Scalar) -> Float[Array, " f"]:
        """Factor of each feature, from the scale."""

    @classmethod
    @abc.abstractmethod
    def centres(cls, place: Scalar) -> Float[Array, " f1"]:
        """Factor of all features but the last, from the kernel's place."""

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
    """Masses of the cells of a grid under a kernel, which sum to 1; 0 in padding."""
    dtype = jax.tree.leaves(kernel)[0].dtype
    edges = jnp.arange(width + 1, dtype=dtype) / size.astype(dtype)
    masses = in_grid(jnp.exp(jax.vmap(kernel.log_mass)(edges[:-1], edges[1:])), n_cells)
    return masses / masses.sum()
