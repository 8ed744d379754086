"""Counts of pairs of parameters on the cells of their slots, from grid codes."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer, Shaped

from parzax.importance.counts import sweep_counts
from parzax.importance.layout import Layout
from parzax.importance.pair_cells import merged_cells, n_sizes, slot_sizes, slot_width
from parzax.importance.pair_layout import PairLayout


class PairCounts(NamedTuple):
    """Rows (weight) of q level sets, and of the region last."""

    sets: Shaped[Array, " q1"]  # in each set
    active: Shaped[Array, " p"]  # of the region, in which both parameters of a pair are active
    slots: Shaped[Array, "q1 r"]  # in each slot
    # (q + 1, r, w, w) per cell of the slots, by the cells of the first and of the second parameter.
    cells: Shaped[Array, "q1 r w w"]


def pair_counts(
    codes: Integer[Array, "d n"],
    level: Integer[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    where: PairLayout,
    order: tuple[int, ...],
) -> PairCounts:
    """Counts of all slots of one log at the levels ``order`` of the ascending ones.

    The rows of the region decide which grid cells share a cell.
    """
    layout, (first, second) = where.layout, np.array(where.pairs, np.int32).reshape(-1, 2).T
    q, weights, codes = len(order), None if weight is None else weight[None], codes.astype(jnp.int32)

    def count(codes: Int[Array, "c n"], layout: Layout) -> Shaped[Array, "q1 w"]:
        counts = sweep_counts(codes[None], level[None], weights, n_levels=q, layout=layout)[0]
        return counts[np.array([*order, q])]

    def of_slots(cell: Int[Array, "p n"] | int, n: int) -> Shaped[Array, "q1 c"]:
        columns, kept = where.columns(n)
        return count(jnp.where(slot < n_slots, slot * n + cell, n_slots * n), columns)[:, kept]

    grid = count(codes, layout)
    # Every row is in one column of the first parameter.
    sets = grid[:, : layout.n_codes[0]].sum(axis=1, dtype=grid.dtype)
    active = codes < jnp.asarray(layout.n_codes, jnp.int32)[:, None] - 1
    mass = jnp.where(level <= q, jnp.ones((), grid.dtype) if weight is None else weight, 0)
    n_active = jnp.where(active[first] & active[second], mass[None], 0).sum(axis=1, dtype=grid.dtype)
    sizes = n_sizes(len(level) if weight is None else np.inf)
    w, r = slot_width(layout, sizes), len(where.slots)
    if not r:
        none = jnp.zeros((q + 1, 0), grid.dtype)
        return PairCounts(sets, n_active, none, none[..., None, None])

    # The slot of every row, as a number within its pair, and then its cells there.
    column = codes + jnp.asarray(layout.offsets, jnp.int32)[:, None]
    block = jnp.asarray(where.block_of_column)[column]
    n_blocks = jnp.asarray([len(blocks) for blocks in where.blocks], jnp.int32)[:, None]
    begin, n_slots = (jnp.asarray(x)[:, None] for x in (where.first_slot[:-1], np.diff(where.first_slot)))
    inside = (block < n_blocks)[first] & (block < n_blocks)[second]
    slot = jnp.where(inside, block[first] * n_blocks[second] + block[second], n_slots)
    rows = of_slots(0, 1)
    size = slot_sizes(sets[-1], rows[-1])[jnp.minimum(begin + slot, r - 1)]
    merged, start = merged_cells(grid[-1], layout, sizes).reshape(-1), size * layout.n_columns
    cells = of_slots(merged[start + column[first]] * w + merged[start + column[second]], w**2)
    return PairCounts(sets, n_active, rows, cells.reshape(q + 1, r, w, w))
