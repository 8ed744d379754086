"""What `parzax.samplers.Sampler` is given, on its way in; on the host, mistakes are refused by name."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parzax import _checks
from parzax._programs import program
from parzax.parzen.rows import on_device
from parzax.space import Points, Space, frame_of, host_frame
from parzax.split.state import violations


def compiled(function: Callable[..., Any], *arguments: Any) -> Any:
    """function(*arguments), as one compiled program where it is not part of another already."""
    return function(*arguments) if _checks.is_traced(arguments) else _call(function, *arguments)


@program
def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def configurations(name: str, x: Any, space: Space, dtype: Any) -> tuple[Any, Points]:
    """(n, d) native values, and the same as points: on the host in float64, or where they are traced."""
    traced, x = _checks.is_traced(x), numbers(name, x, dtype)
    x = x[None] if x.ndim == 1 else x
    if x.ndim != 2 or x.shape[1] != len(space):
        raise ValueError(f"{name} must have shape (n, {len(space)}), got {x.shape}.")
    if traced:
        return x, frame_of(space, dtype).encode(x)
    at = host_frame(space).encode(x)
    bad = np.flatnonzero(~at.valid.all(axis=-1))
    if len(bad):
        wrong = [space.names[j] for j in np.flatnonzero(~at.valid[bad[0]])]
        raise ValueError(
            f"{name}: row {bad[0]} is not a configuration of the space: {x[bad[0]].tolist()} is wrong in "
            f"{', '.join(wrong)}; values are native, categories are codes, inactive parameters are NaN."
        )
    return x.astype(dtype), on_device(at, dtype)


def numbers(name: str, values: Any, dtype: Any) -> Any:
    """An array of ``dtype`` where traced; else of NumPy, NaN where masked, of the floats that it came in."""
    if _checks.is_traced(values):
        return jnp.asarray(values, dtype)
    if isinstance(values, jax.Array) and jnp.issubdtype(values.dtype, jnp.floating):
        wide = values.dtype in (jnp.float32, jnp.float64)
        return np.asarray(values if wide else values.astype(jnp.float32))
    return _checks.float_array(name, values)


def columns(name: str, values: Any, n: int, width: int, dtype: Any) -> Any:
    """(n, width) values; one column may be (n,), and no columns None."""
    if values is None:
        if width:
            raise ValueError(
                f"{name} must have shape ({n}, {width}), one column for each of the sampler's; got None."
            )
        return np.zeros((n, 0), dtype)
    values = numbers(name, values, dtype)
    values = values.reshape(n, 1) if values.ndim <= 1 and width == 1 and values.size == n else values
    if values.shape != (n, width):
        none = (
            " (this sampler has none; parzax.tpe(space, n_constraints=...) has)"
            if name == "constraints" and not width
            else ""
        )
        raise ValueError(f"{name} must have shape ({n}, {width}), got {values.shape}{none}.")
    return values


def constraints_of(values: Any, objectives: Any, width: int, dtype: Any) -> Any:
    """Constraints; on the host violations that ``dtype`` rounds to 0 stay some, and mistakes are refused.

    There NaN in an evaluated row is one; compiled code has a status for it.
    """
    kinds = [
        getattr(v, "dtype", np.dtype(type(v) if isinstance(v, bool) else float)).kind
        for v in jax.tree.leaves(values)
    ]
    if "b" in kinds:
        raise TypeError("constraints must be numbers, satisfied where <= 0, got truth values.")
    values = columns("constraints", values, len(objectives), width, dtype)
    values = violations(values, dtype) if isinstance(values, np.ndarray) else values
    if values.size == 0 or _checks.is_traced(objectives, values):
        return values
    evaluated = ~np.isnan(objectives).any(axis=-1)
    bad = np.flatnonzero(evaluated & np.isnan(values).any(axis=-1))
    if len(bad):
        raise ValueError(
            f"constraints: row {bad[0]} is NaN although its objectives are known; give +inf where a "
            "constraint counts as violated, NaN objectives where the row has failed, or use augment for rows "
            "of which only some constraints are known."
        )
    return values
