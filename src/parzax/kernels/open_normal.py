"""The normal kernel for numbers without bounds, or with a bound at one end."""

import math
from typing import ClassVar, Self

import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri

from parzax._numerics.interval import log_normal_mass
from parzax.kernels.kernel import AbstractKernel
from parzax.kernels.shapes import Count, Scalar


class OpenNormal(AbstractKernel):
    """A normal on an axis without ends; on an axis with one end it is truncated there.

    Attributes:
        place: mean before truncation.
        scale: standard deviation before truncation.
        log_inside: log of the normal's mass on the axis.
    """

    ends: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    place: Scalar
    scale: Scalar
    log_inside: Scalar

    @classmethod
    def around(cls, place: Scalar, scale: Scalar, n_values: Count) -> Self:
        return cls(place, scale, log_normal_mass(*(_standardised(end, place, scale) for end in cls.ends)))

    @classmethod
    def wide(cls, n_values: Count, dtype: jnp.dtype) -> tuple[Scalar, Scalar]:
        """The standard normal, for no rows; a mixture has the wide kernel of its rows."""
        return jnp.asarray(0, dtype), jnp.asarray(1, dtype)

    def log_density(self, place: Scalar) -> Scalar:
        exponent = -0.5 * jnp.square((place - self.place) / self.scale)
        return exponent - jnp.log(self.scale) - 0.5 * math.log(2 * math.pi) - self.log_inside

    def log_mass(self, lower: Scalar, upper: Scalar) -> Scalar:
        ends = (_standardised(end, self.place, self.scale) for end in (lower, upper))
        return log_normal_mass(*ends) - self.log_inside

    def log_mass_of_cell(self, lower: Scalar, upper: Scalar, width: Scalar) -> Scalar:
        """See `log_mass`; the width may be infinite."""
        return self.log_mass(lower, upper)

    @classmethod
    def quantile(cls, level: Scalar, place: Scalar, scale: Scalar, n_values: Count) -> Scalar:
        low, high = (ndtr(_standardised(end, place, scale)) for end in cls.ends)
        return jnp.clip(place + scale * ndtri(low + level * (high - low)), *cls.ends)


def _standardised(end: Scalar | float, place: Scalar, scale: Scalar) -> Scalar:
    """(end - place) / scale, with finite derivatives where the end is infinite."""
    end = jnp.asarray(end, place.dtype)
    finite = jnp.isfinite(end)
    return jnp.where(finite, (jnp.where(finite, end, 0) - place) / scale, end)


class LowerBoundedNormal(OpenNormal):
    """A normal on [0, infinity)."""

    ends: ClassVar[tuple[float, float]] = (0.0, math.inf)


class UpperBoundedNormal(OpenNormal):
    """A normal on (-infinity, 0]."""

    ends: ClassVar[tuple[float, float]] = (-math.inf, 0.0)


OPEN = {family.ends: family for family in (OpenNormal, LowerBoundedNormal, UpperBoundedNormal)}
