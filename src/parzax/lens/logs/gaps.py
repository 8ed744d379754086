"""Gaps in the columns of a table: of inactive parameters, or cells whose emptiness is a choice."""

from collections.abc import Mapping

import numpy as np

from parzax.lens.tables.columns import Column

# Rows that are looked at; and different values up to which a column's values are looked at one by one.
_MOST_ROWS, _MOST_VALUES = 4096, 20
# Chance of so regular gaps without a condition: for gaps that a column decides exactly, and in part.
_EXACT, _PARTLY = 0.05, 1e-3


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
