"""Gaps in the columns of a table: of inactive parameters, or cells whose emptiness is a choice."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from parzax.lens.logs.columns import Column

# Rows that are looked at; and different values up to which a column's values are looked at one by one.
_MOST_ROWS, _MOST_VALUES = 4096, 20
# At most so many different numbers may be a list of choices.
_MOST_LISTED = 10
# Chance of so regular gaps without a condition: for gaps that a column decides exactly, and in part.
_EXACT, _PARTLY = 0.05, 1e-3
# Zeros are a choice of their own beside other values if at least this share of the rows has one, and the
# positive values span this factor.
_ZEROS, _DECADES = 0.05, 1e3


def with_gates(columns: Mapping[str, Column], keep: np.ndarray) -> dict[str, Column]:
    """The columns, with a column of its own for whether a number is given, or is zero.

    A number that is missing in some rows, although no other column says when, is a choice between none and a
    number; so is one that is often zero and else spread over decades. The new column, such as "wd (zero or
    not)", stands before that of the number, which is inactive without one. Only rows to ``keep`` (n,) count.
    """
    gated: dict[str, Column] = {}
    explained = columns_with_conditions({name: column.take(keep) for name, column in columns.items()})
    for name, column in columns.items():
        gate = None if column.index is not None or name in explained else _gate(column.numbers, keep)
        if gate is not None:
            absent, words = gate
            codes = np.where(column.missing() & ~absent, -1, ~absent)
            title = f"{name} ({words[0]} or {'not' if words[0] == 'zero' else words[1]})"
            gated[title] = replace(column, name=title, numbers=None, labels=words, index=codes)
            column = replace(column, numbers=np.where(absent, np.nan, column.numbers))
        gated[name] = column
    return gated


def _gate(numbers: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, tuple[str, str]] | None:
    """The rows (n,) in which a column of numbers is none or zero, and words for the choice; or None."""
    missing, zero = np.isnan(numbers), numbers == 0
    present = numbers[keep & ~missing]
    if (missing & keep).any():
        # Empty cells beside a few different numbers are one more choice.
        many = len(np.unique(present)) > _MOST_LISTED
        return (missing, ("none", "number")) if many and missing[keep].mean() >= _ZEROS else None
    positive = present[present > 0]
    spread = len(positive) and positive.max() >= _DECADES * positive.min() and present.min() == 0
    often = zero[keep].mean() >= _ZEROS
    return (zero, ("zero", "other")) if spread and often and len(np.unique(positive)) > _MOST_LISTED else None


def columns_with_conditions(columns: Mapping[str, Column]) -> set[str]:
    """Names of the columns with gaps that another column explains.

    Another column explains the gaps if it has gaps in the same rows, as parameters of one branch do; if its
    value, or a threshold, decides where the gaps are; or if one of its values comes with gaps alone, in more
    rows than chance explains. A column whose gaps nothing explains holds empty cells that may be a choice,
    such as None for scikit-learn's ``class_weight``.
    """
    missing = {name: column.missing() for name, column in columns.items()}
    gaps = {name: mask for name, mask in missing.items() if mask.any() and not mask.all()}
    if not gaps:
        return set()
    n = len(next(iter(gaps.values())))
    rows = np.unique(np.linspace(0, n - 1, min(n, _MOST_ROWS)).astype(int))
    gaps = {name: mask[rows] for name, mask in gaps.items()}
    parents = {name: _values(column, rows) for name, column in columns.items()}
    return {
        name
        for name, mask in gaps.items()
        if any(name != parent and _explains(*parents[parent], mask) for parent in parents)
    }


def _values(column: Column, rows: np.ndarray) -> tuple[np.ndarray, bool]:
    """(n,) numbers of the values of some rows, NaN where missing; and whether they are few."""
    values = column.numbers if column.index is None else np.where(column.index < 0, np.nan, column.index)
    values = np.asarray(values, np.float64)[rows]
    return values, len(np.unique(values[~np.isnan(values)])) <= min(_MOST_VALUES, len(rows) // 3)


def _explains(values: np.ndarray, few: bool, gap: np.ndarray) -> bool:
    """Whether the values of one column explain the gaps (n,) of another."""
    absent = np.isnan(values)
    if (absent == gap).all():
        return True
    if not few:
        low, high = (values[mask & ~absent] for mask in (gap, ~gap))
        apart = len(low) and len(high) and (low.max() < high.min() or high.max() < low.min())
        return bool(apart) and bool(gap[absent].all())
    _, group = np.unique(values, return_inverse=True)  # all NaN are one value
    n, empty = np.bincount(group), np.bincount(group, gap)
    share = gap.mean()
    if ((empty == 0) | (empty == n)).all():
        return bool(np.prod(share**n + (1 - share) ** n) < _EXACT)
    return bool((share ** n[empty == n]).min(initial=1) < _PARTLY)
