"""Which domain of each parameter applies: one walk from parents to children, on the host and on devices."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from parzax._numerics import namespace
from parzax.space.conditions import Between, Condition, In, Recorded, common_intervals
from parzax.space.domains import Categorical, Domain

INACTIVE = -1
# Values of a continuum that differ by this many units in the last place count as equal.
UNITS = 64


class Slot(NamedTuple):
    """One regime of one parameter."""

    parameter: int
    regime: int
    domain: Domain


def generations(domains: Mapping[str, tuple[Domain, ...]]) -> list[list[str]]:
    """Lists of names, parents in earlier lists than their children; ValueError for impossible parents."""
    parents = {
        name: {parent for domain in regimes for parent in _parents(name, domain, domains)}
        for name, regimes in domains.items()
    }
    in_order = []
    while parents:
        ready = [name for name, above in parents.items() if parents.keys().isdisjoint(above)]
        if not ready:
            raise ValueError(f"the conditions of {', '.join(map(repr, parents))} form a cycle.")
        in_order.append(ready)
        parents = {name: above for name, above in parents.items() if name not in ready}
    return in_order


def _parents(name: str, domain: Domain, domains: Mapping[str, tuple[Domain, ...]]) -> Iterable[str]:
    """Names of a domain's parents; raise if a condition never holds, or never together with the others."""
    by_parent: dict[str, list[Condition]] = {}
    for condition in domain.conditions:
        if isinstance(condition, Recorded):
            continue
        if condition.parent not in domains:
            missing = f"{condition.parent!r}, which is not in the space."
            raise ValueError(f"parameter {name!r} depends on {missing}")
        _check_condition(name, condition, domains[condition.parent])
        by_parent.setdefault(condition.parent, []).append(condition)
    for parent, conditions in by_parent.items():
        if not any(common_intervals([c.intervals(d) for c in conditions]) for d in domains[parent]):
            together = " and ".join(map(repr, conditions))
            raise ValueError(f"parameter {name!r}: {together} never hold together.")
    return by_parent


def _check_condition(name: str, condition: Condition, parent: tuple[Domain, ...]) -> None:
    if isinstance(condition, In):
        for value in condition.values:
            if all(domain.key(value) is None for domain in parent):
                raise ValueError(f"parameter {name!r}: {condition.parent!r} never has the value {value!r}.")
    elif isinstance(condition, Between) and isinstance(parent[0], Categorical):
        problem = f"Between needs a numeric parent, {condition.parent!r} is categorical; use In."
        raise ValueError(f"parameter {name!r}: {problem}")
    elif not any(condition.intervals(domain) for domain in parent):
        domains = " or ".join(map(repr, parent))
        raise ValueError(f"parameter {name!r}: {condition!r} never holds, since the parent is {domains}.")


class Walk(eqx.Module):
    """The conditions of s slots as arrays, so that a program does not grow with the number of branches.

    A condition has one test for each interval of each regime of its parent; it holds if one of its tests
    holds. A slot can apply if all of its conditions hold; it applies if no earlier slot of its parameter can.
    The first round settles parameters without parents, the second their children, and so on.
    """

    parents: Int[Any, " p"]  # slots on whose values conditions depend
    parent: Int[Any, " t"]  # index into ``parents`` of the slot that a test reads
    counted: Bool[Any, " t"]  # whether a test compares the index of the value, or the value itself
    first: Int[Any, " t"]  # a test on an index holds if first <= index < last
    last: Int[Any, " t"]  # end of these indices
    # a test on a value holds if low <= value < high, see `parzax.space.conditions.Interval`
    low: Float[Any, " t"]
    high: Float[Any, " t"]  # end of these values
    any_of: Float[Any, "t k"]  # 1 if the test belongs to the condition
    all_of: Float[Any, "k s"]  # 1 if the condition belongs to the slot
    # 1 if the first slot comes before the second one of the same parameter; None if each parameter has one
    # slot.
    before: Float[Any, "s s"] | None
    n_rounds: int = eqx.field(static=True)  # number of generations of parameters; static

    # Methods without Equinox's wrappers, as in `parzax.space.AbstractAxis`.
    __getattribute__ = object.__getattribute__

    @classmethod
    def of(cls, slots: tuple[Slot, ...], columns: Mapping[str, int], n_rounds: int) -> "Walk | None":
        """Build the walk from all slots and the columns of names; None if all slots always apply."""
        if not any(slot.domain.conditions for slot in slots):
            return None
        parameter = np.array([slot.parameter for slot in slots])
        tests: list[tuple[float, ...]] = []  # per test: condition, slot of the parent, low, high
        conditional: list[int] = []  # slot to which each condition belongs
        for s, slot in enumerate(slots):
            for condition in slot.domain.conditions:
                if isinstance(condition, Recorded):
                    continue
                for p in np.flatnonzero(parameter == columns[condition.parent]).tolist():
                    tests += [(len(conditional), p, *ends) for ends in condition.intervals(slots[p].domain)]
                conditional.append(s)
        # For `Recorded` domains the log says which one applied, so there is no search for the first possible
        # domain.
        several = any(
            second.regime == 1 and not isinstance(first.domain.conditions[0], Recorded)
            for first, second in pairwise(slots)
        )
        number, tested, low, high = np.array(tests, np.float64).reshape(-1, 4).T
        parents, parent = np.unique(tested.astype(np.int32), return_inverse=True)
        counted = np.array([slots[p].domain.axis.discrete for p in parents], bool)[parent]
        return cls(
            parents=parents,
            parent=parent.astype(np.int32),
            counted=counted,
            first=np.where(counted, low, 0).astype(np.int64),
            last=np.where(counted, high, 0).astype(np.int64),
            low=low,
            high=high,
            any_of=indicator(number, len(conditional)),
            all_of=indicator(np.array(conditional), len(slots)),
            before=np.triu(parameter[:, None] == parameter, 1).astype(np.float32) if several else None,
            n_rounds=n_rounds,
        )

    def inside(self, number: Shaped[Any, "n t"], value: Shaped[Any, "n t"]) -> Bool[Any, "n t"]:
        """(n, t) outcome of each test, given the value in the parent's slot and the number of this value."""
        ends = (end[None] for end in (self.first, self.last, self.low, self.high))
        return _inside(self.counted[None], number, value, *ends)

    def applied(self, inside: Bool[Any, "n t"], given: Bool[Any, "n s"] | None = None) -> Bool[Any, "n s"]:
        """Which slots apply.

        ``given`` says which slots may apply according to the log; None allows all. ``inside`` is the outcome
        of every test, assuming that the parent's slot applies; False where the slot's domain does not have
        the value.
        """
        xp, tested = namespace(inside), self.parents[self.parent]
        applies = xp.zeros((len(inside), self.all_of.shape[1]), bool)
        for _ in range(self.n_rounds):
            hit = inside & applies[:, tested]
            is_met = _matmul(hit, self.any_of) > 0
            can = ~(_matmul(~is_met, self.all_of) > 0)
            if given is not None:
                can = can & given
            applies = can if self.before is None else can & ~(_matmul(can, self.before) > 0)
        return applies


def holds(condition: Condition, domain: Domain, x: Float[Any, "..."]) -> Bool[Any, "..."]:
    """Whether a condition holds at native values of a parent (codes of a category); False at NaN."""
    at = np.asarray(x, np.float64)[..., None]
    ends = np.array(condition.intervals(domain), np.float64).reshape(-1, 2).T
    first, last = (np.where(domain.axis.discrete, end, 0).astype(np.int64) for end in ends)
    counted, number = np.asarray(domain.axis.discrete), domain.axis.index(at)
    return (_inside(counted, number, at, first, last, *ends) & ~domain.outside(at)).any(axis=-1)


def _inside(counted: Any, number: Any, value: Any, first: Any, last: Any, low: Any, high: Any) -> Any:
    """Whether a parent's key (number or value) is in an interval; used on the host and on devices."""
    xp = namespace(value)
    only = low == high
    slack = xp.where(only, UNITS * float(np.finfo(value.dtype).eps) * xp.abs(low), 0)
    end = xp.where(only, low + slack, high)
    at_value = (value >= low - slack) & ((value < end) | (only & (value == end)))
    return xp.where(counted, (number >= first) & (number < last), at_value)


def indicator(column_of: np.ndarray, n_columns: int) -> np.ndarray:
    """(rows, n_columns) indicator matrix: 1 in column ``column_of[i]`` of row i, else 0."""
    return (column_of[:, None] == np.arange(n_columns)).astype(np.float32)


def _matmul(mask: Any, counts: Any) -> Any:
    """Sum of the counts under each mask; these are integers, exact in any precision."""
    return namespace(mask).matmul(mask.astype(np.float32), counts)
