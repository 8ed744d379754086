"""What pictures write: names, numbers, values, domains and conditions, in a few characters."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from parzax.importance.labels import short_names, shorten
from parzax.space import Between, Categorical, Condition, Domain, In, Numeric, Ordinal, Space, Varying

_MOST_VALUES = 3  # values of a domain that are listed
_NAME, _CHOICE = 28, 16  # characters of a name, and of a choice in a list


def plain(text: str) -> str:
    """``text`` drawn literally, on one line: control characters become a sign, dollars start no formula."""
    shown = (c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return "".join(shown).replace("$", r"\$")


def name(full: Any, length: int = _NAME) -> str:
    """A name that the user has given, as it is drawn."""
    return plain(shorten(str(full), length))


def names(full: Sequence[str], length: int) -> dict[str, str]:
    """Names that the user has given, as they are drawn: about ``length`` characters each, all different."""
    return {own: plain(short) for own, short in short_names(full, length).items()}


def number(x: float) -> str:
    """A number with at most four significant digits; small whole numbers in full."""
    return f"{x:.0f}" if abs(x) < 1e6 and x == int(x) else f"{x:.4g}"


def settings(space: Space, values: Mapping[str, float], most: int = 4) -> str:
    """The first ``most`` of native values by name, as they are drawn: "lr = 0.01, no momentum and 3 more"."""
    shown = []
    for own, value in list(values.items())[:most]:
        called, domain = shorten(own, _NAME), space[own][0]
        text = number(value)
        if isinstance(domain, Categorical) and not math.isnan(value):
            text = shorten(str(domain.choices[int(value)]), _CHOICE)
        shown.append(f"no {called}" if math.isnan(value) else f"{called} = {text}")
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return plain(", ".join(shown)) + more


def regime(own: Domain) -> str:
    """A domain and its conditions, not yet `plain`: "[-5, -2] if c < 0.5", "{16, 32, 64} if opt = adam"."""
    if isinstance(own, (Categorical, Ordinal)):
        text = _listed(own.choices if isinstance(own, Categorical) else list(map(number, own.values)))
    else:
        assert isinstance(own, Numeric)
        ends = f"[{number(own.low)}, {number(own.high)}]"
        text = f"within {ends}" if isinstance(own, Varying) else ends + " log" * own.log
        text = number(own.low) if own.is_single else text
    conditions = [text for text in map(_condition, own.conditions) if text]
    return text + (f" if {' and '.join(conditions)}" if conditions else "")


def _condition(own: Condition) -> str:
    """Empty for what only the log knows."""
    if not isinstance(own, (In, Between)):
        return ""
    parent = shorten(own.parent, _NAME)
    if isinstance(own, In):
        values = _listed(own.values)
        return f"{parent} in {values}" if len(own.values) > 1 else f"{parent} = {values[1:-1]}"
    low = "" if math.isinf(own.low) else f"{number(own.low)} ≤ "
    if low and math.isinf(own.high):
        return f"{parent} ≥ {number(own.low)}"
    return f"{low}{parent} < {number(own.high)}"


def _listed(values: Sequence[Any]) -> str:
    shown = [shorten(str(value), _CHOICE) for value in values]
    if len(shown) > _MOST_VALUES + 1:
        shown[_MOST_VALUES:] = [f"… {len(values)} values"]
    return f"{{{', '.join(shown)}}}"
