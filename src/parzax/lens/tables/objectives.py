"""The objectives of a table: which columns they are, and in which direction they are taken."""

import re
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from parzax.lens.tables.columns import Table, check_unique, listed, read_letters
from parzax.lens.tables.formats import PLAIN, Format
from parzax.lens.tables.names import direction_by_name, may_be_objective, sounds_like_result, split_words
from parzax.lens.tables.repeats import tells_repeats_apart
from parzax.lens.tables.roles import full_name, named_columns
from parzax.lens.tables.spelling import as_numbers

_MOST_LISTED = 8


class NoObjectiveError(ValueError):
    """No column is sure to be the objective; ``results`` are the columns that may be it."""

    def __init__(self, results: Sequence[str], columns: Sequence[str]) -> None:
        self.results = results
        which = f"which may be {listed(results, _MOST_LISTED)}" if results else f"one of {listed(columns)}"
        super().__init__(
            f"no column 'value' or 'values_*'; name the objective (target=, --target COL), {which}."
        )


def find_targets(table: Table, form: Format, target: Any) -> tuple[list[str], str]:
    """The objective columns, and a sentence for the report if the table alone says which one it is.

    "value", the default, also stands for all of ``values_*``, or for the only column that can be the
    objective in the format of a tool; "loss" also stands for "metrics.loss". `NoObjectiveError` if there are
    several such columns, or if the table is of no tool.
    """
    columns = table.names
    if target == "value" and full_name(target, columns) not in columns:
        if several := [c for c in columns if c.startswith("values_")]:
            number = {c: int(c[7:]) if c[7:].isdigit() else columns.index(c) for c in several}
            return sorted(several, key=number.__getitem__), ""
        results = find_results(table, form)
        if len(results) != 1 or form is PLAIN:
            raise NoObjectiveError(results, columns)
        return results, f"objective: {results[0]}, the only result"
    names = [target] if isinstance(target, str) else target
    if isinstance(names, Sequence) and all(isinstance(name, str) for name in names):
        target = [full_name(name, columns) for name in names]
    targets = named_columns("target", target, columns)
    if not targets:
        raise TypeError(f"target must be a column name or a list of them, got {target!r}.")
    check_unique(targets)
    return targets, ""


def find_results(table: Table, form: Format) -> list[str]:
    """The columns of numbers that may be the objective: no times, counters, ranks or standard deviations.

    They have the mark of the format, or else the name of a result. Those with such a name come first, and
    results of the training data after others.
    """
    marked = [c for c in table.names if form.parameter_of(c) is None and re.fullmatch(form.results, c)]
    results = marked if form.results else list(filter(sounds_like_result, table.names))
    results = [c for c in results if may_be_objective(c) and not tells_repeats_apart(c)]
    results = [c for c in results if _holds_numbers(table, c)]
    return sorted(results, key=lambda c: (not sounds_like_result(c), "train" in split_words(c)))


def _holds_numbers(table: Table, name: str) -> bool:
    with suppress(ValueError):  # dates, say
        column, _ = as_numbers(table.read(name), np.ones(table.n, bool), 1)
        return column.index is None and bool(np.isfinite(column.numbers).any())
    return False


def find_directions(
    targets: Sequence[str], form: Format = PLAIN, table: Table | None = None
) -> tuple[list[str], list[str]]:
    """The direction of each objective, and sentences for the report.

    It is the one that the tool says, or else the name; "minimize" if neither does.
    """
    said = {name: _said_direction(table, form, name) for name in targets}
    ways = {name: way or direction_by_name(name) for name, way in said.items()}
    sources = {name: f"as {form.name} says" if said[name] else "by its name" for name in said}
    notes = [f"direction: {name!r} is {way[:-2]}sed, {sources[name]}" for name, way in ways.items() if way]
    if unsaid := [name for name, way in ways.items() if not way]:
        verb = "is" if len(unsaid) == 1 else "are"
        hint = "if more is better, direction='maximize' (--direction maximize)"
        notes.append(f"direction: not given, so {listed(unsaid)} {verb} minimised; {hint}")
    return [way or "minimize" for way in ways.values()], notes


def _said_direction(table: Table | None, form: Format, target: str) -> str:
    """The direction of an objective as stated by the tool; "" if the tool states none."""
    said = next((way for names, way in form.directions.items() if fnmatchcase(target, names)), "")
    if table is not None and said in table.names:
        words = {read_letters(label)[:3] for label in table.read(said).as_labels().labels}
        said = {"MIN": "minimize", "MAX": "maximize"}.get(words.pop(), "") if len(words) == 1 else ""
    return said if said in ("minimize", "maximize") else ""
