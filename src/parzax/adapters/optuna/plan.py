"""The parameters of a study that are sampled jointly: their distributions and their conditions."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters.optuna.conditions import Presence, explain
from parzax.adapters.optuna.distributions import Parameter, declared, inferred, nearest_inside
from parzax.adapters.session import MOST_STEPS, smoothed
from parzax.space import INACTIVE, Numeric, Space

# A parameter that had more ranges than this is left out of the plan.
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
        undecided: Collection[tuple[str, str]] | None = None,
    ) -> None:
        """Plan for some parameters, in the order of the space; `agrees_with` explains the other arguments.

        A stepped parameter with more than ``most`` values becomes continuous, see `smoothed`.
        """
        self.parameters = tuple(parameters)
        domains = {p.name: p.domains for p in parameters}
        # None if the plan has no parameters.
        self.space = smoothed(Space(domains), most) if domains else None
        # Optuna's name for this is the relative search space.
        self.distributions = {p.name: p.distribution for p in parameters}
        self._latest, self._ignored, self._undecided = latest, frozenset(ignored), undecided

    @property
    def has_choices(self) -> bool:
        """Whether a parameter is categorical."""
        return any(parameter.choices for parameter in self.parameters)

    def agrees_with(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether some finished trials agree with the plan. If not, a new plan must be made from all trials.

        They agree if they have the ``latest`` distributions (any distributions, if None is given) of all
        parameters except the ``ignored`` ones. If ``undecided`` pairs are given, conditions were inferred
        from a log; then also no trial may have the parent of such a pair without the child, and every trial
        must have the parameters that are active in it.
        """
        if self._latest is None:
            return True
        for trial in trials:
            present = trial.distributions
            if any(self._latest.get(n) != d for n, d in present.items() if n not in self._ignored):
                return False
            if any(child not in present and parent in present for child, parent in self._undecided or ()):
                return False
        if self._undecided is None or self.space is None or not trials:
            return True
        rows = np.array([self.row(trial.params) for trial in trials])
        active = self.space.derive_regimes(rows) != INACTIVE
        present = np.array([[name in trial.distributions for name in self.space.names] for trial in trials])
        complete = np.array([trial.state == TrialState.COMPLETE for trial in trials])
        return not ((active != present) & (complete[:, None] | present)).any()

    def reads_like(self, other: "Plan") -> bool:
        """Whether this plan and the other plan turn trials into the same rows."""
        ours, theirs = ([(p.name, p.domains) for p in plan.parameters] for plan in (self, other))
        return ours == theirs

    def given(self, params: dict[str, Any]) -> dict[str, float]:
        """The parameters as numbers that an Optuna storage can hold."""
        return {name: float(self.distributions[name].to_internal_repr(x)) for name, x in params.items()}

    def row(self, params: dict[str, Any], given: dict[str, float] | None = None) -> list[float]:
        """A trial's values in the space, NaN where it has none; ``given`` replaces missing values."""
        distributions, given = self.distributions, given or {}
        reserve = {n: distributions[n].to_external_repr(given[n]) for n in given if n in distributions}
        return _row(self.parameters, reserve | params)

    def draw(self, level: float) -> dict[str, Any]:
        """The parameters that `Frame.drawn` makes from ``level`` in [0, 1) for every parameter."""
        assert self.space is not None
        frame = self.space.frame()
        return self.params(frame.decode(frame.drawn(np.full((1, len(frame.parameter)), level)))[0])

    def params(self, row: np.ndarray) -> dict[str, Any]:
        """The active parameters of a row of the space."""
        pairs = zip(self.parameters, row.tolist(), strict=True)
        return {p.name: p.to_external(x) for p, x in pairs if x == x}


def single(parameter: Parameter, _trials: Sequence[FrozenTrial] = ()) -> Plan:
    """The plan of one parameter, whatever the trials had; steps are smoothed, so that programs are shared."""
    return Plan([parameter], most=1)


def from_log(trials: Sequence[FrozenTrial], only: Collection[str] | None) -> Plan:
    """The plan of a define-by-run study from its COMPLETE and PRUNED trials, in order of their numbers.

    A parameter is left out, and so sampled independently, if its presence is not explained (see `explain`),
    if its range took more than two forms, if it has a single value, or if it is not among ``only``. For all
    others the last range is used, and values outside it are moved to the nearest one inside.
    """
    latest, moving = _ranges(trials)
    usable = [
        inferred(name, distribution)
        # Sorted by name: the compiled program must not depend on which branch was visited first.
        for name, distribution in sorted(latest.items())
        if name not in moving and not distribution.single() and (only is None or name in only)
    ]
    values = np.array([_row(usable, trial.params) for trial in trials]).reshape(len(trials), len(usable))
    complete = np.array([trial.state == TrialState.COMPLETE for trial in trials], bool)
    columns = {}
    for p, column in zip(usable, values.T, strict=True):
        d = p.domains[0]
        inside = nearest_inside(column, d.low, d.high, d.step) if isinstance(d, Numeric) else column
        columns[p.name] = Presence(d, inside, complete)
    conditions, undecided = explain(columns)
    explained = [p for p in usable if p.name in conditions]
    parameters = [replace(p, domains=(replace(p.domains[0], when=conditions[p.name]),)) for p in explained]
    return Plan(parameters, latest=latest, ignored=moving, undecided=undecided)


def from_space(space: Space, trials: Sequence[FrozenTrial], only: Collection[str] | None) -> Plan:
    """The plan of a given space with last ranges, without parameters outside ``only`` and their children."""
    latest, _ = _ranges(trials)
    kept: set[str] = set()
    for name in space.order:
        if (only is None or name in only) and kept.issuperset(space.parents(name)):
            kept.add(name)
    parameters = [declared(name, space[name], latest.get(name)) for name in space.names if name in kept]
    return Plan(parameters, latest=latest, ignored=latest.keys() - kept)


def _row(parameters: Sequence[Parameter], params: dict[str, Any]) -> list[float]:
    return [p.to_native(params[p.name]) if p.name in params else np.nan for p in parameters]


def _ranges(trials: Sequence[FrozenTrial]) -> tuple[dict[str, BaseDistribution], set[str]]:
    """The last distribution of every parameter, and the names of parameters that had too many ranges."""
    latest: dict[str, BaseDistribution] = {}
    forms: dict[str, list[BaseDistribution]] = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            if latest.get(name) != distribution:
                latest[name] = distribution
                seen = forms.setdefault(name, [])
                if len(seen) <= _MOST_RANGES and distribution not in seen:
                    seen.append(distribution)
    return latest, {name for name, seen in forms.items() if len(seen) > _MOST_RANGES}
