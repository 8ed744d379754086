"""Rows of a log: a mask of them, and numbers that tell different rows apart."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from parzax import _checks


def row_mask(name: str, mask: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return ``mask`` as a boolean array of ``shape``, or raise."""
    mask = _checks.unmasked(name, mask)
    _checks.check_shape(name, mask, *shape)
    if mask.dtype != bool:
        raise TypeError(f"{name} must be a boolean mask, got dtype {mask.dtype}.")
    return mask


def number_rows(columns: Iterable[np.ndarray], n: int) -> np.ndarray:
    """(n,) numbers of rows, the same for rows with equal entries in all columns (n,); NaN equals NaN."""
    number = np.zeros(n, np.int64)
    for column in columns:
        _, index = np.unique(column, return_inverse=True)
        _, number = np.unique(number * n + index.reshape(-1), return_inverse=True)
        number = number.reshape(-1)
    return number
