"""Columns of numbers or labels, and tables of columns; each column is read once."""

import decimal
import functools
import numbers
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np

from parzax._words import join_names
from parzax.lens._words import word_set

# Words for a missing value, in small letters.
MISSING = word_set("- -- ? none nan null n/a na <na> #n/a nat np.nan np.float32(nan) np.float64(nan)") | {""}
# Words of runs that failed, letters only, in capitals. In a column of numbers they stand for a missing value.
FAILURES = word_set("""
    FAIL FAILED FAILURE CRASHED CRASH KILLED PREEMPTED PREEMPTING ERROR ERRORED EXCEPTION TIMEOUT TIMEDOUT
    MEMOUT MEMORYOUT OOM OUTOFMEMORY DIVERGED ABORT ABORTED ABANDONED INVALID INFEASIBLE BROKEN INTERRUPTED
    CANCELED CANCELLED USERCANCELED SYSCANCELED NODEFAIL
""")
# Types of labels; other values become text.
_LABELS = (bool, int, float, str)
# A number with Fortran's exponent.
_FORTRAN = re.compile(r"([+-]?\d*\.?\d+)[dD]([+-]?\d+)")
# The error for words in a column of numbers says how to leave out their rows, if there are so few of them.
_FEW_WORDS = 3


@dataclass(frozen=True)
class Column:
    """One column of a table: numbers, or labels of any type."""

    name: str  # as in the table
    rows: np.ndarray  # (n,) row in the table of each entry, for error messages
    numbers: Any = None  # (n,) float64, NaN where missing; None for a column of labels
    # The different labels, in order of appearance; labels of different types differ (1 and 1.0).
    labels: tuple[Any, ...] = ()
    index: Any = None  # (n,) which label each entry is, -1 where missing; None for a column of numbers
    integers: bool = False  # whether the column's type is an integer
    promoted: bool = False  # whether its floats may be integers, converted because of gaps (pandas does that)
    # Whether the column has a categorical type, so that numbers are labels too.
    categories: bool = False
    # Whether --filter (exclude= in Python) can leave out rows.
    filters: bool = True

    @classmethod
    def of_labels(
        cls, name: str, rows: np.ndarray, values: Iterable[Any], categories: bool = False
    ) -> "Column":
        """Make a column of n labels, None where missing; a value such as a tuple becomes its text."""
        seen: dict[tuple[type, Any], int] = {}
        index = np.full(len(rows), -1)
        for i, value in enumerate(values):
            if value is not None:
                label = value if isinstance(value, _LABELS) else str(value)
                index[i] = seen.setdefault((label.__class__, label), len(seen))
        labels = tuple(label for _, label in seen)
        return cls(name, rows, labels=labels, index=index, categories=categories)

    def take(self, keep: np.ndarray) -> "Column":
        """The entries where ``keep`` (n,) is true; labels that no longer occur are dropped."""
        if keep.all():
            return self
        if self.index is None:
            return replace(self, rows=self.rows[keep], numbers=self.numbers[keep])
        kept = self.index[keep]
        used = np.unique(kept[kept >= 0])
        index = np.where(kept >= 0, np.searchsorted(used, kept), -1)
        return replace(self, rows=self.rows[keep], labels=tuple(self.labels[i] for i in used), index=index)

    def missing(self) -> np.ndarray:
        """(n,) mask of the entries without a value."""
        return np.isnan(self.numbers) if self.index is None else self.index < 0

    def as_labels(self) -> "Column":
        """The same column, with numbers turned into labels."""
        if self.numbers is None:
            return self
        present = ~self.missing()
        values, first, inverse = np.unique(self.numbers[present], return_index=True, return_inverse=True)
        order = np.argsort(first)
        index = np.full(len(present), -1)
        index[present] = np.argsort(order)[inverse]
        labels = tuple(map(int if self.integers else float, values[order]))
        return replace(self, numbers=None, labels=labels, index=index)

    def as_numbers(self, keep: np.ndarray | bool = True) -> np.ndarray:
        """(n,) float64 numbers; NaN for missing entries, words such as "n/a", and outside ``keep`` (n,).

        ValueError for other text that is no number.
        """
        if self.index is None:
            return np.where(keep, self.numbers, np.nan)
        index = np.where(keep, self.index, -1)
        numbers = {code: number_of(self.labels[code]) for code in np.unique(index[index >= 0])}
        words = [code for code, x in numbers.items() if x is None and not says_missing(self.labels[code])]
        if words:
            first, where = self.labels[words[0]], self.where(np.argmax(index == words[0]))
            terms = [f'"{self.name}" != "{self.labels[code]}"' for code in words]
            remedy = f"--filter {quote(' and '.join(terms))} (exclude= in Python) leaves such rows out"
            few = self.filters and len(words) <= _FEW_WORDS and '"' not in str(first)
            remedy = remedy if few else "name a column of numbers"
            remedy = "write decimals with a point" if re.fullmatch(r"[\d,]+", str(first)) else remedy
            raise ValueError(f"{where}: {short(first)} is not a number; {remedy}.")
        # the last value, NaN, is for missing entries (index -1)
        values = np.full(len(self.labels) + 1, np.nan)
        for code, number in numbers.items():
            values[code] = np.nan if number is None else number
        return values[index]

    def where(self, i: Any) -> str:
        """Name entry ``i`` for an error message."""
        return f"column {self.name!r}, row {int(self.rows[i])}"


def says_missing(label: Any) -> bool:
    """Whether a label is a word for a missing value, such as "n/a" or, of a run that failed, "diverged"."""
    return isinstance(label, str) and (label.strip().lower() in MISSING or read_letters(label) in FAILURES)


def read_letters(label: Any) -> str:
    """The letters of a label in capitals, without the part before a point: FAIL for TrialState.FAIL."""
    return "".join(filter(str.isalpha, read_word(label)))


def read_word(label: Any) -> str:
    """A label in capitals, without what stands before the last point: FAIL for TrialState.FAIL."""
    return str(getattr(label, "name", label)).rsplit(".", 1)[-1].strip().upper()


def number_of(label: Any) -> float | None:
    """The number that a label is, or spells as text; None for other labels."""
    if isinstance(label, str):
        label = _FORTRAN.sub(r"\1e\2", label.replace("\N{MINUS SIGN}", "-"))
    # float() also reads "1_000", which is more likely a label.
    if isinstance(label, (numbers.Real, decimal.Decimal)) or (isinstance(label, str) and "_" not in label):
        with suppress(ValueError, OverflowError):
            return float(label)
    return None


def _read_codes(read: Callable[[str], Column], n: int, name: str) -> np.ndarray:
    """(n,) number of each row's value, -1 where missing; zeros for dates and the like."""
    with suppress(ValueError):
        return read(name).as_labels().index
    return np.zeros(n, int)


class Table:
    """The columns of a log of ``n`` rows, by name; ``read`` returns a column and is called once for each."""

    def __init__(self, names: Iterable[str], n: int, read: Callable[[str], Column]) -> None:
        self.names = tuple(names)
        self.n = n
        self.read = functools.cache(read)
        self.codes = functools.cache(functools.partial(_read_codes, self.read, n))

    def without(self, *names: str) -> "Table":
        """The table without some columns."""
        return Table((name for name in self.names if name not in names), self.n, self.read)


def listed(names: Sequence[Any], limit: int = 20) -> str:
    """Names or labels for an error message, shortened."""
    return join_names([short(name) for name in names], limit)


def short(value: Any) -> str:
    """The value's repr for an error message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def check_unique(names: Sequence[str]) -> None:
    """Refuse a name that appears twice."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"column {short(twice)} appears more than once.")
