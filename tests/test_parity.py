"""Pearson's divergence on Optuna's grid against Optuna 5's own numbers, record by record.

Catches any departure from the references' estimator: level counts, ties, grid rounding, bandwidth,
quartiles, prior, floor, regimes left out, the factor in front of each divergence, the ablations.
"""

from dataclasses import replace

import jax
import numpy as np
import pytest
from conftest import OPTUNA, QUICK, TWENTIETHS, observations
from reference import logs

import parzax as px

pytestmark = pytest.mark.data

# Nearly all of it is compilation, for 40 parameters 10 to 20 seconds: some synthetic logs, a real one without
# conditions and one made here, which has all kinds of parameters, are fast.
_SLOW = ("rbv2_super2021", "cash2", "xgboost", "n100000", "three-way", "nested")
_FAST32 = ("synthetic/activation-disjoint",)


def _cases():
    for name in logs.names():
        for bits in (64, 32):
            fast = name in _FAST32 if bits == 32 else not any(part in name for part in _SLOW)
            yield pytest.param(name, bits, id=f"{name}-{bits}", marks=[] if fast else [pytest.mark.slow])


# Optuna's numbers are sums of about 50 terms in float64, and D is a difference of densities: relative
# 1e-10 leaves four digits for cancellation. In float32 the bound is on the shares, which are at most 1.
RTOL64, ATOL32 = 1e-10, 1e-4


def _levels(records: list[dict], region: float) -> tuple[list[float], list[dict]]:
    own = [r for r in records if r["gamma_region"] == region]
    levels = [r["gamma_target"] for r in own]
    widest = max(sum(r["gamma_region"] == g for r in records) for g in {r["gamma_region"] for r in records})
    # Filled up with other levels to the same number, so that every region shares a compiled function.
    filler = [x for x in region * (TWENTIETHS - 0.0123) if x > 0][: widest - len(levels)]
    return levels + filler, own


@pytest.mark.parametrize(("name", "bits"), list(_cases()))
def test_every_record(name, bits):
    log, obs = logs.load(name), observations(name)
    worst = dict.fromkeys(("raw", "standard", "unweighted", "normalized", "divergence"), 0.0)
    n_records = 0
    for region in sorted({r["gamma_region"] for r in log.runs[0]}):
        with jax.enable_x64(bits == 64):
            levels, _ = _levels(log.runs[0], region)
            result = px.cond_ped_anova(obs, levels, region=region, **OPTUNA, n_resamples=0)
        assert result.variance.dtype == (np.float64 if bits == 64 else np.float32)
        assert list(result.names) == [p["name"] for p in log.space["parameters"]]
        for seed, run in enumerate(log.runs):
            for index, record in enumerate(_levels(run, region)[1]):
                n_records += 1
                at = (seed, index)
                assert result.n_target[at] == record["n_target"]
                assert result.n_region[seed] == record["n_region"]
                _regimes(result, at, record, worst, bits)
                for key, mine, theirs in (
                    ("raw", result.variance, "raw"),
                    ("standard", result.standard, "standard_variance_raw"),
                    ("unweighted", result.unweighted, "unweighted_raw"),
                    ("normalized", result.importance, "normalized"),
                ):
                    worst[key] = max(worst[key], _error(mine[at], np.array(record[theirs]), bits))
    assert n_records == sum(len(run) for run in log.runs)
    print(f"\n{name} float{bits}, {n_records} records, worst:", {k: f"{v:.1e}" for k, v in worst.items()})
    if bits == 64:
        assert max(worst.values()) <= RTOL64
    else:
        assert worst["normalized"] <= ATOL32


def _error(mine: np.ndarray, theirs: np.ndarray, bits: int) -> float:
    if bits == 64:
        np.testing.assert_array_equal(mine == 0, theirs == 0)
        return float((np.abs(mine - theirs) / np.where(theirs == 0, 1, np.abs(theirs))).max())
    # Underflow aside, what is exactly zero stays so in float32.
    assert (mine[theirs == 0] == 0).all()
    return float(np.abs(mine - theirs).max())


def _regimes(result, at, record, worst, bits):
    for j, name in enumerate(result.names):
        theirs = np.array(record["regimes"][name])
        own = [*range(len(theirs) - 1), -1]
        n_target = result.alpha[(*at, j)] * record["n_target"]
        n_region = result.beta[(*at, j)] * record["n_region"]
        # Shares times totals are whole numbers up to rounding.
        np.testing.assert_array_equal(np.round(n_target[own]), theirs[:, 0])
        np.testing.assert_array_equal(np.round(n_region[own]), theirs[:, 1])
        np.testing.assert_allclose(n_target, np.round(n_target), atol=1e-6)
        # "A regime with fewer than 2 trials is ignored": the record keeps its divergence out too.
        worst["divergence"] = max(
            worst["divergence"], _error(result.divergence[(*at, j)][own], theirs[:, 2], bits)
        )


@pytest.mark.slow
def test_global_importance_agrees_with_optuna(double):
    """reference="uniform" is Optuna's evaluate_on_local=False: catches the 1e-12 on the wrong density."""
    import optuna

    log, obs = logs.load("generated/mixed"), observations("generated/mixed")
    levels = sorted({t for t, g in logs.LEVELS if g == 1.0})
    result = px.cond_ped_anova(obs, levels, **OPTUNA, reference="uniform", n_resamples=0)
    study = logs.optuna_study(0, obs.n)
    for index, level in enumerate(levels):
        evaluator = optuna.importance.PedAnovaImportanceEvaluator(
            target_quantile=level, evaluate_on_local=False
        )
        theirs = evaluator.evaluate(study)
        expected = np.array([theirs[p["name"]] for p in log.space["parameters"]])
        np.testing.assert_allclose(result.variance[0, index], expected, rtol=RTOL64, atol=1e-300)


@pytest.mark.parametrize("level", [0.07, 0.1 + 0.2, 0.15000000000000002, 0.29])
def test_level_counts_follow_the_raw_product(level):
    """Optuna takes ceil of the float product, the default that of the decimal, the paper floor."""
    space = px.Space({"x": px.Float(0, 1), "z": px.Float(0, 1)})
    values = np.random.default_rng(0).uniform(size=(100, 2))
    obs = px.Observations.from_arrays(space, values, np.arange(100.0))
    sizes = {"optuna": np.ceil(level * 100), "ceil": round(level * 100), "floor": round(level * 100)}
    for rule, size in sizes.items():
        grid = px.Grid(4, level_size=rule)
        result = px.cond_ped_anova(obs, level, **QUICK | {"grid": grid}, n_resamples=0)
        assert result.n_target[0] == size


def test_levels_by_the_text():
    """floor(0.1 x 25) = 2 rows, where ceil gives 3: another importance (arXiv 2601.20800, Section 3)."""
    values = np.random.default_rng(0).random((25, 2))
    space = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})
    obs = px.Observations.from_arrays(space, values, values[:, 0])
    how = {"divergence": px.divergence.Pearson(), "n_resamples": 0}
    by_text, by_optuna = (replace(grid, max_cells=12) for grid in (px.Grid.paper(), px.Grid.optuna()))
    result = px.cond_ped_anova(obs, 0.1, grid=by_text, **how)
    assert result.n_target[0] == 2
    two_best = px.cond_ped_anova(obs, 0.08, grid=by_optuna, **how)
    np.testing.assert_array_equal(result.importance, two_best.importance)
