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
from parzax.samplers.groups import first_rows, most_good

# Densities are evaluated in the form that is fast for many pairs: vmapped studies have them together.
_MANY = 1 << 20

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler
    from parzax.samplers.state import State


class Separate(eqx.Module):
    """An estimator per group: for scales that differ from row to row.

    Attributes:
        batches: estimators with a leading axis of groups, all groups in their order; those of a batch have
            arrays of one size.
    """

    batches: tuple[ParzenEstimator, ...]

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        """log densities in unit coordinates, at valid points."""
        return self._each(lambda one: one.prepare(len(at.unit), one.form(_MANY)).log_prob(at))

    def sample(self, key: jax.Array, n: int, joint: bool) -> Float[Array, "g {n} d"]:
        """Draws from every group, in native units."""
        keys = jax.random.split(key, sum(len(batch.weight) for batch in self.batches))
        return self._each(lambda one, k: one.sample(k, (n,), joint=joint), keys)

    def first(self, n: int) -> "Separate":
        """The first n groups."""
        out = []
        for batch in self.batches:
            out.append(jax.tree.map(lambda a, left=n: a[:left], batch))
            n -= min(n, len(batch.weight))
        return Separate(tuple(batch for batch in out if len(batch.weight)))

    def _each(self, function: Callable[..., Array], *arguments: Array) -> Array:
        out, start = [], 0
        for batch in self.batches:
            end = start + len(batch.weight)
            out.append(jax.vmap(function)(batch, *(a[start:end] for a in arguments)))
            start = end
        return jnp.concatenate(out)


Densities = CommonScale | Separate


def densities(sampler: "Sampler", state: "State", masks: Bool[Array, "g n"]) -> Densities:
    """Estimators of g groups of the rows, of which the objective's good one is the first."""
    dtype = state.x.dtype
    ages = jax.vmap(lambda mask: ramp_weights(mask, dtype))(masks) if sampler.forget else None
    settings: dict[str, Any] = {
        "bandwidth": sampler.bandwidth,
        "top": sampler.top,
        "prior_weight": sampler.prior_weight,
    }
    if shares_scales(sampler, dtype):
        return CommonScale.fit(
            sampler.space, state.points, masks, mixture_weight=ages, order=state.order, **settings
        )

    def one(weight: Array, age: Array | None, rows: Points, order: Array | None) -> ParzenEstimator:
        fit = ParzenEstimator.fit_points
        return fit(sampler.space, rows, weight, mixture_weight=age, order=order, **settings)

    whole = jax.vmap(lambda weight, age: one(weight, age, state.points, state.order))
    weight = masks.astype(dtype)
    index, present = first_rows(masks[0], most_good(sampler, state.capacity))
    if len(index) == state.capacity:
        return Separate((whole(weight, ages),))
    # Few rows of many: their arrays are short.
    good = one(present.astype(dtype), None if ages is None else ages[0, index], state.points[index], None)
    others = whole(weight[1:], None if ages is None else ages[1:])
    return Separate((jax.tree.map(lambda a: a[None], good), others))


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
