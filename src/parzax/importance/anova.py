"""What two parameters explain of membership in the target, together and beyond each alone, from counts.

A slot has r_c rows per cell, and u_c sums their membership less its mean, g = n_t / n. Of C occupied cells
(or columns, or rows of the grid)

    SSB = sum_c u_c^2 / r_c,    SSW = sum of squares - SSB,    v = [SSB - (C - 1) SSW / (n - C)] / n

is the variance explained, less what chance explains (analysis of variance, one way), and

    I = v_xy - v_x - v_y

that of the interaction.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax._numerics import divisor


class Explained(NamedTuple):
    """Variances of membership over the rows of a slot, of b memberships."""

    joint: Float[Array, " b"]
    first: Float[Array, " b"]
    second: Float[Array, " b"]

    @property
    def interaction(self) -> Float[Array, " b"]:
        """I = v_xy - v_x - v_y."""
        return self.joint - self.first - self.second


def explained(
    region: Float[Array, "w w"], excess: Float[Array, "w w b"], squares: Float[Array, " b"]
) -> Explained:
    """The three variances; all 0 where the grid has one occupied row or column, or as many cells as rows.

    Args:
        region: r, rows per cell.
        excess: u, sum of membership per cell, less a constant for each row.
        squares: sum of the squares of the same.
    """
    n = region.sum()
    mean = excess.sum(axis=(0, 1)) / divisor(n)
    left = squares - n * jnp.square(mean)

    def variance(rows: Float[Array, " c"], sums: Float[Array, "c b"]) -> Float[Array, " b"]:
        centred = sums - rows[:, None] * mean[None]
        between = (jnp.square(centred) * inverse(rows)[:, None]).sum(axis=0)
        cells = (rows > 0).sum().astype(rows.dtype)
        freedom = n - cells
        chance = (cells - 1) / jnp.where(freedom > 0, freedom, 1)
        return (between - chance * (left - between)) / divisor(n)

    found = (
        variance(region.reshape(-1), excess.reshape(-1, len(left))),
        variance(region.sum(axis=1), excess.sum(axis=1)),
        variance(region.sum(axis=0), excess.sum(axis=0)),
    )
    known = _defined(region)
    return Explained(*(jnp.where(known, x, 0) for x in found))


def inverse(rows: Float[Array, " c"]) -> Float[Array, " c"]:
    """1 / rows, 0 where there are none."""
    return jnp.where(rows > 0, 1 / divisor(rows), 0)


def _defined(region: Float[Array, "w w"]) -> Bool[Array, ""]:
    """Whether both parameters vary over the rows, and there are more rows than occupied cells."""
    lines = [(region.sum(axis=axis) > 0).sum() for axis in (0, 1)]
    cells = (region > 0).sum().astype(region.dtype)
    return (lines[0] > 1) & (lines[1] > 1) & (region.sum() > cells)
