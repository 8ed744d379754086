"""Weights by rank of the rows below, against a loop; what they leave alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from reference import pareto
from reference import tpe as oracle

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1)})
# Numbers of rows and of places for them: one program for each number of objectives.
N, CAPACITY = 23, 32


@eqx.filter_jit
def _split_of(merit, objectives, capacity):
    m = objectives.shape[1]
    sampler = adjusted(px.mo_tpe, gamma=px.gamma.Linear(0.4), first_front=False, merit=merit)(SPACE, m)
    x = jnp.linspace(0, 1, N)[:, None]
    return sampler.split(sampler.tell(sampler.init(capacity), x, objectives))


def split_of(merit, objectives, capacity=CAPACITY):
    """Groups of rows with these objectives (N, m); NaN is pending."""
    return _split_of(merit, jnp.asarray(objectives, jnp.float32), capacity)


@pytest.mark.parametrize("n_objectives", [1, 2])
@pytest.mark.parametrize("kind", ["random", "ties", "pending", "one"])
def test_weights_are_the_loop(n_objectives, kind):
    """Catches ranks among all rows in place of those below, fronts told apart, and a mean that is not 1."""
    rng = np.random.default_rng(5)
    objectives = rng.normal(size=(N, n_objectives)).astype(np.float32)
    if kind == "ties":
        objectives = rng.integers(0, 4, objectives.shape).astype(np.float32)
    if kind == "pending":
        objectives[::3] = np.nan
    if kind == "one":
        objectives[1:] = np.nan
    split = split_of(px.merits.ByRank(), objectives)
    below, merit = np.asarray(split.below[0])[:N], np.asarray(split.weights[0])[:N]
    rows = np.flatnonzero(below)
    if n_objectives == 1:
        order = sorted(rows, key=lambda i: (objectives[i, 0], i))
        ranks = [order.index(i) for i in rows]
    else:
        ranks = [pareto.ranks(objectives, ~np.isnan(objectives[:, 0]))[i] for i in rows]
    np.testing.assert_allclose(merit[below], oracle.by_rank(ranks), rtol=1e-5)
    assert (merit[~below] == 0).all()
    np.testing.assert_array_equal(split.weights[1], split.above[0])
    assert merit[below].mean() == pytest.approx(1, rel=1e-5)


def test_monotone():
    """Catches weights by value: transformed objectives have the same."""
    loss = np.random.default_rng(6).normal(size=(N, 1))
    plain, *others = (
        split_of(px.merits.ByRank(), f(loss)).weights for f in (np.asarray, np.exp, lambda x: x**3)
    )
    assert len(np.unique(plain)) > 3
    for merit in others:
        np.testing.assert_array_equal(merit, plain)


def test_padding_and_nothing():
    """Catches room that counts as rows, and NaN where no row is below."""
    loss = np.random.default_rng(7).normal(size=(N, 1))
    small, large = (split_of(px.merits.ByRank(), loss, capacity) for capacity in (CAPACITY, 64))
    np.testing.assert_array_equal(small.weights[:, :N], large.weights[:, :N])
    assert (np.asarray(large.weights)[:, N:] == 0).all()
    for m in (1, 2):
        nothing = split_of(px.merits.ByRank(), np.full((N, m), np.nan))
        assert (np.asarray(nothing.weights[0]) == 0).all()
        assert (np.asarray(nothing.graded().weights) == np.asarray(nothing.weights)).all()
    equal = eqx.filter_eval_shape(split_of, None, loss)
    assert equal.weights is None


def test_grades():
    """A row is below with exp(-(place + 1/2) / (3/4 m)), above with the rest; pending rows are above."""
    loss = np.random.default_rng(8).normal(size=(N, 1)).astype(np.float32)
    loss[::4] = np.nan
    split = split_of(None, loss)
    graded, told = split.graded(), np.arange(CAPACITY) < N
    place = np.argsort(np.argsort(loss[:, 0]))  # NaN comes last
    good = np.where(np.isnan(loss[:, 0]), 0, np.exp(-(place + 0.5) / (0.75 * np.ceil(0.4 * 17))))
    np.testing.assert_allclose(graded.weights[0, :N], good, rtol=1e-5)
    np.testing.assert_allclose(graded.weights.sum(axis=0), told, rtol=1e-6)
    np.testing.assert_array_equal(graded.below, split.below)
    assert split.weights is None


@pytest.mark.parametrize("preset", [px.papers.tpe, pytest.param(px.optuna_tpe, marks=pytest.mark.slow)])
def test_finite_gradient(preset):
    """The score in compiled code, with weights; catches NaN from the logarithm of an absent row's place."""
    sampler = adjusted(preset, merit=px.merits.ByRank())(SPACE)
    x = np.linspace(0, 1, 12)[:, None]
    state = sampler.tell(sampler.init(CAPACITY), x, (x - 0.3) ** 2)
    slope = jax.jit(jax.grad(lambda x: sampler.score_of(state, x[None, None])[0]))(jnp.array(0.45))
    assert np.isfinite(slope)
    # Towards the best rows.
    assert float(slope) < 0
