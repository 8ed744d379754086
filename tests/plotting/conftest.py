"""Results to draw, and a check that no test leaves figures or settings behind."""

from dataclasses import replace

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import parzax as px

LEVELS = np.array([0.1, 0.3, 0.5, 0.7])


@pytest.fixture(autouse=True)
def _clean():
    """Fails where a picture changes global settings; closes what a test has opened."""
    before = matplotlib.rcParams.copy()
    yield
    plt.close("all")
    assert matplotlib.rcParams.copy() == before


def with_status(result: px.ImportanceResult, status: np.ndarray) -> px.ImportanceResult:
    return replace(result, estimates=replace(result.estimates, status=status))


def activation(n_seeds: int | None, n: int = 200) -> px.Observations:
    shape = (n,) if n_seeds is None else (n_seeds, n)
    rng = np.random.default_rng(1)
    c = rng.uniform(size=shape)
    x = np.where(c < 0.5, rng.uniform(-5, -2, shape), rng.uniform(2, 5, shape))
    space = px.Space(
        {
            "c": px.Float(0, 1),
            "x": (
                px.Float(-5, -2, when=px.Between("c", high=0.5)),
                px.Float(2, 5, when=px.Between("c", low=0.5)),
            ),
        }
    )
    return px.Observations.from_arrays(space, np.stack([c, x], axis=-1), x)


@pytest.fixture(scope="session")
def seeds() -> px.ImportanceResult:
    """Four seeds, four levels, one parameter with two regimes."""
    return px.cond_ped_anova(activation(4), LEVELS)


@pytest.fixture(scope="session")
def single() -> px.ImportanceResult:
    """No seed axis, levels in falling order."""
    return px.cond_ped_anova(activation(None), LEVELS[::-1])


@pytest.fixture(scope="session")
def one_level() -> px.ImportanceResult:
    """No seed axis and one level."""
    return px.cond_ped_anova(activation(None), 0.3)


def mixed_observations(n: int = 60, equal: bool = False) -> px.Observations:
    rng = np.random.default_rng(0)
    space = px.Space(
        {
            "strong": px.Float(0, 1),
            "booster": px.Categorical(["gbtree", "gblinear", "dart"]),
            "eta": px.Float(1e-4, 1, log=True, when=px.In("booster", ["gbtree", "dart"])),
            "units": px.Ordinal([16, 32, 64, 128], log=True),
            "op": px.Categorical([f"${i}$" for i in range(40)]),
            "constant": px.Float(0, 1),
            "fixed": px.Float(3, 3),
            "never": px.Float(0, 1, when=px.Recorded()),
            "moving": px.Varying(0, 1, when=px.Recorded()),
            "rare": px.Float(0, 1, when=px.Recorded()),
            "noise $a$ with a long name": px.Int(1, 9),
        }
    )
    booster = rng.integers(0, 3, n)
    strong = rng.uniform(size=n)
    rare = np.full(n, np.nan)
    rare[0] = 0.5
    columns = [
        strong,
        booster,
        np.where(booster == 1, np.nan, 10 ** rng.uniform(-4, 0, n)),
        np.array([16, 32, 64, 128])[rng.integers(0, 4, n)],
        rng.integers(0, 40, n),
        np.full(n, 0.5),
        np.full(n, 3.0),
        np.full(n, np.nan),
        rng.uniform(size=n),
        rare,
        rng.integers(1, 10, n),
    ]
    loss = np.zeros(n) if equal else strong + 0.1 * booster
    return px.Observations.from_arrays(space, np.stack(columns, axis=-1), loss)


@pytest.fixture(scope="session")
def mixed() -> px.ImportanceResult:
    """Every kind of parameter, and one with every status of a parameter; 0.1 of 60 rows is low data."""
    return px.cond_ped_anova(mixed_observations(), [0.1, 0.3, 0.6])


@pytest.fixture(scope="session")
def zero() -> px.ImportanceResult:
    """All losses equal: every importance is 0."""
    return px.cond_ped_anova(mixed_observations(equal=True), [0.1, 0.3])
