"""The level that is shown where one of several is."""

import numpy as np

from parzax.status import Status

USUAL_LEVEL = 0.1


def usual_level(levels: np.ndarray, status: np.ndarray) -> int:
    """Of (q,) levels with (..., q, d) status the nearest to 0.1 without LOW_DATA, or nearest if all have it.

    Of several seeds what holds in half of them.
    """
    few = (np.asarray(status) & int(Status.LOW_DATA | Status.SAME_SETS | Status.NO_DATA) != 0).any(axis=-1)
    few = few.reshape(-1, len(levels)).mean(axis=0) >= 0.5
    away = np.abs(levels - USUAL_LEVEL)
    return int((away if few.all() else np.where(few, np.inf, away)).argmin())
