"""Grid codes: of rows of a log on the host, in float64, and of points where they are."""

import math
from functools import lru_cache
from itertools import product
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from parzax.importance.grid.layout import GridSpec, grid_axis, layout, nearest_cells
from parzax.observations import Observations
from parzax.space import Points, Space

# Rows are encoded in blocks that stay in the second-level cache.
_BLOCK = 65536
# Domains with more values than this are on the grid by their place.
_TABLED = 1 << 16


def grid_codes(obs: Observations, grid: GridSpec, rows: int | None = None) -> np.ndarray:
    """Codes of all rows, column-major: (s, d, rows), of the narrowest unsigned type that fits.

    There is one seed without a seed axis. Rows are padded to ``rows`` with the code of "inactive". Those of
    a domain whose bounds move are in no pool yet, see `parzax.importance.grid.pools`.
    """
    n_parameters, n = len(obs.space), obs.n
    shape = (math.prod(obs.batch_shape), n, n_parameters)
    values, regime_of = obs.values.reshape(shape), obs.regime.reshape(shape)
    inactive, regimes = _plan(obs.space, grid)
    codes = np.empty((shape[0], n_parameters, n if rows is None else rows), inactive.dtype)
    codes[...] = inactive
    size = max(1, _BLOCK // n_parameters)
    n_seeds, n_rows = max(1, size // max(n, 1)), max(1, min(n, size))
    with np.errstate(invalid="ignore", divide="ignore"):
        for seed, row in product(range(0, shape[0], n_seeds), range(0, n, n_rows)):
            seeds, block = slice(seed, seed + n_seeds), slice(row, min(row + n_rows, n))
            native = values[seeds, block].swapaxes(1, 2)
            own = regime_of[seeds, block].swapaxes(1, 2)
            for regime, (columns, transforms, low, spacing, step) in enumerate(regimes):
                position = np.array(native[:, columns], order="C")
                for j, transform in transforms:
                    position[:, j] = transform(position[:, j])
                cell = nearest_cells(position, low, spacing).astype(codes.dtype)
                cell += step
                # A product with 0 or 1 is several times faster than an assignment under a mask, and
                # clears whatever came of NaN and of other regimes' values.
                cell *= np.ascontiguousarray(own[:, columns] == regime).view(np.uint8)
                codes[seeds, columns, block] += cell
    return codes


@lru_cache(maxsize=256)
def _plan(space: Space, grid: GridSpec) -> tuple[np.ndarray, list[tuple]]:
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


class PointCells(eqx.Module):
    """Grid codes of points: what `grid_codes` are of native values.

    A block's first code is ``above`` that of "inactive". The ``table`` has the cells of all values of blocks
    with few of them, from ``start`` on; where that is -1 they are found by place.
    """

    parameter: Int[Any, " b"]
    regime: Int[Any, " b"]
    above: Int[Any, " b"]
    n_cells: Int[Any, " b"]
    start: Int[Any, " b"]
    table: Int[Any, " t"]
    inactive: Int[Any, " d"]

    @classmethod
    def of(cls, space: Space, grid: GridSpec) -> "PointCells":
        """The cells of a space."""
        where, table, rows = layout(space, grid), [0], []
        for block in where.blocks:
            if block.is_pool:  # of points no bounds are known
                continue
            domain, start = space.domains[block.parameter][block.regime], -1
            n = domain.n_values
            if n is not None and n <= _TABLED:
                start, native = len(table), domain.axis.native(np.full(n, 0.5), np.arange(n))
                table += grid_axis(domain, grid).cells(native).tolist()
            above = block.start - where.inactive[block.parameter]
            rows.append((block.parameter, block.regime, above, block.n_cells, start))
        columns = (*zip(*rows, strict=True), table, np.array(where.n_codes) - 1)
        return cls(*(np.asarray(column, np.int32) for column in columns))

    def codes(self, at: Points) -> Int[Array, "d n"]:
        """Codes of (n, d) points."""
        unit, index = at.unit[:, self.parameter], at.index[:, self.parameter]
        n_cells, table_start = jnp.asarray(self.n_cells)[None], jnp.asarray(self.start)[None]
        by_place = jnp.ceil(unit * (n_cells - 1).astype(unit.dtype) - 0.5).astype(jnp.int32)
        by_number = jnp.asarray(self.table)[jnp.maximum(table_start + index, 0)]
        cell = jnp.clip(jnp.where(table_start >= 0, by_number, by_place), 0, n_cells - 1)
        here = at.regime[:, self.parameter] == jnp.asarray(self.regime)[None]
        # One block applies at most: what is above "inactive" by is added for it alone.
        above = jnp.asarray(self.above)[None] + cell
        start = jnp.broadcast_to(jnp.asarray(self.inactive)[:, None], (len(self.inactive), len(unit)))
        return start.at[self.parameter].add(jnp.where(here, above, 0).T)
