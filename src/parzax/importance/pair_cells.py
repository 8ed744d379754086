"""Cells for pairs of parameters: how many cells a slot has along an axis, and which grid cells are merged."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from parzax._numerics import divisor
from parzax.importance.layout import Layout

# Possible numbers of cells along an axis. For each cell of a slot, a size needs 15 rows of the region and 5
# rows of the slot.
SIZES = (4, 6, 8, 10)
_ROWS_PER_CELL, _FEWEST_PER_CELL = 15, 5
# A categorical axis gets 2 G instead of G cells if the slot has at least this many rows per cell of a G x G
# grid.
_ROWS_PER_LABEL_CELL = 8
# Cells have equal width if each of them then has at least half of an even share of the rows.
_LEAST_SHARE = 0.5
# Tolerance, in cells, for rounding a rank to a border between cells; sums of fractional weights need it.
_ROUNDING = 1e-9


def count_sizes(most_rows: float) -> int:
    """How many of ``SIZES`` a region of ``most_rows`` rows can reach."""
    return max(1, sum(most_rows >= _ROWS_PER_CELL * size**2 for size in SIZES))


def slot_width(layout: Layout, n_sizes: int) -> int:
    """Largest number of cells along an axis of any slot."""
    blocks, size = [block for block in layout.blocks if block.has_cells], SIZES[n_sizes - 1]
    return max((min(b.n_cells, 2 * size if b.is_categorical else size) for b in blocks), default=1)


def slot_sizes(n_region: Shaped[Array, ""], n_slot: Shaped[Array, " r"]) -> Int[Array, " r"]:
    """The row of `merged_cells` for each slot: twice the index of G in ``SIZES``, plus 1 for 2 G categories.

    G is the even floor of sqrt(min(n_R / 15, n_r / 5)), from 4 to 10, for n_R rows in the region and n_r in
    the slot.
    """
    per_cell = np.array([_ROWS_PER_CELL, _FEWEST_PER_CELL, _ROWS_PER_LABEL_CELL])[:, None] * np.square(SIZES)
    region, rows, labels = jnp.asarray(per_cell, n_slot.dtype)
    reached = (n_region >= region[1:])[None] & (n_slot[:, None] >= rows[None, 1:])
    index = reached.sum(axis=1, dtype=jnp.int32)
    return 2 * index + (n_slot >= labels[index]).astype(jnp.int32)


def merged_cells(region: Shaped[Array, " w"], layout: Layout, n_sizes: int) -> Int[Array, "o w"]:
    """The merged cell of each column of ``layout``, for every size; 0 for columns that are no grid cell.

    If a regime has at most G occupied grid cells, none are merged. Otherwise the rarest categories share the
    last of G (or 2 G) cells. Numbers get G cells of equal width, or of nearly equal numbers of rows if equal
    widths would spread the rows too unevenly.

    ``region`` has the rows (weight) per column. Each size has two of the o rows, see `slot_sizes`.
    """
    # Computed in float64, so that the cells are the same in any precision.
    with jax.enable_x64(True):
        mass = region.astype(jnp.float64)
        source, parts = np.full(layout.n_columns, -1), [jnp.zeros((2 * n_sizes, 1), jnp.int32)]
        for exchangeable, merge in ((False, _merged_numbers), (True, _merged_categories)):
            blocks = [b for b in layout.blocks if b.has_cells and b.is_categorical == exchangeable]
            if not blocks:
                continue
            start, cells = np.array([(block.start, block.n_cells) for block in blocks]).T[..., None]
            inside = np.arange(cells.max()) < cells
            columns = np.where(inside, start + np.arange(cells.max()), 0)
            source[columns[inside]] = sum(part.shape[1] for part in parts) + np.flatnonzero(inside)
            masses = jnp.where(jnp.asarray(inside), mass[jnp.asarray(columns)], 0)
            sizes = [size * n for size in SIZES[:n_sizes] for n in (1, 1 + exchangeable)]
            merge_all = jax.vmap(merge, in_axes=(None, None, 0))
            merged = merge_all(masses, jnp.asarray(cells, jnp.float64), jnp.asarray(sizes, jnp.float64))
            parts.append(merged.astype(jnp.int32).reshape(len(sizes), -1))
        return jnp.concatenate(parts, axis=1)[:, jnp.asarray(np.maximum(source, 0))]


def _merged_categories(mass: Float[Array, "m c"], _: Any, size: Float[Array, ""]) -> Float[Array, "m c"]:
    """Rank of each category by mass (ties keep their order); the rarest categories share the last cell."""
    rank = jnp.argsort(jnp.argsort(-mass, axis=1), axis=1)
    return jnp.minimum(rank.astype(mass.dtype), size - 1)


def _merged_numbers(
    mass: Float[Array, "m c"], n_cells: Float[Array, "m 1"], size: Float[Array, ""]
) -> Float[Array, "m c"]:
    running, occupied = (jnp.cumsum(x.astype(mass.dtype), axis=1) for x in (mass, mass > 0))
    total = running[:, -1:]
    by_width = _cut(2 * jnp.arange(mass.shape[1], dtype=mass.dtype)[None] + 1, 2 * n_cells, size)
    by_rank = _cut(2 * running - mass, 2 * divisor(total), size)
    merged = jnp.arange(SIZES[-1], dtype=mass.dtype)[:, None, None]
    share = jnp.where(by_width[None] == merged, mass[None], 0).sum(axis=2, keepdims=True)
    even = ((share >= _LEAST_SHARE * total[None] / size) | (merged >= size)).all(axis=0)
    few = occupied[:, -1:] <= size
    return jnp.where(few, jnp.maximum(occupied - 1, 0), jnp.where(even, by_width, by_rank))


def _cut(
    twice: Float[Array, "#m c"], length: Float[Array, "m 1"], n: Float[Array, ""]
) -> Float[Array, "m c"]:
    """Which of n equal parts of [0, length] contains ``twice``, which is twice the middle of a cell.

    On a border it is the part nearer the middle.
    """
    at = n * twice / length
    at = jnp.where(jnp.abs(at - jnp.round(at)) < _ROUNDING, jnp.round(at), at)
    nearest = jnp.where(2 * twice <= length, jnp.floor(at), jnp.ceil(at) - 1)
    return jnp.clip(nearest, 0, n - 1)
