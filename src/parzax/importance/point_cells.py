"""Grid codes of points, whose places and numbers on their axes are known already."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from parzax.importance.layout import Grid, grid_axis, layout
from parzax.space import Points, Space

# Domains with more values than this are on the grid by their place.
_TABLED = 1 << 16


class PointCells(eqx.Module):
    """Grid codes of points: what `parzax.encode` gives of native values.

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
    def of(cls, space: Space, grid: Grid) -> "PointCells":
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
