"""Checks of rows of arrays: name the first bad entry, and check weights and masks."""

import warnings
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parzax import _checks
from parzax._words import plural


def find_first(bad: np.ndarray) -> tuple[Any, ...]:
    """Position of the first true entry; () if there is none."""
    return tuple(np.argwhere(bad)[0]) if bad.any() else ()


def and_more(bad: np.ndarray) -> str:
    """Say in an error message how many more rows are bad."""
    n_more = int(np.count_nonzero(bad)) - 1
    return f" (and {plural(n_more, 'more such row')})" if n_more else ""


def axis_label(index: tuple[int, ...]) -> str:
    """Name a position of a (..., n) array for an error message: "row 3" or "seed 1, row 3"."""
    *seeds, row = map(str, map(int, index))
    return f"seed {', '.join(seeds)}, row {row}" if seeds else f"row {row}"


def check_weight(weight: Any, shape: tuple[int, ...], name: str = "weight") -> np.ndarray:
    """Check the weights of rows of ``shape`` (..., n): finite and at least 0."""
    weight = _checks.float_array(name, weight)
    _checks.check_shape(name, weight, *shape)
    if where := find_first(~((weight >= 0) & (weight < np.inf))):
        entry = f"{axis_label(where)} is {float(weight[where])!r}"
        raise ValueError(f"{name}: {entry}; weights must be finite and at least 0.")
    return weight


def checked_counts(name: str, counts: Any) -> jax.Array:
    """Counts or weights as an array: integers if their dtype is and their sum fits, else floats."""
    traced = _checks.is_traced(counts)
    host = counts if traced else _checks.unmasked(name, counts)
    floating, wide = jnp.issubdtype(host.dtype, jnp.floating), host.dtype.itemsize > 4
    if not floating and host.dtype.kind not in "iub":
        raise TypeError(f"{name} must hold real numbers, got dtype {host.dtype}.")
    if traced and floating:
        return jnp.where((host >= 0) & (host < jnp.inf), host, jnp.nan)
    if traced:  # traced integers are widened first, because sums of bytes would wrap round
        return jnp.maximum(host.astype(host.dtype if wide else jnp.int32), 0)
    bad = np.argwhere(~((host >= 0) & (host < np.inf)))
    if len(bad):
        raise ValueError(
            f"{name}: entry {bad[0].tolist()} is {host[tuple(bad[0])]!r}; counts are at least 0 and finite."
        )
    if floating:
        return counts if isinstance(counts, jax.Array) else jnp.asarray(host)
    integer = jnp.result_type(int) if wide else jnp.dtype(jnp.int32)
    total = host.astype(object).sum() if wide else host.sum(dtype=np.float64)
    return jnp.asarray(host, integer if total <= jnp.iinfo(integer).max else float)


def check_groups(groups: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Convert labels of groups (integers or text) to int32 numbers of ``shape`` (..., n), or raise."""
    labels = _checks.unmasked("groups", groups)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.flat):
        labels = labels.astype(str)
    _checks.check_shape("groups", labels, *shape, hint="; give one label per row")
    if labels.dtype.kind not in "biuUT":
        raise TypeError(f"groups must hold whole numbers or text, got dtype {labels.dtype}; convert it.")
    return np.unique(labels, return_inverse=True)[1].reshape(shape).astype(np.int32)


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


def warn_of_normalised(weight: np.ndarray | None, besides: str = "") -> None:
    """Warn if frequency weights (..., n) sum to 1; users of other packages may expect relative weights."""
    if weight is None:
        return
    if ((np.count_nonzero(weight, axis=-1) > 2) & (np.abs(weight.sum(axis=-1) - 1) < 1e-6)).any():
        warnings.warn(
            f"weight sums to 1, so all rows together count as one{besides}; multiply by the number of rows "
            "if the weights are relative.",
            UserWarning,
            stacklevel=_checks.outside(),
        )
