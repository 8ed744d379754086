"""The result object: shapes, order, densities, files."""

import pickle

import numpy as np
import pytest
from conftest import COARSE, QUICK, ZOO_LEVELS, zoo, zoo_observations, zoo_sweep
from reference import grid

import parzax as px

pytestmark = pytest.mark.data


TWELVE = QUICK | {"grid": COARSE}


def analyse(values, losses):
    """The zoo where it does not matter how parameters are compared."""
    return px.cond_ped_anova(zoo_observations(values, losses), ZOO_LEVELS, **QUICK, n_resamples=0)


@pytest.fixture(scope="module")
def result():
    return analyse(*zoo(n_seeds=4))


def test_shapes(result):
    """Every field has the shape that is documented, with and without a seed axis."""
    s, q, d, k = 4, 3, 5, 3
    for field in ("importance", "variance", "inter", "unweighted", "standard", "status"):
        assert getattr(result, field).shape == (s, q, d)
    for field in ("divergence", "alpha", "beta"):
        assert getattr(result, field).shape == (s, q, d, k)
    assert result.n_target.shape == (s, q)
    assert result.n_region.shape == (s,)
    assert result.status.dtype == np.int32
    assert result.n_seeds == 4
    alone = analyse(*zoo())
    assert alone.importance.shape == (q, d)
    assert alone.n_target.shape == (q,)
    assert alone.n_region.shape == ()
    assert alone.n_seeds == 1
    for level in (0.25, [0.25], np.float32(0.25)):  # a level keeps its axis
        assert px.cond_ped_anova(
            zoo_observations(*zoo()), level, **QUICK, n_resamples=0
        ).importance.shape == (1, d)


def test_more_than_one_seed_axis(result):
    """Leading axes (2, 2) are kept."""
    values, losses = zoo(n_seeds=4)
    nested = analyse(values.reshape(2, 2, 60, 5), losses.reshape(2, 2, 60))
    assert nested.importance.shape == (2, 2, 3, 5)
    np.testing.assert_array_equal(nested.importance.reshape(4, 3, 5), result.importance)
    assert nested.n_region.shape == (2, 2)


def test_over_seeds(result):
    """Mean and standard error against NumPy; NaN error for one seed."""
    mean, error = result.mean, result.standard_error
    np.testing.assert_allclose(mean, result.importance.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(error, result.importance.std(axis=0, ddof=1) / np.sqrt(4), rtol=1e-5)
    alone = analyse(*zoo())
    assert np.isnan(alone.standard_error).all()
    assert np.isfinite(alone.mean).all()


@pytest.mark.slow
def test_seeds_without_importance_do_not_count():
    """Catches a seed about which nothing can be said that pulls every mean towards 0, and a hidden count."""
    values, losses = zoo(n_seeds=4)
    losses[1] = 0.0  # all equal
    losses[3] = np.nan  # no usable row
    result = analyse(values, losses)
    good = result.importance[[0, 2]]
    assert good.any(axis=-1).all()
    np.testing.assert_array_equal(result.has_importance, np.array([[1, 0, 1, 0]] * 3, bool).T)
    np.testing.assert_array_equal(result.seeds_counted, [2, 2, 2])
    mean, error = result.mean, result.standard_error
    np.testing.assert_allclose(mean, good.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(mean.sum(axis=-1), 1, rtol=1e-6)
    np.testing.assert_allclose(error, good.std(axis=0, ddof=1) / np.sqrt(2), rtol=1e-5)
    assert mean.dtype == result.importance.dtype
    # One seed left has no error, none left is 0 with its status.
    one = analyse(values[:2], losses[:2])
    np.testing.assert_allclose(one.mean, result.importance[0], rtol=1e-6)
    assert np.isnan(one.standard_error).all()
    none = analyse(values[[1, 3]], losses[[1, 3]])
    assert not none.mean.any()
    assert np.isnan(none.standard_error).all()
    assert (none.status != 0).all()


@pytest.mark.slow
def test_parity_counts_every_seed():
    """Catches Optuna's 1/d, a convention, taken for a seed without importance."""
    values, losses = zoo(n_seeds=2)
    losses[1] = 0.0
    result = zoo_sweep(values, losses, parity=True)
    np.testing.assert_allclose(result.importance[1], 1 / 5, rtol=1e-6)
    np.testing.assert_array_equal(result.seeds_counted, [2, 2, 2])
    np.testing.assert_allclose(result.mean, result.importance.mean(axis=0), rtol=1e-6)


def test_ranking_is_stable():
    """Equal importances keep the order of the space: catches an order that depends on hashing or sorting."""
    values, losses = zoo()
    equal = analyse(values, np.zeros_like(losses))
    assert equal.ranking() == ["c", "kind", "k", "eta", "x"]
    ranked = analyse(values, losses)
    order = ranked.ranking(2)
    shares = [ranked.importance[2, ranked.names.index(name)] for name in order]
    assert shares == sorted(shares, reverse=True)


def test_densities_are_those_of_the_definition():
    """p_T and p_R per regime against the loops; regimes without a row give the prior."""
    result = px.cond_ped_anova(zoo_observations(*zoo()), ZOO_LEVELS, **TWELVE, n_resamples=0)
    start = 0
    for name, sizes, kind in (("c", [12], "numeric"), ("kind", [4], "categorical"), ("k", [12], "numeric")):
        for regime, size in zip(result.density(name), sizes, strict=True):
            assert regime.target.shape == (3, size)
            assert len(regime.values) == size
            region = result.counts[-1, start : start + size]
            for level in range(3):
                target = result.counts[level, start : start + size]
                kernels = grid.kernel_matrix(target, kind, False)
                e = 1 / (region.sum() + 1)
                prior = grid.prior(size, kind)
                # float32 densities of order 0.1.
                np.testing.assert_allclose(
                    regime.target[level], (1 - e) * kernels @ (target / target.sum()) + e * prior, atol=1e-6
                )
                region_density = regime.region if regime.region.ndim == 1 else regime.region[level]
                np.testing.assert_allclose(
                    region_density, (1 - e) * kernels @ (region / region.sum()) + e * prior, atol=1e-6
                )
            np.testing.assert_allclose(regime.ratio, regime.target / regime.region, rtol=1e-6)
            start += size + 1
    assert [r.domain.low for r in result.density("x")] == [-7.0, 2.0]
    assert result.density("kind")[0].values == ["a", "b", "c", "d"]
    with pytest.raises(KeyError, match="no parameter 'w'"):
        result.density("w")


def test_densities_reproduce_the_divergence():
    """sum p_R (p_T/p_R - 1)^2 of the densities shown is the divergence that entered (undebiased: parity)."""
    values, losses = zoo()
    result = zoo_sweep(values, losses, parity=True)
    regime = result.density("c")[0]
    shown = ((regime.target - regime.region) ** 2 / regime.region).sum(axis=-1)
    # float32: eps / sqrt(D).
    np.testing.assert_allclose(result.divergence[:, 0, 0], shown, rtol=1e-4)


def test_cell_values_are_native():
    """The ends of the grid are the ends of the domain, log and integer ones too."""
    result = px.cond_ped_anova(zoo_observations(*zoo()), ZOO_LEVELS, **TWELVE, n_resamples=0)
    eta = result.density("eta")[0].values
    assert eta[0] == pytest.approx(1e-4)
    assert eta[-1] == pytest.approx(1.0)
    np.testing.assert_allclose(np.diff(np.log(eta)), np.diff(np.log(eta))[0], rtol=1e-9)
    assert result.density("k")[0].values == pytest.approx(list(range(12)))


def test_results_can_be_pickled(result):
    """A round trip keeps the arrays bit for bit, and what was asked."""
    again = pickle.loads(pickle.dumps(result))
    for field in ("importance", "divergence", "alpha", "counts", "status"):
        np.testing.assert_array_equal(getattr(again, field), getattr(result, field))
    assert (again.space, again.method, again.report) == (result.space, result.method, result.report)
    assert again.text(verbose=True) == result.text(verbose=True)
