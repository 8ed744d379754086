"""Infer the conditions of a define-by-run space from the parameters that each trial had."""

import math
from decimal import ROUND_FLOOR, Decimal
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from parzax.space import Between, Categorical, Domain, In, Int, holds

# A condition lists values of an integer parent only if the parent has at most this many values.
_MOST_LISTED = 16

Conditions = tuple[In | Between, ...]


class Presence(NamedTuple):
    """A parameter in a log: (n,) native values, NaN where it has none, and which trials are complete."""

    domain: Domain
    values: np.ndarray
    complete: np.ndarray

    @property
    def present(self) -> np.ndarray:
        """(n,) trials that have a value of the parameter."""
        return ~np.isnan(self.values)

    @property
    def absent(self) -> np.ndarray:
        """(n,) complete trials without a value. A pruned trial may have ended before it asked for one."""
        return self.complete & np.isnan(self.values)


def explain(columns: dict[str, Presence]) -> tuple[dict[str, Conditions], frozenset[tuple[str, str]]]:
    """Explain every parameter's presence by the values of others, where that is possible exactly.

    A parameter that every trial has is unconditional. For any other, one condition is tried, then two. A
    condition is the choices of a categorical parent with which it occurred, a threshold of a numeric parent
    (the roundest number between the values with and without it), or a few values of an integer parent. A
    parent must itself be explained, occur in all trials that have the child, and in more. The result depends
    on the log alone, and does not change while new trials agree with it.

    Returns:
        Conditions of each parameter whose presence is explained, parents first; and undecided pairs of a
        child and a parent: the parent may explain the child once a trial has the parent without the child.
    """
    # Parents occur in more trials than their children, so they come first.
    conditions: dict[str, Conditions] = {}
    undecided = []
    for name in sorted(columns, key=lambda name: -np.count_nonzero(columns[name].present)):
        child = columns[name]
        if not child.absent.any():
            conditions[name] = ()
            continue
        candidates = [p for p in conditions if columns[p].present[child.present].all()]
        parents = {p: columns[p] for p in candidates if (columns[p].present & child.absent).any()}
        undecided += [(name, p) for p in candidates if p not in parents]
        if explanation := _explanation(child, parents):
            conditions[name] = explanation
    return conditions, frozenset(undecided)


def _explanation(child: Presence, parents: dict[str, Presence]) -> Conditions:
    """One or two conditions that explain the child's presence exactly; empty if no conditions do."""
    ranked = [pair for name, parent in parents.items() for pair in _conditions_on(name, parent, child)]
    single = [(condition,) for _, condition in sorted(ranked, key=lambda pair: pair[0])]
    lists = (condition for _, condition in ranked if isinstance(condition, In))
    for conditions in chain(single, combinations(lists, 2)):
        outcomes = [holds(c, parents[c.parent].domain, parents[c.parent].values) for c in conditions]
        active = np.logical_and.reduce(outcomes)
        if active[child.present].all() and not active[child.absent].any():
            return conditions
    return ()


def _conditions_on(name: str, parent: Presence, child: Presence) -> list[tuple[int, In | Between]]:
    """Conditions on one parent that a child may have, by rank: a threshold explains few trials by chance."""
    domain, having = parent.domain, parent.values[child.present]
    values = np.unique(having).astype(int).tolist() if isinstance(domain, (Categorical, Int)) else []
    if isinstance(domain, Categorical):
        return [(0, In(name, [domain.choices[value] for value in values]))]
    conditions: list[tuple[int, In | Between]] = []
    # The device holds the parent's values in float32: a threshold needs values that differ there.
    if domain.axis.resolved(np.float32, True):
        lacking, rank = parent.values[parent.present & child.absent], 1 if isinstance(domain, Int) else 2
        if lacking.max() < having.min():
            conditions.append((rank, Between(name, low=roundest(lacking.max(), having.min()))))
        if having.max() < lacking.min():
            conditions.append((rank, Between(name, high=roundest(having.max(), lacking.min()))))
    if isinstance(domain, Int) and (domain.n_values or 0) <= _MOST_LISTED:
        conditions.append((3, In(name, values)))
    return conditions


def roundest(above: float, upto: float) -> float:
    """The number in (above, upto] with the fewest decimals; if several have as few, the largest.

    It is likely to be the threshold in the user's code, and stays the same while the gap closes around it.
    """
    # Decimal arithmetic is exact: the float 3e-4 is slightly less than 3e-4.
    exact, largest = Decimal(repr(float(upto))), max(abs(above), abs(upto))
    exponent = math.ceil(math.log10(largest)) + 1 if largest else 0
    for power in range(exponent, exponent - 18, -1):
        candidate = float(exact.quantize(Decimal(1).scaleb(power), ROUND_FLOOR))
        if above < candidate <= upto:
            return candidate
    return float(upto)
