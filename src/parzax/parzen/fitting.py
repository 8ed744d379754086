"""From rows to the parts of a `ParzenEstimator`: checks, encoding, bandwidths, weights."""

import math
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax.kernels import FixedTop, OptunaTop
from parzax.kernels.bandwidth import Bandwidth
from parzax.observations.encoding import capacity
from parzax.observations.validation import checked_regimes
from parzax.parzen.points import Points, check_dtype, on_device, points, slots
from parzax.parzen.prior import Prior, priors
from parzax.space import Space
from parzax.status import Status


class Fitted(NamedTuple):
    """The arrays of a `ParzenEstimator`."""

    kernels: Points
    scale: Float[Array, "n d"]
    weight: Float[Array, " n"]
    prior_weight: Float[Array, ""]
    priors: tuple[Prior, ...]
    status: Int[Array, ""]


def check_settings(space: Any, bandwidth: Any, top: Any, prior_weight: Any) -> None:
    """Raise for settings of `ParzenEstimator.fit` that are none."""
    if not isinstance(space, Space):
        raise TypeError(f"space must be a parzax.Space, got {type(space).__name__}.")
    if not isinstance(bandwidth, Bandwidth):
        raise TypeError(f"bandwidth must be a rule of parzax.bandwidth, got {bandwidth!r}.")
    if not isinstance(top, (FixedTop, OptunaTop)):
        raise TypeError(f"top must be a number or parzax.bandwidth.optuna_top(), got {top!r}.")
    if isinstance(top, FixedTop) and isinstance(top.top, (int, float)) and not 0 < top.top <= 1:
        raise ValueError(f"top must lie in (0, 1], got {top.top!r}.")
    if isinstance(prior_weight, jax.Array):
        return
    if not isinstance(prior_weight, (int, float, np.number, np.ndarray)):
        raise TypeError(f"prior_weight must be a number, got {prior_weight!r}.")
    if not 0 <= prior_weight < math.inf:
        raise ValueError(f"prior_weight must be finite and at least 0, got {prior_weight!r}.")


def encoded_rows(space: Space, x: Any, weight: Any, mixture_weight: Any) -> tuple[Points, Any, Any]:
    """Encoded rows and weights; checked and padded when on the host."""
    if isinstance(x, jax.Array):
        _check_shape(space, x)
        x = x.astype(jnp.result_type(float)) if not jnp.issubdtype(x.dtype, jnp.floating) else x
        for name, own in (("weight", weight), ("mixture_weight", mixture_weight)):
            if own is not None and jnp.shape(own) != (len(x),):
                raise ValueError(f"{name} must have shape ({len(x)},), got {jnp.shape(own)}.")
        if not len(x):
            # One absent row, so that there is something to draw an index of.
            return points(space, jnp.full((1, len(space)), jnp.nan, x.dtype)), jnp.zeros(1, x.dtype), None
        weight = jnp.ones(len(x), x.dtype) if weight is None else jnp.asarray(weight)
        return points(space, x), weight, None if mixture_weight is None else jnp.asarray(mixture_weight)
    x = _checks.float_array("x", _checks.ordered("x", x, space.names))
    _check_shape(space, x)
    extra = capacity(len(x)) - len(x)
    if isinstance(weight, jax.Array) or isinstance(mixture_weight, jax.Array):
        return _rows_under_traced_weights(space, x, weight, mixture_weight, extra)
    weight = _host_weight("weight", weight, len(x))
    mixture_weight = _host_weight("mixture_weight", mixture_weight, len(x))
    _warn_of_normalised(weight)
    # A row of weight 0 may hold anything.
    x = np.where((weight > 0)[:, None], x, np.nan)
    checked_regimes(space, x, None, weight > 0)
    padded = np.concatenate([x, np.full((extra, len(space)), np.nan)])
    dtype = jnp.result_type(float)
    check_dtype(space, dtype, native=False)
    rows = on_device(points(space, padded), dtype)
    pad = partial(np.pad, pad_width=(0, extra))
    return rows, jnp.asarray(pad(weight), dtype), jnp.asarray(pad(mixture_weight), dtype)


def _check_shape(space: Space, x: Any) -> None:
    if x.ndim == 2 and x.shape[1] == len(space):
        return
    remedy = "one column per parameter"
    if x.ndim == 1:
        remedy = "x[:, None] for one parameter, x[None] for one row"
    elif x.ndim > 2:
        remedy = "use jax.vmap for a batch"
    raise ValueError(f"x must have shape (n, {len(space)}), got {x.shape}; {remedy}.")


def _warn_of_normalised(weight: np.ndarray) -> None:
    """Weights that sum to 1 are a habit from packages where only their ratios matter."""
    if np.count_nonzero(weight) > 2 and abs(weight.sum() - 1) < 1e-6:
        warnings.warn(
            "weight sums to 1, so all rows together count as one, and the prior as much as they do; multiply "
            "by the number of rows if the weights are relative.",
            stacklevel=4,
        )


def _rows_under_traced_weights(
    space: Space, x: np.ndarray, weight: Any, mixture_weight: Any, extra: int
) -> tuple[Points, Any, Any]:
    """Rows of the host with weights that only the device knows, such as those of bootstrap replicates.

    Which rows count is not known here, so that rows outside the space are left out with INVALID_ROWS.
    """
    dtype = jnp.result_type(float)
    check_dtype(space, dtype, native=False)
    padded = np.concatenate([x, np.full((extra, len(space)), np.nan)])
    out = []
    for name, own in (("weight", weight), ("mixture_weight", mixture_weight)):
        own = np.ones(len(x)) if own is None else own
        if jnp.shape(own) != (len(x),):
            raise ValueError(f"{name} must have shape ({len(x)},), got {jnp.shape(own)}; use jax.vmap.")
        out.append(jnp.pad(jnp.asarray(own, dtype), (0, extra)))
    return on_device(points(space, padded), dtype), out[0], out[1]


def _host_weight(name: str, weight: Any, n: int) -> np.ndarray:
    if weight is None:
        return np.ones(n)
    weight = _checks.float_array(name, weight)
    if weight.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {weight.shape}.")
    bad = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if len(bad):
        raise ValueError(
            f"{name}: row {bad[0]} is {float(weight[bad[0]])!r}; weights must be finite and at least 0."
        )
    return weight


def fit_points(
    rows: Points,
    weight: Array,
    mixture_weight: Array | None,
    bandwidth: Bandwidth,
    top: FixedTop | OptunaTop,
    prior_weight: Any,
    prior: Mapping[str, Any] | None,
    order: Int[Array, "d n"] | None = None,
    *,
    space: Space,
) -> Fitted:
    """`ParzenEstimator.fit` of encoded rows; pure, jit- and vmap-able.

    ``order`` has the rows' indices by unit coordinate, for each parameter, where they are known.
    """
    dtype = rows.unit.dtype
    usable = rows.valid.all(axis=-1)
    weight = weight.astype(dtype)
    known = (weight >= 0) & (weight < jnp.inf)
    if mixture_weight is not None:
        mixture_weight = mixture_weight.astype(dtype)
        known &= (weight == 0) | ((mixture_weight >= 0) & (mixture_weight < jnp.inf))
    # A row of weight 0 may hold anything.
    invalid = (~known | ((weight > 0) & ~usable)).any()
    weight = jnp.where(usable & known, weight, 0)
    present = weight > 0
    rows = jax.tree.map(lambda a: jnp.where(present[:, None], a, jnp.zeros_like(a)), rows)
    rows = eqx.tree_at(lambda r: r.regime, rows, jnp.where(present[:, None], rows.regime, -1))
    has_prior = not (isinstance(prior_weight, (int, float)) and prior_weight == 0)
    scale = _scales(rows, weight, bandwidth, top, prior_weight, has_prior, space, order)
    mixed = weight if mixture_weight is None else weight * jnp.where(present, mixture_weight, 0)
    total = mixed.sum()
    anchor = jnp.asarray(prior_weight, dtype)
    usable_prior = (anchor >= 0) & (anchor < jnp.inf)
    invalid |= ~usable_prior
    anchor = jnp.where(total > 0, jnp.where(usable_prior, anchor, 0), 1)
    whole = total + anchor
    invalid |= ~(whole < jnp.inf)
    status = jnp.where(total > 0, 0, int(Status.NO_ROWS)) | jnp.where(invalid, int(Status.INVALID_ROWS), 0)
    own = priors(space, prior, dtype)
    return Fitted(rows, scale, mixed / whole, anchor / whole, own, status.astype(jnp.int32))


compiled_fit = eqx.filter_jit(fit_points)


def _scales(
    rows: Points,
    weight: Array,
    bandwidth: Bandwidth,
    top: FixedTop | OptunaTop,
    prior_weight: Any,
    has_prior: bool,
    space: Space,
    order: Int[Array, "d n"] | None,
) -> Float[Array, "n d"]:
    """Bandwidth of every kernel and parameter, regime by regime; 1 where inactive."""
    columns = [jnp.ones_like(rows.unit[:, 0])] * len(space)
    scales = slot_scales(space, rows, weight, bandwidth, top, prior_weight, has_prior, order)
    for slot, scale in zip(slots(space), scales, strict=True):
        here = rows.regime[:, slot.parameter] == slot.regime
        columns[slot.parameter] = jnp.where(here, scale, columns[slot.parameter])
    return jnp.stack(columns, axis=-1)


def slot_scales(
    space: Space,
    rows: Points,
    weight: Array,
    bandwidth: Bandwidth,
    top: FixedTop | OptunaTop,
    prior_weight: Any,
    has_prior: bool,
    order: Int[Array, "d n"] | None = None,
) -> list[Float[Array, "*#n"]]:
    """Bandwidths of the kernels of each slot: one for all where the rule has one, else (n,).

    All numeric slots are one call of the rule, which is compiled once.
    """
    dtype, own = rows.unit.dtype, slots(space)
    out: list[Array] = [jnp.ones((), dtype)] * len(own)
    weights = [jnp.where(rows.regime[:, slot.parameter] == slot.regime, weight, 0) for slot in own]
    numeric = [s for s, slot in enumerate(own) if slot.axis.kind in ("continuous", "stepped")]
    if numeric:
        columns = np.array([own[s].parameter for s in numeric])
        n_values = [own[s].axis.n_values for s in numeric]
        options = {"prior_position": 0.5 if has_prior else None, "n_parameters": len(space)}

        def one(position: Array, weight: Array, n_values: Array | None, order: Array | None) -> Array:
            scale = bandwidth(position, weight, n_values=n_values, order=order, **options)
            return scale[0] if bandwidth.one_scale else scale

        scales = jax.vmap(one)(
            rows.unit[:, columns].T,
            jnp.stack([weights[s] for s in numeric]),
            jnp.array(n_values) if any(n_values) else None,
            None if order is None else order[columns],
        )
        for s, scale in zip(numeric, scales, strict=True):
            out[s] = scale
    for s, slot in enumerate(own):
        if slot.axis.kind == "categorical":
            n_kernels = weights[s].sum() + has_prior
            n_kernels = jnp.where(n_kernels > 0, n_kernels, 1)
            out[s] = jnp.asarray(top(n_kernels, jnp.asarray(prior_weight, dtype), slot.axis.n_values), dtype)
    return out


def peak_of(space: Space, smallest: float | None) -> float | None:
    """Bound on the log of kernel / wide kernel: each numeric factor's is below log(1 / scale) + 1/2."""
    out = 0.0
    for j in range(len(space)):
        widths = [slot.axis.narrowest or smallest for slot in slots(space) if slot.parameter == j]
        known = [width for width in widths if width is not None]
        if len(known) < len(widths):
            return None
        out += 0.5 - math.log(min(known))
    return out
