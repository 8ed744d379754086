"""What two parameters explain of membership in the target, together and beyond each alone, from counts.

A slot has r_c rows in cell c, and u_c is the sum of their membership less its mean g = n_t / n. With C occupied
cells (or rows, or columns, of the slot's grid)

    SSB = sum_c u_c^2 / r_c,    SSW = sum of squares - SSB,    v = [SSB - (C - 1) SSW / (n - C)] / n

is the variance explained, less what chance explains (analysis of variance, one way), and the interaction is

    I = v_xy - v_x - v_y
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._numerics import divisor


def explained(
    region: Float[Array, "w w"], excess: Float[Array, "w w b"], squares: Float[Array, " b"]
) -> Float[Array, "3 b"]:
    """v_xy, v_x and v_y; all 0 where the grid has one occupied row or column, or as many cells as rows.

    Args:
        region: r, rows per cell.
        excess: u, sum per cell of b memberships less a constant; 0 in cells without rows.
        squares: sum of the squares of the same, over rows.
    """
    n, lines = region.sum(), [region.sum(axis=axis) for axis in (1, 0)]
    of_lines = [excess.sum(axis=axis) for axis in (1, 0)]
    offset = jnp.square(of_lines[0].sum(axis=0)) / divisor(n)

    def variance(rows: Float[Array, "*c"], sums: Float[Array, "*c b"]) -> Float[Array, " b"]:
        between = (jnp.square(sums) * inverse(rows)[..., None]).sum(axis=tuple(range(rows.ndim)))
        cells = (rows > 0).sum().astype(rows.dtype)
        chance = (cells - 1) / jnp.where(n > cells, n - cells, 1)
        return (between - offset - chance * (squares - between)) / divisor(n)

    found = jnp.stack([variance(region, excess), *map(variance, lines, of_lines)])
    varied = jnp.stack([(rows > 0).sum() > 1 for rows in lines]).all()
    return jnp.where(varied & (n > (region > 0).sum().astype(n.dtype)), found, 0)


def interaction(variances: Float[Array, "*r 3 b"]) -> Float[Array, "*r b"]:
    """I = v_xy - v_x - v_y."""
    return variances[..., 0, :] - variances[..., 1, :] - variances[..., 2, :]


def inverse(rows: Float[Array, "*c"]) -> Float[Array, "*c"]:
    """1 / rows; 0 where there are none."""
    return jnp.where(rows > 0, 1 / divisor(rows), 0)
