"""One parameter of an Optuna study: its values as native numbers of a parzax domain, and back."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from parzax.adapters.optuna_regimes import choice_label, to_domain
from parzax.space import Categorical, Domain, Float, Int, Ordinal, choice_key
from parzax.space.domains import MAX_INTEGER

# Kernels number the values of a parameter in int32.
_MOST_VALUES = 2**31 - 1


@dataclass(frozen=True)
class Parameter:
    """A parameter of a study.

    Attributes:
        name: of the parameter.
        distribution: Optuna's.
        domains: parzax's; of an inferred space one, in which a category is known by its number.
        codes: identity of a choice -> code; None for a numeric parameter.
        choices: code -> choice.
    """

    name: str
    distribution: BaseDistribution
    domains: tuple[Domain, ...]
    codes: dict[Any, int] | None = None
    choices: tuple[Any, ...] = ()

    def to_native(self, value: Any) -> float:
        """A value as a number; NaN for one that the parameter does not have."""
        if self.codes is not None:
            return self.codes.get(_identity(value), math.nan)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number else math.nan

    def to_external(self, native: float) -> Any:
        """A number as a value that the distribution contains (nearly always: Optuna checks)."""
        if self.codes is not None:
            return self.choices[round(native)]
        if isinstance(self.distribution, CategoricalDistribution):  # of the numbers of an ordinal
            values = np.asarray(self.distribution.choices, dtype=np.float64)
            return self.distribution.choices[int(np.abs(values - native).argmin())]
        assert isinstance(self.distribution, (IntDistribution, FloatDistribution))
        return _on_step(self.distribution, native)


def inferred(name: str, distribution: BaseDistribution) -> Parameter:
    """The parameter of a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        choices = tuple(distribution.choices)
        codes: dict[Any, int] = {}
        for code, choice in enumerate(choices):
            codes.setdefault(_identity(choice), code)
        return Parameter(name, distribution, (Categorical(tuple(range(len(choices)))),), codes, choices)
    assert isinstance(distribution, (IntDistribution, FloatDistribution))
    if _is_vast(distribution):
        # More values than kernels can number are a continuum.
        low, high = float(distribution.low), float(distribution.high)
        return Parameter(name, distribution, (Float(low, high, log=distribution.log),))
    return Parameter(name, distribution, (to_domain(distribution, ()),))


def declared(name: str, domains: tuple[Domain, ...], distribution: BaseDistribution | None) -> Parameter:
    """A parameter of a given space, and the distribution with which the study asks for it.

    Raises:
        ValueError: where the two cannot mean the same; names the parameter.
    """
    first = domains[0]
    if distribution is None:
        distribution = _distribution(first)
    listed = isinstance(distribution, CategoricalDistribution)
    if not isinstance(first, Categorical):
        if listed and not (isinstance(first, Ordinal) and set(distribution.choices) >= set(first.values)):
            raise ValueError(
                f"space: {name!r} is {first!r}, but the study suggests {distribution!r}; use Categorical."
            )
        return Parameter(name, distribution, domains)
    assert isinstance(first, Categorical)
    if any(not isinstance(d, Categorical) or d.choices != first.choices for d in domains):
        raise ValueError(f"space: the domains of {name!r} have different choices; use two parameters.")
    given = {_identity(c): c for c in distribution.choices} if listed else {}
    missing = [choice for choice in first.choices if choice_key(choice) not in given]
    if missing:
        raise ValueError(
            f"space: {name!r} has the choice {missing[0]!r}, but the study suggests {distribution!r}."
        )
    choices = tuple(given[choice_key(choice)] for choice in first.choices)
    return Parameter(name, distribution, domains, dict(first.codes), choices)


def _identity(choice: Any) -> Any:
    """What tells choices apart: type and value, the repr of what is not plain."""
    return choice_key(choice_label(choice))


def _is_vast(distribution: IntDistribution | FloatDistribution) -> bool:
    """Whether its steps are more than an int32 numbers, or beyond where float64 counts by one."""
    low, high, step = distribution.low, distribution.high, distribution.step
    if step is None:
        return False
    return (high - low) / step >= _MOST_VALUES or (
        isinstance(distribution, IntDistribution) and max(abs(low), abs(high)) > MAX_INTEGER
    )


def _on_step(distribution: IntDistribution | FloatDistribution, native: float) -> float:
    """The value of the distribution nearest to a number, of its type."""
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, IntDistribution):
        assert step is not None
        return int(min(max(low + round((round(native) - low) / step) * step, low), high))
    value = native if step is None else low + round((native - low) / step) * step
    return float(min(max(value, low), high))


def _distribution(domain: Domain) -> BaseDistribution:
    """What a study would probably suggest for a domain that it has not asked for yet."""
    if isinstance(domain, Categorical):
        return CategoricalDistribution(tuple(domain.choices))
    if isinstance(domain, Ordinal):
        return CategoricalDistribution(tuple(domain.values))
    if isinstance(domain, Int):
        return IntDistribution(int(domain.low), int(domain.high), log=domain.log, step=domain.step)
    assert isinstance(domain, Float)
    return FloatDistribution(domain.low, domain.high, log=domain.log, step=domain.step)
