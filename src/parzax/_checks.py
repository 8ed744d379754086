"""Host-side checks: a ValueError or TypeError that names the argument, the value and the remedy."""

import numbers
import zipfile
import zlib
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

# What damaged or foreign npz files raise while they are read; NotImplementedError is zipfile's for a
# compression that it does not know.
UNREADABLE = (
    OSError, EOFError, KeyError, TypeError, ValueError, AttributeError, IndexError, MemoryError,
    OverflowError, NotImplementedError, RecursionError, SyntaxError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def real_number(name: str, value: Any) -> float:
    """Return ``value`` as a finite float, or raise an error that names ``name``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    return number


def plain(value: Any) -> Any:
    """A NumPy scalar or 0-d array as the plain number that it prints as; anything else as it is."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.floating):
        return float(str(value))  # 0.1 for np.float32(0.1), not 0.10000000149
    return value.item() if isinstance(value, np.generic) else value


def scalar(name: str, value: Any) -> float | None:
    """Return a number as a finite float, None for a JAX array, which may be traced; or raise."""
    return None if isinstance(value, jax.Array) else real_number(name, value)


def flag(name: str, value: Any) -> bool:
    """Return ``value`` as a bool, or raise."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int within [least, most], or raise."""
    if isinstance(value, Tracer):
        raise TypeError(f"{name} must be a number, not traced; with jax.jit give static_argnames={name!r}.")
    value = plain(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {limits}, got {value!r}.")
    return int(value)


def one_of(name: str, value: Any, options: Iterable[Any]) -> Any:
    """Return ``value`` if it is one of ``options``, or raise an error that lists them."""
    options = list(options)
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}.")
    return value


def float_array(name: str, values: Any) -> np.ndarray:
    """Return ``values`` as a float64 NumPy array; objects, strings and complex numbers are refused."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array: {error}.") from error
    if array.dtype.kind not in "fiub":
        hint = " Encode categories as integer codes." if name in ("values", "x") else ""
        raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}.{hint}")
    return np.array(array, dtype=np.float64)  # a copy: what was checked must not change


def ordered(name: str, values: Any, columns: Iterable[str]) -> Any:
    """A data frame's columns in the order of ``columns``; anything else as it is.

    Raises:
        ValueError: a data frame that lacks a column.
    """
    found = getattr(values, "columns", None)
    if found is None:
        return values
    wanted = list(columns)
    missing = [column for column in wanted if column not in list(found)]
    if missing:
        raise ValueError(
            f"{name} has no column {missing[0]!r}; rename its columns to the space's names, or give an array."
        )
    return values[wanted]


def check_key(key: Any) -> None:
    """One typed key, not used before."""
    if not isinstance(key, jax.Array) or not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        kind = f"an array of dtype {key.dtype}" if isinstance(key, jax.Array) else repr(key)
        raise TypeError(f"key must be a typed key such as jax.random.key(0), got {kind}.")
    if key.shape != ():
        raise ValueError(f"key must be one key, got shape {key.shape}; use jax.vmap for a batch.")


def vectors(**arrays: Any) -> None:
    """Raise unless all arrays (traced ones too) are vectors of one length."""
    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(
            f"{' and '.join(arrays)} must be vectors of one length, got shapes {found}; "
            "use jax.vmap for a batch."
        )


def quantile(name: str, value: Any) -> float:
    """Return ``value`` as a float in (0, 1], or raise."""
    number = real_number(name, value)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{name} must lie in (0, 1], got {value!r}.")
    return number


def axis_label(index: tuple[int, ...]) -> str:
    """Name a position of a (..., n) array for an error message: "row 3" or "seed 1, row 3"."""
    *seeds, row = index
    prefix = f"seed {', '.join(str(int(i)) for i in seeds)}, " if seeds else ""
    return f"{prefix}row {int(row)}"
