"""The parameters of a study that are sampled jointly: their distributions and their conditions."""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_FLOOR, Decimal
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters.optuna.distributions import domain_of, nearest_inside
from parzax.lens.run.session import MOST_STEPS, smoothed
from parzax.space import INACTIVE, Between, Categorical, Domain, Float, In, Int, Numeric, Ordinal, Space
from parzax.space.conditions import choice_key, holds

# A condition lists values of an integer parent only if the parent has at most this many values.
_MOST_LISTED = 16
# A parameter is left out of the plan if its range changed more than once, and in over one of so many trials.
_TRIALS_PER_CHANGE = 4

Conditions = tuple[In | Between, ...]


@dataclass(frozen=True)
class Parameter:
    """A parameter: Optuna's distribution and parzax's domains. Codes index ``choices``, empty for numbers."""

    name: str
    distribution: BaseDistribution = field(hash=False)
    domains: tuple[Domain, ...]
    choices: tuple[Any, ...] = field(default=(), hash=False)  # they may be unhashable

    def to_native(self, value: Any) -> float:
        """A value of a trial as a number; NaN if the parameter cannot take this value."""
        if isinstance(domain := self.domains[0], Categorical):
            return domain.codes.get(choice_key(value), math.nan)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number else math.nan

    def to_external(self, native: float) -> Any:
        """The value of the distribution nearest to a number, so that Optuna accepts it despite rounding."""
        d: Any = self.distribution
        if self.choices:
            return self.choices[round(native)]
        if isinstance(d, CategoricalDistribution):  # the numbers of an `Ordinal`, which are choices in Optuna
            return d.choices[int(np.abs(np.asarray(d.choices, np.float64) - native).argmin())]
        value = round(native) if isinstance(d, IntDistribution) else native
        if d.step is not None:
            value = d.low + round((value - d.low) / d.step) * d.step
        return type(d.low)(min(max(value, d.low), d.high))


def inferred(name: str, distribution: BaseDistribution) -> Parameter:
    """The parameter for a distribution that a study asked for."""
    choices = tuple(distribution.choices) if isinstance(distribution, CategoricalDistribution) else ()
    return Parameter(name, distribution, (domain_of(distribution, sampled=True),), choices)


def declared(name: str, domains: tuple[Domain, ...], distribution: BaseDistribution | None) -> Parameter:
    """A parameter of a given space, as the study asks for it; ValueError if space and study contradict."""
    first = domains[0]
    distribution = distribution or _distribution(first)
    suggested = f"the study suggests {distribution!r}"
    choices = distribution.choices if isinstance(distribution, CategoricalDistribution) else ()
    if not isinstance(first, Categorical):
        if choices and not (isinstance(first, Ordinal) and set(choices) >= set(first.values)):
            raise ValueError(f"space: {name!r} is {first!r}, but {suggested}; use Categorical.")
        return Parameter(name, distribution, domains)
    if any(not isinstance(d, Categorical) or d.choices != first.choices for d in domains):
        raise ValueError(f"space: the domains of {name!r} have different choices; use two parameters.")
    by_identity = {choice_key(choice): choice for choice in choices}
    if missing := [choice for choice in first.choices if choice_key(choice) not in by_identity]:
        raise ValueError(f"space: {name!r} has the choice {missing[0]!r}, but {suggested}.")
    return Parameter(name, distribution, domains, tuple(by_identity[key] for key in first.codes))


def _distribution(domain: Domain) -> BaseDistribution:
    """The distribution that a study will probably ask for, for a domain that it has not asked for yet."""
    if isinstance(domain, (Categorical, Ordinal)):
        return CategoricalDistribution(domain.choices if isinstance(domain, Categorical) else domain.values)
    assert isinstance(domain, (Int, Float))
    kind: Any = IntDistribution if domain.has_integers else FloatDistribution
    return kind(domain.low, domain.high, log=domain.log, step=domain.step)


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
        until: float = math.inf,
        moved: Collection[int] = (),
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
        self._until, self._moved = until, frozenset(moved)

    def agrees_with(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether some finished trials agree with the plan. If not, a new plan must be made from all trials.

        They agree if they have the ``latest`` distributions (any distributions, if None is given) of all
        parameters except the ``ignored`` ones. If ``undecided`` pairs are given, conditions were inferred
        from a log; then also no trial may have the parent of such a pair without the child, and every trial
        must have the parameters that are active in it. No trial may have the number ``until``, from which an
        ignored range may have settled, or come late, before the last of the numbers ``moved``: the numbers of
        all trials that the plan was made from, if some range has moved.
        """
        if self._latest is None:
            return True
        last = max(self._moved, default=-1)
        if any(t.number >= self._until or (t.number < last and t.number not in self._moved) for t in trials):
            return False
        for trial in trials:
            present = trial.distributions
            if any(self._latest.get(n) != d for n, d in present.items() if n not in self._ignored):
                return False
            if any(child not in present and parent in present for child, parent in self._undecided or ()):
                return False
        if self._undecided is None or self.space is None or not trials:
            return True
        names = set(self.space.names)
        if not self.space.frame().n_rounds and all(trial.distributions.keys() >= names for trial in trials):
            return True  # all are always active
        rows = np.array([self.row(trial.params) for trial in trials])
        active = self.space.derive_regimes(rows) != INACTIVE
        present = np.array([[name in trial.distributions for name in self.space.names] for trial in trials])
        complete = np.array([trial.state == TrialState.COMPLETE for trial in trials])
        return not ((active != present) & (complete[:, None] | present)).any()

    def given(self, params: dict[str, Any]) -> dict[str, float]:
        """The parameters as numbers that an Optuna storage can hold."""
        return {name: float(self.distributions[name].to_internal_repr(x)) for name, x in params.items()}

    def row(self, params: dict[str, Any], given: dict[str, float] | None = None) -> np.ndarray:
        """A trial's values in the space, NaN where it has none; ``given`` replaces missing values."""
        distributions, given = self.distributions, given or {}
        reserve = {n: distributions[n].to_external_repr(given[n]) for n in given if n in distributions}
        return _row(self.parameters, reserve | params)

    def draw(self, level: float | np.ndarray) -> dict[str, Any]:
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
    if its range changed more than once and in more than a quarter of its trials, if it has a single value, or
    if it is not among ``only``. For all others the last range is used, and values outside it are moved to the
    nearest one inside: in simulated searches this was better than to leave such trials out, and than kernels
    with their places outside the range.
    """
    latest, moving, until, moved = _ranges(trials)
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
    return Plan(parameters, latest=latest, ignored=moving, undecided=undecided, until=until, moved=moved)


def from_space(space: Space, trials: Sequence[FrozenTrial], only: Collection[str] | None) -> Plan:
    """The plan of a given space with last ranges, without parameters outside ``only`` and their children."""
    latest = _ranges(trials)[0]
    kept: set[str] = set()
    for name in space.order:
        if (only is None or name in only) and kept.issuperset(space.parents(name)):
            kept.add(name)
    parameters = [declared(name, space[name], latest.get(name)) for name in space.names if name in kept]
    return Plan(parameters, latest=latest, ignored=latest.keys() - kept)


def _row(parameters: Sequence[Parameter], params: dict[str, Any]) -> np.ndarray:
    return np.array([p.to_native(params[p.name]) if p.name in params else np.nan for p in parameters])


def _ranges(
    trials: Sequence[FrozenTrial],
) -> tuple[dict[str, BaseDistribution], set[str], float, list[int]]:
    """The last distribution of every parameter, and the names of those whose range changes too often.

    The third result is the number of the first trial after which one of these names may have settled; the
    fourth has the numbers of all trials, if some range changed more than once.
    """
    latest: dict[str, BaseDistribution] = {}
    n_trials, n_changes = Counter[str](), Counter[str]()
    for trial in trials:
        for name, distribution in trial.distributions.items():
            n_changes[name] += latest.setdefault(name, distribution) != distribution
            n_trials[name] += 1
            latest[name] = distribution
    left = {name: _TRIALS_PER_CHANGE * n - n_trials[name] for name, n in n_changes.items() if n > 1}
    moving = {name: n for name, n in left.items() if n > 0}
    until = trials[-1].number + min(moving.values()) if moving else math.inf
    return latest, set(moving), until, [trial.number for trial in trials if left]


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
