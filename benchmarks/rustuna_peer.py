"""Rustuna (Optuna in Rust) as a peer of one core: importance of a study, and whole studies with its TPE."""

import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks import timing
from benchmarks.rows import Row

LEVELS, D = np.arange(1, 100) / 100, 6
LANES = 32


def is_installed() -> bool:
    """Whether rows with Rustuna can be measured; says so if they cannot."""
    if find_spec("rustuna") is None:
        print("Rustuna is not installed (pip install rustuna), so its rows are skipped", file=sys.stderr)
    return find_spec("rustuna") is not None


def random_log(n: int) -> px.Observations:
    """A log of n random trials of six floats, and a sphere with another weight on each."""
    x = np.random.default_rng(0).uniform(size=(n, D))
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(D)})
    return px.Observations.from_arrays(space, x, ((x - 0.3) ** 2) @ np.arange(1.0, D + 1))


def study_of(obs: px.Observations) -> Any:
    """The same log as a study of Rustuna's."""
    import rustuna

    distributions = {name: rustuna.distributions.FloatDistribution(0, 1) for name in obs.space.names}
    study = rustuna.create_study()
    for row, loss in zip(obs.values, obs.losses[:, 0], strict=True):
        params = dict(zip(obs.space.names, row.tolist(), strict=True))
        trial = rustuna.create_trial(params=params, distributions=distributions, value=float(loss))
        study.add_trial(trial)
    return study


def evaluate(study: Any, level: float) -> dict[str, float]:
    """Raw importances by Rustuna."""
    from rustuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    evaluator = PedAnovaImportanceEvaluator(target_quantile=level)
    return get_param_importances(study, evaluator=evaluator, normalize=False)


def importance(*, repeats: int, inner: int) -> list[Row]:
    """One level and 99 levels of one log, as observations and as a study of Rustuna's.

    Rustuna's values are not Optuna's to the last digits, so the largest difference is printed, not promised.
    """
    obs, estimator = random_log(1000), {"divergence": px.divergence.Pearson(), "grid": px.Grid.optuna()}
    study, rows = study_of(obs), []

    def ours(levels: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return px.cond_ped_anova(obs, levels, **estimator, n_resamples=0).variance

    for levels, work in ((LEVELS[9:10], "1 level"), (LEVELS, "99 levels")):
        calls: dict[str, Any] = {
            "ours": partial(ours, levels),
            "Rustuna": lambda levels=levels: [evaluate(study, float(level)) for level in levels],
        }
        first = timing.once(calls["ours"])
        expected = np.array([[raw[name] for name in obs.space.names] for raw in calls["Rustuna"]()])
        error = np.abs(ours(levels).reshape(expected.shape) - expected) / expected.max(axis=1, keepdims=True)
        print(f"{work}: Rustuna's importances differ from ours by at most {error.max():.1e}", file=sys.stderr)
        medians = timing.interleaved(calls, repeats, {"ours": inner})
        name = f"{work}, study of 1000 x {D}"
        rows.append(Row(name, 64, "Rustuna", medians["ours"], medians["Rustuna"], first, 0.0, 1.0))
    return rows


def study_best(n: int, seed: int) -> float:
    """The best value of a study of Rustuna's with multivariate TPE."""
    import rustuna

    weights = np.arange(1.0, D + 1).tolist()

    def objective(trial: Any) -> float:
        x = [trial.suggest_float(f"x{j}", 0, 1) for j in range(D)]
        return sum(w * (v - 0.3) ** 2 for w, v in zip(weights, x, strict=True))

    study = rustuna.create_study(sampler=rustuna.samplers.TPESampler(seed=seed, multivariate=True))
    study.optimize(objective, n_trials=n)
    return study.best_trial.values[0]


def studies(n: int, *, repeats: int) -> list[Row]:
    """Whole runs of n trials: ours in a chunk of 32, time per run, beside a study of Rustuna's."""
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(D)})
    weights = np.arange(1.0, D + 1, dtype=np.float32)
    problem = px.Problem(lambda _, x: (weights * (x - 0.3) ** 2).sum(), space)
    keys = jax.random.split(jax.random.key(0), LANES)
    samplers = {"px.optuna_tpe": px.optuna_tpe(space), "px.tpe": px.tpe(space)}
    calls: dict[str, Any] = {
        name: partial(px.optimize_many, keys, sampler, problem, n, lanes=LANES, progress=False)
        for name, sampler in samplers.items()
    }
    first = {name: timing.once(call) for name, call in calls.items()}
    medians = timing.interleaved(calls | {"Rustuna": partial(study_best, n, 0)}, repeats)
    best = {name: float(np.median(np.asarray(call().best_losses())[:, -1])) for name, call in calls.items()}
    best["Rustuna"] = float(np.median([study_best(n, seed) for seed in range(8)]))
    print(f"best of {n}, medians: " + ", ".join(f"{k} {v:.2g}" for k, v in best.items()), file=sys.stderr)
    return [
        Row(
            f"{name}, run of {n}",
            32,
            "Rustuna",
            medians[name] / LANES,
            medians["Rustuna"],
            first[name],
            0.0,
            goal,
        )
        for name, goal in (("px.optuna_tpe", 2.0), ("px.tpe", 1.3))
    ]
