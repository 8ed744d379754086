"""What the values of a column suggest: a counter, times, a result, an identity, or a copy of another column.

Values never decide alone: `parzax.lens.tables.doubts` asks.
"""

import re
from collections.abc import Sequence

import numpy as np

from parzax.lens._rows import number_rows
from parzax.lens.tables.columns import Column

# With fewer rows, or fewer different values, two columns may have the same order by chance.
_LEAST_ROWS, _LEAST_VALUES = 12, 5
# A longer log is judged by about this many rows.
_PART = 4096
# A column with at least this rank correlation with the objective may be a result. One parameter that decides
# alone can reach that too.
_LIKE_OBJECTIVE = 0.98
# So may a column with at least the first correlation, if another column explains the second share of it: a
# random search draws parameters independently.
_LIKE_IF_EXPLAINED, _EXPLAINED = 0.9, 0.5
# Number of cells, with equally many rows, of the column that explains another one.
_CELLS = 6
# Least correlation of a counter with gaps with the row numbers; a grid of powers has less.
_ON_LINE = 0.95
# Choices repeat. If more than this share of a column's labels are different, they identify the rows.
_NEARLY_ALL = 0.8
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T_].*)?|\d\d?[./]\d\d?[./]\d{4}.*")


def why_by_values(numbers: np.ndarray, losses: np.ndarray, others: Sequence[np.ndarray] = ()) -> str:
    """What a column of numbers (n,) may be, instead of a parameter; "" if nothing.

    ``losses`` are the objectives (n, m), NaN in rows that are not used; ``others`` are other columns (n,).
    """
    if _counts_rows(numbers):
        return "a counter of the rows"
    if _holds_times(numbers):
        return "a time"
    likeness = max((rank_correlation(numbers, loss) for loss in losses.T), default=0.0)
    like = likeness >= _LIKE_OBJECTIVE or (
        likeness >= _LIKE_IF_EXPLAINED
        and len(np.unique(numbers)) > len(numbers) / 2
        and any(_explains(x, numbers) for x in others)
    )
    return f"a result (rank correlation {likeness:.2f})" if like else ""


def why_by_labels(column: Column) -> str:
    """What a column of choices may be, instead of a parameter; "" if nothing."""
    column = column.as_labels()
    n = int((column.index >= 0).sum())
    if column.labels and all(_DATE.fullmatch(str(label).strip()) for label in column.labels):
        return "a time"
    many = n >= _LEAST_ROWS and len(column.labels) > _NEARLY_ALL * n and not column.categories
    return "an identity" if many else ""


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Absolute Spearman correlation of two columns (n,); 0 if they are too short to tell."""
    rows = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    rows = rows[:: max(len(rows) // _PART, 1)]
    x, y = x[rows], y[rows]
    if len(rows) < _LEAST_ROWS or min(len(np.unique(x)), len(np.unique(y))) < _LEAST_VALUES:
        return 0.0
    return abs(float(np.corrcoef(_mean_ranks(x), _mean_ranks(y))[0, 1]))


def _explains(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether means in cells of ``x`` (n,) explain the ranks of ``y`` (n,), adjusted for their number."""
    rows = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    rows = rows[:: max(len(rows) // _PART, 1)]
    n, rank = len(rows), _mean_ranks(y[rows])
    if n < _LEAST_ROWS or len(np.unique(x[rows])) < _LEAST_VALUES:
        return False
    _, first, value = np.unique(np.sort(x[rows]), return_index=True, return_inverse=True)
    place = np.empty(n, int)
    place[np.argsort(x[rows], kind="stable")] = first[value]
    cell = _CELLS * place // n
    within = rank - (np.bincount(cell, rank) / np.maximum(np.bincount(cell), 1))[cell]
    return bool(within @ within / (n - _CELLS) <= (1 - _EXPLAINED) * rank.var(ddof=1))


def find_copies(codes: dict[str, np.ndarray], numbers: dict[str, np.ndarray | None]) -> dict[str, str]:
    """Dictionary: column -> an earlier column that it follows from.

    It has one value for each value of the other, or it orders all rows in the same way.

    Args:
        codes: column -> (n,) number of each row's value, by its first appearance.
        numbers: column -> (n,) numbers, or None for labels.
    """
    first_of: dict[bytes, str] = {}
    copies = {}
    for name, code in codes.items():
        column, n_values = numbers[name], len(np.unique(code))
        if len(code) < _LEAST_ROWS or n_values < 2:
            continue
        keys = [code.tobytes()] if n_values <= len(code) / 3 else []
        if column is not None and n_values >= _LEAST_VALUES:
            _, place = np.unique(column, return_inverse=True)
            keys += [b"order" + min(place.tobytes(), (place.max() - place).tobytes())]
        first = next((first_of[key] for key in keys if key in first_of), None)
        copies |= {name: first} if first is not None else {}
        first_of |= {key: name for key in keys if key not in first_of}
    return copies


def find_repeats(codes: dict[str, np.ndarray], numbers: dict[str, np.ndarray | None]) -> list[str]:
    """Two or more columns of continuous values that repeat in the same rows, as settings of one trial do."""
    alike: dict[bytes, list[str]] = {}
    for name, code in codes.items():
        column = numbers[name]
        fractions = column is not None and (np.nan_to_num(column, posinf=0, neginf=0) % 1).any()
        if fractions and _LEAST_VALUES <= len(np.unique(code)) <= len(code) / 2:
            alike.setdefault(code.tobytes(), []).append(name)
    columns = max(alike.values(), key=len, default=[])
    return columns if len(columns) > 1 else []


def changes_within(group: np.ndarray, code: np.ndarray) -> bool:
    """Whether a column, by its codes (n,), has several values in rows of a group (n,), numbered from 0."""
    return bool(number_rows([group, code], len(code)).max() > group.max())


def counts_within(group: np.ndarray, numbers: np.ndarray | None) -> bool:
    """Whether a column counts 0, 1, 2, ..., from the same start, in the rows of each group (n,)."""
    if numbers is None or not np.isfinite(numbers).all() or (numbers % 1).any():
        return False
    order = np.lexsort((numbers, group))
    begins = np.append(True, np.diff(group[order]) > 0)
    steps, starts = np.diff(numbers[order]), numbers[order][begins]
    return len(starts) < len(numbers) and bool((steps[~begins[1:]] == 1).all() and np.ptp(starts) == 0)


def _counts_rows(numbers: np.ndarray) -> bool:
    """Whether a column counts the rows: its numbers are consecutive integers, each once, perhaps with gaps.

    If the counter has gaps, at least half of its range must occur, or the numbers must ascend and lie nearly
    on a line. A grid written in order has equal steps, or does not lie on a line.
    """
    n = len(numbers)
    # A cheap test first: numbers without repeats span at least n - 1.
    if n < _LEAST_VALUES or not np.isfinite(numbers).all() or np.ptp(numbers) < n - 1:
        return False
    steps = np.diff(np.sort(numbers))
    if (numbers % 1).any() or steps.min() < 1:
        return False
    if steps.max() == 1:
        return True
    in_order = (np.diff(numbers) > 0).all() or (np.diff(numbers) < 0).all()
    on_line = in_order and abs(np.corrcoef(numbers, np.arange(n))[0, 1]) > _ON_LINE
    uneven = n >= _LEAST_ROWS and steps.max() > steps.min()
    return uneven and np.ptp(numbers) < (10 if on_line else 2) * n


def _holds_times(numbers: np.ndarray) -> bool:
    """Whether the numbers are times since 1970 in seconds, or in thousandths of these and so on."""
    present = numbers[np.isfinite(numbers)]
    if len(present) < _LEAST_VALUES or len(np.unique(present)) <= len(present) / 2:
        return False
    low, high = present.min(), present.max()
    # The years 2001 to 2033. A parameter with such large values would span more of this range.
    return any(1e9 * unit <= low and high <= 2e9 * unit for unit in (1, 1e3, 1e6, 1e9)) and high < 1.1 * low


def _mean_ranks(x: np.ndarray) -> np.ndarray:
    _, value, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[value]
