"""Rows and configurations of `parzax.ParzenEstimator`: on the host checked, encoded and padded."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax._numerics import placed
from parzax._programs import program
from parzax.observations import capacity
from parzax.observations.validation import checked_regimes, checked_weight
from parzax.parzen.basis import Basis
from parzax.parzen.forms import Form
from parzax.parzen.mixture import KernelMixture
from parzax.space import Frame, Points, Space, check_dtype, frame_of, host_frame


def encoded_rows(space: Space, x: Any, weight: Any, mixture_weight: Any) -> tuple[Points, Any, Any]:
    """Rows as points, and weights; JAX arrays are taken as they are."""
    if isinstance(x, jax.Array):
        return _of_device(space, x, weight, mixture_weight)
    x = _checks.float_array("x", _checks.ordered("x", x, space.names))
    check_shape(space, x)
    extra = capacity(len(x)) - len(x)
    dtype = jnp.result_type(float)
    check_dtype(space, dtype, native=False)
    given = {"weight": weight, "mixture_weight": mixture_weight}
    given = {name: np.ones(len(x)) if values is None else values for name, values in given.items()}
    if any(isinstance(values, jax.Array) for values in given.values()):
        # Only the device knows them, such as those of bootstrap replicates: which rows count is not known
        # here, so that rows outside the space are left out there, with INVALID_ROWS.
        weights = [_of_length(name, values, len(x), dtype) for name, values in given.items()]
        weights = [jnp.pad(values, (0, extra)) for values in weights]
    else:
        weights = [checked_weight(values, (len(x),), name) for name, values in given.items()]
        weight = weights[0]
        _checks.warn_of_normalised(weight, ", and the prior as much as they do")
        # A row of weight 0 may hold anything.
        x = np.where((weight > 0)[:, None], x, np.nan)
        checked_regimes(space, x, None, weight > 0)
        weights = [placed(np.pad(values, (0, extra)), dtype) for values in weights]
    padded = np.concatenate([x, np.full((extra, len(space)), np.nan)])
    return on_device(host_frame(space).encode(padded), dtype), weights[0], weights[1]


def on_device(at: Points, dtype: Any) -> Points:
    """Points with floats of ``dtype``."""
    return jax.tree.map(lambda a: placed(a, dtype if a.dtype.kind == "f" else a.dtype), at)


def check_shape(space: Space, x: Any) -> None:
    """Raise ValueError for what is no table of rows of the space."""
    if x.ndim == 2 and x.shape[1] == len(space):
        return
    columns = "one column per parameter"
    remedies = {0: columns, 1: "x[:, None] for one parameter, x[None] for one row", 2: columns}
    remedy = remedies.get(x.ndim, "use jax.vmap for a batch")
    raise ValueError(f"x must have shape (n, {len(space)}), got {x.shape}; {remedy}.")


def _of_device(space: Space, x: jax.Array, weight: Any, mixture_weight: Any) -> tuple[Points, Any, Any]:
    check_shape(space, x)
    x = _floating(space, x)
    weight = jnp.ones(len(x), x.dtype) if weight is None else _of_length("weight", weight, len(x), None)
    if mixture_weight is not None:
        mixture_weight = _of_length("mixture_weight", mixture_weight, len(x), None)
    if not len(x):  # One absent row, so that there is something to draw an index of.
        x, weight, mixture_weight = jnp.full((1, len(space)), jnp.nan, x.dtype), jnp.zeros(1, x.dtype), None
    return frame_of(space, x.dtype).encode(x), weight, mixture_weight


def _floating(space: Space, x: jax.Array) -> jax.Array:
    """Native values of the device in a dtype that can hold them."""
    x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.result_type(float))
    check_dtype(space, x.dtype, native=True)
    return x


def _of_length(name: str, weight: Any, n: int, dtype: Any) -> jax.Array:
    if jnp.shape(weight) != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {jnp.shape(weight)}; use jax.vmap for a batch.")
    return jnp.asarray(weight, dtype)


def configurations(space: Space, x: Any) -> tuple[Any, tuple[int, ...]]:
    """(n, d) values and the shape of what there is one of per configuration.

    NumPy's float64 values stay on the host, to be encoded there; JAX arrays, and draws in float32, which are
    to be judged by what a float32 can hold, are encoded in compiled code.
    """
    if isinstance(x, np.ndarray) and x.dtype == np.float32:
        x = jnp.asarray(x)
    if isinstance(x, jax.Array):
        x = _floating(space, x)
    else:
        x = _checks.float_array("x", _checks.ordered("x", x, space.names))
    if x.ndim < 1 or x.shape[-1] != len(space):
        raise ValueError(f"x must have shape (..., {len(space)}), got {x.shape}.")
    return x.reshape(-1, len(space)), x.shape[:-1]


def in_buckets(evaluate: Callable[[Points], Float[Array, " j"]], at: Points) -> Float[Array, " n"]:
    """evaluate(points) of n points of the host, padded to one of few numbers."""
    n = len(at)
    padded = jax.tree.map(lambda a: np.pad(a, ((0, _bucket(n) - n), (0, 0))), at)
    # Cut on the host: a slice of a JAX array would be compiled for every n.
    return placed(np.asarray(evaluate(padded))[:n])


def _bucket(n: int) -> int:
    """A capacity up to 4096; beyond, eight sizes per doubling, so that little is evaluated in vain."""
    if n <= 4096:
        return capacity(n)
    step = 1 << ((n - 1).bit_length() - 4)
    return -(-n // step) * step


@program
def log_prob_at(
    basis: Basis, mixture: KernelMixture, native: bool, form: Form, x: Points | tuple[Frame, Array]
) -> Float[Array, " n"]:
    """log density at points, or at native values in a frame; -inf where they are not of the space."""
    at = x if isinstance(x, Points) else x[0].encode(x[1])
    at = on_device(at, mixture.scale.dtype)
    out = mixture.prepare(basis, len(at), form).log_prob(basis, at)
    if native:
        out = out + basis.frame.log_jacobian(at)
    return jnp.where(at.valid.all(axis=-1), out, -jnp.inf)


@program
def draws(
    basis: Basis, mixture: KernelMixture, key: PRNGKeyArray, n: int, joint: bool
) -> Float[Array, "{n} d"]:
    """n native configurations of a mixture."""
    return basis.frame.decode(mixture.sample(basis, key, n, joint))
