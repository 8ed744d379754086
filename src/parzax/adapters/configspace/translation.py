"""Translates ConfigSpace's configuration spaces to `parzax.Space`, and configurations to rows and back."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

import ConfigSpace as CS
import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace, forbidden
from ConfigSpace.hyperparameters import FloatHyperparameter, IntegerHyperparameter

from parzax import _checks
from parzax.lens.logs import Observations
from parzax.space import INACTIVE, Between, Categorical, Condition, Domain, Float, In, Int, Ordinal, Space
from parzax.space.conditions import choice_label
from parzax.space.valid import Forbidden, Ordered

# The largest number of a parent's values that are listed in a condition.
_MAX_LISTED = 1000
_EQUALS = (CS.EqualsCondition, CS.InCondition)
_COMPARES = (CS.LessThanCondition, CS.GreaterThanCondition)
# Whether a condition or a clause on a number is about values below its own, or from it on, and whether it
# begins or ends at the next value instead.
_RANGES: dict[Any, tuple[str, bool]] = {
    CS.LessThanCondition: ("high", False),
    CS.GreaterThanCondition: ("low", True),
    forbidden.ForbiddenLessThanClause: ("high", False),
    forbidden.ForbiddenLessThanEqualsClause: ("high", True),
    forbidden.ForbiddenGreaterThanClause: ("low", True),
    forbidden.ForbiddenGreaterThanEqualsClause: ("low", False),
}
# What relations between two parameters leave.
_RELATIONS: dict[Any, Callable[[str, str], Ordered]] = {
    forbidden.ForbiddenLessThanRelation: lambda left, right: Ordered(right, left),
    forbidden.ForbiddenLessThanEqualsRelation: lambda left, right: Ordered(right, left, strict=True),
    forbidden.ForbiddenGreaterThanRelation: Ordered,
    forbidden.ForbiddenGreaterThanEqualsRelation: partial(Ordered, strict=True),
}


def space(cs: ConfigurationSpace) -> Space:
    """Translate a ConfigSpace 1.2 configuration space.

    Floats and integers become `Float` and `Int`, with their bounds and log. Ordinals of ascending or
    descending numbers become `Ordinal`; other ordinals and constants become `Categorical`. Choices that are
    not None, bool, int, float or str are named by their repr. All conditions of a parameter must hold; an
    "or" is translated only if it is equivalent to one condition on one parent. Forbidden clauses become rules
    (`parzax.valid`).

    Raises:
        TypeError: ``cs`` is not a ConfigurationSpace, or has a hyperparameter of an unknown class.
        ValueError: for an empty space, or conditions that cannot be expressed; the error names the parameter.

    Warns:
        UserWarning: if a forbidden clause has no rule, or if distributions of parameters, such as a normal
            distribution or the weights of choices.

    >>> from ConfigSpace import ConfigurationSpace, EqualsCondition
    >>> import parzax as px
    >>> cs = ConfigurationSpace({"kernel": ["rbf", "linear"], "gamma": (0.1, 1.0)})
    >>> _ = cs.add(EqualsCondition(cs["gamma"], cs["kernel"], "rbf"))
    >>> px.adapters.configspace.space(cs)["gamma"][0].when
    (In('kernel', ['rbf']),)
    """
    _checks.instance("cs", cs, ConfigurationSpace, "a ConfigSpace.ConfigurationSpace")
    domains = {name: _domain(hp, cs.parent_conditions_of.get(name, ())) for name, hp in cs.items()}
    rules: list[Any] = []
    for clause in cs.forbidden_clauses:
        try:
            of_clause = _rules(clause, domains)
            Space(domains, of_clause)  # raises for rules about other kinds of parameters
            rules += of_clause
        except (TypeError, ValueError) as error:
            warnings.warn(f"A forbidden clause is left out: {clause}; {error}", stacklevel=_checks.outside())
    if not_uniform := [repr(name) for name, hp in cs.items() if _has_distribution(hp)]:
        warnings.warn(
            f"the distribution of {', '.join(not_uniform)} is left out: here all values of a domain are "
            "equally likely, on its log axis if it has one.",
            stacklevel=_checks.outside(),
        )
    return Space(domains, rules)


def _has_distribution(hp: Any) -> bool:
    """Whether some values of a hyperparameter are likelier than others."""
    if isinstance(hp, (FloatHyperparameter, IntegerHyperparameter)):
        return not isinstance(hp, (CS.UniformFloatHyperparameter, CS.UniformIntegerHyperparameter))
    weights = getattr(hp, "weights", None)
    return weights is not None and len(set(weights)) > 1


def _domain(hp: Any, conditions: Sequence[Any]) -> Domain:
    when = [_translate(part) for condition in conditions for part in _conjuncts(condition)]
    with _checks.explain(f"parameter {hp.name!r}", ValueError):
        if isinstance(hp, (FloatHyperparameter, IntegerHyperparameter)):
            kind = Float if isinstance(hp, FloatHyperparameter) else Int
            return kind(hp.lower, hp.upper, log=bool(hp.log), when=when)
        if isinstance(hp, CS.OrdinalHyperparameter) and (values := _numbers(hp)) is not None:
            return Ordinal(values, when=when)
        return Categorical(tuple(map(choice_label, raw_choices(hp))), when=when)


def _numbers(hp: CS.OrdinalHyperparameter) -> tuple[Any, ...] | None:
    """The ordinal's values in ascending order, if they are numbers in that or the opposite order."""
    values = tuple(v.item() if isinstance(v, np.generic) else v for v in hp.sequence)
    if any(isinstance(v, bool) or not isinstance(v, (int, float)) or not math.isfinite(v) for v in values):
        return None
    return next((v for v in (values, values[::-1]) if all(a < b for a, b in pairwise(v))), None)


def raw_choices(hp: Any) -> Sequence[Any]:
    """The choices of a categorical, an ordinal or a constant, in the order of ConfigSpace's codes."""
    if isinstance(hp, CS.Constant):
        return (hp.value,)
    if isinstance(hp, CS.CategoricalHyperparameter):
        return hp.choices
    if isinstance(hp, CS.OrdinalHyperparameter):
        return hp.sequence
    raise TypeError(f"parameter {hp.name!r} is of an unknown class, {type(hp).__name__}.")


def _conjuncts(condition: Any) -> list[Any]:
    """The conditions, or clauses, joined by "and", as a list."""
    if isinstance(condition, (CS.AndConjunction, CS.ForbiddenAndConjunction)):
        return list(chain.from_iterable(map(_conjuncts, condition.components)))
    return [condition]


def _translate(condition: Any) -> Condition:
    """Translate a condition on one parent, perhaps an "or" of several, to one range or list of values."""
    atoms = getattr(condition, "dlcs", (condition,))
    if len({atom.parent.name for atom in atoms}) > 1:
        raise _not_expressible(condition, "its alternatives have different parents")
    parent, parts = atoms[0].parent, getattr(condition, "components", (condition,))
    name = parent.name
    if isinstance(parent, (FloatHyperparameter, IntegerHyperparameter)):
        if all(isinstance(part, _EQUALS) for part in parts):
            return In(name, [v for part in parts for v in getattr(part, "values", None) or [part.value]])
        if type(condition) in _RANGES:
            return _range(parent, condition)
    if isinstance(parent, FloatHyperparameter):
        raise _not_expressible(condition, "it is no single range of a continuous parent")
    if isinstance(parent, IntegerHyperparameter):
        if parent.size > _MAX_LISTED:
            raise _not_expressible(condition, f"{name!r} has more than {_MAX_LISTED} values")
        values = range(int(parent.lower), int(parent.upper) + 1)
    else:
        values = raw_choices(parent)
    for atom in atoms:
        if not isinstance(atom, (*_EQUALS, *_COMPARES, CS.NotEqualsCondition)):
            raise TypeError(f"condition {atom!r} is of an unknown class, {type(atom).__name__}.")
    allowed = [choice_label(v) for v in values if condition.satisfied_by_value({name: v})]
    if not allowed:
        raise _not_expressible(condition, "it never holds")
    return In(name, allowed)


def _range(hp: Any, part: Any) -> Between:
    """The values of a numeric parameter that a condition or a clause compares with a number."""
    (end, is_next), value = _RANGES[type(part)], part.value
    if is_next:
        value = value + 1 if isinstance(hp, IntegerHyperparameter) else np.nextafter(value, math.inf)
    return Between(hp.name, **{end: float(value)})


def _rules(clause: Any, domains: Mapping[str, Domain]) -> list[Any]:
    """The rules that a forbidden clause stands for; ValueError or TypeError if none do."""
    if isinstance(clause, forbidden.ForbiddenOrConjunction):
        return [rule for part in clause.components for rule in _rules(part, domains)]
    if not isinstance(clause, forbidden.ForbiddenRelation):
        return [Forbidden([_translate_clause(part) for part in _conjuncts(clause)])]
    sides = clause.left.name, clause.right.name
    if rule := _RELATIONS.get(type(clause)):
        return [rule(*sides)]
    few, other = sorted(sides, key=lambda name: domains[name].n_values or math.inf)
    domain = domains[few]
    if (domain.n_values or 0) > _MAX_LISTED:
        raise ValueError(f"{few!r} has more than {_MAX_LISTED} values.")
    # Two continuous parameters are never equal.
    values = map(domain.interpret, domain.list_values() if domain.n_values else ())
    both = [value for value in values if domains[other].key(value) is not None]
    return [Forbidden([In(few, [value]), In(other, [value])]) for value in both]


def _translate_clause(clause: Any) -> Condition:
    """The condition under which a clause forbids the value of its parameter."""
    hp = clause.hyperparameter
    if isinstance(clause, (CS.ForbiddenEqualsClause, CS.ForbiddenInClause)):
        values = [clause.value] if isinstance(clause, CS.ForbiddenEqualsClause) else clause.values
    elif isinstance(hp, (FloatHyperparameter, IntegerHyperparameter)) and type(clause) in _RANGES:
        return _range(hp, clause)
    else:
        values = [value for value in raw_choices(hp) if clause.is_forbidden_value({hp.name: value})]
    return In(hp.name, list(map(choice_label, values)))


def _not_expressible(condition: Any, why: str) -> ValueError:
    name = condition.child.name
    return ValueError(f"parameter {name!r}: the condition {condition} cannot be expressed, since {why}.")


def observations(
    cs: ConfigurationSpace, configs: Sequence[Configuration], objectives: Any, **options: Any
) -> Observations:
    """Observations from n configurations of ``cs``; inactive parameters of a configuration stay inactive.

    Args:
        cs: the configuration space, see `space`.
        configs: n configurations.
        objectives: (n,) or (n, m) values.
        **options: ``directions``, ``constraints``, ``weight``, ``failed``, as in `Observations.from_arrays`.

    Raises:
        TypeError: an entry of ``configs`` is not a Configuration.
        ValueError: a configuration of another space, or what `space` or `Observations.from_arrays` raises.
    """
    target = space(cs)
    values = native_rows(cs, target, configs)
    regime = np.where(np.isnan(values), INACTIVE, 0)
    return Observations.from_arrays(target, values, objectives, regime=regime, **options)


def native_rows(cs: ConfigurationSpace, target: Space, configs: Sequence[Configuration]) -> np.ndarray:
    """Native values (n, d) of n configurations of ``cs``; ``target`` is the result of `space`."""
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
    """Native values from a vector of ConfigSpace codes; ConfigSpace would round them to nine places."""
    if isinstance(domain, (Float, Int)):
        return np.clip(np.asarray(hp.to_value(vector), dtype=np.float64), domain.low, domain.high)
    if isinstance(domain, Ordinal):
        return np.asarray(hp.sequence, dtype=np.float64)[vector.astype(np.int64)]
    return np.zeros(vector.shape) if isinstance(hp, CS.Constant) else vector


def to_values(cs: ConfigurationSpace, target: Space, row: np.ndarray) -> dict[str, Any]:
    """Name -> value of a native row (d,), with ConfigSpace's values; inactive parameters are left out."""
    named = {}
    for name, (domain, *_), value in zip(target.names, target.domains, row.tolist(), strict=True):
        if math.isnan(value):
            continue
        is_code = isinstance(domain, Categorical)
        named[name] = raw_choices(cs[name])[int(value)] if is_code else domain.interpret(value)
    return named
