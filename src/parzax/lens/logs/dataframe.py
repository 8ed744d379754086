"""Read tables as logs: first roles of the columns, then tasks, rows to leave out, space, and values."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import Direction, warn_of_normalised
from parzax._words import visible
from parzax.lens._rows import row_mask
from parzax.lens.logs.bounds import let_bounds_move, read_bounds
from parzax.lens.logs.gaps import with_gates
from parzax.lens.logs.inference import infer_space
from parzax.lens.logs.labels import encode_columns
from parzax.lens.logs.report import warn_of_inferred
from parzax.lens.logs.validation import Arrays, check_arrays
from parzax.lens.tables import PLAIN, Format, recognise, trials
from parzax.lens.tables.columns import Column, Table, listed
from parzax.lens.tables.doubts import DoubtError, find_doubts, python_call
from parzax.lens.tables.files import read_table
from parzax.lens.tables.formats import OPTUNA
from parzax.lens.tables.frames import open_table
from parzax.lens.tables.objectives import find_directions, find_targets
from parzax.lens.tables.roles import find_parameters, named_columns
from parzax.lens.tables.spelling import as_numbers
from parzax.lens.tables.states import PENDING, find_state, read_states
from parzax.lens.tables.trials import read_labels
from parzax.space import Space


@dataclass(frozen=True)
class TableOptions:
    """The arguments of `parzax.Observations.from_dataframe` that say what the columns of a table are."""

    target: str | Sequence[str] = "value"
    directions: Direction | Sequence[Direction] | None = None
    space: Space | None = None
    failed: str = "drop"
    weight: str | None = None
    constraints: str | Sequence[str] | None = None
    exclude: Mapping[str, Any] | None = None
    parameters: str | Sequence[str] | None = None
    drop: str | Sequence[str] | None = None
    bounds: Mapping[str, tuple[Any, Any]] | None = None
    seed: str | None = None
    pruned: str | None = None
    trial: str | None = None
    step: str | None = None
    per_trial: str = "last"
    groups: str | None = None
    format: Format | None = None

    def given(self) -> dict[str, Any]:
        """The arguments that differ from their defaults."""
        pairs = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in pairs.items() if value is not default}


def read_logs(
    df: Any, options: TableOptions, *, task: str | None = None, warn: bool = True
) -> tuple[Space, dict[tuple[str, ...], Arrays]]:
    """Read a table as logs by name, one for each combination of a task and a seed.

    Without a column of tasks and of seeds all rows are one log.
    """
    table = read_table(Path(df)) if isinstance(df, (str, Path)) else open_table(df)
    names, log_number = [()], np.zeros(table.n, int)
    given = {what: name for what, name in (("task", task), ("seed", options.seed)) if name is not None}
    for what, column in given.items():
        _checks.instance(what, column, str, "a column name")
        named_columns(what, column, table.names)
        labelled = table.read(column).as_labels()
        if labelled.missing().any():
            raise ValueError(f"{labelled.where(np.argmax(labelled.missing()))} has no {what}.")
        labels = [str(label) for label in labelled.labels]
        if len(set(labels)) < len(labels):
            raise ValueError(f"column {column!r}: {what}s differ only in type: {list(labelled.labels)!r}.")
        names = [(*name, label) for name in names for label in labels]
        log_number = log_number * len(labels) + labelled.index
        table = table.without(column)

    def call(guess: Mapping[str, Any]) -> str:
        arguments = {"task": task, **options.given(), **guess}
        return python_call("from_dataframe" if task is None else "by_task", df, arguments)

    space, arrays, reasons, place, inferred = _read(table, log_number, options, call)
    logs = {}
    for i in np.unique(log_number).tolist():
        rows, name = log_number == i, names[i]
        where = ", ".join(f"{what} {label!r}" for what, label in zip(given, name, strict=True))
        with _checks.explain(where, ValueError):
            dropped = _count_dropped(reasons[rows])
        kept = np.flatnonzero(rows & (reasons == ""))
        kept = kept[np.argsort(place[kept], kind="stable")]  # rows are sorted by the first row of their trial
        logs[name] = arrays.take(kept, n_rows=int(rows.sum()), dropped=dropped, inferred=inferred)
        warn_of_normalised(logs[name].weight)
    warn_of_inferred(inferred if warn else ())
    return space, logs


def _read(
    table: Table, log_number: np.ndarray, given: TableOptions, call: Callable[[Mapping[str, Any]], str]
) -> tuple[Space, Arrays, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Read all rows of a table; see `Observations.from_dataframe`.

    Returns the space, the rows, the reason to leave out each row ("" if there is none), the first row of each
    row's trial, and what was inferred.
    """
    failed = _checks.one_of("failed", given.failed, ("drop", "worst"))
    fate: str = failed if given.pruned is None else _checks.one_of("pruned", given.pruned, ("drop", "worst"))
    space = given.space
    _checks.instance("space", space, Space | None, "a parzax.Space")
    _checks.one_of("per_trial", given.per_trial, trials.CHOICES)
    full_table, table = table, table.without(*named_columns("drop", given.drop, table.names))
    form = recognise(table.names) if given.format is None else given.format
    _checks.instance("format", form, Format, "a parzax.lens.tables.Format")
    for what in ("trial", "step"):
        named_columns(what, getattr(given, what), table.names, most=1)
    if given.trial or given.step:
        form = replace(form, trial=given.trial or form.trial, step=given.step or form.step)
    targets, chosen, no_target = find_targets(table, form, given.target)
    weights = named_columns("weight", given.weight, table.names, most=1)
    constrained = named_columns("constraints", given.constraints, table.names)
    grouped = named_columns("groups", given.groups, table.names, most=1)
    asked = named_columns("parameters", given.parameters, table.names)
    if asked and space is not None:
        raise TypeError("parameters: the space already names the parameters; give only one of the two.")
    taken = [*targets, *weights, *constrained, *grouped]
    if taken_twice := [name for name in asked if name in taken]:
        raise ValueError(f"parameters: {listed(taken_twice)} is used for something else.")
    said, notes, no_direction = (given.directions, [], "")
    if said is None:
        said, notes, no_direction = find_directions(targets, form, table)
    directions = _checks.directions(said, len(targets))

    names = None if space is None else space.names
    unmarked = [c for c in table.names if c not in (*taken, *asked, *(names or ()))]
    unmarked = [c for c in unmarked if form.parameter_of(c) is None]
    state = find_state(table, None if form.state in asked else form.state, unmarked, form.states)
    states = None if state is None else read_states(table.read(state), form.states)
    reasons = _find_reasons(table.n, states, failed, fate, given.exclude or {})
    _count_dropped(reasons)
    keep = reasons == ""
    objectives = _read_numbers(table, targets, keep)
    if failed == "drop" and states is not None and fate == "worst":
        # Without an objective only pruned rows can be kept, ranked last.
        lacking = keep & (states != "PRUNED") & np.isnan(objectives).all(axis=-1)
        reasons[lacking], keep, failed = "no objective value", keep & ~lacking, "worst"
        _count_dropped(reasons)
    if states is not None and state not in targets:
        # Rows that failed and are kept have no objective, whatever the table says.
        objectives[states != "COMPLETE"] = np.nan

    read_spelled = cache(partial(_read_spelled, table, keep))
    losses = np.where(keep[:, None], objectives, np.nan)
    beside = [given.trial, given.step, state]
    aside = [*taken, *(name for name in beside if name is not None and name not in asked)]

    def numbers_of(name: str) -> np.ndarray | None:
        return _to_numbers(read_spelled(name)[0])

    column_of, certain, left_out = find_parameters(table, form, targets[0], names, aside, asked)
    if space is None:
        column_of, unfit = _fitting(column_of, read_spelled, strict=bool(asked))
        left_out += unfit
    trial = trials.number_trials(table, form, [*column_of.values()], log_number)
    if trial is None and given.step is not None and (asked or certain):
        raise ValueError(
            f"step={given.step!r} counts the rows of a trial, but no two rows have equal parameters."
        )
    trials.leave_out_idle(table, form, [*column_of.values()], objectives, reasons, space is not None)
    _count_dropped(reasons)
    free = [] if certain else [c for c in column_of.values() if c not in (given.bounds or ())]
    doubts, guess = find_doubts(table, free, numbers_of, losses, trial)
    no_trials = "" if certain else trials.why_no_trials(table)
    texts = [no_target, no_direction, no_trials, *(f"{name!r}: {why}" for name, why in doubts.items())]
    if any(texts):
        # Where every column is doubtful, the likeliest parameter is one that decides alone.
        clear = [c for c in column_of.values() if c not in doubts]
        clear = clear or [c for c, why in doubts.items() if "correlation" in why]
        clear = clear or [c for c, why in doubts.items() if "by its name" not in why] or [*doubts]
        guess = {"parameters": clear, **guess} if doubts or no_trials else {}
        guess |= {"directions": directions[0] if len(directions) == 1 else directions} if no_direction else {}
        guess = ({"target": targets[0]} if no_target else {}) | guess
        raise DoubtError([*filter(None, texts)], guess, call(guess))
    others = [
        c for c in table.names if c not in (*aside, *column_of.values()) and form.parameter_of(c) is None
    ]
    notes += [f"a table of {form.name}"] * (form.name not in (PLAIN.name, OPTUNA.name))
    notes += [f"state: {state}"] if state not in (None, form.state) else []
    allowed, place = reasons == "", np.arange(table.n)
    members = read_labels(table.read(grouped[0])) if grouped else None
    steps = numbers_of(form.step) if form.step in table.names else None
    if trial is not None:
        first = -losses[:, 0] if directions[0] == "maximize" else losses[:, 0]
        notes += trials.choose_rows(given.per_trial, trial, steps, first, reasons)
        place = np.unique(trial, return_index=True)[1][trial]
        members = trial if members is None and given.per_trial == "all" else members
    keep = reasons == ""
    at_steps = trials.compare_steps(str(form.step), steps, allowed, keep) if given.per_trial == "last" else ""
    if space is None:
        spelled = {name: read_spelled(column) for name, column in column_of.items()}
        columns = {name: column for name, (column, _) in spelled.items() if column is not None}
        spellings = {name: how for name, (_, how) in spelled.items()}
        columns = columns if form.prefix else with_gates(columns, keep)
        kept_rows = {name: column.take(keep) for name, column in columns.items()}
        space, guesses, unlikely = infer_space(kept_rows, spellings)
        left_out += unlikely
        notes += guesses
    else:
        columns = {name: table.read(column) for name, column in column_of.items()}
    moving = None
    if given.bounds is not None:

        def read_column(what: str, name: str) -> np.ndarray:
            column = name if name in full_table.names else column_of.get(name)
            if column is None:
                named_columns(what, name, full_table.names)
            return _read_numbers(full_table, [column or name], keep)[:, 0]

        arrays = read_bounds(given.bounds, (table.n,), space.names, read_column)
        moving = {name: (array[:, 0], array[:, 1]) for name, array in arrays.items()}
        space = let_bounds_move(space, moving, keep) if names is None else space
    used = keep & ((failed == "worst") | ~np.isnan(objectives).all(axis=-1))
    values, regime = encode_columns(space, columns, used, _read_regimes(table, space, keep))
    limits = _read_numbers(table, constrained, keep) if constrained else None
    counts = np.where(keep, _read_numbers(table, weights, keep)[:, 0], 0) if weights else None
    arrays = check_arrays(
        space, values, objectives, directions, regime, limits, counts, failed, moving, members, keep
    )
    order = trials.find_order(others, numbers_of, keep)
    facts = {"chosen": chosen, "left_out": tuple(left_out), "steps": at_steps, "order": order}
    arrays = arrays._replace(report=replace(arrays.report, objectives=tuple(targets), **facts))
    return space, arrays, reasons, place, tuple(notes)


def _read_spelled(table: Table, keep: np.ndarray, name: str) -> tuple[Column | None, str]:
    """Read a column, with numbers in text, and say how they are written; or (None, the reason)."""
    try:
        return as_numbers(table.read(name), keep)
    except ValueError as error:
        return None, str(error).removeprefix(f"column {name!r}").rstrip(".")


def _fitting(
    column_of: dict[str, str], read_spelled: Callable[[str], tuple[Any, str]], strict: bool
) -> tuple[dict[str, str], list[str]]:
    """Columns that can be parameters, and sentences on others, such as dates; ValueError if ``strict``."""
    read = {name: read_spelled(column) for name, column in column_of.items()}
    unfit = {name: why for name, (column, why) in read.items() if column is None}
    if unfit and (strict or len(unfit) == len(column_of)):
        name, why = next(iter(unfit.items()))
        raise ValueError(f"column {column_of[name]!r}{why}.")
    fitting = {name: column for name, column in column_of.items() if name not in unfit}
    return fitting, [f"{visible(name)}{why}" for name, why in unfit.items()]


def _to_numbers(column: Column | None) -> np.ndarray | None:
    """(n,) numbers of a column, NaN where missing; None for labels."""
    if column is None or column.categories:
        return None
    numeric = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in column.labels)
    return column.as_numbers() if column.index is None or numeric else None


def _read_numbers(table: Table, names: Sequence[str], keep: np.ndarray) -> np.ndarray:
    """(n, m) numbers of columns, in text too, such as those with decimal commas; ValueError for words.

    Words such as "n/a" and "diverged" are missing values.
    """
    arrays = []
    for name in names:
        column = table.read(name)
        spelled, _ = as_numbers(column, keep)
        column.as_numbers(keep & spelled.missing())  # raises for words that are no words for a missing value
        arrays.append(spelled.as_numbers(keep))
    return np.stack(arrays, axis=-1)


def _read_regimes(table: Table, space: Space, keep: np.ndarray) -> dict[str, np.ndarray]:
    """Parameter -> (n,) regime, -1 where missing, for parameters with a column ``regimes_<name>``."""
    given = {}
    for name in space.names:
        if f"regimes_{name}" in table.names:
            column = table.read(f"regimes_{name}")
            regime = np.nan_to_num(column.as_numbers(keep), nan=-1.0)
            bad = np.flatnonzero((regime != np.floor(regime)) | (regime < -1) | (regime >= len(space[name])))
            if len(bad):
                what = f"{column.where(bad[0])}: {float(regime[bad[0]])!r} is no regime of {name!r}"
                raise ValueError(f"{what}; use -1 (inactive) to {len(space[name]) - 1}.")
            given[name] = regime.astype(np.int16)
    return given


def _find_reasons(
    n: int, states: np.ndarray | None, failed: str, pruned: str, exclude: Mapping[str, Any]
) -> np.ndarray:
    """(n,) first reason to leave out each row, from ``exclude`` or a trial state; "" for none."""
    reasons = np.full(n, "", dtype=object)
    for reason, mask in exclude.items():
        if not isinstance(reason, str) or not reason:
            raise TypeError(f"exclude must have a reason for each mask, in words, got {reason!r}.")
        reasons[row_mask(f"exclude[{reason!r}]", mask, (n,)) & (reasons == "")] = reason
    for state in sorted(set(() if states is None else states) - {"COMPLETE"}):
        if (pruned if state == "PRUNED" else failed) == "drop" or state in PENDING:
            reasons[(states == state) & (reasons == "")] = f"state {visible(state)}"
    return reasons


def _count_dropped(reasons: np.ndarray) -> dict[str, int]:
    """Reason -> number of rows left out; ValueError if every row is left out."""
    counts = dict(sorted(Counter(reasons[reasons != ""]).items()))
    if sum(counts.values()) == len(reasons):
        text = ", ".join(f"{count} {reason}" for reason, count in counts.items())
        raise ValueError(f"no row of the table is left ({text}).")
    return counts
