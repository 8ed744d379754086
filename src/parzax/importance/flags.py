"""Which statuses apply to each level and parameter of a sweep."""

from typing import TYPE_CHECKING

import numpy as np

from parzax.observations import Layout, LevelSets
from parzax.parzen import GridEstimator
from parzax.space import Space, Varying
from parzax.status import Status

if TYPE_CHECKING:
    from parzax.importance.sweep import Sweep

# Fewer target rows than this set LOW_DATA: with about ten the debiased variance of a strong parameter
# comes out a third too low.
LOW_DATA_ROWS = 10


def statuses(
    out: "Sweep", sets: LevelSets, losses: np.ndarray, layout: Layout, space: Space, estimator: GridEstimator
) -> np.ndarray:
    """Status bits, (s, q, d) int32, levels in the ascending order of the sweep."""
    n_seeds, n_levels, n_parameters = out.variance.shape
    level_bits = np.zeros((n_seeds, n_levels), np.int32)
    totals, region_total = out.n_target[:, :, 0].sum(-1), out.n_region[:, 0].sum(-1)
    requested = np.empty_like(sets.requested)
    requested[:, sets.order] = sets.requested
    finite = np.where(np.isnan(losses), np.nan, losses)
    with np.errstate(all="ignore"):
        usable = ~np.isnan(finite)
        low = np.where(usable, finite, np.inf).min(axis=-1, initial=np.inf)
        high = np.where(usable, finite, -np.inf).max(axis=-1, initial=-np.inf)
    empty = sets.total < 2
    level_bits[empty] |= Status.NO_DATA
    level_bits[(low == high) & ~empty] |= Status.ALL_EQUAL
    level_bits |= np.where(totals == region_total[:, None], np.int32(Status.SAME_SETS), 0)
    level_bits |= np.where(totals > requested * (1 + 1e-6), np.int32(Status.TIED_CUTOFF), 0)
    level_bits |= np.where(totals <= LOW_DATA_ROWS, np.int32(Status.LOW_DATA), 0)
    level_bits |= np.where((out.variance > 0).any(axis=-1), 0, np.int32(Status.ALL_ZERO))

    parameter_bits = np.zeros((n_seeds, n_parameters), np.int32)
    active = out.n_region[..., :-1]
    sparse = ((active > 0) & (active < estimator.min_regime_rows)).any(axis=-1)
    parameter_bits |= np.where(sparse, np.int32(Status.SPARSE_REGIME), 0)
    parameter_bits |= np.where(active.sum(axis=-1) == 0, np.int32(Status.NEVER_ACTIVE), 0)
    occupied = np.zeros((n_seeds, n_parameters), np.int64)
    for slot in layout.slots:
        in_region = out.counts[:, -1, slot.start : slot.start + slot.n_cells]
        occupied[:, slot.parameter] = np.maximum(occupied[:, slot.parameter], (in_region > 0).sum(axis=-1))
    fixed = np.zeros(n_parameters, np.int32)
    for j, domains in enumerate(space.domains):
        if any(isinstance(d, Varying) for d in domains):
            fixed[j] |= Status.UNIDENTIFIABLE
        elif all(d.is_single for d in domains):  # type: ignore[attr-defined]
            fixed[j] |= Status.SINGLE_VALUE
    parameter_bits |= np.where((occupied == 1) & (fixed == 0), np.int32(Status.CONSTANT), 0)
    bits = level_bits[:, :, None] | parameter_bits[:, None, :] | fixed
    return bits | np.where(out.variance < 0, np.int32(Status.NOT_ABOVE_CHANCE), 0)
