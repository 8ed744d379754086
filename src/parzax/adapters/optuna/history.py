"""Keep a sampler's rows up to date with the finished and pending trials of a study."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from parzax.adapters.optuna.plan import Plan
from parzax.lens.run.session import Row, Session
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
        # Rows, with constraints, of the learned trials among the first ``_n_read``, which are all finished.
        self._read: list[tuple[Row, dict[str, float]]] = []
        self._n_read = 0
        self._names: dict[str, None] = {}  # of their constraints
        # A session that was told them; it has the sampler of the one that ``session_of`` returns.
        self._session: Session | None = None

    def plan(self, trials: Sequence[FrozenTrial]) -> Plan:
        """The plan that agrees with all finished trials."""
        if trials is self._seen and self._plan is not None:
            return self._plan
        # Storages return the same objects for finished trials, so the last one stands for those before it.
        last = slice(max(self._n_read - 1, 0), self._n_read)
        same_study = list(map(id, trials[last])) == list(map(id, self._seen[last]))
        new = [trial for trial in trials[self._n_read :] if trial.state in LEARNED]
        if self._plan is None or not same_study or not self._plan.agrees_with(new):
            self._plan = self._plan_of([trial for trial in trials if trial.state in LEARNED])
            self._read, self._n_read, self._names, self._session = [], 0, {}, None
        self._seen = trials
        return self._plan

    def suggest(
        self, trials: list[FrozenTrial], number: int, directions: list[StudyDirection], seed: int, stream: int
    ) -> dict[str, Any]:
        """Values of the active parameters for trial ``number``, which does not count as pending."""
        plan = self.plan(trials)
        if plan.space is None:
            return {}
        unfinished = (i for i in range(self._n_read, len(trials)) if not trials[i].state.is_finished())
        n_finished = next(unfinished, len(trials))
        new = self._rows(plan, trials[self._n_read : n_finished], directions)
        self._read += new
        self._n_read = n_finished
        self._names = dict.fromkeys(chain(self._names, *(constraints for _, constraints in new)))
        later = [trial for trial in trials[n_finished:] if trial.number != number]
        pending = self._rows(plan, later, directions)
        names = dict.fromkeys(chain(self._names, *(constraints for _, constraints in pending)))
        sampler = self._session_of(plan.space, len(directions), len(names)).sampler
        if self._session is None or sampler is not self._session.sampler:
            self._session = Session(sampler)
        self._session.tell(_complete(self._read[len(self._session.rows) :], names))
        return plan.params(self._session.ask(seed, number, stream, pending=_complete(pending, names)))

    @staticmethod
    def _rows(
        plan: Plan, trials: Sequence[FrozenTrial], directions: Sequence[StudyDirection]
    ) -> list[tuple[Row, dict[str, float]]]:
        """Rows of learned and of running trials, with the constraints of the former by name."""
        rows = []
        for trial in trials:
            if trial.state in LEARNED:
                rows.append((Row(plan.row(trial.params), _loss(trial, directions)), trial.constraints))
            elif trial.state == TrialState.RUNNING:
                rows.append((Row(plan.row(trial.params, trial.system_attrs.get(GIVEN_KEY)), None), {}))
        return rows


def _complete(rows: Iterable[tuple[Row, dict[str, float]]], names: Iterable[str]) -> list[Row]:
    """The rows with their constraints in the order of the names, NaN where there is none."""
    return [row._replace(constraints=tuple(of.get(name, math.nan) for name in names)) for row, of in rows]


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
