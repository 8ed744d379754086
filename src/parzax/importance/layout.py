"""The grid of a space, made on the host in float64: cells of every domain, their borders, their columns.

A cell is the number of borders below a value. Borders are made once, by bisection of the rule that gives the
cell of a float64. A device compares integers with them, so it gives the host's answer although its
rounding differs.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from parzax import _checks
from parzax._numerics import ordered_key, round_up
from parzax._numerics.keys import float_of_key
from parzax.kernels import AbstractKernel, AitchisonAitken, TruncatedNormal, WrappedNormal
from parzax.space import Categorical, Domain, Float, Numeric, Ordinal, Space, Varying
from parzax.space.axes import BOUND_SLACK, Axis

# Blocks of up to 2^4 cells share a group: computing them is cheap, compiling a group is not.
_LEAST_WIDTH_BITS = 4
# Bounds get slack for rounding. Above this share of a cell, values are clipped before their cell is computed.
_LARGEST_SLACK = 0.25
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
            `parzax.lens.logs.bounds`. If 0, such a domain has no grid and no importance (the references'
            rule).
        level_size: how many of N rows a level set of level q has, before ties. "ceil": ceil(q N), where a
            product that differs from an integer only by rounding is this integer. "floor": floor(q N) in
            the same way, at least 1, as in the text of conditional PED-ANOVA (arXiv 2601.20800, Section 3).
            "optuna": ceil of the floating-point product, as in Optuna 5. With the last two a set of
            ``objective="pareto"`` has exactly this number of rows.
    """

    max_cells: int = 96
    mirror: bool = True
    max_pools: int = 8
    level_size: str = "ceil"

    def __post_init__(self) -> None:
        _checks.convert_fields(self, _checks.whole_number, "max_cells", least=2)
        _checks.convert_fields(self, _checks.whole_number, "max_pools", least=0)
        _checks.convert_fields(self, _checks.flag, "mirror")
        _checks.one_of("level_size", self.level_size, ("ceil", "optuna", "floor"))

    @classmethod
    def optuna(cls) -> "Grid":
        """The grid and the level sizes of Optuna 5's PedAnovaImportanceEvaluator."""
        return cls(max_cells=50, mirror=False, max_pools=0, level_size="optuna")

    @classmethod
    def paper(cls) -> "Grid":
        """Optuna's grid with the level sizes of the text of conditional PED-ANOVA."""
        return replace(cls.optuna(), level_size="floor")

    @property
    def of_reference(self) -> bool:
        """Whether level sets are sized as in a reference."""
        return self.level_size != "ceil"


class CellRule(NamedTuple):
    """The cell of float64 values x: the one nearest to (scale(x) - low) / spacing, in floats.

    Values midway between two cells go to the lower one. ``low`` and ``spacing`` may be arrays, for values of
    several domains.
    """

    low: Any = 0.0
    spacing: Any = 1.0
    scale: Callable[[np.ndarray], np.ndarray] | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The cells of values. It divides, as the references do, so that rounding is the same."""
        position = (x if self.scale is None else self.scale(x)) - self.low
        position /= self.spacing
        position -= 0.5
        return np.ceil(position, out=position)


def grid_cells(domain: Domain, grid: Grid) -> tuple[type[AbstractKernel] | None, int, CellRule]:
    """Kernel family and number of cells of a domain, and the rule that gives the cell of its values.

    Sizes are those of the references; steps midway between two cells follow ``grid.mirror``. If a domain has
    a single value, or its bounds move, the family is None, and there is one cell. The rule serves to make the
    borders (`parzax.importance.layout`); a cell is the number of borders below a value.
    """
    axis, size = domain.axis, int(domain.axis.n_values) or None
    if isinstance(domain, Varying) or size == 1:
        return None, 1, CellRule(scale=np.zeros_like)
    if isinstance(domain, Categorical):
        return AitchisonAitken, len(domain.choices), CellRule()
    log = getattr(domain, "log", False)
    by_number = isinstance(domain, Ordinal) or (grid.mirror and size is not None and not log)
    n_cells = grid.max_cells
    if domain.periodic:
        n_cells = min(n_cells, size or n_cells)
        return WrappedNormal, n_cells, CellRule(scale=partial(_arc_cells, axis=axis, n_cells=n_cells))
    if size is not None and log and not by_number:
        n_cells = min(n_cells, math.ceil(math.log(size) / math.log(2)) + 1)
    elif size is not None:
        n_cells = size if size <= n_cells else n_cells - (grid.mirror and (size - n_cells) % 2)
    if by_number:
        return TruncatedNormal, n_cells, CellRule(scale=partial(_step_cells, axis=axis, n_cells=n_cells))
    low, high = _ends(domain)
    spacing, scale = (high - low) / (n_cells - 1), np.log if log else None
    if not log and BOUND_SLACK * max(abs(low), abs(high)) > _LARGEST_SLACK * spacing:
        # Values beyond the bounds by no more than rounding could reach another cell.
        first, last = axis.native(np.array([0.0, 1.0]), np.array([0, int(axis.n_values) - 1])).tolist()
        scale = partial(np.clip, a_min=first, a_max=last)
    return TruncatedNormal, n_cells, CellRule(low, spacing, scale)


def _ends(domain: Domain) -> tuple[float, float]:
    """The lowest and the highest number of a domain, on its log axis if it has one."""
    assert isinstance(domain, Numeric)
    low, high = float(domain.low), float(domain.high)
    return (math.log(low), math.log(high)) if domain.log else (low, high)


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
    if domain.periodic:
        # The cells fill the circle, on which the first value comes one step after the last.
        step = getattr(domain, "step", None) or 0
        half = (high - low + step) / n_cells / 2
        low, high = low - step / 2 + half, high + step / 2 - half
    points = np.array([0.5 * (low + high)]) if n_cells == 1 else np.linspace(low, high, 2 * n_cells - 1)
    return np.exp(points) if getattr(domain, "log", False) else points


def _step_cells(values: np.ndarray, axis: Axis, n_cells: int) -> np.ndarray:
    """Cell of each value, by its index on the axis; the upper half mirrors the lower.

    A step midway between two cells is recognised exactly, since i (g-1)/(N-1) + 1/2 is a ratio of integers.
    """
    step, last = axis.index(np.asarray(values, np.float64)), int(axis.n_values) - 1
    twice = 2.0 * (n_cells - 1) * step
    lower, upper = np.floor((twice + last) / (2 * last)), np.ceil((twice - last) / (2 * last))
    return np.where(2 * step < last, lower, upper)


def _arc_cells(values: np.ndarray, axis: Axis, n_cells: int) -> np.ndarray:
    """Cell of each value of a circle of ``n_cells`` arcs of equal length; the first begins at the start."""
    place = axis.place(values, axis.index(values))
    return np.minimum(np.floor(place * n_cells), n_cells - 1)


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
    def inactive(self) -> tuple[int, ...]:
        """For each parameter, the column that counts its inactive rows (and takes the padding)."""
        return tuple(end - 1 for end in (*self.offsets[1:], self.n_columns))

    @cached_property
    def n_codes(self) -> tuple[int, ...]:
        """For each parameter, its number of columns. The code of "inactive" is the last one."""
        return tuple(last - first + 1 for first, last in zip(self.offsets, self.inactive, strict=True))

    @cached_property
    def slot_of_column(self) -> np.ndarray:
        """(w,) slot of each column; the last one, ``n_slots - 1``, for "inactive"."""
        slot = np.full(self.n_columns, self.n_slots - 1, np.int32)
        for block in self.blocks:
            slot[block.start : block.start + block.n_cells] = block.slot
        return slot

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
    space.check_bounded("the cells of importance need bounds")
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


# Bracket around the guess of a border, in neighbouring floats.
_NEAR = 1 << 12
# Number of buckets of a log axis.
_BUCKETS = 1 << 12


@lru_cache(maxsize=64)
def border_table(space: Space, grid: Grid, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`cell_borders` of every slot (one regime of one parameter), one after the other; entry 0 is unused.

    Then, for each slot, the entry just before its borders, and their number.
    """
    borders = [cell_borders(slot.domain, grid, dtype) for slot in space.slots]
    size = np.array([len(keys) for keys in borders])
    return np.concatenate([np.zeros(1, borders[0].dtype), *borders]), np.cumsum(size) - size, size


def cell_starts(space: Space, grid: Grid | None = None) -> dict[str, tuple[np.ndarray, ...]]:
    """The smallest value of each cell but the first, ascending, of each domain of each parameter, by name.

    The cell of a value, for `parzax.importance.Counts.from_table`, is the number of starts that are not above
    it: ``np.searchsorted(starts, value, side="right")``, ``RANGE_BUCKET(value, starts)`` in SQL. It is the
    cell of `parzax.encode` for every float64. Categories are codes. A missing value (NaN) belongs in the last
    cell, "inactive", whose number is the sum of ``len(s) + 1`` over the domains' starts s.

    >>> import parzax as px
    >>> cell_starts(px.Space({"k": px.Int(1, 3)}))["k"][0].round(6).tolist()
    [1.5, 2.5]
    """
    grid = Grid() if grid is None else grid
    starts = [[float_of_key(cell_borders(d, grid, np.float64) + 1) for d in ds] for ds in space.domains]
    return dict(zip(space.names, map(tuple, starts), strict=True))


@lru_cache(maxsize=1024)
def cell_borders(domain: Domain, grid: Grid, dtype: Any) -> np.ndarray:
    """Keys of the largest value of each cell but the last, ascending; none for a single cell."""
    axis, (_, n_cells, rule) = domain.axis, grid_cells(domain, grid)
    if n_cells == 1:
        return ordered_key(np.zeros(0, dtype))
    number, ends = np.arange(n_cells - 1), np.array([0, int(axis.n_values) - 1])
    low, high = axis.native(np.array([0.0, 1.0]), ends).astype(np.float64)

    def is_above(key: np.ndarray, number: np.ndarray) -> np.ndarray:
        return rule(float_of_key(key)) > number

    with np.errstate(all="ignore"):
        near = ordered_key(cell_points(domain, n_cells)[1::2])
        close = ~is_above(near - _NEAR, number) & is_above(near + _NEAR, number)
        below = np.where(close, near - _NEAR, ordered_key(low[None]))
        upto = np.where(close, near + _NEAR, ordered_key(high[None]))
        while True:
            middle = (below >> 1) + (upto >> 1) + (below & upto & 1)
            apart = np.flatnonzero(middle > below)
            if not len(apart):
                return ordered_key(round_up(float_of_key(upto), dtype)) - 1
            middle = middle[apart]
            above = is_above(middle, number[apart])
            upto[apart[above]], below[apart[~above]] = middle[above], middle[~above]


@lru_cache(maxsize=1024)
def cell_search(domain: Domain, grid: Grid) -> Callable[[np.ndarray], np.ndarray]:
    """A function that gives the cells of float64 values: the number of borders below each of them.

    Cells of NaN and of values outside the domain are arbitrary; NumPy may warn of them. Without a log axis
    the rule that the borders come from gives this number exactly, since each of its steps is rounded
    correctly. A logarithm may be rounded differently from one value to the next, so the borders decide: the
    first bits of a value choose its bucket, and only buckets with a border need a bisection.
    """
    family, _, rule = grid_cells(domain, grid)
    if family is None or not (isinstance(domain, Numeric) and domain.log):
        return rule
    ends = float_of_key(cell_borders(domain, grid, np.float64))
    dtype = np.min_scalar_type(len(ends) + 1)
    unsure = np.iinfo(dtype).max
    first, last = np.array([domain.low, domain.high], np.float64).view(np.int64).tolist()
    shift = max((last - first).bit_length() - _BUCKETS.bit_length(), 0)
    start, n = (first >> shift) - 1, (last >> shift) - (first >> shift) + 3
    at, numbers = (ends.view(np.int64) >> shift) - start, np.arange(n)
    below, upto = (np.searchsorted(at, numbers, side) for side in ("left", "right"))
    cells = np.where(below == upto, below, unsure).astype(dtype)

    def search(x: np.ndarray) -> np.ndarray:
        place = (x.view(np.int64) >> shift) - start
        cell = cells.take(place, mode="clip")
        rest = (cell == unsure).nonzero()
        cell[rest] = ends.searchsorted(x[rest])
        return cell

    return search
