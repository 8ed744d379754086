"""Count the rows of a block, whose cut-offs are given, on the host; and `count_rows`, for any arrays."""

from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax.importance import Counts, Grid
from parzax.importance.layout import Layout, layout
from parzax.importance.levels import checked_levels
from parzax.importance.log_counts import checked_cutoffs, count_arrays, of_histogram
from parzax.observations.cutoffs import LevelTable
from parzax.observations.encoding import grid_codes
from parzax.space import Space, Varying, check_regimes


def count_rows(
    space: Space,
    x: Any,
    losses: Any,
    cutoffs: Any,
    levels: Any,
    region: float = 1.0,
    grid: Grid | None = None,
) -> Counts:
    """Count a block of rows of a log whose cut-offs are known; the counts of all blocks add up to the log's.

    With JAX arrays it is a pure function of ``x``, ``losses`` and ``cutoffs``; `jax.jit` and `jax.vmap`
    apply. NumPy arrays are counted on the host, in float64.

    Args:
        space, x, losses, levels, region, grid: as in `parzax.encode`.
        cutoffs: (q + 1,) largest loss of each set: of the levels as given, and of the region, the last.
            `parzax.Counts.cutoffs` has those of `parzax.count_parquet`. Rows with equal losses are in a set
            together.

    Returns:
        `parzax.Counts`, with status 0, since a block does not say which cut-offs are tied.

    Raises:
        TypeError, ValueError: as `parzax.encode`; cut-offs that are NaN or do not ascend with the levels.
            Traced rows outside the space are left out, and set INVALID_ROWS.

    >>> import numpy as np, parzax as px
    >>> space, x = px.Space({"x": px.Int(1, 2)}), np.array([[1.0], [2.0], [2.0]])
    >>> px.count_rows(space, x, np.arange(3.0), cutoffs=[0.0, 2.0], levels=0.3).counts.tolist()
    [[1, 0, 0], [1, 2, 0]]
    """
    _checks.instance("space", space, Space, "a parzax.Space")
    target, region = checked_levels(levels, region)
    levels, grid = tuple(target.tolist()), Grid() if grid is None else grid
    if any(isinstance(array, jax.Array) for array in (x, losses)):
        if not isinstance(cutoffs, jax.Array):
            cutoffs = checked_cutoffs(cutoffs, levels)
        return count_arrays(space, x, losses, cutoffs, levels, region, grid)
    cutoffs = checked_cutoffs(cutoffs, levels)
    values, losses = (_checks.float_array(name, a) for name, a in (("x", x), ("losses", losses)))
    if values.ndim != 2 or values.shape[1] != len(space) or losses.shape != values.shape[:1]:
        raise ValueError(
            f"x must have shape (n, {len(space)}) and losses (n,), got {values.shape} and {losses.shape}."
        )
    counter = BlockCounter(space, grid, cutoffs)
    histogram = counter.zeros()
    counter.add(histogram, values.T, losses)
    return of_histogram(histogram, space, levels, region, grid, cutoffs)


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

    def add(self, histogram: np.ndarray, values: np.ndarray, losses: np.ndarray) -> None:
        """Add n rows: native values (d, n) in float64, NaN where inactive, and losses (n,), NaN if unusable.

        ValueError for a value of a usable row outside the space.
        """
        if (unusable := np.isnan(losses)).any():
            values, losses = values[:, ~unusable], losses[~unusable]
        regime = self._regimes(values)
        codes = grid_codes(self._space, values.T[None], regime[None], self._grid)[0]
        add_codes(histogram, codes, self._levels.find(losses), self._layout)

    def _regimes(self, values: np.ndarray) -> np.ndarray:
        """(n, d) regimes of the rows."""
        if self._space.walk is None and all(map(_all_in, self._space.domains, values)):
            return np.broadcast_to(np.int16(0), values.T.shape)
        return check_regimes(self._space, values.T.copy(), None, np.ones(values.shape[1], bool))


def _all_in(domains: tuple[Any, ...], values: np.ndarray) -> bool:
    """Whether all values lie in the first domain; on a continuum the smallest and the largest tell."""
    if not domains[0].axis.discrete and len(values):
        values = np.array([values.min(), values.max()])  # NaN if any value is
    return not domains[0].outside(values).any()


def add_codes(histogram: np.ndarray, codes: np.ndarray, level: np.ndarray, where: Layout) -> None:
    """Add rows to a histogram (q + 2, w), from codes (d, n) and first level sets (n,)."""
    for column, offset, n_codes in zip(codes, where.offsets, where.n_codes, strict=True):
        bins = np.multiply(level, n_codes, dtype=np.intp)
        bins += column
        counts = np.bincount(bins, minlength=len(histogram) * n_codes)
        histogram[:, offset : offset + n_codes] += counts.reshape(len(histogram), n_codes)
