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
    """Rows (weight) of q level sets, and of the region last.

    Attributes:
        sets: (q + 1,) in each set.
        active: (p,) of the region, in which both parameters of a pair are active.
        cells: (q + 1, r, w, w) per cell of the slots, first by the first parameter's.
    """

    sets: Shaped[Array, " q1"]
    active: Shaped[Array, " p"]
    cells: Shaped[Array, "q1 r w w"]


def pair_counts(
    codes: Integer[Array, "d n"],
    level: Integer[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    where: PairLayout,
    n_levels: int,
) -> PairCounts:
    """Counts of all slots of one log; the rows of the region decide which grid cells share a cell."""
    layout, (first, second) = where.layout, where.parameters
    sizes = n_sizes(len(level) if weight is None else np.inf)
    w = slot_width(layout, sizes)
    outside = (level > n_levels).astype(jnp.int32)
    codes = codes.astype(jnp.int32)

    def count(codes: Int[Array, "c n"], layout: Layout, levels: bool = False) -> Shaped[Array, "l w"]:
        sets, n = (level, n_levels) if levels else (outside, 0)
        weights = None if weight is None else weight[None]
        return sweep_counts(codes[None], sets[None], weights, n_levels=n, layout=layout)[0]

    def of_slots(slot: Int[Array, "p n"], cell: Int[Array, "p n"], n: int, levels: bool = False) -> Array:
        columns, kept = where.columns(n)
        code = jnp.where(slot < n_slots, slot * n + cell, n_slots * n)
        return count(code, columns, levels)[:, jnp.asarray(kept)]

    sets = count(jnp.zeros((1, len(level)), jnp.int32), Layout((), (0,), 1), True)[:, 0]
    active = codes < jnp.asarray(layout.n_codes, jnp.int32)[:, None] - 1
    mass = jnp.where(outside == 0, jnp.ones(level.shape, jnp.int32) if weight is None else weight, 0)
    n_active = jnp.where(active[first] & active[second], mass[None], 0).sum(axis=1, dtype=mass.dtype)
    if not where.slots:
        return PairCounts(sets, n_active, jnp.zeros((n_levels + 1, 0, w, w), sets.dtype))

    # The slot of every row, as a number within its pair, then its cells there.
    column = jnp.asarray(layout.offsets, jnp.int32)[:, None] + codes
    regime = jnp.asarray(where.regime_of_column)[column]
    pair, n_slots = np.arange(len(where.pairs))[:, None], jnp.asarray(where.n_slots)[:, None]
    slot = jnp.asarray(where.slot_of_regimes)[pair, regime[first], regime[second]]
    n_rows = of_slots(slot, jnp.zeros_like(slot), 1)[0]
    begin = jnp.asarray(np.cumsum(where.n_slots) - where.n_slots)[:, None]
    size = slot_sizes(sets[-1], n_rows)[jnp.minimum(begin + slot, len(where.slots) - 1)]
    merged = merged_cells(count(codes, layout)[0], layout, sizes)
    cell = merged[size, column[first]] * w + merged[size, column[second]]
    cells = of_slots(slot, cell, w**2, True)
    return PairCounts(sets, n_active, cells.reshape(n_levels + 1, len(where.slots), w, w))
