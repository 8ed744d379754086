"""Conditions of a define-by-run space, from which parameters each trial had."""

import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from parzax.space import Between, Categorical, Domain, In, Int, holds

# A list of an integer's values says something while there are few.
_MOST_LISTED = 16

Conditions = tuple[In | Between, ...]


class Presence(NamedTuple):
    """A parameter in a log: (n,) native values, NaN where it has none; of pruned trials that is not known."""

    domain: Domain
    values: np.ndarray
    known: np.ndarray

    @property
    def present(self) -> np.ndarray:
        """Where it has a value."""
        return ~np.isnan(self.values)


def explain(columns: dict[str, Presence]) -> tuple[dict[str, Conditions], frozenset[tuple[str, str]]]:
    """Explain every parameter's presence by the values of others, where that is possible exactly.

    A parameter that every trial has is unconditional. Otherwise one condition is looked for, then two:
    the choices of a categorical parent with which it occurred, a threshold of a numeric parent (the
    roundest number between the values with and without it), few values of an integer parent. A parent
    must itself be explained, be in all trials that have the child, and in more. The answer depends on the
    log alone, and while new trials agree with it, it stays.

    Returns:
        Conditions of each parameter whose presence is explained, parents first; and pairs that are undecided.
        Of these the second is a parent that may explain the first, a child, once it was without the child.
    """
    # Parents are in more trials than their children.
    conditions: dict[str, Conditions] = {}
    undecided = []
    for name in sorted(columns, key=lambda name: -np.count_nonzero(columns[name].present)):
        child = columns[name]
        if (child.present | ~child.known).all():
            conditions[name] = ()
            continue
        able = [p for p in conditions if columns[p].present[child.present].all()]
        without = {p: columns[p].present & child.known & ~child.present for p in able}
        undecided += [(name, p) for p in able if not without[p].any()]
        parents = [p for p in able if without[p].any()]
        if found := _found(child, parents, columns):
            conditions[name] = found
    return conditions, frozenset(undecided)


def inside(domain: Domain, values: np.ndarray) -> np.ndarray:
    """Values with those that a domain does not have moved to its nearest one; NaN stays."""
    moved = domain.axis.native(domain.axis.unit(values), domain.axis.index(values))
    return np.where(np.isnan(values) | ~domain.outside(values), values, moved)


def _found(child: Presence, parents: Sequence[str], columns: dict[str, Presence]) -> Conditions:
    """One condition that explains a child exactly, or two; none where there are none."""
    listed = {p: one for p in parents if (one := _listed(p, columns[p], child)) is not None}
    # Categorical parents first, then integers: a threshold explains few trials easily by chance.
    categorical = [(listed[p],) for p in listed if isinstance(columns[p].domain, Categorical)]
    ordered = sorted(parents, key=lambda p: not isinstance(columns[p].domain, Int))
    thresholds = ((one,) for p in ordered if (one := _threshold(p, columns[p], child)) is not None)
    whole = [(listed[p],) for p in listed if isinstance(columns[p].domain, Int)]
    for way in chain(categorical, thresholds, whole, combinations(listed.values(), 2)):
        held = [holds(one, columns[one.parent].domain, columns[one.parent].values) for one in way]
        if (np.logical_and.reduce(held) == child.present)[child.known].all():
            return way
    return ()


def _listed(name: str, parent: Presence, child: Presence) -> In | None:
    domain = parent.domain
    few = isinstance(domain, Int) and domain.n_values <= _MOST_LISTED
    if not few and not isinstance(domain, Categorical):
        return None
    values = np.unique(parent.values[child.present]).astype(int).tolist()
    return In(name, [domain.choices[v] for v in values] if isinstance(domain, Categorical) else values)


def _threshold(name: str, parent: Presence, child: Presence) -> Between | None:
    domain = parent.domain
    # On the device the parent travels in float32.
    if isinstance(domain, Categorical) or not domain.axis.resolved(np.float32, True):
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
    # In decimals, of which 3e-4 is three and not a little less.
    exact, largest = Decimal(repr(float(upto))), max(abs(above), abs(upto))
    exponent = math.ceil(math.log10(largest)) + 1 if largest else 0
    for power in range(exponent, exponent - 18, -1):
        candidate = float(exact.quantize(Decimal(1).scaleb(power), ROUND_FLOOR))
        if above < candidate <= upto:
            return candidate
    return float(upto)
