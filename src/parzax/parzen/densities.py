"""Densities of several groups of rows, which samplers evaluate and draw from."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax.parzen.basis import Basis
from parzax.parzen.mixture import MANY, KernelMixture
from parzax.space import Points


class AbstractDensities(eqx.Module):
    """g densities on one space, in unit coordinates."""

    @abc.abstractmethod
    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        """log densities of all g groups at j valid points."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, n: int) -> Points:
        """k >= n candidates from each density, (g * k, d); candidates of one density are adjacent."""

    @abc.abstractmethod
    def first(self, n: int) -> "AbstractDensities":
        """The densities of the first n groups."""


class Separate(AbstractDensities):
    """One mixture per group; the kernels of a group may have different scales."""

    basis: Basis
    # Mixtures with a leading axis of groups. Together the batches hold all groups in order; the groups of one
    # batch have arrays of equal size.
    batches: tuple[KernelMixture, ...]
    joint: bool = eqx.field(static=True)  # whether a candidate's parameters come from one component

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        def log_prob_of(mixture: KernelMixture) -> Float[Array, " j"]:
            form = mixture.form(self.basis, MANY)
            return mixture.prepare(self.basis, len(at), form).log_prob(self.basis, at)

        return self._over_groups(log_prob_of)

    def sample(self, key: PRNGKeyArray, n: int) -> Points:
        keys = jax.random.split(key, sum(len(batch.weight) for batch in self.batches))
        points = self._over_groups(lambda group, key: group.sample(self.basis, key, n, self.joint), keys)
        return jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), points)

    def first(self, n: int) -> "Separate":
        batches = []
        for batch in self.batches:
            batches.append(jax.tree.map(lambda a, left=n: a[:left], batch))
            n -= min(n, len(batch.weight))
        return Separate(self.basis, tuple(batch for batch in batches if len(batch.weight)), self.joint)

    def _over_groups(self, function: Callable[..., Any], *arguments: Array) -> Any:
        outputs, end = [], 0
        for batch in self.batches:
            start, end = end, end + len(batch.weight)
            outputs.append(jax.vmap(function)(batch, *(a[start:end] for a in arguments)))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *outputs)
