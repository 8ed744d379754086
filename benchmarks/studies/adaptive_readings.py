"""What logs say by their rows, by a surrogate and in Optuna, for `benchmarks.studies.adaptive_logs`."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.adaptive_problems import LEVELS, PROBLEMS, problem_of, true_shares, true_worth
from benchmarks.studies.adaptive_searches import Logs, load
from benchmarks.studies.papers.runs import Arrays
from parzax.lens.results.order import shows_learning
from parzax.surrogate.process import map_draws

N_SHUFFLES = 199
# Draws from the posterior, and random configurations at which the importances of each are measured.
N_DRAWS, N_POINTS = 24, 2048
# Logs of at most so many trials are read by Optuna's evaluators too.
PEER_TRIALS = 100
# f-ANOVA takes seconds, so that it reads the first logs of some searches.
FANOVA_LOGS, FANOVA_SEARCHES = 2, ("random search", "px.tpe", "Optuna TPE")
# Fewer rows are filled up with failed ones, so that logs of 40 and of 100 trials share a program.
LEAST_ROWS = 100


def read_truth(problem: str) -> Arrays:
    """A unit: the true shares."""
    return {"shares": true_shares(problem)}


def _parts(logs: Logs, sizes: Sequence[int]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """The first trials of logs: number of trials, x (s, n, d) and loss (s, n)."""
    arrays = load(logs)
    for size in sizes:
        if size <= logs.n:
            x, loss = (np.asarray(arrays[name][:, :size], float) for name in ("x", "loss"))
            yield size, x, loss


def read_rows(logs: Logs, sizes: Sequence[int]) -> Arrays:
    """A unit: the rows of logs, as "40/rows" for 40 trials.

    Returns:
        "rows" (s, q, d): shares. "above" (s, q, d): whether they are above chance, for functions. "shown"
        (s,): whether the order of the rows shows a search that learns. "PED-ANOVA", "MDI" (s, d), "f-ANOVA"
        (few, d): Optuna's shares. "best" (s,): the least loss.
    """
    space, arrays = problem_of(logs.problem).space, {}
    for size, x, loss in _parts(logs, sizes):
        obs = px.Observations.from_arrays(space, x, loss)
        single = [px.Observations.from_arrays(space, *log) for log in zip(x, loss, strict=True)]
        n_shuffles = N_SHUFFLES if logs.problem in PROBLEMS else 0
        result = px.cond_ped_anova(obs, LEVELS, n_shuffles=n_shuffles, key=jax.random.key(0), surrogate=None)
        part = {
            "rows": result.importance,
            "shown": [shows_learning(log, log.losses[..., 0][None]) for log in single],
            "best": np.nanmin(loss, axis=1),
        }
        if n_shuffles:
            part["above"] = result.above_chance
        for name in PEER_EVALUATORS if size <= PEER_TRIALS else ():
            n_logs = len(x) if name != "f-ANOVA" else FANOVA_LOGS * (logs.searcher in FANOVA_SEARCHES)
            if n_logs:
                pairs = zip(x[:n_logs], loss[:n_logs], strict=True)
                part[name] = [optuna_shares(name, space, *log) for log in pairs]
        arrays |= {f"{size}/{name}": np.asarray(array, np.float32) for name, array in part.items()}
    return arrays


def read_surrogate(logs: Logs, log: int, sizes: Sequence[int], *, effects: bool) -> Arrays:
    """A unit: the surrogates of one log, as "40/draws" for 40 trials.

    Returns:
        "draws" (b, q, d): shares of draws; "quality" (); with ``effects``, at 100 trials, "worth" and
        "target_worth" (b, slots) of tuning, and "true_worth" and "true_target_worth" (slots,) of them.
    """
    space, arrays = problem_of(logs.problem).space, {}
    fit, read, effects_of = _programs(space)
    for size, x, loss in _parts(logs, sizes):
        of_draws, of_effects = jax.random.split(jax.random.key(log))
        with jax.enable_x64(True):
            posterior = fit(*_filled(x[log], loss[log]))
            part = {"draws": read(of_draws, posterior), "quality": posterior.quality}
            if effects and size == LEAST_ROWS:
                part["worth"], part["target_worth"] = effects_of(of_effects, posterior)
                true = true_worth(logs.problem, np.nanmax(loss[log]))
                part["true_worth"], part["true_target_worth"] = true
        arrays |= {f"{size}/{name}": np.asarray(array, np.float32) for name, array in part.items()}
    return arrays


def fit_log(space: px.Space, x: np.ndarray, loss: np.ndarray) -> px.surrogate.Posterior:
    """The surrogate with its defaults."""
    with jax.enable_x64(True):
        return _programs(space)[0](*_filled(np.asarray(x, float), np.asarray(loss, float)))


def _filled(x: np.ndarray, loss: np.ndarray) -> tuple[jax.Array, jax.Array]:
    n_missing = max(LEAST_ROWS - len(x), 0)
    x = np.concatenate([x, np.repeat(x[:1], n_missing, axis=0)])
    return jnp.asarray(x), jnp.asarray(np.pad(loss, (0, n_missing), constant_values=np.nan))


@lru_cache(maxsize=16)
def _programs(space: px.Space) -> tuple[Callable, Callable, Callable]:
    """Of one log: the posterior; shares (b, q, d) of draws; worth of draws."""

    @jax.jit
    def fit(x: jax.Array, loss: jax.Array) -> px.surrogate.Posterior:
        return px.surrogate.GaussianProcess().fit(space, x, loss)

    @jax.jit
    def draw(key: jax.Array, posterior: px.surrogate.Posterior) -> tuple[jax.Array, jax.Array]:
        def log_of(key: jax.Array, function: Any) -> tuple[jax.Array, jax.Array]:
            x = space.sample(key, N_POINTS)
            return x, jax.vmap(function)(x)

        return map_draws(log_of, posterior, key, N_DRAWS)

    @jax.jit
    @jax.vmap
    def shares(x: jax.Array, losses: jax.Array) -> jax.Array:
        return px.importance.estimate(px.encode(space, x, losses, LEVELS)).importance

    @jax.jit
    def worths(key: jax.Array, posterior: px.surrogate.Posterior) -> tuple[jax.Array, jax.Array]:
        effects = px.surrogate.effects(key, posterior)
        return effects.worth, effects.target_worth

    return fit, lambda key, posterior: shares(*draw(key, posterior)), worths


PEER_EVALUATORS = {
    "PED-ANOVA": "PedAnovaImportanceEvaluator",
    "f-ANOVA": "FanovaImportanceEvaluator",
    "MDI": "MeanDecreaseImpurityImportanceEvaluator",
}


def optuna_shares(name: str, space: px.Space, x: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Shares (d,) by one of Optuna's evaluators; 0 for parameters that it leaves out."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study()
        every = dict(zip(space.names, map(_distribution, space.domains), strict=True))
        for row, value in zip(x, loss, strict=True):
            params = _params(space, row)
            distributions = {parameter: every[parameter] for parameter in params}
            study.add_trial(
                optuna.create_trial(params=params, distributions=distributions, value=float(value))
            )
        evaluator = getattr(optuna.importance, PEER_EVALUATORS[name])
        settings = {} if name == "PED-ANOVA" else {"seed": 0}
        shares = optuna.importance.get_param_importances(study, evaluator=evaluator(**settings))
    return np.array([shares.get(parameter, 0) for parameter in space.names])


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
