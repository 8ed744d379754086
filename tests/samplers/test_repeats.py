"""``repeats=False``: suggestions that were not evaluated before, while there are others."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

SPACE = px.Space({"a": px.Ordinal([1, 2, 4]), "b": px.Categorical(["x", "y", "z", "w"])})
ALL = np.array([(a, b) for a in (1.0, 2.0, 4.0) for b in range(4)])


def loss(x):
    x = np.asarray(x)
    return (x[:, 0] - 2) ** 2 + 0.1 * x[:, 1]


def rows_of(x) -> set[tuple]:
    return {tuple(row) for row in np.asarray(x).tolist()}


def told(sampler, x):
    return sampler.tell(sampler.init(32), x, loss(x))


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.some(1)
def test_a_small_space_is_gone_through_once(steps):
    """Catches a repeat where candidates are few: what none of them has comes from the list."""
    sampler = px.tpe(SPACE, repeats=False, n_startup=2, n_candidates=2, gradient_steps=steps)
    x = ALL[[0, 5]]
    for i in range(10):
        x = np.concatenate([x, np.asarray(sampler.ask(jax.random.key(i), told(sampler, x)))])
    assert rows_of(x) == rows_of(ALL)
    # Where all are known, one of them.
    assert rows_of(sampler.ask(jax.random.key(0), told(sampler, x))) <= rows_of(ALL)


def test_the_best_of_a_pool_that_is_not_known():
    """Against NumPy: the highest score among the others; catches an order that forgets the score."""
    sampler = px.tpe(SPACE, repeats=False, n_startup=2)
    known = ALL[[0, 3, 5, 6, 9]]
    state = told(sampler, known)
    scores = np.asarray(sampler.score_of(state, ALL))
    others = [i for i, row in enumerate(ALL) if tuple(row) not in rows_of(known)]
    best = sorted(others, key=lambda i: -scores[i])
    for n in (1, 3):
        found = sampler.ask(jax.random.key(0), state, n=n, candidates=ALL)
        assert np.asarray(found).tolist() == ALL[best[:n]].tolist()
    anyway = dataclasses.replace(sampler, repeats=True).ask(jax.random.key(0), state, candidates=ALL)
    assert tuple(np.asarray(anyway)[0]) == tuple(ALL[scores.argmax()])


def test_batches_and_pending_rows():
    """Catches a batch with a known row, and one that is pending."""
    sampler = px.tpe(SPACE, repeats=False, n_startup=2, n_candidates=4)
    x = ALL[:6]
    y = loss(x)
    y[4:] = np.nan
    state = sampler.tell(sampler.init(32), x, y)
    found = sampler.ask(jax.random.key(0), state, n=6)
    assert rows_of(found) == rows_of(ALL[6:])


def test_rows_that_know_a_constraint_alone_may_come():
    """Catches knowledge augmentation that forbids what was never evaluated."""
    sampler = px.c_tpe(SPACE, 1, repeats=False, n_startup=1, n_candidates=2)
    state = sampler.augment(sampler.init(32), ALL, np.where(ALL[:, :1] < 4, -1.0, 1.0))
    state = sampler.tell(state, ALL[:2], loss(ALL[:2]), -np.ones((2, 1)))
    found = sampler.ask(jax.random.key(0), state, n=10)
    assert rows_of(found) == rows_of(ALL[2:])


def test_inactive_parameters_and_continuous_ones():
    """A configuration is the same where its active parameters are; continuous ones do not repeat."""
    space = px.Space({"a": px.Categorical(["x", "y"]), "b": px.Float(0, 1, when=px.In("a", ["y"]))})
    sampler = px.tpe(space, repeats=False, n_startup=1)
    x = np.array([[0.0, np.nan], [1.0, 0.5]])
    state = sampler.tell(sampler.init(8), x, np.array([0.0, 1.0]))
    for i in range(8):
        found = np.asarray(sampler.ask(jax.random.key(i), state))[0]
        assert found[0] == 1
        assert found[1] != 0.5
    plain = px.Space({"u": px.Float(0, 1), "b": px.Categorical(["x", "y"])})
    one, other = (px.tpe(plain, repeats=own, n_startup=1) for own in (True, False))
    rows = np.array([[0.2, 0.0], [0.7, 1.0]])
    state = one.tell(one.init(8), rows, np.array([0.0, 1.0]))
    assert np.isfinite(np.asarray(other.ask(jax.random.key(0), state))).all()


def test_whole_runs_under_jit_and_vmap():
    """Catches a program that cannot be compiled, and runs with repeats after their random start."""
    problem = px.Problem(lambda key, x: ((x[0] - 2) ** 2 + 0.1 * x[1])[None], SPACE)
    sampler = px.tpe(SPACE, repeats=False, n_startup=3, n_candidates=4)
    trace = px.optimize_many(sampler, problem, jax.random.split(jax.random.key(0), 4), 10, progress=False)
    for run in np.asarray(trace.x):
        start = rows_of(run[:3])
        assert len(rows_of(run)) == len(start) + 7
    state = told(sampler, ALL[:3])
    found = jax.jit(lambda key: sampler.ask(key, state))(jax.random.key(0))
    assert jnp.array_equal(found, sampler.ask(jax.random.key(0), state))


def test_wrong_values():
    with pytest.raises(TypeError, match="repeats"):
        px.tpe(SPACE, repeats="no")  # pyright: ignore[reportArgumentType]
