"""How similar a target is to its source tasks, by the densities of their good rows."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax.parzen.evaluation import Mixture
from parzax.parzen.points import Points, points
from parzax.samplers.groups import Groups, first_rows, most_good
from parzax.samplers.sources import (
    Comparison,
    Sources,
    comparable,
    free,
    leave_out,
    log_uniform,
    over_tasks,
)
from parzax.samplers.state import State
from parzax.tasks import (
    Variation,
    balanced_variation,
    kept_parameters,
    n_kept,
    overall_importance,
    overlap_similarity,
    raw_importance,
    similarity,
    uniform_variation,
)

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler


def similarities(
    sampler: "Sampler", sources: Sources, state: State, own: Groups, group: int = 0
) -> Float[Array, " t"]:
    """s_m of the target and every source task, by their good rows of a group (arXiv 2212.06751).

    1 for all while the target has too few good rows to keep a single parameter. A task is compared by those
    of the kept parameters that it has; 0 if it has none of them, or no row in the group.
    """
    space, comparison, there = sampler.space, sources.comparisons[group], sources.below[group].n_rows > 0
    below = own.below[group]
    counted = below | own.above[group]
    kept, n = _kept(sources, comparison, state.points, below, counted, sampler, there)
    every = n > 0
    if sources.shared is not None:
        kept = kept & sources.shared
    index, present = first_rows(below, most_good(sampler, state.capacity) if group == 0 else state.capacity)
    fitted = comparable(sampler, state.points[index], present)
    target = free(fitted)
    if sources.estimate == "balanced":
        at_target = leave_out(points(space, fitted.from_uniforms(*sources.draws)), kept)
        found = _balanced(target, at_target, comparison.mixture, leave_out(comparison.samples, kept))
        alike = similarity(found.value)
    else:
        at = leave_out(sources.scattered, kept)
        log_target, logs = _of_one(target, at), _of_tasks(comparison.mixture, at)
        if sources.estimate == "overlap":
            alike = overlap_similarity(jnp.broadcast_to(log_target, logs.shape), logs)
        else:
            alike = similarity(uniform_variation(log_target, logs, log_uniform(space, at)).value)
    return jnp.where(there, jnp.where(every, jnp.where(kept.any(axis=-1), alike, 0), 1), 0)


def _kept(
    sources: Sources,
    comparison: Comparison,
    at: Points,
    below: Bool[Array, " n"],
    counted: Bool[Array, " n"],
    sampler: "Sampler",
    there: Bool[Array, " t"],
) -> tuple[Bool[Array, " d"], Int[Array, ""]]:
    """The parameters to compare by, and how many the good rows allow: floor(log_eta |D^(l)|)."""
    space = sampler.space
    if sources.eta is None:
        return jnp.ones(len(space), bool), below.sum()
    of_target = raw_importance(space, at, below, counted)
    # Over the tasks that have the parameter.
    known = there[:, None] if sources.shared is None else there[:, None] & sources.shared
    importance = overall_importance(of_target, comparison.importance, sources.importance, known)
    n = n_kept(below.sum(), sources.eta, len(space))
    return kept_parameters(space, importance, n), n


def _balanced(target: Mixture, at_target: Points, sources: Mixture, samples: Points) -> Variation:
    """Total variation of the target to t tasks, from s points of it and s of each of them."""
    by_sources, by_themselves = _of_tasks(sources, at_target), _of_tasks(sources, samples)
    by_target = _of_one(target, samples)
    return balanced_variation(by_themselves - by_target, by_sources - _of_one(target, at_target))


def _of_one(density: Mixture, at: Points) -> Float[Array, "*t s"]:
    """Logs of one density at points, of which each task may have its own."""
    flat = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), at)
    return density.log_prob(flat).reshape(at.regime.shape[:-1])


def _of_tasks(densities: Mixture, at: Points) -> Float[Array, "t s"]:
    """Logs of the densities of t tasks at the same points, or each at its own."""
    if at.regime.ndim == 2:
        return over_tasks(lambda mixture: mixture.log_prob(at), densities)
    return over_tasks(lambda mixture, own: mixture.log_prob(own), densities, at)
