"""What holds in most of the seeds of a result, and the level that is shown where one of several is."""

from typing import Any

import numpy as np

from parzax.results.arrays import ResultArrays
from parzax.results.pairs import InteractionResult
from parzax.status import Status

MOST_SEEDS = 0.5  # what holds in this share of the seeds is said
USUAL_LEVEL = 0.1


def by_seed(result: ResultArrays, array: Any) -> np.ndarray:
    """(s, ...) float64: an ``array`` of the result with all its seed axes as one, of length 1 if none."""
    array = np.asarray(array, dtype=np.float64)
    return array.reshape(result.n_seeds, *array.shape[result.importance.ndim - 2 :])


def share_of_seeds(result: ResultArrays, bit: Status) -> np.ndarray:
    """(q, d) share of the seeds in which ``bit`` is set."""
    return by_seed(result, (result.status & int(bit)) != 0).mean(axis=0)


def pairs_above_chance(result: InteractionResult) -> np.ndarray:
    """(q, p) pairs above chance in more than half of the seeds; without draws, those with an importance."""
    if not result.n_draws:
        return result.over_seeds()[0] > 0
    return np.asarray(result.by_seed(result.above_chance).mean(axis=0) > MOST_SEEDS)


def usual_level(levels: np.ndarray, status: np.ndarray) -> int:
    """Of (q,) levels with (..., q, d) status the nearest to 0.1 without LOW_DATA, or nearest if all have it.

    Of several seeds what holds in half of them.
    """
    few = (np.asarray(status) & int(Status.LOW_DATA | Status.SAME_SETS | Status.NO_DATA) != 0).any(axis=-1)
    few = few.reshape(-1, len(levels)).mean(axis=0) >= MOST_SEEDS
    away = np.abs(levels - USUAL_LEVEL)
    return int((away if few.all() else np.where(few, np.inf, away)).argmin())
