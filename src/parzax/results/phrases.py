"""Short phrases about numbers, domains and statuses, for pictures and the page."""

import math
from collections.abc import Sequence
from typing import Any

from parzax.results.labels import shorten
from parzax.space import Between, Categorical, Condition, Domain, In, Numeric, Ordinal, Varying
from parzax.status import Status

NAME, CHOICE = 28, 16  # characters of a name, and of a choice in a list
_MOST_VALUES = 3  # values of a domain that are listed

DEPENDENT = (
    "The rows are taken as independent. A sampler that learns, such as TPE, chooses each row by those before "
    "it, and its log is then far less certain than shown."
)
# What a status says about one parameter.
OF_PARAMETER = {
    Status.CONSTANT: "one value per regime",
    Status.SINGLE_VALUE: "one value per regime",
    Status.NEVER_ACTIVE: "never active",
    Status.NOT_IN_TARGET: "inactive in the target, counts as 0",
    Status.UNIDENTIFIABLE: "domain moves from row to row, not compared",
    Status.UNIQUE_LABELS: "as many labels as rows, says nothing",
    Status.LOW_REGIME_DATA: "few rows in a regime: rough",
    Status.SPARSE_REGIME: "a regime with one row left out",
    Status.REGIME_BOUNDARY: "the cut-off lies between its regimes: look on either side",
    Status.CROWDED: "most rows at one end of the range: narrow it, or use a log scale",
    Status.NOT_ABOVE_CHANCE: "varies less than by chance: counts as 0",
}
# What a status says about a level as a whole.
OF_LEVEL = {
    Status.LOW_DATA: "ten rows or fewer in the target or outside it: rough",
    Status.TIED_CUTOFF: "ties at the cut-off: the target is larger than asked",
    Status.SAME_SETS: "target and region are the same rows",
    Status.ALL_EQUAL: "all losses are equal",
    Status.NO_DATA: "fewer than two usable rows",
}


def number(x: float) -> str:
    """A number with at most four significant digits; small whole numbers in full."""
    return f"{x:.0f}" if abs(x) < 1e6 and x == int(x) else f"{x:.4g}"


def value_text(x: float) -> str:
    """An importance with two decimals, "<0.01" below that, "0" only for exactly nothing."""
    return "0" if x == 0 else f"{x:.2f}" if x >= 0.01 else "<0.01"


def regime(own: Domain) -> str:
    """A domain and its conditions, "[-5, -2] if c < 0.5", "{16, 32, 64} if opt = adam"."""
    if isinstance(own, (Categorical, Ordinal)):
        text = _listed(own.choices if isinstance(own, Categorical) else list(map(number, own.values)))
    else:
        assert isinstance(own, Numeric)
        ends = f"[{number(own.low)}, {number(own.high)}]"
        text = f"within {ends}" if isinstance(own, Varying) else ends + " log" * own.log
        text = number(own.low) if own.n_values == 1 else text
    conditions = [text for text in map(_condition, own.conditions) if text]
    return text + (f" if {' and '.join(conditions)}" if conditions else "")


def _condition(own: Condition) -> str:
    """Empty for what only the log knows."""
    if not isinstance(own, (In, Between)):
        return ""
    parent = shorten(own.parent, NAME)
    if isinstance(own, In):
        values = _listed(own.values)
        return f"{parent} in {values}" if len(own.values) > 1 else f"{parent} = {values[1:-1]}"
    low = "" if math.isinf(own.low) else f"{number(own.low)} ≤ "
    if low and math.isinf(own.high):
        return f"{parent} ≥ {number(own.low)}"
    return f"{low}{parent} < {number(own.high)}"


def _listed(values: Sequence[Any]) -> str:
    shown = [shorten(str(value), CHOICE) for value in values]
    if len(shown) > _MOST_VALUES + 1:
        shown[_MOST_VALUES:] = [f"… {len(values)} values"]
    return f"{{{', '.join(shown)}}}"
