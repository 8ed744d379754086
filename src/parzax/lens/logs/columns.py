"""Columns of a log: numbers or labels, numbers that text spells, and words for a missing value."""

import decimal
import math
import numbers
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np

from parzax._words import plural
from parzax.lens._words import listed, short, word_set

# Words for a missing value, in small letters.
MISSING = word_set("- -- ? none nan null n/a na <na> #n/a nat np.nan np.float32(nan) np.float64(nan)") | {""}
# Words of runs that failed, letters only, in capitals. In a column of numbers they stand for a missing value.
FAILURES = word_set("""
    FAIL FAILED FAILURE CRASHED CRASH KILLED PREEMPTED PREEMPTING ERROR ERRORED EXCEPTION TIMEOUT TIMEDOUT
    MEMOUT MEMORYOUT OOM OUTOFMEMORY DIVERGED ABORT ABORTED ABANDONED INVALID INFEASIBLE BROKEN INTERRUPTED
    CANCELED CANCELLED USERCANCELED SYSCANCELED NODEFAIL
""")
# Largest integer from which on float64 does not hold all.
MAX_WHOLE = 2.0**53
# Types of labels; other values become text.
_LABELS = (bool, int, float, str)
# A number as NumPy's repr writes it, and one with Fortran's exponent.
_NUMPY = re.compile(r"\A(?:np|numpy)\.\w+\((.+)\)\Z")
_FORTRAN = re.compile(r"([+-]?\d*\.?\d+)[dD]([+-]?\d+)")
# Numbers are few if there are at most this many different ones, in so many rows each on average.
MOST_LISTED, _ROWS_PER_VALUE = 10, 3
# The word for an empty cell beside numbers.
_NONE = "none"
# The error for words in a column of numbers says how to leave out their rows, if there are so few of them.
_FEW_WORDS = 3


@dataclass(frozen=True)
class Column:
    """One column of a table: numbers, or labels of any type."""

    name: str  # as in the table
    numbers: Any = None  # (n,) float64, NaN where missing; None for a column of labels
    # The different labels, in order of appearance; labels of different types differ (1 and 1.0).
    labels: tuple[Any, ...] = ()
    index: Any = None  # (n,) which label each entry is, -1 where missing; None for a column of numbers
    # Whether the numbers are integers, by their type, or by their values where gaps or text made them floats.
    integers: bool = False
    # Whether the column has a categorical type, so that numbers are labels too.
    categories: bool = False
    rows: Any = None  # (n,) row in the table of each entry, for error messages; None for all rows in order

    @classmethod
    def of_values(cls, name: str, values: Sequence[Any], *, categories: bool = False) -> "Column":
        """A column of numbers if all values are numbers and no ``categories``, else of labels.

        Integers are labels if float64 cannot tell some of them apart. None and NaN are missing; a value such
        as a tuple becomes its text.
        """
        present = [value for value in values if value is not None]
        if not categories and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in present):
            with suppress(OverflowError):  # raised for an integer larger than any float
                numbers = np.array([np.nan if value is None else value for value in values], np.float64)
                if max(map(abs, present), default=0) <= MAX_WHOLE or not _are_merged(present):
                    return cls(name, numbers=numbers, integers=all(isinstance(x, int) for x in present))
        seen: dict[tuple[type, Any], int] = {}
        index = np.full(len(values), -1)
        for i, value in enumerate(values):
            if value is not None and not (isinstance(value, float) and math.isnan(value)):
                label = value if isinstance(value, _LABELS) else str(value)
                index[i] = seen.setdefault((label.__class__, label), len(seen))
        labels = tuple(label for _, label in seen)
        return cls(name, labels=labels, index=index, categories=categories)

    def values(self) -> list[Any]:
        """The entries as Python values, None where missing."""
        if self.index is not None:
            return [None if i < 0 else self.labels[i] for i in self.index.tolist()]
        kind = int if self.integers else float
        return [None if x != x else kind(x) for x in self.numbers.tolist()]

    def take(self, keep: np.ndarray) -> "Column":
        """The entries where ``keep`` (n,) is true; labels that no longer occur are dropped."""
        if keep.all():
            return self
        rows = np.flatnonzero(keep) if self.rows is None else self.rows[keep]
        if self.index is None:
            return replace(self, rows=rows, numbers=self.numbers[keep])
        kept = self.index[keep]
        used = np.unique(kept[kept >= 0])
        index = np.where(kept >= 0, np.searchsorted(used, kept), -1)
        return replace(self, rows=rows, labels=tuple(self.labels[i] for i in used), index=index)

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
            few = len(words) <= _FEW_WORDS and '"' not in str(first)
            remedy = remedy if few else "name a column of numbers"
            remedy = "write decimals with a point" if re.fullmatch(r"[\d,]+", str(first)) else remedy
            raise ValueError(f"{where}: {short(first)} is not a number; {remedy}.")
        # the last value, NaN, is for missing entries (index -1)
        values = np.full(len(self.labels) + 1, np.nan)
        for code, number in numbers.items():
            values[code] = np.nan if number is None else number
        return values[index]

    def row(self, i: Any) -> int:
        """Row in the table of entry ``i``."""
        return int(i if self.rows is None else self.rows[i])

    def where(self, i: Any) -> str:
        """Name entry ``i`` for an error message."""
        return f"column {self.name!r}, row {self.row(i)}"


def _are_merged(values: Iterable[Any]) -> bool:
    """Whether different numbers are equal as float64."""
    different = {*values}
    return len({*map(float, different)}) < len(different)


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
        label = _NUMPY.sub(r"\1", label.strip()).replace("\N{MINUS SIGN}", "-")
        label = _FORTRAN.sub(r"\1e\2", label)
    # float() also reads "1_000", which is more likely a label.
    if isinstance(label, (numbers.Real, decimal.Decimal)) or (isinstance(label, str) and "_" not in label):
        with suppress(ValueError, OverflowError):
            return float(label)
    return None


def few_values(values: np.ndarray) -> np.ndarray:
    """The different values in ascending order; none if there are many."""
    part = values[: MOST_LISTED * MOST_LISTED]
    if len(np.unique(part)) > MOST_LISTED:
        return np.zeros(0)
    different = np.unique(values)
    few = len(different) <= min(MOST_LISTED, len(values) // _ROWS_PER_VALUE)
    return different if few else np.zeros(0)


def words_beside(column: Column, text: Column) -> tuple[np.ndarray, list[str]]:
    """(n,) index of the word in each row without a number, -1 in other rows; and the words.

    ``text`` is the column before its numbers were read. The word for a missing value is "none".
    """
    missing = np.isnan(column.numbers)
    index = np.full(len(missing), -1) if text.index is None else text.index
    codes, place = np.unique(index[missing], return_inverse=True)
    labels = [None if code < 0 else text.labels[code] for code in codes.tolist()]
    named = [_NONE if label is None or says_missing(label) else str(label).strip() for label in labels]
    words, number = [*dict.fromkeys(named)], np.full(len(missing), -1)
    number[missing] = np.array([words.index(word) for word in named], int)[place]
    return number, words


# --- numbers in text -----------------------------------------------------------------------------

# Words are special values beside numbers, not mistakes, if so large a share of the rows has each.
OFTEN = 0.05
# Largest share of rows with words, not counting those for a missing value; and the most different words that
# more rows may have beside many numbers.
_MOST_WORDS, _MOST_SPECIAL = 0.2, 3
# Words for a default. Any number of rows may have them, as with words for a missing value.
_DEFAULTS = ("auto", "default")
_INTEGER = re.compile(r"[+-]?\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|[+-]?[1-9]\d{0,2}(?:_\d{3})+")
COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?|[+-]?\d{1,3}(?:\.\d{3})+,\d+")
# Numbers whose comma can only be a decimal comma: it stands first or after a single 0, before a 0 with at
# most one more digit, before four or more digits, or after groups of three digits with points.
SURELY_COMMA = re.compile(r"[+-]?0?,\d+.*|[+-]?\d+,(?:0\d?|\d{4,})(?:[eE].*)?|[+-]?\d{1,3}(?:\.\d{3})+,\d+")
# Texts that may be no plain numbers: codes such as 007; groups of three digits, such as 1.024; versions.
_CODE, _GROUPED, _VERSION = map(re.compile, (r"[+-]?0\d+", r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", r"\d+\.\d+"))

Spelling = Callable[[str], str | None]


def _write_comma(text: str) -> str | None:
    if COMMA.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    return text if _INTEGER.fullmatch(text) else None


_WITH_THOUSANDS = "numbers with signs between thousands"
_WITH_COMMA = "numbers with decimal commas"
# How numbers may be written -> a function that writes them plainly. The first one that fits all is used.
_SPELLINGS: dict[str, Spelling] = {
    "": str,
    _WITH_THOUSANDS: lambda text: re.sub("[,_]", "", text) if _THOUSANDS.fullmatch(text) else text,
    _WITH_COMMA: _write_comma,
}


def parse_numbers(column: Column, used: np.ndarray) -> tuple[Column, str]:
    """The column as numbers, with words read as missing, and a sentence on how the numbers are written.

    A column without numbers in the rows ``used`` (n,) is returned unchanged, with "". All texts with a digit
    must be numbers in the same unambiguous spelling: 1.1 and 1.10 may be versions, and 01 is no number. Words
    such as "None" may be frequent, and three other words beside many numbers; more words must be rare.
    Frequent words beside few numbers are choices, as these are.
    """
    if column.index is None or column.categories:
        return column, ""
    texts = [x if isinstance(x, str) else repr(x) for x in column.labels]
    if len({*texts}) < len(texts) or any(isinstance(x, bool) for x in column.labels):
        return column, ""
    counts = np.bincount(column.index[used & (column.index >= 0)], minlength=len(texts))
    rows = {text: int(count) for text, count in zip(texts, counts, strict=True) if count}
    infinite = {text: x for text in texts if (x := number_of(text)) in (-np.inf, np.inf)}
    words = [t for t in rows if t not in infinite and (says_missing(t) or not re.search(r"\d", t))]
    spelled = rows.keys() - infinite.keys() - {*words}
    rare = [word for word in words if not says_missing(word) and word.strip().lower() not in _DEFAULTS]
    how = _find_spelling(spelled)
    n_rows, n_rare = sum(rows.values()), sum(rows[word] for word in rare)
    mostly_words = len(rare) > _MOST_SPECIAL or len(spelled) <= MOST_LISTED
    if how is None or (n_rare > _MOST_WORDS * n_rows and mostly_words):
        return column, ""
    # In rows that are not used, any spelling of a number is accepted.
    number_by_text = _spell(set(texts) - set(words), _SPELLINGS[how]) | infinite
    values = np.array([*(number_by_text.get(text, np.nan) for text in texts), np.nan])[column.index]
    if any(not says_missing(word) and rows[word] >= OFTEN * n_rows for word in words):
        present = values[used & np.isfinite(values)]
        if len(few_values(present)):
            return column, ""
    sentences = [how] * bool(how)
    if words:
        n = plural(sum(rows[word] for word in words), "row")
        sentences.append(f"no number in {n} ({listed(words, 4)})")
    integers = all(_INTEGER.fullmatch(text.strip()) for text in spelled)
    return replace(column, numbers=values, labels=(), index=None, integers=integers), "; ".join(sentences)


def _spell(texts: Iterable[str], write: Spelling) -> dict[str, float]:
    """Text -> number, for the texts that the spelling fits."""
    plain = {text: plainly for text in texts if (plainly := write(text.strip())) is not None}
    return {text: number for text, plainly in plain.items() if (number := number_of(plainly)) is not None}


def _find_spelling(texts: Collection[str]) -> str | None:
    """The spelling in which all texts are numbers; None if there is none, or if they may be names."""
    bare = [text.strip() for text in texts]
    fitting = (how for how, write in _SPELLINGS.items() if len(_spell(texts, write)) == len(texts) > 0)
    how = next(fitting, None)
    unclear = _may_be_names(bare) if how == "" else not any(map(SURELY_COMMA.fullmatch, bare))
    return None if unclear and how != _WITH_THOUSANDS else how


def _may_be_names(texts: Sequence[str]) -> bool:
    """Whether plain numbers may be codes, numbers with points between thousands, or versions."""
    pointed = [text for text in texts if "." in text]
    long = any("." not in text and len(text.strip("+-0 ")) >= 3 for text in texts)
    grouped = long and len(pointed) > 0 and all(map(_GROUPED.fullmatch, pointed))
    versions = all(map(_VERSION.fullmatch, pointed)) and len({*map(number_of, pointed)}) < len({*pointed})
    merged = _are_merged(int(text) for text in texts if _INTEGER.fullmatch(text))
    return grouped or versions or merged or any(map(_CODE.fullmatch, texts))
