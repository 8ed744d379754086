"""Domains: Float, Int, and Varying for moving bounds; Ordinal numbers on a list, and Categorical choices."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np

from parzax import _checks
from parzax.space.axes import BOUND_SLACK, Axis, Cells, Continuum
from parzax.space.conditions import (
    Condition,
    as_conditions,
    choice_key,
    choice_label,
    plain_values,
    repr_as_call,
)

# Largest integer: integers are stored in float64, which is exact up to here.
MAX_INTEGER = 2**53
# Share of a step by which a domain may miss a whole number of steps.
_RATIO_SLACK = 1e-6


@dataclass(frozen=True, repr=False)
class Domain(ABC):
    """Base of all domains: a set of values, and the conditions under which it applies.

    ``when`` is one condition or a tuple of conditions that must all hold; ``conditions`` is always a tuple.
    """

    _: KW_ONLY
    when: Condition | Sequence[Condition] = ()
    conditions: tuple[Condition, ...] = field(init=False, compare=False)
    periodic = False  # whether the last value is next to the first, see `Float` and `Int`
    has_integers = False  # whether the values are integers by type, as in `Int`; not only equal to integers
    __repr__ = repr_as_call

    def __new__(cls, *_: Any, **kwargs: Any) -> Self:
        options = [field.name for field in fields(cls) if field.init]
        for name in kwargs:
            if name not in options:
                raise TypeError(f"{cls.__name__} has no argument {name!r}; {_checks.suggest(name, options)}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        when = as_conditions(self.when)
        object.__setattr__(self, "when", when)
        object.__setattr__(self, "conditions", when)

    @property
    def n_values(self) -> int | None:
        """Number of distinct values, None for a continuum."""
        return int(self.axis.n_values) or None

    @cached_property
    def axis(self) -> Axis:
        """The axis: where the values lie in [0, 1]. All code encodes values by this axis."""
        return self._axis()

    @abstractmethod
    def _axis(self) -> Axis: ...

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Mask of native ``values`` (any shape) that do not belong to the domain; NaN does not."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            x = np.asarray(values, dtype=np.float64)
            return ~self.axis.has(x, self.axis.index(x))

    def key(self, value: Any) -> float | None:
        """The key of a value, see `parzax.space.conditions`; None if the domain does not have it."""
        if isinstance(value, (str, bytes)) or value is None:
            return None
        at = np.asarray(value, dtype=np.float64)
        if self.outside(at):
            return None
        return float(self.axis.index(at)) if self.axis.discrete else float(at)

    def ends(self) -> np.ndarray:
        """The smallest and the largest native value."""
        return self.axis.native(np.array(self.axis.ends), np.array([0, max(int(self.axis.n_values) - 1, 0)]))

    def list_values(self) -> np.ndarray:
        """The native values of a domain with discrete values, ascending; codes for categories."""
        numbers = np.arange(self.axis.n_values)
        return self.axis.native(np.zeros(len(numbers)), numbers)

    def interpret(self, number: Any) -> Any:
        """The value that a native number stands for: an int, a float, or the choice of a code."""
        return round(number) if self.has_integers else float(number)


@dataclass(frozen=True, repr=False)
class Numeric(Domain):
    """A domain on the real line, from ``low`` to ``high``, both included."""

    low: float
    high: float
    _: KW_ONLY
    log: bool = False
    step: float | None = None
    periodic: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        for bound in ("low", "high"):
            object.__setattr__(self, bound, self._number(bound))
        if self.low > self.high:
            raise ValueError(f"{name}: low must not exceed high, got low={self.low!r}, high={self.high!r}.")
        is_open = math.inf in (-self.low, self.high)
        if is_open and (self.periodic or self.step is not None or self.low == self.high):
            raise ValueError(
                f"{name}: steps and circles need bounds, got low={self.low!r}, high={self.high!r}."
            )
        if not is_open and not math.isfinite(float(self.high) - float(self.low)):
            raise ValueError(f"{name}: high - low overflows for low={self.low!r}, high={self.high!r}.")
        object.__setattr__(self, "log", _checks.flag(f"{name}: log", self.log))
        if self.log and self.low <= 0 and (self.low, self.high) != (0, math.inf):
            raise ValueError(f"{name}: log needs low > 0, got low={self.low!r}.")
        object.__setattr__(self, "periodic", _checks.flag(f"{name}: periodic", self.periodic))
        if self.periodic and (self.log or isinstance(self, Varying)):
            raise ValueError(f"{name}: periodic=True needs log=False and bounds that do not move.")
        if self.step is not None:
            step = self._number("step")
            if self.periodic and isinstance(self, Float):
                values = "low and high are one value, so steps would have it twice"
                raise ValueError(f"Float: step and periodic=True cannot be combined: {values}; use Int.")
            if step <= 0:
                raise ValueError(f"{name}: step must be positive, got {self.step!r}.")
            if self.log and (step != 1 or isinstance(self, Float)):
                raise ValueError(f"{name}: step={self.step!r} and log=True cannot be combined.")
            # Steps of a `Varying` domain are counted from each row's lower bound, so they need not divide it.
            ratio = (self.high - self.low) / step
            if abs(ratio - round(ratio)) > _RATIO_SLACK and not isinstance(self, Varying):
                division = f"step={self.step!r} does not divide [{self.low!r}, {self.high!r}]"
                last = f"the last value it reaches is {self.low + math.floor(ratio) * step!r}."
                raise ValueError(f"{name}: {division}; {last}")

    def _number(self, field: str) -> float:
        """Return a field as a finite number, or raise."""
        return _checks.real_number(f"{type(self).__name__}: {field}", getattr(self, field))

    def _axis(self) -> Axis:
        step = self.step
        if self.low == self.high:
            # A domain of one value has a tiny step: the tolerance is a share of the step, and a large one
            # would accept other values.
            return Cells.stepped(1, self.low, 1e3 * BOUND_SLACK * abs(self.low) or 1e-300)
        if step is None or isinstance(self, Varying):
            return Continuum.between(float(self.low), float(self.high), self.log)
        width = self.high - self.low
        n_steps = int(width // step) if isinstance(self, Int) else round(width / step)
        return Cells.stepped(n_steps + 1, self.low, step, self.log)


@dataclass(frozen=True, repr=False)
class Float(Numeric):
    """A real parameter on ``[low, high]``, uniform on a log axis if ``log``, or in steps of ``step``.

    If ``periodic``, low and high are one point of a circle, such as 0 and 2 pi. An infinite bound makes the
    domain open, for densities only; ``Float(0, inf, log=True)`` is open at both ends of its log axis.
    """

    def _number(self, field: str) -> float:
        value = getattr(self, field)
        return float(value) if value in (-math.inf, math.inf) else super()._number(field)


@dataclass(frozen=True, repr=False)
class Int(Numeric):
    """A whole number from ``low`` to ``high``, uniform on a log axis if ``log``, in steps of ``step``.

    If ``periodic``, low comes one step after high, as hour 0 after hour 23.
    """

    has_integers = True
    _: KW_ONLY
    step: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", self._number("step"))
        super().__post_init__()

    def _number(self, field: str) -> int:
        super()._number(field)
        value = getattr(self, field)
        if value != int(value):
            raise ValueError(f"Int: {field} must be a whole number, got {value!r}. Use Float instead?")
        if abs(value) > MAX_INTEGER:
            beyond = "is beyond 2**53, where float64 stops being exact; rescale it."
            raise ValueError(f"Int: {field} = {value!r} {beyond}")
        return int(value)


@dataclass(frozen=True, repr=False)
class Varying(Numeric):
    """A numeric domain whose bounds move from row to row, such as [0, c], kept as one regime.

    ``low`` and ``high`` enclose the bounds of all rows. Give the bounds of each row as ``bounds`` of
    `parzax.Observations.from_arrays`. Importance compares values by their place between the bounds of their
    row, on the log axis if ``log``. If ``step`` is given, values are counted in steps from the row's lower
    bound; integers have step 1, also with ``log``. Rows without bounds are not compared
    (`parzax.Status.UNIDENTIFIABLE`). Everything else treats the domain as a continuum from ``low`` to
    ``high``.
    """


@dataclass(frozen=True, repr=False)
class Ordinal(Domain):
    """Ascending numbers such as batch sizes, given as native values.

    Each value has one grid cell; if there are more values than `Grid.max_cells`, neighbours share cells.

    ``log`` says that the values are spaced on a log axis. It matters for kernels in unit coordinates; the
    importance grid uses the rank of a value in any case. Random suggestions of samplers, such as their first
    ones, are uniform over the values. The prior of a density is nearly uniform over the axis, so it depends
    on the distances between values. For the values 1, 4, 16, ..., 1024 it gives about half of its mass to
    1024, unless ``log``.
    """

    values: Sequence[float]
    _: KW_ONLY
    log: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.flag("Ordinal: log", self.log)
        values = tuple(_checks.real_number("Ordinal: values", v) for v in self.values)
        if not values or any(b <= a for a, b in pairwise(values)):
            raise ValueError(f"Ordinal: values must ascend, with at least one value, got {self.values!r}.")
        if self.log and values[0] <= 0:
            raise ValueError(f"Ordinal: log needs values above 0, got {values[0]!r}.")
        kind = int if all(isinstance(v, (int, np.integer)) for v in self.values) else float
        object.__setattr__(self, "values", tuple(map(kind, self.values)))
        object.__setattr__(self, "has_integers", kind is int)

    def _axis(self) -> Axis:
        if len(self.values) == 1:
            (only,) = self.values
            return Cells.stepped(1, only, 1e-3 * abs(only) or 1e-300)
        return Cells.listed(self.values, self.log)


@dataclass(frozen=True, repr=False)
class Categorical(Domain):
    """Unordered choices; a value is the integer code of its choice.

    Choices are None, bool, int, float or str. Choices of different types are different: ``[True, 1]`` and
    ``[1, 1.0]`` are two choices each.
    """

    # In Python True == 1, but here they are different choices. So equality compares keys instead of values.
    choices: Sequence[Any] = field(compare=False)
    codes: dict[tuple[str, str], int] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        choices = plain_values("Categorical: choices", self.choices)
        codes: dict[tuple[str, str], int] = {}
        for code, choice in enumerate(choices):
            if choice_label(choice) is not choice:
                hint = "use None, bool, int, float or str (for anything else, a label such as its repr)."
                raise TypeError(f"Categorical: choice {choice!r} is of type {type(choice).__name__}; {hint}")
            if codes.setdefault(choice_key(choice), code) != code:
                raise ValueError(f"Categorical: choice {choice!r} appears twice in {choices!r}.")
        object.__setattr__(self, "choices", choices)
        object.__setattr__(self, "codes", codes)

    def __hash__(self) -> int:
        return hash((tuple(self.codes), self.conditions))

    def _axis(self) -> Axis:
        return Cells.stepped(len(self.choices))

    def key(self, value: Any) -> float | None:
        return self.codes.get(choice_key(value))

    def interpret(self, number: Any) -> Any:
        return self.choices[int(number)]
