"""Pairs of parameters, their slots (pairs of regimes), and row counts in the cells of each slot.

A pair of parameters with k regimes has k^2 slots. The rows of a slot are active in one regime of each of the
two parameters; a slot without rows adds nothing.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from parzax import _checks
from parzax._numerics import divisor
from parzax._numerics.circle import unrolled_cells
from parzax.importance.counts import sweep_counts
from parzax.importance.encode import Encoded
from parzax.importance.layout import Block, Layout

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
        for merge in (_merged_numbers, _merged_arcs, _merged_categories):
            blocks = [block for block in layout.blocks if block.has_cells and _merging(block) is merge]
            if not blocks:
                continue
            start, cells = np.array([(block.start, block.n_cells) for block in blocks]).T[..., None]
            inside = np.arange(cells.max()) < cells
            columns = np.where(inside, start + np.arange(cells.max()), 0)
            source[columns[inside]] = sum(part.shape[1] for part in parts) + np.flatnonzero(inside)
            masses = jnp.where(jnp.asarray(inside), mass[jnp.asarray(columns)], 0)
            sizes = [size * n for size in SIZES[:n_sizes] for n in (1, 1 + (merge is _merged_categories))]
            merge_all = jax.vmap(merge, in_axes=(None, None, 0))
            merged = merge_all(masses, jnp.asarray(cells, jnp.float64), jnp.asarray(sizes, jnp.float64))
            parts.append(merged.astype(jnp.int32).reshape(len(sizes), -1))
        return jnp.concatenate(parts, axis=1)[:, jnp.asarray(np.maximum(source, 0))]


def _merging(block: Block) -> Any:
    """The function that merges the cells of a block."""
    if block.is_categorical:
        return _merged_categories
    return _merged_arcs if block.family is not None and block.family.periodic else _merged_numbers


def _merged_arcs(
    mass: Float[Array, "m c"], n_cells: Float[Array, "m 1"], size: Float[Array, ""]
) -> Float[Array, "m c"]:
    """As `_merged_numbers`, on a circle that is cut where the variance of the cells is smallest."""
    line = jax.vmap(unrolled_cells)(mass, n_cells[:, 0].astype(jnp.int32))
    merged = _merged_numbers(jnp.take_along_axis(mass, line, axis=1), n_cells, size)
    return jnp.take_along_axis(merged, jnp.argsort(line, axis=1), axis=1)


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


# Indices of the two parameters of each pair.
Pairs: TypeAlias = tuple[tuple[int, int], ...]


def checked_pairs(pairs: Any, names: Sequence[Any]) -> Pairs:
    """Indices of pairs of parameters, which are given by their ``names``; None or "all" is all pairs.

    Raises:
        TypeError, ValueError: for an entry that is not a pair of two parameters, and for a repeated pair.
    """
    chosen = []
    if pairs is None or isinstance(pairs, str):
        _checks.one_of("pairs", pairs, (None, "all"))
        return tuple(combinations(range(len(names)), 2))
    _checks.instance("pairs", pairs, Iterable, '"all" or a list of pairs of parameters')
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(f"pairs must hold pairs of parameters such as {tuple(names[:2])}, got {pair!r}.")
        for name in pair:
            if name not in names:
                options = ", ".join(map(repr, names))
                raise ValueError(f"pairs: no parameter {name!r} (in {tuple(pair)!r}); there are {options}.")
        chosen.append((names.index(pair[0]), names.index(pair[1])))
        if chosen[-1][0] == chosen[-1][1]:
            raise ValueError(f"pairs: {tuple(pair)!r} is one parameter; a pair needs two.")
        if len(set(map(frozenset, chosen))) < len(chosen):
            raise ValueError(f"pairs holds {tuple(pair)!r} twice (in either order).")
    if not chosen:
        raise ValueError('pairs is empty; give at least one, or "all".')
    return tuple(chosen)


class PairCounts(NamedTuple):
    """Rows (weight) of q level sets, and of the region last; the r = p k^2 slots follow pair after pair."""

    sets: Shaped[Array, " q1"]  # rows in each set
    active: Shaped[Array, " p"]  # rows of the region in which both parameters of a pair are active
    # Rows per cell of the slots, by the cells of the first and of the second parameter.
    cells: Shaped[Array, "q1 r w w"]


def pair_counts(log: Encoded, pairs: Pairs) -> PairCounts:
    """Counts of all slots of one log. The rows of the region decide which grid cells are merged."""
    layout, (first, second) = log.layout, np.array(pairs, np.int32).reshape(-1, 2).T
    codes, level, weight, place = log.codes.astype(jnp.int32), log.level, log.weight, log.place
    p, k, weights = len(pairs), layout.n_regimes - 1, None if weight is None else weight[None]

    def count(codes: Int[Array, "c n"], layout: Layout) -> Shaped[Array, "q1 w"]:
        return sweep_counts(codes[None], level[None], weights, place=place, layout=layout)[0]

    def count_slots(cell: Int[Array, "p n"] | int, n: int) -> Shaped[Array, "q1 r c"]:
        # The last column of a pair counts the rows that are in none of its slots.
        width = k**2 * n + 1
        columns = Layout((), tuple(range(0, p * width, width)), p * width)
        counts = count(jnp.where(is_in_slot, slot * n + cell, width - 1), columns)
        return counts.reshape(len(place) + 1, p, width)[..., :-1].reshape(len(place) + 1, p * k**2, n)

    grid = count(codes, layout)
    # Every row is in exactly one column of the first parameter, so its columns sum to the size of a set.
    sets = grid[:, : layout.n_codes[0]].sum(axis=1, dtype=grid.dtype)
    active = codes < jnp.asarray(layout.n_codes, jnp.int32)[:, None] - 1
    mass = jnp.where(level <= len(place), jnp.ones((), grid.dtype) if weight is None else weight, 0)
    n_active = jnp.where(active[first] & active[second], mass[None], 0).sum(axis=1, dtype=grid.dtype)
    # The slot of every row, numbered within its pair; then the cell of the row in this slot.
    column = codes + jnp.asarray(layout.offsets, jnp.int32)[:, None]
    regime_of_column = np.full(layout.n_columns, k, np.int32)
    for block in layout.blocks:
        if block.has_cells:
            regime_of_column[block.start : block.start + block.n_cells] = block.regime
    regime = jnp.asarray(regime_of_column)[column]
    is_in_slot = (regime[first] < k) & (regime[second] < k)
    slot = jnp.where(is_in_slot, regime[first] * k + regime[second], 0)
    sizes = count_sizes(len(level) if weight is None else np.inf)
    w, merged = slot_width(layout, sizes), merged_cells(grid[-1], layout, sizes).reshape(-1)
    size = slot_sizes(sets[-1], count_slots(0, 1)[-1, :, 0]).reshape(p, k**2)
    start = jnp.take_along_axis(size, slot, axis=1) * layout.n_columns
    cells = count_slots(merged[start + column[first]] * w + merged[start + column[second]], w**2)
    return PairCounts(sets, n_active, cells.reshape(*cells.shape[:2], w, w))
