"""Conditions of a define-by-run space, from which parameters each trial had."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from parzax.kernels import kernel_axis
from parzax.space import Between, Categorical, Domain, In, Int
from parzax.space.domains import MAX_INTEGER

# A list of an integer's values says something while there are few.
_MOST_LISTED = 16

Conditions = tuple[In | Between, ...]


class Column(NamedTuple):
    """A parameter in a log.

    Attributes:
        domain: of its values.
        values: (n,) native values, NaN where it has none.
        known: (n,) where the log tells whether the trial had it: a pruned trial may have ended before.
    """

    domain: Domain
    values: np.ndarray
    known: np.ndarray

    @property
    def present(self) -> np.ndarray:
        """Where it has a value."""
        return ~np.isnan(self.values)


class Explained(NamedTuple):
    """What the log says about when parameters are active.

    Attributes:
        conditions: of each parameter whose presence is explained; parents come first.
        undecided: pairs of a child and a parent that may explain it once it was without the child.
    """

    conditions: dict[str, Conditions]
    undecided: frozenset[tuple[str, str]]


def explain(columns: dict[str, Column]) -> Explained:
    """Explain every parameter's presence by the values of others, where that is possible exactly.

    A parameter that every trial has is unconditional. Otherwise one condition is looked for, then two:
    the choices of a categorical parent with which it occurred, a threshold of a numeric parent (the
    roundest number between the values with and without it), few values of an integer parent. A parent
    must itself be explained, be in all trials that have the child, and in more. The answer depends on the
    log alone, and while new trials agree with it, it stays.
    """
    # Parents are in more trials than their children.
    names = sorted(columns, key=lambda name: -np.count_nonzero(columns[name].present))
    conditions: dict[str, Conditions] = {}
    undecided = []
    for name in names:
        child = columns[name]
        if (child.present | ~child.known).all():
            conditions[name] = ()
            continue
        able = [p for p in conditions if columns[p].present[child.present].all()]
        without = {p: columns[p].present & child.known & ~child.present for p in able}
        undecided += [(name, p) for p in able if not without[p].any()]
        parents = [p for p in able if without[p].any()]
        found = _single(child, parents, columns) or _pair(child, parents, columns)
        if found:
            conditions[name] = found
    return Explained(conditions, frozenset(undecided))


def holds(condition: In | Between, value: float) -> bool:
    """Whether a condition of `explain` holds at a parent's value; False for NaN."""
    if isinstance(condition, In):
        return value in condition.values
    return condition.low <= value < condition.high


def _single(child: Column, parents: Sequence[str], columns: dict[str, Column]) -> Conditions:
    # Categorical parents first: a threshold explains few trials easily by chance.
    ordered = sorted(parents, key=lambda p: _simplicity(columns[p].domain))
    for find in (_listed, _threshold, _few):
        for parent in ordered:
            condition = find(parent, columns[parent], child)
            if condition is not None and _exact((condition,), child, columns):
                return (condition,)
    return ()


def _pair(child: Column, parents: Sequence[str], columns: dict[str, Column]) -> Conditions:
    possible = [
        condition
        for parent in parents
        if (condition := _listed(parent, columns[parent], child) or _few(parent, columns[parent], child))
    ]
    for pair in combinations(possible, 2):
        if _exact(pair, child, columns):
            return pair
    return ()


def _simplicity(domain: Domain) -> int:
    return 0 if isinstance(domain, Categorical) else 1 if isinstance(domain, Int) else 2


def _exact(conditions: Conditions, child: Column, columns: dict[str, Column]) -> bool:
    explained = np.ones(len(child.values), bool)
    for condition in conditions:
        explained &= [holds(condition, value) for value in columns[condition.parent].values.tolist()]
    return bool((explained == child.present)[child.known].all())


def _listed(name: str, parent: Column, child: Column) -> In | None:
    if not isinstance(parent.domain, Categorical):
        return None
    return In(name, np.unique(parent.values[child.present]).astype(int).tolist())


def _few(name: str, parent: Column, child: Column) -> In | None:
    if not isinstance(parent.domain, Int) or parent.domain.n_values > _MOST_LISTED:
        return None
    return In(name, np.unique(parent.values[child.present]).astype(int).tolist())


def _threshold(name: str, parent: Column, child: Column) -> Between | None:
    domain = parent.domain
    # On the device the parent travels in float32.
    if isinstance(domain, Categorical) or not kernel_axis(domain).resolved(np.float32, True):
        return None
    having = parent.values[child.present]
    lacking = parent.values[parent.present & child.known & ~child.present]
    if lacking.max() < having.min():
        return Between(name, low=roundest(lacking.max(), having.min()))
    if having.max() < lacking.min():
        return Between(name, high=roundest(having.max(), lacking.min()))
    return None


def roundest(above: float, upto: float) -> float:
    """The number in (above, upto] with the fewest decimals, the largest one where there are several.

    It is likely to be the threshold in the user's code, and stays the same while the gap closes around it.
    """
    largest = max(abs(above), abs(upto))
    exponent = math.ceil(math.log10(largest)) + 1 if largest else 0
    for power in range(exponent, exponent - 18, -1):
        # Divided by a whole number where there are decimals, so that 3 / 10 is 0.3.
        scale = 10.0 ** abs(power)

        def multiple(count: int, power: int = power, scale: float = scale) -> float:
            return count * scale if power > 0 else count / scale

        count = math.floor(upto / scale if power > 0 else upto * scale)
        count += multiple(count + 1) <= upto  # 3e-4 * 1e4 is below 3
        candidate = multiple(count)
        if above < candidate <= upto and abs(count) < MAX_INTEGER:
            return float(candidate)
    return float(upto)
