"""Domains inferred from the columns of a log if no space is given, and what their empty cells mean.

A column ``wd`` that is 0 in a quarter of the rows, and spread in the others, becomes two parameters: the gate
``wd (0 or number)``, a choice, and ``wd``, which is active where the choice is "number".
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parzax import _checks
from parzax._words import plural, visible
from parzax.lens._words import listed
from parzax.lens.logs.columns import (
    MAX_WHOLE,
    MOST_LISTED,
    OFTEN,
    Column,
    few_values,
    number_of,
    words_beside,
)
from parzax.space import Categorical, Domain, Float, In, Int, Ordinal, Recorded, Space

# Largest number of choices of a parameter, and longest text of a label.
MAX_CHOICES, MAX_LABEL = 100_000, 10_000
# Smallest ratio of the largest to the smallest value for a log axis.
LOG_RATIO = 100.0
# Smallest log likelihood ratio per value for a log axis: it is about -0.5 for uniform values, and 0.8 or more
# for log-uniform ones.
_LOG_EVIDENCE = 0.4
# Text is an id if the log has at least this many rows, and at least this share of the texts are different.
_LEAST_IDS, _NEARLY_ALL = 30, 0.95
# Rows that are looked at; and different values up to which a column's values are looked at one by one.
_MOST_ROWS, _MOST_VALUES = 4096, 20
# Chance of so regular gaps without a condition: for gaps that a column decides exactly, and in part.
_EXACT, _PARTLY = 0.05, 1e-3
# The choice of a gate that stands for all numbers that are not special; and numbers that may be special.
NUMBER = "number"
_SPECIAL = (0.0, -1.0)
# A special number has more than this many rows, and stands out from so many next numbers by this many
# standard deviations.
_MOST_BY_CHANCE, _NEXT, _DEVIATIONS = 3, 5, 4.0
# If a special number is a step below the next one, at most this share of the others is in this part of their
# range. A search that learns puts many rows near the end of a range, not only at the end.
_MOST_NEAR, _NEAR = 0.35, 0.2


def infer_space(
    columns: Mapping[str, Column],
    texts: Mapping[str, Column],
    spelled: Mapping[str, str],
    keep: np.ndarray,
    *,
    gates: bool,
) -> tuple[Space, dict[str, Column], list[str], dict[str, str]]:
    """The space of some columns in the rows to ``keep`` (n,), by `infer_domain`.

    Args:
        columns: parameter -> its column.
        texts: parameter -> its column in the table, where words may stand beside numbers.
        spelled: how the numbers of a column were written, "" for plain numbers.
        keep: (n,) rows that count.
        gates: whether special values beside numbers become gates, as `find_special` says.

    Returns:
        The space, its columns, sentences on what was inferred, and parameter that is left out -> why.
    """
    kept = {name: column.take(keep) for name, column in columns.items()}
    conditional = columns_with_conditions(kept, {name: column.missing() for name, column in kept.items()})
    all_columns, gate_of = {}, {}
    for name, column in columns.items():
        special = find_special(column, texts[name], keep, empty=name not in conditional) if gates else []
        if special:
            gate_of[name] = gate = f"{name} ({', '.join(special)} or {NUMBER})"
            all_columns[gate], column = split_special(column, texts[name], special)
        all_columns[name] = column
    conditional |= {*gate_of}
    inferred = {name: infer_domain(x.take(keep), name in conditional) for name, x in all_columns.items()}
    domains = {name: domain for name, (domain, _) in inferred.items() if domain is not None}
    if not domains:
        names = listed([column.name for column in columns.values()])
        raise ValueError(f"none of the columns {names} has a value that is not an id.")
    domains |= {name: replace(domains[name], when=In(gate, (NUMBER,))) for name, gate in gate_of.items()}
    notes = ["bounds and choices are taken from the data; a space with the real ones is better"]
    hows = {name: f"; {how}" for name, how in spelled.items() if how}
    notes += [f"{visible(name)}: {inferred[name][1]}{hows.get(name, '')}" for name in domains]
    left_out = {name: why for name, (domain, why) in inferred.items() if domain is None}
    return Space(domains), all_columns, notes, left_out


def infer_domain(column: Column, conditional: bool = True) -> tuple[Domain | None, str]:
    """The domain of a column and a sentence that says what was inferred; (None, ...) if it has no values.

    ``conditional`` says whether other columns explain where the column has gaps.

    * Booleans, text, objects of mixed types, and any values in a column of a categorical type, including
      numbers: `Categorical`, with choices sorted within each type.
    * Integers up to 2^53, and floating-point columns with gaps whose values are all integers (pandas turns
      integers with gaps into floats): `Int`. Other numbers: `Float`. Both from the smallest to the largest
      value.
    * Numbers with at most 10 different values, each in three rows or more on average: `Ordinal`, unless they
      are consecutive integers.
    * ``log=True`` if all values are positive, the largest is at least 100 times the smallest, the logarithms
      are less skewed than the values, and a uniform law on a log axis makes them more likely.
    * Text, or dates, in 30 rows or more that differ in nearly every row: an id, which is left out.
    * Missing entries that other columns explain: ``when=Recorded()``, active where a value is recorded. Those
      that nothing explains are the choice None of a `Categorical`, for labels and few numbers, if they are at
      least half as frequent as another value. Else they are taken as inactive too, and the sentence says so.

    Raises:
        ValueError: for infinite values, unusable labels, or too many of them.
    """
    missing = column.missing()
    if missing.all():
        return None, "it has no values"
    rows = f" in {int(missing.sum())} of {len(missing)} rows"
    numeric = column.numbers is not None
    if not numeric and _is_id(column):
        reason = "different labels, one in nearly every row, like an id or a path"
        return None, f"{len(column.labels)} {reason}"
    with _checks.explain(f"column {column.name!r}"):
        domain, what = _infer_numeric(column) if numeric else _infer_categorical(column)
        if not missing.any():
            return domain, what
        present = (~missing).sum()
        n_values = len(column.labels) if not numeric else len(few_values(column.numbers[~missing]))
        # None that a search tries is about as frequent as other values; stray gaps are less.
        if not conditional and n_values and 2 * missing.sum() * n_values >= present:
            column = replace(column, integers=domain.has_integers).as_labels()
            domain, what = _infer_categorical(column, (None,))
            return domain, f"{what}; empty{rows}, taken as the choice None, as no other column says when"
    doubt = "" if conditional else ", although no other column says when; if empty is a choice, write a word"
    return replace(domain, when=Recorded()), f"{what}; inactive{rows}{doubt}"


def _is_id(column: Column) -> bool:
    """Whether the labels are text, or integers beyond 2^53, and nearly all different.

    No two rows can be compared then.
    """
    n = int((column.index >= 0).sum())
    text = not column.categories and all(type(x) in (str, int) for x in column.labels)
    return text and n >= _LEAST_IDS and len(column.labels) >= _NEARLY_ALL * n


def _infer_numeric(column: Column) -> tuple[Domain, str]:
    values = column.numbers
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        where = f"row {column.row(infinite[0])} is {float(values[infinite[0]])!r}"
        raise ValueError(f"{where}; leave out such rows, or the column")
    values = values[~np.isnan(values)]
    low, high = float(values.min()), float(values.max())
    integers = column.integers and max(-low, high) <= MAX_WHOLE
    # The division prevents overflow.
    log = bool(low > 0 and high / LOG_RATIO >= low and _looks_logarithmic(values / high))
    scale = " on a log scale" * log
    listed_values = few_values(values)
    if len(listed_values) > 1 and not (integers and np.ptp(listed_values) == len(listed_values) - 1):
        choices = [int(x) if integers else float(x) for x in listed_values]
        what = f"Ordinal, {len(choices)} values ({', '.join(f'{x:.6g}' for x in choices)}){scale}"
        return Ordinal(choices, log=log), what
    kind, bounds = (Int, (int(low), int(high))) if integers else (Float, (low, high))
    return kind(*bounds, log=log), f"{kind.__name__} from {bounds[0]:.6g} to {bounds[1]:.6g}{scale}"


def _looks_logarithmic(values: np.ndarray) -> bool:
    """Whether values up to 1 fit a log axis better, by skewness and by likelihood of a uniform law."""
    logs, low = np.log(values), values.min()
    likelihood = np.log(1 - low) - np.log(-np.log(low)) - logs.mean()
    return likelihood > _LOG_EVIDENCE and abs(_skewness(logs)) < abs(_skewness(values))


def _infer_categorical(column: Column, more: tuple[Any, ...] = ()) -> tuple[Domain, str]:
    if len(column.labels) > MAX_CHOICES:
        raise ValueError(f"it has {len(column.labels)} different labels; drop it, or pass a space.")
    if (longest := max((len(x) for x in column.labels if isinstance(x, str)), default=0)) > MAX_LABEL:
        raise ValueError(f"it holds a text of {longest} characters, too long for a label; drop it.")
    choices = (*sorted(column.labels, key=lambda x: (type(x).__name__, x)), *more)
    what = f"Categorical, {plural(len(choices), 'choice')} ({listed(choices, 6)})"
    if len(choices) > 2 and all(isinstance(x, str) and number_of(x) is not None for x in choices):
        what += ", text that looks like numbers"
    return Categorical(choices), what


def _skewness(values: np.ndarray) -> float:
    centred = values - values.mean()
    spread = np.sqrt(np.mean(centred**2))
    return float(np.mean((centred / spread) ** 3)) if spread > 0 else 0.0


# --- special values and empty cells --------------------------------------------------------------


def find_special(column: Column, text: Column, keep: np.ndarray, *, empty: bool) -> list[str]:
    """The special values that stand beside the numbers of a column, in the rows to ``keep`` (n,).

    An infinity is always special. Beside more than a few different numbers so are words such as "auto" and
    (with ``empty``) empty cells, "none", if a twentieth of the rows has them; and -1 and 0, if they are the
    smallest number, and more frequent than numbers near them are.
    """
    if column.index is not None:
        return []
    numbers = column.numbers[keep]
    finite = numbers[np.isfinite(numbers)]
    special = [f"{x:g}" for x in (-np.inf, np.inf) if (numbers == x).any() and len(finite)]
    few_at_first = len(np.unique(finite[: MOST_LISTED * MOST_LISTED])) <= MOST_LISTED
    if few_at_first and len(np.unique(finite)) <= MOST_LISTED:
        return special
    if empty:
        number, words = words_beside(column, text)
        special += [w for i, w in enumerate(words) if (number[keep] == i).sum() >= OFTEN * len(numbers)]
    for value in _SPECIAL:
        if _stands_out(value, finite):
            special, finite = [*special, f"{value:g}"], finite[finite != value]
    return special


def _stands_out(value: float, numbers: np.ndarray) -> bool:
    """Whether a value is the smallest of some numbers, and much more frequent than the next ones."""
    n_rows, others = np.count_nonzero(numbers == value), numbers[numbers > value]
    if n_rows < OFTEN * len(numbers) or not np.isin(numbers[numbers < value], _SPECIAL).all():
        return False
    different, counts = np.unique(others, return_counts=True)
    if len(different) <= MOST_LISTED:
        return False
    repeats = counts[:_NEXT].mean() - 1
    is_next = different[0] - value < 1.5 * np.diff(different).min()
    near = (others - others.min() <= _NEAR * np.ptp(others)).mean()
    stands_out = n_rows > _MOST_BY_CHANCE + repeats + _DEVIATIONS * np.sqrt(repeats)
    return bool(stands_out and not (is_next and near > _MOST_NEAR))


def split_special(column: Column, text: Column, special: Sequence[str]) -> tuple[Column, Column]:
    """The gate of a column with special values, which says which one a row has; and the other numbers."""
    numbers, (number, words) = column.numbers, words_beside(column, text)
    place = {word: i for i, word in enumerate(words)}
    values = zip(special, map(number_of, special), strict=True)
    rows = [number == place.get(word, len(words)) if x is None else numbers == x for word, x in values]
    is_special = np.logical_or.reduce(rows)
    index = np.select([*rows, ~np.isnan(numbers)], range(len(rows) + 1), -1)
    gate = replace(column, numbers=None, labels=(*special, NUMBER), index=index)
    # Infinity turns integers into floats.
    others = numbers[np.isfinite(numbers) & ~is_special]
    integers = column.integers or bool(np.isinf(numbers).any() and (others % 1 == 0).all())
    return gate, replace(column, numbers=np.where(is_special, np.nan, numbers), integers=integers)


def columns_with_conditions(columns: Mapping[str, Column], missing: Mapping[str, np.ndarray]) -> set[str]:
    """Names of the columns with gaps (entries that are ``missing``) that another column explains.

    Another column explains the gaps if it has gaps in the same rows, as parameters of one branch do; if its
    value, or a threshold, decides where the gaps are; or if one of its values comes with gaps alone, in more
    rows than chance explains. A column whose gaps nothing explains holds empty cells that may be a choice,
    such as None for scikit-learn's ``class_weight``.
    """
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
