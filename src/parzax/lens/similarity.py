"""Table of the similarities of all pairs of tasks."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax._words import plural, visible
from parzax.density.smoothing import Smoothing
from parzax.kernels.bandwidth import Scott
from parzax.meta import Comparison, Variation
from parzax.meta.comparison import ComparedTask, SimilarityEstimator, kept_parameters, over_tasks
from parzax.meta.sources import Tasks, named_sources
from parzax.space import Space
from parzax.split import AbstractSplit, Split
from parzax.split.gamma import Linear


@dataclass(frozen=True, eq=False)
class TaskSimilarity:
    """Similarities of t tasks.

    Attributes:
        names: (t,) names of the tasks.
        similarity: (t, t) s = (1 - d) / (1 + d); symmetric, 1 on the diagonal.
        variation: (t, t) total variation d of the densities below; NaN for the estimate "overlap".
        error: (t, t) standard error of d, or NaN. The standard error of s is 2 / (1 + d)^2 times this.
        n_below: (t,) number of rows below.
        parameters: names of the parameters that the tasks were compared by.
        report: one line per task, which says what was used of it.
    """

    names: tuple[str, ...]
    similarity: Float[np.ndarray, "t t"]
    variation: Float[np.ndarray, "t t"]
    error: Float[np.ndarray, "t t"]
    n_below: Int[np.ndarray, " t"]
    parameters: tuple[str, ...]
    report: tuple[str, ...]

    def __repr__(self) -> str:
        names = [visible(name) for name in self.names]
        lines = [visible(f"TaskSimilarity({plural(len(names), 'task')}, by {', '.join(self.parameters)})")]
        width = max(map(len, names))
        for name, row in zip(names, self.similarity, strict=True):
            shown = " ".join(f"{s:.2f}" for s in row[:12])
            lines.append(f"  {name:<{width}}  {shown}{' ...' if len(row) > 12 else ''}")
        return "\n".join(lines)


def task_similarity(
    tasks: Any,
    space: Space | None = None,
    n_constraints: int = 0,
    *,
    split: AbstractSplit = Split(Linear(0.1), infeasible="better", first_front=True, merit=None),
    smoothing: Smoothing = Smoothing(Scott(0.1), 1.0),
    comparison: Comparison = Comparison(eta=None, top=None),
) -> TaskSimilarity:
    """Similarities of all pairs of tasks, in one compiled call (arXiv 2212.06751).

    s = (1 - d) / (1 + d), where d is the total variation between the densities of the good rows ("below") of
    two tasks. These are the first front, or a tenth of the rows if that is more. Densities are smoothed as in
    `parzax.papers.meta_learn_tpe`, but without a prior.

    Args:
        tasks: `parzax.Observations`, as a list or a dict by name; at least one.
        space: space with the parameters to compare by; None takes the space of the first task.
        n_constraints: c; if it is positive, the number of rows below counts only feasible rows.
        split: rule for the rows below.
        smoothing: smoothing of the densities; its prior and its weights by age are not used.
        comparison: how tasks are compared. With a finite ``eta`` by the floor(log_eta n) parameters (at least
            one) that are most important on average over tasks, where n is the smallest number of rows below
            of any task.

    Returns:
        A `TaskSimilarity`, with estimates of the variations and their standard errors. The similarity is 0 if
        one of the two tasks has no rows below, or if they share no compared parameter.

    Raises:
        TypeError, ValueError: as in `parzax.meta_learn_tpe`; if there is no task; if ``space`` is None and
            the space of the first task has no conditions that say when one of its parameters is active (a
            table with empty cells, an Optuna study whose trials have different parameters). Then pass a
            ``space`` that says when the parameter is active.
    """
    logs = named_sources(tasks, "tasks")
    first = next(iter(logs.values()))
    target = first.space if space is None else space
    target.check_dtype(jnp.result_type(float), native=True, arrays=False)
    n_constraints = _checks.whole_number("n_constraints", n_constraints, 0)
    rows = [log.to_source(name, target, first.n_objectives, n_constraints) for name, log in logs.items()]
    estimator, every = SimilarityEstimator.of(target, smoothing, comparison), Tasks.of(rows, split)
    compared, n_below = every.compared(estimator), every.below[:, 0].sum(axis=-1)
    least = min(n_below[n_below > 0].tolist(), default=1)
    n_kept = max(int((np.asarray(estimator.least) <= least).sum()), 1)
    kept = kept_parameters(estimator.ancestors, compared.importance.mean(axis=0), n_kept)
    alike, variation = jax.tree.map(np.asarray, _compare_pairs(estimator, compared, kept, every.shared))
    both_below, same_task = np.outer(n_below > 0, n_below > 0), np.eye(len(logs), dtype=bool)
    return TaskSimilarity(
        tuple(logs),
        np.where(same_task, 1.0, np.where(both_below, alike, 0.0)),
        np.where(same_task, 0.0, np.where(both_below, variation.value, 1.0)),
        np.where(both_below & ~same_task, variation.error, 0.0),
        n_below,
        tuple(name for name, keep in zip(target.names, np.asarray(kept), strict=True) if keep),
        every.report,
    )


@compiled
def _compare_pairs(
    estimator: SimilarityEstimator, tasks: ComparedTask, kept: Bool[Array, " d"], shared: Any
) -> tuple[Float[Array, "t t"], Variation]:
    """Similarities and variations of all pairs of tasks, over the kept parameters that both have."""
    n_tasks = len(tasks.importance)
    has = jnp.broadcast_to(kept, tasks.importance.shape) if shared is None else kept[None] & shared

    def compare(first: Int[Array, ""], second: Int[Array, ""]) -> tuple[Array, Variation]:
        one, other = (jax.tree.map(lambda a, i=i: a[i], tasks) for i in (first, second))
        both = has[first] & has[second]
        alike, apart = estimator.compare(one, other, both)
        some = both.any()
        return jnp.where(some, alike, 0), Variation(*map(partial(jnp.where, some), apart, (1, 0)))

    first, second = np.triu_indices(n_tasks)
    pairs = over_tasks(compare, jnp.asarray(first), jnp.asarray(second))
    number = np.zeros((n_tasks, n_tasks), np.int32)
    number[first, second] = number[second, first] = np.arange(len(first))
    return jax.tree.map(lambda a: a[number], pairs)
