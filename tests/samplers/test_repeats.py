"""``repeats=False``: suggestions that were not evaluated before, while there are others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from reference import tpe as oracle

import parzax as px
from parzax.samplers.candidates import find_told

SPACE = px.Space({"a": px.Ordinal([1, 2, 4]), "b": px.Categorical(["x", "y", "z", "w"])})
ALL = np.array([(a, b) for a in (1.0, 2.0, 4.0) for b in range(4)])


def loss(x):
    x = np.asarray(x)
    return (x[:, 0] - 2) ** 2 + 0.1 * x[:, 1]


def rows_of(x) -> set[tuple]:
    """The configurations among rows; an inactive parameter is -1."""
    return {tuple(row) for row in np.nan_to_num(np.asarray(x, float), nan=-1).tolist()}


@pytest.mark.parametrize("augmented", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_batches_go_through_a_small_space_once(augmented):
    """Pending rows are not suggested again; rows of which only a constraint is known still are.

    Catches a repeat where candidates are few: the list of all configurations has what none of them is.
    """
    sampler = adjusted(px.c_tpe, repeats=False, n_startup=2, n_candidates=2)(SPACE, n_constraints=1)
    state, x = sampler.init(32), ALL[[0, 5]]
    if augmented:
        state = sampler.augment(state, ALL, np.where(ALL[:, :1] < 4, -1.0, 1.0))
    suggested = [x]
    for i in range(5):
        # The second row of each batch is pending.
        state = sampler.tell(state, x, np.array([loss(x)[0], np.nan]), -np.ones(2))
        x = np.asarray(sampler.ask(jax.random.key(i), state, 2))
        suggested.append(x)
    assert rows_of(np.concatenate(suggested)) == rows_of(ALL)
    state = sampler.tell(state, x, loss(x), -np.ones(2))
    assert rows_of(sampler.ask(jax.random.key(5), state, 2)) <= rows_of(ALL)


@pytest.mark.parametrize("n", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_best_new_members_of_a_pool(n):
    """Against loops: the highest score among the others; catches an order that forgets the score."""
    sampler = adjusted(px.papers.tpe, repeats=False, n_startup=2)(SPACE)
    told, none = ALL[[0, 4, 5, 6, 9]], np.zeros((5, 0))
    state = sampler.tell(sampler.init(32), told, loss(told))
    table = told, loss(told)[:, None], none, np.zeros(5, bool)
    scores = oracle.scores(oracle.Settings(), SPACE, table, ALL)
    best = sorted(range(len(ALL)), key=lambda i: -scores[i])
    assert rows_of(ALL[best[:3]]) & rows_of(told)
    new = [i for i in best if tuple(ALL[i]) not in rows_of(told)]
    suggested = sampler.ask(jax.random.key(0), state, n=n, candidates=ALL)
    assert np.asarray(suggested).tolist() == ALL[new[:n]].tolist()


@pytest.mark.slow
def test_a_pool_with_repeats():
    sampler = adjusted(px.papers.tpe, repeats=True, n_startup=2)(SPACE)
    told = ALL[[0, 4, 5, 6, 9]]
    state = sampler.tell(sampler.init(32), told, loss(told))
    best = int(np.argmax(sampler.score_of(state, ALL)))
    suggested = sampler.ask(jax.random.key(0), state, candidates=ALL)
    assert tuple(np.asarray(suggested)[0]) == tuple(ALL[best])


@pytest.mark.slow
def test_inactive_parameters():
    """A configuration is the same where its active parameters are."""
    space = px.Space({"a": px.Categorical(["x", "y"]), "b": px.Float(0, 1, when=px.In("a", ["y"]))})
    sampler = adjusted(px.papers.tpe, repeats=False, n_startup=1)(space)
    x = np.array([[0.0, np.nan], [1.0, 0.5]])
    state = sampler.tell(sampler.init(8), x, np.array([0.0, 1.0]))
    for i in range(8):
        suggested = np.asarray(sampler.ask(jax.random.key(i), state))[0]
        assert suggested[0] == 1
        assert suggested[1] != 0.5


TREE = px.Space({"a": px.Categorical(["x", "y", "z"]), "b": px.Int(0, 3, when=px.In("a", ["y"]))})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "n_configurations"), [(TREE, 6), pytest.param(SPACE, 12, marks=pytest.mark.slow)]
)
def test_runs_under_vmap(space, n_configurations):
    """Catches a program that cannot be compiled, runs with repeats, and inactive values that count."""
    problem = px.Problem(lambda key, x: ((x[0] - 2) ** 2)[None], space)
    sampler = adjusted(px.papers.tpe, repeats=False, n_startup=1, n_candidates=2)(space)
    keys = jax.random.split(jax.random.key(0), 4)
    trace = px.optimize_many(keys, sampler, problem, n_configurations, lanes=4, progress=False)
    for run in trace.x:
        assert len(rows_of(run)) == n_configurations
    assert len({run.tobytes() for run in trace.x}) > 1


@pytest.mark.some(1)
@pytest.mark.parametrize("as_told", [np.float64, jnp.float32])
@pytest.mark.parametrize(
    "x",
    [px.Float(1e-4, 1.0, log=True), px.Float(1000, 1001), px.Float(0, 1e6)],
    ids=["log", "narrow", "wide"],
)
def test_a_pool_of_real_numbers_is_gone_through_once(x, as_told):
    """Told as given or as suggested; draws from a continuous space would never be equal.

    Catches a comparison on the axis, which is too strict in a narrow range and too loose in a wide one.
    """
    space = px.Space({"x": x, "k": px.Int(1, 9)})
    rng = np.random.default_rng(0)
    if x.log:
        places = 10 ** rng.uniform(-4, 0, 24)
    else:
        places = np.concatenate([x.low + np.arange(8) / 8, rng.uniform(x.low, x.high, 16)])
    pool = np.stack([places, np.full(24, 3)], axis=1)
    sampler = px.tpe(space)  # the first ten are random members
    ask = jax.jit(lambda key, state: sampler.ask(key, state, 2, jnp.asarray(pool)))
    state, chosen = sampler.init(64), []
    for key in jax.random.split(jax.random.key(1), 12):
        x = np.asarray(ask(key, state))
        rows = [int(np.argmin(np.abs(pool - row).sum(axis=1))) for row in x]
        chosen += rows
        told = pool[rows] if as_told is np.float64 else jnp.asarray(x)
        state = sampler.tell(state, told, (pool[rows, 0] - places.mean()) ** 2)
    assert sorted(chosen) == list(range(24))


def test_members_of_a_pool_that_were_told_are_found():
    """NaN equals NaN, 0 equals -0, and rows that do not count are no repeats."""
    nan = jnp.nan
    rows = jnp.array([[1.0, nan], [0.0, 2.0], [3.0, 4.0], [nan, nan]])
    x = jnp.array([[3.0, 4.0], [1.0, nan], [1.0, 2.0], [-0.0, 2.0], [nan, nan], [1.0, nan]])
    counts = jnp.array([True, True, False, True])
    assert find_told(x, rows, counts).tolist() == [False, True, False, True, True, True]
    assert find_told(x, rows[:0], counts[:0]).tolist() == [False] * 6
