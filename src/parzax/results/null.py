"""Counts of logs whose losses were shuffled within regimes, drawn from the counts of the log itself."""

import numpy as np

from parzax.importance.layout import Layout

# Rows that are shuffled in the time in which one count is drawn.
_ROWS_PER_DRAW = 5


def shuffled_counts(rng: np.random.Generator, counts: np.ndarray, layout: Layout, n: int) -> np.ndarray:
    """Counts of ``n`` logs whose losses were shuffled within the regimes of each parameter.

    The target rows of a regime are then a random subset of its rows, so that their numbers per cell are
    multivariate hypergeometric, and the sets of all levels are nested as before. A parameter has draws of its
    own. For few rows these are shuffled; for many the numbers themselves are drawn, in a time that does not
    depend on the rows.

    Args:
        rng: the source of randomness.
        counts: (q + 1, w) whole numbers, target sets in ascending order and the region, see `sweep_counts`.
        layout: the columns.
        n: number of shuffles.

    Returns:
        (n, q + 1, w) int32; the region's row and the columns of inactive rows are those of ``counts``.
    """
    found = np.repeat(counts[None].astype(np.int32), n, axis=0)
    for block in layout.blocks:
        own = slice(block.start, block.start + block.n_cells)
        region = counts[-1, own]
        occupied = np.flatnonzero(region)
        # A set that does not grow is the one before it.
        sizes, level = np.unique(counts[:-1, own].sum(axis=1), return_inverse=True)
        if len(occupied) > 1 and sizes[-1] > 0:
            by_rows = region.sum() <= _ROWS_PER_DRAW * len(sizes) * len(occupied)
            drawn = (_shuffled if by_rows else _drawn)(rng, region[occupied], sizes, n)
            # A slice where it will do: lists of places take several times as long.
            all_grow, all_occupied = len(sizes) == len(level), len(occupied) == block.n_cells
            found[:, :-1, own if all_occupied else block.start + occupied] = (
                drawn if all_grow else drawn[:, level]
            )
    return found


def _shuffled(rng: np.random.Generator, region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """(n, sets, cells) rows per cell of the first ``sizes`` of the region's rows, shuffled."""
    cells = np.repeat(np.arange(len(region), dtype=np.uint32), region)
    rows = rng.permuted(np.broadcast_to(cells, (n, len(cells))), axis=1)[:, : sizes[-1]]
    first_set = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
    place = (np.arange(n)[:, None] * len(sizes) + first_set) * len(region) + rows
    new = np.bincount(place.reshape(-1), minlength=n * len(sizes) * len(region))
    return new.astype(np.int32).reshape(n, len(sizes), len(region)).cumsum(axis=1, dtype=np.int32)


def _drawn(rng: np.random.Generator, region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """The same, set by set and cell by cell: of what the smaller sets leave of the region."""
    found = np.zeros((len(sizes), len(region), n), np.int32)
    found[0] = rng.multivariate_hypergeometric(region, sizes[0], n, method="marginals").T
    left = region[:, None] - found[0].astype(region.dtype)
    for own, size in zip(found[1:], np.diff(sizes), strict=True):
        wanted, others = np.full(n, size), left.sum(axis=0)
        for cell in range(len(region)):
            others -= left[cell]
            own[cell] = rng.hypergeometric(left[cell], others, wanted)
            wanted -= own[cell]
        left -= own
    return np.moveaxis(found.cumsum(axis=0, dtype=np.int32), -1, 0)
