"""Results to draw, and a check that no test leaves figures or settings behind.

Compilation is most of the time of these tests. A program depends on the number of seeds, the padded number of
rows, the kinds of parameters and the number of levels, so tests share results, or at least these numbers, and
grids are coarse, with two partitions of their cells.
"""

import functools
from dataclasses import replace

import matplotlib

matplotlib.use("Agg")

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import COARSE

import parzax as px

LEVELS = np.array([0.1, 0.3, 0.5, 0.7])
MIXED_LEVELS = [0.1, 0.3, 0.6]
NOISE_LEVELS = np.arange(1, 20) / 20
ESTIMATOR = {"grid": COARSE, "divergence": px.divergence.Explained((4,), ())}
analyse = functools.partial(px.cond_ped_anova, n_resamples=0, **ESTIMATOR)


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
    return analyse(activation(4), LEVELS)


@pytest.fixture(scope="session")
def single() -> px.ImportanceResult:
    """No seed axis, levels in falling order."""
    return analyse(activation(None), LEVELS[::-1])


@pytest.fixture(scope="session")
def one_level() -> px.ImportanceResult:
    """No seed axis and one level."""
    return analyse(activation(None), 0.3)


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
    return analyse(mixed_observations(), MIXED_LEVELS)


@pytest.fixture(scope="session")
def zero() -> px.ImportanceResult:
    """All losses equal: every importance is 0."""
    return analyse(mixed_observations(equal=True), MIXED_LEVELS)


@functools.cache
def uniform(n_parameters: int = 1, noise: bool = False) -> px.ImportanceResult:
    """19 levels of uniform parameters; the loss is the first of them, or independent noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, n_parameters))
    space = px.Space({f"p{i}": px.Float(0, 1) for i in range(n_parameters)})
    losses = rng.uniform(size=200) if noise else x[:, 0]
    return analyse(px.Observations.from_arrays(space, x, losses), NOISE_LEVELS)


@functools.cache
def sampled() -> px.ImportanceResult:
    """An uncertainty from one log; of the parameters one matters, one is noise and one is constant."""
    rng = np.random.default_rng(0)
    space = px.Space({name: px.Float(0, 1) for name in ("x", "noise", "nothing")})
    values = rng.uniform(size=(150, 3))
    values[:, 2] = 0.5
    obs = px.Observations.from_arrays(space, values, (values[:, 0] - 0.3) ** 2)
    return analyse(obs, [0.1, 0.3, 0.5], n_resamples=99, key=jax.random.key(0))
