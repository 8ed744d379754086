"""An importance evaluator for Optuna that computes with parzax."""

import warnings
from typing import Any

import jax
import numpy as np
import optuna
from optuna.importance import BaseImportanceEvaluator
from optuna.trial import TrialState

from parzax import _checks
from parzax.adapters.optuna.storage import StudyRecord
from parzax.adapters.optuna.studies import Target, observations, parameter_names
from parzax.divergence import AbstractDivergence, Pearson
from parzax.importance import Grid
from parzax.lens.results import ImportanceResult, cond_ped_anova
from parzax.lens.results.texts import join_some, size_text
from parzax.status import Status, set_bits

# Statuses that make every importance meaningless; the others are in the result of `cond_ped_anova`.
_WORTH_A_WARNING = (Status.NO_DATA, Status.ALL_EQUAL, Status.SAME_SETS)


class CondPedAnovaImportanceEvaluator(BaseImportanceEvaluator):
    """Conditional PED-ANOVA for `optuna.importance.get_param_importances`, with Optuna's arguments.

    It replaces `optuna.importance.PedAnovaImportanceEvaluator` and agrees with it to a relative 1e-12, in
    float64 for any settings of JAX. These differences are deliberate: choices keep their type (True is not
    1), the same choices in another order are one domain, and equal importances come in the order of the
    parameters' first appearance. Trials with an infinite value are left out, as in Optuna; elsewhere in
    parzax -inf is a legal best loss. Trials with several objectives are ranked as in Optuna, by
    non-domination rank and greedy hypervolume subset selection. It reads the trials alone, at the level that
    is given, and warns once if they are few, if some violate a constraint, or if their order shows a sampler
    that learns: the command, the page and `parzax.cond_ped_anova` may then answer otherwise.

    Args:
        target_quantile: level gamma' in (0, 1), below ``region_quantile``.
        region_quantile: level gamma in (0, 1].
        evaluate_on_local: compare with the density of the region (local importance); False compares with
            the uniform density of the search space (global importance).
        divergence, grid: as in `parzax.cond_ped_anova`, but by default ``px.divergence.Pearson()`` on
            ``px.Grid.optuna()``. ``px.divergence.Explained()`` on ``px.Grid()`` gives a constant parameter
            exactly 0; its debiased variances are clipped at 0 here.

    Raises:
        ValueError: levels that are not 0 < target_quantile < region_quantile <= 1.

    >>> import optuna, parzax as px
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda t: t.suggest_float("x", 0, 1) ** 2 + 0 * t.suggest_int("k", 1, 9), n_trials=200)
    >>> evaluator = px.adapters.optuna.CondPedAnovaImportanceEvaluator()
    >>> list(optuna.importance.get_param_importances(study, evaluator=evaluator))
    ['x', 'k']
    """

    def __init__(
        self,
        *,
        target_quantile: float = 0.1,
        region_quantile: float = 1.0,
        evaluate_on_local: bool = True,
        divergence: AbstractDivergence | None = None,
        grid: Grid | None = None,
    ) -> None:
        self._region_quantile = _checks.quantile("region_quantile", region_quantile)
        self._target_quantile = _checks.quantile("target_quantile", target_quantile)
        if self._target_quantile >= self._region_quantile:
            limit = f"below region_quantile = {region_quantile!r}"
            raise ValueError(f"target_quantile must be {limit}, got {target_quantile!r}.")
        wanted = "one of parzax.divergence"
        divergence = _checks.instance("divergence", divergence or Pearson(), AbstractDivergence, wanted)
        grid = _checks.instance("grid", grid or Grid.optuna(), Grid, "a parzax.Grid")
        if region_quantile != 1.0 and not evaluate_on_local:
            warnings.warn(
                "region_quantile has no effect on the reference density if evaluate_on_local is False: that "
                "density is then uniform.",
                stacklevel=_checks.outside(),
            )
        self._has_warned = False
        reference = "region" if evaluate_on_local else "uniform"
        self._how: dict[str, Any] = {"divergence": divergence, "grid": grid, "reference": reference}

    def evaluate(
        self, study: optuna.Study, params: list[str] | None = None, *, target: Target | None = None
    ) -> dict[str, float]:
        """Within-regime variances (not normalised) of the parameters, largest first.

        Args:
            study: its COMPLETE trials are read once.
            params: names to report; by default all that occur. Names that are left out do not change the
                importances of the others.
            target: a function of a trial, whose value is explained; low is good, and NaN and infinities are
                left out. By default the objective; with several objectives, the order by Pareto front.

        Returns:
            Name -> variance >= 0. All are 0, with a warning, if there are fewer than two usable trials, if
            all losses are equal, or if both levels select the same trials.

        Raises:
            TypeError: ``params`` is not a list of names.
            ValueError: a name that no complete trial has.
            ImportError: four objectives or more, without moocore (``parzax[pareto]``).
        """
        names = () if params is None else params
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"params must be a list of names, got {params!r}.")
        trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        names = parameter_names(trials)
        if missing := [repr(name) for name in params or () if name not in names]:
            raise ValueError(f"params: no completed trial has {', '.join(missing)}.")
        if target is not None:
            warnings.warn(
                "low values of target count as good; to explain high ones, return the negative.",
                stacklevel=_checks.outside(),
            )
        record = StudyRecord(trials, tuple(study.directions))
        low = None if target is None else "minimize"
        obs = observations(record, target=target, direction=low) if names else None
        asked = names if params is None else list(dict.fromkeys(params))
        # Optuna's evaluators leave out trials with a value of +inf or -inf.
        obs = None if obs is None else obs.select(np.isfinite(obs.losses).all(axis=-1))
        if obs is None or obs.weight is None or np.count_nonzero(obs.weight) < 2:
            _warn(Status.NO_DATA)
            return dict.fromkeys(asked, 0.0)
        levels: Any = {"levels": self._target_quantile, "region": self._region_quantile, "rows": "all"}
        with jax.enable_x64(True):
            how = {"objective": "pareto", "n_resamples": 0, "surrogate": None, **self._how}
            result = cond_ped_anova(obs, **levels, **how)
        self._warn_of_other_answers(result, int(np.count_nonzero(~obs.feasible)))
        _warn(Status(int(np.bitwise_or.reduce(result.status, axis=None))))
        variance = dict(zip(result.names, np.maximum(result.variance[0], 0.0).tolist(), strict=True))
        return {name: variance[name] for name in sorted(asked, key=lambda name: -variance[name])}

    def _warn_of_other_answers(self, result: ImportanceResult, n_infeasible: int) -> None:
        """Say once why the command, the page and `parzax.cond_ped_anova` may answer otherwise."""
        n = size_text(result.n_region)
        few = f"only {size_text(result.n_target)} of {n} trials are among the best"
        reasons = ["a sampler that learns chose the trials"] * result.learned()
        reasons += [f"{n_infeasible} of {n} trials violate a constraint"] * (n_infeasible > 0)
        reasons += [few] * bool(set_bits(result.status) & Status.LOW_DATA)
        if reasons and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{join_some(reasons)}; this evaluator reads all trials, and nothing else, as Optuna does: "
                "px.cond_ped_anova(px.adapters.optuna.observations(study)) allows for that, and may rank the "
                "parameters otherwise.",
                stacklevel=_checks.outside(),
            )


def _warn(status: Status) -> None:
    advice = [bit.advice for bit in _WORTH_A_WARNING if status & bit]
    if advice:
        warnings.warn(" ".join(advice), stacklevel=_checks.outside())
