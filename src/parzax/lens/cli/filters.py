"""Row filters as written on the command line: comparisons joined by "and", parsed and never evaluated."""

import operator
import re
from typing import NamedTuple

import numpy as np

from parzax.lens.logs.columns import Column, number_of
from parzax.lens.tables.formats import bare_name
from parzax.lens.tables.names import suggest
from parzax.lens.tables.table import Table

_EQUAL = {"==": operator.eq, "!=": operator.ne}
_OPERATORS = {**_EQUAL, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
# A column or value: in double quotes, in single quotes, or a single word.
_WORD = r"""(?:"([^"]*)"|'([^']*)'|([^\s'"=!<>()]+))"""
_TERM = re.compile(rf"\s*{_WORD}\s*(==|!=|<=|>=|<|>)\s*{_WORD}(?:\s+(and)\s|\s*$)")
_HELP = """write comparisons such as "state == COMPLETE and lr < 0.1" (== != < <= > >=, joined by and)"""


class FilterTerm(NamedTuple):
    """A comparison ``column op value``; ``number`` is the value as a number, None for text."""

    column: str
    op: str
    text: str
    number: float | None

    def mask(self, column: Column) -> np.ndarray:
        """(n,) rows in which it holds, never rows without a value; ValueError for text with < or >."""
        if column.index is not None and self.op in _EQUAL:
            outcomes = [self._matches(label) == (self.op == "==") for label in column.labels]
            # the last outcome is for missing entries (index -1)
            return np.array([*outcomes, False])[column.index]
        if self.number is None:
            hint = "" if column.numbers is None else "; the column holds numbers"
            raise ValueError(f"--filter: {self.column!r} {self.op} needs a number, got {self.text!r}{hint}.")
        return _OPERATORS[self.op](column.as_numbers(), self.number) & ~column.missing()

    def _matches(self, label: object) -> bool:
        if isinstance(label, bool):
            return str(label).lower() == self.text.lower()
        if isinstance(label, (int, float)) and self.number is not None:
            return label == self.number
        return str(label) == self.text


def parse_filter(text: str) -> list[FilterTerm]:
    """Parse a filter into terms that must all hold. Names with spaces are quoted; quoted values are text.

    >>> [(term.column, term.op, term.number) for term in parse_filter("lr < 0.1 and state == 'COMPLETE'")]
    [('lr', '<', 0.1), ('state', '==', None)]
    """
    terms, position, joined = [], 0, True
    while joined:
        match = _TERM.match(text, position)
        if match is None:
            raise ValueError(f"--filter: cannot read {text[position:].strip()[:60]!r}; {_HELP}.")
        *column, op, double, single, word, joined = match.groups()
        name = next(part for part in column if part is not None)
        value = next(part for part in (double, single, word) if part is not None)
        number = number_of(word)
        finite = number is not None and np.isfinite(number)
        terms.append(FilterTerm(name, op, value, number if finite else None))
        position = match.end()
    return terms


def filter_mask(text: str, table: Table) -> np.ndarray:
    """(n,) rows of a log that pass the filter ``text``; "params_x" and "x" both name the parameter x."""
    keep = np.ones(table.n, dtype=bool)
    for term in parse_filter(text):
        names = [name for name in table.columns if bare_name(name) == bare_name(term.column)]
        names = [term.column] if term.column in table.columns else names
        if len(names) != 1:
            hint = suggest([term.column], table.columns, "there are")
            raise ValueError(f"--filter: no column {term.column!r}; {hint}")
        keep &= term.mask(table.columns[names[0]])
    return keep
