"""`parzax.optuna_tpe` has the scores of Optuna's own estimators, in float64."""

import jax
import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import TPESampler
from optuna.samplers._tpe.sampler import _split_trials, default_gamma, default_gamma_multiobjective

import parzax as px

SPACE = px.Space(
    {
        "x": px.Float(0, 1),
        "rate": px.Float(1e-4, 1, log=True),
        "k": px.Int(0, 9999),
        "kind": px.Categorical(["a", "b", "c"]),
    }
)
THEIRS = {
    "x": FloatDistribution(0, 1),
    "rate": FloatDistribution(1e-4, 1, log=True),
    "k": IntDistribution(0, 9999),
    "kind": CategoricalDistribution(["a", "b", "c"]),
}


def rows(n: int, seed: int) -> np.ndarray:
    """Rows without equal numbers, whose order Optuna's sort would not keep."""
    rng = np.random.default_rng(seed)
    rate = 10 ** rng.uniform(-4, 0, n)
    return np.stack([rng.uniform(size=n), rate, rng.permutation(10_000)[:n], rng.integers(0, 3, n)], axis=1)


def their_scores(x: np.ndarray, losses: np.ndarray, at: np.ndarray) -> np.ndarray:
    m = losses.shape[1]
    sampler = TPESampler(multivariate=True, seed=0)
    study = optuna.create_study(directions=["minimize"] * m, sampler=sampler)
    for row, values in zip(x, losses, strict=True):
        params = {"x": row[0], "rate": row[1], "k": int(row[2]), "kind": "abc"[int(row[3])]}
        trial = optuna.trial.create_trial(params=params, distributions=THEIRS, values=values.tolist())
        study.add_trial(trial)
    trials = study.get_trials(deepcopy=False)
    gamma = default_gamma if m == 1 else default_gamma_multiobjective
    below, above = _split_trials(study, trials, gamma(len(trials)))
    samples = dict(zip(THEIRS, at.T, strict=True))
    estimators = (
        sampler._build_parzen_estimator(study, THEIRS, group, handle_below=i == 0)
        for i, group in enumerate((below, above))
    )
    return sampler._compute_acquisition_func(samples, *estimators)


CASES = [(n, m) for m in (1, 2) for n in (5, 12, 30, 60, 120, 240, 260, 500) if m == 1 or n <= 250]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize(("n", "m"), [*CASES])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.some(4)
def test_scores_are_optunas(n, m, ties, record_property):
    """Ages beyond 25 rows, the cap of 25 rows below, ties of losses, fronts cut by hypervolume."""
    x, at = rows(n, n), rows(40, 1)
    losses = np.stack([np.abs(x[:, 0] - 0.3), np.abs(x[:, 0] - 0.6) + x[:, 3] / 9][:m], axis=1)
    losses = np.round(losses, 1) if ties else losses
    if ties and m == 2:
        losses += np.random.default_rng(0).normal(size=losses.shape) * 1e-3
    wanted = their_scores(x, losses, at)
    with jax.enable_x64(True):
        sampler = px.optuna_tpe(SPACE, m)
        found = np.asarray(sampler.score_of(sampler.tell(sampler.init(), x, losses), at))
    record_property("tried", f"Optuna's scores: {np.abs(found - wanted).max():.1e}")
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
