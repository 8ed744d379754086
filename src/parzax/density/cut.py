"""Kernels cut to ranges of their axes, as in conditional densities of parents."""

from dataclasses import dataclass
from typing import Any, Self

import equinox as eqx
import jax.numpy as jnp
from jax.tree_util import register_dataclass
from jaxtyping import Array, Bool, Float

from parzax._numerics.interval import bisected
from parzax.kernels import AbstractKernel
from parzax.kernels.shapes import Count, Scalar
from parzax.space import Points

# So many scales from its place, or from the place of a range that is nearest to it, a normal has no mass.
_REACH = 40


@register_dataclass
@dataclass(frozen=True, eq=False)
class CutRows(Points):
    """Places of kernels that are cut to ranges; one from -inf to inf leaves a kernel as it is."""

    lower: Float[Any, "n d"]
    upper: Float[Any, "n d"]

    def nearest(self, unit: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The nearest coordinates in the ranges; the upper ends are outside."""
        return jnp.clip(unit, self.lower, jnp.nextafter(self.upper, self.lower))


class CutKernel(eqx.Module):
    """A kernel without its mass outside a range, normalised."""

    kernel: AbstractKernel
    lower: Scalar
    upper: Scalar
    log_inside: Scalar  # log of the kernel's mass in the range

    @classmethod
    def of(cls, kernel: AbstractKernel, lower: Scalar, upper: Scalar) -> Self:
        """The kernel cut to a range."""
        is_cut = _is_cut(lower, upper)
        log_inside = kernel.log_mass(jnp.where(is_cut, lower, 0), jnp.where(is_cut, upper, 1))
        return cls(kernel, lower, upper, jnp.where(is_cut & (log_inside > -jnp.inf), log_inside, 0))

    def log_density(self, place: Scalar) -> Scalar:
        """See `AbstractKernel`; the lower end belongs to the range."""
        is_inside = (self.lower <= place) & (place < self.upper)
        return jnp.where(is_inside, self.kernel.log_density(place) - self.log_inside, -jnp.inf)

    def log_mass(self, lower: Scalar, upper: Scalar) -> Scalar:
        """See `AbstractKernel`."""
        return self.log_mass_of_cell(lower, upper, upper - lower)

    def log_mass_of_cell(self, lower: Scalar, upper: Scalar, width: Scalar) -> Scalar:
        """See `AbstractKernel`."""
        low, high = jnp.maximum(lower, self.lower), jnp.minimum(upper, self.upper)
        some = high > low
        low, high = jnp.where(some, low, lower), jnp.where(some, high, upper)
        width = jnp.where((low == lower) & (high == upper), width, high - low)
        mass = self.kernel.log_mass_of_cell(low, high, width)
        return jnp.where(some, mass - self.log_inside, -jnp.inf)


def quantile_within(
    family: Any, level: Scalar, place: Scalar, scale: Scalar, n_values: Count, lower: Scalar, upper: Scalar
) -> Scalar:
    """`AbstractKernel.quantile` of a kernel cut to a range."""
    kernel = family.around(place, scale, n_values)
    wanted = kernel.log_mass(lower, upper) + jnp.log(level)
    ends = (lower, upper) if family.ends == (0.0, 1.0) else within_reach(place, scale, lower, upper)
    n = jnp.finfo(level.dtype).nmant + 2
    _, x = bisected(lambda x: kernel.log_mass(lower, x) >= wanted, *ends, n)
    return jnp.where(_is_cut(lower, upper), x, family.quantile(level, place, scale, n_values))


def _is_cut(lower: Scalar, upper: Scalar) -> Bool[Array, ""]:
    return (lower > -jnp.inf) | (upper < jnp.inf)


def within_reach(
    place: Float[Array, "*n"], scale: Float[Array, "*n"], lower: Any, upper: Any
) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """The part of a range where a normal has mass, up to rounding: some scales around the nearest place."""
    nearest = jnp.clip(place, lower, upper)
    return jnp.maximum(lower, nearest - _REACH * scale), jnp.minimum(upper, nearest + _REACH * scale)
