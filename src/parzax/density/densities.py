"""Densities of several groups of rows, which samplers evaluate and draw from."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax.density.basis import Basis
from parzax.density.evaluation import in_blocks
from parzax.density.mixture import MANY, KernelMixture
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
    """One mixture per group; the kernels of a group may have different scales.

    The logs of the kernels of all groups are computed together, so that their code is compiled once.
    """

    basis: Basis
    # Mixtures with a leading axis of groups. Together the batches hold all groups in order; the groups of one
    # batch have arrays of equal size.
    batches: tuple[KernelMixture, ...]
    joint: bool = eqx.field(static=True)  # whether a candidate's parameters come from one component

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        flat = [jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), batch) for batch in self.batches]
        kernels = jax.tree.map(lambda *parts: jnp.concatenate(parts), *flat)
        kernels = eqx.tree_at(lambda mixture: mixture.prior_weight, kernels, kernels.prior_weight[0])
        prepared = kernels.prepare(self.basis, len(at), kernels.form(self.basis, MANY))

        def block(at: Points) -> Float[Array, "g j"]:
            (ratio, anchor), out, end = prepared.logs(self.basis, at), [], 0

            def log_prob_of(mixture: KernelMixture, ratio: Float[Array, "j n"]) -> Float[Array, " j"]:
                weights = mixture.weight, mixture.prior_weight
                group = eqx.tree_at(lambda every: (every.weight, every.prior_weight), prepared, weights)
                return group.log_density(self.basis, at, (ratio, anchor))

            for batch in self.batches:
                start, end = end, end + batch.weight.size
                ratios = ratio[:, start:end].reshape(-1, *batch.weight.shape)
                out.append(jax.vmap(log_prob_of, in_axes=(0, 1))(batch, ratios))
            return jnp.concatenate(out)

        return in_blocks(block, at, len(kernels.weight), prepared.is_pairwise)

    def sample(self, key: PRNGKeyArray, n: int) -> Points:
        keys, drawn, end = jax.random.split(key, sum(len(batch.weight) for batch in self.batches)), [], 0
        for batch in self.batches:
            start, end = end, end + len(batch.weight)
            sample = jax.vmap(lambda group, key: group.sample(self.basis, key, n, self.joint))
            drawn.append(sample(batch, keys[start:end]))
        points = jax.tree.map(lambda *parts: jnp.concatenate(parts), *drawn)
        return jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), points)

    def first(self, n: int) -> "Separate":
        batches = []
        for batch in self.batches:
            batches.append(jax.tree.map(lambda a, left=n: a[:left], batch))
            n -= min(n, len(batch.weight))
        return Separate(self.basis, tuple(batch for batch in batches if len(batch.weight)), self.joint)
