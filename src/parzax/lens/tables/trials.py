"""Rows and trials: which rows are of one trial, and which of them count."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from shlex import quote

import numpy as np

from parzax._words import plural
from parzax.lens._rows import number_rows
from parzax.lens.tables.columns import Column, Table, short
from parzax.lens.tables.formats import Format
from parzax.lens.tables.names import sounds_like_result

CHOICES = ("last", "best", "all")
# A result by which the rows are sorted has on average at most this many rows per different value.
_PER_VALUE = 5
# Names of columns that count the steps of a run, not the trials of a search.
_STEP = re.compile(r"(.*[._/])?(_step|epoch|global_step|training_iteration)")
# With fewer rows, such a column of a log of trials may increase by chance.
_LEAST_ROWS = 10


def why_no_trials(table: Table) -> str:
    """Why the rows of a table may be no trials: they are metrics of trials, or steps of one run; else ""."""
    if {"metric_name", "mean"} <= {*table.names}:
        return "a row may be a metric of a trial ('metric_name'), and not a trial"
    for name in filter(_STEP.fullmatch, table.names):
        with suppress(ValueError):  # raised for text that is no number, such as dates
            numbers = table.read(name).as_numbers()
            if len(numbers) >= _LEAST_ROWS and (np.diff(numbers) > 0).all():
                return f"the rows may be the course of a single run: {name!r} increases from row to row"
    return ""


def number_trials(
    table: Table, form: Format, parameters: Sequence[str], log_number: np.ndarray
) -> np.ndarray | None:
    """(n,) number of each row's trial; None if every row is a trial.

    Rows of one log (``log_number``, (n,)) are of one trial if they have the same label in the format's column
    of trials, or, if the format has a column of steps only, the same values of all ``parameters``.
    """
    if form.trial in table.names:
        keys = [read_labels(table.read(form.trial))]
    elif form.step in table.names:
        keys = [table.codes(name) for name in parameters if name != form.step]
    else:
        return None
    number = number_rows([log_number, *keys], table.n)
    return number if number.max() + 1 < table.n else None


def read_labels(column: Column) -> np.ndarray:
    """(n,) number of the label of each row; each row without a label gets a separate number."""
    labels = column.as_labels()
    return np.where(labels.missing(), -1 - np.arange(len(labels.rows)), labels.index)


def choose_rows(
    per_trial: str, trial: np.ndarray, step: np.ndarray | None, losses: np.ndarray, reasons: np.ndarray
) -> list[str]:
    """Write into ``reasons`` why rows of a trial do not count; return sentences for the report.

    Args:
        per_trial: which row of a trial counts: "last", the row with the largest step; "best", the row with
            the smallest loss; or "all". A trial whose last row has no loss failed, unless the loss was not
            measured in each row.
        trial: (n,) number of each row's trial.
        step: (n,) step of each row; None for the order of the rows.
        losses: (n,) the first objective, NaN where missing.
        reasons: (n,) reason to leave out each row, "" for rows that count; changed in place.
    """
    keep = reasons == ""
    n_rows, n_trials = int(keep.sum()), len(np.unique(trial[keep]))
    held = f"{n_rows} rows hold {plural(n_trials, 'trial')}"
    if n_rows == n_trials:
        return []
    if per_trial == "all":
        return [f"{held}; samples and shuffles take the rows of a trial together"]
    at = np.arange(len(trial)) if step is None else np.nan_to_num(step, nan=-np.inf)
    counted, failed, row = _choose_row(per_trial, trial, at, losses, keep, keep | (reasons == "state FAIL"))
    keep[counted] = False
    reasons[keep] = f"not the {per_trial} row of its trial"
    notes = [f"{held}; the {row} of each counts, per_trial='all' (--per-trial all) takes all rows"]
    return notes + [f"{plural(failed, 'trial')} failed: the last row has no value"] * (failed > 0)


def compare_steps(name: str, step: np.ndarray | None, allowed: np.ndarray, keep: np.ndarray) -> str:
    """A warning if the rows that count have different steps, so that losses may not compare; else "".

    Args:
        name: the column of steps, such as budgets.
        step: (n,) step of each row, NaN where missing; None for labels.
        allowed: (n,) rows of which one of each trial counts.
        keep: (n,) rows that count.
    """
    ends = np.unique([] if step is None else step[keep & np.isfinite(step)])
    if step is None or len(ends) < 2:
        return ""
    values, counts = np.unique(step[allowed & np.isfinite(step)], return_counts=True)
    # The most frequent step; the largest one if several are equally frequent.
    common, n_rows = values[counts == counts.max()][-1], counts.max()
    remedy = "--filter " + quote(f'"{name}" == {common:g}')
    return (
        f"losses may not compare: {short(name)} of the rows that count goes from {ends[0]:g} to "
        f"{ends[-1]:g}; {remedy} leaves {plural(n_rows, 'row')}, all with the same value"
    )


def find_order(
    columns: Sequence[str], numbers_of: Callable[[str], np.ndarray | None], keep: np.ndarray
) -> str:
    """A warning if the rows that count are sorted by one of ``columns`` that has a result's name; else ""."""
    for name in filter(sounds_like_result, columns):
        numbers = numbers_of(name)
        values = np.array([]) if numbers is None else numbers[keep & np.isfinite(numbers)]
        steps = np.diff(values)
        # A column with the best value so far is sorted too, but has few different values.
        many = len(np.unique(values)) > len(values) / _PER_VALUE
        if many and ((steps >= 0).all() or (steps <= 0).all()):
            return f"rows are sorted by {short(name)}, so their order says nothing about the search"
    return ""


def _choose_row(
    per_trial: str, trial: np.ndarray, at: np.ndarray, losses: np.ndarray, keep: np.ndarray, ended: np.ndarray
) -> tuple[np.ndarray, int, str]:
    """The row of each trial that counts, the number of these rows without a loss, and words for the choice.

    The loss was not measured in each row if some rows without one stand before others of their trial, or if
    most trials end without one. Then the last row with a loss counts. ``ended`` (n,) are the rows to ``keep``
    and those that say that their run failed.
    """
    lacking = np.isnan(losses)
    if per_trial == "best":
        return _find_last(trial, -np.where(lacking, np.inf, losses), keep), 0, "best row"
    last, measured = _find_last(trial, at, ended), _find_last(trial, at, ~lacking, keep)
    before = keep & lacking & (at < at[measured][trial]) & ~lacking[measured][trial]
    failed = int((last != measured).sum())
    if before.any() or failed > len(last) / 2:
        return measured, 0, "last row with a value"
    return last, failed, "last row"


def _find_last(trial: np.ndarray, *keys: np.ndarray) -> np.ndarray:
    """The last row of each trial in the order of the ``keys`` (n,); the last key counts most."""
    order = np.lexsort((*keys, trial))
    return order[np.append(np.diff(trial[order]) > 0, True)]


def leave_out_idle(
    table: Table,
    form: Format,
    parameters: Sequence[str],
    objectives: np.ndarray,
    reasons: np.ndarray,
    named: bool,
) -> None:
    """Write into ``reasons`` (n,) why rows without a parameter, and parents of other rows, do not count.

    ValueError if no row has both an objective (n, m) and a parameter. If the parameters are ``named`` by a
    space, only parents are left out.
    """
    idle = np.logical_and.reduce([table.read(name).missing() for name in parameters])
    reasons[(reasons == "") & _find_parents(table, form, ~idle)] = "a parent of runs with parameters"
    if named:
        return
    complete = (reasons == "") & ~np.isnan(objectives).all(axis=-1)
    if complete.any() and not idle.all() and not (complete & ~idle).any():
        hint = "rows of several files are not joined, so join files with different columns first"
        raise ValueError(f"no row has both an objective and a value of a parameter; {hint}.")
    if len(parameters) > 1:
        reasons[(reasons == "") & idle] = "no parameter has a value"


def _find_parents(table: Table, form: Format, children: np.ndarray) -> np.ndarray:
    """(n,) rows of trials that started the trial of one of the rows ``children`` (n,)."""
    if form.trial not in table.names or form.parent not in table.names:
        return np.zeros(table.n, bool)
    parents = set(table.read(form.parent).take(children).as_labels().labels)
    trial = table.read(form.trial).as_labels()
    return np.array([*(label in parents for label in trial.labels), False])[trial.index]
