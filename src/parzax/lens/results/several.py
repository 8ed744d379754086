"""Importance for each of several losses of one log: every objective, or a sweep of weights, in one call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parzax import _checks
from parzax._words import plural
from parzax.importance.objectives import weighted_sum
from parzax.lens.logs import Observations
from parzax.lens.results.estimator import GridEstimator
from parzax.lens.results.result import ImportanceResult
from parzax.lens.results.sweep import analyse_losses, checked_task, settle_level
from parzax.lens.results.targets import (
    Scalarisation,
    losses_by_seed,
    narrow_report,
    objective_names,
    scalarised_losses,
)

# Default weights of the second objective, if there are two.
_WEIGHTS = np.arange(11) / 10


@dataclass(frozen=True, eq=False)
class ImportanceOverWeights:
    """Importances for weighted combinations of the objectives.

    Attributes:
        weights: (w, m) weights of the objectives, each row summing to 1.
        objectives: (m,) names of the objectives.
        results: (w,) one result per row of weights, each as from `cond_ped_anova`.
    """

    weights: np.ndarray
    objectives: tuple[str, ...]
    results: tuple[ImportanceResult, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, the order of the last axis of `importance`."""
        return self.results[0].names

    @property
    def target_quantile(self) -> np.ndarray:
        """(q,) requested levels."""
        return self.results[0].target_quantile

    @property
    def importance(self) -> np.ndarray:
        """(w, ..., q, d) importances of all results."""
        return np.stack([result.importance for result in self.results])

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        levels = plural(len(self.target_quantile), "level")
        size = f"{plural(len(self), 'weight')}, {levels}, {plural(len(self.names), 'parameter')}"
        return f"ImportanceOverWeights({size}; {' and '.join(self.objectives)})"


def importance_by_objective(
    obs: Observations,
    target_quantile: Any = None,
    region_quantile: float = 1.0,
    *,
    rows: str | Sequence[str] = "all",
    estimator: GridEstimator | None = None,
    reference: str = "region",
) -> dict[str, ImportanceResult]:
    """Conditional PED-ANOVA for each objective separately, in one call of one compiled function.

    Args:
        obs: the log, of m objectives.
        target_quantile, region_quantile, rows, estimator, reference: as of `cond_ped_anova`.

    Returns:
        A dictionary that maps the name of each objective to its result of `cond_ped_anova`, in the order of
            the log. An objective is named by its column, or "objective_0" and so on. Nothing is averaged
            over objectives.

    Raises:
        TypeError, ValueError: as `cond_ped_anova`.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(size=(200, 2))
    >>> space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    >>> obs = px.Observations.from_arrays(space, x, x, directions=["minimize", "maximize"])
    >>> [result.ranking()[0] for result in px.importance_by_objective(obs).values()]
    ['a', 'b']
    """
    task = checked_task(obs, target_quantile, region_quantile, rows, estimator, reference)
    losses = np.moveaxis(losses_by_seed(task.obs), -1, 0)
    task = settle_level(task, losses) if target_quantile is None else task
    _, results = analyse_losses(task, losses)
    named = enumerate(zip(objective_names(obs), results, strict=True))
    return {name: replace(x, report=narrow_report(obs, x.report, i)) for i, (name, x) in named}


def importance_over_weights(
    obs: Observations,
    weights: Any = None,
    target_quantile: Any = None,
    region_quantile: float = 1.0,
    *,
    scalarise: Scalarisation = weighted_sum,
    rows: str | Sequence[str] = "all",
    estimator: GridEstimator | None = None,
    reference: str = "region",
) -> ImportanceOverWeights:
    """Conditional PED-ANOVA for weighted combinations of the objectives, in one call of a compiled function.

    Importance for a compromise, as in "Hyperparameter Importance Analysis for Multi-Objective AutoML"
    (arXiv 2405.07640): objectives are scaled to [0, 1] by their smallest and largest values in the log, and
    combined into one loss for every row of ``weights``.

    Args:
        obs: the log, of m objectives.
        weights: (w, m) weights, at least 0; each row is divided by its sum. By default, for two objectives,
            the second gets 0, 0.1, ..., 1 and the first the rest.
        scalarise: how normalised objectives (..., m) and weights (m,) give a loss (...,):
            `parzax.importance.weighted_sum`, `parzax.importance.chebyshev` or your own function.
        target_quantile, region_quantile, rows, estimator, reference: as of `cond_ped_anova`.

    Returns:
        The weights with their results. If one objective has all the weight, the numbers are those of this
        objective alone. A row that lacks an objective with a weight above 0 is left out.

    Raises:
        TypeError, ValueError: as `cond_ped_anova`; for weights of another shape, below 0, or all 0, and for
            missing weights if the number of objectives is not two.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(size=(300, 2))
    >>> space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    >>> obs = px.Observations.from_arrays(space, x, x)
    >>> sweep = px.importance_over_weights(obs, [[1, 0], [1, 1], [0, 1]])
    >>> [result.ranking()[0] for result in sweep.results][::2]
    ['a', 'b']
    """
    task = checked_task(obs, target_quantile, region_quantile, rows, estimator, reference)
    shares = _weights(weights, obs.n_objectives)
    _checks.instance("scalarise", scalarise, Callable, "a function of losses and weights")
    losses = scalarised_losses(task.obs, shares, scalarise)
    task = settle_level(task, losses) if target_quantile is None else task
    _, results = analyse_losses(task, losses)
    return ImportanceOverWeights(shares, objective_names(obs), tuple(results))


def _weights(weights: Any, m: int) -> np.ndarray:
    """(w, m) weights, each row divided by its sum."""
    if weights is None:
        if m != 2:
            objectives = plural(m, "objective")
            raise ValueError(f"weights must be given for {objectives}, (w, {m}); only two have a default.")
        return np.stack([1 - _WEIGHTS, _WEIGHTS], axis=1)
    weights = _checks.float_array("weights", weights)
    if weights.ndim != 2 or weights.shape[1] != m or not len(weights):
        raise ValueError(f"weights must have shape (w, {m}), one column per objective, got {weights.shape}.")
    if not ((weights >= 0) & (weights < np.inf)).all() or not (weights > 0).any(axis=1).all():
        raise ValueError("weights must be finite and at least 0, with one above 0 in each row.")
    # Weights are divided by the largest first, so that sums do not overflow.
    weights = weights / weights.max(axis=1, keepdims=True)
    return weights / weights.sum(axis=1, keepdims=True)
