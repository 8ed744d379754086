"""Parts of a space: with some parameters left out, or with some of them given."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from parzax.space import INACTIVE, Categorical, Condition, Domain, Recorded, Space, choice_key
from parzax.space.dependencies import condition_holds


def with_ancestors(space: Space, names: Iterable[str]) -> tuple[str, ...]:
    """The parameters ``names`` and all they depend on, in the space's order.

    Raises:
        ValueError: unknown names, or none.
    """
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"names must be strings, one argument each, got {name!r}.")
    wanted = set(names)
    for name in wanted:
        if name not in space:
            raise ValueError(f"no parameter {name!r}; the space has {', '.join(space.names)}.")
    for name in reversed(space.order):
        if name in wanted:
            wanted |= set(parents(space, name))
    if not wanted:
        raise ValueError("at least one parameter must be named.")
    return tuple(name for name in space.names if name in wanted)


def parents(space: Space, name: str) -> tuple[str, ...]:
    """Names in the conditions of a parameter."""
    conditions = (c for domain in space[name] for c in domain.conditions)
    return tuple(c.parent for c in conditions if not isinstance(c, Recorded))


def given_values(space: Space, values: Mapping[str, Any]) -> dict[str, float]:
    """Native values by name: codes for choices, NaN for None.

    Raises:
        ValueError: no value at all, an unknown name, or a value that no domain of the parameter has.
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"values must map names to values, got {values!r}.")
    if not values:
        raise ValueError("values: at least one parameter must be given.")
    out = {}
    for name, value in values.items():
        if name not in space:
            raise ValueError(f"values: no parameter {name!r}; the space has {', '.join(space.names)}.")
        domain = space[name][0]
        if isinstance(domain, Categorical) and choice_key(value) in domain.codes:
            code = domain.codes[choice_key(value)]
            if (
                not isinstance(value, (str, type(None)))
                and value != code
                and not domain.outside(np.asarray(float(value)))
            ):
                raise ValueError(
                    f"values: {name!r} = {value!r} is one of its choices and the code of another; "
                    f"use strings for choices, or conditional on arrays of codes through log_prob."
                )
            value = code
        number = math.nan if value is None else value
        if isinstance(number, (str, bytes)):
            raise ValueError(f"values: {name!r} = {value!r} is none of its choices.")
        out[name] = float(number)
        if not math.isnan(out[name]) and all(d.outside(np.asarray(out[name])) for d in space[name]):
            raise ValueError(f"values: {name!r} = {value!r} is outside its domain.")
    return out


def given_rest(space: Space, values: Mapping[str, float]) -> tuple[Space | None, list[tuple[int, ...]]]:
    """What is left of a space when some parameters have known values (NaN = inactive).

    Args:
        space: the search space.
        values: name -> native value (code of a category), parents before or with their children.

    Returns:
        The space of the other parameters, without the conditions that are met and without domains that
        cannot apply (None when no parameter is left), and for each parameter of ``space`` the old number
        of every domain it still has, empty where it is given or cannot be active.
    """
    known = set(values)
    regimes: dict[str, int] = {}
    left: dict[str, tuple[Domain, ...]] = {}
    kept: dict[str, tuple[int, ...]] = dict.fromkeys(space.names, ())
    for name in space.order:
        possible: list[tuple[int, Domain]] = []
        for i, domain in enumerate(space[name]):
            open_conditions: list[Condition] = []
            met = True
            for condition in domain.conditions:
                assert not isinstance(condition, Recorded)
                if condition.parent in known:
                    parent = regimes[condition.parent]
                    met &= parent != INACTIVE and bool(
                        condition_holds(
                            condition, space[condition.parent][parent], np.asarray(values[condition.parent])
                        )
                    )
                elif condition.parent in left:
                    open_conditions.append(condition)
                else:
                    met = False  # a parent that cannot be active
            if met:
                possible.append((i, replace(domain, when=tuple(open_conditions))))
                if not open_conditions:
                    break
        if name in known:
            if any(domain.conditions for _, domain in possible):
                raise ValueError(
                    f"values: {name!r} is given, so {', '.join(parents(space, name))} must be too."
                )
            regimes[name] = possible[0][0] if possible else INACTIVE
            _check_value(space, name, values[name], regimes[name])
        elif possible:
            left[name] = tuple(domain for _, domain in possible)
            kept[name] = tuple(i for i, _ in possible)
    ordered = {name: left[name] for name in space.names if name in left}
    return (Space(ordered) if ordered else None), [kept[name] for name in space.names]


def _check_value(space: Space, name: str, value: float, regime: int) -> None:
    if regime == INACTIVE:
        if not math.isnan(value):
            raise ValueError(
                f"values: {name!r} = {value!r}, but the other values make it inactive; leave it out."
            )
    elif math.isnan(value):
        raise ValueError(f"values: {name!r} is missing, but the other values make it active.")
    elif space[name][regime].outside(np.asarray(value)):
        raise ValueError(f"values: {name!r} = {value!r} is outside {space[name][regime]!r}.")
