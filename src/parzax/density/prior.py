"""Beliefs about good values of a parameter, for the argument ``prior`` of `parzax.tpe`."""

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from parzax import _checks
from parzax.space import Categorical, Domain, choice_key


class AbstractPrior(abc.ABC):
    """A belief about one parameter: how likely its values are to be good, relative to each other."""

    @abc.abstractmethod
    def log_weights(self, domain: Domain, values: np.ndarray) -> np.ndarray | None:
        """log density of the belief on the domain's axis, up to a constant, at native ``values`` (codes).

        None if the belief is about other values than those of the domain. TypeError, with the remedy, for a
        kind of domain that the belief cannot be about.
        """


@final
@dataclass(frozen=True)
class Normal(AbstractPrior):
    """A normal belief about a number.

    Attributes:
        mean: the most likely value, as it is written: 1e-3 for a learning rate around 0.001.
        width: standard deviation: in decades if the axis is logarithmic (0.5 is a factor of about 3), else in
            the unit of the values. `math.inf` believes nothing.
    """

    mean: float
    width: float

    def __post_init__(self) -> None:
        _checks.real_number("Normal: mean", self.mean)
        if self.width != math.inf:
            _checks.real_number("Normal: width", self.width, above=0)

    def log_weights(self, domain: Domain, values: np.ndarray) -> np.ndarray | None:
        if isinstance(domain, Categorical):
            raise TypeError(
                "its values are choices: give px.prior.Weights, such as Weights(sgd=0.8, adam=0.2)"
            )
        lowest, highest = domain.ends()
        if not lowest <= self.mean <= highest:
            return None
        log = getattr(domain, "log", False)
        distance = np.log10(values) - math.log10(self.mean) if log else values - self.mean
        return -0.5 * np.square(distance / self.width)


@final
class Weights(AbstractPrior):
    """Weights of choices, on any scale; choices without a weight have weight 0.

    Give them by name, ``Weights(sgd=0.8, adam=0.2)``, or, for choices that are no names, as a mapping:
    ``Weights({True: 3, False: 1})``.
    """

    weights: dict[Any, float]

    def __init__(self, weights: Mapping[Any, float] | None = None, /, **by_name: float) -> None:
        self.weights = {**(weights or {}), **by_name}
        for choice, weight in self.weights.items():
            _checks.real_number(f"Weights: {choice!r}", weight, least=0)
        if not sum(self.weights.values()) > 0:
            raise ValueError(f"Weights: at least one weight must be positive, got {self.weights!r}.")

    def __repr__(self) -> str:
        return f"Weights({self.weights!r})"

    def log_weights(self, domain: Domain, values: np.ndarray) -> np.ndarray | None:
        if not isinstance(domain, Categorical):
            raise TypeError("its values are numbers: give px.prior.Normal(mean, width)")
        weights = {choice_key(choice): weight for choice, weight in self.weights.items()}
        if weights.keys() - domain.codes.keys():
            return None
        with np.errstate(divide="ignore"):
            return np.log([weights.get(key, 0.0) for key in domain.codes])
