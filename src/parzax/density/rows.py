"""Rows and configurations of `parzax.ParzenEstimator`: the host checks, encodes and pads them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax._checks import check_weight, warn_of_normalised
from parzax._compile import compiled
from parzax._numerics import capacity, to_device
from parzax.density.basis import Basis
from parzax.density.fitting import Settings, check_rules
from parzax.density.mixture import Mixture
from parzax.space import Frame, Points, Space
from parzax.space.checks import check_regimes, refuse_rows
from parzax.status import Status

# Up to this many pairs of a point and a kernel are a small program.
_FEW_PAIRS = 1 << 16


def checked_rows(space: Space, x: Any, weight: Any, mixture_weight: Any) -> tuple[Any, Any, Any]:
    """Rows and weights as arguments of `parzax.density.fitting.fit`; rows in JAX arrays stay native."""
    x = _native_values(space, x)
    on_host = not isinstance(x, jax.Array)
    hint = "; x[:, None] for one parameter, x[None] for one row; use jax.vmap for a batch"
    _checks.check_shape("x", x, "n", len(space), hint=hint)
    n, given = len(x), {"weight": weight, "mixture_weight": mixture_weight}
    if on_host and not _checks.is_traced(given):
        given = {name: jax.device_get(values) for name, values in given.items()}
    else:
        for name, values in given.items():
            if values is not None:
                given[name] = values if isinstance(values, jax.Array) else np.asarray(values)
                _checks.check_shape(name, given[name], n, hint="; use jax.vmap for a batch")
    if not on_host:
        return x, *given.values()
    dtype = jnp.result_type(float)
    space.check_dtype(dtype, native=False)
    size, counts = capacity(n), None
    given = {name: np.ones(n) if values is None else values for name, values in given.items()}
    if _checks.is_traced(given):
        # Weights may be traced, for example those of bootstrap replicates. The device then gives rows outside
        # the space weight 0 and sets INVALID_ROWS.
        padded = [jnp.pad(jnp.asarray(values, dtype), (0, size - n)) for values in given.values()]
    else:
        checked = [check_weight(values, (n,), name) for name, values in given.items()]
        _check_range(checked, dtype)
        warn_of_normalised(checked[0], ", and the prior as much as they do")
        # raises for a space with `Recorded` conditions, whose regimes only a log knows
        space.derive_regimes(x[:0])
        # A row of weight 0 is absent, so its values are not checked.
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
    """After a fit of concrete JAX arrays, raise the errors that NumPy arrays raise before the fit.

    Nothing is raised if arrays are traced: only the status says so.
    """
    bandwidth, _, prior_weight = settings
    on_device = any(isinstance(array, jax.Array) for array in (x, weight, mixture_weight, prior_weight))
    if not on_device or _checks.is_traced(status) or not jax.device_get(status) & int(Status.INVALID_ROWS):
        return
    check_rules(bandwidth, np.asarray(prior_weight))
    for name, values in {"weight": weight, "mixture_weight": mixture_weight}.items():
        if values is not None:
            check_weight(np.asarray(values), (len(values),), name)
    given = [np.asarray(values) for values in (weight, mixture_weight) if values is not None]
    _check_range(given, x.dtype if isinstance(x, jax.Array) else x.unit.dtype)
    if isinstance(x, jax.Array):
        valid, present = jax.jit(frame.encode)(x).valid, True if weight is None else np.asarray(weight) > 0
        refuse_rows("x", space, x, np.asarray(valid) | ~np.broadcast_to(present, len(x))[:, None])


def _check_range(weights: list[np.ndarray], dtype: Any) -> None:
    """Raise ValueError for weights whose sum a dtype cannot hold, or that are 0 in its sums."""
    info, product = jnp.finfo(dtype), np.prod([np.asarray(w, np.float64) for w in weights], axis=0)
    if product.sum() > float(info.max) or any(((w > 0) & (w < float(info.tiny))).any() for w in weights):
        limits = f"from {float(info.tiny):.2g} up, and their sum at most {float(info.max):.2g}"
        raise ValueError(f"weight: positive weights must be {limits} in {jnp.dtype(dtype)}; rescale them.")


def encoded(space: Space, x: np.ndarray, size: int, dtype: Any) -> Points:
    """NumPy rows as ``size`` points (NumPy arrays with floats of ``dtype``), 0 after the last row."""

    def padded(values: np.ndarray) -> np.ndarray:
        values = values.astype(dtype, copy=False) if values.dtype.kind == "f" else values
        return np.pad(values, ((0, size - len(values)), (0, 0)))

    return jax.tree.map(padded, space.frame().encode(x))


def _native_values(space: Space, x: Any) -> Any:
    """Native values in float64 on the host, or on the device in a dtype that can represent them."""
    x = _checks.floats("x", _checks.ordered("x", x, space.names))
    if isinstance(x, jax.Array):
        space.check_dtype(x.dtype, native=True)
    return x


def configurations(space: Space, x: Any) -> tuple[Any, tuple[int, ...]]:
    """Values as (n, d), and the shape of results that have one entry per configuration.

    NumPy float64 values are encoded on the host. JAX arrays are encoded in compiled code. NumPy float32
    values are too, because their bounds must be rounded to float32 (they may be draws of an estimator).
    """
    if isinstance(x, np.ndarray) and x.dtype == np.float32:
        x = jnp.asarray(x)
    x = _native_values(space, x)
    _checks.check_shape("x", x, "...", len(space), hint="; x[:, None] for values of one parameter")
    return x.reshape(-1, len(space)), x.shape[:-1]


def in_buckets(
    evaluate: Callable[[Points], Float[Array, " j"]], space: Space, x: np.ndarray, dtype: Any
) -> Float[Array, " n"]:
    """evaluate(points) for n NumPy configurations, padded so that few sizes are compiled."""
    log_density = evaluate(encoded(space, x, _bucket(len(x)), dtype))
    # The padding is cut off on the host, because JAX would compile a slice for every n.
    return to_device(np.asarray(log_density)[: len(x)])


def _bucket(n: int) -> int:
    """Padded size: a capacity up to 4096, then eight sizes per doubling, to limit the padding."""
    if n <= 4096:
        return capacity(n)
    step = 1 << ((n - 1).bit_length() - 4)
    return -(-n // step) * step


def _size(_basis: Basis, mixture: Mixture, _: Any, x: Any) -> str:
    """Optimisation pays where many points, or draws, are compared with the kernels."""
    points = x if isinstance(x, (int, Points)) else x[1]
    n_pairs = (points if isinstance(points, int) else len(points)) * mixture.scale.shape[-2]
    return "small" if n_pairs <= _FEW_PAIRS else "middling"


@partial(compiled, size=_size)
def log_prob_at(
    basis: Basis, mixture: Mixture, native: bool, x: Points | tuple[Frame, Array]
) -> Float[Array, " n"]:
    """log density at points, or at native values with a frame; -inf outside the space."""
    at = x if isinstance(x, Points) else x[0].encode(x[1])
    at = to_device(at, mixture.scale.dtype)
    out = mixture.log_prob(basis, at)
    if native:
        out = out + basis.frame.log_jacobian(at)
    return jnp.where(at.valid.all(axis=-1), out, -jnp.inf)


@partial(compiled, size=_size)
def draws(basis: Basis, mixture: Mixture, key: PRNGKeyArray, n: int) -> Float[Array, "{n} d"]:
    """n native configurations of a mixture."""
    return basis.frame.decode(mixture.sample(key, basis, n))
