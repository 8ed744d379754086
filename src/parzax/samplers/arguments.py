"""What `Sampler` is given, as arrays; on the host, mistakes are refused by name."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from parzax import _checks
from parzax.parzen.points import inside
from parzax.samplers.rounding import violations
from parzax.space import Space


def as_array(name: str, values: Any, dtype: Any) -> Array:
    """Numbers as an array of ``dtype``; what is not rectangular or no number is refused by name."""
    if isinstance(values, jax.Array) and not jnp.issubdtype(values.dtype, jnp.complexfloating):
        return values.astype(dtype)
    traced = any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(values))
    return jnp.asarray(values if traced else _checks.float_array(name, values), dtype)


def refuse_outside(name: str, x: Array, space: Space) -> None:
    """On the host: rows outside the space are a mistake."""
    if isinstance(x, Tracer):
        return
    bad = np.flatnonzero(~inside(space, np.asarray(x)))
    if len(bad):
        raise ValueError(
            f"{name}: row {bad[0]} is not a configuration of the space: {np.asarray(x)[bad[0]].tolist()}; "
            "values are native, categories are codes, inactive parameters are NaN."
        )


def check_width(x: Array, space: Space) -> None:
    """Rows have one column per parameter."""
    if x.ndim != 2 or x.shape[1] != len(space):
        raise ValueError(f"x must have shape (n, {len(space)}), got {x.shape}.")


def refuse_unmeasured(objectives: Array, constraints: Array) -> None:
    """On the host: a constraint of a told row that is NaN is a mistake. Compiled code has a status for it."""
    if constraints.size == 0 or isinstance(objectives, Tracer) or isinstance(constraints, Tracer):
        return
    told = ~np.isnan(np.asarray(objectives)).any(axis=-1)
    bad = np.flatnonzero(told & np.isnan(np.asarray(constraints)).any(axis=-1))
    if len(bad):
        raise ValueError(
            f"constraints: row {bad[0]} is NaN although its objectives are known; give +inf where a "
            "constraint counts as violated, NaN objectives where the row has failed, or use augment for rows "
            "of which only some constraints are known."
        )


def kept_violations(values: Any, dtype: Any) -> Any:
    """On the host: a violation that ``dtype`` would round to 0 stays one; truths are refused."""
    if any(
        isinstance(v, bool) or getattr(v, "dtype", np.dtype(float)).kind == "b"
        for v in jax.tree.leaves(values)
    ):
        raise TypeError("constraints must be numbers, satisfied where <= 0, got truth values.")
    if values is None or any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values)):
        return values
    if isinstance(values, jax.Array) and jnp.issubdtype(values.dtype, jnp.floating):
        values = np.asarray(values, np.float64)  # bfloat16 too
    return violations(_checks.float_array("constraints", values), dtype)


def as_columns(name: str, values: Any, n: int, width: int, dtype: Any) -> Array:
    """(n, width) values; one column may be (n,), and no columns None."""
    if values is None:
        if width:
            raise ValueError(f"{name} must have shape ({n}, {width}), got None.")
        return jnp.zeros((n, 0), dtype)
    values = as_array(name, values, dtype)
    values = values.reshape(n, 1) if values.ndim <= 1 and width == 1 and values.size == n else values
    if values.shape != (n, width):
        raise ValueError(f"{name} must have shape ({n}, {width}), got {values.shape}.")
    return values
