"""Checks of the arrays of `Observations`: shapes, directions, failed rows, regimes, weights."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from parzax import _checks
from parzax._checks import Direction
from parzax.observations.bounds import Bounds, check_bounds, describe_bounds, read_bounds
from parzax.observations.entries import and_more, axis_label, find_first
from parzax.observations.report import ImportReport
from parzax.space import INACTIVE, Categorical, Domain, Space, host_frame


class Arrays(NamedTuple):
    """The fields of `Observations` after its space."""

    values: np.ndarray
    regime: np.ndarray
    losses: np.ndarray
    constraints: np.ndarray | None
    weight: np.ndarray | None
    bounds: Bounds | None
    report: ImportReport

    def take(self, rows: np.ndarray, **report: Any) -> "Arrays":
        """The rows with these indices; keywords are fields of the report that change."""
        arrays = jax.tree.map(lambda a: a[rows], self._replace(report=None))
        changed = replace(self.report, n_failed=_n_failed(arrays.losses), **report)
        return arrays._replace(report=changed)


def stack_seeds(logs: Sequence[Arrays]) -> Arrays:
    """Make logs of one space one log of several seeds; shorter ones are filled with rows without a loss."""
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
    # Logs of one table have weights, constraints and bounds all alike, or none of them has.
    arrays = jax.tree.map(stack, *(log._replace(report=None) for log in logs))
    weight = None if arrays.weight is None else np.nan_to_num(arrays.weight)
    return arrays._replace(weight=weight, report=report)


def _n_failed(losses: np.ndarray) -> int:
    """Number of rows (over all seeds) without a loss that counts."""
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
        if name not in space.names:
            raise ValueError(
                f"{what}: there is no parameter {name!r}; it is one of {', '.join(space.names)}."
            )
        return values[..., space.index(name)]

    moving = None
    if bounds is not None:
        moving = read_bounds(bounds, shape, space.names, read_parameter)
        moving = check_bounds(space, values, regimes, moving, used)
    sentences = describe_bounds(space, moving or {})
    report = ImportReport(shape[-1], directions, failed, _n_failed(losses), moving=sentences)
    return Arrays(values, regimes, losses, constraints, weight, moving, report)


def check_regimes(space: Space, values: np.ndarray, regime: Any, used: np.ndarray) -> np.ndarray:
    """Check values (..., n, d) and return the regimes (..., n, d) int16 of all rows, derived if not given.

    Only the rows ``used`` (..., n) are checked: in others, unusable values become NaN, in place.
    """
    if regime is None:
        regimes, valid = space.classify(values)
    else:
        regimes = _check_given(space, values, regime)
        valid = host_frame(space).check(values.reshape(-1, len(space)), regimes.reshape(-1, len(space)))
        valid = valid.reshape(values.shape)
    for column in () if valid.all() else range(len(space)):
        bad, value, of_column = ~valid[..., column], values[..., column], regimes[..., column]
        name, absent = space.names[column], np.isnan(value)
        for i, domain in enumerate(space.domains[column]):
            wrong = bad & used & (of_column == i)
            _refuse(wrong & absent, value, column, name, "is missing but the parameter is active")
            _refuse(wrong, value, column, name, f"is outside {_describe_domain(domain)}")
        inactive = bad & used & (of_column == INACTIVE)
        _refuse(inactive, value, column, name, "is given but the parameter is inactive")
        of_column[bad], value[bad] = INACTIVE, np.nan
    if regime is not None:
        # Given regimes must be those of the conditions wherever the conditions can tell.
        derived = space.derive_regimes(values, recorded=regimes)
        if where := find_first((derived != regimes) & used[..., None]):
            what = f"but by the conditions of the space it is {int(derived[where])}"
            raise ValueError(f"{_entry(space, regimes, where)}, {what}; leave regime out to derive it.")
    return regimes


def check_weight(weight: Any, shape: tuple[int, ...], name: str = "weight") -> np.ndarray:
    """Check the weights of rows of ``shape`` (..., n): finite and at least 0."""
    weight = _checks.float_array(name, weight)
    if weight.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {weight.shape}.")
    if where := find_first(~((weight >= 0) & (weight < np.inf))):
        entry = f"{axis_label(where)} is {float(weight[where])!r}"
        raise ValueError(f"{name}: {entry}; weights must be finite and at least 0.")
    return weight


def _with_columns(name: str, array: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of shape (..., n, m) for rows of ``shape`` (..., n), given as that or as (..., n)."""
    array = _checks.float_array(name, array)
    if array.ndim == len(shape):
        array = array[..., None]
    if array.shape[:-1] != shape:
        wanted = f"{shape} (plus one axis at most) to go with the rows of values"
        raise ValueError(f"{name} must have shape {wanted}, got leading shape {array.shape[:-1]}.")
    return array


def _check_given(space: Space, values: np.ndarray, regime: Any) -> np.ndarray:
    regime = _checks.unmasked("regime", regime)
    if regime.shape != values.shape or regime.dtype.kind not in "iu":
        given = f"dtype {regime.dtype}, shape {regime.shape}"
        raise ValueError(f"regime must be integers of shape {values.shape}, got {given}.")
    counts = np.array([len(d) for d in space.domains])
    if where := find_first((regime < INACTIVE) | (regime >= counts)):
        limit = counts[where[-1]]
        raise ValueError(f"{_entry(space, regime, where)}; it must be -1 (inactive) or below {limit}.")
    return regime.astype(np.int16)


def _entry(space: Space, regimes: np.ndarray, where: tuple[Any, ...]) -> str:
    column = f"column {space.names[where[-1]]!r}"
    return f"regime: {axis_label(where[:-1])}, {column} is {int(regimes[where])}"


def _refuse(bad: np.ndarray, value: np.ndarray, column: int, name: str, what: str) -> None:
    if where := find_first(bad):
        entry = f"{axis_label(where)}, column {column} ({name!r}) = {float(value[where])!r}"
        raise ValueError(f"values: {entry} {what}{and_more(bad)}.")


def _describe_domain(domain: Domain) -> str:
    if isinstance(domain, Categorical):
        return f"the codes 0..{len(domain.choices) - 1} of {list(domain.choices)[:6]!r}"
    return repr(replace(domain, when=()))
