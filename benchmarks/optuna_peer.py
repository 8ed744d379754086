"""Optuna's conditional PED-ANOVA as a peer: end to end on a study, and its numerics alone on arrays."""

import math
import warnings
from typing import Any

import numpy as np
import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.importance import PedAnovaImportanceEvaluator

# The numerics alone have no public name; a benchmark may look behind it, the package never does.
from optuna.importance._ped_anova.scott_parzen_estimator import ScottParzenEstimator

import parzax as px

optuna.logging.set_verbosity(optuna.logging.ERROR)


def study_of(obs: px.Observations, seed: int) -> optuna.Study:
    """A study with the rows of one seed, whose losses are minimised."""
    study = optuna.create_study(direction="minimize")
    trials = []
    for values, regimes, loss in zip(obs.values[seed], obs.regime[seed], obs.losses[seed, :, 0], strict=True):
        params, distributions = {}, {}
        for name, domains, value, regime in zip(
            obs.space.names, obs.space.domains, values, regimes, strict=True
        ):
            if regime >= 0:
                params[name], distributions[name] = _as_optuna(domains[regime], float(value))
        trials.append(optuna.create_trial(params=params, distributions=distributions, value=float(loss)))
    study.add_trials(trials)
    return study


def _as_optuna(domain: Any, value: float) -> tuple[Any, BaseDistribution]:
    """A value and its distribution."""
    if isinstance(domain, px.Categorical):
        return domain.choices[int(value)], CategoricalDistribution(domain.choices)
    if isinstance(domain, px.Int):
        return int(value), IntDistribution(domain.low, domain.high, log=domain.log)
    return value, FloatDistribution(domain.low, domain.high, log=domain.log)


def end_to_end(study: optuna.Study, level: float) -> dict[str, float]:
    """Raw importances of one study at one level."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PedAnovaImportanceEvaluator(target_quantile=level).evaluate(study)


def on_arrays(obs: px.Observations, seed: int, level: float) -> np.ndarray:
    """The same from arrays, (d,): Optuna's counting rule and estimator without studies and trials."""
    values, regimes, losses = obs.values[seed], obs.regime[seed], obs.losses[seed, :, 0]
    n = losses.size
    index = math.ceil(level * n) - 1
    target = losses <= np.partition(losses, index)[index]
    n_target = int(target.sum())
    variances = np.zeros(len(obs.space))
    for j, domains in enumerate(obs.space.domains):
        for regime, domain in enumerate(domains):
            here = regimes[:, j] == regime
            region_values = values[here, j]
            target_values = values[here & target, j]
            if len(region_values) < 2 or not len(target_values):
                continue
            p_target = _density(target_values, domain.low, domain.high)
            p_region = _density(region_values, domain.low, domain.high)
            divergence = float(p_region @ ((p_target / p_region - 1) ** 2))
            alpha, beta = len(target_values) / n_target, len(region_values) / n
            variances[j] += alpha**2 / beta * divergence
    return variances * (n_target / n) ** 2


def _density(values: np.ndarray, low: float, high: float, n_steps: int = 50) -> np.ndarray:
    step = (high - low) / (n_steps - 1)
    cells = np.clip(np.ceil((values - low) / step - 0.5).astype(int), 0, n_steps - 1)
    counts = np.bincount(cells, minlength=n_steps)
    occupied = np.flatnonzero(counts)
    estimator = ScottParzenEstimator(
        observations=occupied,
        search_space=IntDistribution(low=0, high=n_steps - 1),
        predetermined_weights=counts[occupied],
        prior_weight=1.0,
    )
    return estimator.pdf(np.arange(n_steps)) + 1e-12
