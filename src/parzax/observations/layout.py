"""Where each (parameter, regime, cell) is counted: the static side of a sweep."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from parzax.observations.grid import GridSpec, cell_kind
from parzax.space import Space


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
    """Columns of the counts; hashable, static under jit, and free of names.

    The columns of a parameter are its regimes' cells one after the other and one last column for
    "inactive"; its rows' codes count from its ``offset``.
    """

    slots: tuple[Slot, ...]
    offsets: tuple[int, ...]
    n_columns: int

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Looked up in jit's cache at every call.
        return hash((self.slots, self.offsets, self.n_columns))

    @property
    def n_parameters(self) -> int:
        """Number of parameters, d."""
        return len(self.offsets)

    @cached_property
    def n_regimes(self) -> int:
        """Regimes per parameter, "inactive" included, k."""
        return max(slot.regime for slot in self.slots) + 2

    @cached_property
    def inactive(self) -> tuple[int, ...]:
        """Per parameter, the column that counts its inactive rows (and takes the padding)."""
        return tuple(end - 1 for end in (*self.offsets[1:], self.n_columns))

    @cached_property
    def n_codes(self) -> int:
        """Largest number of columns of a parameter."""
        return max(last - first + 1 for first, last in zip(self.offsets, self.inactive, strict=True))


@lru_cache(maxsize=256)
def layout(space: Space, grid: GridSpec) -> Layout:
    """The columns of ``space`` on ``grid``."""
    slots, offsets, column = [], [], 0
    for parameter, domains in enumerate(space.domains):
        offsets.append(column)
        for regime, domain in enumerate(domains):
            kind, n_cells = cell_kind(domain, grid)
            slots.append(Slot(parameter, regime, kind, n_cells, column))
            column += n_cells
        column += 1
    return Layout(tuple(slots), tuple(offsets), column)
