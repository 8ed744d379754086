"""Bad entries in arrays of rows: the position of the first one, and its name in an error message."""

from typing import Any

import numpy as np

from parzax import _checks


def find_first(bad: np.ndarray) -> tuple[Any, ...]:
    """Where the first true entry is; () if there is none."""
    return tuple(np.argwhere(bad)[0]) if bad.any() else ()


def and_more(bad: np.ndarray) -> str:
    """Say in an error message how many more rows are bad."""
    n_more = np.count_nonzero(bad) - 1
    return f" (and {n_more} more such rows)" if n_more else ""


def axis_label(index: tuple[int, ...]) -> str:
    """Name a position of a (..., n) array for an error message: "row 3" or "seed 1, row 3"."""
    *seeds, row = map(str, map(int, index))
    return f"seed {', '.join(seeds)}, row {row}" if seeds else f"row {row}"


def check_weight(weight: Any, shape: tuple[int, ...], name: str = "weight") -> np.ndarray:
    """Check the weights of rows of ``shape`` (..., n): finite and at least 0."""
    weight = _checks.float_array(name, weight)
    if weight.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {weight.shape}.")
    if where := find_first(~((weight >= 0) & (weight < np.inf))):
        entry = f"{axis_label(where)} is {float(weight[where])!r}"
        raise ValueError(f"{name}: {entry}; weights must be finite and at least 0.")
    return weight
