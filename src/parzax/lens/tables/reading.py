"""Read tables as logs: what each column is, which rows count, the space, and the values."""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import Direction, warn_of_normalised
from parzax._words import visible
from parzax.lens._rows import row_mask
from parzax.lens._words import listed, split_words
from parzax.lens.logs.bounds import let_bounds_move, read_bounds
from parzax.lens.logs.columns import Column, parse_numbers, read_letters
from parzax.lens.logs.inference import NUMBER, infer_space, split_special
from parzax.lens.logs.labels import encode_columns
from parzax.lens.logs.observations import Observations
from parzax.lens.tables import doubts, trials
from parzax.lens.tables.files import read_table
from parzax.lens.tables.formats import OPTUNA, PLAIN, Format, bare_name, recognise
from parzax.lens.tables.names import named_columns, suggest
from parzax.lens.tables.table import Table, check_unique, open_table
from parzax.space import Categorical, Space

MAX_PARAMETERS = 10_000
# Arguments that name columns -> how many they may name.
_ROLES = {"trial": 1, "step": 1, "weight": 1, "groups": 1, "constraints": None, "parameters": None}
# Objectives that an error lists.
_MOST_LISTED = 8
# Sentences that a warning shows; the report has all of them.
_MOST_WARNED = 30
# Columns of the index that pandas writes to files.
_INDEX = re.compile(r"Unnamed: \d+|__index_level_0__|#|")


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
        return {x.name: getattr(self, x.name) for x in fields(self) if getattr(self, x.name) is not x.default}


def read_logs(
    df: Any, options: TableOptions, *, task: str | None = None, warn: bool = True
) -> dict[tuple[str, ...], Observations]:
    """Read a table as logs by name, with one space, one for each combination of a task and a seed.

    Without a column of tasks and of seeds all rows are one log.
    """
    table = read_table(Path(df)) if isinstance(df, (str, Path)) else open_table(df)
    names, log_number = [()], np.zeros(table.n, int)
    given = {what: name for what, name in (("task", task), ("seed", options.seed)) if name is not None}
    for what, column in given.items():
        _checks.instance(what, column, str, "a column name")
        named_columns(what, column, table.columns)
        labelled = table.columns[column].as_labels()
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
        return doubts.python_call("from_dataframe" if task is None else "by_task", df, arguments)

    obs, reasons, place, inferred = _read(table, log_number, options, call)
    logs = {}
    for i in np.unique(log_number).tolist():
        rows, name = log_number == i, names[i]
        log = ", ".join(f"{what} {label!r}" for what, label in zip(given, name, strict=True))
        dropped = _count_dropped(reasons[rows], log or "the table")
        kept = np.flatnonzero(rows & (reasons == ""))
        kept = kept[np.argsort(place[kept], kind="stable")]  # rows are sorted by the first row of their trial
        about = {"dropped": dropped, "inferred": inferred, "numbers": kept + 1}
        logs[name] = obs.take(kept, n_rows=int(rows.sum()), **about)
        if len(names) > 1:
            warn_of_normalised(logs[name].weight)
    if warn and inferred:
        more = ["... and more: report.inferred has all"] * (len(inferred) > _MOST_WARNED)
        text = "\n  ".join(["parzax inferred from the table:", *inferred[:_MOST_WARNED], *more])
        warnings.warn(text, UserWarning, stacklevel=_checks.outside())
    return logs


def _read(
    table: Table, log_number: np.ndarray, given: TableOptions, call: Callable[[Mapping[str, Any]], str]
) -> tuple[Observations, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Read all rows of a table; see `Observations.from_dataframe`.

    Returns the rows, the reason to leave out each row ("" if there is none), the first row of each
    row's trial, and what was inferred.
    """
    space = given.space
    _checks.instance("space", space, Space | None, "a parzax.Space")
    _checks.one_of("per_trial", given.per_trial, trials.CHOICES)
    failed = _checks.one_of("failed", given.failed, ("drop", "worst"))
    pruned = failed if given.pruned is None else _checks.one_of("pruned", given.pruned, ("drop", "worst"))
    full_table, table = table, table.without(*named_columns("drop", given.drop, table.columns))
    form = recognise(table.columns) if given.format is None else given.format
    _checks.instance("format", form, Format, "a parzax.lens.tables.Format")
    table = table if space is None else _with_gates(table, space)

    # What each column is.
    named = {
        what: named_columns(what, getattr(given, what), table.columns, most) for what, most in _ROLES.items()
    }
    if given.trial or given.step:
        form = replace(form, trial=given.trial or form.trial, step=given.step or form.step)
    targets, chosen, no_target = find_targets(table, form, given.target)
    asked = named["parameters"]
    if asked and space is not None:
        raise TypeError("parameters: the space already names the parameters; give only one of the two.")
    taken = [*targets, *named["weight"], *named["constraints"], *named["groups"]]
    if taken_twice := [name for name in asked if name in taken]:
        raise ValueError(f"parameters: {listed(taken_twice)} is used for something else.")
    said, notes, no_direction = given.directions, [], ""
    if said is None:
        said, notes, no_direction = find_directions(targets, form, table.columns)
    directions = _checks.directions(said, len(targets))
    elsewhere = {*taken, *asked, *(() if space is None else space.names)}
    unmarked = [c for c in table.columns if c not in elsewhere and form.parameter_of(c) is None]
    state = trials.find_state(table, replace(form, state=None) if form.state in asked else form, unmarked)

    # Which rows count, by their states and objectives.
    complete = np.full(table.n, "COMPLETE")
    states = complete if state is None else trials.read_states(table.columns[state], form.states)
    reasons = _find_reasons(states, given.exclude or {}, failed, pruned)
    objectives = _read_numbers(table, targets, reasons == "")
    if failed == "drop" and ((reasons == "") & (states == "PRUNED")).any():
        # Without an objective only pruned rows can be kept, ranked last.
        lost = (reasons == "") & (states != "PRUNED") & np.isnan(objectives).all(axis=-1)
        reasons[lost], failed = "no objective value", "worst"
    if state not in targets:
        # Rows that failed and are kept have no objective, whatever the table says.
        objectives[states != "COMPLETE"] = np.nan
    used_rows = reasons == ""
    losses = np.where(used_rows[:, None], objectives, np.nan)

    @cache
    def spelled(column: str) -> tuple[Column, str]:
        return parse_numbers(table.columns[column], used_rows)

    # The parameters, and what is not certain.
    aside = [*taken, *(c for c in (given.trial, given.step, state) if c is not None and c not in asked)]
    column_of, certain, left_out = find_parameters(table, form, targets[0], space, aside, asked)
    parameters = [*column_of.values()]
    trial = trials.number_trials(table, form, parameters, log_number)
    if trial is None and given.step is not None and (asked or certain):
        raise ValueError(
            f"step={given.step!r} counts the rows of a trial, but no two rows have equal parameters."
        )
    free = [] if certain else [c for c in parameters if c not in (given.bounds or ())]
    states_only = [c for c in free if trials.holds_states(table, c)]
    numbers = {c: spelled(c)[0].numbers for c in free}
    why, guess = doubts.find_doubts(table, numbers, states_only, losses, trial)
    no_trials = "" if certain else doubts.why_no_trials(table)
    texts = [no_target, no_direction, no_trials, *(f"{name!r}: {text}" for name, text in why.items())]
    if any(texts):
        clear = [c for c in parameters if c not in why]
        clear = clear or [c for c, text in why.items() if "by its name" not in text] or parameters
        guess = {"parameters": clear, **guess} if why or no_trials else {}
        guess |= {"directions": directions[0] if len(directions) == 1 else directions} if no_direction else {}
        guess = ({"target": targets[0]} if no_target else {}) | guess
        raise doubts.DoubtError([*filter(None, texts)], guess, call(guess))
    idle = np.logical_and.reduce([table.columns[name].missing() for name in parameters])
    reasons[(reasons == "") & trials.find_parents(table, form, ~idle)] = "a parent of runs with parameters"
    if space is None:
        complete = (reasons == "") & ~np.isnan(objectives).all(axis=-1)
        if complete.any() and not idle.all() and not (complete & ~idle).any():
            hint = "rows of several files are not joined, so join files with different columns first"
            raise ValueError(f"no row has both an objective and a value of a parameter; {hint}.")
        if len(parameters) > 1:
            reasons[(reasons == "") & idle] = "no parameter has a value"
    _count_dropped(reasons)
    notes += [f"a table of {form.name}"] * (form.name not in (PLAIN.name, OPTUNA.name))
    notes += [f"state: {state}"] if state not in (None, form.state) else []

    # Which rows of a trial count.
    allowed, place = reasons == "", np.arange(table.n)
    members = trials.read_labels(table.columns[named["groups"][0]]) if named["groups"] else None
    steps = spelled(form.step)[0].numbers if form.step in table.columns else None
    if trial is not None:
        first = -losses[:, 0] if directions[0] == "maximize" else losses[:, 0]
        notes += trials.choose_rows(given.per_trial, trial, steps, first, reasons)
        place = np.unique(trial, return_index=True)[1][trial]
        members = trial if members is None and given.per_trial == "all" else members
    keep = reasons == ""

    # The space and the values.
    columns = {name: table.columns[column] for name, column in column_of.items()}
    unread: tuple[str, ...] = ()
    if space is None:
        numeric = {name: spelled(column)[0] for name, column in column_of.items()}
        spellings = {name: spelled(column)[1] for name, column in column_of.items()}
        space, columns, guesses, unlikely = infer_space(
            numeric, columns, spellings, keep, gates=not form.empty_is_inactive
        )
        left_out += [f"{visible(name)}: {why}" for name, why in unlikely.items()]
        unread = tuple(name for name in unlikely if not columns[name].missing().all())
        notes += guesses
    moving = None
    if given.bounds is not None:

        def read_column(what: str, name: str) -> np.ndarray:
            column = name if name in full_table.columns else column_of.get(name, name)
            named_columns(what, column, full_table.columns)
            return _read_numbers(full_table, [column], keep)[:, 0]

        arrays = read_bounds(given.bounds, (table.n,), space.names, read_column)
        moving = {name: (array[:, 0], array[:, 1]) for name, array in arrays.items()}
        space = let_bounds_move(space, moving, keep) if given.space is None else space
    used = keep & ((failed == "worst") | ~np.isnan(objectives).all(axis=-1))
    values = encode_columns(space, columns, used)
    limits = _read_numbers(table, named["constraints"], keep) if named["constraints"] else None
    counts = np.where(keep, _read_numbers(table, named["weight"], keep)[:, 0], 0) if named["weight"] else None
    obs = Observations.from_arrays(
        space, values, objectives, directions, constraints=limits, weight=counts, failed=failed,
        bounds=moving, groups=members, keep=keep,
    )  # fmt: skip
    facts: dict[str, Any] = {"chosen": chosen, "left_out": tuple(left_out), "unread": unread}
    if steps is not None and given.per_trial == "last":
        facts["steps"] = trials.compare_steps(str(form.step), steps, allowed, keep)
    obs = replace(obs, report=replace(obs.report, objectives=tuple(targets), **facts))
    return obs, reasons, place, tuple(notes)


# --- what each column is -------------------------------------------------------------------------


def find_targets(table: Table, form: Format, target: Any) -> tuple[list[str], str, str]:
    """The objective columns, a sentence for the report, and a doubt.

    "value", the default, also stands for all of ``values_*``, or for the only column that can be the
    objective in the format of a tool, which the sentence names. If there are several such columns, or if the
    table is of no tool, the first one is a guess, and the doubt says so. ValueError if there is none.
    """
    columns = [*table.columns]
    if target == "value" and target not in columns:
        if several := [c for c in columns if c.startswith("values_")]:
            return sorted(several, key=lambda c: (len(c), c)), "", ""  # values_10 comes after values_2
        results = _find_results(table, form)
        if len(results) == 1 and form.results:
            return results, f"objective: {results[0]}, the only result", ""
        if not results:
            marked = [c for c in columns if form.results and re.fullmatch(form.results, c)]
            if marked and form.state in columns:
                ends = Counter(trials.read_states(table.columns[form.state], form.states))
                counts = ", ".join(f"{count} {visible(state)}" for state, count in sorted(ends.items()))
                raise ValueError(f"no trial has a number in {listed(marked, _MOST_LISTED)}: {counts}.")
            which = f"name the objective (target=, --target COL), one of {listed(columns)}"
            raise ValueError(f"no column 'value' or 'values_*'; {which}.")
        return results[:1], "", f"no objective is named, but it may be {listed(results, _MOST_LISTED)}"
    targets = named_columns("target", target, columns)
    if not targets:
        raise TypeError(f"target must be a column name or a list of them, got {target!r}.")
    check_unique(targets)
    return targets, "", ""


def _find_results(table: Table, form: Format) -> list[str]:
    """The columns of numbers that may be the objective, the likeliest first: no times, counters and the like.

    They have the mark of the format. If results have no mark, they have the name of a result; if no column
    has one, the last column of numbers may be the result.
    """

    def may_be_result(name: str) -> bool:
        numbers = parse_numbers(table.columns[name], np.ones(table.n, bool))[0].numbers
        has_numbers = numbers is not None and bool(np.isfinite(numbers).any())
        return has_numbers and doubts.why_by_name(name, numbers) in ("", "a result")

    if form.results:
        marked = [c for c in table.columns if form.parameter_of(c) is None and re.fullmatch(form.results, c)]
        results = list(filter(may_be_result, marked))
    else:
        results = [c for c in table.columns if doubts.sounds_like_result(c) and may_be_result(c)]
        results = results or [*filter(may_be_result, reversed(table.columns))][:1]
    return sorted(results, key=lambda c: (not doubts.sounds_like_result(c), "train" in split_words(c)))


def find_directions(
    targets: Sequence[str], form: Format = PLAIN, columns: Mapping[str, Column] = {}
) -> tuple[list[str], list[str], str]:
    """The direction of each objective, sentences for the report, and a doubt.

    The tool says the direction, perhaps in one of the ``columns``, or the end of the name. If the name has a
    word for a direction elsewhere, as accuracy_drop has, "minimize" is a guess, and the doubt says so;
    without any word it is the default.
    """
    directions, notes, unclear = [], [], []
    for name in targets:
        said = next((way for names, way in form.directions.items() if fnmatchcase(name, names)), "")
        if said not in ("", "minimize", "maximize"):
            words = {read_letters(x)[:3] for x in columns[said].as_labels().labels} if said in columns else ()
            said = {"MIN": "minimize", "MAX": "maximize"}.get("".join(words), "")
        way = said or doubts.direction_by_name(name)
        directions.append("maximize" if way == "maximize" else "minimize")
        if way == "unclear":
            unclear.append(name)
        elif way:
            source = f"as {form.name} says" if said else "by its name"
            notes.append(f"direction: {name!r} is {way[:-2]}sed, {source}")
        else:
            hint = "if more is better, directions='maximize' (--direction maximize)"
            notes.append(f"direction: not given, so {name!r} is minimised; {hint}")
    doubt = f"nothing says whether {listed(unclear)} should be small or large" if unclear else ""
    return directions, notes, doubt


def find_parameters(
    table: Table, form: Format, target: str, space: Space | None, taken: Sequence[str], asked: list[str]
) -> tuple[dict[str, str], bool, list[str]]:
    """The columns of the parameters, and which other columns are left out.

    They are the columns ``asked`` for, those of the names of a space, those that the format marks, or all
    columns that the format does not call something else.

    Args:
        table: all columns except those to drop.
        form: the format of the table.
        target: the first objective.
        space: the column of a parameter's name has the prefix of the format, or the name itself.
        taken: columns with another role.
        asked: columns that the user calls parameters.

    Returns:
        Dictionary parameter -> column; whether the columns are certain to be parameters; and sentences on
        columns that are left out.
    """
    if asked:
        check_unique([bare_name(column) for column in asked])
        return {bare_name(column): column for column in asked}, True, []
    free = [column for column in table.columns if column not in taken]
    marked = {name: c for c in free if (name := form.parameter_of(c)) is not None}
    if space is not None:
        column_of = {name: marked.get(name, name) for name in space.names}
        if absent := [name for name, column in column_of.items() if column not in table.columns]:
            what = f"the parameters {listed(absent)} of the space (params_<name> or <name>)"
            raise ValueError(f"the table has no column for {what}; {suggest(absent, table.columns)}")
        return column_of, True, []
    names = [*table.columns]
    others = form.find_others(names)
    unsaid = {c for c in free if _INDEX.fullmatch(c)} | (others if form.prefix else set())
    at = names.index(target)
    if form.results_last and not others.issuperset(names[:at]):
        others |= {*names[at:]}
    column_of = marked or {column: column for column in free if column not in (others | unsaid)}
    if len(column_of) > MAX_PARAMETERS:
        what = f"{len(column_of)} columns would be parameters, more than {MAX_PARAMETERS}"
        raise ValueError(f"{what}; name the parameters, or pass a space.")
    if not column_of:
        remedy = "name the parameters (parameters=, --parameters)"
        raise ValueError(f"no column is left for parameters; columns are {listed(names)}; {remedy}.")
    rest = [c for c in free if c not in (unsaid | {*column_of.values()})]
    return column_of, bool(marked), [f"the columns {listed(rest)}"] if rest else []


def _with_gates(table: Table, space: Space) -> Table:
    """The table, with the gates of a space that was inferred from such a table; see `split_special`."""
    column_of = {bare_name(column): column for column in table.columns}
    columns = dict(table.columns)
    for gate, (domain, *_) in zip(space.names, space.domains, strict=True):
        column = columns.get(column_of.get(gate.rpartition(" (")[0], ""))
        if gate in columns or column is None or not isinstance(domain, Categorical):
            continue
        numbers, _ = parse_numbers(column, np.ones(table.n, bool))
        if numbers.index is None and NUMBER in domain.choices:
            special = [choice for choice in domain.choices if choice != NUMBER]
            columns[gate], columns[column.name] = split_special(numbers, column, special)
    return Table(columns, table.n)


# --- rows and values -----------------------------------------------------------------------------


def _read_numbers(table: Table, names: Sequence[str], keep: np.ndarray) -> np.ndarray:
    """(n, m) numbers of columns, in text too, such as those with decimal commas; ValueError for words.

    Words such as "n/a" and "diverged" are missing values.
    """
    arrays = []
    for name in names:
        column = table.columns[name]
        numbers, _ = parse_numbers(column, keep)
        column.as_numbers(keep & numbers.missing())  # raises for words that are no words for a missing value
        arrays.append(numbers.as_numbers(keep))
    return np.stack(arrays, axis=-1)


def _find_reasons(states: np.ndarray, exclude: Mapping[str, Any], failed: str, pruned: str) -> np.ndarray:
    """(n,) first reason to leave out each row, from ``exclude`` or its state (n,); "" for none."""
    reasons = np.full(len(states), "", dtype=object)
    for reason, mask in exclude.items():
        if not isinstance(reason, str) or not reason:
            raise TypeError(f"exclude must have a reason for each mask, in words, got {reason!r}.")
        reasons[row_mask(f"exclude[{reason!r}]", mask, states.shape) & (reasons == "")] = reason
    for state in sorted({*states} - {"COMPLETE"}):
        if (pruned if state == "PRUNED" else failed) == "drop" or state in trials.PENDING:
            reasons[(states == state) & (reasons == "")] = f"state {visible(state)}"
    _count_dropped(reasons)
    return reasons


def _count_dropped(reasons: np.ndarray, log: str = "the table") -> dict[str, int]:
    """Reason -> number of rows left out; ValueError if every row of the ``log`` is left out."""
    counts = dict(sorted(Counter(reasons[reasons != ""]).items()))
    if sum(counts.values()) == len(reasons):
        text = ", ".join(f"{count} {reason}" for reason, count in counts.items())
        raise ValueError(f"no row of {log} is left ({text}).")
    return counts
