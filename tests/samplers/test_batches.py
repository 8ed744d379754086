"""Suggestions of one call differ from each other wherever the space has so many configurations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px
from parzax.samplers import candidates
from parzax.samplers.candidates import draw_fillers, enumerate_points, enumerate_space

from .tables import empty, valid

SPACE = px.Space({"a": px.Int(0, 2), "b": px.Categorical(["a", "b"])})
TREE = px.Space(
    {
        "leaf": px.Ordinal([1, 4, 9], when=px.In("b", ["a"])),
        "b": px.Categorical(["a", "b"]),
        "x": (px.Int(0, 4, step=2, when=px.Between("leaf", low=4)), px.Int(7, 7, when=px.In("leaf", [1]))),
        "one": px.Categorical(["only"]),
    }
)


def _basis(space):
    return px.tpe(space).smoothing.basis(space, jnp.dtype(jnp.float32))


_ask = eqx.filter_jit(lambda sampler, key, state, n, pool=None: sampler.ask(key, state, n, pool))


def _count(x) -> int:
    """Number of different configurations."""
    return len({tuple(-1 if np.isnan(v) else v for v in row) for row in np.asarray(x, float).tolist()})


def _states(sampler, x) -> tuple:
    """Before and after the start-up; nearly all rows are equal, so that candidates are too."""
    start = empty(sampler, 32)
    told = np.repeat(x[:1], 12, axis=0)
    return start, jax.jit(sampler.tell)(start, told, np.arange(12.0))


def test_all_configurations():
    """Regimes by their parents; more than asked for are none."""
    listed = enumerate_space(TREE, 8)
    assert listed is not None
    assert len(listed) == _count(listed) == 1 + 1 + 2 * 3
    assert valid(TREE, listed).all()
    assert enumerate_space(TREE, 7) is None
    assert enumerate_space(px.Space({"k": px.Int(0, 1), "x": px.Float(0, 1)}), 100) is None
    # Nor where a parameter is continuous in some of them.
    assert (
        enumerate_space(px.Space({"k": px.Int(0, 1), "x": px.Float(0, 1, when=px.In("k", [1]))}), 9) is None
    )


@pytest.mark.parametrize(
    ("space", "epsilon", "more"),
    [(SPACE, 0.5, 0), pytest.param(SPACE, 0.0, 0, marks=pytest.mark.slow),
     pytest.param(SPACE, 0.5, 2, marks=pytest.mark.slow),
     pytest.param(TREE, 0.5, 0, marks=pytest.mark.slow)],
)  # fmt: skip
@pytest.mark.slow
def test_every_configuration_appears(space, epsilon, more):
    """Asked for as many as there are, or more, in the start-up and after it."""
    every = enumerate_space(space, 100)
    sampler = adjusted(px.tpe, epsilon=epsilon, n_candidates=4)(space)
    states = _states(sampler, every)
    keys = jax.random.split(jax.random.key(0), 5)
    for state in states:
        found = [np.asarray(_ask(sampler, key, state, len(every) + more)) for key in keys]
        assert [_count(x) for x in found] == [len(every)] * 5
        assert all(valid(space, x).all() for x in found)
        assert len({x.tobytes() for x in found}) > 1


@pytest.mark.slow
def test_a_pool_with_equal_rows():
    """In a space where draws never repeat, by chance, at random and by score."""
    space = px.Space({"x": px.Float(0, 1)})
    sampler = adjusted(px.tpe, epsilon=0.5)(space)
    pool = jnp.array([0.1] * 8 + [0.2, 0.3, 0.3, 0.4])[:, None]
    for state in _states(sampler, np.array([[0.15]])):
        for key in jax.random.split(jax.random.key(1), 5):
            assert np.unique(_ask(sampler, key, state, 4, pool)).tolist() == np.unique(pool).tolist()


@pytest.mark.slow
def test_a_larger_space():
    """Too large to be listed: more configurations are drawn."""
    space = px.Space({"n": px.Int(1, 1000)})
    sampler = px.tpe(space)
    for state in _states(sampler, np.array([[500.0]])):
        assert _count(_ask(sampler, jax.random.key(2), state, 60)) == 60
    listed = enumerate_points(space, 60, jnp.float32)
    assert len(draw_fillers(jax.random.key(0), _basis(space), 60, listed, jnp.float32)) == 240


@pytest.mark.slow
def test_fillers_come_after_candidates():
    """What the groups below suggest stays first; under vmap too."""
    sampler = adjusted(px.papers.tpe, n_candidates=4)(SPACE)
    state = _states(sampler, np.array([[2.0, 1.0]]))[1]
    keys = jax.random.split(jax.random.key(3), 6)
    one = np.concatenate([_ask(sampler, key, state, 1) for key in keys])
    many = np.asarray(jax.jit(jax.vmap(lambda key: sampler.ask(key, state, 6)))(keys))
    np.testing.assert_array_equal(many[:, 0], one)
    assert [_count(x) for x in many] == [6] * 6


def test_candidates_of_one_branch_are_compared():
    """Those with the active parameters of the first one, by score; of a batch, of the first n."""
    space = px.Space({"a": px.Categorical(["u", "v", "w"]), "x": px.Float(0, 1, when=px.In("a", ["u", "v"]))})
    basis = px.density.Smoothing().basis(space, jnp.float32)
    drawn = basis.frame.draw(jax.random.key(0), 64, jnp.float32)
    active, code = np.asarray(drawn.regime[:, 1] == 0), np.asarray(drawn.index[:, 0])

    def score(at):
        return jnp.where(at.regime[:, 1] == 0, at.unit[:, 1], 5.0)

    best = candidates.best_of_candidates
    for start in (int(active.argmax()), int((~active).argmax())):
        points = drawn[np.roll(np.arange(64), -start)]
        one = best(basis, score, points, None, 1, None, True)
        wanted = score(points)[np.asarray(points.regime[:, 1] == points.regime[0, 1])].max()
        assert score(one)[0] == wanted
    assert (code[active] < 2).all()
    assert score(best(basis, score, drawn, None, 1, None))[0] == 5
    two = drawn[np.array([active.argmax(), (~active).argmax(), *range(64)])]
    assert sorted(np.asarray(best(basis, score, two, None, 2, None, True).regime[:, 1]).tolist()) == [-1, 0]
