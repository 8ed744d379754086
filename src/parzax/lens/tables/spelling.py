"""Numbers in columns of text: with units, per cent signs, commas, or as NumPy writes them."""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from parzax._words import plural
from parzax.lens.tables.columns import Column, listed, number_of, says_missing

# Largest share of rows with words, not counting the words for a missing value.
_MOST_WORDS = 0.2
# A column with fewer different numbers with a unit may hold names, such as 2D.
_LEAST_WITH_UNIT = 10
# Words for a default. Any number of rows may have them, as with words for a missing value.
_DEFAULTS = ("auto", "default")
_REPR = re.compile(r"\A(?:np|numpy)\.\w+\((.+)\)\Z")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|[+-]?[1-9]\d{0,2}(?:_\d{3})+")
COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?|[+-]?\d{1,3}(?:\.\d{3})+,\d+")
# Numbers whose comma can only be a decimal comma: it stands first or after a single 0, before a 0 with at
# most one more digit, before four or more digits, or after groups of three digits with points.
SURELY_COMMA = re.compile(r"[+-]?0?,\d+.*|[+-]?\d+,(?:0\d?|\d{4,})(?:[eE].*)?|[+-]?\d{1,3}(?:\.\d{3})+,\d+")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_UNIT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) ?(%|[^\W\d_]+)")
_INTEGER, _CODE, _VERSION = (re.compile(text) for text in (r"[+-]?\d+", r"[+-]?0\d+", r"\d+\.\d+"))

Spelling = Callable[[Iterable[str]], dict[str, float]]


def as_numbers(column: Column, used: np.ndarray) -> tuple[Column, str]:
    """The column as numbers, with words read as missing, and a sentence on how the numbers are written.

    A column without numbers in the rows ``used`` (n,) is returned unchanged, with "". All texts with a digit
    must be numbers in the same unambiguous spelling: 1.1 and 1.10 may be versions, and 01 is no number. Words
    such as "None" may be frequent, other words must be rare.
    """
    if column.index is None or column.categories:
        return column, ""
    texts = tuple(x if isinstance(x, str) else repr(x) for x in column.labels)
    if len({*texts}) < len(texts) or any(isinstance(x, bool) for x in column.labels):
        return column, ""
    labelled, column = column, replace(column, labels=texts)
    counts = np.bincount(column.index[used & (column.index >= 0)], minlength=len(column.labels))
    rows = {label: int(count) for label, count in zip(column.labels, counts, strict=True) if count}
    infinite = {label: x for label in column.labels if (x := number_of(label)) in (-np.inf, np.inf)}
    others = [label for label in rows if label not in infinite]
    words = [label for label in others if says_missing(label) or not re.search(r"\d", label)]
    spelled = {*others} - {*words}
    fitting = [read for read in _HOW if read(spelled).keys() == spelled]
    rare = [word for word in words if not says_missing(word) and word.strip().lower() not in _DEFAULTS]
    mostly_words = sum(rows[word] for word in rare) > _MOST_WORDS * sum(rows.values())
    if not spelled or not fitting or mostly_words or _several_meanings(spelled, fitting):
        return labelled, ""
    numbers = fitting[0](spelled)
    # In rows that are not used, any spelling of a number is accepted.
    number_by_label = numbers | infinite | fitting[0](set(column.labels) - numbers.keys() - set(words))
    of_labels = [number_by_label.get(label, np.nan) for label in column.labels]
    values = np.array([*of_labels, np.nan])[column.index]
    integers = all(_INTEGER.fullmatch(label.strip()) for label in numbers)
    how = [] if fitting[0] is _plain else [f"numbers{_HOW[fitting[0]]}"]
    if words:
        n = plural(sum(rows[word] for word in words), "row")
        how.append(f"no number in {n} ({listed(words, 4)}), so it is empty there")
    numeric = replace(column, numbers=values, labels=(), index=None, integers=False, promoted=integers)
    return numeric, "; ".join(how)


def _several_meanings(labels: Collection[str], fitting: list[Spelling]) -> bool:
    """Whether texts are ambiguous: a comma may mark thousands or decimals; 1.1 and 1.10 may be versions."""
    if _thousands in fitting and _comma in fitting:
        return any("," in label for label in labels)
    if fitting[0] is not _plain:
        return False
    pointed = [label.strip() for label in labels if "." in label]
    long = any("." not in label and len(label.strip("+-0 ")) >= 3 for label in labels)
    grouped = bool(pointed) and long and all(_GROUPED.fullmatch(label) for label in pointed)
    versions = bool(pointed) and all(_VERSION.fullmatch(label) for label in pointed)
    versions = versions and len({*map(number_of, pointed)}) < len({*pointed})
    return grouped or versions or any(_CODE.fullmatch(label.strip()) for label in labels)


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
    names = len(matches) < _LEAST_WITH_UNIT and not any(" " in label or "%" in label for label in matches)
    if len({match[2] for match in matches.values()}) != 1 or names:
        return {}
    return {label: number for label, match in matches.items() if (number := number_of(match[1])) is not None}


def _read(labels: Iterable[str], spelled: Callable[[str], str | None]) -> dict[str, float]:
    """Label -> number, for labels that ``spelled`` turns into the text of a number."""
    pairs = ((label, spelled(label.strip())) for label in labels)
    numbers = {label: number_of(text) for label, text in pairs if text is not None}
    return {label: number for label, number in numbers.items() if number is not None}


# Three spellings: unchanged text, the number inside np.float64(...), and text with signs for thousands.
_plain: Spelling = partial(_read, spelled=str)
_repr: Spelling = partial(_read, spelled=lambda text: _REPR.sub(r"\1", text))
_thousands: Spelling = partial(
    _read, spelled=lambda text: re.sub("[,_]", "", text) if _THOUSANDS.fullmatch(text) else text
)
# The first spelling that fits all labels of a column is used.
_HOW: dict[Spelling, str] = {
    _plain: " in text", _repr: " written as NumPy's", _thousands: " with signs between thousands",
    _comma: " with decimal commas", _unit: " with a unit behind, which is left off",
}  # fmt: skip
