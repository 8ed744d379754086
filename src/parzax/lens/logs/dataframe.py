"""Read tables as logs: first roles of the columns, then tasks, rows to leave out, space, and values."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import Direction, warn_of_normalised
from parzax._words import visible
from parzax.lens._rows import row_mask
from parzax.lens.logs.bounds import let_bounds_move, read_bounds
from parzax.lens.logs.inference import infer_space
from parzax.lens.logs.labels import encode_columns
from parzax.lens.logs.report import warn_of_inferred
from parzax.lens.logs.validation import Arrays, check_arrays
from parzax.lens.tables import Format, recognise, trials
from parzax.lens.tables.columns import Column, Table, listed
from parzax.lens.tables.files import read_table
from parzax.lens.tables.frames import open_table
from parzax.lens.tables.objectives import find_directions, find_targets
from parzax.lens.tables.repeats import TrialSearch, find_fidelity, read_labels
from parzax.lens.tables.roles import find_parameters, named_columns
from parzax.lens.tables.spelling import LEAST_NUMBERS, as_numbers
from parzax.lens.tables.states import PENDING, find_state, read_states
from parzax.space import Space


def read_logs(
    df: Any, column_of: Mapping[str, str | None], *arguments: Any, warn: bool
) -> tuple[Space, dict[tuple[str, ...], Arrays]]:
    """Read a table as logs by name, one for each combination of values of some columns.

    ``column_of`` maps what the values are, such as "task", to their column, or None for no column. Without
    any column all rows are one log. ``arguments`` are the arguments of `_read`.
    """
    table = read_table(Path(df)) if isinstance(df, (str, Path)) else open_table(df)
    names, log_number = [()], np.zeros(table.n, int)
    given = {what: column for what, column in column_of.items() if column is not None}
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
    space, arrays, reasons, place, inferred = _read(table, log_number, *arguments)
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
    table: Table,
    log_number: np.ndarray,
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
    form: Format | None,
    per_trial: str,
    groups: str | None,
) -> tuple[Space, Arrays, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Read all rows of a table; see `Observations.from_dataframe`.

    Returns the space, the rows, the reason to leave out each row ("" if there is none), the first row of each
    row's trial, and what was inferred.
    """
    _checks.one_of("failed", failed, ("drop", "worst"))
    fate: str = failed if pruned is None else _checks.one_of("pruned", pruned, ("drop", "worst"))
    _checks.instance("space", space, Space | None, "a parzax.Space")
    full_table, table = table, table.without(*named_columns("drop", drop, table.names))
    form = recognise(table.names) if form is None else form
    _checks.instance("format", form, Format, "a parzax.lens.tables.Format")
    targets, chosen = find_targets(table, form, target)
    weights = named_columns("weight", weight, table.names, most=1)
    constrained = named_columns("constraints", constraints, table.names)
    grouped = named_columns("groups", groups, table.names, most=1)
    _checks.one_of("per_trial", per_trial, trials.CHOICES)
    said, notes = find_directions(targets, form, table) if direction is None else (direction, [])
    directions = _checks.directions(said, len(targets))
    names, taken = None if space is None else space.names, [*targets, *weights, *constrained, *grouped]
    asked = named_columns("parameters", parameters, table.names)
    if asked and names is not None:
        raise TypeError("parameters: the space already names the parameters; give only one of the two.")
    if taken_twice := [name for name in asked if name in taken]:
        raise ValueError(f"parameters: {listed(taken_twice)} is used for something else.")

    roles_given = (*taken, *asked, *(names or ()))
    unmarked = [c for c in table.names if c not in roles_given and form.parameter_of(c) is None]
    state = find_state(table, None if form.state in asked else form.state, unmarked, form.states)
    states = None if state is None else read_states(table.read(state), form.states)
    if space is None and state is None:
        no_state = "none of its values is a trial state, so it leaves out no row and is ignored"
        notes += [f"{name}: {no_state}" for name in ("state", "status") if name in unmarked]
    reasons = _find_reasons(table.n, states, failed, fate, exclude or {})
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

    read_spelled = cache(partial(_read_spelled, table, keep, 1 if form.text else LEAST_NUMBERS))
    losses = np.where(keep[:, None], objectives, np.nan)
    aside = [*taken, *([] if state is None else [state])]

    def numbers_of(name: str) -> np.ndarray | None:
        return _to_numbers(read_spelled(name)[0])

    if names is None and not asked:
        trials.check_rows_are_trials(table, form)
    certain = () if bounds is None else bounds.keys()
    roles = find_parameters(table, form, names, aside, asked, numbers_of, losses, certain)
    column_of = roles.column_of
    if space is None:
        column_of, unfit = _fitting(column_of, read_spelled, strict=bool(asked))
        roles = roles._replace(left_out=(*roles.left_out, *unfit))
    # A column that is marked, requested or bounded as a parameter is no row counter, whatever its name.
    read_as = list(column_of.values())
    certain = [*asked, *certain, *(() if names is None else read_as)]
    sure = [c for c in read_as if c in certain or form.parameter_of(c) is not None]
    free = [c for c in read_as if c not in sure]
    others = [c for c in table.names if c not in (*aside, *read_as) and form.parameter_of(c) is None]
    together = TrialSearch(table, form, sure, free, others, numbers_of, log_number).find()
    if together is not None:
        told = [f"{c!r}: {why}" for c, why in together.no_parameters.items() if c in free]
        column_of = {name: c for name, c in column_of.items() if c not in together.no_parameters}
        roles = roles._replace(left_out=(*roles.left_out, *told))
    notes += roles.notes
    trials.leave_out_idle(table, form, list(column_of.values()), objectives, reasons, space is not None)
    _count_dropped(reasons)
    keep = reasons == ""
    members = read_labels(table.read(grouped[0])) if grouped else None
    place = np.arange(table.n)
    allowed, fidelity = reasons == "", find_fidelity(form, together, others)
    steps = None if fidelity is None else numbers_of(fidelity)
    if together is not None:
        first = -losses[:, 0] if directions[0] == "maximize" else losses[:, 0]
        told, groups_of = trials.choose_rows(per_trial, together, steps, first, reasons)
        place = np.unique(together.trial, return_index=True)[1][together.trial]
        notes += told
        members = groups_of if members is None else members
        keep = reasons == ""
    at_steps = trials.compare_steps(str(fidelity), steps, allowed, keep) if per_trial == "last" else ""
    if space is None:
        spelled = {name: read_spelled(column) for name, column in column_of.items()}
        columns = {name: column for name, (column, _) in spelled.items() if column is not None}
        spellings = {name: how for name, (_, how) in spelled.items()}
        kept_rows = {name: column.take(keep) for name, column in columns.items()}
        space, guesses, unlikely = infer_space(kept_rows, spellings)
        roles = roles._replace(left_out=(*roles.left_out, *unlikely))
        notes += guesses
    else:
        columns = {name: table.read(column) for name, column in column_of.items()}
    moving = None
    if bounds is not None:

        def read_column(what: str, name: str) -> np.ndarray:
            column = name if name in full_table.names else column_of.get(name)
            if column is None:
                named_columns(what, name, full_table.names)
            return _read_numbers(full_table, [column or name], keep)[:, 0]

        arrays = read_bounds(bounds, (table.n,), space.names, read_column)
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
    told = {"chosen": chosen, "left_out": roles.left_out, "steps": at_steps, "order": order}
    arrays = arrays._replace(report=replace(arrays.report, objectives=tuple(targets), **told))
    return space, arrays, reasons, place, tuple(notes)


def _read_spelled(table: Table, keep: np.ndarray, least: int, name: str) -> tuple[Column | None, str]:
    """Read a column, with numbers in text, and say how they are written; or (None, the reason)."""
    try:
        return as_numbers(table.read(name), keep, least)
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
        spelled, _ = as_numbers(column, keep, 1)
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
