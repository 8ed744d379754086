"""Plot the importance of the parameters of a study against the target quantile."""

from __future__ import annotations

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """Poor trials differ in x, good trials in y, and z does not matter."""
    x = trial.suggest_float("x", -1.0, 1.0)
    y = trial.suggest_float("y", -1.0, 1.0)
    trial.suggest_float("z", -1.0, 1.0)
    return max(abs(x), 0.3) + 0.2 * abs(y)


if __name__ == "__main__":
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=300)
    module = optunahub.load_module(package="visualization/plot_importance_over_quantiles")
    module.plot_importance_over_quantiles(study).show()
