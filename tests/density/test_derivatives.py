"""Derivatives of second order: finite, and those of central differences in float64, in every form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import log_prob_in

import parzax as px
from parzax.density import restriction

SPACE = px.Space(
    {
        "x": px.Float(0, 1),
        "lr": px.Float(1e-3, 1, log=True),
        "c": px.Categorical(["a", "b"]),
        "n": px.Int(0, 99),
    }
)
RNG = np.random.default_rng(0)
ROWS = np.stack(
    [RNG.uniform(0, 0.3, 60), 10 ** RNG.uniform(-3, -2, 60), RNG.integers(0, 2, 60), RNG.integers(0, 9, 60)],
    1,
)
# Far from all rows too, where the squares of kernels underflow.
AT = np.array([[0.1, 2e-3, 0, 4], [0.35, 0.02, 1, 20], [0.95, 0.9, 0, 90], [0.6, 0.1, 1, 60]])


# Of float32 and of float64.
TOLERANCES = {False: 2e-3, True: 1e-5}


def second(function, at):
    """(j, 2, 2) second derivatives by the two floats, of a function of rows."""

    def one(floats, row):
        return function(jnp.concatenate([floats, row[2:]])[None])[0]

    return jax.vmap(lambda row: jax.jacfwd(jax.grad(one))(row[:2], row))(at)


def compared(make, double):
    """Second derivatives of make()(rows) in one precision, against those in float64."""
    with jax.enable_x64(double):
        found = np.asarray(jax.jit(lambda at: second(make(), at))(jnp.asarray(AT)))
    with jax.enable_x64(True):
        function, step = make(), 1e-4

        @jax.jit
        def slope(at):
            return jax.vmap(jax.grad(lambda row: function(row[None])[0]))(at)[:, :2]

        columns = []
        for j in range(2):
            moved = np.zeros_like(AT)
            moved[:, j] = step * AT[:, j]
            columns.append((slope(AT + moved) - slope(AT - moved)) / (2 * moved[:, j, None]))
        expected = np.stack([np.asarray(column) for column in columns], axis=-1)
    assert np.isfinite(found).all()
    size = np.maximum(np.abs(expected).max(axis=(1, 2), keepdims=True), 1)
    np.testing.assert_allclose(found / size, expected / size, atol=TOLERANCES[double])


def some_slow(*fast):
    """All forms in both precisions, of which only some are fast."""
    cases = [(form, double) for form in ("product", "pairwise") for double in TOLERANCES]
    marks = [() if case in fast else pytest.mark.slow for case in cases]
    return [pytest.param(*case, marks=mark) for case, mark in zip(cases, marks, strict=True)]


@pytest.mark.parametrize(("form", "double"), some_slow(("pairwise", True)))
def test_of_log_densities(form, double):
    def make():
        pe = px.ParzenEstimator.fit(SPACE, jnp.asarray(ROWS))
        return lambda at: log_prob_in(form, pe, at)

    compared(make, double)


# Scales below the second bound lose digits in a matrix product, so they are evaluated pair by pair.
BANDWIDTHS = {"product": px.bandwidth.Scott(), "pairwise": px.bandwidth.Scott(1e-6)}


@pytest.mark.slow
@pytest.mark.parametrize(("form", "double"), some_slow(("product", True)))
@pytest.mark.parametrize("n_constraints", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_of_scores(n_constraints, form, double):
    """Of TPE, and of c-TPE with one constraint."""
    losses = np.square(ROWS[:, 0] - 0.2) + ROWS[:, 1]
    smoothing = px.density.Smoothing(BANDWIDTHS[form], 0.8, joint=False)
    preset = [px.tpe, px.c_tpe][n_constraints]
    told = [losses, ROWS[:, :1] - 0.15][: 1 + n_constraints]

    def make():
        sampler = preset(SPACE, smoothing=smoothing)
        state = sampler.tell(sampler.init(), jnp.asarray(ROWS), *map(jnp.asarray, told))
        assert sampler.smoothing.basis(SPACE, state.x.dtype).pairwise == (form == "pairwise")
        return lambda at: sampler.score_of(state, at)

    compared(make, double)


@pytest.mark.slow
def test_of_conditionals_by_the_given_value():
    """The weights of the kernels depend on the value; batches are those of one value each."""
    with jax.enable_x64(True):
        pe = px.ParzenEstimator.fit(SPACE, ROWS)
        rest = jnp.asarray(AT[0, 1:])

        def log_prob(value):
            return pe.conditional({"x": value}).log_prob(rest)

        values = jnp.array([0.1, 0.35, 0.9])

        @jax.jit
        @jax.vmap
        def with_slopes(value):
            of_value, slope = jax.value_and_grad(log_prob)(value)
            return of_value, slope, jax.jacfwd(jax.grad(log_prob))(value)

        batch, _, slopes = with_slopes(values)
        np.testing.assert_allclose(batch, [float(log_prob(float(value))) for value in values], rtol=1e-12)
        assert np.isfinite(slopes).all()
        step = 1e-5
        expected = (with_slopes(values + step)[1] - with_slopes(values - step)[1]) / (2 * step)
        np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-5)


def test_conditional_compiles_once():
    pe = px.ParzenEstimator.fit(SPACE, ROWS)
    pe.conditional({"x": 0.2})
    before = restriction._conditioned.n_compiled
    for value in (0.3, 0.4, 0.9):
        pe.conditional({"x": value})
    assert restriction._conditioned.n_compiled == before
