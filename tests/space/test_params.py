"""Named values of configurations: names, types, what inactive ones are, and the way back."""

import pickle
from typing import NamedTuple

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

SPACE = px.Space(
    {
        "model": px.Categorical(["svm", "net"]),
        "c": px.Float(0.1, 10, log=True, when=px.In("model", ["svm"])),
        "units": px.Int(8, 64, when=px.In("model", ["net"])),
        "batch": px.Ordinal([16, 32, 128], when=px.Between("units", 8, 32)),
        "scale": px.Ordinal([0.5, 2.5]),
        "depth": (px.Int(1, 2, when=px.In("model", ["svm"])), px.Int(3, 9)),
    }
)
NAN = np.nan
ROWS = np.array([[0, 0.5, NAN, NAN, 2.5, 2], [1, NAN, 64, NAN, 0.5, 7], [1, NAN, 20, 128, 0.5, 3]])


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray])
def test_named_values(convert):
    values = SPACE.unflatten(convert(ROWS))
    assert list(values) == list(SPACE.names)
    values |= {"model": values["model"].code}
    for name, column in {
        "model": [0, 1, 1], "c": [0.5, 0.1, 0.1], "units": [8, 64, 20], "batch": [16, 16, 128],
        "scale": [2.5, 0.5, 0.5], "depth": [2, 7, 3],
    }.items():  # fmt: skip
        np.testing.assert_allclose(values[name], column, rtol=1e-6)
        assert np.issubdtype(values[name].dtype, np.integer) == (name not in ("c", "scale"))
        assert isinstance(values[name], jax.Array) == (convert is jnp.asarray)
    active = SPACE.active(convert(ROWS))
    np.testing.assert_array_equal(np.stack(list(active.values()), axis=-1), ~np.isnan(ROWS))
    back = SPACE.flatten(values)
    assert back.dtype == convert(ROWS).dtype
    np.testing.assert_array_equal(back, convert(ROWS))


def test_random_configurations_come_back_under_transformations():
    """Of 64 draws, one at a time under vmap and jit."""
    sampler = px.tpe(SPACE)
    x = sampler.ask(jax.random.key(0), sampler.init(), 64)
    back = jax.jit(jax.vmap(lambda row: SPACE.flatten(SPACE.unflatten(row))))(x)
    np.testing.assert_array_equal(back, x)


class Optimizer(NamedTuple):
    lr: object
    momentum: object


TREE = {"optimizer": Optimizer(px.Float(0, 1), px.Float(0, 1)), "layers": [px.Int(1, 8), px.Int(1, 8)]}


def test_a_tree_of_domains():
    space = px.Space.from_tree(TREE)
    assert space.names == ("layers.0", "layers.1", "optimizer.lr", "optimizer.momentum")
    x = jnp.array([1.0, 2.0, 0.25, 0.5])
    values = space.unflatten(x)
    chex.assert_trees_all_equal(
        values,
        {"optimizer": Optimizer(jnp.float32(0.25), jnp.float32(0.5)), "layers": [jnp.int32(1), jnp.int32(2)]},
    )
    np.testing.assert_array_equal(space.flatten(values), x)
    assert space.active(x)["optimizer"].lr
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert hash(again) == hash(space)
    assert isinstance(again.unflatten(x)["optimizer"], Optimizer)
    # Without the tree it is another space, whose compiled programs must not be mixed up with this one's.
    assert px.Space({name: space[name] for name in space.names}) != space


def test_what_a_tree_may_hold():
    """A tuple of domains is one parameter, and a dict of domains is a space."""
    several = (px.Float(0, 1, when=px.In("part.model", ["a"])), px.Float(1, 9))
    space = px.Space.from_tree({"part": {"model": px.Categorical(["a", "b"]), "x": several}})
    assert space.names == ("part.model", "part.x")
    assert len(space["part.x"]) == 2
    assert px.Space.from_tree({name: SPACE[name] for name in SPACE}) == SPACE


AMBIGUOUS = {"a": {"b": px.Float(0, 1)}, "a.b": px.Float(0, 1)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda _: SPACE.unflatten(np.zeros(2)),
            r"x must have shape \(\.\.\., 6\), got \(2,\); give one column",
        ),
        (lambda v: SPACE.flatten({"model": v["model"]}), "params must have the names 'model'.*got 'model'"),
        (lambda _: px.Space.from_tree(TREE).flatten({"layers": [1, 2]}), "params must have the structure"),
        (lambda v: SPACE.flatten(v | {"c": np.zeros(2)}), "params must have shapes that broadcast"),
        (lambda v: SPACE.flatten(v | {"c": "much"}), "params: c"),
        (lambda _: px.Space.from_tree({"a": {"b": 3}}), r"'a\.b' must be a domain"),
        (lambda _: px.Space.from_tree(AMBIGUOUS), r"the same name: a\.b, a\.b"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(SPACE.unflatten(ROWS))


def test_large_integers_stay_floats_where_integers_are_short():
    space = px.Space({"a": px.Ordinal([1, 1000, 10**10])})
    values = space.unflatten(jnp.array([1e10]))
    assert values["a"].dtype == jnp.float32
    np.testing.assert_array_equal(space.flatten(values), jnp.array([1e10]))
    assert space.unflatten(np.array([1e10]))["a"] == 10**10
