"""Options of the presets, for type checkers and in signatures."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, TypedDict, TypeVar

import jax

from parzax import _checks
from parzax.density.ages import AbstractAges
from parzax.kernels import AbstractKernel
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth
from parzax.pareto import AbstractTies
from parzax.samplers.sampler import Sampler
from parzax.samplers.start import AbstractStart
from parzax.split.gamma import AbstractGamma
from parzax.split.merits import AbstractMerit

Number = float | jax.Array
Kernels = Mapping[str, type[AbstractKernel]]
Directions = _checks.Sense | Sequence[_checks.Sense]
Preset = TypeVar("Preset", bound=Callable[..., Sampler])


class TargetOptions(TypedDict, total=False):
    """The options of `tpe` except ``n_startup`` and ``start``; its docstring describes them."""

    gamma: AbstractGamma | None
    first_front: bool
    ties: AbstractTies
    every_minimum: bool
    share_power: Number
    bandwidth: AbstractBandwidth
    top: Number | CategoricalBandwidth
    prior_weight: float
    ages: AbstractAges
    merit: AbstractMerit
    kernels: Kernels | None
    joint: bool
    n_candidates: int | None
    epsilon: Number
    gradient_steps: int
    repeats: bool


class Options(TargetOptions, total=False):
    """The options of `tpe`; its docstring describes them."""

    n_startup: int
    start: AbstractStart


def with_defaults(base: Callable[..., Sampler], defaults: Mapping[str, Any]) -> Callable[[Preset], Preset]:
    """Decorate a function that passes ``**options`` on to ``base``, and give these options defaults.

    The signature of the decorated function, which `help` shows, lists every option with its default.
    """

    def decorate(function: Preset) -> Preset:
        @wraps(function)
        def preset(*arguments: Any, **options: Any) -> Sampler:
            return function(*arguments, **{**defaults, **options})

        *named, _ = signature(function).parameters.values()
        # ``directions`` is not an option, because presets for one objective have ``direction`` instead.
        names = {"directions", *(parameter.name for parameter in named)}
        options = (
            option.replace(default=defaults.get(option.name, option.default))
            for option in signature(base).parameters.values()
            if option.kind is option.KEYWORD_ONLY and option.name not in names
        )
        decorated: Any = preset
        decorated.__signature__ = signature(function).replace(parameters=[*named, *options])
        return decorated

    return decorate
