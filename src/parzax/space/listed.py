"""Domains of listed values: Ordinal numbers and Categorical choices."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from parzax import _checks
from parzax.space.domains import Domain

# A value is an ordinal's if it differs by no more than this, relative to it.
VALUE_SLACK = 1e-6


@dataclass(frozen=True, repr=False)
class Ordinal(Domain):
    """Ascending numbers such as batch sizes; native values, one grid cell each (shared beyond 50).

    ``log`` says that the values are spaced on a log axis (it matters for kernels in unit coordinates;
    the importance grid goes by rank either way).
    """

    values: Sequence[float]
    _: KW_ONLY
    log: bool = False
    kind: ClassVar[str] = "ordinal"

    def __post_init__(self) -> None:
        super().__post_init__()
        values = tuple(_checks.real_number("Ordinal: values", v) for v in self.values)
        if not values or any(b <= a for a, b in pairwise(values)):
            raise ValueError(f"Ordinal: values must be ascending and at least one, got {self.values!r}.")
        if self.log and values[0] <= 0:
            raise ValueError(f"Ordinal: log needs values above 0, got {values[0]!r}.")
        whole = all(isinstance(v, (int, np.integer)) for v in self.values)
        object.__setattr__(self, "values", tuple(int(v) if whole else float(v) for v in self.values))

    @property
    def n_values(self) -> int:
        """Number of values."""
        return len(self.values)

    @property
    def is_single(self) -> bool:
        """Whether the domain holds exactly one value."""
        return len(self.values) == 1

    def rank(self, values: np.ndarray) -> np.ndarray:
        """Index of each native value in ``values``, -1 where it is none of them."""
        table = np.asarray(self.values, dtype=np.float64)
        index = np.clip(np.searchsorted(table, values), 0, len(table) - 1)
        lower = np.maximum(index - 1, 0)
        index = np.where(np.abs(table[lower] - values) < np.abs(table[index] - values), lower, index)
        near = np.abs(table[index] - values) <= VALUE_SLACK * np.maximum(np.abs(table[index]), 1e-300)
        return np.where(near, index, -1)

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Mask of native ``values`` that do not belong to the domain."""
        return self.rank(values) < 0


@dataclass(frozen=True, repr=False)
class Categorical(Domain):
    """Unordered choices; a value is the integer code of its choice.

    Choices are None, bool, int, float or str, and stay apart by type as well as value: ``[True, 1]``
    and ``[1, 1.0]`` are two choices each.
    """

    choices: Sequence[Any]
    kind: ClassVar[str] = "categorical"
    codes: dict[tuple[str, str], int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.choices, str) or not isinstance(self.choices, (Sequence, np.ndarray)):
            raise TypeError(f"Categorical: choices must be a sequence, got {self.choices!r}.")
        choices = tuple(c.item() if isinstance(c, np.generic) else c for c in self.choices)
        codes: dict[tuple[str, str], int] = {}
        for code, choice in enumerate(choices):
            if choice is not None and not isinstance(choice, (bool, int, float, str)):
                raise TypeError(
                    f"Categorical: choice {choice!r} is of type {type(choice).__name__}; use None, bool, "
                    "int, float or str (for anything else, a label such as its repr)."
                )
            if codes.setdefault(choice_key(choice), code) != code:
                raise ValueError(f"Categorical: choice {choice!r} appears twice in {choices!r}.")
        if not choices:
            raise ValueError("Categorical: choices must not be empty.")
        object.__setattr__(self, "choices", choices)
        object.__setattr__(self, "codes", codes)

    def __eq__(self, other: object) -> bool:
        # True == 1 in Python; here they are different choices.
        return isinstance(other, Categorical) and (list(self.codes), self.conditions) == (
            list(other.codes),
            other.conditions,
        )

    def __hash__(self) -> int:
        return hash((tuple(self.codes), self.conditions))

    @property
    def n_values(self) -> int:
        """Number of choices."""
        return len(self.choices)

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Mask of codes that are not whole numbers in [0, number of choices)."""
        return ~((values >= 0) & (values < len(self.choices)) & (values == np.floor(values)))


def choice_key(choice: Any) -> tuple[str, str]:
    """Identity of a choice: its type and its printed form (so that 1, 1.0 and True differ, NaN is itself)."""
    return type(choice).__name__, repr(choice)
