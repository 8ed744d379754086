"""Peers, folds and page of `benchmarks.studies.densities`."""

from itertools import product

import jax
import numpy as np
import pytest
from benchmarks.studies import densities, density_peers
from benchmarks.studies.density_data import TABLES, Column, Sample

import parzax as px

SPACE = px.Space(
    {
        "x": px.Float(0.1, 10, log=True),
        "k": px.Int(2, 5),
        "o": px.Ordinal([1, 3, 4]),
        "c": px.Categorical(["a", "b", "c"]),
    }
)
NAMES = {**density_peers.CONTINUOUS, **densities.ONE_NUMBER, **density_peers.MIXED}
PACKAGES = {
    "scikit-learn, cross-validated": "sklearn",
    "statsmodels, normal reference": "statsmodels",
    "KDEpy, ISJ": "KDEpy",
    "KDEpy, Silverman": "KDEpy",
    "fastKDE": "fastkde",
}
# statsmodels announces another generator, which nothing here draws from.
pytestmark = pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")


@pytest.fixture(scope="module")
def rows():
    with jax.enable_x64(True):
        prior = px.ParzenEstimator.fit(SPACE, np.array([[1.0, 3, 1, 0], [0.2, 5, 4, 2]]), prior_weight=0.1)
        return np.asarray(prior.sample(jax.random.key(0), (60,)), float)


@pytest.mark.parametrize("name", NAMES)
def test_peers_are_densities_between_the_bounds(name, rows):
    # Catches a mass that is not divided by, a missing derivative of a log axis, kernels that do not sum to 1.
    pytest.importorskip(PACKAGES.get(name, "scipy"))
    is_mixed = name in density_peers.MIXED
    space, x = (SPACE, rows) if is_mixed else (px.Space({"x": SPACE["x"][0]}), rows[:, :1])
    log_prob = NAMES[name](space, x)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    half = np.log(100) / 2
    numbers = np.exp(np.log(0.1) + half * (nodes + 1))
    others = list(product([2, 3, 4, 5], [1, 3, 4], [0, 1, 2])) if is_mixed else [()]
    at = np.array([[number, *other] for other in others for number in numbers], float)
    total = (np.exp(log_prob(at)).reshape(len(others), -1) * numbers * weights * half).sum()
    # Draws and grids are those of SciPy and fastKDE.
    assert abs(total - 1) < (0.01 if name in ("SciPy, Scott", "fastKDE") else 1e-6)


def test_the_cross_validated_objective_is_that_of_statsmodels(rows):
    # Catches other kernels than those that the page names.
    api = pytest.importorskip("statsmodels.nonparametric.api")
    z = density_peers.axes(SPACE, rows)
    kinds = np.array([0.0, 4.0, 3.0, 3.0]), np.array([False, False, False, True])
    parameters = np.array([-1.0, 0.3, -0.5, -2.0])
    with jax.enable_x64(True):
        bandwidth = np.asarray(density_peers.bandwidths(kinds, parameters))
        ours = float(density_peers.left_out(kinds, parameters, z))
    theirs = api.KDEMultivariate(z, "coou", bw=bandwidth).loo_likelihood(bandwidth, np.log) / len(z)
    # statsmodels leaves out the division by the number of other rows.
    assert abs(ours - (theirs + np.log(len(z) - 1))) < 1e-10


def test_a_row_is_predicted_without_itself(monkeypatch):
    # Catches folds that overlap with what is fitted, and rows that no fold has.
    x = np.arange(20.0)[:, None]
    monkeypatch.setattr(densities, "load", lambda name: Sample(px.Space({"x": px.Float(0, 20)}), x))

    def fit(space, train):
        return lambda at: np.where(np.isin(at[:, 0], train[:, 0]), np.nan, at[:, 0])

    monkeypatch.setattr(densities, "methods", lambda sample: {"m": fit})
    np.testing.assert_array_equal(densities.predicted("t", 3, 20)["m"], np.tile(x[:, 0], (3, 1)))


def test_page():
    """Catches differences from another method than the best peer, and a claim that does not fail."""
    rng = np.random.default_rng(0)

    def found(advantage: float) -> dict[str, dict[str, np.ndarray]]:
        base = {
            "statsmodels, cv_ml": 0.0,
            "Optuna": -1.0,
            densities.DEFAULT: -0.5,
            densities.ADVISED: advantage,
        }
        common = rng.normal(size=(1, 100))
        arrays = {
            name: common + base.get(name, -2.0) + 0.1 * rng.normal(size=(2, 100))
            for name in (*densities.OURS, "statsmodels, cv_ml", "Optuna")
        }
        return {f"tables/{name}": arrays for name in TABLES} | {"columns/wine-alcohol": arrays}

    page = densities.written(found(0.3))
    assert not page.failed
    text = "\n".join(page.blocks)
    assert f"| {densities.ADVISED} | 10 of 10 |" in text
    assert f"| {densities.DEFAULT} | 0 of 10 |" in text
    assert text.count("**best peer**") == 10
    assert f"| {densities.ADVISED} | **+0.29 ± 0.0" in text
    assert densities.written(found(-0.3)).failed


def test_columns_are_spread_over_their_step_within_what_they_can_be():
    # Catches values below 0 of a column that has none.
    values = np.repeat([0.0, 1.0], 500)
    column = Column("x", step=1.0)
    spread = column.spread(np.random.default_rng(0), values)
    assert (spread >= 0).all()
    assert (np.abs(spread - values) <= 0.5).all()
    assert np.ptp(spread[500:]) > 0.9
    assert column.domain(spread) == px.Float(0.0, float(spread.max() + 0.5 * np.ptp(spread)))
