"""Grids: how many cells a domain has, and into which of them a value falls; float64 on the host."""

import math
from dataclasses import dataclass

import numpy as np

from parzax.space import Categorical, Domain, Numeric, Ordinal, Varying


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
        if self.max_cells < 2:
            raise ValueError(f"GridSpec: max_cells must be at least 2, got {self.max_cells}.")


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
    """Grid cell of each native value of a domain, as int32; some cell for NaN and values outside.

    A value at position p = (x - low)/h of the (log) axis, h the spacing of the cells' centres, falls
    into cell ceil(p - 1/2); steps that lie midway follow ``grid.mirror``. Call within
    ``np.errstate(invalid="ignore", divide="ignore")`` when there may be such values.
    """
    kind, n_cells = cell_kind(domain, grid)
    if kind in ("point", "varying"):
        return np.zeros(values.shape, dtype=np.int32)
    if isinstance(domain, Categorical):
        position = values
    elif isinstance(domain, Ordinal):
        position = _step_cells(domain.rank(values), domain.n_values, n_cells)
    else:
        assert isinstance(domain, Numeric)
        if grid.mirror and domain.n_values is not None and not domain.log:
            step = (values - domain.low) / getattr(domain, "step", 1)
            position = _step_cells(step, domain.n_values, n_cells)
        else:
            position = _continuous_cells(domain, values, n_cells)
    cell = position.astype(np.int32)
    return np.clip(cell, 0, n_cells - 1, out=cell)


def _continuous_cells(domain: Numeric, values: np.ndarray, n_cells: int) -> np.ndarray:
    # Written as in the references, so that equal values fall into equal cells: the bounds' logs by
    # math.log and the values' by np.log, a division and not a product.
    low, high = domain.position_bounds
    position = np.log(values) if domain.log else values - low
    if domain.log:
        position -= low
    position /= (high - low) / (n_cells - 1)
    position -= 0.5
    return np.ceil(position, out=position)


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
