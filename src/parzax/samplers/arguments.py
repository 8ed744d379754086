"""Arguments of `parzax.samplers.Sampler`: NumPy arrays are checked; JAX arrays stay on their device."""

import warnings
from typing import Any, TypeVar

import jax
import numpy as np

from parzax import _checks
from parzax._compile import Compiled, compiled
from parzax._numerics import to_device
from parzax._words import plural
from parzax.space import Frame, Points, Space
from parzax.space.checks import refuse_rows
from parzax.split.state import State, violations

R = TypeVar("R")


def call(function: Compiled[..., R], *arguments: Any) -> R:
    """function(*arguments) with NumPy arrays moved to the device; inlined if an argument is traced."""
    if _checks.is_traced(arguments):
        return function(*arguments)
    return function(*to_device(arguments))


def is_starting(state: State, n_startup: int) -> bool | None:
    """Whether fewer than ``n_startup`` rows are not constraint-only; None if traced or on an accelerator."""
    # On an accelerator a suggestion should not wait for a transfer.
    devices = () if _checks.is_traced(state) else getattr(state.x, "devices", tuple)()
    if all(device.platform != "cpu" for device in devices):
        return None
    count, only = jax.device_get((state.count, state.constraint_only))
    return bool(count - only[:count].sum() < n_startup)


_encode = compiled(Frame.encode)


def configurations(name: str, x: Any, space: Space, frame: Frame, dtype: Any) -> tuple[Any, Points]:
    """(n, d) native values, checked unless traced, and their points; NumPy arrays are encoded in float64."""
    x = numbers(name, x)
    x = x.reshape(1, -1) if x.ndim == 1 else x
    _checks.check_shape(name, x, "n", len(space))
    if isinstance(x, jax.Array):
        x = x.astype(dtype)
        at = call(_encode, frame, x)
    else:
        at = space.frame().encode(x)
    if not _checks.is_traced(at):
        refuse_rows(name, space, x, jax.device_get(at.valid))
    return x.astype(dtype), to_device(at, dtype)


def numbers(name: str, values: Any) -> Any:
    """Keep JAX arrays, stack traced numbers, and convert all else to NumPy float64, with NaN for masked."""
    if isinstance(values, jax.Array) or _checks.is_traced(values):
        return _checks.real_array(name, values)
    return _checks.float_array(name, values)


def columns(name: str, values: Any, n: int, width: int) -> Any:
    """Values as (n, width). A single column may be given as (n,); None stands for no columns."""
    if values is None:
        if width:
            raise ValueError(f"{name} must have shape ({n}, {width}), as the sampler says; got None.")
        return np.zeros((n, 0))
    values = numbers(name, values)
    values = values.reshape(n, 1) if values.ndim <= 1 and width == 1 and values.size == n else values
    hint = " (this sampler has none; parzax.tpe(space, n_constraints=...) has)"
    _checks.check_shape(name, values, n, width, hint=hint * (name == "constraints" and not width))
    return values


def constraint_columns(values: Any, losses: Any, n: int, width: int, dtype: Any) -> Any:
    """Constraints as (n, c). In NumPy arrays a violation that ``dtype`` would round to 0 stays positive.

    ValueError if a row has losses but a NaN constraint; traced arrays set a status instead.
    """
    if any(np.issubdtype(getattr(v, "dtype", type(v)), np.bool_) for v in jax.tree.leaves(values)):
        raise TypeError("constraints must be numbers (<= 0 means satisfied), got True or False values.")
    values = columns("constraints", values, n, width)
    if width and losses is not None and not _checks.is_traced(losses, values):
        is_nan = [np.isnan(part).any(axis=-1) for part in jax.device_get((losses, values))]
        bad = np.flatnonzero(~is_nan[0] & is_nan[1])
        if len(bad):
            raise ValueError(
                f"constraints: row {bad[0]} is NaN although it has losses. Give +inf if the constraint "
                "is violated, give NaN losses if the row has failed, or use augment if the row has only "
                "constraints."
            )
    return values if isinstance(values, jax.Array) else violations(values, dtype)


def warn_of_unseen(what: str, n_constraints: int) -> None:
    """Warn that a sampler without constraints was given constraints; ``what`` begins the sentence."""
    count = plural(n_constraints, "constraint")
    warnings.warn(
        f"{what} {count}, but the sampler ignores them, so many of its suggestions may violate them; "
        f"use px.tpe(space, n_constraints={n_constraints}).",
        stacklevel=_checks.outside(),
    )
