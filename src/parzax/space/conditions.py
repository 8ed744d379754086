"""Conditions on a parent parameter: In, Between, and Recorded for what only the log knows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parzax import _checks


@dataclass(frozen=True, repr=False)
class In:
    """Holds where the parent has one of ``values`` (labels of a categorical, numbers otherwise)."""

    parent: str
    values: Sequence[Any]

    def __post_init__(self) -> None:
        _check_parent(self)
        if isinstance(self.values, str) or not isinstance(self.values, (Sequence, np.ndarray)):
            raise TypeError(f"In: values must be a sequence of values, got {self.values!r}.")
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in self.values)
        if not values:
            raise ValueError(f"In({self.parent!r}): values must not be empty.")
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"In({self.parent!r}, {list(self.values)!r})"


@dataclass(frozen=True, repr=False)
class Between:
    """Holds where ``low <= parent < high``; the parent is numeric."""

    parent: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        _check_parent(self)
        for name in ("low", "high"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and abs(value) == math.inf):
                object.__setattr__(self, name, _checks.real_number(f"Between: {name}", value))
        if not self.low < self.high:
            raise ValueError(
                f"Between({self.parent!r}): low must be below high, got {self.low}, {self.high}."
            )

    def __repr__(self) -> str:
        bounds = {"low": self.low, "high": self.high}
        given = [f"{name}={bound!r}" for name, bound in bounds.items() if abs(bound) != math.inf]
        return f"Between({', '.join([repr(self.parent), *given])})"


@dataclass(frozen=True)
class Recorded:
    """Known from the log alone: where a value is recorded the domain applied, elsewhere it did not.

    Optuna studies and tables without a declared space record which parameters each row had, not why.
    A parameter with one such domain is active where its value is not NaN; one with several needs
    ``regime`` when observations are built.
    """


Condition = In | Between | Recorded


def as_conditions(when: Condition | Sequence[Condition]) -> tuple[Condition, ...]:
    """Normalise the ``when`` argument to a tuple of conditions."""
    conditions = (when,) if isinstance(when, (In, Between, Recorded)) else tuple(when)
    for condition in conditions:
        if not isinstance(condition, (In, Between, Recorded)):
            raise TypeError(f"when must hold In or Between conditions, got {condition!r}.")
    return conditions


def _check_parent(condition: In | Between) -> None:
    if not isinstance(condition.parent, str):
        raise TypeError(f"{type(condition).__name__}: parent must be a name, got {condition.parent!r}.")
