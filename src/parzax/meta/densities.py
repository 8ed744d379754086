"""Densities of source tasks, and mixtures of them with the densities of a target."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax.density import AbstractMixture, Mixture, Smoothing
from parzax.density.basis import Basis
from parzax.space import Points
from parzax.split import first_rows

# Number of tasks that are evaluated at once, so that their (point, kernel) pairs stay in a core's cache.
_TOGETHER = 8


class TaskMixture(AbstractMixture):
    """Densities of the groups of a sampler as mixtures over tasks, p(x) = sum_m W_m p_m(x).

    All tasks have the same prior, so each density is one `Mixture` with the kernels of all tasks.
    """

    mixture: Mixture  # (c + 1, 2)
    # What candidates are drawn from: the densities below, (c + 1,), or those of each task, (c + 1, t + 1).
    below: Mixture

    @classmethod
    def of(
        cls, target: Mixture, sources: Mixture, weight: Float[Array, "c1 2 t1"], by_task: bool
    ) -> "TaskMixture":
        """Mix the densities (c + 1, 2) of a target with those (t, c + 1, 2) of sources, by weight W.

        With ``by_task`` candidates are drawn from each task, else from the mixture of the tasks.
        """

        def joined(x: Array, of_sources: Array) -> Array:
            """Join the kernels of all tasks on the axis of rows."""
            moved = jnp.moveaxis(of_sources, 0, 1)
            return jnp.concatenate([x, moved.reshape(len(x), -1, x.shape[-1])], axis=1)

        rows, scale = jax.tree.map(joined, (target.rows, target.scale), (sources.rows, sources.scale))
        # (c + 1, 2, t + 1, n) weights of all kernels in the density of each task
        n, n_others, n_tasks = target.weight.shape[-1], sources.weight.shape[-1], len(sources.weight)
        of_sources = jnp.moveaxis(sources.weight, 0, 2)
        blocks = of_sources[..., None, :] * jnp.eye(n_tasks, dtype=weight.dtype)[..., None]
        blocks = blocks.reshape(*of_sources.shape[:3], n_tasks * n_others)
        ours = jnp.pad(target.weight, ((0, 0), (0, 0), (0, n_tasks * n_others)))
        kernels = jnp.concatenate([ours[:, :, None], jnp.pad(blocks, ((0, 0),) * 3 + ((n, 0),))], axis=2)
        prior = jnp.concatenate([target.prior_weight[..., None], jnp.moveaxis(sources.prior_weight, 0, 2)], 2)
        mixed = (kernels * weight[..., None]).sum(axis=2), (prior * weight).sum(axis=2)
        mixture = Mixture(rows, scale, *mixed, joint=target.joint)
        if not by_task:
            # In strata, so that a task of weight w has a share w of the candidates, rounded up or down.
            return cls(mixture, replace(mixture.below, stratified=True))
        # Candidates of a task without rows are drawn from the target instead.
        some = (kernels[:, 0] > 0).any(axis=-1)
        kernels = jnp.where(some[..., None], kernels[:, 0], kernels[:, 0, :1])
        prior = jnp.where(some, prior[:, 0], prior[:, 0, :1])
        return cls(mixture, Mixture(rows, scale, kernels, prior, joint=target.joint))

    def log_prob(self, basis: Basis, at: Points) -> Float[Array, "c1 2 j"]:
        return self.mixture.log_prob(basis, at)

    def sample(self, key: Array, basis: Basis, n: int) -> Points:
        return self.mixture.sample(key, basis, n)


def fit_density(
    basis: Basis, smoothing: Smoothing, at: Points, mask: Bool[Array, " n"], size: int
) -> Mixture:
    """The density of the rows under a mask; the mask has at most ``size`` rows."""
    index, present = first_rows(mask, size)
    return smoothing.mixture(basis, at[index], present)


def over_tasks(function: Callable[..., Any], *arguments: Any) -> Any:
    """Map ``function`` over tasks, the leading axis of the arguments."""
    t = len(jax.tree.leaves(arguments)[0])
    if t <= _TOGETHER:
        return jax.vmap(function)(*arguments)
    # The last block is filled with copies, so that one program serves all blocks.
    index = jnp.minimum(jnp.arange(-(-t // _TOGETHER) * _TOGETHER), t - 1)
    filled = jax.tree.map(lambda a: a[index], arguments)
    out = jax.lax.map(lambda one: function(*one), filled, batch_size=_TOGETHER)
    return jax.tree.map(lambda a: a[:t], out)
