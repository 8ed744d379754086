"""Mixtures over tasks, and weights in them: by similarity, or by how well each task predicts the target."""

import abc
from dataclasses import replace
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax.density import AbstractMixture, AbstractSmoothing, Mixture, Smoothing
from parzax.density.basis import Basis
from parzax.meta.comparison import over_tasks
from parzax.meta.sources import Sources
from parzax.meta.variation import task_kernel
from parzax.space import Points, Space
from parzax.split import SplitRows, State

# Number of EM iterations.
_ROUNDS = 30


# Weights of the tasks in a density below and in one above, which each sum to 1, and the share gamma.
TaskWeights = tuple[Float[Array, "2 t1"], Float[Array, ""]]


class AbstractTaskWeights(eqx.Module):
    """A rule for the weights of the tasks, the target first."""

    @abc.abstractmethod
    def __call__(
        self, smoothing: Smoothing, sources: Sources, basis: Basis, state: State, split: SplitRows, group: int
    ) -> TaskWeights:
        """Weights of the tasks in the densities of one group, below and above, and its share gamma.

        Args:
            smoothing: smoothing of the target's densities.
            sources: t source tasks.
            basis: basis of the target's space.
            state, split: rows of the target and their groups.
            group: 0 for the objective, i for the i-th constraint.
        """


@final
class BySimilarity(AbstractTaskWeights):
    """W_m proportional to N_m k(1, m), where N_m is the size of the group in task m (arXiv 2212.06751).

    A task without rows in the group below is not one of the T tasks in k(1, m). The share is
    gamma = sum_m k(1, m) N_m^(l) / sum_m k(1, m) N_m. In c-TPE's score gamma l + (1 - gamma) g is then the
    density of all rows of all tasks (for the objective, if ``share_power`` is 1).
    """

    def __call__(
        self, smoothing: Smoothing, sources: Sources, basis: Basis, state: State, split: SplitRows, group: int
    ) -> TaskWeights:
        alike = sources.similarities(state, split, group)
        kernel = task_kernel(alike, sources.has_rows(group))
        n_below, n_above, n_measured = _sizes(sources, state, split, group)
        n_rows = (kernel * n_measured).sum()
        share = (kernel * n_below).sum() / jnp.where(n_rows > 0, n_rows, 1)
        gamma = jnp.where(n_rows > 0, share, split.gamma[group])
        return jnp.stack([_shares(n_below * kernel), _shares(n_above * kernel)]), gamma


_prior_weight = partial(_checks.setting, "prior_weight", above=0)


@final
class Stacking(AbstractTaskWeights):
    """Weights by how well each task predicts the rows of the target.

    Weights W maximise sum_i log sum_m W_m q_m(x_i) + prior_weight sum_m log(W_m) / T. They are computed for
    two predictions. The first predicts where the rows below are: q_m = l_m, summed over the rows below
    (stacked densities, Smyth and Wolpert 1999). The second predicts which rows are below:
    q_m = gamma l_m / (gamma l_m + (1 - gamma) g_m) for a row below, and 1 minus this for a row above, summed
    over all rows (stacking, Wolpert 1992). The target's densities at a row leave this row out. Pending rows
    are ignored. The weight of a source, in both groups, is the product of its two weights; the target has the
    rest. If the target has no rows, each source has weight 1 / T^2.

    Neither prediction is enough alone. With the first one a source confirms itself, because good rows lie
    where the source sent the search. With the second one a source keeps its weight after all rows are good.

    Attributes:
        prior_weight: weight of the prior (equal W_m), in rows; ValueError unless it is above 0.
    """

    prior_weight: float | Float[Array, ""] = eqx.field(default=1.0, converter=_prior_weight)

    def __call__(
        self, smoothing: Smoothing, sources: Sources, basis: Basis, state: State, split: SplitRows, group: int
    ) -> TaskWeights:
        rows, dtype = state.points, state.x.dtype
        target = jax.tree.map(lambda a: a[group], smoothing.mixtures(basis, state, split))
        of_sources = jax.tree.map(lambda a: a[:, group], sources.densities)
        log_prob = over_tasks(lambda one: one.log_prob(basis, rows), of_sources)
        # The target's density at a row is fitted to its other rows.
        every = jnp.concatenate([target.left_out(basis, rows)[None], log_prob])
        log_below, log_above, below = every[:, 0], every[:, 1], split.below[group]
        # Rows that are pending or not measured are ignored.
        values = state.losses if group == 0 else state.constraints[:, group - 1 : group]
        measured = (below | split.above[group]) & ~jnp.isnan(values).any(axis=-1)
        good, n = below.sum().astype(dtype), measured.sum().astype(dtype)
        # Half a row is added to both groups, so that predictions stay uncertain. If both densities are 0, the
        # odds are even.
        neither = jnp.isneginf(log_below) & jnp.isneginf(log_above)
        odds = jnp.where(neither, 0, log_below) - jnp.where(neither, 0, log_above)
        odds = odds + jnp.log((good + 0.5) / (n - good + 0.5))
        log_chance = jax.nn.log_sigmoid(jnp.where(below[None], odds, -odds))
        exists = jnp.concatenate([jnp.ones(1, bool), sources.has_rows(group)])
        places = mixture_weights(log_below, below, exists, self.prior_weight)
        sides = mixture_weights(log_chance, measured, exists, self.prior_weight)
        of_sources = (places * sides)[1:]
        weight = jnp.concatenate([1 - of_sources.sum(keepdims=True), of_sources])
        n_below, _, n_measured = _sizes(sources, state, split, group)
        gamma = (weight * n_below / jnp.where(n_measured > 0, n_measured, 1)).sum()
        return jnp.stack([weight, weight]), gamma


def mixture_weights(
    log_prob: Float[Array, "t k"],
    present: Bool[Array, " k"],
    exists: Bool[Array, " t"],
    prior_weight: float | Float[Array, ""],
) -> Float[Array, " t"]:
    """The maximiser W of sum_i log sum_m W_m exp(log_prob_mi) + prior_weight sum_m log(W_m) / T.

    It is computed by 30 EM iterations from equal weights (Dempster, Laird and Rubin 1977).

    Args:
        log_prob: (t, k) logs of t densities at k rows; absent rows may hold any value.
        present: (k,) mask of the rows that exist.
        exists: (t,) mask of the T densities that exist, at least one; others get weight 0.
        prior_weight: weight of the prior (equal W), in rows.
    """
    equal = exists.astype(log_prob.dtype) / exists.sum().astype(log_prob.dtype)
    usable = exists[:, None] & present[None] & ~jnp.isnan(log_prob)
    highest = jnp.where(usable, log_prob, -jnp.inf).max(axis=0)
    highest = jnp.where(jnp.isfinite(highest), highest, 0)
    ratio = jnp.where(usable, jnp.exp(jnp.where(usable, log_prob, 0) - highest[None]), 0)

    def step(_: int, weight: Float[Array, " t"]) -> Float[Array, " t"]:
        joint = weight[:, None] * ratio
        total = joint.sum(axis=0)
        shares = (joint / jnp.where(total > 0, total, 1)[None]).sum(axis=1)
        return (shares + prior_weight * equal) / (shares.sum() + prior_weight)

    return jax.lax.fori_loop(0, _ROUNDS, step, equal)


def _sizes(sources: Sources, state: State, split: SplitRows, group: int) -> list[Float[Array, " t1"]]:
    """Number of rows of each task below, above, and in both groups (only measured rows), the target first."""
    of_target = split.below[group].sum(), split.above[group].sum(), split.n_measured[group]
    below, above = sources.n_rows[:, group].T
    pairs = zip(of_target, (below, above, below + above), strict=True)
    return [jnp.concatenate([target[None].astype(state.x.dtype), others]) for target, others in pairs]


def _shares(weight: Float[Array, " t1"]) -> Float[Array, " t1"]:
    """Weights divided by their sum; if all weights are 0, the target has weight 1."""
    total = weight.sum()
    alone = (jnp.arange(len(weight)) == 0).astype(weight.dtype)
    return jnp.where(total > 0, weight / jnp.where(total > 0, total, 1), alone)


class TaskMixture(AbstractMixture):
    """Densities of the groups of a sampler as mixtures over tasks, p(x) = sum_m W_m p_m(x).

    All tasks have the same prior, so each density is one `Mixture` with the kernels of all tasks.
    """

    mixture: Mixture  # (c + 1, 2)
    # What candidates are drawn from: the densities below, (c + 1,), or those of each task, (c + 1, t + 1).
    candidates: Mixture

    @classmethod
    def of(
        cls, target: Mixture, sources: Mixture, weight: Float[Array, "c1 2 t1"], by_task: bool
    ) -> "TaskMixture":
        """Mix the densities (c + 1, 2) of a target with those (t, c + 1, 2) of sources, by weight W.

        With ``by_task`` candidates are drawn from each task, else from the mixture of the tasks.
        """
        kernels = (target.rows, target.scale), (sources.rows, sources.scale)
        rows, scale = jax.tree.map(partial(_joined, axis=-2), *kernels)
        weights = _mixed_weights(target, sources, weight)
        anchored = target.anchored and sources.anchored
        mixture = Mixture(rows, scale, *weights, joint=target.joint, anchored=anchored)
        if not by_task:
            # In strata, so that a task of weight w has a share w of the candidates, rounded up or down.
            return cls(mixture, replace(mixture.below, stratified=True))
        # Candidates of a task without rows are drawn from the target instead.
        has_rows = jnp.pad((sources.below.weight > 0).any(axis=-1).T, ((0, 0), (1, 0)), constant_values=True)
        task = jnp.where(has_rows, jnp.arange(has_rows.shape[1])[None], 0)
        alone = jax.nn.one_hot(task, has_rows.shape[1], dtype=weight.dtype)
        of_tasks = jax.vmap(partial(_mixed_weights, target.below, sources.below), 1, 1)(alone)
        return cls(mixture, Mixture(rows, scale, *of_tasks, joint=target.joint))

    def log_prob(self, basis: Basis, at: Points) -> Float[Array, "c1 2 j"]:
        return self.mixture.log_prob(basis, at)

    def sample(self, key: Array, basis: Basis, n: int) -> Points:
        return self.mixture.sample(key, basis, n)

    @property
    def below(self) -> Mixture:
        return self.candidates


def _mixed_weights(
    target: Mixture, sources: Mixture, task_weight: Float[Array, "*g t1"]
) -> tuple[Float[Array, "*g k"], Float[Array, "*g"]]:
    """Weights of the kernels of all tasks, and of the prior, in a mixture over tasks."""
    of_target, of_sources = task_weight[..., 0], jnp.moveaxis(task_weight[..., 1:], -1, 0)
    kernels = _joined(of_target[..., None] * target.weight, of_sources[..., None] * sources.weight)
    return kernels, of_target * target.prior_weight + (of_sources * sources.prior_weight).sum(axis=0)


def _joined(of_target: Array, of_sources: Array, axis: int = -1) -> Array:
    """The kernels of the target, followed by those of the sources, whose first axis is that of tasks."""
    by_task = jnp.moveaxis(of_sources, 0, axis - 1)
    return jnp.concatenate([of_target, jax.lax.collapse(by_task, axis - 1, axis + 1 or None)], axis=axis)


class MixedSmoothing(AbstractSmoothing):
    """Densities that are weighted mixtures over tasks (arXiv 2212.06751)."""

    target: Smoothing  # smoothing of the target's densities
    sources: Sources
    # Whether each group draws as many candidates from every task; else from all tasks, by their weights.
    by_task: bool = eqx.field(static=True)
    weights: AbstractTaskWeights

    def __check_init__(self) -> None:
        """Raise TypeError for weights that are no rule."""
        _checks.instance("task_weights", self.weights, AbstractTaskWeights, "a rule of parzax.meta")

    def basis(self, space: Space, dtype: Any) -> Basis:
        _checks.check_precision("the fit of the sources", self.sources.n_rows.dtype, dtype)
        return self.target.basis(space, dtype)

    def fit(self, basis: Basis, state: State, split: SplitRows) -> tuple[TaskMixture, Float[Array, " c1"]]:
        target = self.target.mixtures(basis, state, split)
        groups = range(len(split.below))
        each = [self.weights(self.target, self.sources, basis, state, split, i) for i in groups]
        weight, gamma = map(jnp.stack, zip(*each, strict=True))
        return TaskMixture.of(target, self.sources.densities, weight, self.by_task), gamma

    def status(self, basis: Basis, state: State, split: SplitRows) -> Int[Array, ""]:
        """Status of the target's densities."""
        return self.target.status(basis, state, split)
