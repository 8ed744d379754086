"""Whether a log shows that its search learned, and what results then say."""

import numpy as np
import pytest

import parzax as px
from parzax.lens.results.order import shows_learning

SPACE = px.Space(
    {
        "gate": px.Categorical(["a", "b"]),
        "inside": px.Float(0, 1, when=px.In("gate", ["a"])),
        "layers": px.Int(1, 4),
        "rate": px.Float(1e-4, 1, log=True),
        "idle": px.Float(0, 1),
    }
)


def uniform(rng, n):
    gate = rng.integers(0, 2, n)
    inside = np.where(gate == 0, rng.uniform(size=n), np.nan)
    columns = gate, inside, rng.integers(1, 5, n), 10 ** rng.uniform(-4, 0, n), rng.uniform(size=n)
    return np.stack(columns, axis=-1)


def loss_of(x):
    return np.nan_to_num((x[:, 1] - 0.4) ** 2, nan=0.3) + 0.1 * x[:, 2] + (np.log10(x[:, 3]) + 2) ** 2


def learned(rng, n):
    """Ten random rows; then two of five parameters change in one of the five best rows so far."""
    x = uniform(rng, n)
    for t in range(10, n):
        parent = x[rng.choice(np.argsort(loss_of(x[:t]), kind="stable")[:5])]
        fresh = np.isin(np.arange(5), rng.choice([0, 2, 3, 4], 2, replace=False))
        x[t] = np.where(fresh, x[t], parent)
        x[t, 1] = np.nan if x[t, 0] else x[t, 1] if np.isfinite(x[t, 1]) else rng.uniform()
    return x


def log(x, loss):
    return px.Observations.from_arrays(SPACE, x, loss)


def shows(x, loss):
    return shows_learning(log(x, loss), np.atleast_2d(loss))


@pytest.mark.parametrize("n", [20, 100])
@pytest.mark.parametrize("kind", ["effects", "drift", "epochs", "halving"])
def test_random_search_raises_no_alarm(kind, n):
    """The rate of false alarms is 0.5 %: also of losses that drift, with a row for each of ten epochs, and
    where the best rows are repeated at the end."""
    rng, alarms = np.random.default_rng(n), 0
    for _ in range(200):
        x = uniform(rng, n)
        if kind == "epochs":
            x = np.repeat(x[: max(n // 10, 20)], 10, axis=0)
        if kind == "halving":
            x = np.concatenate([x, *(x[np.argsort(loss_of(x))[: n // k]] for k in (3, 9))])
        drift = np.linspace(0, -4, len(x)) if kind == "drift" else 0
        alarms += shows(x, loss_of(x) + drift + 0.1 * rng.normal(size=len(x)))
    assert alarms <= 5  # more than 5 of 200 have a probability of 0.06 % at 0.5 %


@pytest.mark.parametrize(("n", "least"), [(50, 12), (100, 15), (300, 15)])
def test_a_search_that_learns_is_seen(n, least):
    """Of 20 logs; and no log without its order: reversed, it lies ever further from the best rows."""
    rng = np.random.default_rng(n)
    logs = [learned(rng, n) for _ in range(20)]
    assert sum(shows(x, loss_of(x)) for x in logs) >= least
    assert not any(shows(x[::-1], loss_of(x[::-1])) for x in logs)


@pytest.mark.parametrize("order", ["best first", "worst first", "by a parameter", "few rows", "all alike"])
def test_order_that_says_nothing(order):
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = learned(rng, 19 if order == "few rows" else 100)
        keys = {"best first": loss_of(x), "worst first": -loss_of(x), "by a parameter": x[:, 3]}
        x = x[np.argsort(keys.get(order, np.zeros(len(x))), kind="stable")]
        assert not shows(x, 0 * x[:, 0] if order == "all alike" else loss_of(x)) or order == "all alike"


def test_grid_raises_no_alarm():
    """Nested loops are sorted by the outermost parameter."""
    axes = np.meshgrid(*[np.linspace(0, 1, 5)] * 3, indexing="ij")
    x = np.stack(axes, axis=-1).reshape(-1, 3)
    space = px.Space({name: px.Float(0, 1) for name in "abc"})
    for best in np.random.default_rng(0).uniform(size=(20, 3)):
        loss = ((x - best) ** 2).sum(axis=1)
        assert not shows_learning(px.Observations.from_arrays(space, x, loss), loss[None])


def test_rows_that_do_not_count_and_several_seeds():
    """Rows of weight 0 or without a loss are left out; of several seeds the sum counts."""
    rng = np.random.default_rng(2)
    x = learned(rng, 100)
    early = np.arange(100) < 10
    obs = log(x, loss_of(x))
    assert shows_learning(obs, loss_of(x)[None])
    assert not shows_learning(obs.select(early), loss_of(x)[None])
    assert not shows_learning(obs, np.where(early, loss_of(x), np.nan)[None])
    seeds = np.stack([learned(rng, 30) for _ in range(30)])
    losses = np.array([loss_of(own) for own in seeds])
    assert shows_learning(log(seeds, losses), losses)
