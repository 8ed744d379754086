"""What belongs to another sampler is refused, and so is what has no meaning for this one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px
from parzax.samplers import Sampler

SPACE = px.Space({"x": px.Float(0, 1), "n": px.Int(1, 8)})
NARROW = px.Space({"x": px.Float(0, 1)})
KEY = jax.random.key(0)
X = np.array([[0.5, 3.0]])
ONE, TWO = px.c_tpe(SPACE, n_constraints=1), px.c_tpe(SPACE, n_constraints=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ONE.best(px.tpe(SPACE).init()), "the state has 0 constraints, the sampler 1"),
        (lambda: ONE.tell(TWO.init(), X, [1.0], [5.0]), "the state has 2 constraints, the sampler 1"),
        (lambda: TWO.tell(ONE.init(), X, [1.0], [[-1.0, 5.0]]), "1 constraint, the sampler 2"),
        (lambda: px.tpe(SPACE).tell(px.mo_tpe(SPACE).init(), X, [1.0]), "2 objectives, the sampler 1"),
        (lambda: px.tpe(SPACE).ask(KEY, px.tpe(NARROW).init()), "1 parameter, the sampler 2"),
        (lambda: jax.jit(px.tpe(SPACE).ask)(KEY, px.tpe(NARROW).init()), "1 parameter, the sampler 2"),
        (lambda: px.tpe(SPACE).ask(KEY, None), r"state must be a State from the sampler's init\(\)"),
    ],
)
def test_states_of_another_sampler(call, message):
    """Catches a value copied into two columns, and a violated row that is reported as the best."""
    with pytest.raises((TypeError, ValueError), match=message):
        call()


class Undivided(px.acquisition.AbstractAcquisition):
    """Forgets that there is a density for each group."""

    def __call__(self, below, above, gamma):
        return below - above


def test_scores_of_a_wrong_shape():
    sampler = Sampler(SPACE, ONE.split, ONE.smoothing, Undivided(), n_constraints=1)
    with pytest.raises(ValueError, match="Undivided must return one score per candidate"):
        sampler.score_of(sampler.init(), X)


@pytest.mark.parametrize("given", [("up",), (), 2])
def test_directions_of_a_composed_sampler(given):
    parts = SPACE, ONE.split, ONE.smoothing, px.acquisition.Relative()
    with pytest.raises((TypeError, ValueError), match="direction"):
        Sampler(*parts, directions=given)


def test_a_direction_alone_is_that_of_one_objective():
    """Catches the letters of a word taken for eight objectives."""
    sampler = Sampler(SPACE, ONE.split, ONE.smoothing, px.acquisition.Relative(), directions="maximize")
    assert sampler.directions == ("maximize",)


@pytest.mark.slow
def test_masked_candidates_score_nothing():
    sampler = adjusted(px.tpe, n_startup=2)(SPACE)
    state = sampler.tell(sampler.init(), np.array([[0.2, 3], [0.8, 5], [0.4, 4]]), [0.0, 1.0, 2.0])
    found = sampler.score_of(state, np.ma.array([[0.2, 3], [0.2, 3]], mask=[[False, False], [True, False]]))
    assert np.isfinite(found[0])
    assert found[1] == -jnp.inf


def test_kernels_of_unknown_parameters():
    smoothing = px.density.Smoothing(px.bandwidth.Scott(), 0.8, kernels={"nope": object})
    sampler = Sampler(SPACE, px.tpe(SPACE).split, smoothing, px.acquisition.Relative())
    with pytest.raises(ValueError, match="no parameter 'nope'"):
        sampler.status(sampler.init())


@pytest.mark.slow
def test_ties_that_cannot_tell_four_objectives_apart():
    sampler = adjusted(px.mo_tpe, ties=px.pareto.Hypervolume())(SPACE, 3)
    four = Sampler(SPACE, sampler.split, sampler.smoothing, sampler.acquisition, ("minimize",) * 4)
    with pytest.raises(ValueError, match="at most 3 objectives"):
        four.status(four.init())


@pytest.mark.parametrize(
    ("sampler", "problem", "message"),
    [
        (px.tpe(SPACE), lambda key, x: x, r"one number, got an array of shape \(2,\); n_objectives is 1"),
        (px.mo_tpe(SPACE), lambda key, x: x[:1], r"must have shape \(2,\), .*n_objectives is 2"),
        (px.mo_tpe(SPACE), lambda key, x: (x[0], x[1]), "second value of fn is for constraints.*jnp.stack"),
        (ONE, lambda key, x: (x[0], x), r"one number, got an array of shape \(2,\); n_constraints is 1"),
        (ONE, lambda key, x: x[0], r"fn must return \(losses, constraints\)"),
        (px.tpe(SPACE), px.Problem(lambda key, x: x, SPACE, 2), "n_objectives is 2, but the sampler's is 1"),
    ],
)
def test_problems_of_another_sampler(sampler, problem, message):
    """Catches one loss that is taken for both, and constraints that nobody sees."""
    for run in (px.optimize, lambda key, s, p, n: px.optimize_many(key[None], s, p, n)):
        with pytest.raises(ValueError, match=message):
            run(KEY, sampler, problem, 3)


class _Stop(Exception):
    """Ends a call before anything is compiled."""


def test_constraints_that_a_sampler_does_not_see(monkeypatch):
    """A warning of runs and sessions; none where the sampler sees them, or where there are none."""

    def stop(*_, **__):
        raise _Stop

    def constrained(key, x):
        return x[:1], x

    monkeypatch.setattr("parzax.samplers.loop.run", stop)
    monkeypatch.setattr("parzax.lens.run.runs.run_chunks", stop)
    problem = px.Problem(lambda key, x: (x[0], x), SPACE, n_constraints=2)
    unseen = "2 constraints, but the sampler ignores them.*px.tpe\\(space, n_constraints=2\\)"
    for run in (px.optimize, lambda key, s, p, n: px.optimize_many(key[None], s, p, n)):
        with pytest.warns(UserWarning, match=unseen), pytest.raises(_Stop):
            run(KEY, px.tpe(SPACE), problem, 3)
        for given in (problem, constrained):
            with pytest.raises(_Stop):
                run(KEY, TWO, given, 3)
    row = px.adapters.Row(X[0], (1.0,), (0.0, 1.0))
    with pytest.warns(UserWarning, match=unseen):
        px.adapters.Session(px.tpe(SPACE)).tell([row])
    px.adapters.Session(TWO).tell([row])
    px.adapters.Session(px.tpe(SPACE)).tell([row._replace(constraints=())])
    for sampler, wrong in ((ONE, row), (TWO, row[:2]), (px.mo_tpe(SPACE), row._replace(constraints=()))):
        with pytest.raises(ValueError, match=r"^the sampler has .* but a row has other numbers"):
            px.adapters.Session(sampler).tell([px.adapters.Row(*wrong)])
