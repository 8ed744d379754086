"""Read the benchmark tables HPOlib, NAS-Bench-201 and NMT-Bench, or any table of the same format."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from parzax import _checks
from parzax.lens._files import UNREADABLE
from parzax.samplers import Tabular
from parzax.space import Categorical, Domain, Ordinal, Space

_SIGNS = {"minimize": 1.0, "maximize": -1.0}
_UNSET = " (the path is relative, and PARZAX_DATA, the folder of tables, is not set)"


class Oracle(NamedTuple):
    """The best values that a table contains under the constraints, in float64.

    An entry is one seed of one configuration. It is feasible if all its constraint values are <= 0.

    Attributes:
        best: (m,) smallest value of each objective over feasible entries; NaN without feasible entries.
        worst: (m,) largest value of each objective over feasible entries; without constraints it can serve
            as reference point of the hypervolume.
    """

    best: np.ndarray
    worst: np.ndarray


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
        constraint_thresholds: metrics with thresholds in their units. A value is feasible at or below the
            threshold; for a maximised metric, at or above it. Constraints are in the order of the mappings,
            ``constraint_quantiles`` first.

    Raises:
        ValueError: a missing or damaged file, or a name or quantile that it does not contain.
    """
    table = _read_table(path)
    if isinstance(objectives, str) or not objectives:
        raise ValueError(f"objectives must be a list of names, got {objectives!r}.")
    names = tuple(objectives)
    limits = _find_limits(table, constraint_quantiles or {}, constraint_thresholds or {})
    # Adding 0.0 turns -0.0 into 0.0.
    parts = [table.losses[_checks.one_of("an objective", name, table.losses)] + 0.0 for name in names]
    # Floats have gradual underflow, so the difference is 0 only if value and threshold are equal.
    parts += [table.losses[metric] - table.signs[metric] * threshold for _, metric, threshold in limits]
    everything = np.stack(np.broadcast_arrays(*parts), axis=-1)  # (n, s, columns)
    exists = ~np.isnan(everything).any(axis=-1)
    order = np.argsort(~exists, axis=1, kind="stable")
    everything = np.take_along_axis(everything, order[..., None], axis=1)
    losses, excess = everything[..., : len(names)], everything[..., len(names) :]
    feasible = losses[np.take_along_axis(exists, order, axis=1) & (excess <= 0).all(axis=-1)]
    feasible = feasible if len(feasible) else np.full((1, len(names)), np.nan)
    oracle = Oracle(best=feasible.min(axis=0), worst=feasible.max(axis=0))
    return Tabular(
        losses=jnp.asarray(losses),
        excess=jnp.asarray(_round_excess(excess, jnp.result_type(float))),
        n_seeds=jnp.asarray(exists.sum(axis=1), dtype=jnp.int32),
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


def _round_excess(excess: np.ndarray, dtype: Any) -> np.ndarray:
    """``excess`` rounded to ``dtype``; positive values stay finite and >= the smallest normal number."""
    bounds = np.finfo(dtype)
    result = np.clip(excess, float(bounds.min), float(bounds.max)).astype(dtype)
    return np.where(excess > 0, np.maximum(result, bounds.tiny), result)


class _Table(NamedTuple):
    """A checked file: each configuration of the space once, in C order of the choice indices.

    Attributes:
        name, space: of the header.
        losses: metric -> (n, s) or (n, 1) float64, negated where maximised, NaN if missing.
        signs: metric -> -1 if it is maximised, else 1.
        constraints: name in the header -> metric, and its thresholds by quantile.
    """

    name: str
    space: Space
    losses: dict[str, np.ndarray]
    signs: dict[str, float]
    constraints: dict[str, tuple[str, dict[float, float]]]


def _find_limits(
    table: _Table, quantiles: Mapping[str, float], thresholds: Mapping[str, float]
) -> list[tuple[str, str, float]]:
    """Name, metric and threshold of each constraint."""
    limits = []
    for name, value in quantiles.items():
        _checks.one_of("a name in constraint_quantiles", name, table.constraints)
        metric, levels = table.constraints[name]
        level = round(_checks.real_number(f"constraint_quantiles[{name!r}]", value), 12)
        level = _checks.one_of(f"constraint_quantiles[{name!r}]", level, levels)
        limits.append((name, metric, levels[level]))
    for name, value in thresholds.items():
        metric = _checks.one_of("a metric in constraint_thresholds", name, table.losses)
        limits.append((name, metric, _checks.real_number(f"constraint_thresholds[{name!r}]", value)))
    return limits


def _read_table(path: str | Path) -> _Table:
    """Read an npz file without pickles, and its header; ValueError names a file that is damaged."""
    folder = os.environ.get("PARZAX_DATA")
    file = Path(folder or "", path)
    beside = file.with_suffix(".json")
    where = "" if folder or file.is_absolute() else _UNSET
    with _checks.explain(f"cannot read the header {str(beside)!r}{where}", UNREADABLE):
        header = json.loads(beside.read_text(encoding="utf-8"))
    # The file is opened here, because np.load does not close a truncated file.
    with (
        _checks.explain(f"cannot read a table from {str(file)!r}", UNREADABLE),
        open(file, "rb") as stream,
        np.load(stream, allow_pickle=False) as arrays,
    ):
        return _build_table(header, dict(arrays))


def _build_table(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> _Table:
    parameters: dict[str, Domain] = {}
    for entry in header["hyperparameters"]:
        kind = _checks.one_of("the kind of a hyperparameter", entry["kind"], ("categorical", "ordinal"))
        is_ordinal, values = kind == "ordinal", entry["values"]
        parameters[entry["name"]] = Ordinal(values, log=entry["log"]) if is_ordinal else Categorical(values)
    choices = np.indices([len(entry["values"]) for entry in header["hyperparameters"]])
    if not np.array_equal(arrays["index"].T, choices.reshape(len(parameters), -1)):
        raise ValueError("index is not the full factorial of the hyperparameters in C order")
    losses, signs, constraints = {}, {}, {}
    for name, entry in header["arrays"].items():
        if "direction" in entry:
            signs[name] = _SIGNS[_checks.one_of(f"the direction of {name!r}", entry["direction"], _SIGNS)]
            values = _checks.float_array(f"array {name!r}", arrays[name])
            if values.ndim not in (1, 2) or len(values) != choices[0].size or np.isinf(values).any():
                wanted = f"finite numbers or NaN, one or a row of seeds for each of {choices[0].size} rows"
                raise ValueError(f"array {name!r} must hold {wanted}, got shape {values.shape}")
            losses[name] = signs[name] * values.reshape(len(values), -1)
    for name, entry in header.get("constraints", {}).items():
        thresholds = {float(q): float(t) for q, t in entry["thresholds"].items()}
        constraints[name] = _checks.one_of(f"the array of {name!r}", entry["array"], losses), thresholds
    return _Table(str(header["name"]), Space(parameters), losses, signs, constraints)
