"""Minimise a loss under a constraint, in a space with a conditional parameter."""

from __future__ import annotations

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """A loss with a parameter that only one of two choices has."""
    lr = trial.suggest_float("lr", 1e-5, 1.0, log=True)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam"])
    momentum = trial.suggest_float("momentum", 0.0, 0.99) if optimizer == "sgd" else 0.5
    return (lr - 0.01) ** 2 + (momentum - 0.9) ** 2


def constraints(trial: optuna.trial.FrozenTrial) -> tuple[float]:
    """A constraint is satisfied where its value is at most 0: here where lr is at most 0.1."""
    return (trial.params["lr"] - 0.1,)


if __name__ == "__main__":
    module = optunahub.load_module(package="samplers/parzax_tpe")
    sampler = module.TPESampler(seed=0, constraints_func=constraints)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30)
    print(study.best_trial.value, study.best_trial.params)
