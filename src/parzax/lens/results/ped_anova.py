"""PED-ANOVA and conditional PED-ANOVA on observations: rank the rows, analyse, resample."""

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from parzax import _checks
from parzax.importance.resample import METHODS
from parzax.lens.logs import Observations
from parzax.lens.results.estimator import GridEstimator
from parzax.lens.results.resampling import estimate_uncertainty, resolve_counts
from parzax.lens.results.result import ImportanceResult
from parzax.lens.results.sweep import Task, analyse_losses, checked_key, checked_task, settle_level
from parzax.lens.results.targets import (
    counted_rows,
    narrow_report,
    objective_index,
    ranking_losses,
    usable_rows,
)
from parzax.pareto import AbstractTies


def cond_ped_anova(
    obs: Observations,
    target_quantile: Any = None,
    region_quantile: float = 1.0,
    *,
    objective: int | str = 0,
    selection: str = "objective",
    ties: AbstractTies | None = None,
    rows: str | Sequence[str] = "all",
    estimator: GridEstimator | None = None,
    reference: str = "region",
    n_resamples: int = 0,
    n_shuffles: int | None = None,
    resampling: str = "half-sampling",
    key: Any = None,
) -> ImportanceResult:
    """Conditional PED-ANOVA: how much each parameter matters for reaching the best rows of a region.

    v is the within-regime local marginal variance of a parameter (Eq. 11 of "Conditional PED-ANOVA", arXiv
    2601.20800). Its importance is v divided by the sum of v over all parameters (Eq. 8). One call of one
    compiled function computes all levels, seeds and parameters, in float64 inside ``jax.enable_x64(True)``
    and in float32 otherwise.

    Args:
        obs: the log; a leading seed axis is kept.
        target_quantile: level gamma' in (0, 1), or (q,) different levels. Rows tied with the cut-off are in
            the target. By default 0.1, or the nearest level that leaves more than ten rows in the target and
            outside it; ``result.report.level`` then says which, and why.
        region_quantile: level gamma in (0, 1], above every target level.
        objective: number or name of an objective, for logs with several.
        selection: "objective" ranks rows by that objective. "pareto" ranks them by all objectives, none
            preferred: by non-domination rank, and by ``ties`` within a front that a level cuts.
            `importance_by_objective` gives the importances for each objective, and
            `importance_over_weights` for weighted sums of them.
        ties: rule for the rows of one front: `parzax.pareto.Hypervolume` (the default, as in Optuna 5) or
            `parzax.pareto.Crowding`. Rows with equal losses, or equally crowded, enter a set together; if
            the set becomes larger, the status is TIED_CUTOFF. The parity estimator takes the exact number
            of rows instead, as Optuna does.
        rows: which rows count: "all"; "feasible", those that satisfy every constraint; "complete", without
            the failed and pruned rows that a log may keep; or several of these, which must all hold.
        estimator: `GridEstimator()` by default; `GridEstimator.optuna()` for Optuna 5's numbers.
        reference: "region" compares with the region's density (local importance), "uniform" with the
            uniform density of the domain (global importance).
        n_resamples: number of samples of the log that `ImportanceResult.uncertainty` is computed from. With
            0, the default, there are no intervals.
        n_shuffles: number of shuffles of the losses that p-values are computed from. The default is 0 if
            ``n_resamples`` is 0. Otherwise it is the largest of ``n_resamples``, 20 d and min(40 d, 2000) for
            d parameters, because the smallest adjusted p-value is d / (n_shuffles + 1).
        resampling: "half-sampling" takes random halves of the rows, and centres the intervals at the
            estimate. "bootstrap" takes the quantiles of bootstrap samples; with few rows these intervals
            are too wide.
        key: key of samples and shuffles, such as ``jax.random.key(1)``; ``jax.random.key(0)`` by default.

    Returns:
        `ImportanceResult` with arrays (..., q, d). Importances sum to 1 at each level. If no parameter has
        a positive variance, they are all 0 (1/d for the parity estimator) and the status is ALL_ZERO.

    Raises:
        ValueError: levels outside (0, 1], repeated, or not below the region's; an unknown objective;
            ``rows="feasible"`` for a log without constraints. A log with constraints but without a feasible
            row raises no error; its status is NONE_FEASIBLE.
        ImportError: for a front of four objectives or more without moocore (``parzax[pareto]``).

    With ``selection="pareto"``, rows that lack an objective are left out.

    `GridEstimator` lists how the default estimator differs from Optuna's. With both, -inf is a legal best
    loss, and ties, few rows and constant parameters set a status.

    >>> import numpy as np, parzax as px
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(200, 2))
    >>> obs = px.Observations.from_arrays(
    ...     px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)}), x, (x[:, 0] - 0.3) ** 2
    ... )
    >>> result = px.cond_ped_anova(obs, target_quantile=[0.1, 0.5])
    >>> result.importance.shape, bool((result.importance[:, 0] > 0.9).all())
    ((2, 2), True)
    """
    ranked_by = {"objective": objective, "selection": selection, "ties": ties}
    if target_quantile is None:
        task = choose_task(obs, region_quantile, rows, estimator, reference, **ranked_by)
    else:
        task = checked_task(obs, target_quantile, region_quantile, rows, estimator, reference)
    numbers = resolve_counts(n_resamples, n_shuffles, len(obs.space))
    _checks.one_of("resampling", resampling, tuple(METHODS))
    key = checked_key(key) if any(numbers) else None
    levels = [*task.target.tolist(), task.region]
    if numbers[0]:
        # A sample may cut fronts at slightly different levels than the log, so nearby levels are included.
        near = np.linspace(-1, 1, 25) * min(2 / max(obs.n, 1) ** 0.5, 0.5)
        levels = np.clip(np.array(levels)[:, None] + near, 0, 1).reshape(-1).tolist()
    raw = task.estimator.grid.optuna_rounding
    losses = ranking_losses(task.obs, levels=levels, raw=raw, **ranked_by)
    (encoded,), (result,) = analyse_losses(task, losses[None])
    if selection == "objective" and obs.n_objectives > 1:
        report = narrow_report(obs, result.report, objective_index(obs, objective))
        result = replace(result, report=report)
    if key is None:
        return result
    uncertainty = estimate_uncertainty(key, losses, encoded, result, numbers, resampling)
    return replace(result, uncertainty=uncertainty)


def choose_task(
    obs: Any,
    region_quantile: Any = 1.0,
    rows: Any = "all",
    estimator: Any = None,
    reference: Any = "region",
    *,
    objective: Any = 0,
    selection: Any = "objective",
    ties: Any = None,
) -> Task:
    """The checked arguments of `cond_ped_anova` if no level is given, with the level that it chooses."""
    task = checked_task(obs, None, region_quantile, rows, estimator, reference)
    levels, raw = [*task.target.tolist(), task.region], task.estimator.grid.optuna_rounding
    return settle_level(task, ranking_losses(task.obs, objective, selection, ties, levels, raw))


def ped_anova(
    obs: Observations, target_quantile: Any = None, region_quantile: float = 1.0, **options: Any
) -> ImportanceResult:
    """PED-ANOVA for spaces without conditions (arXiv 2304.10255); ``reference="uniform"`` makes it global.

    It is `cond_ped_anova` with one regime per parameter; the arguments (``options`` too), the result and the
    statuses are described there.

    Raises:
        ValueError: also when a parameter has several domains or can be inactive. Use `cond_ped_anova`, or
            reduce the log with `parzax.naive` as the papers' baselines do.
    """
    if isinstance(obs, Observations):
        obs = counted_rows(obs, options.get("rows", "all"))
        inactive = usable_rows(obs)[..., None] & (obs.regime < 0)
        for j, (name, domains) in enumerate(zip(obs.space.names, obs.space.domains, strict=True)):
            if len(domains) != 1 or (domains[0].conditions and inactive[..., j].any()):
                raise ValueError(
                    f"ped_anova needs parameters that are always active on one domain, and {name!r} is not; "
                    "use cond_ped_anova, or parzax.naive to filter, impute or expand first."
                )
    return cond_ped_anova(obs, target_quantile, region_quantile, **options)


# ``help`` and tooltips show the options.
ped_anova.__signature__ = signature(cond_ped_anova)  # pyright: ignore[reportFunctionMemberAccess]
