"""Which parameters tasks are compared by: importance against loops, how many, which with them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from densities import SPACES, draw
from reference import meta as oracle

import parzax as px
from parzax.density import Smoothing
from parzax.meta.comparison import (
    Comparison,
    SimilarityEstimator,
    ancestors_of,
    kept_parameters,
    overall_importance,
    rows_needed,
)


@eqx.filter_jit
def importance_of(estimator, x, below, counted):
    at = estimator.basis.frame.encode(x)
    return estimator.compared_rows(at, below, counted, jax.random.key(0), len(x)).importance


SCOTT = px.bandwidth.Scott(0.1)


def estimator_of(space: px.Space, bandwidth=SCOTT, top=1.0) -> SimilarityEstimator:
    settings = Comparison(n_samples=8, top=top)
    return SimilarityEstimator.of(space, Smoothing(bandwidth, 0.9), settings)


_kept, _overall = jax.jit(kept_parameters), jax.jit(overall_importance)


def kept_of(space: px.Space, importance, n: int):
    return _kept(ancestors_of(space), importance, jnp.asarray(n))


def masks(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(below, counted): a tenth and a bit among most of the rows."""
    rng = np.random.default_rng(seed)
    counted = rng.random(n) < 0.8
    return counted & (rng.random(n) < 0.25), counted


@pytest.mark.parametrize("name", ["flat", pytest.param("conditional", marks=pytest.mark.slow)])
def test_raw_importance(name, double):
    """Floats on both axes, integers, steps, ordinals, categories, one value; regimes and inactive rows."""
    space = SPACES[name]
    for seed in range(3):
        x = draw(name, 40, seed)
        below, counted = masks(40, seed)
        found = importance_of(estimator_of(space), *map(jnp.asarray, (x, below, counted)))
        wanted = oracle.importance(space, x, np.flatnonzero(below).tolist(), np.flatnonzero(counted).tolist())
        assert (wanted > 0).sum() >= 5
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_no_rows_below():
    estimator = estimator_of(SPACES["flat"])
    x = jnp.asarray(draw("flat", 40), jnp.float32)
    found = importance_of(estimator, x, jnp.zeros(40, bool), jnp.ones(40, bool))
    np.testing.assert_array_equal(found, 0)


def test_raw_importance_of_equal_categories(double):
    """All rows below have one of three choices: E[((3, 0, 0) - 1)^2] = 2, and 0.85^2 of it with a spread."""
    space = px.Space({"c": px.Categorical(range(3))})
    rows = jnp.zeros((5, 1)), jnp.ones(5, bool), jnp.ones(5, bool)
    found = [float(importance_of(estimator_of(space, top=top), *rows)[0]) for top in (1.0, None)]
    np.testing.assert_allclose(found, [2, 2 * (1 - 0.1 * 3 / 2) ** 2], rtol=1e-12)


@pytest.mark.parametrize("value", [0, 333, 500, 999])
def test_raw_importance_of_many_values(value, double):
    """Equal rows: the scale is one step of a thousand, so that no value may be left out."""
    space = px.Space({"n": px.Int(0, 999)})
    x = np.full((5, 1), float(value))
    found = importance_of(estimator_of(space), jnp.asarray(x), *[jnp.ones(5, bool)] * 2)
    np.testing.assert_allclose(found, oracle.importance(space, x, range(5), range(5)), rtol=1e-9)


@pytest.mark.parametrize("scale", [0.04, 0.005])
def test_raw_importance_of_a_continuum_as_a_formula(scale, double):
    """Rows far from the ends, where nothing is truncated: sum_nm N(x_n - x_m; 0, 2 s^2) / n^2 - 1."""
    space = px.Space({"u": px.Float(-1, 3)})
    rows = np.array([0.4, 0.45, 0.7])
    estimator = estimator_of(space, px.bandwidth.Constant(scale))
    found = importance_of(estimator, jnp.asarray(4 * rows[:, None] - 1), *[jnp.ones(3, bool)] * 2)
    pairs = scipy.stats.norm.pdf(rows[:, None] - rows[None], scale=scale * 2**0.5)
    np.testing.assert_allclose(found, pairs.mean() - 1, rtol=1e-10)


@pytest.mark.parametrize("eta", [1.5, 2, 2.5, 3, 10, np.e])
def test_number_of_parameters(eta):
    """floor(log_eta n), powers included: quotients of logs are below 3 at 1000 for 10, 5 at 243 for 3."""
    powers = [round(eta**k) for k in range(8)]
    for n in {0, 1, 2, 3, 5, *powers, *(p - 1 for p in powers), *(p + 1 for p in powers)}:
        wanted = sum(eta**k <= n for k in range(1, 7))
        assert (rows_needed(eta, 6) <= n).sum() == wanted


def test_number_of_parameters_at_the_limits():
    """None: all from one row on. Infinity: none, however many rows."""
    assert (rows_needed(1.001, 7) <= 10**6).sum() == 7
    assert (rows_needed(2.0, 50) < 2**31 - 1).sum() == 30
    assert (rows_needed(2.0, 50)[30:] == 2**31 - 1).all()
    for eta in (1e200, np.inf):
        assert (rows_needed(eta, 7) == 2**31 - 1).all()
    assert rows_needed(None, 3).tolist() == [1, 1, 1]
    assert rows_needed(2.5, 3).tolist() == [3, 7, 16]


def test_kept_parameters_in_order():
    """The larger ones; of equal ones the first."""
    space = SPACES["flat"]
    importance = jnp.asarray([0.1, 0.5, 0.0, 0.5, 0.2, 0.0, 0.7, 0.0])
    order = [6, 1, 3, 4, 0, 2, 5, 7]
    for n in range(10):
        found = kept_of(space, importance, n)
        assert set(np.flatnonzero(found)) == set(order[:n])


def test_parents_are_kept_with_their_children():
    space = SPACES["conditional"]
    place = {name: j for j, name in enumerate(space.names)}
    # k depends on kind, and on x, which depends on c.
    wanted = {"lr": {"kind"}, "x": {"c"}, "k": {"kind", "x", "c"}, "z": {"size"}, "c": set(), "size": set()}
    for name, parents in wanted.items():
        found = kept_of(space, jax.nn.one_hot(place[name], len(place)), 1)
        assert {space.names[j] for j in np.flatnonzero(found)} == {name, *parents}
        assert {space.names[j] for j in np.flatnonzero(ancestors_of(space)[place[name]])} == parents
    assert not kept_of(space, jnp.ones(len(place)), 0).any()


def test_over_all_tasks():
    """The mean, the target included, over the tasks that have the parameter."""
    target, sources = np.float32([9, 0]), np.float32([[0, 1], [1, 2], [2, 6]])
    np.testing.assert_allclose(_overall(target, sources), [12 / 4, 9 / 4])
    measured = np.array([[True, False], [False, False], [True, True]])
    np.testing.assert_allclose(_overall(target, sources, measured), [11 / 3, 6 / 2], rtol=1e-6)
    np.testing.assert_allclose(_overall(target, sources, measured[:, :1]), [11 / 3, 7 / 3])
