"""Optuna's distributions as domains, and as regimes of one parameter, and its values in parzax's units."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from parzax.adapters.session import choice_label
from parzax.space import Categorical, Domain, Float, Int, Numeric, Recorded, Varying, choice_key
from parzax.space.domains import MAX_INTEGER

# More steps than points number, in int32.
_MOST_STEPS = 2**31 - 2


def regimes_of(distributions: list[Any]) -> tuple[list[Any], np.ndarray, bool, int]:
    """Distinct distributions, the index of each row's, whether orders were merged, and how many were pooled.

    Two are one regime where Optuna calls them equal, with two exceptions: choices stay apart by type
    (True is not 1), and the same choices in another order are the same regime. They come in order of
    appearance; numeric distributions seen in one row each are pooled into `Varying` domains, put last. Such
    a domain moves from row to row (x in [0, c], say). There is one for each kind of numbers (whole or not, on
    a log axis or not, of one step) with at least two. Optuna leaves all of them out of the sum.
    """
    orders: dict[Any, list[int]] = {}
    for i, distribution in enumerate(distributions):
        orders.setdefault(_exact_key(distribution), []).append(i)
    rows: dict[Any, list[int]] = {}
    for order, of_order in orders.items():
        rows.setdefault(frozenset(order) if CategoricalDistribution in order else order, []).extend(of_order)
    reordered = len(rows) < len(orders)
    single: dict[Any, list[Any]] = {}
    for key, (first, *others) in rows.items():
        d = distributions[first]
        if not others and not isinstance(d, CategoricalDistribution):
            single.setdefault((type(d), bool(d.log), d.step), []).append(key)
    moving = [[rows.pop(key)[0] for key in keys] for keys in single.values() if len(keys) > 1]
    regimes, which = [distributions[first] for first, *_ in rows.values()], np.empty(len(distributions), int)
    for pool in moving:
        first, ranges = distributions[pool[0]], [(distributions[i].low, distributions[i].high) for i in pool]
        low, high = min(ranges)[0], max(high for _, high in ranges)
        regimes.append(Varying(low, high, log=bool(first.log), step=first.step, when=(Recorded(),)))
    for number, of_regime in enumerate([*rows.values(), *moving]):
        which[of_regime] = number
    return regimes, which, reordered, sum(map(len, moving))


def _exact_key(distribution: Any) -> tuple[Any, ...]:
    if isinstance(distribution, CategoricalDistribution):
        return CategoricalDistribution, *map(identity, distribution.choices)
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        whole = isinstance(distribution, IntDistribution)
        return whole, distribution.low, distribution.high, distribution.log, distribution.step
    raise ValueError(f"unknown distribution {distribution!r}.")


def identity(choice: Any) -> tuple[str, str]:
    """What tells choices apart: type and value, the repr of what is not plain."""
    return choice_key(choice_label(choice))


def moving_bounds(
    regimes: list[Any], which: np.ndarray, distributions: list[Any], values: np.ndarray
) -> tuple[np.ndarray | None, int]:
    """(n, 2) bounds of the rows of `Varying` domains, NaN in others; None where there are none.

    And how many values, moved in place to the nearest bound, missed them (enqueued, say).
    """
    moves = np.array([isinstance(d, Varying) for d in regimes])[which]
    if not moves.any():
        return None, 0
    rows = np.flatnonzero(moves)
    own = [distributions[row] for row in rows.tolist()]
    bounds, moved = np.full((len(which), 2), np.nan), 0
    bounds[rows] = [(d.low, d.high) for d in own]
    low, high = bounds[rows].T
    steps = (values[rows] - low) / np.array([d.step or math.inf for d in own])
    odd = (values[rows] < low) | (values[rows] > high) | (steps != np.round(steps))
    for i in np.flatnonzero(odd).tolist():
        moved += to_inside(domain_of(own[i]), values, np.arange(len(values)) == rows[i])
    return bounds, moved


def domain_of(distribution: Any, when: tuple[Recorded, ...] = (), *, sampled: bool = False) -> Domain:
    """The domain of an Optuna distribution (a `Varying` passes through).

    With ``sampled`` also of what a log cannot have: choices that are equal; and, as a continuum from half a
    step below to half a step above, whole numbers beyond 2^53 and more steps than an int32 numbers.
    """
    if isinstance(distribution, Varying):
        return distribution
    if isinstance(distribution, CategoricalDistribution):
        labels = map(choice_label, distribution.choices)
        return Categorical(_told_apart(labels) if sampled else tuple(labels), when=when)
    low, high, log, step = distribution.low, distribution.high, bool(distribution.log), distribution.step
    whole = isinstance(distribution, IntDistribution)
    if sampled and step is not None:
        beyond = whole and max(abs(low), abs(high)) > MAX_INTEGER
        if beyond or (high - low) / step > _MOST_STEPS:
            return Float(float(low) - step / 2, float(high) + step / 2, log=log, when=when)
    if whole:
        return Int(low, high, log=log, step=1 if log else distribution.step, when=when)
    return Float(low, high, log=log, step=step, when=when)


def _told_apart(labels: Iterable[Any]) -> tuple[Any, ...]:
    """Labels that differ: their number is part of those that were there before, and of NaN."""
    out: dict[Any, Any] = {}
    for number, label in enumerate(labels):
        again = label != label or choice_key(label) in out
        label = f"{label!r}, choice {number}" if again else label
        out[choice_key(label)] = label
    return tuple(out.values())


def to_codes(domains: tuple[Categorical, ...], which: np.ndarray, external: list[Any]) -> np.ndarray:
    """Codes (n,) of external values, found by type and value; Optuna's own codes take 1 for True."""
    codes = np.empty(len(external))
    for row, (value, regime) in enumerate(zip(external, which.tolist(), strict=True)):
        code = domains[regime].codes.get(identity(value))
        if code is None:
            raise ValueError(f"value {value!r} is not among the choices {list(domains[regime].choices)!r}.")
        codes[row] = code
    return codes


def to_inside(domain: Domain, values: np.ndarray, here: np.ndarray) -> int:
    """Move values (n,) that miss ``domain`` in the rows ``here`` to its nearest value, in place; how many.

    Optuna accepts any enqueued value, and its evaluator counts it in the nearest cell.
    """
    assert isinstance(domain, Numeric)
    if isinstance(domain, Varying):  # its rows have bounds of their own
        return 0
    outside, step = here & domain.outside(values), getattr(domain, "step", None)
    inside = np.clip(values[outside], domain.low, domain.high)
    if step is not None:
        # Midway goes down, as on Optuna's grid.
        inside = domain.low + step * np.ceil((inside - domain.low) / step - 0.5)
    values[outside] = inside
    return len(inside)
