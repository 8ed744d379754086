"""Weights by what tasks foretell: against loops, at their optimum, of good and of bad sources."""

import inspect

import equinox as eqx
import jax
import numpy as np
import pytest
from benchmarks.settings import adjusted
from reference import meta as oracle
from reference import mixture, tpe
from samplers.tables import SPACE_OF, table, told

import parzax as px
from meta.test_sampler import SETTINGS, meta, sources
from parzax.meta.weights import mixture_weights


@eqx.filter_jit
def _weights(sampler, state):
    """Of the objective's groups, then of each constraint's."""
    smoothing, split = sampler.smoothing, sampler.split(state)
    basis, groups = smoothing.basis(sampler.space, state.x.dtype), range(1 + sampler.n_constraints)
    return [smoothing.weights(smoothing.target, smoothing.sources, basis, state, split, i) for i in groups]


_mixture_weights = jax.jit(mixture_weights)


def by_rounds(log_prob: np.ndarray, prior_weight: float, rounds: int = 30) -> np.ndarray:
    """Expectation and maximisation."""
    n_tasks, n_rows = log_prob.shape
    weight = np.full(n_tasks, 1 / n_tasks)
    likelihood = np.exp(log_prob - log_prob.max(axis=0)) if n_rows else log_prob
    for _ in range(rounds):
        joint = weight[:, None] * likelihood
        total = prior_weight / n_tasks + (joint / joint.sum(axis=0)).sum(axis=1)
        weight = total / total.sum()
    return weight


def test_weights_are_those_of_most_likelihood(double):
    """Catches a wrong round, and rounds that end far from the maximum."""
    rng = np.random.default_rng(0)
    for n_rows in (0, 1, 5, 40):
        log_prob = rng.normal(size=(4, n_rows)) * 3
        padded = np.pad(log_prob, ((0, 1), (0, 43 - n_rows)), constant_values=np.nan)
        there, present = np.arange(5) < 4, np.arange(43) < n_rows
        found = np.asarray(_mixture_weights(padded, present, there, 0.5))
        np.testing.assert_allclose(found, [*by_rounds(log_prob, 0.5), 0], rtol=1e-10)

        def likelihood(weight, log_prob=log_prob):
            return np.log(weight @ np.exp(log_prob)).sum() + 0.5 * np.log(weight).mean()

        best = likelihood(by_rounds(log_prob, 0.5, 5000))
        assert best - likelihood(found[:4]) < 0.01


CASES = [
    ("categories", 1, 1),
    pytest.param("categories", 1, 0, marks=pytest.mark.slow),
    pytest.param("conditional", 1, 0, marks=pytest.mark.slow),
    pytest.param("mixed", 2, 0, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("space", "m", "c"), CASES)
def test_weights_equal_their_loops(double, space, m, c):
    """Catches a row that foretells itself, a group for another, and one of both weights alone."""
    sampler, own = meta(space, m, c, task_weights=px.meta.Stacking(0.5)), table(space, "random", m, c)
    parameters = mixture.parameters_of(SPACE_OF[space])
    tables = [own, *sources(space, m, c)]
    every = [tpe.groups(SETTINGS, t.x, t.losses, t.constraints, t.constraint_only) for t in tables]

    def log_prob(groups: list[tpe.Group], name: str, i: int) -> list[float]:
        rows = getattr(groups[0], name)
        kernels, prior = oracle.fit(SETTINGS, parameters, np.asarray(own.x)[rows], ())
        if i in rows:
            out = kernels[rows.index(i)][3]
            kernels = [
                (*kernel[:3], kernel[3] / (1 - out)) for k, kernel in enumerate(kernels) if rows[k] != i
            ]
            prior = prior / (1 - out)
        theirs = [
            oracle.fit(SETTINGS, parameters, np.asarray(t.x)[getattr(g, name)], ())
            for t, g in zip(tables[1:], groups[1:], strict=True)
        ]
        return [tpe.log_density(parameters, fitted, own.x[i]) for fitted in ((kernels, prior), *theirs)]

    of_each = _weights(sampler, told(sampler, own))
    assert len(of_each) == 1 + c
    for (weight, gamma), *groups in zip(of_each, *every, strict=True):
        below, above = groups[0].below, groups[0].above
        rows = [*below, *above]
        low, high = (np.array([log_prob(groups, name, i) for i in rows]).T for name in ("below", "above"))
        odds = low - high + np.log((len(below) + 0.5) / (len(above) + 0.5))
        chance = -np.log1p(np.exp(np.where([i in below for i in rows], -odds, odds)))
        both = (by_rounds(low[:, : len(below)], 0.5) * by_rounds(chance, 0.5))[1:]
        wanted = [1 - both.sum(), *both]
        np.testing.assert_allclose(weight, [wanted, wanted], atol=1e-8)
        shares = [len(g.below) / (len(g.below) + len(g.above)) for g in groups]
        np.testing.assert_allclose(gamma, np.dot(wanted, shares), rtol=1e-8)
    # A constraint's densities have weights of their own.
    assert c == 0 or np.abs(of_each[0][0] - of_each[1][0]).max() > 1e-3


def _log(space: px.Space, centre: float, seed: int, n: int = 100) -> px.Observations:
    x = np.random.default_rng(seed).uniform(size=(n, len(space)))
    return px.Observations.from_arrays(space, x, ((x - centre) ** 2).sum(axis=1))


@pytest.mark.slow
def test_a_source_helps_as_far_as_it_foretells():
    """The same task, one far away, and none: at first, and when the target's own rows say more."""
    space = px.Space({f"x{d}": px.Float(0, 1) for d in range(3)})
    nothing = px.Observations.from_arrays(space, [[0.5] * 3], [np.nan])
    logs = {"same": _log(space, 0.3, 1), "other": _log(space, 0.9, 2), "nothing": nothing}
    sampler = adjusted(px.meta_learn_tpe, n_samples=50)(space, logs, task_weights=px.meta.Stacking())
    state = sampler.init(256)
    fresh = _weights(sampler, state)[0][0][0]
    np.testing.assert_allclose(fresh, [7 / 9, 1 / 9, 1 / 9, 0], atol=1e-6)
    x = np.random.default_rng(3).uniform(size=(30, 3))
    state = sampler.tell(state, x, ((x - 0.3) ** 2).sum(axis=1))
    target, same, other, none = np.asarray(_weights(sampler, state)[0][0][0])
    assert same > 2 * other
    assert none == 0
    # Rows nearer to the optimum than a source has any.
    near = 0.3 + 0.01 * np.random.default_rng(4).normal(size=(150, 3))
    state = sampler.tell(state, near, ((near - 0.3) ** 2).sum(axis=1))
    late = np.asarray(_weights(sampler, state)[0][0][0])
    assert late[0] > max(0.9, target)
    assert np.isfinite(np.asarray(sampler.ask(jax.random.key(0), state))).all()


def test_tasks_share_the_candidates(double):
    """Catches another default of `meta_learn_tpe`, and candidates of every task."""
    default = inspect.signature(px.meta_learn_tpe).parameters["max_candidates"].default
    options = {"task_weights": px.meta.Stacking(), "max_candidates": default}
    sampler = meta("categories", 1, 1, n_candidates=40, **options)

    def drawn(state):
        smoothing = sampler.smoothing
        basis = smoothing.basis(sampler.space, state.x.dtype)
        densities, _ = smoothing.fit(basis, state, sampler.split(state))
        return densities.below.sample(jax.random.key(0), basis, 40)

    state = told(sampler, table("categories", "random", 1, 1))
    # In float64 numbers of tasks are int32, and those of rows int64: catches a product of the two.
    assert len(eqx.filter_eval_shape(drawn, state)) == 2 * 40


def test_refused():
    space = px.Space({"x": px.Float(0, 1)})
    for prior_weight in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="prior_weight must be"):
            px.meta.Stacking(prior_weight)
    with pytest.raises(TypeError, match=r"^task_weights must be a rule.*0\.5"):
        px.meta_learn_tpe(space, [_log(space, 0.5, 0)], task_weights=0.5)
