"""Keep a sampler's rows up to date with the finished and pending trials of a study."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, takewhile
from typing import Any

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters.optuna.plan import Plan
from parzax.adapters.session import Row, Session
from parzax.samplers import Sampler
from parzax.space import Space

# Attribute of a running trial: its jointly sampled values. Other processes read them here.
GIVEN_KEY = "parzax:given"
# The sampler uses the results of trials in these states.
LEARNED = (TrialState.COMPLETE, TrialState.PRUNED)


class History:
    """The state of a sampler for one study. Whatever does not match the study's trials is computed anew.

    Rows come in the order of the trials' numbers. The finished trials before the first unfinished one cannot
    change any more and stay in the sampler's state; those after it, finished or running, are told anew at
    every call. So a suggestion depends on the study alone, not on which process read it, or when.
    """

    def __init__(
        self, plan_of: Callable[[list[FrozenTrial]], Plan], sampler_of: Callable[[Space, int, int], Sampler]
    ) -> None:
        """Start empty. ``sampler_of`` takes a space and the numbers of objectives and constraints."""
        self._plan_of, self._sampler_of = plan_of, sampler_of
        self._settled: list[FrozenTrial] = []
        self._plan: Plan | None = None
        self._seen: Sequence[FrozenTrial] | None = None
        self._reset()

    def _reset(self) -> None:
        self._session: Session | None = None
        self._n_told = 0
        self._constraints: tuple[str, ...] = ()

    def fits(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether the trials begin with this history's settled ones (storages return the same objects)."""
        return trials is self._seen or trials[: len(self._settled)] == self._settled

    def plan(self, trials: Sequence[FrozenTrial]) -> Plan:
        """The plan that agrees with all finished trials."""
        if trials is self._seen and self._plan is not None:
            return self._plan
        if not self.fits(trials):
            self._settled, self._plan = [], None
            self._reset()
        # Finished trials after the first unfinished trial are checked at every call; they are few.
        unsettled = trials[len(self._settled) :]
        finished = [t for t in unsettled if t.state in LEARNED]
        if self._plan is None or not self._plan.agrees_with(finished):
            plan = self._plan_of([t for t in trials if t.state in LEARNED])
            if self._plan is None or not self._plan.reads_like(plan):
                self._reset()
            self._plan = plan
        self._settled += takewhile(lambda trial: trial.state.is_finished(), unsettled)
        self._seen = trials
        return self._plan

    def suggest(
        self, trials: list[FrozenTrial], number: int, directions: list[StudyDirection], seed: int, stream: int
    ) -> dict[str, Any]:
        """Values of the active parameters for trial ``number``, which does not count as pending."""
        plan = self.plan(trials)
        if plan.space is None:
            return {}
        others = (t for t in trials[len(self._settled) :] if t.number != number)
        changing = [t for t in others if t.state in (*LEARNED, TrialState.RUNNING)]
        fresh = [t for t in self._settled[self._n_told :] if t.state in LEARNED]
        # Constraints are read once per trial, because Optuna makes a new dict at each access.
        constraints = {t.number: t.constraints for t in (*fresh, *changing) if t.state in LEARNED}
        if not set(self._constraints).issuperset(chain.from_iterable(constraints.values())):
            # A constraint with a new name adds a column to all rows.
            self._reset()
            fresh = [t for t in self._settled if t.state in LEARNED]
            constraints = {t.number: t.constraints for t in fresh} | constraints
            self._constraints = _names(constraints.values())
        if self._session is None:
            self._session = Session(self._sampler_of(plan.space, len(directions), len(self._constraints)))

        def row(trial: FrozenTrial) -> Row:
            given = trial.system_attrs.get(GIVEN_KEY) if trial.state == TrialState.RUNNING else None
            values = constraints.get(trial.number, {})
            excess = tuple(values.get(name, math.nan) for name in self._constraints)
            return Row(plan.row(trial.params, given), _loss(trial, directions), excess)

        self._session.tell(map(row, fresh))
        self._n_told = len(self._settled)
        return plan.params(self._session.ask(seed, number, stream, pending=list(map(row, changing))))


def _names(constraints: Iterable[dict[str, float]]) -> tuple[str, ...]:
    """Names of all constraints, in order of first appearance."""
    return tuple(dict.fromkeys(chain.from_iterable(constraints)))


def _loss(trial: FrozenTrial, directions: Sequence[StudyDirection]) -> tuple[float, ...] | None:
    """The losses of several objectives, or a sort key for one; None for a running or undefined trial.

    Pruned trials rank after complete ones, as in Optuna: first by the number of steps (more is better), then
    by their last value. Those without any value come last.
    """
    signs = [-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in directions]
    if trial.state == TrialState.COMPLETE:
        losses = tuple(sign * value for sign, value in zip(signs, trial.values, strict=True))
        if any(map(math.isnan, losses)):
            return None
        return losses if len(signs) > 1 else (0.0, losses[0], 0.0)
    if trial.state != TrialState.PRUNED or len(signs) > 1:
        return None
    if not trial.intermediate_values:
        return (1.0, 1.0, 0.0)
    step, value = max(trial.intermediate_values.items())
    return (1.0, -float(step), math.inf if math.isnan(value) else signs[0] * value)
