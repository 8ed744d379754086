"""How runs ended: the words of many tools, translated to Optuna's trial states."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np

from parzax.lens.tables.columns import FAILURES, Column, Table, read_letters, read_word
from parzax.lens.tables.names import sounds_like_state

PENDING = ("RUNNING", "WAITING")
# Words for each state, spelled as `read_letters` returns them.
_WORDS = {
    "COMPLETE": ("COMPLETE", "COMPLETED", "FINISHED", "TERMINATED", "SUCCESS", "SUCCEEDED", "OK", "DONE"),
    "FAIL": FAILURES,
    "PRUNED": ("PRUNED", "EARLYSTOPPED", "STOPPED", "CAPPED"),
    "RUNNING": ("RUNNING", "PAUSED"),
    "WAITING": ("WAITING", "PENDING", "SCHEDULED", "CANDIDATE", "STAGED", "QUEUED", "IDLE"),
}  # fmt: skip
_STATES = {word: state for state, words in _WORDS.items() for word in words}


def find_state(
    table: Table, named: str | None, columns: Iterable[str], numbered: Sequence[str] = ()
) -> str | None:
    """The column that says how runs ended, or None.

    It is the column ``named`` by a format ("" if it has none), else the first of the ``columns`` with the
    name of a state; both must hold a state word, or numbers if these stand for states (``numbered``). Else it
    is the first column that holds only state words, among them one for a complete run.
    """
    if named == "":
        return None
    columns = list(columns)
    if named in table.names and (any(_states(table, named)) or (numbered and not _labels(table, named))):
        return named
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
    """The state of each label, "" for a label that is none."""
    return [_STATES.get(read_letters(label), "") for label in _labels(table, name)]


def _labels(table: Table, name: str) -> Sequence[object]:
    with suppress(ValueError):  # text that is no number, such as dates
        column = table.read(name)
        return () if column.index is None else column.labels
    return ()
