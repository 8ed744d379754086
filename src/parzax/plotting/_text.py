"""Domains and conditions in a few characters."""

import math
from typing import Any

from parzax.plotting._matplotlib import shorten
from parzax.space import Between, Categorical, Condition, Domain, In, Numeric, Ordinal, Varying

_MOST_VALUES = 3


def number(x: float) -> str:
    """A number with at most four significant digits; small whole numbers in full."""
    return f"{x:.0f}" if x == int(x) and abs(x) < 1e6 else f"{x:.4g}"


def choice(value: Any, length: int = 16) -> str:
    """A choice of a categorical parameter; numbers and names as they are."""
    return shorten(str(value), length)


def domain(own: Domain) -> str:
    """The values of a domain: "[0.0001, 1] log", "{16, 32, 64}"."""
    if isinstance(own, Categorical):
        return _set([choice(c) for c in own.choices])
    if isinstance(own, Ordinal):
        return _set([number(v) for v in own.values])
    assert isinstance(own, Numeric)
    if isinstance(own, Varying):
        return f"within [{number(own.low)}, {number(own.high)}]"
    if own.is_single:
        return number(own.low)
    return f"[{number(own.low)}, {number(own.high)}]" + (" log" if own.log else "")


def condition(own: Condition) -> str:
    """A condition: "c < 0.5", "booster = gblinear"; "" for what only the log knows."""
    if isinstance(own, Between):
        if math.isinf(own.low):
            return f"{own.parent} < {number(own.high)}"
        if math.isinf(own.high):
            return f"{own.parent} ≥ {number(own.low)}"
        return f"{number(own.low)} ≤ {own.parent} < {number(own.high)}"
    if isinstance(own, In):
        if len(own.values) == 1:
            return f"{own.parent} = {choice(own.values[0])}"
        return f"{own.parent} in {_set([choice(v) for v in own.values])}"
    return ""


def regime(own: Domain) -> str:
    """A domain and its conditions: "[-5, -2] if c < 0.5"."""
    conditions = [text for text in map(condition, own.conditions) if text]
    return domain(own) + (f" if {' and '.join(conditions)}" if conditions else "")


def _set(values: list[str]) -> str:
    if len(values) <= _MOST_VALUES + 1:
        return f"{{{', '.join(values)}}}"
    return f"{{{', '.join(values[:_MOST_VALUES])}, … {len(values)} values}}"
