"""A table as logs: roles of its columns, tasks, rows to leave out, the space, codes, one after the other."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from parzax import _checks
from parzax._checks import Direction
from parzax._words import visible
from parzax.observations.bounds import given_bounds
from parzax.observations.columns import Column, Table, listed, short
from parzax.observations.frames import open_table
from parzax.observations.inference import infer_space
from parzax.observations.labels import encode_columns
from parzax.observations.report import warn_of_inferred
from parzax.observations.roles import (
    TEXT_PREFIX,
    find_parameters,
    find_targets,
    named_columns,
    state_column,
    unsaid_direction,
)
from parzax.observations.spelling import LEAST_NUMBERS, as_numbers
from parzax.observations.validation import Arrays, checked_arrays, stacked
from parzax.space import Numeric, Space, Varying

# Names of Optuna's trial states.
_PENDING = ("RUNNING", "WAITING")
_STATES = frozenset(("COMPLETE", "FAIL", "PRUNED", *_PENDING))
# What MLflow and Weights & Biases call them.
_OTHER_STATES = {
    "FINISHED": "COMPLETE", "FAILED": "FAIL", "CRASHED": "FAIL", "KILLED": "FAIL", "PREEMPTED": "FAIL",
    "PENDING": "WAITING", "SCHEDULED": "WAITING",
}  # fmt: skip


class Log(NamedTuple):
    """What a table says: space, all n rows, the reason to leave out each ("" if none), what was inferred."""

    space: Space
    arrays: Arrays
    reasons: np.ndarray
    inferred: tuple[str, ...]

    def of_rows(self, mask: np.ndarray) -> Arrays:
        """The rows that are kept, where ``mask`` (n,) is true; ValueError if there is none."""
        rows, dropped = np.flatnonzero(mask & (self.reasons == "")), _dropped(self.reasons[mask])
        arrays = self.arrays.take(rows, n_rows=int(mask.sum()), dropped=dropped, inferred=self.inferred)
        _checks.warn_of_normalised(arrays.weight)
        return arrays


def read_table(df: Any, *arguments: Any, seed: str | None, warn: bool) -> tuple[Space, Arrays]:
    """A table as one log, or one of several seeds; ``arguments`` as of `_read`."""
    if seed is not None:
        space, logs = read_tasks(df, seed, *arguments, warn=warn, what="seed")
        return space, stacked(list(logs.values()))
    log = _read(open_table(df), *arguments)
    arrays = log.of_rows(np.ones(len(log.reasons), dtype=bool))
    warn_of_inferred(log.inferred if warn else ())
    return log.space, arrays


def read_tasks(
    df: Any, task: str, *arguments: Any, warn: bool, what: str = "task"
) -> tuple[Space, dict[str, Arrays]]:
    """A table as one log for each task (or ``what`` it is); ``arguments`` as of `_read`."""
    table = open_table(df)
    _checks.instance(what, task, str, "a column name")
    named_columns(what, task, table.names)
    column = table.read(task).as_labels()
    if column.missing().any():
        raise ValueError(f"{column.where(np.argmax(column.missing()))} names no {what}.")
    names = [str(name) for name in column.labels]
    if len(set(names)) < len(names):
        raise ValueError(f"column {task!r}: {what}s differ in type alone: {list(column.labels)!r}.")
    log, logs = _read(table.without(task), *arguments), {}
    for i, name in enumerate(names):
        try:
            logs[name] = log.of_rows(column.index == i)
        except ValueError as error:
            raise ValueError(f"{what} {name!r}: {error}") from error
    warn_of_inferred(log.inferred if warn else ())
    return log.space, logs


def _read(
    table: Table,
    target: str | Sequence[str],
    direction: Direction | Sequence[Direction] | None,
    space: Space | None,
    failed: str,
    weight: str | None,
    constraints: str | Sequence[str] | None,
    exclude: Mapping[str, Any] | None,
    parameters: str | Sequence[str] | None,
    drop: str | Sequence[str] | None,
    bounds: Mapping[str, tuple[Any, Any]] | None,
    pruned: str | None,
) -> Log:
    """All rows of a table; see `Observations.from_dataframe`."""
    _checks.one_of("failed", failed, ("drop", "worst"))
    fate: str = failed if pruned is None else _checks.one_of("pruned", pruned, ("drop", "worst"))
    if space is not None and not isinstance(space, Space):
        raise TypeError(f"space must be a parzax.Space, got {type(space).__name__}.")
    whole, table = table, table.without(*named_columns("drop", drop, table.names))
    targets = find_targets(table.names, target)
    weights = named_columns("weight", weight, table.names, most=1)
    constrained = named_columns("constraints", constraints, table.names)
    notes = [] if direction is not None else [unsaid_direction(targets)]
    states = _trial_states(table)
    reasons = _reasons(table.n, states, failed, fate, exclude or {})
    _dropped(reasons)
    keep = reasons == ""
    objectives = _numbers(table, targets, keep)
    if failed == "drop" and states is not None and fate == "worst":
        # Pruned rows alone are ranked last.
        lacking = keep & (states != "PRUNED") & np.isnan(objectives).all(axis=-1)
        reasons[lacking], keep, failed = "no objective value", keep & ~lacking, "worst"
        _dropped(reasons)
    if states is not None and "state" not in targets:
        # Of rows that failed although they are kept the objective, if any, does not count.
        objectives[states != "COMPLETE"] = np.nan

    names, taken = None if space is None else space.names, [*targets, *weights, *constrained]
    asked = named_columns("parameters", parameters, table.names)
    if asked and names is not None:
        raise TypeError("parameters: the space names them; give one of the two.")
    if both := [name for name in asked if name in taken]:
        raise ValueError(f"parameters: {listed(both)} is used for something else.")
    where, ignored = find_parameters(table.names, names, taken, states is not None, asked)
    notes += ignored
    if space is None:
        columns, spelled, left = _spelled(table, where, keep, strict=bool(asked))
        space, guesses = infer_space({name: column.take(keep) for name, column in columns.items()}, spelled)
        notes += guesses + left
    else:
        columns = {name: table.read(column) for name, column in where.items()}
    moving = None if bounds is None else _bounds(bounds, whole, where, space.names, keep)
    if moving and names is None:
        space = _moving_space(space, moving, keep)
    used = keep & ((failed == "worst") | ~np.isnan(objectives).all(axis=-1))
    values, regime = encode_columns(space, columns, used, _recorded_regimes(table, space, keep))
    found = _numbers(table, constrained, keep) if constrained else None
    counts = np.where(keep, _numbers(table, weights, keep)[:, 0], 0) if weights else None
    direction = "minimize" if direction is None else direction
    arrays = checked_arrays(space, values, objectives, direction, regime, found, counts, failed, moving, keep)
    arrays = arrays._replace(report=replace(arrays.report, objectives=tuple(targets)))
    return Log(space, arrays, reasons, tuple(notes))


def _spelled(
    table: Table, where: Mapping[str, str], keep: np.ndarray, strict: bool
) -> tuple[dict[str, Column], dict[str, str], list[str]]:
    """Columns of guessed parameters, where text may spell numbers, and how; and what is none, as a date.

    That is an error of what was asked for, ``strict``.
    """
    columns, spelled, left, problem = {}, {}, [], None
    for name, column in where.items():
        try:
            least = 1 if column.startswith(TEXT_PREFIX) else LEAST_NUMBERS
            columns[name], spelled[name] = as_numbers(table.read(column), keep, least)
        except ValueError as error:
            problem = problem or error
            if strict:
                raise
            left.append(f"{visible(name)}: left out, it {str(error).removeprefix(f'column {column!r} ')}")
    if not columns and problem is not None:
        raise problem
    return columns, spelled, left


def _bounds(
    bounds: Any, table: Table, where: Mapping[str, str], known: tuple[str, ...], keep: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name -> (low, high), (n,) each, of what names numbers, arrays, columns and parameters."""

    def read(what: str, name: str) -> np.ndarray:
        column = name if name in table.names else where.get(name)
        if column is None:
            named_columns(what, name, table.names)
        return _numbers(table, [column or name], keep)[:, 0]

    found = given_bounds(bounds, (table.n,), known, read)
    return {name: (own[:, 0], own[:, 1]) for name, own in found.items()}


def _moving_space(
    space: Space, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]], keep: np.ndarray
) -> Space:
    """An inferred space with domains that move for the parameters with bounds."""
    domains = {name: space[name] for name in space.names}
    for name, (low, high) in bounds.items():
        (own,) = space[name]
        if not isinstance(own, Numeric):
            raise ValueError(f"bounds: {name!r} is no number but {own.kind}; it has no bounds.")
        lows, highs = (x[keep & np.isfinite(x)] for x in (low, high))
        ends = lows.min(initial=own.low), highs.max(initial=own.high)
        kind = {"log": own.log and ends[0] > 0, "step": 1 if own.whole else None}
        domains[name] = (Varying(*ends, when=own.when, **kind),)
    return Space(domains)


def _numbers(table: Table, names: Sequence[str], keep: np.ndarray) -> np.ndarray:
    return np.stack([_as_spelled(table.read(name), keep).as_numbers(keep) for name in names], axis=-1)


def _as_spelled(column: Column, keep: np.ndarray) -> Column:
    """The column with numbers that text spells, such as those with decimal commas; ValueError for words."""
    found, _ = as_numbers(column, keep, 1)
    lost = keep & found.missing() & ~column.missing()
    if lost.any() and column.index is not None:
        i = int(np.argmax(lost))
        raise ValueError(f"{column.where(i)}: {short(column.labels[column.index[i]])} is not a number.")
    return found


def _recorded_regimes(table: Table, space: Space, keep: np.ndarray) -> dict[str, np.ndarray]:
    """Parameter -> (n,) regime, -1 where missing, for those that have a column ``regimes_<name>``."""
    present, given = set(table.names), {}
    for name in space.names:
        if f"regimes_{name}" in present:
            column = table.read(f"regimes_{name}")
            regime = np.nan_to_num(column.as_numbers(keep), nan=-1.0)
            bad = np.flatnonzero((regime != np.floor(regime)) | (regime < -1) | (regime >= len(space[name])))
            if len(bad):
                what = f"{column.where(bad[0])}: {float(regime[bad[0]])!r} is no regime of {name!r}"
                raise ValueError(f"{what}; use -1 (inactive) to {len(space[name]) - 1}.")
            given[name] = regime.astype(np.int16)
    return given


def _trial_states(table: Table) -> np.ndarray | None:
    """(n,) trial states as upper-case names; None where no column of states has one that is known."""
    where = state_column(table.names)
    if where is None:
        return None
    column = table.read(where).as_labels()
    names = [str(getattr(x, "name", x)).rsplit(".", 1)[-1].upper() for x in column.labels]
    if where != "state":
        names = [_OTHER_STATES.get(name, name) for name in names]
    return None if _STATES.isdisjoint(names) else np.array([*names, "MISSING"], dtype=object)[column.index]


def _reasons(
    n: int, states: np.ndarray | None, failed: str, pruned: str, exclude: Mapping[str, Any]
) -> np.ndarray:
    """(n,) the first reason to leave out each row, of ``exclude`` or a trial state; "" for none."""
    reasons = np.full(n, "", dtype=object)
    for reason, mask in exclude.items():
        if not isinstance(reason, str) or not reason:
            raise TypeError(f"exclude must have a reason for each mask, in words, got {reason!r}.")
        reasons[_checks.row_mask(f"exclude[{reason!r}]", mask, (n,)) & (reasons == "")] = reason
    for state in sorted(set() if states is None else set(states) - {"COMPLETE"}):
        if (pruned if state == "PRUNED" else failed) == "drop" or state in _PENDING:
            reasons[(states == state) & (reasons == "")] = f"state {visible(state)}"
    return reasons


def _dropped(reasons: np.ndarray) -> dict[str, int]:
    """Reason -> number of rows; ValueError if every row has one."""
    counts = dict(sorted(Counter(reasons[reasons != ""]).items()))
    if sum(counts.values()) == len(reasons):
        text = ", ".join(f"{count} {reason}" for reason, count in counts.items())
        raise ValueError(f"no row of the table is left ({text}).")
    return counts
