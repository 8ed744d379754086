"""Weights by rank of the rows below, against a loop; what they leave alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import pareto
from reference import tpe as oracle

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1)})


def split_of(merit, objectives, capacity=None, gamma=0.4):
    """Groups of rows with these objectives (n, m); NaN is pending."""
    objectives = np.asarray(objectives, float)
    n, m = objectives.shape
    sampler = px.mo_tpe(SPACE, m, gamma=px.gamma.linear(gamma), first_front=False, merit=merit)
    state = sampler.init(capacity or n)
    state = sampler.tell(state, np.linspace(0, 1, n)[:, None], objectives)
    return sampler.split(state)


@pytest.mark.parametrize("n_objectives", [1, 2])
@pytest.mark.parametrize("kind", ["random", "ties", "pending", "one"])
def test_weights_are_the_loop(n_objectives, kind):
    """Catches ranks among all rows in place of those below, fronts told apart, and a mean that is not 1."""
    rng = np.random.default_rng(5)
    n = 1 if kind == "one" else 23
    objectives = rng.normal(size=(n, n_objectives))
    if kind == "ties":
        objectives = rng.integers(0, 4, objectives.shape).astype(float)
    if kind == "pending":
        objectives[::3] = np.nan
    split = split_of(px.merits.by_rank(), objectives)
    below, merit = np.asarray(split.below[0])[:n], np.asarray(split.merit)[:n]
    rows = np.flatnonzero(below)
    if n_objectives == 1:
        order = sorted(rows, key=lambda i: (objectives[i, 0], i))
        ranks = [order.index(i) for i in rows]
    else:
        ranks = [pareto.ranks(objectives, ~np.isnan(objectives[:, 0]))[i] for i in rows]
    np.testing.assert_allclose(merit[below], oracle.by_rank(ranks), rtol=1e-5)
    assert (merit[~below] == 1).all()
    assert merit[below].mean() == pytest.approx(1, rel=1e-5)


def test_monotone():
    """Catches weights by value: transformed objectives have the same."""
    loss = np.random.default_rng(6).normal(size=(30, 1))
    found = [split_of(px.merits.by_rank(), f(loss)).merit for f in (np.asarray, np.exp, lambda x: x**3)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_padding_and_nothing():
    """Catches room that counts as rows, and NaN where no row is below."""
    loss = np.random.default_rng(7).normal(size=(20, 1))
    small, large = (split_of(px.merits.by_rank(), loss, capacity) for capacity in (64, 256))
    np.testing.assert_array_equal(small.merit[:20], large.merit[:20])
    assert (np.asarray(large.merit)[20:] == 1).all()
    for none in (np.full((3, 1), np.nan), np.full((3, 2), np.nan)):
        assert (np.asarray(split_of(px.merits.by_rank(), none).merit) == 1).all()
    assert split_of(px.merits.equal(), loss).merit is None


def test_finite_gradient():
    """The score in compiled code, with weights; catches NaN from the logarithm of an absent row's place."""
    sampler = px.optuna_tpe(SPACE, merit=px.merits.by_rank())
    x = np.linspace(0, 1, 12)[:, None]
    state = sampler.tell(sampler.init(64), x, (x - 0.3) ** 2)
    slope = jax.jit(jax.grad(lambda x: sampler.score_of(state, x[None, None])[0]))(jnp.array(0.45))
    assert np.isfinite(slope)
    # Towards the best rows.
    assert float(slope) < 0
