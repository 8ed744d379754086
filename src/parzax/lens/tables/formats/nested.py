"""Nested records: Hyperopt, Keras Tuner's ``trial.json``, BayesianOptimization, and any others."""

from typing import Any

import numpy as np

from parzax.lens.tables.formats.format import Format, Records


def _read_hyperopt(document: Any) -> Records | None:
    """Read Hyperopt's trials: a value is a list of one entry, empty for an inactive parameter."""
    trials = [document] if isinstance(document, dict) else document
    try:
        values = [trial["misc"]["vals"] for trial in trials]
        native = [{name: x[0] if x else None for name, x in vals.items()} for vals in values]
        return [{**trial, "misc": {"vals": row}} for trial, row in zip(trials, native, strict=True)]
    except (AttributeError, KeyError, TypeError):
        return None


HYPEROPT = Format(
    "Hyperopt",
    needs=("misc/vals/*", "result/*"),
    empty_is_inactive=True,
    prefix="misc/vals/",
    results="result/loss",
    directions={"result/loss": "minimize"},
    state="result/status",
    records=_read_hyperopt,
)


def _read_keras_tuner(trial: Any) -> Records | None:
    """Read a trial of Keras Tuner; the direction of its score is that of the metric with the same value."""
    try:
        metrics, score = trial["metrics"]["metrics"].values(), trial["score"]
        of_score = {metric["direction"] for metric in metrics if _has_value(metric["observations"], score)}
    except (AttributeError, KeyError, TypeError):
        return None
    return [{**trial, "direction": of_score.pop() if len(of_score) == 1 else None}]


def _has_value(observations: Any, score: float) -> bool:
    """Whether the score is the mean of an observation; True if there is none."""
    return not observations or any(np.mean(x["value"]) == score for x in observations)


KERAS_TUNER = Format(
    "Keras Tuner",
    needs=("hyperparameters/values/*",),
    prefix="hyperparameters/values/",
    # The tuner's own values, such as the number of epochs that it allows a trial.
    others="hyperparameters/values/tuner/.*",
    results="score",
    step="hyperparameters/values/tuner/epochs",
    state="status",
    file="trial.json",
    records=_read_keras_tuner,
    directions={"score": "direction"},
)
# It maximises its target.
BAYESIAN_OPTIMIZATION = Format(
    "BayesianOptimization",
    needs=("params/*", "target", "datetime/datetime"),
    prefix="params/",
    results="target",
    directions={"target": "maximize"},
)
NESTED = tuple(
    Format(f"nested records ({key})", needs=(f"{key}/*",), prefix=f"{key}/", results=".*")
    for key in ("config", "params", "hyperparameters", "hparams", "parameters", "arguments")
)
