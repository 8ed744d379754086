"""Numbers in columns of text: with units, per cent signs, commas, or as NumPy writes them."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from parzax._words import plural
from parzax.lens.tables.columns import Column, listed, number_of, says_missing

# A column with fewer different numbers than this may hold names, so it stays a column of labels.
LEAST_NUMBERS = 10
# The same limit for a column that also holds words. If it is reached, words are read as missing values.
_LEAST_BESIDE_WORDS = 3
# Largest share of rows with words, not counting the words for a missing value.
_MOST_WORDS = 0.2
# Words for a default. Any number of rows may have them, as with words for a missing value.
_DEFAULTS = ("auto", "default")
_REPR = re.compile(r"\A(?:np|numpy)\.\w+\((.+)\)\Z")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?|[+-]?\d{1,3}(?:\.\d{3})+,\d+")
# Numbers whose comma can only be a decimal comma: it stands first or after a single 0, before a 0 with at
# most one more digit, before four or more digits, or after groups of three digits with points.
SURELY_COMMA = re.compile(r"[+-]?0?,\d+.*|[+-]?\d+,(?:0\d?|\d{4,})(?:[eE].*)?|[+-]?\d{1,3}(?:\.\d{3})+,\d+")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_UNIT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) ?(%|[^\W\d_]+)")

Spelling = Callable[[Iterable[str]], dict[str, float]]


def as_numbers(column: Column, used: np.ndarray, least: int) -> tuple[Column, str]:
    """The column as numbers, with words read as missing, and a sentence on how the numbers are written.

    A column without numbers in the rows ``used`` (n,) is returned unchanged, with "". All texts with a digit
    must be numbers in the same unambiguous spelling. Words such as "None" may be frequent, other words must
    be rare. A column with fewer than ``least`` different numbers and no words keeps its labels.
    """
    if column.index is None or column.categories:
        return column, ""
    if not all(isinstance(x, str) for x in column.labels):
        return _numbers_or_missing(column)
    counts = np.bincount(column.index[used & (column.index >= 0)], minlength=len(column.labels))
    rows = {label: int(count) for label, count in zip(column.labels, counts, strict=True) if count}
    infinite = {label: x for label in column.labels if (x := number_of(label)) in (-np.inf, np.inf)}
    others = [label for label in rows if label not in infinite]
    words = [label for label in others if says_missing(label) or not re.search(r"\d", label)]
    spelled = {*others} - {*words}
    fitting = [read for read in _HOW if read(spelled).keys() == spelled]
    rare = [word for word in words if not says_missing(word) and word.strip().lower() not in _DEFAULTS]
    n_words = sum(rows[word] for word in rare)
    mostly_words = n_words > _MOST_WORDS * sum(rows.values())
    if not spelled or not fitting or mostly_words or _several_meanings(spelled, fitting):
        return column, ""
    numbers = fitting[0](spelled)
    sure = fitting[0] is _repr or bool(words)
    if len(set(numbers.values())) < (min(least, _LEAST_BESIDE_WORDS) if sure else least):
        return column, ""
    # In rows that are not used, any spelling of a number is accepted.
    number_by_label = numbers | infinite | fitting[0](set(column.labels) - numbers.keys() - set(words))
    of_labels = [number_by_label.get(label, np.nan) for label in column.labels]
    values = np.array([*of_labels, np.nan])[column.index]
    integers = all(re.fullmatch(r"[+-]?\d+", label.strip()) for label in numbers)
    how = [] if fitting[0] is _plain and words else [f"numbers{_HOW[fitting[0]]}"]
    if words:
        n = plural(sum(rows[word] for word in words), "row")
        how.append(f"no number in {n} ({listed(words, 4)}), so it is empty there")
    numeric = replace(column, numbers=values, labels=(), index=None, integers=False, promoted=integers)
    return numeric, "; ".join(how)


def _numbers_or_missing(column: Column) -> tuple[Column, str]:
    """Turn a column of numbers and words such as "n/a" into numbers; return any other column unchanged."""
    words = [label for label in column.labels if says_missing(label)]
    values = [label for label in column.labels if label not in words]
    if not words or not all(type(x) in (int, float) for x in values):
        return column, ""
    numbers, integers = column.as_numbers(), all(type(x) is int for x in values)
    numeric = replace(column, numbers=numbers, labels=(), index=None, promoted=integers)
    n = plural(int(np.isnan(numbers[column.index >= 0]).sum()), "row")
    return numeric, f"no number in {n} ({listed(words, 4)}), so it is empty there"


def _several_meanings(labels: Collection[str], fitting: list[Spelling]) -> bool:
    """Whether texts are ambiguous: a comma may mark thousands or decimals; 1.1 and 1.10 may be versions."""
    if _thousands in fitting and _comma in fitting:
        return any("," in label for label in labels)
    pointed = [label.strip() for label in labels if "." in label]
    if fitting[0] is _plain and pointed:
        long = any("." not in label and len(label.strip("+-0 ")) >= 3 for label in labels)
        if long and all(_GROUPED.fullmatch(label) for label in pointed):
            return True
        numbers = [number_of(label) for label in pointed]
        versions = all(re.fullmatch(r"\d+\.\d+", label) for label in pointed)
        return versions and len(set(numbers)) < len(set(pointed))
    return False


def _comma(labels: Iterable[str]) -> dict[str, float]:
    """Numbers with decimal commas, if some label proves that the comma is decimal; else {}."""
    labels = list(labels)
    if not any(SURELY_COMMA.fullmatch(label.strip()) for label in labels):
        return {}

    def pointed(text: str) -> str | None:
        if COMMA.fullmatch(text):
            return text.replace(".", "").replace(",", ".")
        return text if text.lstrip("+-").isdigit() else None

    return _read(labels, pointed)


def _unit(labels: Iterable[str]) -> dict[str, float]:
    """Numbers that are all followed by the same unit."""
    matches = {label: match for label in labels if (match := _UNIT.fullmatch(label.strip()))}
    units = [match[2] for match in matches.values()]
    if len(set(units)) != 1:
        return {}
    return {label: number for label, match in matches.items() if (number := number_of(match[1])) is not None}


def _read(labels: Iterable[str], spelled: Callable[[str], str | None]) -> dict[str, float]:
    """Label -> number, for labels that ``spelled`` turns into the text of a number."""
    pairs = ((label, spelled(label.strip())) for label in labels)
    numbers = {label: number_of(text) for label, text in pairs if text is not None}
    return {label: number for label, number in numbers.items() if number is not None}


# Three spellings: unchanged text, the number inside np.float64(...), and text with commas for thousands.
_plain: Spelling = partial(_read, spelled=str)
_repr: Spelling = partial(_read, spelled=lambda text: _REPR.sub(r"\1", text))
_thousands: Spelling = partial(
    _read, spelled=lambda text: text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
)
# The first spelling that fits all labels of a column is used.
_HOW: dict[Spelling, str] = {
    _plain: " in text", _repr: " written as NumPy's", _thousands: " with commas between thousands",
    _comma: " with decimal commas", _unit: " with a unit behind, which is left off",
}  # fmt: skip
