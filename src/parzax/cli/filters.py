"""Row filters as written on the command line: comparisons joined by "and", parsed and never evaluated."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parzax.observations.columns import Column

_OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TERM = re.compile(
    r"""\s*(?:"([^"]+)"|'([^']+)'|([^\s'"=!<>()]+))"""
    r"""\s*(==|!=|<=|>=|<|>)"""
    r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s'"=!<>()]+))(?:\s+and\s|\s*$)"""
)
_HELP = """write comparisons such as "state == COMPLETE and lr < 0.1" (== != < <= > >=, joined by and)"""


@dataclass(frozen=True)
class Comparison:
    """``column op value``; ``number`` is the value as a number, None for words and quoted text."""

    column: str
    op: str
    text: str
    number: float | None

    def mask(self, column: Column) -> np.ndarray:
        """(n,) the rows where it holds; never those without a value.

        Raises:
            ValueError: for an order of text, or a word compared with numbers.
        """
        compare, missing = _OPERATORS[self.op], column.missing()
        if column.numbers is None and self.op in ("==", "!="):
            assert column.labels is not None
            equal = np.fromiter((self._is(x) for x in column.labels), bool, len(column.labels))
            return (equal == (self.op == "==")) & ~missing
        if self.number is None:
            raise ValueError(
                f"--filter: {self.column!r} {self.op} needs a number, got {self.text!r}"
                + ("." if column.numbers is None else "; the column holds numbers.")
            )
        return compare(column.as_numbers(), self.number) & ~missing

    def _is(self, label: object) -> bool:
        if isinstance(label, bool):
            return str(label).lower() == self.text.lower()
        if isinstance(label, (int, float)) and self.number is not None:
            return label == self.number
        return str(label) == self.text


def parse_filter(text: str) -> list[Comparison]:
    """Comparisons that must all hold. Columns and values with spaces are quoted; quoted values are text.

    Raises:
        ValueError: for anything else; nothing is evaluated.

    >>> [(c.column, c.op, c.number) for c in parse_filter("lr < 0.1 and state == 'COMPLETE'")]
    [('lr', '<', 0.1), ('state', '==', None)]
    """
    out, position, joined = [], 0, True
    while joined:
        found = _TERM.match(text, position)
        if found is None:
            raise ValueError(f"--filter: cannot read {text[position:].strip()[:60]!r}; {_HELP}.")
        double, single, word, op, text_double, text_single, value = found.groups()
        quoted = text_double if text_double is not None else text_single
        out.append(
            Comparison(
                column=double or single or word,
                op=op,
                text=value if quoted is None else quoted,
                number=None if quoted is not None else _number(value),
            )
        )
        position, joined = found.end(), found.group(0).endswith(("and ", "and\t", "and\n"))
        joined = joined or position < len(text)
    return out


def filter_mask(text: str, find: Callable[[str], Column | None], known: str, n: int) -> np.ndarray:
    """(n,) rows of a log that pass the filter ``text``; ``find`` gives a column by its name.

    Raises:
        ValueError: for an unknown column, listing the ``known`` ones.
    """
    keep = np.ones(n, dtype=bool)
    for comparison in parse_filter(text):
        column = find(comparison.column)
        if column is None:
            raise ValueError(f"--filter: no column {comparison.column!r}; there are {known}.")
        keep &= comparison.mask(column)
    return keep


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) and "_" not in text else None
