"""Families of functions of a parameter that predict membership in the target."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import namespace

# Smallest norm of a polynomial before it is scaled, for ranks with a standard deviation of 1. A polynomial
# with a smaller norm depends on the few rows outside one or two crowded cells, and float32 soon has no digits
# left for it. With evenly spread rows all norms up to degree 8 are above 0.8 for 24 cells or more, and above
# 0.4 for 9 cells.
_EXHAUSTED = 0.2


class Partitions(NamedTuple):
    """Partitions of the cells; the groups of all partitions are numbered one partition after the other."""

    member: Any  # (g, c') 1 where a cell is in a group; without the last partition
    partition: np.ndarray  # (c, m) 1 where a group is in a partition
    distinct: Any  # (m,) whether a partition differs from the one before it


def partition_cells(sizes: tuple[int, ...], width: int, n_cells: Int[Array, ""] | None) -> Partitions:
    """Partitions of the first ``n_cells`` of ``width`` cells, one per entry of ``sizes``.

    An entry is a number of groups, which get about equally many cells; in the last partition each cell is a
    group. Mirrored cells are in mirrored groups: an odd number of cells gets an odd number of groups, one
    less than an even entry.
    """
    n: Any = np.int64(width) if n_cells is None else n_cells
    xp = namespace(n)
    partition = np.repeat(np.arange(len(sizes)), sizes)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    wanted = xp.asarray(sizes)
    wanted = xp.minimum(xp.where((n % 2 == 1) & (wanted % 2 == 0), wanted - 1, wanted), n)
    cell, group = np.arange(width)[:, None], (np.arange(len(partition)) - first[partition])[None]
    # A cell whose middle lies between two groups goes to the group nearer to the middle of all cells.
    lower = (2 * cell + 1) * wanted[None] // (2 * n)
    upper = wanted[None] - 1 - (2 * (n - 1 - cell) + 1) * wanted[None] // (2 * n)
    group_of_cell = xp.where(2 * cell + 1 <= n, lower, upper)
    merged = len(partition) - width
    member = (group_of_cell[:, partition[:merged]] == group[:, :merged]) & (cell < n)
    before = xp.concatenate([xp.zeros_like(wanted[:1]), wanted[:-1]])
    return Partitions(member, np.eye(len(sizes))[partition], wanted != before)


def build_polynomials(
    weight: Float[Array, " g"], degree: int
) -> tuple[Float[Array, "p g"], Bool[Array, " p"]]:
    """Polynomials of degree 0 to ``degree`` of a cell's rank, orthonormal under ``weight``.

    The rank of a cell is the weight below its middle. (As functions of the value, only high degrees could
    follow a cluster of rows.) They are computed by the recurrence x p_k = b_k+1 p_k+1 + a_k p_k + b_k p_k-1
    (Stieltjes). The second array says which polynomials exist. Their degree is below the number of cells with
    weight, and they end before the first norm below `_EXHAUSTED`; all others are 0.
    """
    total = weight.sum()
    x = (2 * jnp.cumsum(weight) - weight) / jnp.where(total > 0, total, 1) - 1
    spread = _root((weight * jnp.square(x)).sum() / jnp.where(total > 0, total, 1))
    x = x / jnp.where(spread > 0, spread, 1)
    constant = jnp.where(total > 0, jax.lax.rsqrt(jnp.where(total > 0, total, 1)), 0)

    occupied = (weight > 0).sum()

    def step(carry: Any, degree_of: Any) -> tuple[Any, Any]:
        before, last, b, there = carry
        raw = x * last
        raw = raw - (weight * raw * last).sum() * last - b * before
        norm = _root((weight * jnp.square(raw)).sum())
        there = there & (norm > _EXHAUSTED) & (degree_of < occupied)
        new = jnp.where(there, raw / jnp.maximum(norm, _EXHAUSTED), 0)
        return (last, new, norm, there), (new, there)

    flat = jnp.full_like(x, constant)
    start = jnp.zeros_like(x), flat, jnp.zeros_like(constant), total > 0
    _, (rest, there) = jax.lax.scan(step, start, jnp.arange(1, degree + 1))
    return jnp.concatenate([flat[None], rest]), jnp.concatenate([(total > 0)[None], there])


def _root(x: Float[Array, ""]) -> Float[Array, ""]:
    """Square root, with slope 0 at 0."""
    return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0)
