"""Which statuses apply to each level and pair, on the host."""

from typing import Any

import numpy as np

from parzax.importance.flags import few_rows
from parzax.importance.pair_cells import PairCells
from parzax.importance.pair_program import PairArrays
from parzax.space import Space, Varying
from parzax.status import Status

# Where nothing is known of an interaction, there is no p-value either.
UNKNOWN = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS | Status.CONSTANT | Status.SINGLE_VALUE
UNKNOWN |= Status.UNIDENTIFIABLE | Status.NEVER_TOGETHER


def pair_status(
    space: Space, pairs: np.ndarray, cells: PairCells, found: PairArrays, of_levels: np.ndarray
) -> np.ndarray:
    """(s, q, p) status bits.

    Args:
        space, pairs: of which parameters, by indices.
        cells, found: of the pairs, levels in ascending order.
        of_levels: (s, q) bits known from the losses alone.
    """
    varying = np.array([any(isinstance(own, Varying) for own in domains) for domains in space.domains])
    single = np.array([all(own.n_values == 1 for own in domains) for domains in space.domains]) & ~varying
    s, q, p = found.beyond.shape
    of_slots, n_sets = np.array([slot.pair for slot in cells.slots], np.int64), found.n_sets

    def summed(x: np.ndarray) -> np.ndarray:
        """Over the slots of each pair."""
        out = np.zeros((p, *x.shape[:-1]))
        np.add.at(out, of_slots, np.moveaxis(x, -1, 0))
        return np.moveaxis(out, 0, -1)

    varied = summed((found.n_cells[..., 1:] > 1).all(axis=-1)) > 0
    n_target, n_region = summed(found.n_target), summed(found.n_region)[:, None]

    variance = found.pairs[..., 0] - found.pairs[..., 1] - found.pairs[..., 2]

    def bit(status: Status, where: Any) -> np.ndarray:
        return np.where(where, int(status), 0)

    together = (cells.n_active > 0)[:, None]
    known = together & varied[:, None]
    of_pairs = bit(Status.UNIDENTIFIABLE, varying[pairs].any(axis=1))
    of_pairs |= bit(Status.SINGLE_VALUE, single[pairs].any(axis=1))
    fixed = (varying | single)[pairs].any(axis=1)
    status = of_levels[:, :, None] | bit(Status.SAME_SETS, n_sets[:, :-1] == n_sets[:, -1:])[..., None]
    status = status | of_pairs | bit(Status.NEVER_TOGETHER, ~together & (n_sets[:, -1:, None] > 0))
    status |= bit(Status.CONSTANT, together & ~varied[:, None] & ~fixed)
    status |= bit(Status.LOW_DATA, known & few_rows(n_target, np.broadcast_to(n_region, n_target.shape)))
    status |= bit(Status.NOT_ABOVE_CHANCE, variance < 0)
    return np.broadcast_to(status, (s, q, p)).astype(np.int32)
