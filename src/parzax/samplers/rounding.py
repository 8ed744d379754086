"""Losses and constraints on their way to the device: what rounding to its dtype must not change."""

from typing import Any

import numpy as np


def resolved(objectives: np.ndarray, dtype: Any) -> np.ndarray:
    """Objectives of a log that is complete, (n, m), as numbers that ``dtype`` tells apart; NaN stays.

    One objective counts by its order alone, and becomes places. Of several, one whose values rounding would
    merge, or that overflow, is measured from its smallest value in units of its range: ranks and crowding
    distances stay the same.
    """
    if objectives.shape[1] == 1:
        places = np.unique(objectives, return_inverse=True)[1].reshape(objectives.shape)
        return np.where(np.isnan(objectives), np.nan, places)
    out = np.array(objectives, np.float64)
    for column in out.T:
        finite = np.isfinite(column)
        values = column[finite]
        with np.errstate(over="ignore"):
            rounded = values.astype(dtype)
        if len(np.unique(rounded)) < len(np.unique(values)) or not np.isfinite(rounded).all():
            # Halved, so that no difference overflows.
            above = values / 2 - values.min() / 2
            column[finite] = above / (above.max() or 1)
    return out


def violations(constraints: np.ndarray, dtype: Any) -> np.ndarray:
    """Constraint values in which a violation that ``dtype`` would round to 0 stays one."""
    return np.where(constraints > 0, np.maximum(constraints, float(np.finfo(dtype).tiny)), constraints)
