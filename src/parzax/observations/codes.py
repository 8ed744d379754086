"""Grid codes of the rows of a log, on the host in float64."""

from functools import lru_cache
from itertools import product

import numpy as np

from parzax.importance.layout import Grid, grid_axis, layout, nearest_cells
from parzax.space import Space

# Rows are encoded in blocks that stay in the second-level cache.
_BLOCK = 65536


def grid_codes(
    space: Space, values: np.ndarray, regime: np.ndarray, grid: Grid, rows: int | None = None
) -> np.ndarray:
    """Codes of the rows of (s, n, d) values, column-major: (s, d, rows), of the narrowest type that fits.

    Rows are padded to ``rows`` with the code of "inactive". Those of
    a domain whose bounds move are in no pool yet, see `parzax.observations.pools`.
    """
    shape, n, n_parameters = values.shape, values.shape[1], len(space)
    inactive, regimes = _plan(space, grid)
    codes = np.empty((shape[0], n_parameters, n if rows is None else rows), inactive.dtype)
    codes[...] = inactive
    size = max(1, _BLOCK // n_parameters)
    n_seeds, n_rows = max(1, size // max(n, 1)), max(1, min(n, size))
    with np.errstate(invalid="ignore", divide="ignore"):
        for seed, row in product(range(0, shape[0], n_seeds), range(0, n, n_rows)):
            seeds, block = slice(seed, seed + n_seeds), slice(row, min(row + n_rows, n))
            native = values[seeds, block].swapaxes(1, 2)
            own = regime[seeds, block].swapaxes(1, 2)
            for number, (columns, transforms, low, spacing, step) in enumerate(regimes):
                position = np.array(native[:, columns], order="C")
                for j, transform in transforms:
                    position[:, j] = transform(position[:, j])
                cell = nearest_cells(position, low, spacing).astype(codes.dtype)
                cell += step
                # A product with 0 or 1 is several times faster than an assignment under a mask, and
                # clears whatever came of NaN and of other regimes' values.
                cell *= np.ascontiguousarray(own[:, columns] == number).view(np.uint8)
                codes[seeds, columns, block] += cell
    return codes


@lru_cache(maxsize=256)
def _plan(space: Space, grid: Grid) -> tuple[np.ndarray, list[tuple]]:
    """Codes of "inactive", (d, 1), and what it takes to encode the i-th regime of the parameters with one."""
    where, regimes = layout(space, grid), []
    last = np.array(where.n_codes)[:, None] - 1
    dtype = np.min_scalar_type(last.max())
    for regime in range(where.n_regimes - 1):
        blocks = [block for block in where.blocks if block.regime == regime and not block.is_pool]
        columns = [block.parameter for block in blocks]
        axes = [grid_axis(space.domains[j][regime], grid) for j in columns]
        # From "inactive" to the regime's first cell; unsigned, so a step back wraps round.
        steps = np.array([[block.start - where.inactive[block.parameter]] for block in blocks]).astype(dtype)
        transforms = [(j, axis.transform) for j, axis in enumerate(axes) if axis.transform]
        low, spacing = (np.array([[axis.low] for axis in axes]), np.array([[axis.spacing] for axis in axes]))
        everywhere = slice(None) if len(columns) == len(space) else columns
        regimes.append((everywhere, transforms, low, spacing, steps))
    return last.astype(dtype), regimes
