"""Fit bandwidths and weights of a mixture to rows. All functions are pure, jit- and vmap-able."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics.circle import unrolled
from parzax.density.basis import Basis
from parzax.density.mixture import Mixture
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth
from parzax.kernels.bandwidth.scott import quartiles
from parzax.space import INACTIVE, Points
from parzax.status import Status

# Bandwidth rule for numbers, bandwidth rule for categories, weight of the prior.
Settings = tuple[AbstractBandwidth, CategoricalBandwidth, Any]
# Smallest weight of a prior that is factored out of a density, in rows.
_LEAST_PRIOR = 1e-3


def check_rules(bandwidth: Any, prior_weight: Any) -> None:
    """Raise for an invalid bandwidth rule or prior weight. JAX arrays may be traced and are not checked."""
    _checks.instance("bandwidth", bandwidth, AbstractBandwidth, "a rule of parzax.bandwidth")
    _checks.setting("prior_weight", prior_weight, least=0)


@compiled
def fit(
    basis: Basis, x: Points | Float[Array, "n d"], weight: Any, mixture_weight: Any, settings: Settings
) -> tuple[Mixture, Int[Array, ""]]:
    """Fit one kernel per row, given as points or native values, and return the status; weights of None are 1.

    See `parzax.ParzenEstimator.fit`.
    """
    if isinstance(x, jax.Array) and not len(x):
        # Without rows one absent row is added, because drawing an index needs at least one row.
        x = jnp.full((1, basis.n_parameters), jnp.nan, x.dtype)
        weight, mixture_weight = jnp.zeros(1, x.dtype), None
    rows = x if isinstance(x, Points) else basis.frame.encode(x)
    dtype, usable = rows.unit.dtype, rows.valid.all(axis=-1)
    weight, mixture_weight = (
        jnp.ones(len(rows), dtype) if given is None else jnp.asarray(given).astype(dtype)
        for given in (weight, mixture_weight)
    )
    valid = _is_weight(weight) & ((weight == 0) | _is_weight(mixture_weight))
    # A row of weight 0 is absent, so its values do not matter.
    invalid = (~valid | ((weight > 0) & ~usable)).any()
    # A row of weight 0 keeps its kernel, which is the derivative of the density with respect to the weight.
    present = usable & valid
    rows = jax.tree.map(lambda a: jnp.where(present[:, None], a, jnp.zeros_like(a)), rows)
    rows = replace(rows, regime=jnp.where(present[:, None], rows.regime, INACTIVE))
    weight = jnp.where(present, weight, 0)
    mixed = weight * jnp.where(present, mixture_weight, 0)
    prior = jnp.asarray(settings[2], dtype)
    invalid |= ~_is_weight(prior)
    prior = jnp.where(_is_weight(prior), prior, 0)
    scale, positive = slot_scales(basis, rows, weight, settings, None)
    row_weight = mixed.sum()
    bits = {
        Status.NO_DATA: ~(row_weight > 0),
        Status.INVALID_ROWS: invalid | ~(row_weight + jnp.where(row_weight > 0, prior, 1) < jnp.inf),
        Status.INVALID_BANDWIDTH: ~positive & (weight.sum() < jnp.inf),
    }
    status = sum(jnp.where(bit, jnp.int32(flag), 0) for flag, bit in bits.items())
    weights, anchored = normalised(mixed, prior), is_anchored(basis, settings[2])
    wide = [jnp.zeros(basis.n_parameters, dtype), jnp.ones(basis.n_parameters, dtype)]
    for part in basis.groups:
        if part.is_open:
            ranges = jax.vmap(_range)(part.columns(rows.unit), jnp.where(part.here(rows), weight[None], 0))
            wide = [x.at[part.parameter].set(of_part) for x, of_part in zip(wide, ranges, strict=True)]
    open_wide = (wide[0], wide[1]) if any(part.is_open for part in basis.groups) else None
    scale = by_parameter(basis, rows, scale)
    mixture = Mixture(rows, scale, *weights, wide=open_wide, anchored=anchored)
    return mixture, jnp.asarray(status, jnp.int32)


def normalised(
    row_weight: Float[Array, "*g n"], prior_weight: Float[Array, ""]
) -> tuple[Float[Array, "*g n"], Float[Array, "*g"]]:
    """Weights of the rows and of the prior, which sum to 1; without rows the prior has weight 1."""
    total = row_weight.sum(axis=-1)
    anchor = jnp.where(total > 0, prior_weight, 1)
    return row_weight / (total + anchor)[..., None], anchor / (total + anchor)


def is_anchored(basis: Basis, prior_weight: Any) -> bool:
    """Whether a wide prior can be factored out of a density; not if its weight is an array or is small."""
    return basis.anchored and isinstance(prior_weight, (int, float)) and prior_weight >= _LEAST_PRIOR


def _is_weight(x: Float[Array, "*n"]) -> Bool[Array, "*n"]:
    """Whether weights are 0, or positive and finite; a subnormal one would be 0 in sums."""
    info = jnp.finfo(x.dtype)
    bits = jax.lax.bitcast_convert_type(x, jnp.int32 if info.bits == 32 else jnp.int64)
    return ((bits == 0) | (x >= info.tiny) | ((x == 0) & (bits < 0) & ((bits << 1) == 0))) & (x < jnp.inf)


def by_parameter(basis: Basis, rows: Points, x: Float[Array, "#n s"]) -> Float[Array, "n d"]:
    """Columns of parameters: each row takes the column of its regime; 1 if the parameter is inactive."""
    x = jnp.broadcast_to(x, (len(rows), x.shape[-1]))
    if basis.frame.membership is not None:
        slot = basis.frame.first[None] + jnp.maximum(rows.regime, 0)
        x = jnp.take_along_axis(x, slot, axis=-1)
    return jnp.where(rows.regime == INACTIVE, 1, x)


def slot_scales(
    basis: Basis,
    rows: Points,
    weight: Float[Array, " n"],
    settings: Settings,
    order: Int[Array, "d n"] | None,
) -> tuple[Float[Array, "#n s"], Bool[Array, ""]]:
    """Bandwidths of the kernels in every slot; a single row if the rule gives all kernels one scale.

    One call of the rule handles all slots of a kernel family. Each setting of the rule is one number, or one
    number per parameter. A scale that is not positive and finite is replaced by 1. The second result says
    whether all scales were positive and finite. ``order`` has the row indices sorted by unit coordinate, for
    each parameter.
    """
    (bandwidth, top, prior_weight), positive = settings, jnp.ones((), bool)
    dtype, n_parameters = rows.unit.dtype, basis.n_parameters
    has_prior = not (isinstance(prior_weight, (int, float)) and prior_weight == 0)
    shared = {"prior_position": 0.5 if has_prior else None, "n_parameters": n_parameters}
    out = jnp.ones((basis.n_slots, 1 if bandwidth.one_scale else len(rows)), dtype)

    def category_scale(top: Any, weight: Array, n_choices: Array) -> Array:
        size = weight.sum()
        size = size + 1 if has_prior else jnp.where(size > 0, size, 1)
        return jnp.asarray(top(size, jnp.asarray(prior_weight, dtype), n_choices), dtype)[None]

    def number_scale(rule: Any, weight: Array, n_values: Any, position: Array, order: Any) -> Array:
        scale = rule(position, weight, n_values=n_values, order=order, **shared)
        return scale[:1] if rule.one_scale else scale

    for part in basis.groups:
        n_values = jnp.asarray(part.n_values) if part.most else None
        given = jnp.where(part.here(rows), weight[None], 0), n_values
        if part.categorical:
            scales = _over_slots(category_scale, top, part.parameter, n_parameters, *given)
        else:
            places, ordered = part.columns(rows.unit), None if order is None else order[part.parameter]
            if part.family.periodic:
                places, ordered = jax.vmap(unrolled)(places, given[0]), None
            length = jnp.ones((1, 1), dtype)
            if part.is_open:
                middle, length = (x[:, None] for x in jax.vmap(_range)(places, given[0]))
                places = (places - middle) / length + 0.5
            of_rows = *given, places, ordered
            scales = _over_slots(number_scale, bandwidth, part.parameter, n_parameters, *of_rows)
            scales = scales * length
            usable = (scales > 0) & (scales < jnp.inf)
            scales, positive = jnp.where(usable, scales, 1), positive & usable.all()
        out = out.at[part.slot].set(scales)
    return out.T, positive


def _range(place: Float[Array, " n"], weight: Float[Array, " n"]) -> tuple[Array, Array]:
    """Middle and length of what stands for the range of an open axis: twice its rows' interquartile range.

    A uniform density has this range. If the quartiles are equal the length is 1.
    """
    low, high = quartiles(place, weight)
    return (low + high) / 2, jnp.where(high > low, 2 * (high - low), 1)


def _over_slots(
    function: Callable[..., Array], rule: Any, parameter: Int[Any, " k"], n_parameters: int, *columns: Any
) -> Float[Array, "k _"]:
    """function(rule, column, ...) for each of k slots; a setting has one number, or one per parameter."""

    def select(setting: Shaped[Any, " d"]) -> Shaped[Array, " k"]:
        if jnp.shape(setting) != (n_parameters,):
            remedy = f"give a number, or an array ({n_parameters},) with one for each parameter"
            raise ValueError(f"a setting of the bandwidth has shape {jnp.shape(setting)}; {remedy}.")
        return jnp.asarray(setting)[parameter]

    individual, common = eqx.partition(rule, lambda setting: jnp.ndim(setting) > 0)
    individual = jax.tree.map(select, individual)
    return jax.vmap(lambda own, *columns: function(eqx.combine(own, common), *columns))(individual, *columns)
