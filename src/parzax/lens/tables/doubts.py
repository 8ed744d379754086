"""Columns that may be no parameters: one error lists them, with a command to copy that has the best guess."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parzax.lens._rows import number_rows
from parzax.lens.tables import evidence
from parzax.lens.tables.columns import Table, listed
from parzax.lens.tables.names import names_repeats, names_steps, names_trials, why_by_name
from parzax.lens.tables.states import holds_states

# The guess names rows of a trial only if different trials are at most this share of the rows.
_MOST_TRIALS = 0.9


class DoubtError(ValueError):
    """It is not certain what the columns of a table are.

    Attributes:
        doubts: a few words on each doubt.
        guess: arguments of `parzax.Observations.from_dataframe` that remove the doubts.
    """

    def __init__(self, doubts: Sequence[str], guess: Mapping[str, Any], call: str) -> None:
        self.doubts, self.guess = tuple(doubts), dict(guess)
        super().__init__(f"{self.reasons} If this guess is right, copy it; else change it: {call}")

    @property
    def reasons(self) -> str:
        """All doubts as one sentence."""
        return f"The table does not say what its columns are: {'; '.join(self.doubts)}."

    def command(self, words: Sequence[str]) -> str:
        """The command with these words, and the options of the guess."""
        options = {"directions": "direction"}
        extra: list[str] = []
        for name, value in self.guess.items():
            values = [value] if isinstance(value, str) else list(value)
            extra += [f"--{options.get(name, name)}", *values]
        return shlex.join(["parzax", *words, *extra])


def python_call(function: str, source: Any, arguments: Mapping[str, Any]) -> str:
    """A call of Python to copy; arguments that are no text or numbers are not shown."""
    first = repr(str(source)) if isinstance(source, str) or hasattr(source, "__fspath__") else "df"
    shown = {name: list(x) if isinstance(x, tuple) else x for name, x in arguments.items()}
    texts = [f"{name}={x!r}" for name, x in shown.items() if isinstance(x, (str, list, bool, int, float))]
    return f"px.Observations.{function}({', '.join([first, *texts])})"


def find_doubts(
    table: Table,
    free: Sequence[str],
    numbers_of: Callable[[str], np.ndarray | None],
    losses: np.ndarray,
    trial: np.ndarray | None,
) -> tuple[dict[str, str], dict[str, str]]:
    """Which columns may be no parameters, and the columns that may name a trial or count its rows.

    Args:
        table: all columns except those to drop.
        free: the columns that would be parameters.
        numbers_of: returns a column as (n,) numbers, or None for labels.
        losses: (n, m) objectives, NaN in rows that are not used.
        trial: (n,) number of each row's trial, if the rows of a trial are known.

    Returns:
        Dictionary column -> what it may be; dictionary "trial" or "step" -> its column.
    """
    numbers = {name: numbers_of(name) for name in free}
    codes = {name: table.codes(name) for name in free}
    doubts = {name: _why(table, name, numbers, losses) for name in free}
    guess = {} if trial is not None else _guess_trials(table, free, numbers, codes)
    repeats = evidence.find_repeats(codes, numbers)
    group, rows = trial, "a trial"
    if group is None and guess.get("trial"):
        group = number_rows([codes[guess["trial"]]], table.n)
    elif group is None and repeats:
        group, rows = (
            number_rows([codes[name] for name in repeats], table.n),
            f"rows of equal {listed(repeats, 3)}",
        )
        steps = (name for name in free if not names_repeats(name))
        step = next((name for name in steps if evidence.counts_within(group, numbers[name])), None)
        guess |= {"step": step} if step is not None and "step" not in guess else {}
    for name in free:
        if group is not None and not doubts[name] and evidence.changes_within(group, codes[name]):
            many = numbers[name] is not None and len(np.unique(codes[name])) > table.n / 2
            counts = evidence.counts_within(group, numbers[name])
            if trial is not None or many or counts:
                doubts[name] = f"it {'counts' if counts else 'changes in'} {rows}"
    copies = evidence.find_copies(
        {name: code for name, code in codes.items() if not doubts[name] and name not in repeats}, numbers
    )
    doubts |= {name: f"it follows from {first!r}" for name, first in copies.items()}
    return {name: why for name, why in doubts.items() if why}, guess


def _why(table: Table, name: str, numbers: Mapping[str, np.ndarray | None], losses: np.ndarray) -> str:
    column = numbers[name]
    if why := why_by_name(name, column):
        return f"{why}, by its name"
    if column is not None:
        others = [x for other, x in numbers.items() if x is not None and other != name]
        by_values = evidence.why_by_values(column, losses, others)
    else:
        by_values = "a state" if holds_states(table, name) else evidence.why_by_labels(table.read(name))
    return f"{by_values}, by its values" if by_values else ""


def _guess_trials(
    table: Table,
    free: Sequence[str],
    numbers: Mapping[str, np.ndarray | None],
    codes: Mapping[str, np.ndarray],
) -> dict[str, str]:
    """The columns whose names say that they name trials or count steps, if their values repeat."""
    repeated = [name for name in free if len(np.unique(codes[name])) <= _MOST_TRIALS * table.n]
    trial = next((name for name in repeated if names_trials(name) and codes[name].max() > 0), None)
    steps = [name for name in repeated if names_steps(name) and codes[name].max() > 0]
    if trial is None:
        others = [name for name in free if names_repeats(name) or not why_by_name(name, numbers[name])]
        group = number_rows([codes[name] for name in others], table.n)
        steps = [name for name in steps if _numbers_rows(group, codes[name])]
    guess = {"trial": trial, "step": steps[0] if steps else None}
    return {what: name for what, name in guess.items() if name is not None}


def _numbers_rows(group: np.ndarray, code: np.ndarray) -> bool:
    """Whether a column (n,) tells apart the rows of groups (n,), some of which have several rows."""
    apart = number_rows([group, code], len(code)).max() + 1
    return bool(group.max() + 1 <= _MOST_TRIALS * len(code) and apart == len(code))
