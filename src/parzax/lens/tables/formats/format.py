"""How a tool writes the log of a search as a table: one `Format` per tool."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Format:
    """The shape of the tables that a tool writes.

    Nested records have "/" between the names of a column: ``config/lr``.

    Attributes:
        name: the tool, for the report.
        needs: patterns of columns that a table of the tool must have, a different column for each, for
            `fnmatch`; "|" separates alternatives.
        prefix: how the columns of parameters begin; "" if parameters have no mark.
        others: the columns that are not parameters. Either a regular expression, which also excludes columns
            with the prefix, or a function that returns these columns, given all columns.
        results: a regular expression of the columns that may be the objective; "" if results have no mark.
        results_last: whether all parameters come before the objective; for formats without a mark.
        state: the column that says how a run ended; "" if no column does.
        states: the states that the numbers 0, 1, ... in this column stand for, if the tool writes numbers.
        trial: the column that says to which trial a row belongs.
        parent: the column with the trial that started a row's trial, as a search starts its runs.
        step: the column that counts the rows of a trial, such as its epochs.
        empty_is_inactive: whether an empty cell always means that a parameter is inactive, and numbers have
            no special values; for tools that declare the space of a search.
        directions: dictionary: pattern of objectives, for `fnmatch` -> their direction in this tool, or the
            name of the column that holds it in words such as "max".
        file: name of the file that the tool writes for each trial or run, for a folder of them.
        beside: name of a JSON file, in the same folder, with the parameters.
        records: a function that returns the rows of a JSON document of this tool, and None for any other
            document.
    """

    name: str
    needs: tuple[str, ...]
    prefix: str = ""
    others: str | Callable[[Sequence[str]], Collection[str]] = ""
    results: str = ""
    results_last: bool = False
    state: str | None = None
    states: tuple[str, ...] = ()
    trial: str | None = None
    parent: str | None = None
    step: str | None = None
    empty_is_inactive: bool = False
    directions: Mapping[str, str] = field(default_factory=dict)
    file: str | None = None
    beside: str | None = None
    records: Callable[[Any], Records | None] | None = None

    def recognises(self, columns: Sequence[str]) -> bool:
        """Whether a table with these columns is of this format."""
        others = list(columns)
        for alternatives in self.needs:
            patterns = alternatives.split("|")
            column = next((c for c in others if any(fnmatchcase(c, pattern) for pattern in patterns)), None)
            if column is None:
                return False
            others.remove(column)
        return True

    def parameter_of(self, column: str) -> str | None:
        """The name of the parameter that a column holds by its prefix, or None."""
        marked = self.prefix and column.startswith(self.prefix) and column != self.prefix
        return column[len(self.prefix) :] if marked and column not in self.find_others([column]) else None

    def find_others(self, columns: Sequence[str]) -> set[str]:
        """The columns that are not parameters according to the tool."""
        if callable(self.others):
            return set(self.others(columns))
        return {column for column in columns if re.fullmatch(self.others, column)}
