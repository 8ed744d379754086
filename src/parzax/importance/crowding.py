"""Where most rows share a few cells at one end of the grid, as values of a log axis do on a linear one."""

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
    blocks = [
        block
        for block in layout.blocks
        if block.family is not None
        and not block.family.exchangeable
        and block.n_cells >= _MANY
        and not block.is_pool
    ]
    out = np.zeros((len(region), len(layout.offsets)), np.int32)
    if not blocks:
        return out
    start, cells, parameter = np.array([(b.start, b.n_cells, b.parameter) for b in blocks]).T

    def between(x: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        upto = np.pad(np.cumsum(x, axis=1, dtype=np.float64), ((0, 0), (1, 0)))
        return upto[:, last] - upto[:, first]

    end = start + cells
    at_ends = np.maximum(between(region, start, start + _AT_END), between(region, end - _AT_END, end))
    # All rows in one cell are a constant, which has a status of its own.
    full = (at_ends > between(region, start, end) / 2) & (between(region > 0, start, end) > 1)
    seed, block = np.nonzero(full)
    out[seed, parameter[block]] = int(Status.CROWDED)
    return out
