"""Several rows of one trial, such as epochs, budgets and repeats; by default one of them counts."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from parzax._entries import number_rows
from parzax._words import plural
from parzax.tables.columns import Column, Table
from parzax.tables.formats import Format

CHOICES = ("last", "best", "all")
_STEP = re.compile(r"(.*[._/])?(epoch|step|iteration|training_iteration|budget|fidelity)", re.IGNORECASE)
# A column can count steps if the ratio of different configurations to rows is at most this.
_MOST_DIFFERENT = 0.5


def find_step(table: Table, form: Format, candidates: Sequence[str], parameters: Sequence[str]) -> str | None:
    """The column that counts the rows of a trial: by the format, or by its name if configurations repeat.

    Args:
        table: the table.
        form: its format.
        candidates: columns that may count steps; columns that a format or the user calls parameters may not.
        parameters: columns of parameters.
    """
    if form.step in table.names:
        return form.step
    for name in filter(_STEP.fullmatch, candidates):
        others = [column for column in parameters if column != name]
        if others and len(np.unique(configurations(table, others))) <= _MOST_DIFFERENT * table.n:
            return name
    return None


def configurations(table: Table, columns: Sequence[str]) -> np.ndarray:
    """(n,) number of the configuration of each row: rows with equal values in all columns share it."""
    return number_rows((table.read(name).as_labels().index for name in columns), table.n)


def choose_rows(
    per_trial: str, trial: np.ndarray, step: np.ndarray | None, losses: np.ndarray, reasons: np.ndarray
) -> list[str]:
    """Write into ``reasons`` why rows of a trial do not count, and return sentences about it.

    Args:
        per_trial: which row of a trial counts: "last", the row with the largest step; "best", the row with
            the smallest loss; or "all".
        trial: (n,) number of each row's trial.
        step: (n,) step of each row; None for the order of the rows.
        losses: (n,) the first objective, NaN where missing.
        reasons: (n,) reason to leave out each row, "" for rows that count; changed in place.

    Returns:
        Sentences for the report.
    """
    keep = reasons == ""
    n_rows, n_trials = int(keep.sum()), len(np.unique(trial[keep]))
    if n_rows == n_trials:
        return []
    held = f"{n_rows} rows hold {plural(n_trials, 'trial')}"
    if per_trial == "all":
        return [f"{held}; samples and shuffles take the rows of a trial together"]
    reasons[_other_rows(per_trial, trial, step, losses, keep)] = f"not the {per_trial} row of its trial"
    option = "per_trial='all' (--per-trial all) takes all rows"
    return [f"{held}; the {per_trial} row of each counts, {option}"]


def _other_rows(
    per_trial: str, trial: np.ndarray, step: np.ndarray | None, losses: np.ndarray, keep: np.ndarray
) -> np.ndarray:
    """(n,) rows of ``keep`` (n,) that do not count, since another row of their trial does."""
    rows = np.arange(len(trial))
    at = rows if step is None else np.nan_to_num(step, nan=-np.inf)
    failed = np.isnan(losses)
    by_merit = (rows, at, ~failed) if per_trial == "last" else (rows, -np.where(failed, np.inf, losses))
    # In this order the last row of a trial counts; rows that are not used come first.
    order = np.lexsort((*by_merit, keep, trial))
    last = np.append(trial[order][1:] != trial[order][:-1], True)
    counted = np.zeros(len(trial), bool)
    counted[order[last]] = True
    return keep & ~counted


def read_labels(column: Column) -> np.ndarray:
    """(n,) number of the label of each row; each row without a label gets a separate number."""
    labels = column.as_labels()
    return np.where(labels.missing(), -1 - np.arange(len(labels.rows)), labels.index)


def read_trials(
    table: Table, form: Format, step: str | None, parameters: Mapping[str, str]
) -> np.ndarray | None:
    """(n,) number of each row's trial, by the format's column, or by configuration if rows are steps.

    None if every row is a different trial.
    """
    if form.trial in table.names:
        trial = read_labels(table.read(form.trial))
    elif step is not None:
        trial = configurations(table, [column for column in parameters.values() if column != step])
    else:
        return None
    return trial if len(np.unique(trial)) < table.n else None
