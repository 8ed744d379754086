"""Short texts for tables, pictures and the page: numbers, domains, and names that stay different."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any
from unicodedata import combining, east_asian_width

import numpy as np

from parzax._words import visible
from parzax.space import Between, Categorical, Condition, Domain, In, Numeric, Ordinal, Varying

# Family-wise error rate of the tests of all parameters at one level.
SIGNIFICANCE = 0.05
NAME, CHOICE = 28, 16  # longest name, and longest choice in a list, in characters
_MOST_VALUES = 3  # largest number of values of a domain that are listed


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
    return "" if math.isnan(low) or math.isnan(high) else f"{low:.2f} to {high:.2f}"


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
        text = number(domain.low) if domain.n_values == 1 else text
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


def short_names(names: Sequence[str], length: int) -> dict[str, str]:
    """Each name in about ``length`` characters, longer only as far as needed to keep all different.

    The middle of a long name is left out. If that would make two names equal, their common parts are left out
    instead.
    """
    labels = {name: shorten(name, length) for name in names}
    width, longest = length, max(map(len, labels), default=0)
    while len(set(labels.values())) < len(labels):
        alike = groupby(sorted(labels, key=labels.__getitem__), labels.__getitem__)
        for group in [list(group) for _, group in alike]:
            if len(group) > 1:
                labels |= _differences(group, width)
        if width >= longest:
            break
        width = min(width + max(width // 4, 1), longest)
    return labels


def short_labels(names: Sequence[str], length: int) -> list[str]:
    """`short_names` of the visible names, in their order."""
    shown = [visible(name) for name in names]
    return list(map(short_names(shown, length).__getitem__, shown))


def _differences(group: list[str], length: int) -> dict[str, str]:
    """The part in which the names differ, with as much text around it as fits."""
    before = _common(group)
    after = min(_common([name[::-1] for name in group]), min(map(len, group)) - before)
    out = {}
    for name in group:
        spare = max(length - 2 - (len(name) - before - after), 0)
        right = min(after, spare - min(before, spare // 2))
        start, stop = max(before - spare + right, 0), len(name) - after + right
        text = ("…" if start else "") + name[start:stop] + ("…" if stop < len(name) else "")
        # Replacing a single character by an ellipsis saves nothing.
        out[name] = name if len(name) <= max(length, len(text)) else shorten(text, length)
    return out


def _common(names: list[str]) -> int:
    """Number of leading characters that all names share; the first and the last in order differ most."""
    first, last = min(names), max(names)
    return next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
