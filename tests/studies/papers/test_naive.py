"""The naive baselines (Algorithms 2-4 of arXiv 2601.20800) against Optuna's evaluator on plain studies."""

import math
import warnings

import jax
import numpy as np
import optuna
import pytest
from benchmarks.studies.papers.cond_ped_anova import naive
from conftest import OPTUNA
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

import parzax as px

N, LEVELS = 150, (0.1, 0.5)
CHOICES = ("a", "b", "c")
SPACE = px.Space(
    {
        "kind": px.Categorical(list(CHOICES)),
        "x": px.Float(-2, 3, when=px.In("kind", ["a", "b"])),
        "rate": px.Float(1e-4, 1, log=True, when=px.In("kind", ["a"])),
        "width": px.Int(1, 20, when=px.In("kind", ["b", "c"])),
        "mode": px.Categorical(["p", "q", "r"], when=px.In("kind", ["c"])),
    }
)
# What stands where a parameter is inactive (Algorithm 3): the middle, geometric on a log axis, rounded down.
MIDDLE = {"x": 0.5, "rate": 1e-2, "width": 10, "mode": "p"}
PLAIN = {
    "kind": CategoricalDistribution(CHOICES),
    "x": FloatDistribution(-2, 3),
    "rate": FloatDistribution(1e-4, 1, log=True),
    "width": IntDistribution(1, 20),
    "mode": CategoricalDistribution(("p", "q", "r")),
}


def drawn() -> list[dict]:
    """Configurations with their losses, by a random search."""
    rng, found = np.random.default_rng(0), []
    for _ in range(N):
        row: dict = {"kind": CHOICES[rng.integers(3)]}
        x, rate, width, mode = (
            rng.uniform(-2, 3), 10 ** rng.uniform(-4, 0), int(rng.integers(1, 21)), "pqr"[rng.integers(3)],
        )  # fmt: skip
        row |= {"x": x} if row["kind"] in "ab" else {}
        row |= {"rate": rate} if row["kind"] == "a" else {}
        row |= {"width": width} if row["kind"] in "bc" else {}
        row |= {"mode": mode} if row["kind"] == "c" else {}
        loss = row.get("x", 1.0) ** 2 + abs(math.log10(row.get("rate", 1e-3)) + 2) + row.get("width", 5) / 10
        found.append(row | {"loss": loss + (row.get("mode") == "q") + 0.1 * rng.normal()})
    return found


def observations(rows: list[dict]) -> px.Observations:
    def code(name: str, value) -> float:
        if value is None:
            return np.nan
        own = SPACE[name][0]
        return own.choices.index(value) if isinstance(own, px.Categorical) else value

    values = [[code(name, row.get(name)) for name in SPACE.names] for row in rows]
    return px.Observations.from_arrays(
        SPACE, np.array(values, float), np.array([row["loss"] for row in rows])
    )


def optunas(rows: list[dict], distributions: dict, level: float) -> dict[str, float]:
    """Raw importances of rows that have every parameter."""
    study = optuna.create_study()
    for row in rows:
        params = {name: row[name] for name in distributions}
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=distributions, value=row["loss"])
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return optuna.importance.PedAnovaImportanceEvaluator(target_quantile=level).evaluate(study)


def ours(obs: px.Observations) -> px.ImportanceResult:
    with jax.enable_x64(True):
        return px.cond_ped_anova(obs, LEVELS, **OPTUNA, reference="region", n_resamples=0)


def assert_equal(result: px.ImportanceResult, rows: list[dict], distributions: dict) -> None:
    for q, level in enumerate(LEVELS):
        expected = optunas(rows, distributions, level)
        assert set(expected) == set(result.names)
        np.testing.assert_allclose(
            result.variance[q], [expected[name] for name in result.names], rtol=1e-10, atol=0
        )


@pytest.fixture(autouse=True)
def _silent():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.parametrize("name", ["x", *(pytest.param(n, marks=pytest.mark.slow) for n in SPACE.names[2:])])
def test_filtering(name):
    """Algorithm 2; catches levels among all rows, and rows in which the parameter is inactive."""
    rows = drawn()
    kept = [row for row in rows if name in row]
    assert 0 < len(kept) < len(rows)
    assert_equal(ours(naive.filtering(observations(rows), name)), kept, {name: PLAIN[name]})


def test_imputation():
    """Algorithm 3; catches another middle: arithmetic on a log axis, rounded up, the last choice."""
    rows = drawn()
    assert_equal(ours(naive.imputation(observations(rows))), [MIDDLE | row for row in rows], PLAIN)


def test_expansion():
    """Algorithm 4; catches places relative to each domain, and a union that is too small.

    The unions have as many values as the parameters above, so that one program serves both.
    """
    rng = np.random.default_rng(1)
    first, second = px.In("c", ["l"]), px.In("c", ["r", "s"])
    space = px.Space(
        {
            "c": px.Categorical(["l", "r", "s"]),
            "x": [px.Float(-7, -2, when=first), px.Float(1, 4, when=second)],
            "rate": [px.Float(1e-4, 1e-2, log=True, when=first), px.Float(1e-3, 1, log=True, when=second)],
            "k": [px.Int(1, 8, when=first), px.Int(4, 20, when=second)],
            "m": [px.Categorical(["u", "v"], when=first), px.Categorical(["v", "w"], when=second)],
        }
    )
    c = rng.integers(0, 3, N)
    right = np.minimum(c, 1)
    x = np.where(right, rng.uniform(1, 4, N), rng.uniform(-7, -2, N))
    rate = 10 ** np.where(right, rng.uniform(-3, 0, N), rng.uniform(-4, -2, N))
    k = np.where(right, rng.integers(4, 21, N), rng.integers(1, 9, N))
    m = rng.integers(0, 2, N)
    loss = np.abs(x + 1) + np.abs(np.log10(rate) + 2) + 0.1 * k + m + 0.1 * rng.normal(size=N)
    obs = px.Observations.from_arrays(space, np.stack([c, x, rate, k, m], axis=1).astype(float), loss)
    rows = [
        {
            "c": "lrs"[c[i]],
            "x": x[i],
            "rate": rate[i],
            "k": int(k[i]),
            "m": "uvw"[m[i] + right[i]],
            "loss": loss[i],
        }
        for i in range(N)
    ]
    union = {
        "c": CategoricalDistribution(("l", "r", "s")),
        "x": FloatDistribution(-7, 4),
        "rate": FloatDistribution(1e-4, 1, log=True),
        "k": IntDistribution(1, 20),
        "m": CategoricalDistribution(("u", "v", "w")),
    }
    assert_equal(ours(naive.expansion(obs)), rows, union)


def test_what_has_several_domains_is_expanded_first():
    """Catches a middle of the first domain for all."""
    space = px.Space({"c": px.Float(0, 1), "x": [px.Float(0, 1, when=px.Between("c", high=0.5)),
                                                 px.Float(2, 3, when=px.Between("c", low=0.5))]})  # fmt: skip
    obs = px.Observations.from_arrays(space, np.array([[0.2, 0.5], [0.7, 2.5]]), np.arange(2.0))
    with pytest.raises(ValueError, match="expand the log first"):
        naive.imputation(obs)
    with pytest.raises(ValueError, match="expand the log first"):
        naive.filtering(obs, "x")
    assert naive.filtering(naive.expansion(obs), "x").space["x"][0].high == 3
