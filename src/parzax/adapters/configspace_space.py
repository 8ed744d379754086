"""ConfigSpace's configuration spaces as `parzax.Space`."""

import math
import warnings
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from ConfigSpace import (
    AndConjunction,
    CategoricalHyperparameter,
    ConfigurationSpace,
    Constant,
    EqualsCondition,
    GreaterThanCondition,
    InCondition,
    LessThanCondition,
    NotEqualsCondition,
    OrConjunction,
    OrdinalHyperparameter,
)
from ConfigSpace.hyperparameters import FloatHyperparameter, IntegerHyperparameter

from parzax.space import Between, Categorical, Condition, Domain, Float, In, Int, Ordinal, Space

# A condition is rewritten as a list of the parent's values up to so many.
_MAX_LISTED = 1000


def space(cs: ConfigurationSpace) -> Space:
    """Translate a ConfigSpace 1.2 configuration space.

    Floats and integers (uniform, normal and beta ones alike: only bounds and log matter here) become `Float`
    and `Int`; ordinals of ascending or descending numbers `Ordinal`, other ordinals and constants
    `Categorical`. Choices that are not None, bool, int, float or str go by their repr. All of a parameter's
    conditions must hold; "or" is possible where it amounts to one condition on one parent.

    Raises:
        TypeError: ``cs`` is not a ConfigurationSpace, or has a hyperparameter of an unknown class.
        ValueError: an empty space, or conditions that cannot be expressed; names the parameter.

    Warns:
        UserWarning: forbidden clauses, which are left out.

    >>> from ConfigSpace import ConfigurationSpace, EqualsCondition
    >>> import parzax as px
    >>> cs = ConfigurationSpace({"kernel": ["rbf", "linear"], "gamma": (0.1, 1.0)})
    >>> _ = cs.add(EqualsCondition(cs["gamma"], cs["kernel"], "rbf"))
    >>> px.adapters.configspace.space(cs)["gamma"][0].when
    (In('kernel', ['rbf']),)
    """
    if not isinstance(cs, ConfigurationSpace):
        raise TypeError(f"cs must be a ConfigSpace.ConfigurationSpace, got {type(cs).__name__}.")
    if len(cs.forbidden_clauses):
        warnings.warn(
            f"{len(cs.forbidden_clauses)} forbidden clauses are left out: parzax spaces have no such thing.",
            stacklevel=2,
        )
    conditions = cs.parent_conditions_of
    return Space(
        {
            name: _domain(hp, tuple(c for own in conditions.get(name, ()) for c in _translated(name, own)))
            for name, hp in cs.items()
        }
    )


# --- domains -----------------------------------------------------------------------------------


def _domain(hp: Any, when: tuple[Condition, ...]) -> Domain:
    try:
        if isinstance(hp, FloatHyperparameter):
            return Float(float(hp.lower), float(hp.upper), log=bool(hp.log), when=when)
        if isinstance(hp, IntegerHyperparameter):
            return Int(int(hp.lower), int(hp.upper), log=bool(hp.log), when=when)
        if isinstance(hp, OrdinalHyperparameter) and (values := _numbers(hp)) is not None:
            return Ordinal(values, when=when)
        return Categorical(_labels(hp), when=when)
    except ValueError as error:
        raise ValueError(f"parameter {hp.name!r}: {error}") from error


def _numbers(hp: OrdinalHyperparameter) -> tuple[Any, ...] | None:
    """The ordinal's values in ascending order, if they are numbers in that or the opposite order."""
    values = tuple(v.item() if isinstance(v, np.generic) else v for v in hp.sequence)
    if any(isinstance(v, bool) or not isinstance(v, (int, float)) or not math.isfinite(v) for v in values):
        return None
    orders = (values, values[::-1])
    return next((v for v in orders if all(a < b for a, b in pairwise(v))), None)


def _labels(hp: Any) -> tuple[Any, ...]:
    """Choices of a hyperparameter in the order of its vector, other than plain values by their repr."""
    if isinstance(hp, CategoricalHyperparameter):
        choices = hp.choices
    elif isinstance(hp, OrdinalHyperparameter):
        choices = hp.sequence
    elif isinstance(hp, Constant):
        choices = (hp.value,)
    else:
        raise TypeError(f"parameter {hp.name!r} is of an unknown class, {type(hp).__name__}.")
    plain = (c.item() if isinstance(c, np.generic) else c for c in choices)
    return tuple(c if c is None or isinstance(c, (bool, int, float, str)) else repr(c) for c in plain)


# --- conditions --------------------------------------------------------------------------------


def _translated(child: str, condition: Any) -> tuple[Condition, ...]:
    """Conditions that must all hold."""
    if isinstance(condition, AndConjunction):
        return tuple(c for component in condition.components for c in _translated(child, component))
    if isinstance(condition, OrConjunction):
        return (_union(child, condition),)
    return (_atom(child, condition),)


def _atom(child: str, condition: Any) -> Condition:
    parent = condition.parent
    numeric = isinstance(parent, (FloatHyperparameter, IntegerHyperparameter))
    if numeric and isinstance(condition, EqualsCondition):
        return In(parent.name, (condition.value,))
    if numeric and isinstance(condition, InCondition):
        return In(parent.name, tuple(condition.values))
    if numeric and isinstance(condition, LessThanCondition):
        return Between(parent.name, high=float(condition.value))
    if numeric and isinstance(condition, GreaterThanCondition):
        # Strict, whereas Between includes its low end.
        whole = isinstance(parent, IntegerHyperparameter)
        above = condition.value + 1 if whole else np.nextafter(condition.value, math.inf)
        return Between(parent.name, low=float(above))
    return _listed(child, condition, condition)


def _union(child: str, condition: Any) -> Condition:
    """An "or" as one condition: a list of values of the one parent, or one range of it."""
    if len({c.parent.name for c in condition.dlcs}) > 1:
        raise _not_expressible(child, condition, "its alternatives have different parents")
    parent = condition.dlcs[0].parent
    simple = [c for c in condition.components if isinstance(c, (LessThanCondition, GreaterThanCondition))]
    ranges = [r for r in (_atom(child, c) for c in simple) if isinstance(r, Between)]
    if len(ranges) == len(condition.components):
        below = max((r.high for r in ranges if r.high < math.inf), default=-math.inf)
        above = min((r.low for r in ranges if r.low > -math.inf), default=math.inf)
        # All "less", all "greater", or both without a gap: one range.
        if below == -math.inf:
            return Between(parent.name, low=above)
        if above == math.inf:
            return Between(parent.name, high=below)
        if above <= below:
            return Between(parent.name)
    if isinstance(parent, FloatHyperparameter):
        if all(isinstance(c, (EqualsCondition, InCondition)) for c in condition.components):
            atoms = [_atom(child, c) for c in condition.components]
            return In(parent.name, tuple(v for a in atoms if isinstance(a, In) for v in a.values))
        raise _not_expressible(child, condition, "its alternatives leave a gap")
    return _listed(child, condition, condition.dlcs[0])


def _listed(child: str, condition: Any, example: Any) -> In:
    """The parent's values for which a condition on it alone holds."""
    parent = example.parent
    if isinstance(parent, FloatHyperparameter):
        raise _not_expressible(child, condition, "it excludes a single value of a continuous parent")
    if isinstance(parent, IntegerHyperparameter):
        if parent.size > _MAX_LISTED:
            raise _not_expressible(child, condition, f"{parent.name!r} has more than {_MAX_LISTED} values")
        native = list(range(int(parent.lower), int(parent.upper) + 1))
        names: Sequence[Any] = native
    else:
        names = _labels(parent)
        native = list(raw_choices(parent))
    allowed = _holding(condition, parent, native)
    if not allowed:
        raise _not_expressible(child, condition, "it never holds")
    return In(parent.name, tuple(name for i, name in enumerate(names) if i in allowed))


def raw_choices(hp: Any) -> Sequence[Any]:
    """The choices of a categorical, an ordinal or a constant, in the order of its vector."""
    if isinstance(hp, Constant):
        return (hp.value,)
    return hp.sequence if isinstance(hp, OrdinalHyperparameter) else hp.choices


def _holding(condition: Any, parent: Any, native: Sequence[Any]) -> set[int]:
    """Indices of the parent's values for which ``condition`` holds."""
    if isinstance(condition, (AndConjunction, OrConjunction)):
        parts = [_holding(c, parent, native) for c in condition.components]
        both = set.intersection if isinstance(condition, AndConjunction) else set.union
        return reduce(both, parts)
    if not isinstance(
        condition, (EqualsCondition, NotEqualsCondition, InCondition, LessThanCondition, GreaterThanCondition)
    ):
        raise TypeError(f"condition {condition!r} is of an unknown class, {type(condition).__name__}.")
    return {i for i, value in enumerate(native) if condition.satisfied_by_value({parent.name: value})}


def _not_expressible(child: str, condition: Any, why: str) -> ValueError:
    return ValueError(f"parameter {child!r}: the condition {condition} cannot be expressed, since {why}.")
