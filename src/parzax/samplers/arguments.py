"""Arguments of `parzax.samplers.Sampler`: NumPy arrays are checked, JAX arrays stay on their device."""

from typing import Any, TypeVar

import jax
import numpy as np

from parzax import _checks
from parzax._numerics import to_device
from parzax._programs import CachedJit, program
from parzax.space import Frame, Points, Space, host_frame
from parzax.split.state import violations

R = TypeVar("R")


def call(function: CachedJit[..., R], *arguments: Any) -> R:
    """function(*arguments) with NumPy arrays put on the device; inlined where an argument is traced."""
    if _checks.is_traced(arguments):
        return function.__wrapped__(*arguments)
    return function(*to_device(arguments))


_encode = program(Frame.encode)


def configurations(name: str, x: Any, space: Space, frame: Frame, dtype: Any) -> tuple[Any, Points]:
    """(n, d) native values and their points; values of NumPy are checked, and encoded in float64."""
    x = numbers(name, x)
    x = x.reshape(1, -1) if x.ndim == 1 else x
    if x.ndim != 2 or x.shape[1] != len(space):
        raise ValueError(f"{name} must have shape (n, {len(space)}), got {x.shape}.")
    if isinstance(x, jax.Array):
        x = x.astype(dtype)
        return x, call(_encode, frame, x)
    at = host_frame(space).encode(x)
    bad = np.flatnonzero(~at.valid.all(axis=-1))
    if len(bad):
        wrong = [space.names[j] for j in np.flatnonzero(~at.valid[bad[0]])]
        raise ValueError(
            f"{name}: row {bad[0]} is not a configuration of the space: {x[bad[0]].tolist()} is wrong in "
            f"{', '.join(wrong)}; values are native, categories are codes, inactive parameters are NaN."
        )
    return x.astype(dtype), to_device(at, dtype)


def numbers(name: str, values: Any) -> Any:
    """Keep JAX arrays, stack traced numbers, and turn anything else into NumPy float64, NaN where masked."""
    if isinstance(values, jax.Array) or _checks.is_traced(values):
        return _checks.real_array(name, values)
    return _checks.float_array(name, values)


def columns(name: str, values: Any, n: int, width: int) -> Any:
    """(n, width) values; one column may be (n,), and no columns None."""
    if values is None:
        if width:
            raise ValueError(
                f"{name} must have shape ({n}, {width}), one column for each of the sampler's; got None."
            )
        return np.zeros((n, 0))
    values = numbers(name, values)
    values = values.reshape(n, 1) if values.ndim <= 1 and width == 1 and values.size == n else values
    if values.shape != (n, width):
        hint = (
            " (this sampler has none; parzax.tpe(space, n_constraints=...) has)"
            if name == "constraints" and not width
            else ""
        )
        raise ValueError(f"{name} must have shape ({n}, {width}), got {values.shape}{hint}.")
    return values


def constraint_columns(values: Any, objectives: Any, n: int, width: int, dtype: Any) -> Any:
    """(n, c) constraints; in NumPy's a violation that ``dtype`` would round to 0 stays one.

    Where a row has objectives but a NaN constraint, NumPy arrays raise ValueError, and JAX's set a status.
    """
    kinds = [
        getattr(v, "dtype", np.dtype(type(v) if isinstance(v, bool) else float)).kind
        for v in jax.tree.leaves(values)
    ]
    if "b" in kinds:
        raise TypeError("constraints must be numbers, satisfied where <= 0, got truth values.")
    values = columns("constraints", values, n, width)
    if isinstance(values, jax.Array):
        return values
    if isinstance(objectives, np.ndarray):
        evaluated = ~np.isnan(objectives).any(axis=-1)
        bad = np.flatnonzero(evaluated & np.isnan(values).any(axis=-1))
        if len(bad):
            raise ValueError(
                f"constraints: row {bad[0]} is NaN although its objectives are known; give +inf where a "
                "constraint counts as violated, NaN objectives where the row has failed, or use augment for "
                "rows that have constraints only."
            )
    return violations(values, dtype)
