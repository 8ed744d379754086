"""Parts of an estimator that are estimators again: marginals and conditionals."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from parzax._numerics import masked_logsumexp
from parzax.parzen.points import Points, on_device, points, slots
from parzax.parzen.prior import Prior
from parzax.parzen.product import kernel_log_prob, prior_log_prob, shared
from parzax.parzen.restriction import given_rest, given_values, with_ancestors
from parzax.space import INACTIVE, Space
from parzax.status import Status

if TYPE_CHECKING:
    from parzax.parzen.mixture import ParzenEstimator


def marginal(pe: "ParzenEstimator", names: tuple[str, ...]) -> "ParzenEstimator":
    """See `ParzenEstimator.marginal`."""
    kept = with_ancestors(pe.space, names)
    columns = np.array([pe.space.index(name) for name in kept])
    pairs = zip(slots(pe.space), pe.priors, strict=True)
    return _of_columns(
        pe,
        Space({name: pe.space[name] for name in kept}),
        jax.tree.map(lambda a: a[:, columns], pe.kernels),
        pe.scale[:, columns],
        tuple(prior for slot, prior in pairs if slot.parameter in columns),
    )


def conditional(pe: "ParzenEstimator", values: Mapping[str, Any]) -> "ParzenEstimator":
    """See `ParzenEstimator.conditional`."""
    given = given_values(pe.space, values)
    space, kept = given_rest(pe.space, given)
    if space is None:
        raise ValueError("values: no other parameter can be active; use log_prob for their density.")
    pairs = list(zip(slots(pe.space), pe.priors, strict=True))
    row = np.array([given.get(name, np.nan) for name in pe.space.names])[None]
    at = on_device(points(pe.space, row), pe.scale.dtype)
    known = [pair for pair in pairs if pe.space.names[pair[0].parameter] in given]
    own, priors_of = tuple(slot for slot, _ in known), tuple(prior for _, prior in known)
    logs = kernel_log_prob(own, priors_of, pe.kernels, pe.scale, shared(own, pe.kernels, pe.scale, 1), at)[0]
    wide = prior_log_prob(own, priors_of, at)[0]
    total = masked_logsumexp(jnp.append(logs, wide), jnp.append(pe.weight, pe.prior_weight))
    safe = jnp.where(jnp.isfinite(total), total, 0)
    columns = np.array([pe.space.index(name) for name in space.names])
    regime = jnp.full((len(logs), len(columns)), INACTIVE, jnp.int32)
    left: list[Prior] = []
    for j, column in enumerate(columns):
        for new, old in enumerate(kept[column]):
            regime = regime.at[:, j].set(jnp.where(pe.kernels.regime[:, column] == old, new, regime[:, j]))
            left += [prior for slot, prior in pairs if (slot.parameter, slot.regime) == (column, old)]
    kernels = jax.tree.map(lambda a: a[:, columns], pe.kernels)
    return _of_columns(
        pe,
        space,
        eqx.tree_at(lambda k: k.regime, kernels, regime),
        pe.scale[:, columns],
        tuple(left),
        weight=_reweighted(pe.weight, logs - safe),
        prior_weight=_reweighted(pe.prior_weight, wide - safe),
        status=pe.status | jnp.where(total > -jnp.inf, 0, int(Status.IMPOSSIBLE_EVENT)),
        # Kernels close by may have taken the prior's weight, so sums are not anchored at it.
        safe_prior=False,
    )


def _reweighted(weight: Float[Array, "..."], log_factor: Float[Array, "..."]) -> Float[Array, "..."]:
    """weight * exp(log_factor); 0 where the weight is, however large the factor."""
    return weight * jnp.exp(jnp.where(weight > 0, log_factor, 0))


def _of_columns(
    pe: "ParzenEstimator",
    space: Space,
    kernels: Points,
    scale: Float[Array, "n d"],
    own: tuple[Prior, ...],
    **changed: Any,
) -> "ParzenEstimator":
    """The same mixture over other parameters."""
    kept = {
        name: getattr(pe, name) for name in ("weight", "prior_weight", "status", "smallest", "safe_prior")
    }
    return type(pe)(kernels=kernels, scale=scale, priors=own, space=space, **(kept | changed))
