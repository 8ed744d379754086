"""The families of functions of a parameter by which membership in the target is explained."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._numerics import cell_sum, namespace

# A polynomial that is smaller than this before it is scaled, where ranks have a standard deviation of 1,
# rests on the few rows outside of one or two crowded cells, and after some of them float32 has no digits
# left. Of evenly spread rows up to degree 8 all are above 0.8 in 24 cells or more, and above 0.4 in 9.
_EXHAUSTED = 0.2
# Below this the best resolution has all the weight, and float32 no room for the quotient.
_COLDEST = 1e-6


@dataclass(frozen=True)
class Resolutions:
    """From which functions of a parameter membership in the target is predicted, and how they are weighed.

    Of numbers: the cells of the grid merged into fewer, and polynomials of the share of rows below, of at
    most half as many functions as there are rows (fewer of less than 40 rows, see docs/estimators.md). Of
    categories: each on its own.

    Attributes:
        cells: numbers of cells, ascending, into which those of the grid are merged; numbers from the grid's
            own on are ignored, as its cells themselves are always there.
        degrees: those of the polynomials, ascending; none if empty.
        smoothness: how many partitions a polynomial counts for, as most effects are smooth.
        temperature: resolutions are weighed by exp(-L / (2 s^2 temperature)), with L the sum of squared
            errors that they make when they predict each row from all others, and s^2 the least of these
            sums per row.
        chance_rows: how much of what chance explains is subtracted, m^4 / (m^4 + chance_rows^4) for m rows
            in the target (or outside it, if these are fewer).
    """

    cells: tuple[int, ...] = (3, 4, 6, 8, 12, 24, 48, 96)
    degrees: tuple[int, ...] = (2, 4, 8)
    smoothness: float = 4.0
    temperature: float = 8.0
    chance_rows: float = 3.0

    def __post_init__(self) -> None:
        for name, least in (("cells", 1), ("degrees", 2)):
            object.__setattr__(self, name, _ascending(name, getattr(self, name), least))
        if not self.cells:
            raise ValueError("Resolutions: cells must be at least one number.")
        if _checks.real_number("Resolutions: smoothness", self.smoothness) <= 0:
            raise ValueError(f"Resolutions: smoothness must be positive, got {self.smoothness!r}.")
        if _checks.real_number("Resolutions: temperature", self.temperature) < _COLDEST:
            raise ValueError(
                f"Resolutions: temperature must be at least {_COLDEST:g}, got {self.temperature!r}."
            )
        if _checks.real_number("Resolutions: chance_rows", self.chance_rows) < 0:
            raise ValueError(f"Resolutions: chance_rows must not be negative, got {self.chance_rows!r}.")

    def partitions(self, width: int, n_cells: Int[Array, ""] | None) -> "Partitions":
        """The cells of a grid merged into fewer, in every resolution that it has.

        Args:
            width: cells, padding included.
            n_cells: cells without padding; None when there is none.
        """
        return partitions((*(n for n in self.cells if n < width), width), width, n_cells)


def _ascending(name: str, values: Any, least: int) -> tuple[int, ...]:
    """``values`` as a tuple, or raise."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"Resolutions: {name} must be a sequence of integers, got {values!r}.")
    if any(type(n) is not int or n < least for n in values) or [*values] != sorted({*values}):
        raise ValueError(f"Resolutions: {name} must be ascending integers from {least} on, got {values!r}.")
    return tuple(values)


class Partitions(NamedTuple):
    """Partitions of the cells, one after the other, their groups side by side."""

    member: Any  # (g, c') 1 where a cell is in a group; without the last partition
    of_group: np.ndarray  # (c, m) 1 where a group is in a partition
    distinct: Any  # (m,) whether the partition is none of those before it


def partitions(sizes: tuple[int, ...], width: int, n_cells: Int[Array, ""] | None) -> Partitions:
    """The first ``n_cells`` of ``width`` cells in ``sizes`` groups of about one size; at last each by itself.

    Mirrored cells are in mirrored groups. An odd number of cells has no halves, and is in one group less
    where these would be needed.
    """
    n: Any = np.int64(width) if n_cells is None else n_cells
    xp = namespace(n)
    of_group = np.repeat(np.arange(len(sizes)), sizes)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    wanted = xp.asarray(sizes)
    wanted = xp.minimum(xp.where((n % 2 == 1) & (wanted % 2 == 0), wanted - 1, wanted), n)
    cell, group = np.arange(width)[:, None], (np.arange(len(of_group)) - first[of_group])[None]
    # A cell whose middle lies between two groups goes to that nearer to the middle of all.
    lower = (2 * cell + 1) * wanted[None] // (2 * n)
    upper = wanted[None] - 1 - (2 * (n - 1 - cell) + 1) * wanted[None] // (2 * n)
    found = xp.where(2 * cell + 1 <= n, lower, upper)
    merged = len(of_group) - width
    member = (found[:, of_group[:merged]] == group[:, :merged]) & (cell < n)
    before = xp.concatenate([xp.zeros_like(wanted[:1]), wanted[:-1]])
    return Partitions(member, np.eye(len(sizes))[of_group], wanted != before)


def polynomials(weight: Float[Array, " g"], degree: int) -> tuple[Float[Array, "p g"], Bool[Array, " p"]]:
    """Polynomials of degree 0 to ``degree`` of a cell's rank, orthonormal under ``weight``.

    The rank is the weight below the middle of the cell: places of the range would leave a cluster of rows to
    the highest degrees. By the recurrence x p_k = b_k+1 p_k+1 + a_k p_k + b_k p_k-1 (Stieltjes). The second
    array says which there are: fewer than there are cells with a weight, and none from the first on that
    is smaller than `_EXHAUSTED`; these are 0.
    """
    whole = cell_sum(weight)
    x = (2 * jnp.cumsum(weight) - weight) / jnp.where(whole > 0, whole, 1) - 1
    spread = jnp.sqrt(cell_sum(weight * jnp.square(x)) / jnp.where(whole > 0, whole, 1))
    x = x / jnp.where(spread > 0, spread, 1)
    constant = jnp.where(whole > 0, jax.lax.rsqrt(jnp.where(whole > 0, whole, 1)), 0)

    occupied = (weight > 0).sum()

    def step(carry: Any, degree_of: Any) -> tuple[Any, Any]:
        before, last, b, there = carry
        raw = x * last
        raw = raw - cell_sum(weight * raw * last) * last - b * before
        norm = jnp.sqrt(cell_sum(weight * jnp.square(raw)))
        there = there & (norm > _EXHAUSTED) & (degree_of < occupied)
        new = jnp.where(there, raw / jnp.where(norm > 0, norm, 1), 0)
        return (last, new, norm, there), (new, there)

    flat = jnp.full_like(x, constant)
    start = jnp.zeros_like(x), flat, jnp.zeros_like(constant), whole > 0
    _, (rest, there) = jax.lax.scan(step, start, jnp.arange(1, degree + 1))
    return jnp.concatenate([flat[None], rest]), jnp.concatenate([(whole > 0)[None], there])
