"""`benchmarks.studies.adaptive_logs`: what it says of made-up readings, and its problems."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.studies import adaptive_logs, adaptive_problems, adaptive_readings
from benchmarks.studies.adaptive_logs import NOISE
from benchmarks.studies.adaptive_problems import PROBLEMS, RANDOM, Truth


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_last_parameter_does_nothing(name):
    """And of noise none does anything; of the others all active ones but the last do."""
    problem, key = PROBLEMS[name], jax.random.key(0)
    x = problem.space.sample(key, 40)
    losses = jax.vmap(problem, in_axes=(None, 0))(key, x)[0][:, 0]
    changed = []
    for j in range(x.shape[1]):
        active = ~jnp.isnan(x[:, j])
        moved = x.at[:, j].set(jnp.where(active, jnp.roll(x[:, j], 1), jnp.nan))
        # Rows whose gate has moved would need other children.
        same = jnp.nan_to_num(jax.vmap(problem, in_axes=(None, 0))(key, moved)[0][:, 0]) == losses
        changed.append(bool((~same & active).any()))
    assert changed == [name != NOISE] * (x.shape[1] - 1) + [False]


def test_true_shares_and_worth():
    """Of the sum of squares the worths are those of each term."""
    true = adaptive_problems.truth("quadratic", (0.1,), 1 << 12)
    places = (np.arange(16) + 0.5) / 16
    weights, centers = [4.0, 2, 1, 0.5], [0.3, 0.6, 0.5, 0.2]
    terms = np.array([w * (places - c) ** 2 for w, c in zip(weights, centers, strict=True)])
    worth = [*(terms.mean(axis=1) - terms.min(axis=1)), 0]
    np.testing.assert_allclose(true.worth, worth, atol=1e-5)
    np.testing.assert_allclose(true.target_worth, worth, atol=1e-5)
    assert true.shares.shape == (1, 5)
    assert true.shares[0, 0] > true.shares[0, 1] > 0.1 > true.shares[0, 4]


def test_random_search_is_read_rightly():
    """Two logs of 40 rows: everything has its shape, and the surrogate knows the function."""
    parts = adaptive_readings.reading(RANDOM, "quadratic", 2, 40, (40, 100))
    assert not any(name.startswith("100/") for name in parts)
    shapes = {name.removeprefix("40/"): array.shape for name, array in parts.items()}
    assert shapes["x"] == (2, 40, 5)
    assert shapes["rows"] == shapes["above"] == (2, 2, 5)
    assert shapes["draws"] == (2, 24, 2, 5)
    assert shapes["worth"] == shapes["target_worth"] == (2, 24, 5)
    assert shapes["f-ANOVA"] == shapes["MDI"] == shapes["PED-ANOVA"] == (2, 5)
    assert (parts["40/quality"] > 0.9).all()
    assert not parts["40/shown"].any()
    np.testing.assert_allclose(parts["40/f-ANOVA"].sum(axis=1), 1, rtol=1e-4)


def test_tables(monkeypatch):
    """Levels side by side, means over logs and problems, and blank cells beyond a search's trials."""
    shares = np.array([[0.5, 0.3, 0.1, 0.1, 0.0]] * 2)
    true = Truth(shares, np.array([4.0, 2, 1, 1, 0]), np.array([4.0, 2, 1, 1, 0]))
    monkeypatch.setattr(adaptive_logs, "truth", lambda *_: true)
    away = np.array([-0.2, 0.2, 0, 0, 0])
    rows = np.stack([shares + away, shares + 2 * away])
    draws = np.stack([shares + away / 4 + step for step in np.linspace(-0.03, 0.03, 24)])
    part = {
        "rows": rows,
        "above": np.array([[[0, 0, 0, 0, 1.0]] * 2, [[0.0] * 5] * 2]),
        "shown": np.array([1.0, 0]),
        "draws": np.stack([draws, draws]),
        "quality": np.array([0.8, 0.9]),
        "worth": np.stack([true.worth + np.linspace(-1, 1, 24)[:, None]] * 2),
        "target_worth": np.stack([true.worth + np.linspace(1, 2, 24)[:, None]] * 2),
        **dict.fromkeys(adaptive_readings.PEER_EVALUATORS, rows[:, 0]),
    }
    found = {
        f"{searcher}/{problem}": {"x": np.zeros((2, n, 5)), "loss": np.zeros((2, n))}
        | {f"{size}/{name}": array for size in (40, 100) if size <= n for name, array in part.items()}
        for searcher, n in {RANDOM: 100, "Optuna GP": 40}.items()
        for problem in ("quadratic", "gated", NOISE)
    }
    page = adaptive_logs.written(found)
    text = "\n".join(page.blocks)
    assert (page.shape, page.failed) == ((2, 100), [])
    for line in (
        "| gated | random search | rows | 0.30 / 0.30 | 0.30 / 0.30 |",
        "| gated | Optuna GP | surrogate | 0.05 / 0.05 |  |",
        "| gated | Optuna GP | random rows | 0.30 / 0.30 | 0.30 / 0.30 |",
        "| Optuna GP | 0.17 / 0.17 |  |",
        "| shares | gated | Optuna GP | 60 % / 60 % |  |",
        "| worth | gated | random search | 100 % | 100 % |",
        "| worth among the best | gated | random search | 0 % | 0 % |",
        "| effects | random search | rows | 50 % / 50 % | 50 % / 50 % |",
        "| effects | random search | surrogate | 0 % / 0 % | 0 % / 0 % |",
        "| noise | random search | surrogate | 100 % / 100 % | 100 % / 100 % |",
        "| noise | Optuna GP | learned | 50 % |  |",
        "| gated | Optuna GP | quality | 0.85 |  |",
        "| gated | Optuna GP | MDI | 0.30 |  |",
        "Optuna GP 2 of 40 trials.",
    ):
        assert line in text, line
    assert "px.tpe, px.optuna_tpe, Optuna TPE, Optuna CMA-ES, Hyperopt." in text
