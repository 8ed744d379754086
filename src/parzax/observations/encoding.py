"""From native values to grid codes and unit coordinates, in float64 on the host."""

import math
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax.observations.observations import Observations
from parzax.space import INACTIVE, Categorical, Domain, Numeric, Ordinal, Space, Varying

# Values are encoded in blocks that stay in the first-level cache.
_BLOCK = 4096


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


@dataclass(frozen=True)
class Slot:
    """One regime of one parameter on the grid: ``n_cells`` columns of the counts from ``start`` on."""

    parameter: int
    regime: int
    kind: str  # "numeric", "categorical", or without a grid: "point" (a single value), "varying"
    n_cells: int
    start: int


@dataclass(frozen=True)
class Layout:
    """Where each (parameter, regime, cell) is counted; static, and free of names.

    The columns of a parameter are its regimes' cells one after the other and one last column for
    "inactive"; its rows' codes count from its ``offset``.
    """

    slots: tuple[Slot, ...]
    offsets: tuple[int, ...]
    n_columns: int

    @property
    def n_parameters(self) -> int:
        """Number of parameters, d."""
        return len(self.offsets)

    @property
    def n_regimes(self) -> int:
        """Regimes per parameter, "inactive" included, k."""
        return max(slot.regime for slot in self.slots) + 2

    def inactive(self, parameter: int) -> int:
        """Column that counts the inactive rows of a parameter (and takes the padding)."""
        ends = (*self.offsets[1:], self.n_columns)
        return ends[parameter] - 1


def layout(space: Space, grid: GridSpec) -> Layout:
    """The columns of ``space`` on ``grid``."""
    slots, offsets, column = [], [], 0
    for parameter, domains in enumerate(space.domains):
        offsets.append(column)
        for regime, domain in enumerate(domains):
            kind, cells = cell_kind(domain, grid)
            slots.append(Slot(parameter, regime, kind, cells, column))
            column += cells
        column += 1
    return Layout(tuple(slots), tuple(offsets), column)


def cell_kind(domain: Domain, grid: GridSpec) -> tuple[str, int]:
    """Kind of kernel and number of cells of a domain (the references' grid sizes)."""
    if isinstance(domain, Varying):
        return "varying", 1
    if isinstance(domain, (Numeric, Ordinal, Categorical)) and domain.is_single:
        return "point", 1
    if isinstance(domain, Categorical):
        return "categorical", domain.n_values
    if isinstance(domain, Ordinal):
        return "numeric", _stepped_cells(domain.n_values, grid)
    assert isinstance(domain, Numeric)
    if domain.kind == "int" and domain.log:
        width = domain.high - domain.low + 1
        return "numeric", min(grid.max_cells, math.ceil(math.log(width) / math.log(2)) + 1)
    return "numeric", grid.max_cells if domain.n_values is None else _stepped_cells(domain.n_values, grid)


def _stepped_cells(n_values: int, grid: GridSpec) -> int:
    if n_values <= grid.max_cells:
        return n_values
    return grid.max_cells - (grid.mirror and (n_values - grid.max_cells) % 2)


def cells(domain: Domain, values: np.ndarray, grid: GridSpec) -> np.ndarray:
    """Grid cell of each native value of a domain, as int64.

    A value at position p = (x - low)/h of the (log) axis, h the spacing of the cells' centres, falls
    into cell ceil(p - 1/2); steps that lie midway follow ``grid.mirror``.
    """
    kind, n_cells = cell_kind(domain, grid)
    if kind in ("point", "varying"):
        return np.zeros(values.shape, dtype=np.int64)
    if isinstance(domain, Categorical):
        return values.astype(np.int64)
    n_values = domain.n_values if isinstance(domain, (Numeric, Ordinal)) else None
    if isinstance(domain, Ordinal):
        return _step_cells(domain.rank(values), len(domain.values), n_cells)
    assert isinstance(domain, Numeric)
    if grid.mirror and n_values is not None and not domain.log:
        step = getattr(domain, "step", 1)
        return _step_cells(np.round((values - domain.low) / step).astype(np.int64), n_values, n_cells)
    # Written as in the references, so that equal values fall into equal cells: np.log and not math.log,
    # a division and not a product.
    low, high = (math.log(domain.low), math.log(domain.high)) if domain.log else (domain.low, domain.high)
    spacing = (high - low) / (n_cells - 1)
    out = np.empty(values.shape, dtype=np.int64)
    flat, flat_out = values.reshape(-1), out.reshape(-1)
    scratch = np.empty(min(_BLOCK, flat.size))
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        work = scratch[: block.size]
        np.log(block, out=work) if domain.log else np.copyto(work, block)
        work -= low
        work /= spacing
        work -= 0.5
        np.ceil(work, out=work)
        np.clip(work, 0, n_cells - 1, out=work)
        flat_out[start : start + _BLOCK] = work
    return out


def _step_cells(index: np.ndarray, n_values: int, n_cells: int) -> np.ndarray:
    """Cell of step ``index`` in exact integers; the upper half mirrors the lower."""
    low_half = 2 * index < n_values - 1
    mirrored = np.where(low_half, index, n_values - 1 - index).astype(np.int64)
    cell = (2 * mirrored * (n_cells - 1) + (n_values - 1)) // (2 * (n_values - 1))
    return np.where(low_half, cell, n_cells - 1 - cell)


def cell_values(domain: Domain, grid: GridSpec) -> list:
    """The native value at the centre of each cell (choices of a categorical domain)."""
    kind, n_cells = cell_kind(domain, grid)
    if isinstance(domain, Categorical):
        return list(domain.choices)
    if isinstance(domain, Ordinal):
        table = np.asarray(domain.values, dtype=np.float64)
        return np.interp(np.linspace(0, len(table) - 1, n_cells), np.arange(len(table)), table).tolist()
    assert isinstance(domain, Numeric)
    unit = np.array([0.5]) if n_cells == 1 else np.linspace(0.0, 1.0, n_cells)
    return domain.to_native(unit).tolist()


def grid_codes(obs: Observations, grid: GridSpec) -> np.ndarray:
    """Codes of all rows, column-major: (..., d, n), of the narrowest unsigned type that fits."""
    space = obs.space
    where = layout(space, grid)
    widest = max(where.inactive(j) - offset for j, offset in enumerate(where.offsets)) + 1
    dtype = np.uint8 if widest <= 256 else np.uint16 if widest <= 2**16 else np.uint32
    codes = np.empty((*obs.batch_shape, len(space), obs.n), dtype=dtype)
    for slot in where.slots:
        j, offset = slot.parameter, slot.start - where.offsets[slot.parameter]
        domain, values, regime = space.domains[j][slot.regime], obs.values[..., j], obs.regime[..., j]
        if slot.regime == 0:
            codes[..., j, :] = where.inactive(j) - where.offsets[j]
        here = regime == slot.regime
        if here.all():
            codes[..., j, :] = cells(domain, values, grid) + offset
        else:
            codes[..., j, :][here] = cells(domain, values[here], grid) + offset
    return codes


def unit_coordinates(obs: Observations) -> np.ndarray:
    """Unit coordinate of every value in its regime's domain, (..., n, d); 0 where inactive.

    Numeric domains map to [0, 1] on their (log) axis; ordinal ones by value (log value if ``log``);
    a categorical value is its code.
    """
    unit = np.zeros(obs.values.shape)
    for j, domains in enumerate(obs.space.domains):
        for i, domain in enumerate(domains):
            here = obs.regime[..., j] == i
            unit[..., j][here] = _unit(domain, obs.values[..., j][here])
    return unit


def _unit(domain: Domain, values: np.ndarray) -> np.ndarray:
    if isinstance(domain, Categorical):
        return values
    if isinstance(domain, Ordinal):
        low, high, position = domain.values[0], domain.values[-1], values
        if domain.log:
            low, high, position = math.log(low), math.log(high), np.log(values)
    else:
        assert isinstance(domain, Numeric)
        low, high = domain.position_bounds
        position = domain.to_position(values)
    return np.clip((position - low) / (high - low), 0.0, 1.0) if high > low else np.zeros_like(values)


def capacity(n: int) -> int:
    """Padded number of rows: 64, 256, 1024, 4096, then doubling, so that few shapes are compiled."""
    for size in (64, 256, 1024, 4096):
        if n <= size:
            return size
    return 1 << (n - 1).bit_length()


class Encoded(eqx.Module):
    """Observations on the device, padded to a capacity ``n``.

    Attributes:
        unit: (..., n, d) unit coordinate in the regime's domain (code of a category), 0 where absent.
        regime: (..., n, d) int16, -1 = inactive.
        codes: (..., d, n) unsigned grid codes: column of (regime, cell) within the parameter.
        losses: (..., n, m) in JAX's default float type; for ranking use the host's float64.
        weight: (..., n) frequency weights, 0 for padding and failed rows.
        mask: (..., n) whether the row counts.
    """

    unit: Float[Array, "... n d"]
    regime: Int[Array, "... n d"]
    codes: Int[Array, "... d n"]
    losses: Float[Array, "... n m"]
    weight: Float[Array, "... n"]
    mask: Bool[Array, "... n"]


def encode(obs: Observations, grid: GridSpec) -> Encoded:
    """Encode and pad; absent values and padding are finite (0) so that they cannot poison gradients."""
    extra = capacity(obs.n) - obs.n
    weight = np.ones((*obs.batch_shape, obs.n)) if obs.weight is None else obs.weight
    weight = np.where(np.isnan(obs.losses).any(axis=-1), 0.0, weight)

    def rows(array: np.ndarray, axis: int = -2, fill: float = 0) -> np.ndarray:
        width = [(0, 0)] * array.ndim
        width[axis] = (0, extra)
        return np.pad(array, width, constant_values=fill)

    where = layout(obs.space, grid)
    codes = rows(grid_codes(obs, grid), axis=-1)
    for j, offset in enumerate(where.offsets):
        codes[..., j, obs.n :] = where.inactive(j) - offset
    padded = rows(weight, axis=-1)
    return Encoded(
        unit=jnp.asarray(rows(unit_coordinates(obs)), dtype=float),
        regime=jnp.asarray(rows(obs.regime, fill=INACTIVE)),
        codes=jnp.asarray(codes),
        losses=jnp.asarray(rows(np.nan_to_num(obs.losses, nan=0.0, posinf=np.inf, neginf=-np.inf)), dtype=float),
        weight=jnp.asarray(padded, dtype=float),
        mask=jnp.asarray(padded > 0),
    )
