"""Densities of all groups of rows: their logs at the candidates, and draws from them."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax.kernels import FixedTop
from parzax.parzen import ParzenEstimator
from parzax.parzen.evaluation import Mixture
from parzax.parzen.points import Points, slots

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler, State


class Densities(eqx.Module):
    """Estimators of g groups of the same rows.

    Attributes:
        fitted: with a leading axis g; where ``shared`` on the weights alone, since a row's kernel is the same
            in every group: categories with a fixed ``top``. Exponentials are then computed once for all.
        shared: static.
    """

    fitted: ParzenEstimator
    shared: bool = eqx.field(static=True)

    @classmethod
    def fit(cls, sampler: "Sampler", state: "State", masks: Bool[Array, "g n"]) -> "Densities":
        """One estimator per group."""

        def one(weight: Array) -> ParzenEstimator:
            return ParzenEstimator.fit_points(
                sampler.space,
                state.points,
                weight,
                bandwidth=sampler.bandwidth,
                top=sampler.top,
                prior_weight=sampler.prior_weight,
            )

        kinds = {slot.axis.kind for slot in slots(sampler.space)}
        weights = masks.astype(state.x.dtype)
        if not (isinstance(sampler.top, FixedTop) and kinds <= {"categorical", "point"}):
            return cls(jax.vmap(one)(weights), False)
        everyone = one(state.present.astype(weights.dtype))
        total = weights.sum(axis=-1)
        anchor = jnp.where(total > 0, jnp.asarray(sampler.prior_weight, weights.dtype), 1)
        whole = total + anchor
        return cls(replace(everyone, weight=weights / whole[:, None], prior_weight=anchor / whole), True)

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        """log densities in unit coordinates, at valid points."""
        n_points, pe = len(at.unit), self.fitted
        form = pe.form(n_points)
        if not self.shared or form != "product":
            return self._each(lambda one: one.prepare(n_points, form).log_prob(at))
        mixture = Mixture.prepare(
            pe.kernels, pe.scale, pe.weight, pe.prior_weight, pe.priors, slots(pe.space), form, n_points
        )
        return mixture.log_prob(at).T

    def sample(self, key: jax.Array, n: int, joint: bool) -> Float[Array, "g {n} d"]:
        """Draws from every group, in native units."""
        keys = jax.random.split(key, self.fitted.weight.shape[0])
        return self._each(lambda one, k: one.sample(k, (n,), joint=joint), keys)

    def first(self, n: int) -> "Densities":
        """The first n groups."""
        batched = self._batched()
        return Densities(jax.tree.map(lambda a, b: a[:n] if b else a, self.fitted, batched), self.shared)

    def _batched(self) -> ParzenEstimator:
        """Which leaves have a leading axis."""
        if not self.shared:
            return jax.tree.map(lambda _: True, self.fitted)
        none = jax.tree.map(lambda _: False, self.fitted)
        return replace(none, weight=True, prior_weight=True)

    def _each(self, function: Callable[..., Array], *arguments: Array) -> Array:
        axes = jax.tree.map(lambda b: 0 if b else None, self._batched())
        return jax.vmap(function, in_axes=(axes, *[0] * len(arguments)))(self.fitted, *arguments)
