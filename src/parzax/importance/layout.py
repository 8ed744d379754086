"""The grid of a space, in float64 on the host: the cells of every domain, and their columns in the counts."""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias

import numpy as np

from parzax import _checks
from parzax.kernels import AbstractKernel, AitchisonAitken, TruncatedNormal
from parzax.space import Categorical, Domain, Float, Numeric, Ordinal, Space, Varying
from parzax.space.axes import AbstractAxis

# Blocks of up to 2^4 cells share a group: computing them is cheap, compiling a group is not.
_LEAST_WIDTH_BITS = 4
# Places between bounds that move.
PLACES = Float(0.0, 1.0)


@dataclass(frozen=True)
class Grid:
    """How values are put on the grid, and how large a level set is.

    Attributes:
        max_cells: largest number of cells of a numeric domain.
        mirror: whether both ends of a domain are treated alike, so that ``x -> high - x`` mirrors the counts
            exactly: a step midway between two cells goes to the cell nearer the middle of the domain, and an
            odd number of steps gets an odd number of cells. If False, a step midway between two cells goes
            to the lower cell (the references' rule).
        max_pools: largest number of pools of a domain whose bounds move. A pool has rows with similar bounds;
            within it values are compared by their places between the bounds, see
            `parzax.lens.logs.pools`. If 0, such a domain has no grid and no importance (the references'
            rule).
        optuna_rounding: whether level sets are sized as in Optuna: ceil(q * N) rows for the raw
            floating-point product, and with ``selection="pareto"`` exactly this number of rows.
    """

    max_cells: int = 96
    mirror: bool = True
    max_pools: int = 8
    optuna_rounding: bool = False

    def __post_init__(self) -> None:
        _checks.convert_fields(self, _checks.whole_number, "max_cells", least=2)
        _checks.convert_fields(self, _checks.whole_number, "max_pools", least=0)
        _checks.convert_fields(self, _checks.flag, "mirror", "optuna_rounding")

    @classmethod
    def optuna(cls) -> "Grid":
        """The grid and the level sizes of Optuna 5's PedAnovaImportanceEvaluator."""
        return cls(max_cells=50, mirror=False, max_pools=0, optuna_rounding=True)


def grid_cells(
    domain: Domain, grid: Grid
) -> tuple[type[AbstractKernel] | None, int, Callable[[np.ndarray], np.ndarray]]:
    """Kernel family and number of cells of a domain, and the rule that gives the cell of float64 values.

    Sizes are those of the references; steps midway between two cells follow ``grid.mirror``. If a domain has
    a single value, or its bounds move, the family is None, and there is one cell. The rule serves to make the
    borders (`parzax.importance.borders`); a cell is the number of borders below a value.
    """
    axis, size = domain.axis, domain.n_values
    if isinstance(domain, Varying) or size == 1:
        return None, 1, np.zeros_like
    if isinstance(domain, Categorical):
        return AitchisonAitken, len(domain.choices), partial(_nearest_cells, low=0.0, spacing=1.0)
    log = getattr(domain, "log", False)
    by_number = isinstance(domain, Ordinal) or (grid.mirror and size is not None and not log)
    n_cells = grid.max_cells
    if size is not None and log and not by_number:
        n_cells = min(n_cells, math.ceil(math.log(size) / math.log(2)) + 1)
    elif size is not None:
        n_cells = size if size <= n_cells else n_cells - (grid.mirror and (size - n_cells) % 2)
    if by_number:
        return TruncatedNormal, n_cells, partial(_step_cells, axis=axis, n_cells=n_cells)
    low, high = _ends(domain)
    ends = axis.native(np.array([0.0, 1.0]), np.array([0, int(axis.n_values) - 1]))
    scale = np.log if log else np.asarray
    # Values are clipped, since the slack at the bounds may be so large that it reaches another cell.
    return (
        TruncatedNormal,
        n_cells,
        lambda x: _nearest_cells(scale(np.clip(x, *ends)), low, (high - low) / (n_cells - 1)),
    )


def _ends(domain: Domain) -> tuple[float, float]:
    """The lowest and the highest number of a domain, on its log axis if it has one."""
    assert isinstance(domain, Numeric)
    low, high = float(domain.low), float(domain.high)
    return (math.log(low), math.log(high)) if domain.log else (low, high)


def _nearest_cells(position: np.ndarray, low: float, spacing: float) -> np.ndarray:
    """The nearest cells of positions. It divides, as the references do, so that rounding is the same."""
    return np.ceil((position - low) / spacing - 0.5)


def cell_values(domain: Domain, grid: Grid) -> list:
    """The native value at the centre of each cell (choices of a categorical domain)."""
    if isinstance(domain, Categorical):
        return list(domain.choices)
    return cell_points(domain, grid_cells(domain, grid)[1])[::2].tolist()


def cell_points(domain: Domain, n_cells: int) -> np.ndarray:
    """(2 g - 1,) native values at the centres of g cells, and between them about where the cell changes."""
    if isinstance(domain, Ordinal | Categorical):
        table = np.asarray(getattr(domain, "values", np.arange(n_cells)), np.float64)
        return np.interp(np.linspace(0, len(table) - 1, 2 * n_cells - 1), np.arange(len(table)), table)
    low, high = _ends(domain)
    points = np.array([0.5 * (low + high)]) if n_cells == 1 else np.linspace(low, high, 2 * n_cells - 1)
    return np.exp(points) if getattr(domain, "log", False) else points


def _step_cells(values: np.ndarray, axis: AbstractAxis, n_cells: int) -> np.ndarray:
    """Cell of each value, by its index on the axis; the upper half mirrors the lower.

    A step midway between two cells is recognised exactly, since i (g-1)/(N-1) + 1/2 is a ratio of integers.
    """
    step, last = axis.index(np.asarray(values, np.float64)), int(axis.n_values) - 1
    twice = 2.0 * (n_cells - 1) * step
    lower, upper = np.floor((twice + last) / (2 * last)), np.ceil((twice - last) / (2 * last))
    return np.where(2 * step < last, lower, upper)


@dataclass(frozen=True)
class Block:
    """One regime of one parameter, or one pool of a regime: ``n_cells`` columns of the counts from ``start``.

    A regime whose bounds move has several blocks: first a block of one cell for rows without a pool, whose
    ``family`` is None, then one block per pool. Any other block without a family has a single value.
    ``slot`` numbers the blocks of a parameter.
    """

    parameter: int
    regime: int
    slot: int
    family: type[AbstractKernel] | None
    varying: bool
    n_cells: int
    start: int

    @property
    def is_pool(self) -> bool:
        """Whether the block is a pool of a regime whose bounds move."""
        return self.varying and self.family is not None

    @property
    def has_cells(self) -> bool:
        """Whether the rows lie on one grid: the domain has several values, and its bounds do not move."""
        return self.family is not None and not self.varying

    @property
    def is_categorical(self) -> bool:
        """Whether the cells are categories."""
        return self.family is not None and self.family.exchangeable


# Blocks of one family whose cells, padded to one width, share a batch: family, width and blocks.
Group: TypeAlias = tuple[type[AbstractKernel] | None, int, list[Block]]


@dataclass(frozen=True)
class Layout:
    """Columns of the counts; hashable, static under jit, and free of names.

    The columns of a parameter begin at its offset: the cells of each regime in turn, then one for "inactive".
    """

    blocks: tuple[Block, ...]
    offsets: tuple[int, ...]
    n_columns: int

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # The cached hash is left out, because hashes of classes differ between processes.
        return type(self), (self.blocks, self.offsets, self.n_columns)

    @cached_property
    def _hash(self) -> int:
        # jit looks the layout up in its cache at every call.
        return hash((self.blocks, self.offsets, self.n_columns))

    @cached_property
    def n_regimes(self) -> int:
        """Largest number of regimes of a parameter, "inactive" included, k."""
        return max(block.regime for block in self.blocks) + 2

    @cached_property
    def n_slots(self) -> int:
        """Largest number of blocks of a parameter, "inactive" included; `n_regimes` if there are no pools."""
        return max(block.slot for block in self.blocks) + 2

    @cached_property
    def has_pools(self) -> bool:
        """Whether any block is a pool, so that slots are not regimes."""
        return any(block.is_pool for block in self.blocks)

    @cached_property
    def inactive(self) -> tuple[int, ...]:
        """For each parameter, the column that counts its inactive rows (and takes the padding)."""
        return tuple(end - 1 for end in (*self.offsets[1:], self.n_columns))

    @cached_property
    def n_codes(self) -> tuple[int, ...]:
        """For each parameter, its number of columns. The code of "inactive" is the last one."""
        return tuple(last - first + 1 for first, last in zip(self.offsets, self.inactive, strict=True))

    @cached_property
    def by_parameter(self) -> list[list[Block]]:
        """The blocks of each parameter."""
        blocks: list[list[Block]] = [[] for _ in self.offsets]
        for block in self.blocks:
            blocks[block.parameter].append(block)
        return blocks

    @cached_property
    def varying(self) -> np.ndarray:
        """(d,) which parameters have a domain whose bounds move."""
        return np.array([any(block.varying for block in blocks) for blocks in self.by_parameter])

    @cached_property
    def single_valued(self) -> np.ndarray:
        """(d,) which parameters have a single value in every domain."""
        without_kernel = [all(block.family is None for block in blocks) for blocks in self.by_parameter]
        return np.array(without_kernel) & ~self.varying

    @cached_property
    def groups(self) -> list[Group]:
        """Group the blocks by family and size: up to 16, 32, 64, ... cells. The largest block sets the width.

        Each group is compiled once. Without padding, a space with integer domains of many lengths would have
        one grid size per length and take minutes to compile; padding costs less than that.
        """
        alike: dict[tuple, list[Block]] = defaultdict(list)
        for block in self.blocks:
            alike[block.family, max((block.n_cells - 1).bit_length(), _LEAST_WIDTH_BITS)].append(block)
        return [(kernel, max(b.n_cells for b in group), group) for (kernel, _), group in alike.items()]


@lru_cache(maxsize=256)
def layout(space: Space, grid: Grid) -> Layout:
    """Make the columns of ``space`` on ``grid``."""
    blocks, offsets, column = [], [], 0
    for parameter, domains in enumerate(space.domains):
        offsets.append(column)
        slot = 0
        for regime, domain in enumerate(domains):
            varying, cells = isinstance(domain, Varying), [grid_cells(domain, grid)]
            cells += [grid_cells(PLACES, grid)] * grid.max_pools * varying
            for family, n_cells, _ in cells:
                blocks.append(Block(parameter, regime, slot, family, varying, n_cells, column))
                column, slot = column + n_cells, slot + 1
        column += 1
    return Layout(tuple(blocks), tuple(offsets), column)
