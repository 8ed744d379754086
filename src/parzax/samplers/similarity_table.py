"""Similarities of all pairs of tasks, as a table with names."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from parzax.observations import Observations
from parzax.parzen.evaluation import Mixture
from parzax.parzen.points import Points
from parzax.samplers.presets import meta_learn_tpe
from parzax.samplers.source_rows import named_sources
from parzax.samplers.sources import Comparison, Sources, leave_out, log_uniform, over_tasks
from parzax.space import Recorded, Space
from parzax.tasks import (
    Variation,
    half,
    kept_parameters,
    n_kept,
    of_halves,
    overlap_similarity,
    similarity,
    uniform_variation,
)


@dataclass(frozen=True, eq=False)
class TaskSimilarity:
    """Similarities of t tasks.

    Attributes:
        names: (t,) of the tasks.
        similarity: (t, t) s = (1 - d) / (1 + d); symmetric, 1 on the diagonal.
        variation: (t, t) total variation d of the good densities; NaN for the estimate "overlap".
        error: (t, t) standard error of d, NaN for the estimate "overlap"; 2 / (1 + d)^2 times as much is that
            of s.
        n_good: (t,) number of good rows.
        parameters: names of those that the tasks were compared by.
        report: a line per task: what was used of it.
    """

    names: tuple[str, ...]
    similarity: np.ndarray
    variation: np.ndarray
    error: np.ndarray
    n_good: np.ndarray
    parameters: tuple[str, ...]
    report: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [f"TaskSimilarity({len(self.names)} tasks, by {', '.join(self.parameters)})"]
        width = max(map(len, self.names))
        for name, row in zip(self.names, self.similarity, strict=True):
            shown = " ".join(f"{s:.2f}" for s in row[:12])
            lines.append(f"  {name:<{width}}  {shown}{' ...' if len(row) > 12 else ''}")
        return "\n".join(lines)


def task_similarity(
    tasks: Any,
    space: Space | None = None,
    *,
    eta: float | None = None,
    key: jax.Array | None = None,
    **options: Any,
) -> TaskSimilarity:
    """How similar tasks are, all pairs in one compiled call (arXiv 2212.06751).

    s = (1 - d) / (1 + d), d the total variation between the densities of the good rows of two tasks: the
    first front or a tenth of the rows, smoothed as `meta_learn_tpe` does it, without a prior.

    Args:
        tasks: `parzax.Observations`, as a list or a dict by name; at least one.
        space: the parameters to compare by; those of the first task when None.
        eta: keep the floor(log_eta n) parameters (at least one) that are most important on average over
            tasks, n the smallest number of good rows of a task; None for all.
        key: for the points of the estimate; `jax.random.key(0)` when None.
        **options: ``estimate``, ``n_samples`` and other options of `parzax.meta_learn_tpe`. No task is the
            target here, so ``importance="sum"`` ranks parameters as the mean does.

    Returns:
        A `TaskSimilarity`, with estimates of the variations and their standard errors. A task without good
        rows has similarity 0 to all others, and so have two that share no kept parameter.

    Raises:
        TypeError, ValueError: as of `parzax.meta_learn_tpe`; for no task, and where the first task's
            parameters are active where its log says so (a table with empty cells, an Optuna study whose
            trials differ): then ``space`` has to say when they are.
    """
    named = named_sources(tasks)
    if not named:
        raise ValueError("tasks must have at least one task.")
    space = _space_of(*named[0]) if space is None else space
    sampler = meta_learn_tpe(space, dict(named), eta=eta, key=key, **options)
    sources = sampler.sources
    assert sources is not None
    comparison = sources.comparisons[0]
    n_good = np.asarray(sources.below[0].n_rows).astype(int)
    kept = jnp.ones(len(space), bool)
    if sources.eta is not None:
        least = max(int(n_good[n_good > 0].min(initial=1)), 1)
        n = jnp.maximum(n_kept(least, sources.eta, len(space)), 1)
        kept = kept_parameters(space, comparison.importance.mean(axis=0), n)
    alike, found = jax.tree.map(np.asarray, _pairs(sources, comparison, kept, space))
    there = (n_good > 0)[:, None] & (n_good > 0)
    own = np.eye(len(named), dtype=bool)
    return TaskSimilarity(
        sources.names,
        np.where(own, 1.0, np.where(there, alike, 0.0)),
        np.where(own, 0.0, np.where(there, found.value, 1.0)),
        np.where(there & ~own, found.error, 0.0),
        n_good,
        tuple(name for name, keep in zip(space.names, np.asarray(kept), strict=True) if keep),
        sources.report,
    )


def _space_of(name: str, log: Observations) -> Space:
    """That of a log, where densities can be on it."""
    for parameter, domains in zip(log.space.names, log.space.domains, strict=True):
        if any(isinstance(condition, Recorded) for domain in domains for condition in domain.conditions):
            raise ValueError(
                f"tasks: {parameter!r} is missing in some rows of {name!r}, whose space does not say when; "
                "give space=, a parzax.Space in which it has conditions (In, Between) or none, or that is "
                "without it."
            )
    return log.space


@eqx.filter_jit
def _pairs(
    sources: Sources, comparison: Comparison, kept: Bool[Array, " d"], space: Space
) -> tuple[Float[Array, "t t"], Variation]:
    """Similarities and variations of all pairs, by those of the kept parameters that both tasks have."""
    every, balanced = comparison.mixture, sources.estimate == "balanced"
    has = jnp.broadcast_to(kept, (sources.n_tasks, len(space)))
    has = has if sources.shared is None else has & sources.shared

    def logs(mixture: Mixture, own: Array, at: Points) -> tuple[Array, Array, Points]:
        """A task's density and those of all tasks, (t, s), and where."""
        if sources.shared is None:
            at = leave_out(at, kept)
            theirs = over_tasks(lambda m: m.log_prob(at), every)
            return jnp.broadcast_to(mixture.log_prob(at), theirs.shape), theirs, at
        at = leave_out(at, own & has)
        return *over_tasks(lambda m, at: (mixture.log_prob(at), m.log_prob(at)), every, at), at

    def of_one(one: tuple[Mixture, Array, Points]) -> Any:
        own, theirs, at = logs(*one)
        if balanced:
            return half(own - theirs)
        if sources.estimate == "overlap":
            return overlap_similarity(own, theirs)
        return uniform_variation(own, theirs, log_uniform(space, at))

    if balanced:
        halves: Any = jax.lax.map(of_one, (every, has, comparison.samples))
        n = 2 * comparison.samples.regime.shape[1]
        found: Any = of_halves(halves, jax.tree.map(jnp.transpose, halves), n)
    else:
        found = jax.lax.map(lambda one: of_one((*one, sources.scattered)), (every, has))
    if sources.estimate == "overlap":
        alike, unknown = found, jnp.full_like(found, jnp.nan)
        found = Variation(unknown, unknown)
    else:
        alike = similarity(found.value)
    share = (has[:, None] & has).any(axis=-1)
    found = Variation(jnp.where(share, found.value, 1), jnp.where(share, found.error, 0))
    return jnp.where(share, alike, 0), found
