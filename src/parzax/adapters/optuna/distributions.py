"""Translate Optuna's distributions to domains, and to the regimes of a parameter."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from parzax.space import Categorical, Domain, Float, Int, Recorded, Varying
from parzax.space.axes import STEP_SLACK
from parzax.space.conditions import choice_key, choice_label
from parzax.space.domains import MAX_INTEGER

# Largest number of steps whose points an int32 can number.
_MOST_STEPS = 2**31 - 2


def regimes_of(distributions: list[Any]) -> tuple[list[Any], np.ndarray, bool]:
    """Distinct distributions, the index for each row, and whether orders of choices were merged.

    Two distributions are one regime if Optuna calls them equal, with two exceptions: choices stay apart by
    type (True is not 1), and the same choices in another order are the same regime. Regimes come in order of
    appearance. Numeric distributions that occur in a single row are pooled into `Varying` domains, which come
    last: their bounds move from row to row (x in [0, c], say). There is one `Varying` domain for each kind of
    numbers (integers or not, log axis or not, step) with at least two such distributions. Optuna leaves all
    of them out of the sum.
    """
    exact_keys = [_exact_key(distribution) for distribution in distributions]
    keys = [frozenset(key) if CategoricalDistribution in key else key for key in exact_keys]
    n_rows = Counter(keys)
    kinds = [
        (type(d), bool(d.log), d.step) if n_rows[key] == 1 and hasattr(d, "log") else None
        for d, key in zip(distributions, keys, strict=True)
    ]
    n_single = Counter(kinds)
    rows: dict[tuple[bool, Any], list[int]] = {}
    for i, (key, kind) in enumerate(zip(keys, kinds, strict=True)):
        moves = kind is not None and n_single[kind] > 1
        rows.setdefault((moves, kind if moves else key), []).append(i)
    regimes: list[Any] = []
    regime = np.empty(len(distributions), np.int16)
    for (moves, _), members in sorted(rows.items(), key=lambda item: item[0][0]):
        regime[members] = len(regimes)
        regimes.append(_pool([distributions[i] for i in members]) if moves else distributions[members[0]])
    return regimes, regime, len(n_rows) < len(set(exact_keys))


def _pool(distributions: list[Any]) -> Varying:
    """The domain of distributions of one kind whose bounds move from row to row."""
    low, high = min(d.low for d in distributions), max(d.high for d in distributions)
    first = distributions[0]
    return Varying(low, high, log=bool(first.log), step=first.step, when=(Recorded(),))


def _exact_key(distribution: Any) -> tuple[Any, ...]:
    if isinstance(distribution, CategoricalDistribution):
        return CategoricalDistribution, *map(choice_key, distribution.choices)
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        d = distribution
        return type(d), d.low, d.high, d.log, d.step
    raise ValueError(f"unknown distribution {distribution!r}.")


def domain_of(distribution: Any, when: tuple[Recorded, ...] = (), *, sampled: bool = False) -> Domain:
    """The domain of an Optuna distribution (a `Varying` passes through).

    Integers beyond 2^53 become a continuum, half a step longer at both ends. With ``sampled`` the function
    also takes what a log cannot have: more steps than an int32 can number become a continuum too, and equal
    choices are told apart.
    """
    if isinstance(distribution, Varying):
        return distribution
    if isinstance(distribution, CategoricalDistribution):
        labels = map(choice_label, distribution.choices)
        return Categorical(_distinct(labels) if sampled else tuple(labels), when=when)
    low, high, log, step = distribution.low, distribution.high, bool(distribution.log), distribution.step
    is_integer = isinstance(distribution, IntDistribution)
    beyond = is_integer and max(abs(low), abs(high)) > MAX_INTEGER
    if beyond or (sampled and step is not None and (high - low) / step > _MOST_STEPS):
        return Float(float(low) - step / 2, float(high) + step / 2, log=log, when=when)
    if is_integer:
        return Int(low, high, log=log, step=step or 1, when=when)
    return Float(low, high, log=log, step=step, when=when)


def _distinct(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct labels: the number of the choice is added to a repeated label."""
    by_key: dict[Any, Any] = {}
    for number, label in enumerate(labels):
        label = f"{label!r}, choice {number}" if choice_key(label) in by_key else label
        by_key[choice_key(label)] = label
    return tuple(by_key.values())


def nearest_inside(values: np.ndarray, low: Any, high: Any, step: float | None) -> np.ndarray:
    """Move values outside their bounds, or between steps, to the nearest value inside; NaN does not change.

    Optuna accepts any enqueued value, and its evaluator counts it in the nearest cell. Every value may have
    bounds of its own.
    """
    nearest = np.clip(values, low, high)
    if step is None:
        return nearest
    # A value midway between two steps is rounded down, as on Optuna's grid.
    nearest = low + step * np.ceil((nearest - low) / step - 0.5)
    return np.where(np.abs(values - nearest) > STEP_SLACK * step, nearest, values)
