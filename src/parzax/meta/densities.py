"""Densities of source tasks, and their weighted mixtures with the densities of a target."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax._numerics import masked_logsumexp
from parzax.density import AbstractDensities, Smoothing
from parzax.density.basis import Basis
from parzax.density.evaluation import Prepared
from parzax.density.mixture import KernelMixture
from parzax.density.sampling import components, drawn_points, uniforms
from parzax.space import Points
from parzax.split import State, first_rows

# Number of candidates that densities are prepared for; it decides on tables and forms of evaluation.
POINTS = 1024
# Number of tasks that are evaluated at once, so that their (point, kernel) pairs stay in a core's cache.
_TOGETHER = 8


class TaskDensities(eqx.Module):
    """The densities of one group in t tasks: as mixtures for draws, and prepared for evaluation.

    ``n_rows`` has the number of rows of the group in each task.
    """

    mixtures: KernelMixture
    prepared: Prepared
    n_rows: Float[Array, " t"]

    @classmethod
    def fit(
        cls, basis: Basis, smoothing: Smoothing, states: State, masks: Bool[Array, "t n"], size: int
    ) -> "TaskDensities":
        """Fit the densities of the rows under a mask, for each task; a mask has at most ``size`` rows."""

        def one(at: Points, mask: Bool[Array, " n"]) -> tuple[KernelMixture, Prepared]:
            mixture = fit_density(basis, smoothing, at, mask, size)
            # The form is chosen for the total number of pairs of all tasks.
            form = mixture.form(basis, POINTS * max(len(masks), POINTS))
            return mixture, mixture.prepare(basis, POINTS, form)

        mixtures, prepared = over_tasks(one, states.points, masks)
        return cls(mixtures, prepared, masks.sum(axis=-1).astype(states.x.dtype))

    def log_prob(self, basis: Basis, at: Points) -> Float[Array, "t j"]:
        """log densities of each task at all points, in unit coordinates."""
        return over_tasks(lambda prepared: prepared.log_prob(basis, at), self.prepared)

    def sample(self, basis: Basis, key: PRNGKeyArray, task: Int[Array, " k"], joint: bool) -> Points:
        """k draws; draw i comes from the density of task ``task[i]``."""
        mixtures, n = self.mixtures, self.mixtures.weight.shape[-1]
        levels, places = uniforms(key, len(task), basis, mixtures.scale.dtype, joint=joint)
        running = jnp.cumsum(mixtures.weight, axis=-1)
        row, from_prior = jax.vmap(components)(levels, running[task], mixtures.prior_weight[task])
        # Concatenate the rows of all tasks.
        rows, scale = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), (mixtures.rows, mixtures.scale))
        return drawn_points(basis, places, rows, task.astype(row.dtype)[:, None] * n + row, from_prior, scale)


class TaskMixtures(AbstractDensities):
    """Densities of g groups as mixtures over tasks, p(x) = sum_m W_m p_m(x); the target is the first task."""

    basis: Basis
    target: AbstractDensities  # densities of the target, of all groups
    sources: tuple[TaskDensities, ...]  # (g,) densities of the source tasks
    log_weight: Float[Array, "g t1"]  # log W_m; W sums to 1 over tasks
    most: int = eqx.field(static=True)  # largest number of candidates of all groups together
    joint: bool = eqx.field(static=True)  # as in `Smoothing`

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        target, out = self.target.log_prob(at), []
        for i, (source, weight) in enumerate(zip(self.sources, self.log_weight, strict=True)):
            every = jnp.concatenate([target[i, None], source.log_prob(self.basis, at)])
            out.append(masked_logsumexp(every + weight[:, None], jnp.ones_like(every), axis=0))
        return jnp.stack(out)

    def sample(self, key: PRNGKeyArray, n: int) -> Points:
        """See `AbstractDensities`. Each group draws n candidates per task, but at most ``most`` / g in total.

        If the limit applies, the tasks share the candidates in proportion to their weights.
        """
        g, n_tasks = self.log_weight.shape
        by_task = n * n_tasks * g <= self.most
        total = n * n_tasks if by_task else max(self.most // g, n)
        target_key, *keys = jax.random.split(key, g + 1)
        target, out = self.target.sample(target_key, total), []
        n_target = len(target) // g
        for i, (source, weight, key) in enumerate(zip(self.sources, self.log_weight, keys, strict=True)):
            pick, draw = jax.random.split(key)
            each = jnp.repeat(jnp.arange(n_tasks), n)
            task = each if by_task else draw_stratified(pick, jnp.exp(weight), total)
            # Candidates of a task without rows are drawn from the target instead.
            there = jnp.concatenate([jnp.ones(1, bool), source.n_rows > 0])
            task = jnp.where(there[task], task, 0)
            theirs = source.sample(self.basis, draw, jnp.maximum(task - 1, 0), self.joint)
            ours = target[i * n_target : i * n_target + total]
            out.append(jax.tree.map(partial(jnp.where, (task == 0)[:, None]), ours, theirs))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *out)

    def first(self, n: int) -> "TaskMixtures":
        target, sources, weight = self.target.first(n), self.sources[:n], self.log_weight[:n]
        return replace(self, target=target, sources=sources, log_weight=weight)


def fit_density(
    basis: Basis, smoothing: Smoothing, at: Points, mask: Bool[Array, " n"], size: int
) -> KernelMixture:
    """The density of the rows under a mask; the mask has at most ``size`` rows."""
    (index, present), dtype = first_rows(mask, size), at.unit.dtype
    ages = jax.tree.map(lambda a: a[index], smoothing.ages(mask, dtype))
    return smoothing.mixture(basis, at[index], present.astype(dtype), ages)


def draw_stratified(key: PRNGKeyArray, weight: Float[Array, " t"], n: int) -> Int[Array, " {n}"]:
    """n task numbers by weight: a task of weight w occurs n w times, rounded up or down."""
    level = (jnp.arange(n).astype(weight.dtype) + jax.random.uniform(key, dtype=weight.dtype)) / n
    return jnp.minimum(jnp.searchsorted(jnp.cumsum(weight), level), len(weight) - 1)


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
