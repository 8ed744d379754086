"""Rows and configurations of `parzax.ParzenEstimator`: on the host checked, encoded and padded."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax._entries import check_weight, warn_of_normalised
from parzax._numerics import capacity, to_device
from parzax._programs import program
from parzax.parzen.basis import Basis
from parzax.parzen.fitting import Settings, check_rules, fit_rows
from parzax.parzen.forms import Form
from parzax.parzen.mixture import KernelMixture
from parzax.space import Frame, Points, Space, check_dtype, check_regimes, host_frame, refuse_rows
from parzax.status import Status

# NumPy rows that are encoded together: their intermediates stay in a core's cache.
_CHUNK = 1 << 14


def checked_rows(space: Space, x: Any, weight: Any, mixture_weight: Any) -> tuple[Any, Any, Any]:
    """Rows and their weights as `fit_program` takes them; JAX arrays stay native values."""
    on_host = not isinstance(x, jax.Array)
    x = _checks.float_array("x", _checks.ordered("x", x, space.names)) if on_host else x
    if x.ndim != 2 or x.shape[1] != len(space):
        columns = "one column per parameter"
        remedies = {0: columns, 1: "x[:, None] for one parameter, x[None] for one row", 2: columns}
        remedy = remedies.get(x.ndim, "use jax.vmap for a batch")
        raise ValueError(f"x must have shape (n, {len(space)}), got {x.shape}; {remedy}.")
    if on_host and not _checks.is_traced(weight, mixture_weight):
        weight, mixture_weight = jax.device_get((weight, mixture_weight))
    n, given = len(x), {"weight": weight, "mixture_weight": mixture_weight}
    if not on_host or any(isinstance(values, jax.Array) for values in given.values()):
        for name, values in given.items():
            if values is not None and jnp.shape(values) != (n,):
                shape = jnp.shape(values)
                raise ValueError(f"{name} must have shape ({n},), got {shape}; use jax.vmap for a batch.")
    if not on_host:
        weight, mixture_weight = (
            w if w is None or isinstance(w, jax.Array) else np.asarray(w) for w in given.values()
        )
        return _floating(space, x), weight, mixture_weight
    dtype = jnp.result_type(float)
    check_dtype(space, dtype, native=False)
    size, counts = capacity(n), None
    given = {name: np.ones(n) if values is None else values for name, values in given.items()}
    if any(isinstance(values, jax.Array) for values in given.values()):
        # Traced weights, such as those of bootstrap replicates: rows outside the space are left out on the
        # device, with INVALID_ROWS.
        padded = [jnp.pad(jnp.asarray(values, dtype), (0, size - n)) for values in given.values()]
    else:
        checked = [check_weight(values, (n,), name) for name, values in given.items()]
        warn_of_normalised(checked[0], ", and the prior as much as they do")
        space.derive_regimes(x[:0])  # raises if only a log can tell the regimes
        # A row of weight 0 may hold anything.
        counts = checked[0] > 0
        x[~counts] = np.nan
        padded = [np.pad(values, (0, size - n)).astype(dtype) for values in checked]
    points = encoded(space, x, size, dtype)
    if counts is not None and not (points.valid[:n].all() or points.valid[:n][counts].all()):
        check_regimes(space, x, None, counts)
    return points, padded[0], padded[1]


def refuse_invalid(
    status: Array, space: Space, frame: Frame, x: Any, weight: Any, mixture_weight: Any, settings: Settings
) -> None:
    """Raise for concrete JAX arrays what is raised for NumPy's, after a fit of `fit_program`'s arguments.

    Where arrays are traced, and where the sum of the weights overflows, the status alone says so.
    """
    bandwidth, _, prior_weight = settings
    on_device = any(isinstance(array, jax.Array) for array in (x, weight, mixture_weight, prior_weight))
    if not on_device or _checks.is_traced(status) or not jax.device_get(status) & int(Status.INVALID_ROWS):
        return
    check_rules(bandwidth, np.asarray(prior_weight))
    for name, values in {"weight": weight, "mixture_weight": mixture_weight}.items():
        if values is not None:
            check_weight(np.asarray(values), (len(values),), name)
    if isinstance(x, jax.Array):
        valid, present = np.asarray(frame.encode(x).valid), True if weight is None else np.asarray(weight) > 0
        refuse_rows("x", space, x, valid | ~np.broadcast_to(present, len(x))[:, None])


def encoded(space: Space, x: np.ndarray, size: int, dtype: Any) -> Points:
    """NumPy rows as ``size`` points in NumPy with floats of ``dtype``, zeros after the last row."""
    frame, shape = host_frame(space), (size, len(space))
    points = Points.of(*(np.zeros(shape, kind) for kind in (np.int32, dtype, np.int32, bool)))
    for start in range(0, len(x), _CHUNK):
        chunk = frame.encode(x[start : start + _CHUNK])
        for rows, values in zip(jax.tree.leaves(points), jax.tree.leaves(chunk), strict=True):
            rows[start : start + len(values)] = values
    return points


def _floating(space: Space, x: jax.Array) -> jax.Array:
    """Native values of the device in a dtype that can hold them."""
    x = x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.result_type(float))
    check_dtype(space, x.dtype, native=True)
    return x


def configurations(space: Space, x: Any) -> tuple[Any, tuple[int, ...]]:
    """Values as (n, d), and the shape of results that have one entry per configuration.

    NumPy's float64 values stay on the host and are encoded there. JAX arrays are encoded in compiled code,
    and so are draws in NumPy's float32, which must be judged by what a float32 can hold.
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


def in_buckets(
    evaluate: Callable[[Points], Float[Array, " j"]], space: Space, x: np.ndarray, dtype: Any
) -> Float[Array, " n"]:
    """evaluate(points) of n NumPy configurations, padded to one of few numbers."""
    log_density = evaluate(encoded(space, x, _bucket(len(x)), dtype))
    # Cut on the host: a slice of a JAX array would be compiled for every n.
    return to_device(np.asarray(log_density)[: len(x)])


def _bucket(n: int) -> int:
    """A capacity up to 4096; beyond, eight sizes per doubling, so that little is evaluated in vain."""
    if n <= 4096:
        return capacity(n)
    step = 1 << ((n - 1).bit_length() - 4)
    return -(-n // step) * step


@program
def fit_program(
    basis: Basis, rows: Points | Float[Array, "n d"], weight: Any, mixture_weight: Any, settings: Settings
) -> tuple[KernelMixture, Int[Array, ""]]:
    """`fit_rows` of points, or of native values; without weights all rows count once."""
    if not isinstance(rows, Points):
        if not len(rows):  # One absent row, so that there is something to draw an index of.
            rows = jnp.full((1, basis.n_parameters), jnp.nan, rows.dtype)
            weight, mixture_weight = jnp.zeros(1, rows.dtype), None
        rows = basis.frame.encode(rows)
    weight = jnp.ones(len(rows), rows.unit.dtype) if weight is None else jnp.asarray(weight)
    mixture_weight = None if mixture_weight is None else jnp.asarray(mixture_weight)
    return fit_rows(basis, rows, weight, mixture_weight, settings)


@program
def log_prob_at(
    basis: Basis, mixture: KernelMixture, native: bool, form: Form, x: Points | tuple[Frame, Array]
) -> Float[Array, " n"]:
    """log density at points, or at native values in a frame; -inf where they are not of the space."""
    at = x if isinstance(x, Points) else x[0].encode(x[1])
    at = to_device(at, mixture.scale.dtype)
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
