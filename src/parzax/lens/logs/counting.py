"""Count the rows of blocks of a log, whose cut-offs are given, on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parzax.importance import Grid
from parzax.importance.encode import host_codes
from parzax.importance.layout import cell_search, layout
from parzax.lens.logs.cutoffs import LevelTable
from parzax.space import Space, Varying
from parzax.space.checks import check_regimes


class BlockCounter:
    """Adds the rows of blocks to a histogram (q + 2, w) of first level sets and columns.

    ``cutoffs`` (q + 1,) are those of the levels in any order, and of the region.
    """

    def __init__(self, space: Space, grid: Grid, cutoffs: np.ndarray) -> None:
        for name, domains in zip(space.names, space.domains, strict=True):
            if grid.max_pools and any(isinstance(domain, Varying) for domain in domains):
                problem = "and rows with similar bounds are pooled by log"
                raise ValueError(f"the bounds of {name!r} move, {problem}; use parzax.Observations.")
        self._space, self._grid, self._layout = space, grid, layout(space, grid)
        self._levels, self._sets = LevelTable(np.sort(cutoffs)), len(cutoffs) + 1

    def zeros(self) -> np.ndarray:
        """An empty histogram."""
        return np.zeros((self._sets, self._layout.n_columns), np.int64)

    def add(self, histogram: np.ndarray, values: Sequence[np.ndarray], losses: np.ndarray) -> None:
        """Add n rows: native values, d arrays (n,), NaN where inactive; losses (n,), NaN if unusable.

        ValueError for a value of a usable row outside the space.
        """
        level = self._levels.find(losses)
        if not any(slot.domain.conditions for slot in self._space.slots) and all(
            map(_all_in, self._space.domains, values)
        ):
            pairs = zip(self._space.domains, values, strict=True)
            columns = (
                cell_search(ds[0], self._grid)(x.astype(np.float64)).astype(np.int64) for ds, x in pairs
            )
        else:
            rows, used = np.stack(values, axis=-1).astype(np.float64), ~np.isnan(losses)
            regime = check_regimes(self._space, rows, None, used)
            columns = host_codes(self._space, rows[None], regime[None], self._grid)[0]
        first = {n_codes: level * n_codes for n_codes in set(self._layout.n_codes)}
        where = zip(columns, self._layout.offsets, self._layout.n_codes, strict=True)
        for codes, offset, n_codes in where:
            counts = np.bincount(first[n_codes] + codes, minlength=self._sets * n_codes)
            histogram[:, offset : offset + n_codes] += counts.reshape(self._sets, n_codes)


def _all_in(domains: tuple[Any, ...], values: np.ndarray) -> bool:
    """Whether all values lie in the first domain; on a continuum the smallest and the largest tell."""
    if not domains[0].axis.discrete and len(values):
        values = np.array([values.min(), values.max()])  # NaN if any value is
    return not domains[0].outside(values).any()
