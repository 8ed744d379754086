"""Counts of logs whose losses were shuffled within the regimes of each parameter, drawn on the host."""

from collections.abc import Sequence

import numpy as np

from parzax.importance import Encoded
from parzax.importance.layout import Layout

# The rows of a regime are shuffled if there are at most this many.
_MOST_ROWS = 3000


def shuffled_counts(seed: Sequence[int], counts: np.ndarray, layout: Layout, n: int) -> np.ndarray:
    """Counts of ``n`` logs whose losses were shuffled within the regimes of each parameter.

    The target rows of a regime are then a random subset of its rows, so that their numbers per cell are
    multivariate hypergeometric. The draws of different parameters are independent, and the draws of a set do
    not depend on the other sets. If the rows are few, the rows are shuffled. If they are many, the counts are
    drawn directly, in a time that does not depend on the number of rows.

    Args:
        seed: seed of the random numbers.
        counts: (q + 1, w) whole numbers, target sets in ascending order and the region, see `sweep_counts`.
        layout: the columns.
        n: number of shuffles.

    Returns:
        (n, q + 1, w) int32; the region's row and the columns of inactive rows are those of ``counts``.
    """
    shuffled = np.repeat(counts[None].astype(np.int32), n, axis=0)
    rng, set_sizes = np.random.default_rng(seed), counts[:-1, : layout.n_codes[0]].sum(axis=1)
    rng_of_set = [np.random.default_rng([*seed, size]) for size in set_sizes.tolist()]
    for block in layout.blocks:
        columns = slice(block.start, block.start + block.n_cells)
        region = counts[-1, columns]
        occupied = np.flatnonzero(region)
        if len(occupied) > 1:
            cells, sizes = region[occupied], counts[:-1, columns].sum(axis=1)
            few = region.sum() <= _MOST_ROWS
            drawn = _shuffled(rng, cells, sizes, n) if few else _drawn(rng_of_set, cells, sizes, n)
            # A slice if possible: indexing by a list takes several times as long.
            shuffled[:, :-1, columns if len(occupied) == block.n_cells else block.start + occupied] = drawn
    return shuffled


def _shuffled(rng: np.random.Generator, region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """(n, sets, cells) rows per cell of target sets: the first ``sizes`` rows of the shuffled region."""
    cells = np.repeat(np.arange(len(region), dtype=np.uint32), region)
    rows = rng.permuted(np.broadcast_to(cells, (n, len(cells))), axis=1)[:, : sizes[-1]]
    first_set = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
    place = (np.arange(n)[:, None] * len(sizes) + first_set) * len(region) + rows
    added = np.bincount(place.reshape(-1), minlength=n * len(sizes) * len(region))
    return added.astype(np.int32).reshape(n, len(sizes), len(region)).cumsum(axis=1, dtype=np.int32)


def _drawn(rngs: Sequence[np.random.Generator], region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """Draw the rows per cell of each target set separately; sets of different levels are not nested."""
    pairs = zip(rngs, sizes, strict=True)
    drawn = [rng.multivariate_hypergeometric(region, size, n, method="marginals") for rng, size in pairs]
    return np.stack(drawn, axis=1)


def shuffled_group_counts(seed: Sequence[int], log: Encoded, n: int) -> np.ndarray:
    """`shuffled_counts` of one log whose rows belong together in groups.

    For each parameter, the rows of a group in one regime are one unit. The units of a regime exchange their
    lists of cells; a unit with more rows than the list that it gets repeats the list. So the region's counts
    change too if units differ in their numbers of rows.

    Args:
        seed: seed of the random numbers.
        log: without weights.
        n: number of shuffles.

    Returns:
        (n, q + 1, w) int32, target sets in ascending order and the region.
    """
    layout, n_sets, groups = log.layout, len(log.levels) + 1, np.asarray(log.groups)
    rng = np.random.default_rng(seed)
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
