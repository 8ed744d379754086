"""The finished and pending trials of a study as rows of a sampler, brought up to date in small steps."""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters.optuna.plan import Plan
from parzax.adapters.session import Row, Session
from parzax.samplers import Sampler
from parzax.space import Space

# What a trial was given jointly and may not have asked for yet: visible to other processes.
GIVEN_KEY = "parzax:given"
# States of trials that count with what they gave.
LEARNED = (TrialState.COMPLETE, TrialState.PRUNED)
# Histories of other studies, brackets and fixed parameters that are kept.
_MOST_HISTORIES = 64


class Memory:
    """What a sampler saw of studies; a copy of it, in this process or another, begins without."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.local = threading.local()
        # The space that is likely to stay, and whether its program was begun.
        self.likely: Space | None = None
        self.prepared = False
        # What is sampled -> histories of it, the one used last at the end.
        self._histories: list[tuple[Any, History]] = []

    def __reduce__(self) -> tuple[type["Memory"], tuple[()]]:
        return Memory, ()

    def forget(self, gone: Callable[[Any], bool]) -> None:
        """Forget histories by what is sampled."""
        self._histories = [(key, history) for key, history in self._histories if not gone(key)]

    def history(self, what: Any, trials: Sequence[FrozenTrial], new: Callable[[], "History"]) -> "History":
        """The history of this study (or Hyperband's bracket of it), new where there is none."""
        found = next((pair for pair in self._histories if pair[0] == what and pair[1].fits(trials)), None)
        if found is None:
            found = what, new()
        others = [pair for pair in self._histories if pair is not found]
        self._histories = [*others[-_MOST_HISTORIES + 1 :], found]
        return found[1]


class History:
    """A study so far. The trials are the only truth: what is kept here is made anew when it does not match.

    Rows come in the order of the trials' numbers. The finished trials before the first unfinished one cannot
    change any more and stay in the sampler's state; those after it, finished or running, are told anew at
    every call. So a suggestion depends on the study alone, not on who saw it grow and how.
    """

    def __init__(
        self, plan_of: Callable[[list[FrozenTrial]], Plan], sampler_of: Callable[[Space, int, int], Sampler]
    ) -> None:
        """Nothing so far, with the plan for some finished trials, and the sampler of a space, m and c."""
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
        """Whether the trials begin with those that are settled here (storages hand out the same objects)."""
        return trials is self._seen or trials[: len(self._settled)] == self._settled

    def plan(self, trials: Sequence[FrozenTrial]) -> Plan:
        """The plan that agrees with all finished trials."""
        if trials is self._seen and self._plan is not None:
            return self._plan
        if not self.fits(trials):
            self._settled, self._plan = [], None
            self._reset()
        known = len(self._settled)
        unfinished = (i for i in range(known, len(trials)) if not trials[i].state.is_finished())
        end = next(unfinished, len(trials))
        # Those after the first unfinished one are looked at again every time; they are few.
        new = (t for t in trials[known:] if t.state in LEARNED)
        if self._plan is None or not all(self._plan.agrees_with(t) for t in new):
            plan = self._plan_of([t for t in trials if t.state in LEARNED])
            if self._plan is None or not self._plan.reads_like(plan):
                self._reset()
            self._plan = plan
        self._settled += trials[known:end]
        self._seen = trials
        return self._plan

    def prepare(self, trials: list[FrozenTrial], directions: list[StudyDirection]) -> None:
        """Begin to compile what the first suggestion needs, if the trials to come are like those so far.

        Nothing is kept of it but the program: a suggestion must not depend on who prepared it when.
        """
        space, names = self.plan(trials).space, _names(t.constraints for t in trials if t.state in LEARNED)
        if space is not None:
            Session(self._sampler_of(space, len(directions), len(names))).prepare(n_numbers=2)

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
        own = {t.number: t.constraints for t in (*fresh, *changing) if t.state in LEARNED}
        if not set(self._constraints).issuperset(chain.from_iterable(own.values())):
            # A constraint that no trial had before: all rows get one more column.
            self._reset()
            fresh = [t for t in self._settled if t.state in LEARNED]
            own = {t.number: t.constraints for t in fresh} | own
            self._constraints = _names(own.values())
        if self._session is None:
            self._session = Session(self._sampler_of(plan.space, len(directions), len(self._constraints)))
        self._session.tell(self._row(plan, t, directions, own[t.number]) for t in fresh)
        self._n_told = len(self._settled)
        pending = [self._row(plan, t, directions, own.get(t.number, {})) for t in changing]
        return plan.params(self._session.ask(seed, number, stream, pending=pending))

    def _row(
        self, plan: Plan, trial: FrozenTrial, directions: list[StudyDirection], given: dict[str, float]
    ) -> Row:
        running = trial.state == TrialState.RUNNING
        x = plan.row(trial.params, trial.system_attrs.get(GIVEN_KEY) if running else None)
        constraints = tuple(given.get(name, math.nan) for name in self._constraints)
        return Row(x, _loss(trial, directions), constraints)


def _names(constraints: Iterable[dict[str, float]]) -> tuple[str, ...]:
    """Of all constraints, in the order in which they came."""
    return tuple(dict.fromkeys(chain.from_iterable(constraints)))


def _loss(trial: FrozenTrial, directions: Sequence[StudyDirection]) -> tuple[float, ...] | None:
    """The losses of several objectives, or what one is sorted by; None for a running or undefined one.

    Pruned trials come after complete ones: those that came further first, then by their last value, as in
    Optuna; those without any value last.
    """
    signs = [-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in directions]
    if trial.state == TrialState.COMPLETE:
        losses = tuple(sign * value for sign, value in zip(signs, trial.values, strict=True))
        if any(map(math.isnan, losses)):
            return None
        return losses if len(signs) > 1 else (0.0, losses[0], 0.0)
    if trial.state == TrialState.PRUNED and len(signs) == 1:
        if not trial.intermediate_values:
            return (1.0, 1.0, 0.0)
        step, value = max(trial.intermediate_values.items())
        return (1.0, -float(step), math.inf if math.isnan(value) else signs[0] * value)
    return None
