"""Rows and trials: how runs ended, which rows are of one trial, and which of them count."""

from collections.abc import Iterable, Sequence
from shlex import quote

import numpy as np

from parzax._words import plural
from parzax.lens._rows import number_rows
from parzax.lens._words import short
from parzax.lens.logs.columns import FAILURES, Column, read_letters, read_word
from parzax.lens.tables.doubts import sounds_like_state
from parzax.lens.tables.formats import Format
from parzax.lens.tables.table import Table

# --- states --------------------------------------------------------------------------------------

PENDING = ("RUNNING", "WAITING")
# Words for each of Optuna's states, spelled as `read_letters` returns them.
_WORDS = {
    "COMPLETE": ("COMPLETE", "COMPLETED", "FINISHED", "TERMINATED", "SUCCESS", "SUCCEEDED", "OK", "DONE"),
    "FAIL": FAILURES,
    "PRUNED": ("PRUNED", "EARLYSTOPPED", "STOPPED", "CAPPED"),
    "RUNNING": ("RUNNING", "PAUSED"),
    "WAITING": ("WAITING", "PENDING", "SCHEDULED", "CANDIDATE", "STAGED", "QUEUED", "IDLE"),
}  # fmt: skip
_STATES = {word: state for state, words in _WORDS.items() for word in words}


def find_state(table: Table, form: Format, columns: Iterable[str]) -> str | None:
    """The column that says how runs ended, or None.

    It is the format's column, else the first of the ``columns`` with the name of a state; both must hold a
    state word, or numbers if these stand for states. Else it is the first column of state words.
    """
    if form.state == "":
        return None
    if form.state in table.columns and (form.states or any(_states(table, form.state))):
        return form.state
    columns = list(columns)
    by_name = (name for name in columns if sounds_like_state(name) and any(_states(table, name)))
    return next(by_name, None) or next((name for name in columns if holds_states(table, name)), None)


def holds_states(table: Table, name: str) -> bool:
    """Whether a column holds only state words, among them one for a complete run."""
    states = _states(table, name)
    return "COMPLETE" in states and "" not in states


def read_states(column: Column, numbered: Sequence[str] = ()) -> np.ndarray:
    """(n,) state of each row, "MISSING" for an empty cell; words that are no state are kept in capitals.

    ``numbered`` are the states that the numbers 0, 1, ... stand for, if any.
    """
    column = column.as_labels()
    words = [numbered[int(x)] if x in range(len(numbered)) else x for x in column.labels]
    names = [_STATES.get(read_letters(word), read_word(word)) for word in words]
    return np.array([*names, "MISSING"], dtype=object)[column.index]


def _states(table: Table, name: str) -> list[str]:
    """The state of each label of a column, "" for a label that is none."""
    return [_STATES.get(read_letters(label), "") for label in table.columns[name].labels]


# --- rows of a trial -----------------------------------------------------------------------------

CHOICES = ("last", "best", "all")


def number_trials(
    table: Table, form: Format, parameters: Sequence[str], log_number: np.ndarray
) -> np.ndarray | None:
    """(n,) number of each row's trial; None if every row is a trial.

    Rows of one log (``log_number``, (n,)) are of one trial if they have the same label in the format's column
    of trials, or, if the format has a column of steps only, the same values of all ``parameters``.
    """
    if form.trial in table.columns:
        keys = [read_labels(table.columns[form.trial])]
    elif form.step in table.columns:
        keys = [table.columns[name].as_labels().index for name in parameters if name != form.step]
    else:
        return None
    number = number_rows([log_number, *keys], table.n)
    return number if number.max() + 1 < table.n else None


def read_labels(column: Column) -> np.ndarray:
    """(n,) number of the label of each row; each row without a label gets a separate number."""
    labels = column.as_labels()
    return np.where(labels.missing(), -1 - np.arange(len(labels.index)), labels.index)


def choose_rows(
    per_trial: str, trial: np.ndarray, step: np.ndarray | None, losses: np.ndarray, reasons: np.ndarray
) -> list[str]:
    """Write into ``reasons`` why rows of a trial do not count; return sentences for the report.

    Args:
        per_trial: which row of a trial counts: "last", the row with the largest step; "best", the row with
            the smallest loss; or "all". A trial whose last row has no loss failed, unless the loss was not
            measured in each row: some rows without one stand before others of their trial, or most trials
            end without one. Then the last row with a loss counts.
        trial: (n,) number of each row's trial.
        step: (n,) step of each row; None for the order of the rows.
        losses: (n,) the first objective, NaN where missing.
        reasons: (n,) reason to leave out each row, "" for rows that count; changed in place.
    """
    keep, lacking = reasons == "", np.isnan(losses)
    n_rows, n_trials = int(keep.sum()), len(np.unique(trial[keep]))
    held = f"{n_rows} rows hold {plural(n_trials, 'trial')}"
    if n_rows == n_trials:
        return []
    if per_trial == "all":
        return [f"{held}; samples and shuffles take the rows of a trial together"]
    at = np.arange(len(trial)) if step is None else np.nan_to_num(step, nan=-np.inf)
    failed, row = 0, f"{per_trial} row"
    if per_trial == "best":
        counted = _find_last(trial, -np.where(lacking, np.inf, losses), keep)
    else:
        counted = _find_last(trial, at, keep | (reasons == "state FAIL"))
        measured = _find_last(trial, at, ~lacking, keep)
        before = keep & lacking & (at < at[measured][trial]) & ~lacking[measured][trial]
        failed = int((counted != measured).sum())
        if before.any() or failed > len(counted) / 2:
            counted, failed, row = measured, 0, "last row with a value"
    keep[counted] = False
    reasons[keep] = f"not the {per_trial} row of its trial"
    notes = [f"{held}; the {row} of each counts, per_trial='all' (--per-trial all) takes all rows"]
    return notes + [f"{plural(failed, 'trial')} failed: the last row has no value"] * (failed > 0)


def _find_last(trial: np.ndarray, *keys: np.ndarray) -> np.ndarray:
    """The last row of each trial in the order of the ``keys`` (n,); the last key counts most."""
    order = np.lexsort((*keys, trial))
    return order[np.append(np.diff(trial[order]) > 0, True)]


def compare_steps(name: str, step: np.ndarray, allowed: np.ndarray, keep: np.ndarray) -> str:
    """A warning if the rows that count have different steps, so that losses may not compare; else "".

    Args:
        name: the column of steps, such as budgets.
        step: (n,) step of each row, NaN where missing.
        allowed: (n,) rows of which one of each trial counts.
        keep: (n,) rows that count.
    """
    ends = np.unique(step[keep & np.isfinite(step)])
    if len(ends) < 2:
        return ""
    values, counts = np.unique(step[allowed & np.isfinite(step)], return_counts=True)
    # The most frequent step; the largest one if several are equally frequent.
    common, n_rows = values[counts == counts.max()][-1], counts.max()
    remedy = "--filter " + quote(f'"{name}" == {common:g}')
    return (
        f"losses may not compare: {short(name)} of the rows that count goes from {ends[0]:g} to "
        f"{ends[-1]:g}; {remedy} leaves {plural(n_rows, 'row')}, all with the same value"
    )


def find_parents(table: Table, form: Format, children: np.ndarray) -> np.ndarray:
    """(n,) rows of trials that started the trial of one of the rows ``children`` (n,)."""
    if form.trial not in table.columns or form.parent not in table.columns:
        return np.zeros(table.n, bool)
    parents = set(table.columns[form.parent].take(children).as_labels().labels)
    trial = table.columns[form.trial].as_labels()
    return np.array([*(label in parents for label in trial.labels), False])[trial.index]
