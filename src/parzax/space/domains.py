"""Domains on the real line: Float, Int, and Varying for moving bounds; and the base of all domains."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import ClassVar

import numpy as np

from parzax import _checks
from parzax.space.conditions import Condition, as_conditions

# Integers are carried in float64, which is exact up to here.
MAX_INTEGER = 2**53
# Logs of floating-point runs carry rounding: a value may miss a bound by this share of the bound.
BOUND_SLACK = 64 * 2.0**-52
# ... and a stepped value its grid by this share of a step, as a float32 thousands of steps from 0 does.
STEP_SLACK = 1e-3
# By so much of a step a domain may fail to be a whole number of steps.
_RATIO_SLACK = 1e-6


@dataclass(frozen=True, repr=False)
class Domain(ABC):
    """Base of all domains: a set of values, and the conditions under which it applies.

    ``when`` is one condition or a tuple of conditions that must all hold.
    """

    _: KW_ONLY
    when: Condition | Sequence[Condition] = ()
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", as_conditions(self.when))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that must all hold, as a tuple."""
        return as_conditions(self.when)

    def __repr__(self) -> str:
        parts = []
        for item in fields(self):
            value = getattr(self, item.name)
            if (
                not item.init
                or (item.name == "step" and value == 1)
                or (item.default == value and item.kw_only)
            ):
                continue
            if item.name == "when" and len(value) == 1:
                value = value[0]
            if isinstance(value, tuple) and not item.kw_only:
                value = list(value)
            parts.append(f"{item.name}={value!r}" if item.kw_only else repr(value))
        # `when` is the first field of the base class; it reads best last.
        parts.sort(key=lambda part: part.startswith("when="))
        return f"{type(self).__name__}({', '.join(parts)})"

    @property
    @abstractmethod
    def n_values(self) -> int | None:
        """Number of distinct values, None for a continuum."""

    @property
    def is_single(self) -> bool:
        """Whether the domain holds exactly one value."""
        return self.n_values == 1

    @abstractmethod
    def outside(self, values: np.ndarray) -> np.ndarray:
        """Mask of native ``values`` (any shape) that do not belong to the domain; NaN does not."""


@dataclass(frozen=True, repr=False)
class Numeric(Domain):
    """A domain on the real line, from ``low`` to ``high``, both included."""

    low: float
    high: float
    _: KW_ONLY
    log: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _set_bounds(self)

    @property
    def n_values(self) -> int | None:
        """Number of distinct values, None for a continuum."""
        return 1 if self.low == self.high else None

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Mask of native ``values`` (any shape) that do not belong to the domain; NaN does not."""
        scale = max(abs(self.low), abs(self.high))
        below, above = (self.low, self.high) if self.log else (scale, scale)
        low, high = self.low - BOUND_SLACK * below, self.high + BOUND_SLACK * above
        return ~((values >= low) & (values <= high))

    def to_position(self, values: np.ndarray) -> np.ndarray:
        """Map native ``values`` to the axis on which the domain is uniform (the log axis if ``log``)."""
        values = np.clip(values, self.low, self.high)
        return np.log(values) if self.log else values

    @property
    def position_bounds(self) -> tuple[float, float]:
        """The ends of the domain on the axis of `to_position`."""
        return (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)

    def to_native(self, unit: np.ndarray) -> np.ndarray:
        """Map unit coordinates in [0, 1] to native values, without rounding to a step."""
        low, high = self.position_bounds
        position = low + np.asarray(unit, dtype=np.float64) * (high - low)
        return np.clip(np.exp(position) if self.log else position, self.low, self.high)


@dataclass(frozen=True, repr=False)
class Float(Numeric):
    """A real parameter on ``[low, high]``, uniform on a log axis if ``log``, or in steps of ``step``."""

    _: KW_ONLY
    step: float | None = None
    kind: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        super().__post_init__()
        _set_step(self)

    @property
    def n_values(self) -> int | None:
        """Number of distinct values, None for a continuum."""
        return super().n_values if self.step is None else round((self.high - self.low) / self.step) + 1

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Mask of native ``values`` outside the bounds or off the steps."""
        return super().outside(values) | _off_grid(self, values)


@dataclass(frozen=True, repr=False)
class Int(Numeric):
    """A whole number from ``low`` to ``high``, uniform on a log axis if ``log``, in steps of ``step``."""

    _: KW_ONLY
    step: int = 1
    kind: ClassVar[str] = "int"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high", "step"):
            value = getattr(self, name)
            if value != int(value):
                raise ValueError(f"Int: {name} must be a whole number, got {value!r}. Use Float instead?")
            if abs(value) > MAX_INTEGER:
                raise ValueError(
                    f"Int: {name} = {value!r} is beyond 2**53, where float64 stops being exact; rescale it."
                )
            object.__setattr__(self, name, int(value))
        _set_step(self)

    @property
    def n_values(self) -> int:
        """Number of distinct values."""
        return (int(self.high) - int(self.low)) // self.step + 1

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Mask of native ``values`` outside the bounds or off the steps."""
        inside = (values >= self.low) & (values <= self.high)
        return ~inside | _off_grid(self, values)


@dataclass(frozen=True, repr=False)
class Varying(Numeric):
    """A numeric domain whose bounds move from row to row, kept as one regime.

    There is no common grid for such rows, so they contribute no within-regime variance and the
    parameter is reported as unidentifiable. ``low`` and ``high`` span all the bounds seen.
    """

    kind: ClassVar[str] = "varying"


def _set_bounds(domain: Numeric) -> None:
    name = type(domain).__name__
    for field_name in ("low", "high"):
        value = _checks.real_number(f"{name}: {field_name}", getattr(domain, field_name))
        if not isinstance(domain, Int):
            object.__setattr__(domain, field_name, value)
    if domain.low > domain.high:
        raise ValueError(f"{name}: low must not exceed high, got low={domain.low!r}, high={domain.high!r}.")
    if not math.isfinite(float(domain.high) - float(domain.low)):
        raise ValueError(f"{name}: high - low overflows for low={domain.low!r}, high={domain.high!r}.")
    if domain.log and domain.low <= 0:
        raise ValueError(f"{name}: log needs low > 0, got low={domain.low!r}.")


def _set_step(domain: Float | Int) -> None:
    if domain.step is None:
        return
    name = type(domain).__name__
    step = _checks.real_number(f"{name}: step", domain.step)
    if step <= 0:
        raise ValueError(f"{name}: step must be positive, got {domain.step!r}.")
    if domain.log and not (isinstance(domain, Int) and step == 1):
        raise ValueError(f"{name}: step={domain.step!r} and log=True cannot be combined.")
    ratio = (domain.high - domain.low) / step
    if abs(ratio - round(ratio)) > _RATIO_SLACK:
        reachable = domain.low + math.floor(ratio) * step
        raise ValueError(
            f"{name}: step={domain.step!r} does not divide [{domain.low!r}, {domain.high!r}]; "
            f"the last value it reaches is {reachable!r}."
        )


def _off_grid(domain: Float | Int, values: np.ndarray) -> np.ndarray:
    if domain.step is None:
        return np.zeros(np.shape(values), dtype=bool)
    steps = (values - domain.low) / domain.step
    return ~(np.abs(steps - np.round(steps)) <= STEP_SLACK)
