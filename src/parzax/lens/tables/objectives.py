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
from parzax.lens.tables.roles import full_name, named_columns
from parzax.lens.tables.spelling import as_numbers

_MOST_LISTED = 8


def find_targets(table: Table, form: Format, target: Any) -> tuple[list[str], str, str]:
    """The objective columns, a sentence for the report, and a doubt.

    "value", the default, also stands for all of ``values_*``, or for the only column that can be the
    objective in the format of a tool, which the sentence names; "loss" also stands for "metrics.loss". If
    there are several such columns, or if the table is of no tool, the first one is a guess, and the doubt
    says so. ValueError if there is none.
    """
    columns = table.names
    if target == "value" and full_name(target, columns) not in columns:
        if several := [c for c in columns if c.startswith("values_")]:
            number = {c: int(c[7:]) if c[7:].isdigit() else columns.index(c) for c in several}
            return sorted(several, key=number.__getitem__), "", ""
        results = _find_results(table, form)
        if len(results) == 1 and form.results:
            return results, f"objective: {results[0]}, the only result", ""
        may_be = results or (_last_numbers(table) if form is PLAIN else [])
        if not may_be:
            which = f"name the objective (target=, --target COL), one of {listed(columns)}"
            raise ValueError(f"no column 'value' or 'values_*'; {which}.")
        return may_be[:1], "", f"no objective is named, which may be {listed(may_be, _MOST_LISTED)}"
    names = [target] if isinstance(target, str) else target
    if isinstance(names, Sequence) and all(isinstance(name, str) for name in names):
        target = [full_name(name, columns) for name in names]
    targets = named_columns("target", target, columns)
    if not targets:
        raise TypeError(f"target must be a column name or a list of them, got {target!r}.")
    check_unique(targets)
    return targets, "", ""


def _find_results(table: Table, form: Format) -> list[str]:
    """The columns of numbers that may be the objective: no times, counters, ranks or standard deviations.

    They have the mark of the format, or else the name of a result. Those with such a name come first, and
    results of the training data after others.
    """
    marked = [c for c in table.names if form.parameter_of(c) is None and re.fullmatch(form.results, c)]
    results = marked if form.results else list(filter(sounds_like_result, table.names))
    results = [c for c in results if may_be_objective(c) and _holds_numbers(table, c)]
    return sorted(results, key=lambda c: (not sounds_like_result(c), "train" in split_words(c)))


def _last_numbers(table: Table) -> list[str]:
    """The last column of numbers: many tables have their only result there."""
    return next(([c] for c in reversed(table.names) if may_be_objective(c) and _holds_numbers(table, c)), [])


def _holds_numbers(table: Table, name: str) -> bool:
    with suppress(ValueError):  # dates, say
        column, _ = as_numbers(table.read(name), np.ones(table.n, bool))
        return column.index is None and bool(np.isfinite(column.numbers).any())
    return False


def find_directions(
    targets: Sequence[str], form: Format = PLAIN, table: Table | None = None
) -> tuple[list[str], list[str], str]:
    """The direction of each objective, sentences for the report, and a doubt.

    The tool says the direction, or the end of the name. If the name has a word for a direction elsewhere, as
    accuracy_drop has, "minimize" is a guess, and the doubt says so; without any word it is the default.
    """
    said = {name: _said_direction(table, form, name) for name in targets}
    ways = {name: way or direction_by_name(name) for name, way in said.items()}
    sources = {name: f"as {form.name} says" if said[name] else "by its name" for name in said}
    sure = {name: way for name, way in ways.items() if way not in ("", "unclear")}
    notes = [f"direction: {name!r} is {way[:-2]}sed, {sources[name]}" for name, way in sure.items()]
    unclear = [name for name, way in ways.items() if way == "unclear"]
    doubt = f"nothing says whether {listed(unclear)} should be small or large" if unclear else ""
    if unsaid := [name for name, way in ways.items() if not way]:
        verb = "is" if len(unsaid) == 1 else "are"
        hint = "if more is better, directions='maximize' (--direction maximize)"
        notes.append(f"direction: not given, so {listed(unsaid)} {verb} minimised; {hint}")
    return [sure.get(name, "minimize") for name in targets], notes, doubt


def _said_direction(table: Table | None, form: Format, target: str) -> str:
    """The direction of an objective as stated by the tool; "" if the tool states none."""
    said = next((way for names, way in form.directions.items() if fnmatchcase(target, names)), "")
    if table is not None and said in table.names:
        words = {read_letters(label)[:3] for label in table.read(said).as_labels().labels}
        said = {"MIN": "minimize", "MAX": "maximize"}.get(words.pop(), "") if len(words) == 1 else ""
    return said if said in ("minimize", "maximize") else ""
