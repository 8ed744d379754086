"""Check the arrays of `Observations`: shapes, directions, failed rows, regimes, weights."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from parzax import _checks
from parzax._checks import Direction, axis_label, check_groups, check_weight, find_first
from parzax.lens.logs.bounds import Bounds, check_bounds, describe_bounds, read_bounds
from parzax.lens.logs.report import ImportReport
from parzax.space import INACTIVE, Space
from parzax.space.checks import check_regimes


class Arrays(NamedTuple):
    """The fields of `Observations` after its space."""

    values: np.ndarray
    regime: np.ndarray
    losses: np.ndarray
    constraints: np.ndarray | None
    weight: np.ndarray | None
    bounds: Bounds | None
    groups: np.ndarray | None
    report: ImportReport

    def take(self, rows: np.ndarray, **report: Any) -> "Arrays":
        """The rows with these indices; keywords are new values of fields of the report."""
        arrays = jax.tree.map(lambda a: a[rows], self._replace(report=None))
        changed = replace(self.report, n_failed=_n_failed(arrays.losses), **report)
        return arrays._replace(report=changed)


def stack_seeds(logs: Sequence[Arrays]) -> Arrays:
    """Join logs of one space as seeds of one log; shorter logs are filled up with rows without a loss."""
    sizes, reports = [len(log.losses) for log in logs], [log.report for log in logs]
    n = max(sizes)

    def stack(*parts: np.ndarray) -> np.ndarray:
        fill = INACTIVE if parts[0].dtype.kind == "i" else np.nan
        filled = np.full((len(parts), n, *parts[0].shape[1:]), fill, parts[0].dtype)
        for rows, part in zip(filled, parts, strict=True):
            rows[: len(part)] = part
        return filled

    note = f"{len(logs)} seeds of {min(sizes)} to {n} rows each" if min(sizes) < n else f"{len(logs)} seeds"
    n_rows = [report.n_rows for report in reports]
    report = replace(
        reports[0], n_rows=max(n_rows), n_failed=sum(report.n_failed for report in reports),
        n_total=sum(n_rows) if len(set(n_rows)) > 1 else None,
        dropped=dict(sum((Counter(report.dropped) for report in reports), Counter())),
        inferred=(*reports[0].inferred, note),
    )  # fmt: skip
    # Either all logs of a table have weights, or none has; likewise constraints and bounds.
    arrays = jax.tree.map(stack, *(log._replace(report=None) for log in logs))
    weight = None if arrays.weight is None else np.nan_to_num(arrays.weight)
    return arrays._replace(weight=weight, report=report)


def _n_failed(losses: np.ndarray) -> int:
    """Number of rows (over all seeds) without a usable loss."""
    return int((~(losses < np.inf)).all(axis=-1).sum())


def check_arrays(
    space: Space,
    values: Any,
    objectives: Any,
    direction: Direction | Sequence[Direction],
    regime: Any,
    constraints: Any,
    weight: Any,
    failed: str,
    bounds: Any = None,
    groups: Any = None,
    keep: np.ndarray | None = None,
) -> Arrays:
    """Check the arguments of `Observations.from_arrays`; rows outside ``keep`` may hold anything."""
    _checks.one_of("failed", failed, ("drop", "worst"))
    values = _checks.float_array("values", _checks.ordered("values", values, space.names))
    if values.ndim < 2 or values.shape[-1] != len(space):
        raise ValueError(
            f"values must have shape (..., n, {len(space)}), one column per parameter, got {values.shape}."
        )
    if 0 in values.shape[:-2]:
        raise ValueError(f"values must have at least one seed, got shape {values.shape}.")
    shape = values.shape[:-1]
    objectives = _with_columns("objectives", objectives, shape)
    directions = _checks.directions(direction, objectives.shape[-1])
    losses = np.where([d == "maximize" for d in directions], -objectives, objectives)
    failing = ~(losses < np.inf)
    losses = np.where(failing, np.inf if failed == "worst" else np.nan, losses)
    # Rows of weight 0 are checked too: `with_weight` may bring them back.
    used = np.ones(shape, dtype=bool) if keep is None else keep
    if failed == "drop":
        used = used & ~failing.all(axis=-1)
    if constraints is not None:
        constraints = _with_columns("constraints", constraints, shape)
        if where := find_first(np.isnan(constraints) & used[..., None]):
            which = f"{axis_label(where[:-1])}, constraint {where[-1]}"
            raise ValueError(f"constraints: {which} is NaN; use +inf for a violated one.")
    weight = None if weight is None else check_weight(weight, shape)
    regimes = check_regimes(space, values, regime, used)

    def read_parameter(what: str, name: str) -> np.ndarray:
        return values[..., space.index(_checks.one_of(f"the parameter of {what}", name, space.names))]

    moving = None
    if bounds is not None:
        moving = read_bounds(bounds, shape, space.names, read_parameter)
        moving = check_bounds(space, values, regimes, moving, used)
    sentences = describe_bounds(space, moving or {})
    report = ImportReport(shape[-1], directions, failed, _n_failed(losses), moving=sentences)
    groups = None if groups is None else check_groups(groups, shape)
    return Arrays(values, regimes, losses, constraints, weight, moving, groups, report)


def _with_columns(name: str, array: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Read numbers of shape (..., n, m) for rows of ``shape`` (..., n); an array (..., n) is one column."""
    array = _checks.float_array(name, array)
    if array.ndim == len(shape):
        array = array[..., None]
    if array.shape[:-1] != shape:
        wanted = f"{shape} (plus one axis at most) to go with the rows of values"
        raise ValueError(f"{name} must have shape {wanted}, got leading shape {array.shape[:-1]}.")
    return array
