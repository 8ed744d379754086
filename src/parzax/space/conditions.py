"""Conditions on a parent parameter: In and Between; and Recorded, for domains that only the log can tell."""

import math
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Num

from parzax import _checks
from parzax.space.axes import BOUND_SLACK, Cells

# Keys of a parent at which a condition holds: low <= key < high, or the single key ``low`` if both are equal.
# The key of a discrete value is its index, so that rounding cannot move the value across a bound. On a
# continuum the key is the value itself.
Interval: TypeAlias = tuple[float, float]
# Values of a continuum that differ by this many units in the last place count as equal.
UNITS = 64


def repr_as_call(self: Any) -> str:
    """The repr of a dataclass as the call that makes it, without defaults."""
    parts = []
    # `when` is the first field of its class, but the repr has it last.
    for item in sorted(fields(self), key=lambda item: item.name == "when"):
        value = getattr(self, item.name)
        if item.init and item.default is MISSING:
            parts.append(repr(list(value) if isinstance(value, tuple) else value))
        elif item.init and value != item.default:
            alone = item.name == "when" and len(value) == 1
            parts.append(f"{item.name}={(value[0] if alone else value)!r}")
    return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, repr=False)
class In:
    """Holds where the parent has one of ``values`` (labels of a categorical, numbers otherwise)."""

    parent: str
    # True == 1 in Python, so keys are compared instead of values, as in `Categorical`.
    values: Sequence[Any] = field(compare=False)
    keys: tuple[tuple[str, str], ...] = field(init=False)
    __repr__ = repr_as_call

    def __post_init__(self) -> None:
        _checks.instance("In: parent", self.parent, str, "a name")
        values = plain_values(f"In({self.parent!r}): values", self.values)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "keys", tuple(map(choice_key, values)))

    def intervals(self, domain: Any) -> tuple[Interval, ...]:
        """The keys of a parent's `Domain` at which the condition holds; all evaluations use them."""
        keys = sorted({key for value in self.values if (key := domain.key(value)) is not None})
        wide = int(domain.axis.discrete)
        return tuple((key, key + wide) for key in keys)


@dataclass(frozen=True, repr=False)
class Between:
    """Holds where ``low <= parent < high``; the parent is numeric."""

    parent: str
    low: float = -math.inf
    high: float = math.inf
    __repr__ = repr_as_call

    def __post_init__(self) -> None:
        _checks.instance("Between: parent", self.parent, str, "a name")
        check_ends(self)
        if not self.low < self.high:
            bounds = f"low must be below high, got {self.low}, {self.high}."
            raise ValueError(f"Between({self.parent!r}): {bounds}")

    def intervals(self, domain: Any) -> tuple[Interval, ...]:
        """See `In.intervals`."""
        axis, low, high = domain.axis, self.low, self.high
        if isinstance(axis, Cells):
            low, high = (_first_from(bound, axis) for bound in (low, high))
            return ((low, high),) if low < high else ()
        lowest, highest = domain.ends().tolist()
        return ((low, high),) if low <= highest and lowest < high else ()


@dataclass(frozen=True)
class Recorded:
    """A condition that only the log can tell: the domain applied in the rows where a value is recorded.

    Optuna studies and tables without a declared space record which parameters each row had, not why.
    A parameter with one such domain is active where its value is not NaN; a parameter with several such
    domains needs ``regime`` when observations are built.
    """

    def intervals(self, domain: Any) -> tuple[Interval, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class Given(Recorded):
    """A condition on given values that are no part of the space, see `ParzenEstimator.conditional`.

    The estimator knows whether it holds (`parzax.space.Frame.permitted`).
    """


Condition: TypeAlias = In | Between | Recorded


def common_intervals(several: Sequence[tuple[Interval, ...]]) -> tuple[Interval, ...]:
    """The keys that lie in at least one interval of every list."""

    def overlap(a: Interval, b: Interval) -> tuple[Interval, ...]:
        low, high = max(a[0], b[0]), min(a[1], b[1])
        # A single key lies in an interval that begins at it, but not in one that ends at it.
        single = low == high and all(i[0] == i[1] or low < i[1] for i in (a, b))
        return ((low, high),) if low < high or single else ()

    common, *rest = several
    for intervals in rest:
        common = tuple(both for a in common for b in intervals for both in overlap(a, b))
    return common


def among(condition: Condition, domains: Collection[Any]) -> Condition | None:
    """A condition without values that none of its parent's domains has; None if it cannot hold."""
    if isinstance(condition, In):
        values = [v for v in condition.values if any(domain.key(v) is not None for domain in domains)]
        return In(condition.parent, values) if values else None
    return condition if any(map(condition.intervals, domains)) else None


def is_inside(key: Any, low: Any, high: Any) -> Any:
    """Whether the key of a parent's value is in an interval; a single key has a tolerance."""
    xp = key.__array_namespace__()
    only = low == high
    slack = xp.where(only, UNITS * float(np.finfo(key.dtype).eps) * xp.abs(low), 0)
    end = xp.where(only, low + slack, high)
    return (key >= low - slack) & ((key < end) | (only & (key == end)))


def holds(condition: Condition, domain: Any, x: Num[Any, "..."]) -> Bool[Any, "..."]:
    """Whether a condition holds at native values of a parent (codes of a category); False at NaN."""
    at = np.asarray(x, np.float64)[..., None]
    key = domain.axis.index(at).astype(np.float64) if domain.axis.discrete else at
    ends = np.array(condition.intervals(domain), np.float64).reshape(-1, 2).T
    return (is_inside(key, *ends) & ~domain.outside(at)).any(axis=-1)


def as_conditions(when: Any) -> tuple[Condition, ...]:
    """One condition, or several, as a tuple."""
    when = (when,) if isinstance(when, Condition) else tuple(when)
    for condition in when:
        wanted = "a condition such as In(parent, [value]), or a list of them"
        _checks.instance("when", condition, Condition, wanted)
    return when


def plain_values(name: str, values: Any) -> tuple[Any, ...]:
    """Return the values as a tuple without NumPy scalars; raise unless they are a non-empty sequence."""
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be a sequence such as [1, 2], got {values!r}.")
    if len(values) == 0:
        raise ValueError(f"{name} must not be empty.")
    return tuple(v.item() if isinstance(v, np.generic) else v for v in values)


def check_ends(bounded: Any) -> None:
    """Make the fields ``low`` and ``high`` plain numbers, or raise; infinite ones are open ends."""
    for name in ("low", "high"):
        value = getattr(bounded, name)
        if not (isinstance(value, (int, float)) and abs(value) == math.inf):
            number = _checks.real_number(f"{type(bounded).__name__}: {name}", value)
            object.__setattr__(bounded, name, number)


def choice_label(choice: Any) -> Any:
    """A choice as `parzax.Categorical` accepts it: plain values unchanged, others as their repr."""
    choice = choice.item() if isinstance(choice, np.generic) else choice
    return choice if choice is None or isinstance(choice, (bool, int, float, str)) else repr(choice)


def choice_key(choice: Any) -> tuple[str, str]:
    """Identity of a choice: type and printed form of its label, so that 1, 1.0 and True differ."""
    label = choice_label(choice)
    return type(label).__name__, repr(label)


def _first_from(bound: float, axis: Cells) -> int:
    """Number of the first value at or above a bound, up to rounding."""
    n = int(axis.n_values)
    if math.isinf(bound):
        return 0 if bound < 0 else n
    least = bound - BOUND_SLACK * abs(bound)
    return bisect_left(range(n), least, key=lambda i: axis.value(np.array(i), np.float64))
