"""Densities of all groups of rows: together where a rule gives kernels one scale, else one by one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax.kernels.bandwidth import Bandwidth
from parzax.observations.ages import ramp_weights
from parzax.parzen import ParzenEstimator
from parzax.parzen.common import CommonScale
from parzax.parzen.evaluation import LEAST_PRIOR, product_holds
from parzax.parzen.fitting import peak_of
from parzax.parzen.points import Points, slots

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler
    from parzax.samplers.state import State


class Separate(eqx.Module):
    """An estimator per group: for scales that differ from row to row.

    Attributes:
        fitted: with a leading axis of g groups.
    """

    fitted: ParzenEstimator

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        """log densities in unit coordinates, at valid points."""
        return self._each(lambda one: one.prepare(len(at.unit)).log_prob(at))

    def sample(self, key: jax.Array, n: int, joint: bool) -> Float[Array, "g {n} d"]:
        """Draws from every group, in native units."""
        keys = jax.random.split(key, self.fitted.weight.shape[0])
        return self._each(lambda one, k: one.sample(k, (n,), joint=joint), keys)

    def first(self, n: int) -> "Separate":
        """The first n groups."""
        return Separate(jax.tree.map(lambda a: a[:n], self.fitted))

    def _each(self, function: Callable[..., Array], *arguments: Array) -> Array:
        return jax.vmap(function)(self.fitted, *arguments)


Densities = CommonScale | Separate


def densities(sampler: "Sampler", state: "State", masks: Bool[Array, "g n"]) -> Densities:
    """Estimators of g groups of the rows."""
    dtype = state.x.dtype
    ages = jax.vmap(lambda mask: ramp_weights(mask, dtype))(masks) if sampler.forget else None
    settings: dict[str, Any] = {
        "bandwidth": sampler.bandwidth,
        "top": sampler.top,
        "prior_weight": sampler.prior_weight,
        "order": state.order,
    }
    if shares_scales(sampler, dtype):
        return CommonScale.fit(sampler.space, state.points, masks, mixture_weight=ages, **settings)

    def one(weight: Array, age: Array | None) -> ParzenEstimator:
        fit = ParzenEstimator.fit_points
        return fit(sampler.space, state.points, weight, mixture_weight=age, **settings)

    return Separate(jax.vmap(one)(masks.astype(dtype), ages))


def shares_scales(sampler: "Sampler", dtype: jnp.dtype) -> bool:
    """Whether a group's kernels have one scale per parameter, and the product form holds for them."""
    rule: Bandwidth = sampler.bandwidth
    continuous = sum(slot.axis.kind == "continuous" for slot in slots(sampler.space))
    return rule.one_scale and product_holds(
        dtype,
        n_continuous=continuous,
        smallest=rule.smallest,
        peak=peak_of(sampler.space, rule.smallest),
        safe_prior=sampler.prior_weight >= LEAST_PRIOR,
    )
