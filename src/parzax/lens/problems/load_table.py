"""Read the benchmark tables HPOlib, NAS-Bench-201 and NMT-Bench, or any table of the same format."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from parzax import _checks
from parzax.lens.problems.table_file import TableFile, read_table
from parzax.samplers import Tabular


class Oracle(NamedTuple):
    """The best values that a table contains under the constraints, in float64.

    An entry is one seed of one configuration. It is feasible if all its constraint values are <= 0.

    Attributes:
        best: (m,) smallest value of each objective over feasible entries; NaN without feasible entries.
        worst: (m,) largest value of each objective over feasible entries; without constraints it can serve
            as reference point of the hypervolume.
        best_mean: (m,) smallest mean over seeds, among configurations whose entries are all feasible.
        feasible_fraction: fraction of the existing entries that are feasible.
    """

    best: np.ndarray
    worst: np.ndarray
    best_mean: np.ndarray
    feasible_fraction: np.ndarray


def load_table(
    path: str | Path,
    objectives: Sequence[str],
    *,
    constraint_quantiles: Mapping[str, float] | None = None,
    constraint_thresholds: Mapping[str, float] | None = None,
) -> Tabular:
    """Read a benchmark table: an npz file, and a JSON header with the same name in its folder.

    Args:
        path: path such as "nasbench201/cifar10.npz". A relative path starts at the folder in the
            environment variable PARZAX_DATA, or at the working directory if it is not set.
        objectives: names of metrics: valid_mse, runtime, n_params (hpolib); valid_error, runtime,
            size_mb (nasbench201); bleu, decoding_time (nmt_bench). If a training failed, these metrics
            and the evaluation are NaN. bleu_padded and decoding_time_padded (nmt_bench) have the worst
            possible value instead.
        constraint_quantiles: constraints of the header ("size", "runtime") with one of the quantiles that
            the header lists. With {"size": 0.1} about a tenth of the configurations is feasible.
        constraint_thresholds: metrics, or constraints of the header, with thresholds in their units. A
            value is feasible at or below the threshold; for a maximised metric, at or above it.
            Constraints are in the order of the mappings, ``constraint_quantiles`` first.

    Raises:
        ValueError: a missing or damaged file, or a name or quantile that it does not contain.
    """
    table = read_table(path)
    if isinstance(objectives, str) or not objectives:
        raise ValueError(f"objectives must be a list of names, got {objectives!r}.")
    names = tuple(objectives)
    if len(set(names)) < len(names):
        raise ValueError(f"objectives must be different, got {objectives!r}.")
    metrics = [table.metrics[_checks.one_of("an objective", name, table.metrics)] for name in names]
    limits = _find_limits(table, constraint_quantiles or {}, constraint_thresholds or {})
    parts = [metric.sign * metric.values + 0.0 for metric in metrics]  # adding 0.0 turns -0.0 into 0.0
    for _, name, threshold in limits:
        # Floats have gradual underflow, so the difference is 0 only if value and threshold are equal.
        parts.append(table.metrics[name].sign * (table.metrics[name].values - threshold))
    everything = np.stack(np.broadcast_arrays(*parts), axis=-1)  # (n, s, columns)
    exists = ~np.isnan(everything).any(axis=-1)
    order = np.argsort(~exists, axis=1, kind="stable")
    everything = np.take_along_axis(everything, order[..., None], axis=1)
    losses, excess = everything[..., : len(names)], everything[..., len(names) :]
    n_seeds = exists.sum(axis=1)
    oracle = _find_oracle(losses, excess, n_seeds)
    return Tabular(
        losses=jnp.asarray(losses),
        excess=jnp.asarray(_round_excess(excess, jnp.result_type(float))),
        n_seeds=jnp.asarray(n_seeds, dtype=jnp.int32),
        thresholds=np.array([threshold for *_, threshold in limits], dtype=np.float64),
        oracle=oracle,
        feasible_optimum=oracle.best,
        space=table.space,
        name=table.name,
        n_objectives=len(names),
        n_constraints=len(limits),
        objective_names=names,
        constraint_names=tuple(name for name, *_ in limits),
    )


def _find_limits(
    table: TableFile, quantiles: Mapping[str, float], thresholds: Mapping[str, float]
) -> list[tuple[str, str, float]]:
    """Name, metric and threshold of each constraint."""
    limits = []
    for name, value in quantiles.items():
        _checks.one_of("a name in constraint_quantiles", name, table.constraints)
        metric, levels = table.constraints[name]
        level = round(_checks.real_number(f"constraint_quantiles[{name!r}]", value), 12)
        level = _checks.one_of(f"constraint_quantiles[{name!r}]", level, levels)
        limits.append((name, metric, levels[level]))
    metrics = {name: metric for name, (metric, _) in table.constraints.items()}
    metrics |= {name: name for name in table.metrics if name not in metrics}
    for name, value in thresholds.items():
        metric = metrics[_checks.one_of("a name in constraint_thresholds", name, metrics)]
        limits.append((name, metric, _checks.real_number(f"constraint_thresholds[{name!r}]", value)))
    names = [name for name, *_ in limits]
    if len(set(names)) < len(names):
        raise ValueError(f"constraints must be different, got {', '.join(map(repr, names))}.")
    return limits


def _round_excess(excess: np.ndarray, dtype: Any) -> np.ndarray:
    """``excess`` rounded to ``dtype``; positive values stay finite and >= the smallest normal number."""
    bounds = np.finfo(dtype)
    result = np.clip(excess, float(bounds.min), float(bounds.max)).astype(dtype)
    return np.where(excess > 0, np.maximum(result, bounds.tiny), result)


def _find_oracle(losses: np.ndarray, excess: np.ndarray, n_seeds: np.ndarray) -> Oracle:
    def extreme(function: Any, rows: np.ndarray) -> np.ndarray:
        return function(rows, axis=0) if len(rows) else np.full(rows.shape[1:], np.nan)

    exists = np.arange(losses.shape[1]) < n_seeds[:, None]
    feasible = exists & (excess <= 0).all(axis=-1)
    always = (feasible == exists).all(axis=1) & (n_seeds > 0)
    total = np.where(exists[..., None], losses, 0.0).sum(axis=1)
    return Oracle(
        best=extreme(np.min, losses[feasible]),
        worst=extreme(np.max, losses[feasible]),
        best_mean=extreme(np.min, total[always] / n_seeds[always, None]),
        feasible_fraction=np.asarray(feasible.sum() / max(exists.sum(), 1)),
    )
