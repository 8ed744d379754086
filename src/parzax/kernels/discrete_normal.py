"""The discrete normal kernel: a normal truncated to the axis, summed over the cells of a stepped domain."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax._numerics import log_normal_mass, truncated_normal_quantile, truncated_normal_sample
from parzax.kernels.axis import Axis


class DiscreteNormal(eqx.Module):
    """P(i) = mass of cell i / mass of [0, 1], of a normal on the kernel axis (arXiv 2304.11127).

    Attributes:
        loc: centre, on the kernel axis.
        scale: standard deviation, on the kernel axis.
        axis: the cells; static.
    """

    loc: Float[Array, ""]
    scale: Float[Array, ""]
    axis: Axis = eqx.field(static=True)

    def log_prob(self, index: Int[Array, "..."]) -> Float[Array, "..."]:
        """log P of the ``index``-th value; -inf where there is none."""
        lower, upper = self.axis.cell(jnp.clip(index, 0, self.axis.n_values - 1), self.loc.dtype, jnp)
        z = log_normal_mass((lower - self.loc) / self.scale, (upper - self.loc) / self.scale)
        known = (index >= 0) & (index < self.axis.n_values)
        return jnp.where(known, z - self.log_normaliser(), -jnp.inf)

    def log_masses(self) -> Float[Array, " c"]:
        """log P of every value."""
        return self.log_prob(jnp.arange(self.axis.n_values))

    def log_normaliser(self) -> Float[Array, ""]:
        """log of the normal's mass within [0, 1]."""
        return log_normal_mass(-self.loc / self.scale, (1 - self.loc) / self.scale)

    def quantile(self, level: Float[Array, "..."]) -> Int[Array, "..."]:
        """Number of the value up to which the mass reaches ``level``."""
        return self.axis.index_at(truncated_normal_quantile(level, self.loc, self.scale, 0.0, 1.0), jnp)

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Int[Array, "..."]:
        """Numbers of values: a truncated normal draw and the cell that holds it."""
        return self.axis.index_at(truncated_normal_sample(key, self.loc, self.scale, 0.0, 1.0, shape), jnp)
