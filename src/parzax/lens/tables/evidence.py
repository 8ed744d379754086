"""Evidence from values: which columns of a table without marks are not parameters."""

from collections.abc import Mapping

import numpy as np

# With fewer rows, or fewer different values, two columns may have the same order by chance.
LEAST_ROWS, _LEAST_VALUES = 20, 5
# This many points lie on a line by chance hardly ever. Fewer rows, as in small examples, may.
_LEAST_ON_LINE = 12
# Least correlation of a counter with gaps with the row numbers; a grid of powers has less.
_ON_LINE = 0.95
# A longer log is compared on about this many rows first.
_PART = 4096
# A column with at least this rank correlation with the objective may be a result.
DOUBTFUL = 0.98
# A column with at least the first correlation may be a result if another column explains the second share of
# it: a random search would draw parameters independently.
_DOUBTFUL_IF_EXPLAINED, _EXPLAINED = 0.9, 0.5
# Number of cells, with equally many rows, of the column that explains another one.
_CELLS = 6
# A column with at least this rank correlation with the objective, or with such a result, may be one too.
SIMILAR = 0.8


def why_by_values(numbers: np.ndarray, losses: np.ndarray) -> str:
    """Why a column of numbers (n,) is not a parameter; "" if its values do not speak against it.

    ``losses`` are the objectives (n, m), NaN in rows that are not used.
    """
    if _counts_rows(numbers):
        return "a counter of the rows"
    if _holds_times(numbers):
        return "a time, by its values"
    if any(_is_function(numbers, loss) for loss in losses.T):
        return "an exact function of the objective"
    return ""


def may_be_result(name: str, numbers: Mapping[str, np.ndarray], losses: np.ndarray) -> bool:
    """Whether a column orders the rows nearly as an objective (n, m) does, so that it may be a result.

    ``numbers`` are all columns (n,) of numbers that may be parameters, including this one.
    """
    likeness, column = order_as(numbers[name], losses), numbers[name]
    if likeness < _DOUBTFUL_IF_EXPLAINED or likeness >= DOUBTFUL:
        return likeness >= DOUBTFUL
    others = (_both(numbers[other], column) for other in numbers if other != name)
    return len(np.unique(column)) > len(column) / 2 and any(_explains(x, y) for x, y in others)


def _explains(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether means in cells of ``x`` (n,) explain the ranks of ``y`` (n,), adjusted for their number."""
    if not _speaks(x, y):
        return False
    part = slice(None, None, max(len(x) // _PART, 1))
    place, rank = _ranks(x[part], "min") - 1, _ranks(y[part])
    n, cell = len(rank), _CELLS * place // len(rank)
    within = rank - (np.bincount(cell, rank) / np.maximum(np.bincount(cell), 1))[cell]
    return within @ within / (n - _CELLS) <= (1 - _EXPLAINED) * rank.var(ddof=1)


def order_as(numbers: np.ndarray, losses: np.ndarray) -> float:
    """Largest absolute Spearman rank correlation between a column (n,) and one of the objectives (n, m)."""
    return max((_order_as(*_both(numbers, loss)) for loss in losses.T), default=0.0)


def _order_as(x: np.ndarray, loss: np.ndarray) -> float:
    if not _speaks(x, loss):
        return 0.0
    # A part of a long log shows whether sorting all of it is worth the time.
    part = slice(None, None, max(len(x) // _PART, 1))
    likeness = _correlation(_ranks(x[part]), _ranks(loss[part]))
    doubtful = likeness > DOUBTFUL - 0.02 and len(x) > len(x[part])
    return _correlation(_ranks(x), _ranks(loss)) if doubtful else likeness


def order_of_rows(numbers: np.ndarray) -> bytes | None:
    """The order of the rows by a column (n,); a column and its negative have the same order.

    It is None for a constant column, and for few rows: two columns of few rows may agree by chance.
    """
    present = np.isfinite(numbers)
    if present.sum() < LEAST_ROWS or np.ptp(numbers[present]) == 0:
        return None
    place = np.zeros(len(numbers), int)
    place[present] = np.unique(numbers[present], return_inverse=True)[1] + 1
    reversed_place = np.where(present, place.max() + 1 - place, 0)
    return min(place.tobytes(), reversed_place.tobytes())


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
    on_line = in_order and _correlation(numbers, np.arange(n)) > _ON_LINE
    uneven = n >= LEAST_ROWS and steps.max() > steps.min()
    return uneven and np.ptp(numbers) < (10 if on_line else 2) * n


def _holds_times(numbers: np.ndarray) -> bool:
    """Whether the numbers are times since 1970 in seconds, or in thousandths of these and so on."""
    present = numbers[np.isfinite(numbers)]
    if len(present) < _LEAST_VALUES or len(np.unique(present)) <= len(present) / 2:
        return False
    low, high = present.min(), present.max()
    # The years 2001 to 2033. A parameter with such large values would span more of this range.
    return any(1e9 * unit <= low and high <= 2e9 * unit for unit in (1, 1e3, 1e6, 1e9)) and high < 1.1 * low


def _is_function(numbers: np.ndarray, loss: np.ndarray) -> bool:
    """Whether a column is a + b * loss, or the rank of the loss, in all rows where both are finite."""
    x, y = _both(numbers, loss)
    if len(x) < _LEAST_ON_LINE or len(np.unique(x[:_PART])) < _LEAST_VALUES:
        return False
    part = slice(None, None, max(len(x) // _PART, 1))
    if _correlation(_ranks(x[part]), _ranks(y[part])) < 1 - 1e-3:
        return False
    ranks = [_ranks(sign * y, kind) for sign in (1, -1) for kind in ("min", "max", "dense")]
    return any(_correlation(x, kind) > 1 - 1e-9 for kind in (y, *(ranks if _speaks(x, y) else ())))


def _both(numbers: np.ndarray, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers and the losses of the rows where both are finite."""
    rows = np.isfinite(numbers) & np.isfinite(loss)
    return numbers[rows], loss[rows]


def _speaks(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether there are so many rows and different values that a common order cannot be chance."""
    different = len(np.unique(x[:_PART])) >= _LEAST_VALUES and len(np.unique(y[:_PART])) >= _LEAST_VALUES
    return len(x) >= LEAST_ROWS and different


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    return abs(float(np.corrcoef(x, y)[0, 1])) if np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0


def _ranks(x: np.ndarray, kind: str = "average") -> np.ndarray:
    """Ranks from 1; ``kind`` says how equal values are ranked, as in `scipy.stats.rankdata`."""
    _, value, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = {"min": last - counts + 1, "max": last, "dense": np.arange(1, len(counts) + 1)}
    return ranks.get(kind, last - (counts - 1) / 2)[value]
