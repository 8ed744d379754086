"""Mixtures over tasks: a target's densities and those of its sources, weighted by similarity."""

from dataclasses import replace
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax._numerics import masked_logsumexp
from parzax.parzen.points import Points
from parzax.parzen.sampling import sample_one, uniforms
from parzax.samplers.densities import Densities
from parzax.samplers.groups import Groups
from parzax.samplers.similar import similarities
from parzax.samplers.sources import Density, Sources
from parzax.samplers.state import State
from parzax.tasks import task_kernel

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler


class TaskMixtures(eqx.Module):
    """Densities p(x) = sum_m W_m p_m(x) over tasks, of g groups; the target is the first task.

    Attributes:
        own: the target's, of all groups.
        sources: (g,) the source tasks'.
        log_weight: (g, t + 1) log W_m; sums to 1 over tasks.
        most: candidates of all groups together; static.
    """

    own: Densities
    sources: tuple[Density, ...]
    log_weight: Float[Array, "g t1"]
    most: int = eqx.field(static=True)

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        """log densities in unit coordinates, at valid points."""
        target = self.own.log_prob(at)
        every = [
            jnp.concatenate([target[i, None], density.log_prob(at)]) for i, density in enumerate(self.sources)
        ]
        return jnp.stack(
            [
                masked_logsumexp(log + weight[:, None], jnp.ones_like(log), axis=0)
                for log, weight in zip(every, self.log_weight, strict=True)
            ]
        )

    def sample(self, key: jax.Array, n: int, joint: bool) -> Float[Array, "g k d"]:
        """Draws from every group, in native units: n per task, or ``most`` / g by the tasks' weights."""
        g, n_tasks = self.log_weight.shape
        by_task = n * n_tasks * g <= self.most
        total = n * n_tasks if by_task else max(self.most // g, 1)
        # A task without rows leaves its candidates to the target.
        there = [jnp.concatenate([jnp.ones(1, bool), own.n_rows > 0]) for own in self.sources]
        own_key, *keys = jax.random.split(key, g + 1)
        target = self.own.sample(own_key, total, joint)
        out = []
        for i, own in enumerate(keys):
            choose, draw = jax.random.split(own)
            weight = jnp.exp(self.log_weight[i])
            task = jnp.repeat(jnp.arange(n_tasks), n) if by_task else stratified(choose, weight, total)
            task = jnp.where(there[i][task], task, 0)
            theirs = sample_tasks(draw, self.sources[i], jnp.maximum(task - 1, 0), joint)
            out.append(jnp.where((task == 0)[:, None], target[i], theirs))
        return jnp.stack(out)

    def first(self, n: int) -> "TaskMixtures":
        """The first n groups."""
        return TaskMixtures(self.own.first(n), self.sources[:n], self.log_weight[:n], self.most)

    def with_room(self, n: int) -> "TaskMixtures":
        """The same with at least n draws from every group."""
        return replace(self, most=max(self.most, n * len(self.log_weight)))


def with_sources(
    sampler: "Sampler", sources: Sources, state: State, own: Groups, fitted: Densities
) -> tuple[TaskMixtures, Float[Array, " c1"]]:
    """The densities of all groups with those of the sources, and the share of each good group.

    W_m is proportional to N_m k(1, m), N_m the size of the group in task m. Tasks without rows in a good
    group are not among the T tasks of its k(1, m). A share gamma is
    sum_m k(1, m) N_m^(l) over sum_m k(1, m) N_m. With c-TPE's score the sum gamma l + (1 - gamma) g is then
    the density of all rows of all tasks.
    """
    n_groups = len(own.below)
    kernels = [
        task_kernel(similarities(sampler, sources, state, own, i), sources.below[i].n_rows > 0)
        for i in range(n_groups)
    ]
    dtype = state.x.dtype

    def sizes(masks: Array, densities: tuple[Density, ...]) -> list[Array]:
        counts = masks.sum(axis=-1).astype(dtype)
        return [jnp.concatenate([counts[i, None], d.n_rows]) for i, d in enumerate(densities)]

    below, above = sizes(own.below, sources.below), sizes(own.above, sources.above)
    weights = [_log_weights(n, k) for n, k in zip(below + above, kernels * 2, strict=True)]
    gamma = []
    for i, kernel in enumerate(kernels):
        known = (below[i] + above[i]).at[0].set(own.n_known[i].astype(dtype))
        rows = (kernel * known).sum()
        share = (kernel * below[i]).sum() / jnp.where(rows > 0, rows, 1)
        gamma.append(jnp.where(rows > 0, share, own.gamma[i]))
    mixtures = TaskMixtures(fitted, sources.below + sources.above, jnp.stack(weights), sources.most)
    return mixtures, jnp.stack(gamma)


def _log_weights(n_rows: Float[Array, " t1"], kernel: Float[Array, " t1"]) -> Float[Array, " t1"]:
    """log of N_m k(1, m) over its sum; the target alone where no task has a weight."""
    weight = n_rows * kernel
    total = weight.sum()
    alone = jnp.arange(len(weight)) == 0
    share = jnp.where(total > 0, weight / jnp.where(total > 0, total, 1), alone)
    return jnp.where(share > 0, jnp.log(jnp.where(share > 0, share, 1)), -jnp.inf)


def sample_tasks(
    key: jax.Array, density: Density, task: Int[Array, " k"], joint: bool
) -> Float[Array, "k d"]:
    """One draw from each given task's estimator, in native units."""
    space, dtype = density.fitted.space, density.fitted.scale.dtype
    components, levels = uniforms(key, len(task), space, dtype, joint=joint)
    running = jnp.cumsum(density.fitted.weight, axis=-1)

    def draw(component: Array, level: Array, m: Array) -> Array:
        own = jax.tree.map(lambda a: a[m], density.fitted)
        return sample_one(
            component,
            level,
            None,
            space=space,
            kernels=own.kernels,
            scale=own.scale,
            running_weight=running[m],
            prior_weight=own.prior_weight,
            priors=own.priors,
        )

    return jax.vmap(draw)(components, levels, task)


def stratified(key: jax.Array, weight: Float[Array, " t"], n: int) -> Int[Array, " {n}"]:
    """n task numbers in proportion to the weights, each as often as its share says, but for one."""
    level = (jnp.arange(n) + jax.random.uniform(key, dtype=weight.dtype)) / n
    return jnp.minimum(jnp.searchsorted(jnp.cumsum(weight), level), len(weight) - 1)
