"""Counts of logs whose losses were shuffled within the regimes of each parameter, drawn on the host."""

import numpy as np

from parzax.importance import Encoded
from parzax.importance.layout import Layout

# Number of rows that can be shuffled in the time it takes to draw one count.
_ROWS_PER_DRAW = 5


def shuffled_counts(rng: np.random.Generator, counts: np.ndarray, layout: Layout, n: int) -> np.ndarray:
    """Counts of ``n`` logs whose losses were shuffled within the regimes of each parameter.

    The target rows of a regime are then a random subset of its rows, so that their numbers per cell are
    multivariate hypergeometric, and the sets of all levels are nested as before. The draws of different
    parameters are independent. If the rows are few, the rows are shuffled. If they are many, the counts are
    drawn directly, in a time that does not depend on the number of rows.

    Args:
        rng: the source of randomness.
        counts: (q + 1, w) whole numbers, target sets in ascending order and the region, see `sweep_counts`.
        layout: the columns.
        n: number of shuffles.

    Returns:
        (n, q + 1, w) int32; the region's row and the columns of inactive rows are those of ``counts``.
    """
    shuffled = np.repeat(counts[None].astype(np.int32), n, axis=0)
    for block in layout.blocks:
        columns = slice(block.start, block.start + block.n_cells)
        region = counts[-1, columns]
        occupied = np.flatnonzero(region)
        # The sets are nested, so two sets of equal size are the same set.
        sizes, level = np.unique(counts[:-1, columns].sum(axis=1), return_inverse=True)
        if len(occupied) > 1 and sizes[-1] > 0:
            by_rows = region.sum() <= _ROWS_PER_DRAW * len(sizes) * len(occupied)
            drawn = (_shuffled if by_rows else _drawn)(rng, region[occupied], sizes, n)
            # A slice if possible: indexing by a list takes several times as long.
            drawn = drawn if len(sizes) == len(level) else drawn[:, level]
            shuffled[:, :-1, columns if len(occupied) == block.n_cells else block.start + occupied] = drawn
    return shuffled


def _shuffled(rng: np.random.Generator, region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """(n, sets, cells) rows per cell of the first ``sizes`` of the region's rows, shuffled."""
    cells = np.repeat(np.arange(len(region), dtype=np.uint32), region)
    rows = rng.permuted(np.broadcast_to(cells, (n, len(cells))), axis=1)[:, : sizes[-1]]
    first_set = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
    place = (np.arange(n)[:, None] * len(sizes) + first_set) * len(region) + rows
    added = np.bincount(place.reshape(-1), minlength=n * len(sizes) * len(region))
    return added.astype(np.int32).reshape(n, len(sizes), len(region)).cumsum(axis=1, dtype=np.int32)


def _drawn(rng: np.random.Generator, region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """Draw the cells set by set: each set takes from what the smaller sets leave of the region."""
    added = np.zeros((len(sizes), len(region), n), np.int32)
    added[0] = rng.multivariate_hypergeometric(region, sizes[0], n, method="marginals").T
    left = region[:, None] - added[0].astype(region.dtype)
    for cells, size in zip(added[1:], np.diff(sizes), strict=True):
        wanted, others = np.full(n, size), left.sum(axis=0)
        for cell in range(len(region)):
            others -= left[cell]
            cells[cell] = rng.hypergeometric(left[cell], others, wanted)
            wanted -= cells[cell]
        left -= cells
    return np.moveaxis(added.cumsum(axis=0, dtype=np.int32), -1, 0)


def shuffled_group_counts(rng: np.random.Generator, log: Encoded, n: int) -> np.ndarray:
    """`shuffled_counts` of one log whose rows belong together in groups.

    For each parameter, the rows of a group in one regime are one unit. The units of a regime exchange their
    lists of cells; a unit with more rows than the list that it gets repeats the list. So the region's counts
    change too if units differ in their numbers of rows.

    Args:
        rng: the source of randomness.
        log: without weights.
        n: number of shuffles.

    Returns:
        (n, q + 1, w) int32, target sets in ascending order and the region.
    """
    layout, n_sets, groups = log.layout, len(log.levels) + 1, np.asarray(log.groups)
    counts = np.zeros((n, n_sets, layout.n_columns), np.int32)
    in_region = log.level < n_sets
    for block in layout.blocks:
        cell = log.codes[block.parameter].astype(np.int64) + layout.offsets[block.parameter] - block.start
        rows = np.flatnonzero(in_region & (cell >= 0) & (cell < block.n_cells))
        rows = rows[np.argsort(groups[rows], kind="stable")]
        _, start, unit, length = np.unique(
            groups[rows], return_index=True, return_inverse=True, return_counts=True
        )
        listed, place = cell[rows], np.arange(len(rows)) - start[unit]
        if (listed == listed[start][unit]).all():
            place[:] = 0  # if all cells of a list are equal, positions in the list do not matter
        entries, n_rows = np.unique(np.stack([unit, log.level[rows], place]), axis=1, return_counts=True)
        unit, level, place = entries
        other = rng.permuted(np.broadcast_to(np.arange(len(start)), (n, len(start))), axis=1)[:, unit]
        cells = listed[start[other] + place % length[other]]
        place = (np.arange(n)[:, None] * n_sets + level) * block.n_cells + cells
        size = n * n_sets * block.n_cells
        added = np.bincount(place.reshape(-1), np.tile(n_rows, n), size).astype(np.int32)
        columns = slice(block.start, block.start + block.n_cells)
        counts[:, :, columns] = added.reshape(n, n_sets, block.n_cells).cumsum(axis=1, dtype=np.int32)
    return counts
