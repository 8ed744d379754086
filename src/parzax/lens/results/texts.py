"""Numbers, values, domains and names as the texts of results: sentences, tables, pictures and the page."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any
from unicodedata import combining, east_asian_width

import numpy as np

from parzax.lens._words import join_names
from parzax.lens.logs.bounds import span_text
from parzax.lens.results.replicates import SIGNIFICANCE
from parzax.space import Between, Categorical, Condition, Domain, In, Numeric, Ordinal, Varying

NAME, CHOICE = 28, 16  # longest name, and longest choice in a list, in characters
NAMED = 3  # entries that a sentence names
_MOST_VALUES, _MOST_CHOICES = 3, 6  # largest number of values of a domain, and of choices, that are listed


def number(x: float) -> str:
    """A number as text with at most four significant digits; small integers are written in full."""
    return f"{x:.0f}" if abs(x) < 1e6 and x == int(x) else f"{x:.4g}"


def value_text(x: float) -> str:
    """An importance as text with two decimals; "<0.01" if it is smaller, and "0" only if it is exactly 0."""
    return "0" if x == 0 else f"{x:.2f}" if x >= 0.01 else "<0.01"


def mean_text(mean: float, error: float = math.nan) -> str:
    """A mean over seeds, and its standard error if there is one; "-" if the mean is NaN."""
    if math.isnan(mean):
        return "-"
    return value_text(mean) if math.isnan(error) else f"{value_text(mean)} ± {error:.2f}"


def interval_text(low: float, high: float) -> str:
    """The ends of an interval as text, "0.20 to 0.35"; "" if there is none."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return " to ".join(f"{round(float(end), 2) + 0.0:.2f}" for end in (low, high))  # no -0.00


def p_text(p_value: float, p_adjusted: float, n_draws: int) -> str:
    """An adjusted p-value as text with three decimals; "" if nothing was tested.

    It has a ≤ if none of ``n_draws`` draws from the null reached the value: only their number then limits p.
    """
    if math.isnan(p_adjusted):
        return ""
    sign = "≤" if p_value * (n_draws + 1) < 1.5 and p_adjusted < 1 else ""
    if round(p_adjusted, 3) <= SIGNIFICANCE < p_adjusted:
        return f">{SIGNIFICANCE:.3f}"  # rounding would make it look significant
    return "<0.001" if p_adjusted < 0.001 else f"{sign}{p_adjusted:.3f}"


def percent(share: float) -> str:
    """A share as text, "10 %", with at most six digits."""
    return f"{100 * share:.6g} %"


def size_text(n: np.ndarray) -> str:
    """Sizes of sets as one number, or as their range if they differ: "30", "28-31".

    Weighted rows, and rows that count as one together, may add up to "about 10".
    """
    shown = np.round(n) if np.min(n) >= 1 else n
    low, high = np.min(shown), np.max(shown)
    about = "" if np.allclose(shown, n) else "about "
    texts = [f"{size:.0f}" if size == np.rint(size) else f"{size:.6g}" for size in (float(low), float(high))]
    return about + "-".join(dict.fromkeys(texts))


def label_text(value: Any) -> str:
    """A value of a parameter as a short text."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return shorten(number(value) if is_number else str(value), CHOICE)


def values_text(values: Sequence[Any], domain: Domain) -> str:
    """The values of `GoodValues` as text: "0.2 to 0.4", or the first few choices."""
    if isinstance(domain, Categorical):
        return join_names(list(map(str, values)), _MOST_CHOICES)
    return span_text(*values) + " of the way between its bounds" * isinstance(domain, Varying)


def regime_text(domain: Domain) -> str:
    """A domain and its conditions as text, such as "[-5, -2] if c < 0.5" or "{16, 32, 64} if opt = adam"."""
    if isinstance(domain, Categorical):
        text = _set_of(domain.choices)
    elif isinstance(domain, Ordinal):
        text = _set_of(list(map(number, domain.values)))
    else:
        assert isinstance(domain, Numeric)
        ends = f"[{number(domain.low)}, {number(domain.high)}]"
        text = f"within {ends}" if isinstance(domain, Varying) else ends + " log" * domain.log
        text = number(domain.low) if domain.low == domain.high else text
    conditions = " and ".join(filter(None, map(_condition, domain.conditions)))
    return f"{text} if {conditions}" if conditions else text


def _condition(condition: Condition) -> str:
    """One condition in words; "" if only the log records which rows are in the regime."""
    if not isinstance(condition, (In, Between)):
        return ""
    parent = shorten(condition.parent, NAME)
    if isinstance(condition, In):
        values = _set_of(condition.values)
        return f"{parent} in {values}" if len(condition.values) > 1 else f"{parent} = {values[1:-1]}"
    low, high = number(condition.low), number(condition.high)
    if math.isinf(condition.high) and not math.isinf(condition.low):
        return f"{parent} ≥ {low}"
    return f"{parent} < {high}" if math.isinf(condition.low) else f"{low} ≤ {parent} < {high}"


def _set_of(values: Sequence[Any]) -> str:
    shown = [shorten(str(value), CHOICE) for value in values]
    if len(shown) > _MOST_VALUES + 1:
        shown[_MOST_VALUES:] = [f"… {len(values)} values"]
    return f"{{{', '.join(shown)}}}"


def join_some(texts: Iterable[str]) -> str:
    """ "a, b, c and d"; of five texts or more the first three, and how many more; "" of none."""
    texts = list(texts)
    if not texts:
        return ""
    *before, last = [*texts[:NAMED], f"{len(texts) - NAMED} more"] if len(texts) > NAMED + 1 else texts
    return f"{', '.join(before)} and {last}" if before else last


def columns_of(text: str) -> int:
    """How many columns of a terminal ``text`` takes: two for wide characters, none for combining ones.

    >>> columns_of("lr"), columns_of("学習率")
    (2, 6)
    """
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def shorten(text: str, length: int) -> str:
    """``text``, without its middle if it is longer than ``length`` characters."""
    if len(text) <= length:
        return text
    head = (length - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def short_names(names: Sequence[str], length: int) -> list[str]:
    """Each name in at most ``length`` characters, so that all stay different.

    The middle of a long name is left out. If that would make names equal, the beginning that they share is
    left out instead. A name that would still look like another one is written in full.
    """
    labels = {name: shorten(name, length) for name in names}
    for _, alike in groupby(sorted(labels, key=labels.__getitem__), labels.__getitem__):
        group = list(alike)
        columns = enumerate(zip(*group, strict=False))
        shared = next((i for i, letters in columns if len(set(letters)) > 1), min(map(len, group)))
        start = shared - length // 2
        if len(group) > 1 and start > 0:
            labels |= {name: f"…{name[start : start + length - 1]}" for name in group}
    uses = Counter(labels.values())
    return [labels[name] if uses[labels[name]] == 1 else name for name in names]
