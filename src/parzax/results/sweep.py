"""From logs to results: check, encode, estimate as one program that is kept on disk, wrap."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from parzax import _checks
from parzax._programs import program
from parzax.divergence import AbstractDivergence, Explained
from parzax.importance import Encoded, Importance
from parzax.importance.estimate import REFERENCES, estimate_seeds, in_order
from parzax.importance.levels import checked_levels
from parzax.observations import Observations, capacity
from parzax.observations.encoding import encode_log
from parzax.results.estimator import GridEstimator
from parzax.results.result import ImportanceResult
from parzax.results.targets import counted_rows, none_feasible


class Task(NamedTuple):
    """What is asked of a log, checked: rows that do not count have weight 0."""

    obs: Observations
    target: np.ndarray
    region: float
    rows: str | Sequence[str]
    estimator: GridEstimator
    reference: str


def checked_task(
    obs: Observations,
    target_quantile: Any,
    region_quantile: float,
    rows: str | Sequence[str],
    estimator: GridEstimator | None,
    reference: str,
) -> Task:
    """The arguments that all analyses have; see `parzax.cond_ped_anova`."""
    _checks.instance("obs", obs, Observations, "parzax.Observations")
    estimator = GridEstimator() if estimator is None else estimator
    _checks.instance("estimator", estimator, GridEstimator, "a parzax.GridEstimator")
    _checks.one_of("reference", reference, REFERENCES)
    target, region = checked_levels(target_quantile, region_quantile)
    obs = obs if rows == "all" else counted_rows(obs, rows)
    return Task(obs, target, region, rows, estimator, reference)


def analyses(task: Task, losses: np.ndarray) -> list[tuple[Encoded, ImportanceResult]]:
    """The rows on the grid and the result for each of (t, s, n) losses of a log, all in one dispatch."""
    obs, estimator = task.obs, task.estimator
    # Rows are padded to a capacity, so that few shapes are compiled; padding is outside every level.
    rows = capacity(obs.n)
    logs = [encode_log(obs, loss, task.target, task.region, estimator.grid, rows=rows) for loss in losses]
    batch = logs[0][0]
    if len(logs) > 1:
        batch = jax.tree.map(lambda *arrays: np.concatenate(arrays), *(encoded for encoded, _ in logs))
    if task.rows != "all":
        infeasible = np.tile(none_feasible(obs, task.rows), len(logs))[:, None]
        batch = replace(batch, status=batch.status | infeasible)
    estimates, analysed = estimated(batch, estimator, task.reference == "uniform"), []
    shape, levels = (len(logs), *obs.batch_shape), np.array(batch.levels)
    for i, (encoded, pools) in enumerate(logs):
        ascending = jax.tree.map(lambda array, i=i: array.reshape(*shape, *array.shape[1:])[i], estimates)
        report = obs.report
        if pools:
            report = replace(report, moving=report.moving | pools)
        asked = in_order(ascending, batch.place)
        result = ImportanceResult(asked, obs.space, levels, task.region, report, estimator, task.reference)
        analysed.append((encoded, result))
    return analysed


def estimated(encoded: Encoded, estimator: GridEstimator, uniform: bool) -> Importance:
    """Conditional PED-ANOVA of s seeds, levels in ascending order, as NumPy arrays.

    One dispatch, in JAX's default dtype. The program depends on shapes, layout and estimator alone.
    """
    estimates = sweep(
        encoded.codes, encoded.level, encoded.weight, encoded.status, layout=encoded.layout,
        divergence=estimator.divergence, uniform=uniform, balance=estimator.balance,
        uniform_when_undefined=estimator.uniform_when_undefined,
    )  # fmt: skip
    _checks.on_host("cond_ped_anova", estimates)
    return jax.tree.map(np.asarray, estimates)


def _library(*_: Any, divergence: AbstractDivergence, **__: Any) -> float:
    """Share of the operations that are products of matrices."""
    return 0.75 if isinstance(divergence, Explained) else 0.0


def _weight(*_: Any, divergence: AbstractDivergence, **__: Any) -> float:
    """Passes over grids of levels and parameters gain more from full optimisation than products of them."""
    return 0.4 if isinstance(divergence, Explained) else 2.5


sweep = program(weight=_weight, library=_library)(estimate_seeds)
