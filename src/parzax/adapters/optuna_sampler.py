"""A sampler for Optuna that computes with parzax."""

import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple
from zlib import crc32

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from parzax import _checks
from parzax.adapters import optuna_plan
from parzax.adapters.optuna_history import GIVEN_KEY, History
from parzax.adapters.optuna_meta import SourceTasks
from parzax.adapters.optuna_plan import Plan
from parzax.adapters.optuna_sources import sources
from parzax.samplers import Sampler, c_tpe, mo_tpe, optuna_tpe, tpe
from parzax.samplers.presets import comparison_of
from parzax.space import Float, Space

ConstraintsFunc = Callable[[FrozenTrial], Sequence[float]]
Preset = Literal["optuna_tpe", "tpe"]

# Where Optuna keeps the values of `constraints_func`, and `FrozenTrial.constraints` finds them.
_CONSTRAINTS_KEY = "constraints"
# What became of arguments of Optuna's own sampler.
_OPTUNAS = {
    "gamma": "use count_rule=parzax.samplers.CountRule(...)",
    "weights": "forget=True gives older trials less weight, as Optuna's default does",
    "multivariate": "it is always so: parameters are sampled jointly",
    "group": "it is always so: conditional parameters are sampled jointly",
    "constant_liar": "it is always so: running trials count as bad",
    "consider_prior": "there is always a prior; its weight is prior_weight",
    "consider_magic_clip": "use bandwidth=parzax.bandwidth.neighbours(consider_magic_clip=...)",
    "consider_endpoints": "use bandwidth=parzax.bandwidth.neighbours(consider_endpoints=...)",
    "categorical_distance_func": "declare an ordered parameter as parzax.Ordinal in space",
    "warn_independent_sampling": "there is no such warning",
    "n_startup": "use n_startup_trials",
    "n_candidates": "use n_ei_candidates",
}
# Settings of the comparison with source studies.
_COMPARISON = {"eta", "estimate", "n_samples", "max_candidates", "importance"}
# Histories of other studies, brackets and fixed parameters that are kept.
_MOST_HISTORIES = 64
_JOINT = 0  # stream of random numbers; that of a single parameter is a hash of its name


class _Single(NamedTuple):
    name: str
    distribution: BaseDistribution


class TPESampler(BaseSampler):
    """TPE for Optuna studies: constraints, several objectives, conditional spaces and pending trials in one.

    The place of `optuna.samplers.TPESampler`, with its arguments where they mean the same. Parameters are
    sampled jointly, those of a define-by-run space too: from which parameters each trial had it is found out
    on which choice or threshold of which other parameter they depend; or say so with ``space``. A parameter
    whose presence is not explained, or whose range keeps changing, is sampled by itself from the trials
    that have it, and so is everything at random in the first ``n_startup_trials``.

    A suggestion depends on the seed, the trial's number and the study's trials, on nothing else: another
    process that opens the study would suggest the same. Running trials count as bad, so that parallel ones
    keep apart. Pruned trials come after complete ones, those that came further first, then by their last
    value. Failed ones are left out, and a NaN loss (only `Study.add_trial` lets one in) counts as bad.
    Constraints are those of ``constraints_func`` and `Trial.set_constraint`, and enter by the score of c-TPE
    (arXiv 2211.14411); where a finished trial lacks one it counts as violated.

    It compiles once for 256 trials, 1024, 4096, then at each doubling, and once more when a new parameter
    or condition turns up. Values travel to the device as unit coordinates, made on the host in float64, and
    a single objective as its order, so that float32 (JAX's default) loses no difference between losses;
    several objectives are rounded to float32.

    With ``source_studies`` it is meta-learning TPE (`parzax.meta_learn_tpe`, arXiv 2212.06751): other studies
    count as far as they are similar. The settings are those of `parzax.mo_tpe`, for one objective too, with
    100 candidates per task and one random suggestion in 20. The first ``n_startup_trials`` trials take the
    values of the sources' best trials, each of another one, as far as their distributions have them.
    Parameters are matched by name, choices by label whatever their order, and what a source lacks is left
    to the prior; constraints go by their order, and a source may lack all of them. What is sampled by itself
    does not see the sources. Their densities are fitted once per space, also where the study's spaces change.

    Args:
        n_startup_trials: finished trials before which parameters are random; 10, or 5 with source studies.
        n_ei_candidates: candidates per good group; the preset's number by default (24, or 100 for several
            objectives).
        prior_weight: weight of the prior, in trials.
        seed: a whole number in [0, 2^32); random by default.
        constraints_func: called with each finished trial that did not fail, gives values that are satisfied
            where <= 0. They are stored as Optuna's samplers store them.
        preset: "optuna_tpe" (the default) for Optuna's kernels and groups, "tpe" for the TPE authors' (and
            `parzax.c_tpe` under constraints). Studies with several objectives are sampled by `parzax.mo_tpe`
            either way; with source studies there is none to choose.
        space: the search space, where it is known: its bounds, conditions and order of ordinals count. What
            else a trial asks for is sampled independently.
        source_studies: other tasks, as `parzax.adapters.optuna.sources` takes them: a list of studies, a dict
            by name, also of `parzax.Observations`, or a storage. They are read here, once.
        **options: other settings that all presets take: count_rule, bandwidth, top, joint, epsilon, forget
            (True gives Optuna's weights, by which the oldest of many trials count less), every_minimum,
            gradient_steps and ties (`parzax.samplers.presets.options_of`); with source studies also eta,
            estimate, n_samples, max_candidates, importance of `parzax.meta_learn_tpe`.

    Raises:
        TypeError, ValueError: arguments that are none (n_startup and n_candidates, which go by the names
            above, among them), or a preset beside source studies; and, when a trial asks, a ``space`` that
            contradicts the study's distributions, naming the parameter, and source studies of another number
            of objectives or constraints, or one of the study's own name.

    Differs from Optuna's sampler: conditional parameters are sampled jointly without ``group``, running
    trials always count, constraints multiply scores instead of ordering trials by violation, several
    objectives are sampled jointly and trials of the first front tied by crowding distance.

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
        prior_weight: float = 1.0,
        seed: int | None = None,
        constraints_func: ConstraintsFunc | None = None,
        preset: Preset | None = None,
        space: Space | None = None,
        source_studies: Any = None,
        **options: Any,
    ) -> None:
        if n_startup_trials is None:
            n_startup_trials = 10 if source_studies is None else 5
        self._n_startup = _checks.whole_number("n_startup_trials", n_startup_trials, 0)
        self._seed = (
            secrets.randbits(32) if seed is None else _checks.whole_number("seed", seed, 0, 2**32 - 1)
        )
        if preset is not None:
            _checks.one_of("preset", preset, ("optuna_tpe", "tpe"))
            if source_studies is not None:
                raise ValueError(
                    f"preset={preset!r} is for studies without sources; with source_studies the settings are "
                    "those of parzax.meta_learn_tpe."
                )
        if space is not None and not isinstance(space, Space):
            raise TypeError(f"space must be a parzax.Space, got {type(space).__name__}.")
        if constraints_func is not None and not callable(constraints_func):
            raise TypeError(f"constraints_func must be callable, got {constraints_func!r}.")
        for name in options:
            if name in _OPTUNAS:
                raise TypeError(f"{name} is no argument of this sampler; {_OPTUNAS[name]}.")
        self._constraints_func, self._space = constraints_func, space
        self._preset: Preset = "optuna_tpe" if preset is None else preset
        self._sources: SourceTasks | None = None
        if source_studies is not None:
            own = {name: options.pop(name) for name in _COMPARISON & options.keys()}
            self._sources = SourceTasks(sources(source_studies), self._n_startup, comparison_of(**own))
            options = {"epsilon": 0.05, **options}
        self._options = {"prior_weight": prior_weight, **options}
        if n_ei_candidates is not None:
            self._options["n_candidates"] = _checks.whole_number("n_ei_candidates", n_ei_candidates, 1)
        self._sampler(Space({"x": Float(0, 1)}), 1, 0)  # raises for wrong options, before any trial
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._local = threading.local()
        # What is sampled -> histories of it, the one used last at the end.
        self._histories: list[tuple[Any, History]] = []

    def __getstate__(self) -> dict[str, Any]:
        left_out = {"_lock", "_local", "_histories"}
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def reseed_rng(self) -> None:
        """Does nothing: random keys go by trial number, so replicas never repeat each other in a study."""

    @property
    def source_report(self) -> tuple[str, ...]:
        """What was used of each source study in the space sampled last; empty before the first fit."""
        return () if self._sources is None else self._sources.report

    # --- joint ---------------------------------------------------------------------------------

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The parameters that are sampled jointly, conditional ones included; none during the start-up."""
        if self._sources is not None:
            self._sources.check(study.study_name, len(study.directions))
        trials = self._trials(study, trial, refresh=True)
        if self._starting(trials):
            return {}
        with self._lock:
            return self._history(None, trials, self._joint_plan(None)).plan(trials).distributions

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values of those parameters of ``search_space`` that are active, drawn with parents first."""
        if not search_space:
            return {}
        trials = self._trials(study, trial)
        if self._starting(trials):
            return {}
        with self._lock:
            history = self._history(None, trials, self._joint_plan(None))
            if history.plan(trials).distributions != search_space:
                # Some parameters are fixed from outside, or have changed meanwhile.
                only = tuple(search_space)
                history = self._history(only, trials, self._joint_plan(only))
            params = history.suggest(trials, trial.number, study.directions, self._seed, _JOINT)
            given = history.plan(trials).given(params)
        if given:
            study._storage.set_trial_system_attr(trial._trial_id, GIVEN_KEY, given)
        return {name: value for name, value in params.items() if name in search_space}

    def _joint_plan(self, only: tuple[str, ...] | None) -> Callable[[Sequence[FrozenTrial]], Plan]:
        space = self._space
        if space is None:
            return lambda trials: optuna_plan.from_log(trials, only)
        return lambda trials: optuna_plan.from_space(space, trials, only)

    # --- one parameter -------------------------------------------------------------------------

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value of one parameter: at random or of a source in the start-up, else by its own density."""
        plan = optuna_plan.single(param_name, param_distribution)
        stream = crc32(param_name.encode()) | 1  # not 0, the joint one
        trials = self._trials(study, trial)
        if self._starting(trials):
            if self._sources is not None:
                native = self._sources.first(self._seed, trial.number, plan.parameters[0])
                if native == native:
                    return plan.parameters[0].to_external(native)
            level = np.random.default_rng([self._seed, trial.number, stream]).random()
            assert plan.codec is not None
            return plan.params(plan.codec.at_level(level))[param_name]
        with self._lock:
            what = _Single(param_name, param_distribution)
            # A range that moves leaves nothing behind.
            self._histories = [
                (key, history)
                for key, history in self._histories
                if key == what or not isinstance(key, _Single) or key.name != param_name
            ]
            history = self._history(what, trials, lambda _: plan)
            return history.suggest(trials, trial.number, study.directions, self._seed, stream)[param_name]

    # --- around a trial ------------------------------------------------------------------------

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Store the trial's constraint values.

        Raises:
            TypeError, ValueError: constraint values that are no sequence of numbers, or NaN.
        """
        self._local.snapshot = None
        if self._constraints_func is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        returned = self._constraints_func(trial)
        try:
            if isinstance(returned, str):
                raise TypeError
            constraints = tuple(float(value) for value in returned)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"constraints_func must return a sequence of numbers, got {returned!r} for trial "
                f"{trial.number}."
            ) from error
        if any(map(np.isnan, constraints)):
            raise ValueError(f"constraints_func returned NaN for trial {trial.number}: {constraints!r}.")
        study._storage.set_trial_system_attr(trial._trial_id, _CONSTRAINTS_KEY, constraints)

    # --- inside --------------------------------------------------------------------------------

    def _trials(self, study: optuna.Study, trial: FrozenTrial, *, refresh: bool = False) -> list[FrozenTrial]:
        """The study's trials, read from the storage once per trial and thread."""
        snapshot = getattr(self._local, "snapshot", None)
        if refresh or snapshot is None or snapshot[0] is not study or snapshot[1] != trial.number:
            snapshot = (study, trial.number, study.get_trials(deepcopy=False))
            self._local.snapshot = snapshot
        return snapshot[2]

    def _starting(self, trials: Sequence[FrozenTrial]) -> bool:
        finished = 0
        for trial in trials:
            if finished >= self._n_startup:
                return False
            finished += trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
        return finished < self._n_startup

    def _history(
        self, what: Any, trials: Sequence[FrozenTrial], plan_of: Callable[[Sequence[FrozenTrial]], Plan]
    ) -> History:
        """The history of this study (or Hyperband's bracket of it), new where there is none."""
        for i, (key, history) in enumerate(self._histories):
            if key == what and history.fits(trials):
                self._histories.append(self._histories.pop(i))
                return history
        history = History(plan_of, self._alone if isinstance(what, _Single) else self._together)
        self._histories = [*self._histories[-_MOST_HISTORIES + 1 :], (what, history)]
        return history

    def _alone(self, plan: Plan, n_objectives: int, n_constraints: int) -> Sampler:
        assert plan.codec is not None
        return self._sampler(plan.codec.space, n_objectives, n_constraints)

    def _together(self, plan: Plan, n_objectives: int, n_constraints: int) -> Sampler:
        sampler = self._alone(plan, n_objectives, n_constraints)
        return sampler if self._sources is None else self._sources.fitted(sampler, plan)

    def _sampler(self, space: Space, n_objectives: int, n_constraints: int) -> Sampler:
        options = {"n_startup": 0, **self._options}
        if n_objectives > 1 or self._sources is not None:
            return mo_tpe(space, n_objectives, n_constraints, **options)
        if self._preset == "optuna_tpe":
            return optuna_tpe(space, 1, n_constraints, **options)
        return c_tpe(space, n_constraints, **options) if n_constraints else tpe(space, **options)
