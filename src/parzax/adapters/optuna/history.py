"""Keep a sampler's rows up to date with the finished and pending trials of a study."""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters.optuna.plan import Plan
from parzax.adapters.session import Row, Session
from parzax.space import Space

# Attribute of a running trial: its jointly sampled values. Other processes read them here.
GIVEN_KEY = "parzax:given"
# The sampler uses the results of trials in these states.
LEARNED = (TrialState.COMPLETE, TrialState.PRUNED)


class History:
    """What a sampler keeps of one study, so that it reads each finished trial once.

    Rows come in the order of the trials' numbers. A suggestion depends on the study alone, not on which
    process read it, or when: whatever does not match the study's trials is computed anew.
    """

    def __init__(
        self,
        plan_of: Callable[[list[FrozenTrial]], Plan],
        session_of: Callable[[Space, int, int], Session],
    ) -> None:
        """Start empty. ``session_of`` takes a space and the numbers of objectives and constraints."""
        self._plan_of, self._session_of = plan_of, session_of
        self._plan: Plan | None = None
        self._seen: Sequence[FrozenTrial] = ()
        # By the identity of the trials: storages return the same objects for finished trials.
        self._learned: dict[int, FrozenTrial] = {}
        self._rows: dict[int, tuple[Row, dict[str, float]]] = {}

    def plan(self, trials: Sequence[FrozenTrial]) -> Plan:
        """The plan that agrees with all finished trials."""
        if trials is self._seen and self._plan is not None:
            return self._plan
        learned = {id(trial): trial for trial in trials if trial.state in LEARNED}
        new = [trial for key, trial in learned.items() if key not in self._learned]
        same_study = self._learned.keys() <= learned.keys()
        if self._plan is None or not same_study or not self._plan.agrees_with(new):
            self._plan, self._rows = self._plan_of(list(learned.values())), {}
        self._learned, self._seen = learned, trials
        return self._plan

    def suggest(
        self, trials: list[FrozenTrial], number: int, directions: list[StudyDirection], seed: int, stream: int
    ) -> dict[str, Any]:
        """Values of the active parameters for trial ``number``, which does not count as pending."""
        plan = self.plan(trials)
        if plan.space is None:
            return {}
        read = []
        for trial in trials:
            if trial.state in LEARNED:
                if id(trial) not in self._rows:
                    row = Row(plan.row(trial.params), _loss(trial, directions))
                    self._rows[id(trial)] = row, trial.constraints
                read.append(self._rows[id(trial)])
            elif trial.state == TrialState.RUNNING and trial.number != number:
                read.append((Row(plan.row(trial.params, trial.system_attrs.get(GIVEN_KEY)), None), {}))
        rows = [row for row, _ in read]
        if names := dict.fromkeys(chain.from_iterable(constraints for _, constraints in read)):
            excess = [tuple(values.get(name, math.nan) for name in names) for _, values in read]
            rows = [row._replace(constraints=c) for row, c in zip(rows, excess, strict=True)]
        session = self._session_of(plan.space, len(directions), len(names))
        return plan.params(session.ask(seed, number, stream, pending=rows))


def _loss(trial: FrozenTrial, directions: Sequence[StudyDirection]) -> tuple[float, ...] | None:
    """The losses of several objectives, or a sort key for one; None for a running or undefined trial.

    Pruned trials rank after complete ones, as in Optuna: first by the number of steps (more is better), then
    by their last value. Those without any value come last.
    """
    signs = [-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in directions]
    if trial.state == TrialState.COMPLETE:
        losses = tuple(sign * value for sign, value in zip(signs, trial.values, strict=True))
        return None if any(map(math.isnan, losses)) else losses
    if trial.state != TrialState.PRUNED or len(signs) > 1:
        return None
    if not trial.intermediate_values:
        return (math.inf, math.inf)
    # A shorter tuple comes first: the loss of a complete trial, even if it is infinite.
    step, value = max(trial.intermediate_values.items())
    return (math.inf, -float(step), math.inf if math.isnan(value) else signs[0] * value)
