"""Studies against Optuna's sampler: ``python -m benchmarks.optuna_sampler [--quick] [--json FILE]``.

Times are those spent in the sampler's methods over a whole study; the objective, the storage and Optuna's
own bookkeeping are left out. Ours are those once everything is compiled; the first study, compilation and
all, is under "first call". One core, the same objective, study after study in turn. The row names the
median of the best values, so that a fast sampler that finds nothing is seen, and how many programs the
first study compiled; "difference" is how many of them were more than two (one for 256 trials, one for
1024).
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import math
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import optuna
from optuna.samplers import BaseSampler

import parzax as px
from benchmarks import command
from benchmarks.rows import Row
from benchmarks.timed_sampler import Timed

GOAL = 3.0
# With 64 candidates, each of which has a mass in the cells of 1000 rows, a mixed space is below it.
PROMISED_OF_EVERY_KIND = 2.0
optuna.logging.set_verbosity(optuna.logging.ERROR)


def floats(trial: optuna.Trial) -> float:
    """Six floats."""
    return sum((trial.suggest_float(f"x{i}", -1, 1) - 0.1 * i) ** 2 for i in range(6))


def mixed(trial: optuna.Trial) -> float:
    """Six parameters of every kind."""
    loss = (trial.suggest_float("x", -1, 1) - 0.3) ** 2 + (
        trial.suggest_float("y", 0, 1, step=0.05) - 0.6
    ) ** 2
    loss += (math.log10(trial.suggest_float("lr", 1e-5, 1, log=True)) + 2) ** 2
    loss += 0.1 * abs(trial.suggest_int("n", 1, 9) - 4) + 0.01 * abs(
        trial.suggest_int("k", 1, 100, log=True) - 30
    )
    return loss + (trial.suggest_categorical("c", ["a", "b", "c"]) != "b")


def ordinals(trial: optuna.Trial) -> float:
    """Five integers from 1 to 8."""
    return sum((trial.suggest_int(f"x{i}", 1, 8) - 1.3 - i) ** 2 for i in range(5))


def conditional(trial: optuna.Trial) -> float:
    """A choice of three branches with two parameters each."""
    c = trial.suggest_categorical("c", ["a", "b", "c"])
    loss = (trial.suggest_float("x", -1, 1) - 0.3) ** 2
    if c == "a":
        return loss + (trial.suggest_float("a0", -1, 1) - 0.5) ** 2 + abs(trial.suggest_int("a1", 0, 9) - 2)
    if c == "b":
        return loss + trial.suggest_float("b0", 0, 1) + trial.suggest_float("b1", 0, 1)
    return loss + 0.5 + (trial.suggest_float("c0", 0, 1) - 0.7) ** 2


def study(objective: Callable, sampler: BaseSampler, n_trials: int) -> tuple[float, float]:
    """Seconds in the sampler, and the best value."""
    timed = Timed(sampler)
    own = optuna.create_study(sampler=timed)
    own.optimize(objective, n_trials=n_trials)
    return timed.seconds, own.best_value


def compare(
    name: str, objective: Callable, n_trials: int, repeats: int, promised: float, **peer: Any
) -> list[Row]:
    """One study after the other, ours and Optuna's in turn."""
    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event) if "backend_compile" in event else None
    )

    def ours(seed: int) -> tuple[float, float]:
        return study(objective, px.adapters.optuna.TPESampler(seed=seed), n_trials)

    def theirs(seed: int) -> tuple[float, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return study(objective, optuna.samplers.TPESampler(seed=seed, **peer), n_trials)

    first = timing.once(lambda: ours(0))
    n_compiled = len(compiled)
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    for seed in range(repeats):
        found["ours"].append(ours(seed))
        found["theirs"].append(theirs(seed))
    seconds = {k: statistics.median(s for s, _ in v) for k, v in found.items()}
    best = {k: statistics.median(b for _, b in v) for k, v in found.items()}
    found_best = f"best {best['ours']:.2g}, Optuna's {best['theirs']:.2g}"
    work = f"{n_trials} trials, {name}; {found_best}; {n_compiled} compiled"
    beyond = max(0, n_compiled - 2)
    return [Row(work, 32, "Optuna", seconds["ours"], seconds["theirs"], first, beyond, GOAL, promised)]


def jobs(quick: bool) -> Iterator[command.Job]:
    """Every row of the table."""
    if quick:
        yield partial(compare, "6 floats", floats, 400, 3, GOAL, multivariate=True)
        return
    yield partial(compare, "6 floats", floats, 1000, 3, GOAL, multivariate=True)
    yield partial(compare, "6 of every kind", mixed, 1000, 3, PROMISED_OF_EVERY_KIND, multivariate=True)
    yield partial(compare, "5 of 8 values", ordinals, 300, 3, 1.0, multivariate=True)
    yield partial(compare, "conditional", conditional, 1000, 3, GOAL, multivariate=True, group=True)


if __name__ == "__main__":
    sys.exit(command.run(__doc__, jobs, None))
