"""How much of membership in the target a parameter explains, at the resolutions that predict it best.

The membership of a row of the region is 1 if the row is in the target, else 0. In each regime, Eq. 11 of
conditional PED-ANOVA (arXiv 2601.20800) is the variance of the conditional mean of membership. So the
within-regime divergence is

    D = (n_R / n_T)^2 Var(P(in the target | x)).

A partition of the cells explains the part of this variance between its groups. A set of functions that are
orthonormal over the rows explains the part that these functions can follow. The part that chance explains is
subtracted as in an analysis of variance. This is exact on average if x has no effect, and approximate
otherwise, since the variance of membership differs between groups.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax._numerics import divisor
from parzax.divergence.divergence import AbstractDivergence, RegimeCounts
from parzax.divergence.fits import Fits, Membership, fit_partitions, fit_polynomials, partition_cells, product

# Lower limit of the squared error per row in the weights, as a share of the variance of membership.
_LEAST_ERROR = 1e-3
# Weight of a polynomial relative to a partition: most effects are smooth. And how slowly the weight of a
# resolution falls as its error grows.
_SMOOTHNESS, _TEMPERATURE = 4.0, 8.0


@dataclass(frozen=True)
class Explained(AbstractDivergence):
    """The share of membership in the target that a parameter explains: the default divergence.

    Families of functions of a parameter predict membership: partitions of its cells, and polynomials of its
    rank. Each family is a resolution. Let e be the membership of a row minus its mean, f the prediction of e
    from C independent functions (including the constant), and n the number of region rows. The resolution
    explains sum f^2, of which chance explains (C - 1) (sum e^2 - sum f^2) / (n - C). Its weight is
    w exp(-(L - min L) / (16 s^2)), where L is its squared error when each row is predicted from all others,
    s^2 = min L / n, and w is 1 for partitions and 4 for polynomials. Weighting by error makes the explained
    sum larger by chance; this part is subtracted too.

    For numbers, a resolution of one or two functions has no weight, unless fewer than three cells are
    occupied. A resolution of more than n / 2 functions (fewer below 40 rows, see docs/estimators.md), or of
    more than n - 2, has no weight. For categories the only resolution has one group per category. A circle
    is cut open at each of its cells in turn, and the estimate is the mean over the cuts.

    Attributes:
        cells: numbers of groups, ascending, into which the grid's cells are merged. Numbers from the number
            of grid cells upwards are ignored; the unmerged cells are always a resolution.
        degrees: degrees of the polynomials, ascending; empty for no polynomials.
        chance_rows: the share m^4 / (m^4 + chance_rows^4) of the part explained by chance is subtracted, with
            m the number of rows in the target (or outside it, if these are fewer).
        debias: whether the part explained by chance is subtracted.
        min_rows: see `AbstractDivergence`.
    """

    cells: tuple[int, ...] = (3, 4, 6, 8, 12, 24, 48, 96)
    degrees: tuple[int, ...] = (2, 4, 8)
    chance_rows: float = 3.0
    debias: bool = True
    min_rows: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.convert_fields(self, _checks.flag, "debias")
        _checks.convert_fields(self, _ascending, "cells", least=1)
        _checks.convert_fields(self, _ascending, "degrees", least=2)
        _checks.convert_fields(self, _checks.real_number, "chance_rows", least=0)
        if not self.cells:
            raise ValueError("Explained: cells must be at least one number.")

    def estimate(self, counts: RegimeCounts) -> Float[Array, " q"]:
        """(n_R / n_T)^2 times the variance of membership that is explained beyond chance."""
        if not counts.kernel.periodic:
            return self._on_line(counts)
        width = counts.sets.shape[1]
        size = jnp.asarray(width) if counts.n_cells is None else counts.n_cells
        number = jnp.arange(width, dtype=size.dtype)

        def cut(first: Int[Array, ""]) -> Float[Array, " q"]:
            line = jnp.where(number < size, (number + first) % size, number)
            return self._on_line(counts._replace(sets=counts.sets[:, line]))

        estimates = jnp.where((number < size)[:, None], jax.lax.map(cut, number), 0)
        return estimates.sum(axis=0) / size.astype(estimates.dtype)

    def _on_line(self, counts: RegimeCounts) -> Float[Array, " q"]:
        """`estimate` for cells on a line."""
        dtype, width = jnp.result_type(float), counts.sets.shape[1]
        region = counts.uniform_density(dtype) if counts.uniform else counts.region.astype(dtype)
        rows = Membership.from_counts(counts.target.astype(dtype), region, counts.uniform)
        exchangeable = counts.kernel.exchangeable
        sizes = [n for n in self.cells if n < width and not exchangeable]
        fits = fit_partitions(rows, partition_cells((*sizes, width), width, counts.n_cells))
        if self.degrees and not exchangeable:
            smooth = fit_polynomials(rows, self.degrees, _SMOOTHNESS)
            fits = Fits(*(jnp.concatenate(pair, axis=-1) for pair in zip(fits, smooth, strict=True)))
        above = fits.explained
        weight = _weights(rows, fits, exchangeable)
        if self.debias:
            above = above - _explained_by_chance(rows, fits, weight, self)
        return rows.n_region * (weight * above).sum(axis=-1) / jnp.square(divisor(rows.n_target))


def _ascending(name: str, values: Any, least: int) -> tuple[int, ...]:
    """Return ``values`` as a tuple; raise unless they are ascending integers."""
    _checks.instance(name, values, list | tuple, "a sequence of integers")
    if any(type(n) is not int or n < least for n in values) or [*values] != sorted({*values}):
        raise ValueError(f"{name} must be ascending integers from {least} on, got {values!r}.")
    return tuple(values)


def _explained_by_chance(
    rows: Membership, fits: Fits, weight: Float[Array, "q m"], settings: Explained
) -> Float[Array, "q m"]:
    """Sum of squares that functions unrelated to membership would explain; reduced if there are few rows."""
    m = rows.n_target if rows.uniform else jnp.minimum(rows.n_target, rows.n_region - rows.n_target)
    # The fourth power of m may overflow; the fourth power of the quotient cannot.
    part = jnp.where(m > 0, 1 / (1 + (settings.chance_rows / divisor(m)) ** 4), 0)
    per_function = rows.variance[:, None]
    if not rows.uniform:
        freedom = (rows.n_region - fits.dimension)[None]
        per_function = (per_function - fits.explained) / jnp.where(freedom > 0, freedom, 1)
    functions = (fits.dimension - 1)[None] + _functions_by_choice(rows, fits, weight) / _TEMPERATURE
    return part[:, None] * functions * per_function


def _functions_by_choice(rows: Membership, fits: Fits, weight: Float[Array, "q m"]) -> Float[Array, "q m"]:
    """Number of functions to add to each resolution, to correct for weights that depend on the same rows.

    A resolution that explains more by chance gets a larger weight. So the weighted sum of S_r above chance is
    too high by sum_r,s (d weight_r / d L_s) cov(L_s, S_r), to first order. If membership is random, and one
    of two resolutions refines the other, this bias is the sum over r of weight_r (k_rr - sum_s weight_s k_rs)
    / temperature in units of s^2, with

        k_rs = (min(C_r, C_s) - 1) (n - max(C_r, C_s)) / (n - C_r) (n / (n - C_s))^2.

    The first two factors are a covariance of sums of squares of n rows (which is larger because chance is
    subtracted). The last factor is the rate at which L falls as the explained sum grows. For the uniform
    reference the factors are min(C_r, C_s) - 1 and 1.
    """
    row, column = fits.dimension[:, None], fits.dimension[None]
    covariance, n = jnp.minimum(row, column) - 1, rows.n_region
    if not rows.uniform:
        free = jnp.where(n - fits.dimension > 0, n - fits.dimension, jnp.inf)
        shared = jnp.maximum(n - jnp.maximum(row, column), 0)
        covariance = covariance * shared / free[:, None] * jnp.square(n / free)[None]
    return jnp.diagonal(covariance)[None] - product(weight, covariance.T)


def _weights(rows: Membership, fits: Fits, exchangeable: bool) -> Float[Array, "q m"]:
    """Weights of the resolutions; they sum to 1, or are all 0 if no resolution is allowed."""
    occupied = (rows.region > 0).sum().astype(fits.dimension.dtype)
    possible = fits.exists & (fits.dimension > 1)
    # With nearly as many functions as rows, no rows are left over to estimate the error.
    if not rows.uniform:
        possible &= fits.dimension <= rows.n_region - 2
    if exchangeable:
        return jnp.broadcast_to(possible[None].astype(fits.explained.dtype), fits.explained.shape)
    counted = possible & (fits.dimension > jnp.minimum(2, occupied - 1))
    if not rows.uniform:
        # At most half as many functions as rows. Below 40 rows, the rows must exceed the functions by 20, or
        # by two thirds of the rows: finer resolutions seldom predict few rows, but often seem to. The
        # coarsest resolution is always allowed.
        n, coarsest = rows.n_region, jnp.where(counted, fits.dimension, jnp.inf).min()
        most = jnp.minimum(n / 2, jnp.maximum(n - 20, n / 3))
        few = fits.dimension <= jnp.maximum(most, coarsest)
        possible, counted = possible & few, counted & few
    least = jnp.where(possible[None], fits.error, jnp.inf).min(axis=-1, keepdims=True)
    if rows.uniform:
        scale = jnp.ones_like(least)  # errors are in units of the variance of one row
    else:
        floor = _LEAST_ERROR * rows.share * (1 - rows.share)
        scale = jnp.maximum(least / divisor(rows.n_region), floor[:, None])
    best = jnp.where(counted[None], fits.error, jnp.inf).min(axis=-1, keepdims=True)
    scale = 2 * _TEMPERATURE * jnp.where(scale > 0, scale, 1)
    worse = jnp.where(counted[None], fits.error - best, 0) / scale
    weight = jnp.where(counted[None], fits.prior[None] * jnp.exp(-worse), 0)
    return weight / divisor(weight.sum(axis=-1, keepdims=True))
