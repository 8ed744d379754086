"""How runs ended: the words of many tools, translated to Optuna's trial states."""

from collections.abc import Iterable, Sequence

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

    It is the column ``named`` by a format ("" if it has none), else one of the ``columns`` with such a name;
    both must hold a state word, or numbers if these stand for states (``numbered``). Else it is a column of
    state words.
    """
    columns = [] if named == "" else list(columns)
    if named in table.names and (
        _to_states(_labels(table, named)) or (numbered and not _labels(table, named))
    ):
        return named
    of_words = (name for name in columns if sounds_like_state(name) and _to_states(_labels(table, name)))
    return next(of_words, None) or next((name for name in columns if holds_states(table, name)), None)


def holds_states(table: Table, name: str) -> bool:
    """Whether a column holds only state words, among them one for a complete run."""
    labels = _labels(table, name)
    states = _to_states(labels)
    return "COMPLETE" in states and len(states) == len(labels)


def read_states(column: Column, numbered: Sequence[str] = ()) -> np.ndarray:
    """(n,) state of each row, "MISSING" for an empty cell; words that are no state are kept in capitals.

    ``numbered`` are the states that the numbers 0, 1, ... stand for, if any.
    """
    column = column.as_labels()
    words = [numbered[int(x)] if x in range(len(numbered)) else x for x in column.labels]
    names = [_STATES.get(read_letters(word), read_word(word)) for word in words]
    return np.array([*names, "MISSING"], dtype=object)[column.index]


def _labels(table: Table, name: str) -> Sequence[object]:
    try:
        column = table.read(name)
    except ValueError:  # text that is no number, such as dates
        return ()
    return () if column.index is None else column.labels


def _to_states(labels: Sequence[object]) -> list[str]:
    return [_STATES[word] for word in map(read_letters, labels) if word in _STATES]
