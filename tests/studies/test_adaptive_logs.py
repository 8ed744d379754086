"""`benchmarks.studies.adaptive_logs`: what it says of made-up readings, and its problems."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.studies import adaptive_logs, adaptive_problems
from benchmarks.studies.adaptive_logs import NOISE, Reading
from benchmarks.studies.adaptive_problems import PROBLEMS, RANDOM


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_last_parameter_does_nothing(name):
    """And of noise none does anything; of the others all but the last do."""
    x, key = jnp.array([0.0, 0.4, 0.3, 0.9, 0.5]), jax.random.key(0)
    losses = [float(PROBLEMS[name](key, x.at[j].set(1.0))[0][0]) for j in range(5)]
    changed = [loss != float(PROBLEMS[name](key, x)[0][0]) for loss in losses]
    # The second parameter of the gated problem is behind the other choice.
    active = {NOISE: [False] * 4, "gated": [True, True, False, True]}.get(name, [True] * 4)
    assert changed == [*active, False]


def test_random_search_is_read_rightly(monkeypatch):
    """Four logs of 100 rows: shares near the truth, nothing for the idle parameter, no sign of learning."""
    truth = partial(adaptive_problems.true_shares, n=1 << 12)
    monkeypatch.setattr(adaptive_logs, "true_shares", truth)
    reading = adaptive_logs.read("quadratic", adaptive_problems.search(RANDOM, "quadratic", 4, 100), 100)
    assert (reading.error < 0.25).all()
    assert (reading.idle < 0.1).all()
    assert not reading.shown.any()


def test_tables(monkeypatch):
    """Levels side by side, means over problems, noise by itself, and blank cells beyond a search's trials."""
    shapes = {RANDOM: (24, 300), "Optuna GP": (3, 100)}

    def read(problem, log, n):
        factor = {"quadratic": 1, "gated": 2, "interacting": 3, NOISE: 10}[problem]
        error, idle = np.array([0.1, 0.2]) * factor, np.array([0.01, 0.03]) * factor
        return Reading(error, idle, idle, np.array([n / 300]))

    monkeypatch.setattr(adaptive_logs, "read", read)
    monkeypatch.setattr(adaptive_logs, "true_shares", lambda *_: np.full((2, 5), 0.2))
    found = {
        f"{name}/{p}": {"x": np.zeros((*shape, 5)), "loss": np.zeros(shape)}
        for name, shape in shapes.items()
        for p in PROBLEMS
    }
    page = adaptive_logs.written(found)
    text = "\n".join(page.blocks)
    assert (page.shape, page.failed) == ((24, 300), [])
    for line in (
        "| gated | random search | 0.20 / 0.40 | 0.20 / 0.40 | 0.20 / 0.40 |",
        "| gated | Optuna GP | 0.20 / 0.40 | 0.20 / 0.40 |  |",
        "| random search | 0.02 / 0.06 | 0.02 / 0.06 | 0.02 / 0.06 |",
        "| random search | 2 % / 6 % | 2 % / 6 % | 2 % / 6 % |",
        "| random search | 10 % / 30 % | 10 % / 30 % | 10 % / 30 % |",
        "| effects | Optuna GP | 17 % | 33 % |  |",
        "Optuna GP 3 of 100 trials.",
        # The words beside the tables are made from the same readings.
        "24 logs has a standard error of 4 %, and on noise its largest value here is\n30 %.",
        "of which 4 % is one log of noise",
    ):
        assert line in text
    assert "px.tpe, px.optuna_tpe, Optuna TPE, independent, Optuna CMA-ES." in text
