"""How runs ended: the words of many tools, translated to Optuna's trial states."""

from collections.abc import Iterable, Sequence

import numpy as np

from parzax.tables.columns import Column, Table

PENDING = ("RUNNING", "WAITING")
# Words in capitals, without the part before a point: COMPLETE for TrialState.COMPLETE.
_WORDS = {
    "COMPLETE": ("COMPLETE", "COMPLETED", "FINISHED", "TERMINATED", "SUCCESS", "SUCCEEDED", "OK", "DONE"),
    "FAIL": ("FAIL", "FAILED", "CRASHED", "CRASH", "KILLED", "PREEMPTED", "ERROR", "TIMEOUT", "MEMOUT",
             "MEMORYOUT", "ABORT", "ABORTED", "ABANDONED", "INVALID", "CANCELED", "CANCELLED"),
    "PRUNED": ("PRUNED", "EARLY_STOPPED", "STOPPED", "CAPPED"),
    "RUNNING": ("RUNNING", "PAUSED"),
    "WAITING": ("WAITING", "PENDING", "SCHEDULED", "CANDIDATE", "STAGED", "QUEUED", "IDLE"),
}  # fmt: skip
_STATES = {word: state for state, words in _WORDS.items() for word in words}


def find_state(table: Table, named: str | None, columns: Iterable[str]) -> str | None:
    """The column that says how runs ended: the column that a format names, else one with only state words.

    The column named by the format must hold at least one state word. Any other column must hold only state
    words, among them the state of a complete run.
    """
    if named in table.names and _to_states(_labels(table, named)):
        return named
    for name in columns:
        labels = _labels(table, name)
        if labels and len(_to_states(labels)) == len(labels) and "COMPLETE" in _to_states(labels):
            return name
    return None


def read_states(column: Column) -> np.ndarray:
    """(n,) state of each row, "MISSING" for an empty cell; words that are no state are kept in capitals."""
    column = column.as_labels()
    names = [_STATES.get(word, word) for word in map(_word, column.labels)]
    return np.array([*names, "MISSING"], dtype=object)[column.index]


def _labels(table: Table, name: str) -> Sequence[object]:
    try:
        column = table.read(name)
    except ValueError:  # dates, say
        return ()
    return () if column.index is None else column.labels


def _to_states(labels: Sequence[object]) -> list[str]:
    return [_STATES[word] for word in map(_word, labels) if word in _STATES]


def _word(label: object) -> str:
    return str(getattr(label, "name", label)).rsplit(".", 1)[-1].strip().upper()
