"""Logs with importances computed by Optuna: those under PARZAX_DATA, and ones made on the spot.

A log is values (s, n, d), objective (s, n), a space, and per seed a list of records with the keys of
the stored files: gamma_target, gamma_region, n_target, n_region, raw, normalized,
standard_variance_raw, unweighted_raw and regimes.
"""

import functools
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference import grid, problems

STORED = (
    *(f"synthetic/{name}" for name in problems.SPACES),
    *(f"yahpo/rbv2_cash2_{task}" for task in ("1053", "1468", "4541", "1053_n100000")),
    *(f"yahpo/rbv2_super2021_{task}" for task in ("1053", "15")),
    *(f"yahpo/rbv2_xgboost_{task}" for task in ("1053", "40499")),
    "yahpo/lcbench_167168",
)
GENERATED = ("generated/mixed",)


@dataclass
class Log:
    name: str
    space: dict
    values: np.ndarray
    objective: np.ndarray
    direction: str
    runs: list[list[dict]]


def data_path() -> Path | None:
    """The folder in PARZAX_DATA, None if unset; a wrong one is an error, not a skipped test."""
    text = os.environ.get("PARZAX_DATA")
    if not text:
        return None
    path = Path(text)
    if not (path / "synthetic").is_dir():
        raise FileNotFoundError(f"PARZAX_DATA={text!r} has no folder 'synthetic'; unset it or correct it.")
    return path


def names() -> tuple[str, ...]:
    """The logs that can be had here."""
    return GENERATED if data_path() is None else STORED + GENERATED


@functools.cache
def load(name: str) -> Log:
    if name in GENERATED:
        return _mixed()
    path = data_path()
    assert path is not None
    group, problem = name.split("/")
    entry = _stored(group)[problem]
    with np.load(path / group / f"{problem}.npz", allow_pickle=False) as data:
        values, objective = data["values"], data["objective"]
    space = json.loads((path / group / entry["space"]).read_text())
    assert [p["name"] for p in space["parameters"]] == entry["parameters"]
    return Log(name, space, values, objective, space["direction"], [run["results"] for run in entry["runs"]])


@functools.cache
def _stored(group: str) -> dict:
    path = data_path()
    assert path is not None
    return json.loads((path / group / "reference_optuna5.json").read_text())["datasets"]


@functools.cache
def synthetic(problem: str) -> tuple[dict, np.ndarray, np.ndarray]:
    """Space, values (10, 1000, d) and objective of a synthetic problem, stored or else drawn."""
    if data_path() is None:
        return problems.draw(problem)
    log = load(f"synthetic/{problem}")
    return log.space, log.values, log.objective


# --- made on the spot --------------------------------------------------------------------------

MIXED = {
    "parameters": [
        {"name": "kind", "kind": "categorical", "choices": ["a", "b", "c"]},
        {"name": "rate", "kind": "float", "low": 1e-4, "high": 1.0, "log": True},
        {"name": "width", "kind": "int", "low": 1, "high": 300, "log": True},
        {"name": "depth", "kind": "int", "low": 1, "high": 9, "step": 2},
        {"name": "share", "kind": "float", "low": 0.0, "high": 1.0, "step": 0.25},
        {"name": "seed", "kind": "int", "low": 0, "high": 80},
        {
            "name": "x",
            "kind": "float",
            "low": -2.0,
            "high": 2.0,
            "conditions": [{"parent": "kind", "values": ["a", "b"]}],
        },
        {
            "name": "y",
            "kind": "float",
            "regimes": [
                {"low": 0.0, "high": 1.0, "conditions": [{"parent": "kind", "values": ["b"]}]},
                {"low": 3.0, "high": 5.0, "conditions": [{"parent": "kind", "values": ["c"]}]},
            ],
        },
        {"name": "fixed", "kind": "float", "low": 0.5, "high": 0.5},
    ]
}
LEVELS = ((0.05, 1.0), (0.15000000000000002, 1.0), (0.5, 1.0), (0.1, 0.5))


def suggest(trial) -> float:
    """An objective over every kind of parameter that Optuna has, for Optuna's own suggestions."""
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    width = trial.suggest_int("width", 1, 300, log=True)
    depth = trial.suggest_int("depth", 1, 9, step=2)
    share = trial.suggest_float("share", 0.0, 1.0, step=0.25)
    seed = trial.suggest_int("seed", 0, 80)
    trial.suggest_float("fixed", 0.5, 0.5)
    loss = (np.log10(rate) + 2) ** 2 + 0.02 * abs(width - 40) ** 0.5 + 0.1 * depth + share + 0.001 * seed
    if kind in ("a", "b"):
        loss += trial.suggest_float("x", -2.0, 2.0) ** 2
    if kind == "b":
        loss += trial.suggest_float("y", 0.0, 1.0)
    if kind == "c":
        loss += abs(trial.suggest_float("y", 3.0, 5.0) - 4)
    # Rounded, so that there are ties at the cut-offs.
    return float(np.round(loss, 1))


def optuna_study(seed: int, n: int):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed), direction="maximize")
    study.optimize(lambda trial: -suggest(trial), n_trials=n)
    return study


@functools.cache
def _mixed(n: int = 200) -> Log:
    import optuna

    names_ = [p["name"] for p in MIXED["parameters"]]
    values, objective, runs = [], [], []
    for seed in range(2):
        study = optuna_study(seed, n)
        rows = [
            [_code(name, trial.params.get(name)) for name in names_]
            for trial in study.get_trials(deepcopy=False)
        ]
        table, losses = np.array(rows, dtype=np.float64), np.array([trial.value for trial in study.trials])
        records = []
        for target, region in LEVELS:
            evaluator = optuna.importance.PedAnovaImportanceEvaluator(
                target_quantile=target, region_quantile=region
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                raw = evaluator.evaluate(study)
                normalized = optuna.importance.get_param_importances(study, evaluator=evaluator)
            loop = grid.analyse(MIXED, table, -losses, [target], region, estimator="optuna")
            # The oracle of the ablations is itself held to Optuna where Optuna has a number.
            mine = np.array([raw[name] for name in names_])
            np.testing.assert_allclose(loop["variance"][0], mine, rtol=1e-10, atol=1e-300)
            regimes = {
                name: [
                    [loop["n_target_i"][0, j, i], loop["n_region_i"][0, j, i], loop["divergence"][0, j, i]]
                    for i in [*range(len(grid.domains_of(MIXED["parameters"][j]))), -1]
                ]
                for j, name in enumerate(names_)
            }
            records.append(
                {
                    "gamma_target": target,
                    "gamma_region": region,
                    "n_target": int(loop["n_target"][0]),
                    "n_region": int(loop["n_region"]),
                    "raw": mine.tolist(),
                    "normalized": [normalized[name] for name in names_],
                    "standard_variance_raw": loop["standard"][0].tolist(),
                    "unweighted_raw": loop["unweighted"][0].tolist(),
                    "regimes": regimes,
                }
            )
        values.append(table)
        objective.append(losses)
        runs.append(records)
    return Log("generated/mixed", MIXED, np.stack(values), np.stack(objective), "maximize", runs)


def _code(name: str, value: object) -> float:
    if value is None:
        return float("nan")
    return float("abc".index(str(value))) if name == "kind" else float(value)  # type: ignore[arg-type]
