"""The parameters of a study that are sampled jointly: of which distribution, under which conditions."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters.optuna.conditions import Conditions, Presence, explain, inside
from parzax.adapters.optuna.parameters import Parameter, declared, inferred
from parzax.adapters.session import MOST_STEPS, smoothed
from parzax.space import Between, Categorical, In, Space, holds, host_frame

# A range that moved more often is not that of one parameter.
_MOST_RANGES = 2


class Plan:
    """Which parameters are sampled jointly, and how a trial becomes a row."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        *,
        most: int = MOST_STEPS,
        latest: dict[str, BaseDistribution] | None = None,
        ignored: Collection[str] = (),
        conditions: dict[str, Conditions] | None = None,
        undecided: Collection[tuple[str, str]] = (),
    ) -> None:
        self.parameters = tuple(parameters)  # in the order of the space
        domains = {p.name: p.domains for p in parameters}
        # Steps of more than ``most`` values are `smoothed`; None where there are no parameters.
        self.space = smoothed(Space(domains), most) if domains else None
        # The relative search space.
        self.distributions = {p.name: p.distribution for p in parameters}
        self._domains = {name: first for name, (first, *_) in domains.items()}
        self._latest = latest
        self._ignored = frozenset(ignored)
        self._conditions, self._undecided = conditions or {}, undecided
        self._known: dict[tuple[tuple[str, int], float], bool] = {}

    def agrees_with(self, trial: FrozenTrial) -> bool:
        """Whether a finished trial leaves the plan as it is; if not, all of them must be looked at again."""
        latest, had = self._latest, trial.distributions
        if latest is None:
            return True
        if any(latest.get(name) != own for name, own in had.items() if name not in self._ignored):
            return False
        if any(child not in had and parent in had for child, parent in self._undecided):
            return False
        values, complete = self._values(trial.params), trial.state == TrialState.COMPLETE
        for name, conditions in self._conditions.items():
            active = all(self._holds((name, i), c, values[c.parent]) for i, c in enumerate(conditions))
            if active != (name in had) and (complete or name in had):
                return False
        return True

    def reads_like(self, other: "Plan") -> bool:
        """Whether both make the same rows of trials."""
        own, theirs = ([(p.name, p.domains) for p in plan.parameters] for plan in (self, other))
        return own == theirs

    def given(self, params: dict[str, Any]) -> dict[str, float]:
        """Parameters as numbers that a storage can keep."""
        own = self.distributions
        return {name: float(own[name].to_internal_repr(value)) for name, value in params.items()}

    def row(self, params: dict[str, Any], given: dict[str, float] | None = None) -> list[float]:
        """A trial's values in the space, NaN where it has none; those in ``given`` are in reserve."""
        own, given = self.distributions, given or {}
        reserve = {name: own[name].to_external_repr(x) for name, x in given.items() if name in own}
        return list(self._values(reserve | params).values())

    def at_level(self, level: float) -> np.ndarray:
        """The row that is everywhere at ``level`` in [0, 1), uniform on the axes or over listed values."""
        assert self.space is not None
        frame = host_frame(self.space)
        return frame.decode(frame.drawn(np.full((1, len(frame.parameter)), level)))[0]

    def params(self, row: np.ndarray) -> dict[str, Any]:
        """The active parameters of a row of the space."""
        pairs = zip(self.parameters, row.tolist(), strict=True)
        return {p.name: p.to_external(x) for p, x in pairs if x == x}

    def _holds(self, which: tuple[str, int], condition: In | Between, value: float) -> bool:
        """Whether a condition holds at a parent's value; of listed values that is looked up.

        By the child and the place among its conditions: In("m", [1]) and In("m", [True]) are equal.
        """
        known = self._known.get((which, value))
        if known is None:
            domain = self._domains[condition.parent]
            known = bool(holds(condition, domain, inside(domain, np.array(value))))
            if isinstance(domain, Categorical):
                self._known[which, value] = known
        return known

    def _values(self, params: dict[str, Any]) -> dict[str, float]:
        return {p.name: p.to_native(params[p.name]) if p.name in params else np.nan for p in self.parameters}


def single(name: str, distribution: BaseDistribution, _trials: Sequence[FrozenTrial] = ()) -> Plan:
    """One parameter alone, whatever the trials had; numeric ones are all of one kind."""
    return Plan([inferred(name, distribution)], most=1)


def from_log(trials: Sequence[FrozenTrial], only: Collection[str] | None) -> Plan:
    """The plan of a define-by-run study from its COMPLETE and PRUNED trials, in order of their numbers.

    Left out, and so sampled independently, are parameters whose presence is not explained (see `explain`),
    whose range took more than two forms, which have a single value, or which are not among ``only``.
    Otherwise the last range counts, and values outside it are moved to the nearest one inside.
    """
    latest, moving = _ranges(trials)
    usable = {
        name: inferred(name, distribution)
        # By name, so that the order in which branches were first visited makes no other program.
        for name, distribution in sorted(latest.items())
        if name not in moving and not distribution.single() and (only is None or name in only)
    }
    complete = np.array([t.state == TrialState.COMPLETE for t in trials], bool)
    columns = {}
    for name, p in usable.items():
        values = np.array([p.to_native(t.params[name]) if name in t.params else np.nan for t in trials])
        columns[name] = Presence(p.domains[0], inside(p.domains[0], values), complete | ~np.isnan(values))
    conditions, undecided = explain(columns)
    parameters = [
        replace(p, domains=(replace(p.domains[0], when=conditions[name]),))
        for name, p in usable.items()
        if name in conditions
    ]
    return Plan(parameters, latest=latest, ignored=moving, conditions=conditions, undecided=undecided)


def from_space(space: Space, trials: Sequence[FrozenTrial], only: Collection[str] | None) -> Plan:
    """The plan of a given space, less what ``only`` leaves out and its children; ranges are the last ones."""
    latest, _ = _ranges(trials)
    kept: set[str] = set()
    for name in space.order:
        if (only is None or name in only) and kept.issuperset(space.parents(name)):
            kept.add(name)
    parameters = [declared(name, space[name], latest.get(name)) for name in space.names if name in kept]
    return Plan(parameters, latest=latest, ignored=latest.keys() - kept)


def _ranges(trials: Sequence[FrozenTrial]) -> tuple[dict[str, BaseDistribution], set[str]]:
    """The last distribution of every parameter, and which had too many."""
    seen: dict[str, list[BaseDistribution]] = {}
    latest: dict[str, BaseDistribution] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            if latest.get(name) != distribution:
                latest[name] = distribution
                own = seen.setdefault(name, [])
                if len(own) <= _MOST_RANGES and distribution not in own:
                    own.append(distribution)
    return latest, {name for name, own in seen.items() if len(own) > _MOST_RANGES}
