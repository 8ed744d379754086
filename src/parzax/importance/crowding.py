"""Where most rows share a few cells at one end of the grid, as values of a log axis do on a linear one."""

from functools import lru_cache

import numpy as np

from parzax.importance.grid import Layout
from parzax.status import Status

# Of a domain with so many cells or more, the cells at either end that rows may crowd into.
_MANY, _AT_END = 48, 2


def crowded(region: np.ndarray, layout: Layout) -> np.ndarray:
    """(s, d) the status CROWDED of parameters of which more than half of the rows lie at one end of a regime.

    Args:
        region: (s, w) counts of the region.
        layout: its columns.
    """
    out = np.zeros((len(region), len(layout.offsets)), np.int32)
    start, end, parameter = _numeric(layout)
    if not len(start):
        return out
    upto = np.zeros((len(region), region.shape[1] + 1))
    np.cumsum(region, axis=1, out=upto[:, 1:])
    first, last = upto[:, start], upto[:, end]
    at_ends = np.maximum(upto[:, start + _AT_END] - first, last - upto[:, end - _AT_END])
    for seed, block in np.argwhere(2 * at_ends > last - first).tolist():
        # All rows in one cell are a constant, which has a status of its own.
        if np.count_nonzero(region[seed, start[block] : end[block]]) > 1:
            out[seed, parameter[block]] = int(Status.CROWDED)
    return out


@lru_cache(maxsize=256)
def _numeric(layout: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First column, the one after the last, and parameter of the blocks of numbers with many cells."""
    blocks = [
        (block.start, block.start + block.n_cells, block.parameter)
        for block in layout.blocks
        if block.family is not None and not block.family.exchangeable
        if block.n_cells >= _MANY and not block.is_pool
    ]
    start, end, parameter = np.array(blocks, np.int64).reshape(-1, 3).T
    return start, end, parameter
