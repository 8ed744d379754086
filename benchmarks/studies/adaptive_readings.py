"""What logs say by their rows, by a surrogate and in Optuna, for `benchmarks.studies.adaptive_logs`."""

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.adaptive_problems import problem_of, search
from benchmarks.studies.papers.runs import Arrays
from parzax.lens.results.order import shows_learning

LEVELS, N_SHUFFLES = (0.1, 0.3), 199
# Logs of at most so many trials, and so many of them, are read by Optuna's evaluators too: they take seconds.
PEER_TRIALS, PEER_LOGS = 100, 4


def reading(searcher: str, problem: str, n_seeds: int, n: int, sizes: tuple[int, ...]) -> Arrays:
    """A unit: the log of `search`, and `read` of its first trials, as "50/rows" for 50 trials."""
    log = search(searcher, problem, n_seeds, n)
    parts = {size: read(problem, log["x"][:, :size], log["loss"][:, :size]) for size in sizes if size <= n}
    return log | {f"{size}/{name}": array for size, part in parts.items() for name, array in part.items()}


def read(problem: str, x: np.ndarray, loss: np.ndarray) -> Arrays:
    """Logs x (s, n, d) and loss (s, n) at q levels.

    Returns:
        "rows" (s, q, d): shares of the rows themselves. "above" (s, q, d): whether those are above chance.
        "shown" (s,): whether the order of the rows shows a search that learns. "draws" (s, b, q, d): shares
        of draws from the surrogate; "quality" (s,) of the surrogate; "worth" and "target_worth" (s, b, slots)
        of tuning. "f-ANOVA", "MDI", "PED-ANOVA" (few, d): Optuna's shares.
    """
    space = problem_of(problem).space
    x, loss = np.asarray(x, float), np.asarray(loss, float)
    obs = px.Observations.from_arrays(space, x, loss)
    single = [px.Observations.from_arrays(space, *log) for log in zip(x, loss, strict=True)]
    result = px.cond_ped_anova(obs, LEVELS, n_shuffles=N_SHUFFLES, key=jax.random.key(0))
    parts = {
        "rows": result.importance,
        "above": result.above_chance,
        "shown": np.array([shows_learning(log, log.losses[..., 0][None]) for log in single]),
    }
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(1), len(x))
        parts |= _surrogate_reading(space)(keys, jnp.asarray(x), jnp.asarray(loss))
    if x.shape[1] <= PEER_TRIALS and not any(domain.conditions for (domain,) in space.domains):
        logs = list(zip(x, loss, strict=True))[:PEER_LOGS]
        parts |= {name: np.array([_peer(name, space, *log) for log in logs]) for name in PEER_EVALUATORS}
    return {name: np.asarray(array, np.float32) for name, array in parts.items()}


@lru_cache(maxsize=1)
def _surrogate_reading(space: px.Space) -> Any:
    """All logs in one compiled call, one after the other."""

    def of_log(log: tuple[jax.Array, ...]) -> Mapping[str, jax.Array]:
        key, x, loss = log
        of_shares, of_effects = jax.random.split(key)
        posterior = px.surrogate.GaussianProcess().fit(space, x, loss)
        effects = px.surrogate.effects(of_effects, posterior)
        return {
            "draws": px.surrogate.importances(of_shares, posterior, LEVELS).importance,
            "quality": posterior.quality,
            "worth": effects.worth,
            "target_worth": effects.target_worth,
        }

    return jax.jit(lambda *logs: jax.lax.map(of_log, logs))


PEER_EVALUATORS = {
    "f-ANOVA": "FanovaImportanceEvaluator",
    "MDI": "MeanDecreaseImpurityImportanceEvaluator",
    "PED-ANOVA": "PedAnovaImportanceEvaluator",
}


def _peer(name: str, space: px.Space, x: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Shares (d,) by one of Optuna's evaluators."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study()
        distributions = dict(zip(space.names, map(_distribution, space.domains), strict=True))
        study.add_trials(
            optuna.create_trial(params=_params(space, row), distributions=distributions, value=float(value))
            for row, value in zip(x, loss, strict=True)
            if np.isfinite(value)
        )
        evaluator = getattr(optuna.importance, PEER_EVALUATORS[name])
        settings = {} if name == "PED-ANOVA" else {"seed": 0}
        shares = optuna.importance.get_param_importances(study, evaluator=evaluator(**settings))
    return np.array([shares[parameter] for parameter in space.names])


def _distribution(domains: Sequence[Any]) -> Any:
    from optuna import distributions as optuna

    domain: Any = domains[0]
    if isinstance(domain, px.Categorical):
        return optuna.CategoricalDistribution(domain.choices)
    if isinstance(domain, px.Ordinal):
        return optuna.IntDistribution(0, len(domain.values) - 1)
    kind: Any = optuna.IntDistribution if isinstance(domain, px.Int) else optuna.FloatDistribution
    return kind(domain.low, domain.high, log=domain.log)


def _params(space: px.Space, row: np.ndarray) -> dict[str, Any]:
    params = space.as_dict(row)
    for name, (domain,) in zip(space.names, space.domains, strict=True):
        if isinstance(domain, px.Ordinal):
            params[name] = int(domain.axis.index(np.asarray(params[name])))
    return params
