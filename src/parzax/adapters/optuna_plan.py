"""The parameters of a study that are sampled jointly: of which distribution, under which conditions."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters._codec import Codec
from parzax.adapters.optuna_conditions import Column, Explained, explain, holds
from parzax.adapters.optuna_parameters import Parameter, declared, inferred
from parzax.space import Between, In, Space

# A range that moved more often is not that of one parameter.
_MOST_RANGES = 2


class Plan:
    """Which parameters are sampled jointly, and how a trial becomes a row.

    Attributes:
        parameters: in the order of the space.
        codec: of their space; None where there are no parameters.
    """

    def __init__(
        self,
        parameters: Sequence[Parameter],
        space: Space | None,
        *,
        latest: dict[str, BaseDistribution] | None = None,
        ignored: Collection[str] = (),
        explained: Explained | None = None,
        smooth: bool = False,
    ) -> None:
        self.parameters = tuple(parameters)
        self.codec = None if space is None else Codec(space, smooth=smooth)
        self._latest = latest
        self._ignored = frozenset(ignored)
        self._explained = explained

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The relative search space."""
        return {p.name: p.distribution for p in self.parameters}

    def agrees_with(self, trial: FrozenTrial) -> bool:
        """Whether a finished trial leaves the plan as it is; if not, all of them must be looked at again."""
        if self._latest is None:
            return True
        for name, distribution in trial.distributions.items():
            if name not in self._ignored and self._latest.get(name) != distribution:
                return False
        if self._explained is None:
            return True
        had = trial.distributions
        if any(child not in had and parent in had for child, parent in self._explained.undecided):
            return False
        values = self._values(trial.params)
        complete = trial.state == TrialState.COMPLETE
        for name, conditions in self._explained.conditions.items():
            active = all(c.parent in values and holds(c, values[c.parent]) for c in conditions)
            if active != (name in had) and (complete or name in had):
                return False
        return True

    def reads_like(self, other: "Plan") -> bool:
        """Whether both make the same rows of trials."""
        own, theirs = (
            [(p.name, p.domains, p.codes, p.choices) for p in plan.parameters] for plan in (self, other)
        )
        spaces = [plan.codec and plan.codec.native for plan in (self, other)]
        return own == theirs and spaces[0] == spaces[1]

    def given(self, params: dict[str, Any]) -> dict[str, float]:
        """Parameters as numbers that a storage can keep."""
        own = self.distributions
        return {name: float(own[name].to_internal_repr(value)) for name, value in params.items()}

    def row(self, params: dict[str, Any], given: dict[str, float] | None = None) -> np.ndarray | None:
        """A trial's values in the codec's space; None where one that is active is missing.

        Args:
            params: of the trial.
            given: values in reserve, see `given`.
        """
        assert self.codec is not None
        if given:
            own = self.distributions
            params = {n: own[n].to_external_repr(x) for n, x in given.items() if n in own} | params
        native = [p.to_native(params[p.name]) if p.name in params else np.nan for p in self.parameters]
        return self.codec.encode(np.array(native))

    def params(self, row: np.ndarray) -> dict[str, Any]:
        """The active parameters of a row of the codec's space."""
        assert self.codec is not None
        native = self.codec.decode(row).tolist()
        return {p.name: p.to_external(x) for p, x in zip(self.parameters, native, strict=True) if x == x}

    def _values(self, params: dict[str, Any]) -> dict[str, float]:
        return {p.name: p.to_native(params[p.name]) for p in self.parameters if p.name in params}


def single(name: str, distribution: BaseDistribution) -> Plan:
    """One parameter alone, whatever happens to the others; numeric ones are all of one kind."""
    parameter = inferred(name, distribution)
    return Plan([parameter], Space({name: parameter.domains[0]}), smooth=True)


def from_log(trials: Sequence[FrozenTrial], only: Collection[str] | None) -> Plan:
    """The plan of a define-by-run study from its finished trials, in order of their numbers.

    Left out, and so sampled independently, are parameters whose presence is not explained (see `explain`),
    whose range took more than two forms, or which have a single value. Otherwise the last range counts, and
    values outside it are moved to the nearest one inside.

    Args:
        trials: COMPLETE and PRUNED ones.
        only: consider these parameters; None for all.
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
    for name, parameter in usable.items():
        values = np.array(
            [parameter.to_native(t.params[name]) if name in t.params else np.nan for t in trials]
        )
        columns[name] = Column(parameter.domains[0], values, complete | ~np.isnan(values))
    explained = explain(columns)
    conditional = {
        name: _under(usable[name], explained.conditions[name])
        for name in usable
        if name in explained.conditions
    }
    return Plan(
        [usable[name] for name in conditional],
        Space(conditional) if conditional else None,
        latest=latest,
        ignored=moving,
        explained=explained,
    )


def from_space(space: Space, trials: Sequence[FrozenTrial], only: Collection[str] | None) -> Plan:
    """The plan of a given space; distributions are the last ones of the log where it has them.

    With ``only``, parameters whose parents are not among them are left out too.
    """
    latest, _ = _ranges(trials)
    kept: list[str] = []
    for name in space.order:
        parents = {c.parent for d in space[name] for c in d.conditions if isinstance(c, (In, Between))}
        if (only is None or name in only) and parents <= set(kept):
            kept.append(name)
    parameters = [declared(name, space[name], latest.get(name)) for name in space.names if name in kept]
    own = (
        space if len(kept) == len(space) else Space({p.name: p.domains for p in parameters}) if kept else None
    )
    return Plan(parameters, own, latest=latest, ignored=latest.keys() - set(kept))


def _under(parameter: Parameter, conditions: tuple[In | Between, ...]) -> Any:
    return replace(parameter.domains[0], when=conditions)


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
