"""From logs to results: check the arguments, encode the rows, estimate in one compiled program, wrap."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import capacity
from parzax.importance import Encoded, Importance
from parzax.importance.encode import without_values
from parzax.importance.estimate import REFERENCES, estimate_seeds
from parzax.importance.levels import checked_levels
from parzax.lens.logs import Observations
from parzax.lens.logs.encoding import encode_log
from parzax.lens.logs.groups import describe_groups
from parzax.lens.results.default_level import candidate_levels, choose_level
from parzax.lens.results.estimator import GridEstimator
from parzax.lens.results.learning import with_learning
from parzax.lens.results.result import ImportanceResult
from parzax.lens.results.targets import counted_rows
from parzax.lens.run.chunks import run_chunks
from parzax.lens.run.progress import is_shown
from parzax.status import Status

# Counts of a chunk of seeds: the arrays that are computed from them take about 20 times their 4 bytes.
_MOST_COUNTS = 1 << 24
# Up to so many counts the work of an analysis is small, or middling.
_SMALL, _MIDDLING = 1 << 13, 1 << 21
# With more cells of rows than this, a program without all optimisations takes several times as long.
_MOST_ROWS = 1 << 17
# More chunks than this show a progress bar on a terminal.
_QUIET_CHUNKS = 4


class Task(NamedTuple):
    """The checked arguments of an analysis of a log. Rows that do not count have weight 0.

    If no level was given, ``target`` has all candidates until `settle_level` chooses one.
    """

    obs: Observations
    target: np.ndarray
    region: float
    rows: str | Sequence[str]
    estimator: GridEstimator
    reference: str


def checked_task(obs: Any, target: Any, region: Any, rows: Any, estimator: Any, reference: Any) -> Task:
    """Check the arguments that all analyses share; see `parzax.cond_ped_anova`."""
    _checks.instance("obs", obs, Observations, "parzax.Observations")
    estimator = GridEstimator() if estimator is None else estimator
    _checks.instance("estimator", estimator, GridEstimator, "a parzax.GridEstimator")
    _checks.one_of("reference", reference, REFERENCES)
    if target is None:
        target = candidate_levels(_checks.quantile("region_quantile", region))
    target, region = checked_levels(target, region)
    return Task(counted_rows(obs, rows), target, region, rows, estimator, reference)


def settle_level(task: Task, losses: np.ndarray) -> Task:
    """The task with a single level, chosen among its candidates from (..., s, n) losses."""
    obs, target = choose_level(task.obs, losses, task.region, raw=task.estimator.grid.optuna_rounding)
    return task._replace(obs=obs, target=target)


def checked_key(key: Any) -> Any:
    """A typed key, ``jax.random.key(0)`` by default."""
    key = jax.random.key(0) if key is None else key
    _checks.check_key(key)
    return key


def analyse_losses(task: Task, losses: np.ndarray) -> tuple[Sequence[Encoded], list[ImportanceResult]]:
    """Encode a log and estimate, for each of the t loss arrays in ``losses`` (t, s, n), in one dispatch."""
    obs, estimator = task.obs, task.estimator
    # Rows are padded to a capacity, so that few shapes are compiled; padding is outside every level.
    rows = capacity(obs.n)
    levels, how = (task.target, task.region), {"grid": estimator.grid, "rows": rows}
    logs, pools = zip(*(encode_log(obs, loss, *levels, **how) for loss in losses), strict=True)
    batch = logs[0]
    if len(logs) > 1:
        batch = jax.tree.map(lambda *arrays: np.concatenate(arrays), *logs)
    if "feasible" in task.rows:
        feasible = (obs.feasible & (obs.weight is None or obs.weight > 0)).any(axis=-1).reshape(-1, 1)
        infeasible = np.where(feasible, np.int32(0), np.int32(Status.NONE_FEASIBLE))
        batch = replace(batch, status=batch.status | np.tile(infeasible, (len(logs), 1)))
    estimates = estimate_batch(batch, estimator, task.reference)
    by_log = (len(logs), *obs.batch_shape)
    results = []
    for i, sentences in enumerate(pools):
        raw = estimator.grid.optuna_rounding
        grouped = describe_groups(logs[i].groups, losses[i], raw=raw)
        report = with_learning(obs, losses[i], moving=obs.report.moving | sentences, groups=grouped)
        arrays = jax.tree.map(lambda x, i=i: np.asarray(x).reshape(*by_log, *x.shape[1:])[i], estimates)
        settings = estimator, task.reference
        results.append(ImportanceResult(arrays, obs.space, *levels, report, None, *settings))
    return logs, results


def estimate_batch(encoded: Encoded, estimator: GridEstimator, reference: str) -> Importance:
    """Conditional PED-ANOVA of s seeds, as NumPy or JAX arrays, in JAX's default dtype.

    It is one dispatch; more seeds than fit `_MOST_COUNTS` are computed in chunks of one size. The program
    depends only on shapes, layout, estimator, and the order of the levels.
    """
    how: Any = (estimator.divergence, reference, estimator.balance, estimator.uniform_when_undefined)
    log = replace(without_values(encoded), rank=None)
    n_seeds, n_counts = len(encoded.level), (len(encoded.levels) + 2) * encoded.layout.n_columns
    n_chunks = math.ceil(n_seeds * n_counts / _MOST_COUNTS)
    if n_chunks <= 1 or n_seeds == 1:
        estimates = sweep(log, how=how)
        _checks.outside_traces(estimates.variance)
        return estimates
    size = math.ceil(n_seeds / min(n_chunks, n_seeds))
    leaves, structure = jax.tree.flatten(log)

    def run(*leaves: Any) -> Importance:
        return sweep(jax.tree.unflatten(structure, leaves), how=how)

    example = [jax.ShapeDtypeStruct((size, *a.shape[1:]), a.dtype) for a in leaves]
    like = jax.eval_shape(lambda *x: estimate_seeds(jax.tree.unflatten(structure, x), how), *example)
    shown = is_shown(None) and n_chunks > _QUIET_CHUNKS
    return run_chunks(run, tuple(leaves), n_seeds, like, None, what="seeds", shown=shown)


def _size(log: Encoded, **_: Any) -> str:
    """Size of the work, by the numbers of rows and of counts."""
    if log.codes.size > _MOST_ROWS:
        return "large"
    n_counts = len(log.codes) * (len(log.levels) + 2) * log.layout.n_columns
    return "small" if n_counts <= _SMALL else "middling" if n_counts <= _MIDDLING else "large"


sweep = compiled(size=_size)(estimate_seeds)
