"""Rows that belong together: epochs, budgets and repeats of one trial, of which one counts by default."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from parzax._entries import number_rows
from parzax.tables.columns import Column, Table
from parzax.tables.formats import Format

CHOICES = ("last", "best", "all")
_STEP = re.compile(r"(.*[._/])?(epoch|step|iteration|training_iteration|budget|fidelity)", re.IGNORECASE)
# Largest ratio of different configurations to rows where a column counts steps.
_MOST_DIFFERENT = 0.5


def find_step(table: Table, form: Format, candidates: Sequence[str], parameters: Sequence[str]) -> str | None:
    """The column that counts the rows of a trial: the format's, or one that is called so beside repeats.

    Args:
        table: the table.
        form: its format.
        candidates: columns that may be it: none that a format or the user calls a parameter.
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
    """Give a reason to leave out the rows of a trial that do not count, in place, and say so.

    Args:
        per_trial: "last", the row of the largest step counts; "best", that of the smallest loss; or "all".
        trial: (n,) number of each row's trial.
        step: (n,) step of each row; the order of the rows for None.
        losses: (n,) the first objective, NaN where missing.
        reasons: (n,) reason to leave out each row, "" for none.

    Returns:
        Sentences for the report.
    """
    keep = reasons == ""
    n_rows, n_trials = int(keep.sum()), len(np.unique(trial[keep]))
    if n_rows == n_trials:
        return []
    held = f"{n_rows} rows hold {n_trials} trials"
    if per_trial == "all":
        return [f"{held}; samples and shuffles take the rows of a trial together"]
    reasons[_other_rows(per_trial, trial, step, losses, keep)] = f"not the {per_trial} row of its trial"
    option = "per_trial='all' (--per-trial all) takes all rows"
    return [f"{held}; the {per_trial} one of each counts, {option}"]


def _other_rows(
    per_trial: str, trial: np.ndarray, step: np.ndarray | None, losses: np.ndarray, keep: np.ndarray
) -> np.ndarray:
    """(n,) rows of ``keep`` (n,) that are not the one of their trial that counts; see `choose_rows`."""
    rows = np.arange(len(trial))
    at = rows if step is None else np.nan_to_num(step, nan=-np.inf)
    failed = np.isnan(losses)
    by_merit = (rows, at, ~failed) if per_trial == "last" else (rows, -np.where(failed, np.inf, losses))
    # Of a trial the last one in this order counts; rows that are not used come first.
    order = np.lexsort((*by_merit, keep, trial))
    last = np.append(trial[order][1:] != trial[order][:-1], True)
    counted = np.zeros(len(trial), bool)
    counted[order[last]] = True
    return keep & ~counted


def read_labels(column: Column) -> np.ndarray:
    """(n,) number of the label of each row; rows without one have numbers of their own."""
    labels = column.as_labels()
    return np.where(labels.missing(), -1 - np.arange(len(labels.rows)), labels.index)


def read_trials(
    table: Table, form: Format, step: str | None, parameters: Mapping[str, str]
) -> np.ndarray | None:
    """(n,) number of each row's trial, by the format's column, or by configuration where rows are steps.

    None where every row is another trial.
    """
    if form.trial in table.names:
        trial = read_labels(table.read(form.trial))
    elif step is not None:
        trial = configurations(table, [column for column in parameters.values() if column != step])
    else:
        return None
    return trial if len(np.unique(trial)) < table.n else None
