"""Predictions of membership in the target from families of functions of a parameter, one per resolution."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import divisor

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
    xp = n.__array_namespace__()
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


# A row with a leverage above this cannot be predicted from the others.
_FULL_LEVERAGE = 1 - 1e-4


class Membership(NamedTuple):
    """Membership in the target of the rows of one regime.

    The uniform reference is a region with total weight 1 and infinitely many rows.
    """

    target: Float[Array, "q g"]  # rows per cell
    region: Float[Array, " g"]
    n_target: Float[Array, " q"]
    n_region: Float[Array, ""]
    share: Float[Array, " q"]  # mean membership
    excess: Float[Array, "q g"]  # target rows per cell minus their expected number
    uniform: bool  # whether the region is the uniform reference

    @classmethod
    def from_counts(
        cls, target: Float[Array, "q g"], region: Float[Array, " g"], uniform: bool
    ) -> "Membership":
        """Membership from rows per cell."""
        n_target, n_region = target.sum(axis=1), region.sum()
        share = n_target / divisor(n_region)
        return cls(target, region, n_target, n_region, share, target - share[:, None] * region[None], uniform)

    @property
    def variance(self) -> Float[Array, " q"]:
        """Sum of squares of membership around its mean (to first order for the uniform reference)."""
        return self.n_target * (1 if self.uniform else 1 - self.share)


class Fits(NamedTuple):
    """Predictions of membership, one per resolution."""

    explained: Float[Array, "q m"]  # sum of squares around the mean
    error: Float[Array, "q m"]  # sum of squared errors, each row predicted from all others
    dimension: Float[Array, " m"]  # number of independent functions
    exists: Bool[Array, " m"]  # whether the resolution exists
    prior: Float[Array, " m"]  # weight of a resolution apart from its error


def fit_partitions(rows: Membership, parts: Partitions) -> Fits:
    """Membership predicted by the mean over each group of cells.

    A group of R rows with Z more target rows than expected explains Z^2 / R. Let p be the mean membership. If
    each row is predicted from the others, the squared errors of the group sum to
    (R / (R - 1))^2 (p (1 - p) R + (1 - 2 p) Z - Z^2 / R).
    """
    dtype, share = rows.region.dtype, rows.share[:, None]
    member, partition = jnp.asarray(parts.member).astype(dtype), jnp.asarray(parts.partition, dtype)
    # The groups of the last partition are the cells themselves.
    excess = jnp.concatenate([product(rows.excess, member), rows.excess], axis=-1)
    region = jnp.concatenate([product(rows.region, member), rows.region])
    inverse = jnp.where(region > 0, 1 / divisor(region), 0)
    explained = product(jnp.square(excess) * inverse[None], partition)
    dimension = product((region > 0).astype(dtype), partition)
    if rows.uniform:
        diagonal = product(excess * inverse[None], partition) + rows.n_target[:, None] * dimension[None]
        error = _pair_error(rows, diagonal, explained)
    else:
        # A row that is alone in its group is predicted by the mean of all others.
        alone = region * _FULL_LEVERAGE <= 1
        others = jnp.where(region > 0, jnp.square(rows.n_region / jnp.maximum(rows.n_region - 1, 1)), 0)
        square = jnp.where(alone, 0, region / jnp.where(alone, 1, jnp.square(region - 1)))
        linear = jnp.where(alone, others, square * region)
        constant = share * (1 - share) * product(linear * region, partition)[None]
        squares = excess * ((1 - 2 * share) * linear[None] - excess * square[None])
        error = constant + product(squares, partition)
    return Fits(explained, error, dimension, jnp.asarray(parts.distinct), jnp.ones_like(dimension))


def _pair_error(
    rows: Membership, diagonal: Float[Array, "q m"], explained: Float[Array, "q m"]
) -> Float[Array, "q m"]:
    """Error of the estimated ratio to the uniform density.

    It is the sum over all pairs of rows, minus twice the sum over pairs of distinct rows. To first order in
    1 / n_T this is the integrated squared error minus a constant, in units of the variance of one row.
    ``diagonal`` is the sum over the pairs of a row with itself.
    """
    squares = explained + jnp.square(rows.n_target)[:, None]
    return (2 * diagonal - squares) / divisor(rows.n_target)[:, None]


def fit_polynomials(rows: Membership, degrees: tuple[int, ...], prior: float) -> Fits:
    """Membership predicted by the polynomials up to each of the degrees."""
    basis, exists = build_polynomials(rows.region, degrees[-1])
    dtype, degree = basis.dtype, np.array(degrees)
    # (m, j + 1) 1 where a resolution has a function.
    upto = jnp.asarray(np.arange(degrees[-1] + 1) <= degree[:, None], dtype)
    # leverage[m, b]: weight of a row in cell b in its own prediction.
    leverage = product(upto, jnp.square(basis))
    functions, upto = basis[1:], upto[:, 1:]
    coefficient = product(rows.excess, functions.T)
    explained = product(jnp.square(coefficient), upto.T)
    if rows.uniform:
        error = _pair_error(rows, product(rows.target, leverage.T), explained)
    else:
        error = _left_out_error(rows, functions, leverage, upto, coefficient)
    dimension = jnp.asarray(degree + 1, dtype)
    # A polynomial with as many functions as occupied cells only repeats the cells.
    exists = exists[degree] & ((rows.region > 0).sum() > degree + 1)
    return Fits(explained, error, dimension, exists, jnp.full_like(dimension, prior))


def _left_out_error(
    rows: Membership,
    functions: Float[Array, "j g"],
    leverage: Float[Array, "m g"],
    upto: Float[Array, "m j"],
    coefficient: Float[Array, "q j"],
) -> Float[Array, "q m"]:
    """Sum over rows of ((e - f) / (1 - leverage))^2, with f = sum_j coefficient_j functions_j.

    A row with leverage 1 depends on no other row; it is predicted by the mean of all other rows.
    """
    share, g = rows.share[:, None], leverage.shape[1]
    alone = leverage > _FULL_LEVERAGE
    others = rows.n_region / jnp.maximum(rows.n_region - 1, 1)
    weight = jnp.where(alone, jnp.square(others), 1 / jnp.square(jnp.where(alone, 1, 1 - leverage)))
    around = rows.target * (1 - 2 * share) + jnp.square(share) * rows.region[None]
    fit_weight, (m, j) = jnp.where(alone, 0, weight), upto.shape
    f = product((coefficient[:, None] * upto[None]).reshape(-1, j), functions).reshape(-1, m, g)
    squares = f * (f * rows.region[None, None] - 2 * rows.excess[:, None])
    fitted = jnp.einsum("qmg,mg->qm", squares, fit_weight, precision="highest")
    return product(around, weight.T) + fitted


def product(a: Float[Array, "..."], b: Float[Array, "..."]) -> Float[Array, "..."]:
    """Matrix product in full precision, on accelerators too."""
    return jnp.matmul(a, b, precision="highest")
