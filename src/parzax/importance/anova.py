"""What two parameters explain of membership in the target, together and beyond each alone, from counts.

A slot has n_r of the region's n_R rows, r_c of them in cell c, and u_c is the sum of their membership less
its mean n_t / n_r. With C occupied cells (or rows, or columns, of the slot's grid)

    SSB = sum_c u_c^2 / r_c,    SSW = sum of squares - SSB,    v = [SSB - (C - 1) SSW / (n_r - C)] / n_R

is the variance explained, less what chance explains (analysis of variance, one way), and the interaction is

    I = v_xy - v_x - v_y
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._numerics import divisor


class SlotRows(NamedTuple):
    """What the rows of a slot decide, for the partitions into cells, grid rows and grid columns."""

    cells: Float[Array, "*r w w"]  # r, rows per cell
    # 1 / r of each partition's cells; 0 without rows.
    inverses: tuple[Float[Array, "*r w w"], Float[Array, "*r w"], Float[Array, "*r w"]]
    chance: Float[Array, "*r 3"]  # (C - 1) / (n_r - C)
    # 1 / n_R; 0 where the grid has one occupied row or column, or as many cells as rows.
    scale: Float[Array, "*r"]

    @classmethod
    def of(cls, cells: Float[Array, "*r w w"], n_region: Float[Array, ""]) -> "SlotRows":
        """Of counts."""
        partitions = cells, cells.sum(axis=-1), cells.sum(axis=-2)
        n = partitions[1].sum(axis=-1)
        occupied = [(partitions[0] > 0).sum(axis=(-1, -2)), *((x > 0).sum(axis=-1) for x in partitions[1:])]
        varied = (occupied[1] > 1) & (occupied[2] > 1)
        occupied = jnp.stack(occupied, axis=-1).astype(cells.dtype)
        freedom = n[..., None] - occupied
        scale = jnp.where(varied & (freedom[..., 0] > 0), 1 / divisor(n_region), 0)
        inverses = inverse(cells), inverse(partitions[1]), inverse(partitions[2])
        return cls(cells, inverses, (occupied - 1) / divisor(freedom), scale)


def explained(
    rows: SlotRows, excess: Float[Array, "w w b"], squares: Float[Array, " b"]
) -> Float[Array, "3 b"]:
    """v_xy, v_x and v_y of one slot.

    ``excess`` is u for b memberships, less any constant each; ``squares`` sums the same squared over rows.
    """
    sums = excess, excess.sum(axis=1), excess.sum(axis=0)
    weighted = [jnp.square(u) * inverse[..., None] for u, inverse in zip(sums, rows.inverses, strict=True)]
    between = jnp.stack([weighted[0].sum(axis=(0, 1)), *(x.sum(axis=0) for x in weighted[1:])])
    offset = jnp.square(sums[1].sum(axis=0)) / divisor(rows.cells.sum())
    within = squares[None] - between
    return rows.scale * (between - offset[None] - rows.chance[:, None] * within)


def interaction(variances: Float[Array, "*r 3 b"]) -> Float[Array, "*r b"]:
    """I = v_xy - v_x - v_y."""
    return variances[..., 0, :] - variances[..., 1, :] - variances[..., 2, :]


def inverse(rows: Float[Array, "*c"]) -> Float[Array, "*c"]:
    """1 / rows; 0 where there are none."""
    return jnp.where(rows > 0, 1 / divisor(rows), 0)
