"""The kernel for categories (Aitchison and Aitken 1976)."""

from typing import Any, ClassVar, Self, final

import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._numerics import total
from parzax.kernels.kernel import AbstractKernel, uniform_on_grid
from parzax.kernels.shapes import Count, Counts, GridRule, Scalar, Size, Smoother


@final
class AitchisonAitken(AbstractKernel):
    """A kernel on C categories: 1 - bandwidth for its category, bandwidth / (C - 1) for every other one.

    Categories are cells of equal width on [0, 1]; their order does not matter. The papers on TPE call
    1 - bandwidth ``top``.

    Attributes:
        place: centre of the cell of the kernel's category.
        log_own: log probability of the kernel's category.
        log_other: log probability of any other category.
    """

    exchangeable: ClassVar[bool] = True
    place: Scalar
    log_own: Scalar
    log_other: Scalar

    @classmethod
    def around(cls, place: Scalar, scale: Scalar, n_values: Count) -> Self:
        others = jnp.maximum(n_values - 1, 1).astype(scale.dtype)
        return cls(place, _log(1 - scale), _log(scale / others))

    @classmethod
    def wide(cls, n_values: Count, dtype: jnp.dtype) -> tuple[Scalar, Scalar]:
        """The uniform distribution, written as a kernel around the first category."""
        n = n_values.astype(dtype)
        return 0.5 / n, (n - 1) / n

    def log_density(self, place: Scalar) -> Scalar:
        """Raise TypeError: categories have masses, not densities."""
        raise TypeError("the Aitchison-Aitken kernel is for categories, not for numbers.")

    def log_mass(self, lower: Scalar, upper: Scalar) -> Scalar:
        return jnp.where((lower < self.place) & (self.place < upper), self.log_own, self.log_other)

    @classmethod
    def quantile(cls, level: Scalar, place: Scalar, scale: Scalar, n_values: Count) -> Scalar:
        """The kernel's category if level >= bandwidth, else one of the others with equal probability.

        The other categories are numbered from the kernel's category upwards, and start again at 0.
        """
        size = n_values.astype(level.dtype)
        moved = level < scale
        part = jnp.where(moved, level / jnp.where(moved, scale, 1), 0)
        step = 1 + jnp.minimum(jnp.floor(part * (size - 1)), jnp.maximum(size - 2, 0))
        number = jnp.floor(place * size) + jnp.where(moved, step, 0)
        return (jnp.where(number >= size, number - size, number) + 0.5) / size

    @classmethod
    def on_grid(cls, counts: Counts, bandwidth: GridRule, n_cells: Size, dtype: Any) -> Smoother:
        """See `AbstractKernel`: K[b, a] = (1[a = b] + s) / (1 + g s), as in Optuna's PED-ANOVA.

        Here s = 1 / (number of occupied categories + 1), for g categories.
        """
        occupied = total((counts > 0).astype(dtype))
        size = jnp.asarray(len(counts) if n_cells is None else n_cells).astype(dtype)
        spread = 1 / (occupied + 1)
        return lambda x: (x + spread * x.sum()) / (1 + size * spread)

    @classmethod
    def prior_on_grid(cls, width: int, n_cells: Size, dtype: jnp.dtype) -> Float[Array, " {width}"]:
        return uniform_on_grid(width, n_cells, dtype)


def _log(probability: Scalar) -> Scalar:
    """The log of a probability. At 0 the value is -inf and the gradient is finite."""
    positive = probability > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, probability, 1)), -jnp.inf)
