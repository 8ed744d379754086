"""Grids: how many cells a domain has, and into which of them a value falls; float64 on the host."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from parzax.space import Categorical, Domain, Numeric, Ordinal, Varying
from parzax.space.domains import BOUND_SLACK


@dataclass(frozen=True)
class GridSpec:
    """How values are put on the grid.

    Attributes:
        max_cells: largest number of cells of a numeric domain.
        mirror: whether steps that lie midway between cells go towards the middle of the domain, and
            the number of cells is odd when the number of steps is, so that ``x -> high - x`` mirrors
            the counts exactly. False sends them down (the references' rule).
    """

    max_cells: int = 50
    mirror: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.max_cells, int) or self.max_cells < 2:
            raise ValueError(f"GridSpec: max_cells must be an integer of at least 2, got {self.max_cells!r}.")


def cell_kind(domain: Domain, grid: GridSpec) -> tuple[str, int]:
    """Kind of kernel and number of cells of a domain (the references' grid sizes)."""
    if isinstance(domain, Varying):
        return "varying", 1
    if domain.is_single:
        return "point", 1
    if isinstance(domain, Categorical):
        return "categorical", domain.n_values
    if isinstance(domain, Numeric) and domain.kind == "int" and domain.log:
        width = domain.high - domain.low + 1
        return "numeric", min(grid.max_cells, math.ceil(math.log(width) / math.log(2)) + 1)
    n_values = domain.n_values
    if n_values is None:
        return "numeric", grid.max_cells
    if n_values <= grid.max_cells:
        return "numeric", n_values
    return "numeric", grid.max_cells - (grid.mirror and (n_values - grid.max_cells) % 2)


def cells(domain: Domain, values: np.ndarray, grid: GridSpec) -> np.ndarray:
    """Grid cell of each native value of a domain, as int64; some cell for NaN and values outside.

    A value at position p = (x - low)/h of the (log) axis, h the spacing of the cells' centres, falls
    into cell ceil(p - 1/2); steps that lie midway follow ``grid.mirror``.
    """
    axis = grid_axis(domain, grid)
    with np.errstate(invalid="ignore", divide="ignore"):
        position = np.array(values if axis.transform is None else axis.transform(values), dtype=np.float64)
        return nearest_cells(position, axis.low, axis.spacing).astype(np.int64)


def nearest_cells(position: np.ndarray, low: Any, spacing: Any) -> np.ndarray:
    """ceil((position - low) / spacing - 1/2), in floats; overwrites ``position``."""
    # A division and not a product, as in the references, so that equal values fall into equal cells.
    position -= low
    position /= spacing
    position -= 0.5
    return np.ceil(position, out=position)


class GridAxis(NamedTuple):
    """The axis on which the cells of a domain are equally spaced.

    Attributes:
        kind: "numeric", "categorical", or without a grid "point" and "varying".
        n_cells: number of cells.
        low: position of the first cell's centre.
        spacing: distance of the centres; infinite without a grid, which puts every value in cell 0.
        transform: from native values to positions; None where they are the same.
    """

    kind: str
    n_cells: int
    low: float = 0.0
    spacing: float = 1.0
    transform: Callable[[np.ndarray], np.ndarray] | None = None


def grid_axis(domain: Domain, grid: GridSpec) -> GridAxis:
    """The axis of a domain; categories and steps are their own cells."""
    kind, n_cells = cell_kind(domain, grid)
    if kind != "numeric":
        return GridAxis(kind, n_cells, spacing=1.0 if kind == "categorical" else math.inf)
    if isinstance(domain, Ordinal):
        size = domain.n_values
        return GridAxis(kind, n_cells, transform=lambda x: _step_cells(domain.rank(x), size, n_cells))
    assert isinstance(domain, Numeric)
    if grid.mirror and domain.n_values is not None and not domain.log:
        size, low, step = domain.n_values, domain.low, getattr(domain, "step", 1)
        return GridAxis(kind, n_cells, transform=lambda x: _step_cells((x - low) / step, size, n_cells))
    # As in the references: the bounds' logs by math.log, the values' by np.log.
    low, high = domain.position_bounds
    spacing = (high - low) / (n_cells - 1)
    # Where the slack that values have beyond the bounds could reach another cell, they are clipped first.
    slack = BOUND_SLACK * (1.0 if domain.log else max(abs(low), abs(high)))
    clipped = slack > 0.25 * spacing
    transform = domain.to_position if clipped else np.log if domain.log else None
    return GridAxis(kind, n_cells, low, spacing, transform)


def _step_cells(step: np.ndarray, n_values: int, n_cells: int) -> np.ndarray:
    """Cell of each step 0..n_values-1 (up to rounding); the upper half mirrors the lower.

    Midway is decided on exact whole numbers: i (g-1)/(N-1) + 1/2 is a ratio of two of them.
    """
    twice = 2 * (n_cells - 1) * np.round(step)
    lower = np.floor((twice + (n_values - 1)) / (2 * (n_values - 1)))
    upper = np.ceil((twice - (n_values - 1)) / (2 * (n_values - 1)))
    return np.where(2 * step < n_values - 1, lower, upper)


def cell_values(domain: Domain, grid: GridSpec) -> list:
    """The native value at the centre of each cell (choices of a categorical domain)."""
    _, n_cells = cell_kind(domain, grid)
    if isinstance(domain, Categorical):
        return list(domain.choices)
    if isinstance(domain, Ordinal):
        table = np.asarray(domain.values, dtype=np.float64)
        return np.interp(np.linspace(0, len(table) - 1, n_cells), np.arange(len(table)), table).tolist()
    assert isinstance(domain, Numeric)
    unit = np.array([0.5]) if n_cells == 1 else np.linspace(0.0, 1.0, n_cells)
    return domain.to_native(unit).tolist()
