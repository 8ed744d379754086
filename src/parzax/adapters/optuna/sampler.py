"""A sampler for Optuna that computes with parzax."""

import math
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from inspect import signature
from itertools import islice
from typing import Any, Never
from zlib import crc32

import jax.numpy as jnp
import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.samplers._base import _process_constraints_after_trial
from optuna.trial import FrozenTrial, TrialState

from parzax import _checks
from parzax.adapters.optuna import plan as plans
from parzax.adapters.optuna.history import GIVEN_KEY, LEARNED, History
from parzax.adapters.optuna.plan import Parameter, inferred
from parzax.adapters.optuna.studies import sources
from parzax.density.prior import Normal, beliefs_of, by_name
from parzax.lens.logs import Observations
from parzax.lens.logs.sources import check_log
from parzax.lens.run.session import Session, prepare
from parzax.meta import MixedSmoothing
from parzax.meta.sources import best_of
from parzax.samplers import RandomStart, Sampler, meta_learn_tpe, tpe
from parzax.samplers.meta_learning import first_suggestions
from parzax.space import Float, Numeric, Space

ConstraintsFunc = Callable[[FrozenTrial], Sequence[float]]
Preset = Callable[..., Sampler]

# Number of the random stream of the joint draw. The stream of a single parameter is a hash of its name.
_JOINT = 0
# Cap on the number of histories (one per study, bracket and set of fixed parameters) and of sessions.
_MOST_KEPT = 64
# Attributes of a sampler that its copies have.
_SETTINGS = "_n_startup", "_seed", "_space", "_constraints_func", "_settings", "_first_rows"
# The part that has an option of `TPESampler`.
_HOMES = {"n_candidates": "proposal", "prior_weight": "smoothing"}


class Settings:
    """A preset, and perhaps source tasks; a study adds its numbers of objectives and constraints."""

    def __init__(
        self, preset: Preset, options: Mapping[str, Any], sources: Mapping[str, Observations] | None = None
    ) -> None:
        """Raise for a wrong preset and for wrong options; an option of None is left to the preset."""
        _checks.instance("preset", preset, Callable, "a function such as parzax.tpe")
        function, given = partial(preset).func, dict(partial(preset).keywords)
        parameters = signature(function).parameters
        for option, value in options.items():
            if value is not None:
                part = _HOMES[option]
                if part not in parameters:
                    raise TypeError(f"preset has no argument {part!r}, which {option} is a part of.")
                given[part] = replace(given.get(part, parameters[part].default), **{option: value})
        self.sources = {} if sources is None else sources
        takes_sources = "sources" in parameters
        if takes_sources and sources is None:
            remedy = "give some, or use another preset, such as parzax.tpe"
            raise TypeError(f"preset compares source studies, but there are no source_studies; {remedy}.")
        if sources is not None and function is tpe:  # beside sources as `meta_learn_tpe` under constraints
            beside = signature(meta_learn_tpe).parameters
            given = {part: beside[part].default for part in ("split", "acquisition")} | given
        if takes_sources and "start" in parameters:
            given["start"] = RandomStart(0)  # the Optuna sampler itself chooses the first trials
        arguments = {name: p.default for name, p in parameters.items()} | given
        # Beliefs by name; a define-by-run space has some of these parameters.
        self._prior = by_name(given.pop("prior", None))
        # Whether the preset mixes the sources' densities into the study's density. Without task weights
        # `meta_learn_tpe` takes only the first trials from sources.
        self.mixes = takes_sources and arguments.get("task_weights", True) is not None
        self._preset = self._alone = partial(preset, **given)
        if takes_sources:  # the parts of the same preset without sources
            kinds = signature(tpe).parameters.items()
            shared = [name for name, p in kinds if p.kind is p.KEYWORD_ONLY and name in arguments]
            self._alone = partial(tpe, **{name: arguments[name] for name in shared})
        self.sampler(Space({"x": Float(0, 1)}), 1, 0)

    def sampler(self, space: Space, n_objectives: int, n_constraints: int) -> Sampler:
        """The sampler of a study without sources, or of a parameter that is sampled without them."""
        counts = {"n_objectives": n_objectives, "n_constraints": n_constraints}
        sampler = self._alone(space, **counts, **self.beliefs(space))
        return replace(sampler, start=RandomStart(0))

    def beliefs(self, space: Space) -> dict[str, Any]:
        """The argument ``prior`` for the parameters of a space; none if the preset was given no beliefs.

        As a range may move, a mean outside counts as the nearest value inside, as for trials.
        """
        prior = {name: belief for name, belief in self._prior.items() if name in space}
        for name, belief in prior.items():
            domain, *others = space[name]
            if isinstance(belief, Normal) and isinstance(domain, Numeric) and not others:
                prior[name] = replace(belief, mean=min(max(belief.mean, domain.low), domain.high))
        return {"prior": prior} if self._prior else {}

    def with_sources(
        self, space: Space, n_objectives: int, n_constraints: int
    ) -> tuple[Sampler, tuple[str, ...]]:
        """The sampler of a study with sources, and a line per source on what could be used of it."""
        logs = self.sources
        if not self.mixes:
            # Sources that are used only for the first trials need not have the study's constraints.
            report = tuple(log.to_source(name, space, n_objectives, 0).summary for name, log in logs.items())
            return self.sampler(space, n_objectives, n_constraints), report
        if not n_constraints:  # constraints may also be unknown so far
            logs = {name: replace(log, constraints=None) for name, log in logs.items()}
        counts = {"n_objectives": n_objectives, "n_constraints": n_constraints}
        sampler = self._preset(space, sources=logs, **counts, **self.beliefs(space))
        assert isinstance(sampler.smoothing, MixedSmoothing)
        return replace(sampler, start=RandomStart(0)), sampler.smoothing.sources.report


class TPESampler(BaseSampler):
    """TPE for Optuna studies: constraints, several objectives, conditional spaces and pending trials in one.

    It replaces `optuna.samplers.TPESampler` and has the same arguments where they mean the same;
    docs/optuna.md lists the differences. Parameters are sampled jointly, also in a define-by-run space: from
    the parameters that each trial had, the sampler infers on which choice or threshold of which other
    parameter a parameter depends; or ``space`` declares it. A parameter whose presence is not explained, or
    whose range keeps changing, is sampled independently. In the first ``n_startup_trials`` trials all
    parameters are sampled at random.

    A suggestion depends only on the seed, the trial's number and the study's trials. Running trials count as
    bad. Pruned trials rank after complete ones: by how far they came, then by their last value. Failed trials
    are left out, and a NaN loss (only `Study.add_trial` accepts one) counts as bad. Constraints come from
    ``constraints_func`` and `Trial.set_constraint`. The preset's score uses them: it is the score of c-TPE
    (arXiv 2211.14411), in which `parzax.tpe` cubes the share of the objective. A finished trial that lacks a
    constraint counts as violating it. `parzax.adapters.Session` describes how rows reach the device, and what
    is compiled when.

    With ``source_studies`` each of the first ``n_startup_trials`` trials takes the values of a different one
    of the sources' best trials. A value outside the study's distribution is replaced by a random one.
    Parameters are matched by name, choices by label. After that only the trials of the study count, as in
    `parzax.meta_learn_tpe`; but a preset that mixes sources adds the sources' densities to those of the
    study. The sources' densities are fitted once per space. A parameter that a source lacks has the prior as
    its density. Constraints are matched by their order, and a source may have none. Parameters that are
    sampled independently do not use the sources' densities.

    Args:
        n_startup_trials: parameters are random until this many trials are complete or pruned (failed trials
            do not count). With source studies they are taken from the sources' best trials instead. The
            default is 10; with source studies 5, or 7 with ``constraints_func`` too.
        n_ei_candidates: candidates per group below; by default the preset's number (64 for `parzax.tpe`, 24
            with several objectives).
        prior_weight: weight of the prior, in trials; by default the preset's weight, 1.
        seed: an integer in [0, 2^32); random by default.
        constraints_func: a function of a finished trial that did not fail; its values are satisfied where
            <= 0. They are stored as Optuna's samplers store them.
        preset: a function of a space, and of ``n_objectives`` and ``n_constraints`` by name, that returns the
            sampler: `parzax.tpe`, `optuna_tpe` for Optuna's kernels and groups, or `c_tpe`, `mo_tpe` and
            those of `parzax.papers`. Give their parts by `functools.partial`, such as
            ``functools.partial(parzax.tpe, split=parzax.Split(gamma=parzax.gamma.Linear(0.1)))``. With source
            studies also `parzax.papers.meta_learn_tpe`, or ``functools.partial(parzax.meta_learn_tpe,
            task_weights=...)``. The preset's ``start`` is ignored. With source studies `parzax.tpe` has the
            score of `parzax.meta_learn_tpe` under constraints.
        space: the search space, if you know it: its bounds, its conditions and the order of its ordinals are
            used. Other parameters that a trial asks for are sampled independently.
        source_studies: other tasks, as for `parzax.adapters.optuna.sources`: a list of studies, a dict by
            name (also of `parzax.Observations`), or a storage. They are read once, here.
        multivariate, group, constant_liar: arguments of Optuna's sampler. They are always True here; False
            raises a ValueError.
        **others: not allowed. docs/optuna.md says what replaces other arguments of Optuna's sampler.

    Raises:
        TypeError, ValueError: for wrong arguments, and for a preset that compares sources without
            ``source_studies``. When a trial asks for a value: for a ``space`` that contradicts the study's
            distributions (the error names the parameter), and for source studies with another number of
            objectives or constraints, or with the name of the study.

    >>> import optuna, parzax as px
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=px.adapters.optuna.TPESampler(seed=0))
    >>> study.optimize(lambda t: t.suggest_float("x", -1, 1) ** 2, n_trials=10)
    >>> len(study.trials)
    10
    """

    def __init__(
        self,
        *,
        n_startup_trials: int | None = None,
        n_ei_candidates: int | None = None,
        prior_weight: float | None = None,
        seed: int | None = None,
        constraints_func: ConstraintsFunc | None = None,
        preset: Preset = tpe,
        space: Space | None = None,
        source_studies: Any = None,
        multivariate: bool = True,
        group: bool = True,
        constant_liar: bool = True,
        **others: Never,
    ) -> None:
        for name in others:
            remedy = f"parts of a preset are given by preset=functools.partial(parzax.tpe, {name}=...)"
            raise TypeError(f"{name} is no argument; {remedy}; docs/optuna.md says what replaces Optuna's.")
        flags = {"multivariate": multivariate, "group": group, "constant_liar": constant_liar}
        for name, value in flags.items():
            if not _checks.flag(name, value):
                raise ValueError(f"{name}=False is not possible: the sampler always behaves as with True.")
        logs = None if source_studies is None else sources(source_studies)
        if n_startup_trials is None:
            n_startup_trials = 10 if logs is None else first_suggestions(constraints_func is not None)
        self._n_startup = _checks.whole_number("n_startup_trials", n_startup_trials, 0)
        seed = secrets.randbits(32) if seed is None else seed
        self._seed = _checks.whole_number("seed", seed, 0, 2**32 - 1)
        self._space = _checks.instance("space", space, Space | None, "a parzax.Space")
        kinds = Callable, type(None)
        self._constraints_func = _checks.instance("constraints_func", constraints_func, kinds, "callable")
        if n_ei_candidates is not None:
            n_ei_candidates = _checks.whole_number("n_ei_candidates", n_ei_candidates, 1)
        options = {"n_candidates": n_ei_candidates, "prior_weight": prior_weight}
        self._settings = Settings(preset, options, logs)
        if logs is not None and not self._n_startup and not self._settings.mixes:
            why = "or the sources are not used, unless the preset mixes their densities"
            raise ValueError(f"n_startup_trials must be positive with source_studies, {why}.")
        for name, log in self._settings.sources.items():
            check_log("source_studies", name, log, log.n_objectives)
        self._first_rows = best_rows(self._settings.sources.values(), self._n_startup)
        self._forget()

    def _forget(self) -> None:
        """Begin without sessions and histories."""
        # A line per source study: what was used of it in the space sampled last; empty before that.
        self.source_report: tuple[str, ...] = ()
        self._lock, self._of_thread = threading.RLock(), threading.local()
        # Whether compilation of the program for joint sampling has started.
        self._prepared = False
        self._session = lru_cache(_MOST_KEPT)(self._make_session)
        self._history = lru_cache(_MOST_KEPT)(self._make_history)

    def __getstate__(self) -> dict[str, Any]:
        """The settings: a copy, also in another process, has no sessions and histories."""
        return {name: vars(self)[name] for name in _SETTINGS}

    def __setstate__(self, settings: dict[str, Any]) -> None:
        vars(self).update(settings)
        self._forget()

    def reseed_rng(self) -> None:
        """Do nothing: random keys depend on the trial's number, so copies of the sampler never repeat."""

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The parameters that are sampled jointly, conditional ones included; none during the start-up."""
        if study.study_name in self._settings.sources:
            raise ValueError(
                f"source_studies: {study.study_name!r} is the name of the study itself; leave it out with "
                f"parzax.adapters.optuna.sources(storage, exclude={study.study_name!r}), or, if it is a "
                "different study with the same name, give a dict that names it differently."
            )
        trials = self._trials(study, trial, refresh=True)
        if self._starting(trials):
            for name, log in self._settings.sources.items():
                check_log("source_studies", name, log, len(study.directions))
            self._prepare(study, trials)
            return {}
        with self._lock:
            # A copy, because other samplers delete the parameters that they fix from it.
            return dict(self._history_of(study, trials, None).plan(trials).distributions)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values of the active parameters of ``search_space``; a parent decides which children are active."""
        if not search_space:
            return {}
        trials = self._trials(study, trial)
        if self._starting(trials):
            return {}
        with self._lock:
            history = self._history_of(study, trials, None)
            if history.plan(trials).distributions != search_space:
                # ``search_space`` may lack parameters that another sampler fixed, and the space may have
                # changed.
                history = self._history_of(study, trials, tuple(search_space))
            params = history.suggest(trials, trial.number, study.directions, self._seed, _JOINT)
            given = history.plan(trials).given(params)
        if given:
            study._storage.set_trial_system_attr(trial._trial_id, GIVEN_KEY, given)
        return {name: value for name, value in params.items() if name in search_space}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value of one parameter: random or a source's during start-up, later from a model of it alone."""
        trials = self._trials(study, trial)
        stream = crc32(param_name.encode()) | 1  # not 0, which is the stream of the joint draw
        parameter = inferred(param_name, param_distribution)
        if self._starting(trials):
            value = self._first_value(trial.number, parameter)
            if not math.isnan(value):
                return parameter.to_external(value)
            level = np.random.default_rng([self._seed, trial.number, stream]).random()
            plan = plans.single(parameter)
            assert plan.space is not None
            beliefs = beliefs_of(plan.space, self._settings.beliefs(plan.space).get("prior"))
            # All parameters of a trial come from the beliefs, or none does.
            chance = np.random.default_rng([self._seed, trial.number]).random()
            if beliefs is not None and chance < beliefs.share(len(trials), float):
                level = np.asarray(beliefs.draw(jnp.full((1, 1), level)))
            return plan.draw(level)[param_name]
        with self._lock:
            history = self._history_of(study, trials, parameter)
            return history.suggest(trials, trial.number, study.directions, self._seed, stream)[param_name]

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Store the trial's constraint values as Optuna's samplers do; ValueError for what are no numbers."""
        self._of_thread.snapshot = None
        if self._constraints_func is not None:
            with _checks.explain(f"constraints_func, trial {trial.number}"):
                _process_constraints_after_trial(self._constraints_func, study, trial, state)

    def _trials(self, study: optuna.Study, trial: FrozenTrial, *, refresh: bool = False) -> list[FrozenTrial]:
        """The study's trials, read from the storage once per trial and thread."""
        snapshot = getattr(self._of_thread, "snapshot", None)
        if refresh or snapshot is None or snapshot[0] is not study or snapshot[1] != trial.number:
            snapshot = (study, trial.number, study.get_trials(deepcopy=False))
            self._of_thread.snapshot = snapshot
        return snapshot[2]

    def _starting(self, trials: Sequence[FrozenTrial]) -> bool:
        learned = (trial for trial in trials if trial.state in LEARNED)
        return len(list(islice(learned, self._n_startup))) < self._n_startup

    def _first_value(self, number: int, parameter: Parameter) -> float:
        """The native value that trial ``number`` takes from a good row of the sources; NaN for no value."""
        if number >= len(self._first_rows):
            return math.nan
        # Each trial number has a different row, so trials that run at the same time differ.
        row = self._first_rows[np.random.default_rng(self._seed).permutation(len(self._first_rows))[number]]
        value = parameter.to_native(row[parameter.name]) if parameter.name in row else math.nan
        return math.nan if parameter.domains[0].outside(np.asarray(value)) else value

    def _prepare(self, study: optuna.Study, trials: list[FrozenTrial]) -> None:
        """Compile the program of the first suggestion in the background, once the space is probably complete.

        It is expected to change until half of the start-up if it has choices. A suggestion does not depend on
        this call.
        """
        finished = [trial for trial in trials if trial.state in LEARNED]
        # If sources are mixed in, their densities would have to be fitted first.
        if self._settings.mixes or self._prepared or not finished:
            return
        with self._lock:
            plan = self._history_of(study, trials, None).plan(trials)
            has_choices = any(parameter.choices for parameter in plan.parameters)
            if plan.space is not None and (not has_choices or len(finished) >= self._n_startup // 2):
                self._prepared = True
                constraints = {name for trial in finished for name in trial.constraints}
                session = self._session_of(True, plan.space, len(study.directions), len(constraints))
                prepare(session, n_numbers=3)

    def _history_of(
        self, study: optuna.Study, trials: Sequence[FrozenTrial], sampled: Parameter | tuple[str, ...] | None
    ) -> History:
        """The history of one parameter, or of those among some names (None: all) that are sampled jointly."""
        # A pruner may show us a part of a study; parts differ in their first trial.
        return self._history(study._study_id, trials[0].number if trials else None, sampled)

    def _make_history(self, _study: int, _first: int | None, sampled: Any) -> History:
        if isinstance(sampled, Parameter):
            return History(partial(plans.single, sampled), partial(self._session_of, False))
        plan_of = plans.from_log if self._space is None else partial(plans.from_space, self._space)
        return History(partial(plan_of, only=sampled), partial(self._session_of, True))

    def _session_of(self, joint: bool, space: Space, n_objectives: int, n_constraints: int) -> Session:
        """The session of a space; joint ones use the sources, which are fitted once per space."""
        dtype = jnp.result_type(float)
        session, report = self._session(dtype, joint, space, n_objectives, n_constraints)
        self.source_report = report if joint else self.source_report
        return session

    def _make_session(self, _dtype: Any, joint: bool, *space_and_counts: Any) -> tuple[Session, Any]:
        settings = self._settings
        if not joint:
            sampler = settings.sampler(*space_and_counts)
            # Equal values of one parameter are no evaluations of one configuration.
            proposal = replace(sampler.proposal, repeats=bool(sampler.proposal.repeats))
            return Session(replace(sampler, proposal=proposal)), ()
        sampler, report = settings.with_sources(*space_and_counts)
        return Session(sampler), report


def best_rows(logs: Iterable[Observations], n: int) -> list[dict[str, Any]]:
    """The best rows of all logs as name -> value, without repeats."""
    logs = list(logs)
    tasks = [(log.losses, log.feasible, ~np.asarray(np.isnan(log.losses).any(axis=-1))) for log in logs]
    rows = {}
    for log, best in zip(logs, best_of(tasks, n), strict=True):
        for i in best:
            row = zip(log.space.names, log.values[i].tolist(), log.regime[i].tolist(), strict=True)
            named = {name: log.space[name][r].interpret(x) for name, x, r in row if r >= 0}
            rows[tuple(sorted((name, repr(x)) for name, x in named.items()))] = named
    return list(rows.values())
