"""One parameter of an Optuna study: its values as native numbers of a parzax domain, and back."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from parzax.adapters.optuna.distributions import domain_of, identity
from parzax.space import Categorical, Domain, Float, Int, Ordinal, choice_key


@dataclass(frozen=True)
class Parameter:
    """Optuna's distribution and parzax's domains; ``choices`` go by code, a numeric parameter has none."""

    name: str
    distribution: BaseDistribution
    domains: tuple[Domain, ...]
    choices: tuple[Any, ...] = ()

    @cached_property
    def _codes(self) -> dict[Any, int]:
        """Identity of a choice -> code, of equal ones the first."""
        return {identity(self.choices[code]): code for code in reversed(range(len(self.choices)))}

    def to_native(self, value: Any) -> float:
        """A value as a number; NaN for one that the parameter does not have."""
        if self.choices:
            return self._codes.get(identity(value), math.nan)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number else math.nan

    def to_external(self, native: float) -> Any:
        """A number as the nearest value that the distribution contains (nearly always: Optuna checks)."""
        own: Any = self.distribution
        if self.choices:
            return self.choices[round(native)]
        if isinstance(own, CategoricalDistribution):  # of the numbers of an ordinal
            return own.choices[int(np.abs(np.asarray(own.choices, np.float64) - native).argmin())]
        value = round(native) if isinstance(own, IntDistribution) else native
        if own.step is not None:
            value = own.low + round((value - own.low) / own.step) * own.step
        return type(own.low)(min(max(value, own.low), own.high))


def inferred(name: str, distribution: BaseDistribution) -> Parameter:
    """The parameter of a distribution."""
    choices = tuple(distribution.choices) if isinstance(distribution, CategoricalDistribution) else ()
    return Parameter(name, distribution, (domain_of(distribution, sampled=True),), choices)


def declared(name: str, domains: tuple[Domain, ...], distribution: BaseDistribution | None) -> Parameter:
    """A parameter of a given space as the study asks for it; ValueError where they cannot mean the same."""
    first = domains[0]
    distribution = distribution or _distribution(first)
    suggested = f"the study suggests {distribution!r}"
    listed = isinstance(distribution, CategoricalDistribution)
    if not isinstance(first, Categorical):
        if listed and not (isinstance(first, Ordinal) and set(distribution.choices) >= set(first.values)):
            raise ValueError(f"space: {name!r} is {first!r}, but {suggested}; use Categorical.")
        return Parameter(name, distribution, domains)
    if any(not isinstance(d, Categorical) or d.choices != first.choices for d in domains):
        raise ValueError(f"space: the domains of {name!r} have different choices; use two parameters.")
    given = {identity(c): c for c in distribution.choices} if listed else {}
    missing = [choice for choice in first.choices if choice_key(choice) not in given]
    if missing:
        raise ValueError(f"space: {name!r} has the choice {missing[0]!r}, but {suggested}.")
    choices = tuple(given[choice_key(choice)] for choice in first.choices)
    return Parameter(name, distribution, domains, choices)


def _distribution(domain: Domain) -> BaseDistribution:
    """What a study would probably suggest for a domain that it has not asked for yet."""
    if isinstance(domain, (Categorical, Ordinal)):
        return CategoricalDistribution(domain.choices if isinstance(domain, Categorical) else domain.values)
    assert isinstance(domain, (Int, Float))
    kind: Any = IntDistribution if domain.whole else FloatDistribution
    return kind(domain.low, domain.high, log=domain.log, step=domain.step)
