"""Read the benchmark tables HPOlib, NAS-Bench-201 and NMT-Bench, or any table of the same format."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from parzax import _checks
from parzax.lens._files import UNREADABLE
from parzax.samplers import Tabular
from parzax.space import Categorical, Ordinal, Space

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
        constraint_thresholds: metrics, or constraints of the header, with thresholds in their units. A
            value is feasible at or below the threshold; for a maximised metric, at or above it.
            Constraints are in the order of the mappings, ``constraint_quantiles`` first.

    Raises:
        ValueError: a missing or damaged file, or a name or quantile that it does not contain.
    """
    table = _read_table(path)
    if isinstance(objectives, str) or not objectives:
        raise ValueError(f"objectives must be a list of names, got {objectives!r}.")
    names = tuple(objectives)
    limits = _find_limits(table, constraint_quantiles or {}, constraint_thresholds or {})
    constraints = tuple(constraint for constraint, *_ in limits)
    for what, several in (("objectives", names), ("constraints", constraints)):
        if len(set(several)) < len(several):
            raise ValueError(f"{what} must be different, got {', '.join(map(repr, several))}.")
    # Adding 0.0 turns -0.0 into 0.0.
    parts = [table.losses[_checks.one_of("an objective", name, table.losses)] + 0.0 for name in names]
    # Floats have gradual underflow, so the difference is 0 only if value and threshold are equal.
    parts += [table.losses[metric] - table.signs[metric] * threshold for _, metric, threshold in limits]
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
        constraint_names=constraints,
    )


def _find_limits(
    table: "_Table", quantiles: Mapping[str, float], thresholds: Mapping[str, float]
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
    metrics = {name: name for name in table.losses} | metrics
    for name, value in thresholds.items():
        metric = metrics[_checks.one_of("a name in constraint_thresholds", name, metrics)]
        limits.append((name, metric, _checks.real_number(f"constraint_thresholds[{name!r}]", value)))
    return limits


def _round_excess(excess: np.ndarray, dtype: Any) -> np.ndarray:
    """``excess`` rounded to ``dtype``; positive values stay finite and >= the smallest normal number."""
    bounds = np.finfo(dtype)
    result = np.clip(excess, float(bounds.min), float(bounds.max)).astype(dtype)
    return np.where(excess > 0, np.maximum(result, bounds.tiny), result)


def _find_oracle(losses: np.ndarray, excess: np.ndarray, n_seeds: np.ndarray) -> Oracle:
    exists = np.arange(losses.shape[1]) < n_seeds[:, None]
    feasible = losses[exists & (excess <= 0).all(axis=-1)]
    if not len(feasible):
        feasible = np.full((1, losses.shape[2]), np.nan)
    return Oracle(best=feasible.min(axis=0), worst=feasible.max(axis=0))


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


def _read_table(path: str | Path) -> _Table:
    """Read an npz file without pickles, and its header; ValueError names a file that is damaged."""
    folder = os.environ.get("PARZAX_DATA")
    file = Path(folder or "", path)
    if file.suffix != ".npz":
        raise ValueError(f"path must name a .npz file, got {str(path)!r}.")
    beside = file.with_suffix(".json")
    where = "" if folder or file.is_absolute() else _UNSET
    with _checks.explain(f"cannot read the header {str(beside)!r}{where}", UNREADABLE):
        header = json.loads(beside.read_text(encoding="utf-8"))
    # The file is opened here, because np.load does not close a truncated file.
    with (
        _checks.explain(f"cannot read a table from {str(file)!r}", UNREADABLE),
        open(file, "rb") as stream,
        np.load(stream, allow_pickle=False) as data,
    ):
        return _build_table(header, {name: data[name] for name in data.files if name in header["arrays"]})


def _build_table(header: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> _Table:
    space, shape = _build_space(header["hyperparameters"]), tuple(int(n) for n in header["shape"])
    sizes, n = tuple(domains[0].n_values for domains in space.domains), math.prod(shape)
    if shape != sizes:
        raise ValueError(f"shape {shape} is not that of the hyperparameters, {sizes}")
    index = arrays["index"]
    if index.shape != (n, len(shape)) or not np.array_equal(index.T, np.unravel_index(np.arange(n), shape)):
        raise ValueError("index is not the full factorial in C order")
    losses, signs = {}, {}
    for name, entry in header["arrays"].items():
        if "direction" in entry:
            signs[name] = _SIGNS[_checks.one_of(f"the direction of {name!r}", entry["direction"], _SIGNS)]
            losses[name] = signs[name] * _check_values(name, arrays[name], n)
    constraints = {}
    for name, entry in header.get("constraints", {}).items():
        thresholds = {float(q): float(t) for q, t in entry["thresholds"].items()}
        constraints[name] = _checks.one_of(f"the array of {name!r}", entry["array"], losses), thresholds
    return _Table(str(header["name"]), space, losses, signs, constraints)


def _build_space(entries: Any) -> Space:
    parameters = {}
    for entry in entries:
        kind = _checks.one_of("the kind of a hyperparameter", entry["kind"], ("categorical", "ordinal"))
        values = entry["values"]
        domain = Ordinal(values, log=bool(entry["log"])) if kind == "ordinal" else Categorical(values)
        parameters[entry["name"]] = domain
    return Space(parameters)


def _check_values(name: str, array: np.ndarray, n: int) -> np.ndarray:
    if array.dtype.kind not in "fiu" or array.ndim not in (1, 2) or len(array) != n or array.size == 0:
        expected, given = f"({n},) or ({n}, seeds)", f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"array {name!r} must hold numbers of shape {expected}, got {given}")
    values = array.astype(np.float64).reshape(n, -1)
    if np.isinf(values).any():
        raise ValueError(f"array {name!r} holds infinite values")
    return values
