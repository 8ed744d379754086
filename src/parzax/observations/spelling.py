"""Numbers that a column holds as text: with units, per cent, commas, or as NumPy writes them."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from parzax.observations.columns import Column, number_of, short

# Of the rows that have a value so many hold a number, at least, where the rest is text such as "auto".
_SHARE = 0.8
# Fewer different numbers than this, and nothing else, may be names: they stay labels.
LEAST_NUMBERS = 10
_REPR = re.compile(r"(?:np|numpy)\.\w+\((.+)\)")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?|[+-]?\d+(?:\.\d{3})*,\d+")
_UNIT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) ?(%|[^\W\d_]+)")


def as_numbers(column: Column, used: np.ndarray, least: int) -> tuple[Column, str]:
    """The column as numbers, without a value where there is other text, and a sentence about it.

    Itself and "" where it is none: rows ``used`` (n,) decide. Several spellings in one column are no numbers,
    nor are fewer than ``least`` different ones where there is nothing else.
    """
    if column.index is None or column.categories or not all(isinstance(x, str) for x in column.labels):
        return column, ""
    counts = np.bincount(column.index[used & (column.index >= 0)], minlength=len(column.labels))
    present = [label for label, count in zip(column.labels, counts, strict=True) if count]
    for spelled in (_plain, _repr, _thousands, _comma, _unit):
        numbers = spelled(present)
        n_rows = sum(int(counts[i]) for i, label in enumerate(column.labels) if label in numbers)
        if n_rows and n_rows >= _SHARE * counts.sum():
            break
    else:
        return column, ""
    others = [label for label in present if label not in numbers]
    different = len(set(numbers.values()))
    if different < (3 if others else least) and spelled is _plain:
        return column, ""
    # Of rows that do not count any number will do.
    found = numbers | spelled(set(column.labels) - numbers.keys() - set(others))
    table = np.array([*(found.get(label, np.nan) for label in column.labels), np.nan])
    values = table[column.index]
    whole = all(re.fullmatch(r"[+-]?\d+", label) for label in numbers)
    how = [f"numbers{_HOW.get(spelled, '')}"] if spelled is not _plain or not others else []
    if others:
        shown = ", ".join(map(short, others[:4])) + (", ..." if len(others) > 4 else "")
        n_others = int(counts.sum()) - n_rows
        how.append(f"no number in {n_others} row{'s' * (n_others > 1)} ({shown}): inactive there")
    numeric = replace(column, numbers=values, labels=(), index=None, whole=False, promoted=whole)
    return numeric, "; ".join(how)


def _plain(labels: Iterable[str]) -> dict[str, float]:
    return _read(labels, lambda text: text)


def _repr(labels: Iterable[str]) -> dict[str, float]:
    def inner(text: str) -> str | None:
        match = _REPR.fullmatch(text)
        return match[1] if match else text

    return _read(labels, inner)


def _thousands(labels: Iterable[str]) -> dict[str, float]:
    return _read(labels, lambda text: text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)


def _comma(labels: Iterable[str]) -> dict[str, float]:
    def pointed(text: str) -> str | None:
        if _COMMA.fullmatch(text):
            return text.replace(".", "").replace(",", ".")
        return text if text.lstrip("+-").isdigit() else None

    return _read(labels, pointed)


def _unit(labels: Iterable[str]) -> dict[str, float]:
    """Numbers with one and the same unit behind."""
    matches = {label: match for label in labels if (match := _UNIT.fullmatch(label.strip()))}
    units = [match[2] for match in matches.values()]
    if len(set(units)) != 1:
        return {}
    return _read(matches, lambda text: matches[text][1])


_HOW: dict[Callable[[Iterable[str]], dict[str, float]], str] = {
    _repr: " written as NumPy's", _thousands: " with commas between thousands",
    _comma: " with decimal commas", _unit: " with a unit behind, which is left off",
}  # fmt: skip


def _read(labels: Iterable[str], spelled: Callable[[str], str | None]) -> dict[str, float]:
    """Label -> number, of the labels that are one, finite, when they are spelled in another way."""
    pairs = ((label, spelled(label.strip())) for label in labels)
    found = {label: number_of(text) for label, text in pairs if text is not None}
    return {label: number for label, number in found.items() if number is not None and np.isfinite(number)}
