"""How a tool writes the log of a search as a table: one `Format` a tool."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True)
class Format:
    """The shape of the tables that a tool writes; a new one is made by arguments, or by a subclass.

    Nested records have "/" between the names of a column: ``config/lr``.

    Attributes:
        name: the tool, for the report.
        needs: patterns of columns that such a table must have, each as `fnmatch` reads it; alternatives have
            "|" between them.
        prefix: how the columns of parameters begin; "" where parameters have no mark.
        others: regular expression of the columns that are no parameters, where parameters have no mark.
        state: the column that says how a run ended.
        trial: the column that says which trial a row is of.
        step: the column that counts the rows of a trial, such as its epochs.
        text: whether the tool writes numbers as text.
        file: name of the files that the tool writes one of for each trial or run, for a folder of them.
        beside: name of a JSON file beside each of them that has the parameters.
    """

    name: str
    needs: tuple[str, ...]
    prefix: str = ""
    others: str = ""
    state: str | None = None
    trial: str | None = None
    step: str | None = None
    text: bool = False
    file: str | None = None
    beside: str | None = None

    def recognises(self, columns: Sequence[str]) -> bool:
        """Whether a table with these columns is of this format."""
        return all(
            any(fnmatchcase(column, pattern) for pattern in alternatives.split("|") for column in columns)
            for alternatives in self.needs
        )

    def parameter_of(self, column: str) -> str | None:
        """The name of the parameter that a column holds by its prefix, or None."""
        marked = self.prefix and column.startswith(self.prefix) and column != self.prefix
        return column[len(self.prefix) :] if marked else None

    def is_other(self, column: str, columns: Sequence[str]) -> bool:
        """Whether the tool itself says that a column is no parameter."""
        return re.fullmatch(self.others, column) is not None

    def records(self, document: Any) -> list[dict[str, Any]] | None:
        """The rows of a JSON document of the tool's own shape; None for any other document."""
        return None
