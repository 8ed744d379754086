"""Fit bandwidths and weights of a mixture to rows. All functions are pure, jit- and vmap-able."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax import _checks
from parzax.density.basis import Basis
from parzax.density.mixture import Mixture
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth
from parzax.space import INACTIVE, Points
from parzax.status import Status

# Bandwidth rule for numbers, bandwidth rule for categories, weight of the prior.
Settings = tuple[AbstractBandwidth, CategoricalBandwidth, Any]


def check_rules(bandwidth: Any, prior_weight: Any) -> None:
    """Raise for an invalid bandwidth rule or prior weight. JAX arrays may be traced and are not checked."""
    _checks.instance("bandwidth", bandwidth, AbstractBandwidth, "a rule of parzax.bandwidth")
    _checks.setting("prior_weight", prior_weight, least=0)


def fit_rows(
    basis: Basis,
    rows: Points,
    weight: Shaped[Array, " n"],
    mixture_weight: Shaped[Array, " n"] | None,
    settings: Settings,
    order: Int[Array, "d n"] | None = None,
) -> tuple[Mixture, Int[Array, ""]]:
    """Fit one kernel per row, and return the status; see `parzax.ParzenEstimator.fit`.

    ``order`` has the row indices sorted by unit coordinate, for each parameter.
    """
    (_, _, prior_weight), dtype = settings, rows.unit.dtype
    weight, usable = weight.astype(dtype), rows.valid.all(axis=-1)
    valid = _is_weight(weight)
    if mixture_weight is not None:
        mixture_weight = mixture_weight.astype(dtype)
        valid &= (weight == 0) | _is_weight(mixture_weight)
    # A row of weight 0 is absent, so its values do not matter.
    invalid = (~valid | ((weight > 0) & ~usable)).any()
    weight = jnp.where(usable & valid, weight, 0)
    # A row of weight 0 keeps its kernel, which is the derivative of the density with respect to the weight.
    present = (usable & valid)[:, None]
    rows = jax.tree.map(lambda a: jnp.where(present, a, jnp.zeros_like(a)), rows)
    rows = eqx.tree_at(lambda r: r.regime, rows, jnp.where(present, rows.regime, INACTIVE))
    mixed = weight if mixture_weight is None else weight * jnp.where(present[:, 0], mixture_weight, 0)
    prior = jnp.asarray(prior_weight, dtype)
    invalid |= ~_is_weight(prior)
    prior = jnp.where(_is_weight(prior), prior, 0)
    scale, positive = slot_scales(basis, rows, weight, settings, order)
    row_weight = mixed.sum()
    bits = {
        Status.NO_ROWS: ~(row_weight > 0),
        Status.INVALID_ROWS: invalid | ~(row_weight + jnp.where(row_weight > 0, prior, 1) < jnp.inf),
        Status.INVALID_BANDWIDTH: ~positive & (weight.sum() < jnp.inf),
    }
    status = sum(jnp.where(bit, jnp.int32(flag), 0) for flag, bit in bits.items())
    mixture = Mixture(rows, by_parameter(basis, rows, scale), *normalised(mixed, prior))
    return mixture, jnp.asarray(status, jnp.int32)


def normalised(
    row_weight: Float[Array, "*g n"], prior_weight: Float[Array, ""]
) -> tuple[Float[Array, "*g n"], Float[Array, "*g"]]:
    """Weights of the rows and of the prior, which sum to 1; without rows the prior has weight 1."""
    total = row_weight.sum(axis=-1)
    anchor = jnp.where(total > 0, prior_weight, 1)
    return row_weight / (total + anchor)[..., None], anchor / (total + anchor)


def _is_weight(x: Float[Array, "*n"]) -> Bool[Array, "*n"]:
    return (x >= 0) & (x < jnp.inf)


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

    One call of the rule handles all numeric slots, so the rule is compiled once. Each setting of the rule is
    one number, or one number per parameter. A scale that is not positive and finite is replaced by 1. The
    second result says whether all scales were positive and finite.
    """
    (bandwidth, top, prior_weight), positive = settings, jnp.ones((), bool)
    dtype, numeric, categories = rows.unit.dtype, basis.numeric, basis.categories
    has_prior = not (isinstance(prior_weight, (int, float)) and prior_weight == 0)
    out = jnp.ones((basis.n_slots, 1 if bandwidth.one_scale else len(rows)), dtype)

    if len(numeric):
        shared = {"prior_position": 0.5 if has_prior else None, "n_parameters": basis.n_parameters}
        individual, common = _settings_of_slots(bandwidth, numeric.parameter, basis.n_parameters)

        def slot_scale(settings: Any, position: Array, weight: Array, n_values: Any, order: Any) -> Array:
            rule = eqx.combine(settings, common)
            scale = rule(position, weight, n_values=n_values, order=order, **shared)
            return scale[:1] if rule.one_scale else scale

        scales = jax.vmap(slot_scale)(
            individual,
            numeric.columns(rows.unit),
            jnp.where(numeric.here(rows), weight[None], 0),
            jnp.asarray(numeric.n_values) if numeric.most else None,
            None if order is None else order[numeric.parameter],
        )
        usable = (scales > 0) & (scales < jnp.inf)
        out, positive = out.at[numeric.slot].set(jnp.where(usable, scales, 1)), usable.all()
    if len(categories):
        size = jnp.where(categories.here(rows), weight[None], 0).sum(axis=-1)
        size = size + 1 if has_prior else jnp.where(size > 0, size, 1)
        prior = jnp.asarray(prior_weight, dtype)
        individual, common = _settings_of_slots(top, categories.parameter, basis.n_parameters)

        def category_scale(settings: Any, size: Array, n_choices: Array) -> Array:
            return jnp.asarray(eqx.combine(settings, common)(size, prior, n_choices), dtype)

        scales = jax.vmap(category_scale)(individual, size, categories.n_values)
        out = out.at[categories.slot].set(jnp.broadcast_to(scales[:, None], (len(categories), out.shape[1])))
    return out.T, positive


def _settings_of_slots(rule: Any, parameter: Int[Any, " k"], n_parameters: int) -> tuple[Any, Any]:
    """Split a rule into settings with one entry per slot and all other leaves; see `equinox.combine`."""

    def select(setting: Shaped[Any, " d"]) -> Shaped[Array, " k"]:
        if jnp.shape(setting) != (n_parameters,):
            remedy = f"give a number, or an array ({n_parameters},) with one for each parameter"
            raise ValueError(f"a setting of the bandwidth has shape {jnp.shape(setting)}; {remedy}.")
        return jnp.asarray(setting)[parameter]

    individual, common = eqx.partition(rule, lambda setting: jnp.ndim(setting) > 0)
    return jax.tree.map(select, individual), common
