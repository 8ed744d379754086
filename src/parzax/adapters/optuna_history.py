"""The finished and pending trials of a study as rows of a sampler, brought up to date in small steps."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters._rows import Row, Rows
from parzax.adapters.optuna_plan import Plan
from parzax.samplers import Sampler

# What a trial was given jointly and may not have asked for yet: visible to other processes.
GIVEN_KEY = "parzax:given"
_LEARNED = (TrialState.COMPLETE, TrialState.PRUNED)


class History:
    """A study so far. The trials are the only truth: what is kept here is made anew when it does not match.

    Rows come in the order of the trials' numbers. The finished trials before the first unfinished one cannot
    change any more and stay in the sampler's state; those after it, finished or running, are told anew at
    every call. So a suggestion depends on the study alone, not on who saw it grow and how.
    """

    def __init__(
        self,
        plan_of: Callable[[Sequence[FrozenTrial]], Plan],
        sampler_of: Callable[[Plan, int, int], Sampler],
    ) -> None:
        """Nothing so far.

        Args:
            plan_of: the plan for some finished trials.
            sampler_of: the sampler of a plan's codec, m objectives and c constraints.
        """
        self._plan_of, self._sampler_of = plan_of, sampler_of
        self._settled: list[FrozenTrial] = []
        self._plan: Plan | None = None
        self._seen: Sequence[FrozenTrial] | None = None
        self._reset()

    def _reset(self) -> None:
        self._rows: Rows | None = None
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
        known = end = len(self._settled)
        while end < len(trials) and trials[end].state.is_finished():
            end += 1
        # Those after the first unfinished one are looked at again every time; they are few.
        new = (t for t in trials[known:] if t.state in _LEARNED)
        if self._plan is None or not all(self._plan.agrees_with(t) for t in new):
            plan = self._plan_of([t for t in trials if t.state in _LEARNED])
            if self._plan is None or not self._plan.reads_like(plan):
                self._reset()
            self._plan = plan
        self._settled += trials[known:end]
        self._seen = trials
        return self._plan

    def suggest(
        self,
        trials: Sequence[FrozenTrial],
        number: int,
        directions: Sequence[StudyDirection],
        seed: int,
        stream: int,
    ) -> dict[str, Any]:
        """Values of the active parameters for trial ``number``.

        Args:
            trials: of the study, in order of their numbers.
            number: of the trial; it does not count as pending.
            directions: m of them.
            seed: of the random key, with
            stream: what is asked for.
        """
        plan = self.plan(trials)
        if plan.codec is None:
            return {}
        changing = [
            t
            for t in trials[len(self._settled) :]
            if t.number != number and (t.state in _LEARNED or t.state == TrialState.RUNNING)
        ]
        fresh = [t for t in self._settled[self._n_told :] if t.state in _LEARNED]
        own = {t.number: t.constraints for t in (*fresh, *changing) if t.state in _LEARNED}
        if any(name not in self._constraints for given in own.values() for name in given):
            # A constraint that no trial had before: all rows get one more column.
            self._reset()
            fresh = [t for t in self._settled if t.state in _LEARNED]
            own |= {t.number: t.constraints for t in fresh}
            in_order = [t.number for t in (*fresh, *changing) if t.number in own]
            self._constraints = tuple(dict.fromkeys(name for i in in_order for name in own[i]))
        if self._rows is None:
            self._rows = Rows(self._sampler_of(plan, len(directions), len(self._constraints)))
        for trial in fresh:
            row = self._row(plan, trial, directions, own[trial.number])
            if row is not None:
                self._rows.append(row)
        self._n_told = len(self._settled)
        pending = [self._row(plan, t, directions, own.get(t.number, {})) for t in changing]
        there = [row for row in pending if row is not None]
        return plan.params(self._rows.ask(there, seed, number, stream))

    def _row(
        self, plan: Plan, trial: FrozenTrial, directions: Sequence[StudyDirection], given: dict[str, float]
    ) -> Row | None:
        running = trial.state == TrialState.RUNNING
        x = plan.row(trial.params, trial.system_attrs.get(GIVEN_KEY) if running else None)
        if x is None:
            return None
        constraints = tuple(given.get(name, math.nan) for name in self._constraints)
        return Row(x, _loss(trial, directions), constraints)


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
