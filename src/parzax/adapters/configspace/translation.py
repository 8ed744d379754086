"""ConfigSpace's configuration spaces as `parzax.Space`, and configurations as rows of it, and back."""

import math
import warnings
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import ConfigSpace as CS
import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace
from ConfigSpace.hyperparameters import FloatHyperparameter, IntegerHyperparameter

from parzax import _checks
from parzax.adapters.session import choice_label
from parzax.space import Between, Categorical, Condition, Domain, Float, In, Int, Ordinal, Space

# A condition is rewritten as a list of the parent's values up to so many.
_MAX_LISTED = 1000
_EQUALS = (CS.EqualsCondition, CS.InCondition)
_COMPARES = (CS.LessThanCondition, CS.GreaterThanCondition)


def space(cs: ConfigurationSpace) -> Space:
    """Translate a ConfigSpace 1.2 configuration space.

    Floats and integers become `Float` and `Int`, of which only bounds and log matter; ordinals of ascending
    or descending numbers `Ordinal`, other ordinals and constants `Categorical`. Choices that are not None,
    bool, int, float or str go by their repr. All of a parameter's conditions must hold; "or" is possible
    where it amounts to one condition on one parent.

    Raises:
        TypeError: ``cs`` is not a ConfigurationSpace, or has a hyperparameter of an unknown class.
        ValueError: an empty space, or conditions that cannot be expressed; names the parameter.

    Warns:
        UserWarning: forbidden clauses, and distributions of parameters, such as a normal one or the weights
            of choices; both are left out.

    >>> from ConfigSpace import ConfigurationSpace, EqualsCondition
    >>> import parzax as px
    >>> cs = ConfigurationSpace({"kernel": ["rbf", "linear"], "gamma": (0.1, 1.0)})
    >>> _ = cs.add(EqualsCondition(cs["gamma"], cs["kernel"], "rbf"))
    >>> px.adapters.configspace.space(cs)["gamma"][0].when
    (In('kernel', ['rbf']),)
    """
    _checks.instance("cs", cs, ConfigurationSpace, "a ConfigSpace.ConfigurationSpace")
    if len(cs.forbidden_clauses):
        warnings.warn(
            f"{len(cs.forbidden_clauses)} forbidden clauses are left out: parzax spaces have no such thing.",
            stacklevel=_checks.outside(),
        )
    own = [name for name, hp in cs.items() if _has_distribution(hp)]
    if own:
        warnings.warn(
            f"the distribution of {', '.join(map(repr, own))} is left out: here all values of a domain are "
            "equally likely, on its log axis if it has one.",
            stacklevel=_checks.outside(),
        )
    conditions = {
        name: tuple(chain.from_iterable(map(_translated, own)))
        for name, own in cs.parent_conditions_of.items()
    }
    return Space({name: _domain(hp, conditions.get(name, ())) for name, hp in cs.items()})


def _has_distribution(hp: Any) -> bool:
    """Whether some values are likelier than others."""
    if isinstance(hp, (FloatHyperparameter, IntegerHyperparameter)):
        return not isinstance(hp, (CS.UniformFloatHyperparameter, CS.UniformIntegerHyperparameter))
    weights = getattr(hp, "weights", None)
    return weights is not None and len(set(weights)) > 1


def _domain(hp: Any, when: tuple[Condition, ...]) -> Domain:
    try:
        if isinstance(hp, FloatHyperparameter):
            return Float(float(hp.lower), float(hp.upper), log=bool(hp.log), when=when)
        if isinstance(hp, IntegerHyperparameter):
            return Int(int(hp.lower), int(hp.upper), log=bool(hp.log), when=when)
        if isinstance(hp, CS.OrdinalHyperparameter) and (values := _numbers(hp)) is not None:
            return Ordinal(values, when=when)
        return Categorical(tuple(map(choice_label, raw_choices(hp))), when=when)
    except ValueError as error:
        raise ValueError(f"parameter {hp.name!r}: {error}") from error


def _numbers(hp: CS.OrdinalHyperparameter) -> tuple[Any, ...] | None:
    """The ordinal's values in ascending order, if they are numbers in that or the opposite order."""
    values = tuple(v.item() if isinstance(v, np.generic) else v for v in hp.sequence)
    if any(isinstance(v, bool) or not isinstance(v, (int, float)) or not math.isfinite(v) for v in values):
        return None
    return next((v for v in (values, values[::-1]) if all(a < b for a, b in pairwise(v))), None)


def raw_choices(hp: Any) -> Sequence[Any]:
    """The choices of a categorical, an ordinal or a constant, in the order of its vector."""
    if isinstance(hp, CS.Constant):
        return (hp.value,)
    if isinstance(hp, (CS.CategoricalHyperparameter, CS.OrdinalHyperparameter)):
        return hp.choices if isinstance(hp, CS.CategoricalHyperparameter) else hp.sequence
    raise TypeError(f"parameter {hp.name!r} is of an unknown class, {type(hp).__name__}.")


def _translated(condition: Any) -> tuple[Condition, ...]:
    """Conditions that must all hold."""
    if isinstance(condition, CS.AndConjunction):
        return tuple(chain.from_iterable(map(_translated, condition.components)))
    return (_union(condition) if isinstance(condition, CS.OrConjunction) else _atom(condition),)


def _atom(condition: Any) -> Condition:
    parent = condition.parent
    if isinstance(parent, (FloatHyperparameter, IntegerHyperparameter)):
        if isinstance(condition, _EQUALS):
            return In(parent.name, _values(condition))
        if isinstance(condition, CS.LessThanCondition):
            return Between(parent.name, high=float(condition.value))
        if isinstance(condition, CS.GreaterThanCondition):
            # Strict, whereas Between includes its low end.
            whole = isinstance(parent, IntegerHyperparameter)
            above = condition.value + 1 if whole else np.nextafter(condition.value, math.inf)
            return Between(parent.name, low=float(above))
    return _listed(condition, parent)


def _values(condition: Any) -> tuple[Any, ...]:
    return tuple(condition.values) if isinstance(condition, CS.InCondition) else (condition.value,)


def _union(condition: Any) -> Condition:
    """An "or" as one condition: a list of values of the one parent, or one range of it."""
    if len({c.parent.name for c in condition.dlcs}) > 1:
        raise _not_expressible(condition, "its alternatives have different parents")
    parent, parts = condition.dlcs[0].parent, condition.components
    ranges = [r for r in (_atom(c) for c in parts if isinstance(c, _COMPARES)) if isinstance(r, Between)]
    if len(ranges) == len(parts):
        below = max((r.high for r in ranges if r.high < math.inf), default=math.inf)
        above = min((r.low for r in ranges if r.low > -math.inf), default=-math.inf)
        # All "less", all "greater", or both without a gap: one range.
        if above <= below:
            return Between(parent.name, min(r.low for r in ranges), max(r.high for r in ranges))
    if isinstance(parent, FloatHyperparameter):
        if all(isinstance(c, _EQUALS) for c in parts):
            return In(parent.name, tuple(value for c in parts for value in _values(c)))
        raise _not_expressible(condition, "its alternatives leave a gap")
    return _listed(condition, parent)


def _listed(condition: Any, parent: Any) -> In:
    """The parent's values for which a condition on it alone holds."""
    if isinstance(parent, FloatHyperparameter):
        raise _not_expressible(condition, "it excludes a single value of a continuous parent")
    if isinstance(parent, IntegerHyperparameter):
        if parent.size > _MAX_LISTED:
            raise _not_expressible(condition, f"{parent.name!r} has more than {_MAX_LISTED} values")
        values = range(int(parent.lower), int(parent.upper) + 1)
    else:
        values = raw_choices(parent)
    for atom in getattr(condition, "dlcs", (condition,)):
        if not isinstance(atom, (*_EQUALS, *_COMPARES, CS.NotEqualsCondition)):
            raise TypeError(f"condition {atom!r} is of an unknown class, {type(atom).__name__}.")
    allowed = [choice_label(v) for v in values if condition.satisfied_by_value({parent.name: v})]
    if not allowed:
        raise _not_expressible(condition, "it never holds")
    return In(parent.name, allowed)


def _not_expressible(condition: Any, why: str) -> ValueError:
    name = condition.child.name
    return ValueError(f"parameter {name!r}: the condition {condition} cannot be expressed, since {why}.")


def native_rows(cs: ConfigurationSpace, target: Space, configs: Sequence[Configuration]) -> np.ndarray:
    """Native values (n, d) of n configurations of ``cs``, in the space that `space` makes of it."""
    for i, config in enumerate(configs):
        _checks.instance(f"configs[{i}]", config, Configuration, "a ConfigSpace.Configuration")
        if config.config_space is not cs and config.config_space != cs:
            raise ValueError(f"configs[{i}] belongs to another configuration space than cs.")
    vectors = np.array([config.get_array() for config in configs]).reshape(len(configs), len(cs))
    values = np.full((len(configs), len(target)), math.nan)
    for column, (name, domains) in enumerate(zip(target.names, target.domains, strict=True)):
        vector = vectors[:, cs.index_of[name]]
        active = ~np.isnan(vector)
        values[active, column] = _native(cs[name], domains[0], vector[active])
    return values


def _native(hp: Any, domain: Domain, vector: np.ndarray) -> np.ndarray:
    """Native values of the entries of a configuration's vector; its own look-ups round to nine places."""
    if isinstance(domain, (Float, Int)):
        return np.clip(np.asarray(hp.to_value(vector), dtype=np.float64), domain.low, domain.high)
    if isinstance(domain, Ordinal):
        return np.asarray(hp.sequence, dtype=np.float64)[vector.astype(np.int64)]
    return np.zeros(vector.shape) if isinstance(hp, CS.Constant) else vector


def to_values(cs: ConfigurationSpace, target: Space, row: np.ndarray) -> dict[str, Any]:
    """The values of a native row (d,), as ConfigSpace has them; inactive parameters are left out."""
    out = {}
    for name, (domain, *_), value in zip(target.names, target.domains, row.tolist(), strict=True):
        if math.isnan(value):
            continue
        hp: Any = cs[name]
        if isinstance(domain, Categorical):
            out[name] = raw_choices(hp)[round(value)]
        elif isinstance(domain, Ordinal):
            out[name] = min(hp.sequence, key=lambda v, at=value: abs(v - at))
        else:
            out[name] = round(value) if isinstance(domain, Int) else value
    return out
