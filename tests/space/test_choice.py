"""Categories by name: comparisons and branches agree with the names of `as_dict`, on host and device."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

SPACE = px.Space(
    {
        "act": px.Categorical(["relu", "tanh"]),
        "batch": px.Categorical([16, 32, True, None, 1.5, "tanh"]),
        # "b" is a choice of both domains, with another code in each
        "kind": (px.Categorical(["a", "b"], when=px.In("act", ["relu"])), px.Categorical(["b", "c"])),
        "head": px.Categorical(["x", "y"], when=px.In("act", ["tanh"])),
    }
)
X = np.asarray(SPACE.sample(jax.random.key(0), 40), float)
NAMES = [SPACE.as_dict(row) for row in X]
CHOICES = {"act": ["relu", "tanh"], "kind": ["a", "b", "c"]}


def named(x):
    return SPACE.unflatten(x)


def by_rows(function):
    """What traced code gives row by row, under vmap and jit."""
    return lambda x: jax.jit(jax.vmap(lambda row: function(named(row))))(jnp.asarray(x))


@pytest.mark.parametrize("transform", [lambda f: lambda x: f(named(x)), by_rows])
@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray])
@pytest.mark.parametrize(("name", "choice"), [(n, c) for n in CHOICES for c in CHOICES[n]])
def test_comparisons(transform, convert, name, choice):
    wanted = [row[name] == choice for row in NAMES]
    found = transform(lambda p: (p[name] == choice, choice == p[name], ~(p[name] != choice)))(convert(X))
    for equal in found:
        np.testing.assert_array_equal(equal, wanted)


def test_choices_of_any_type_and_of_two_parameters():
    """1 and True, and what both parameters have; a category that is inactive is the first choice."""
    p = named(X)
    for choice in (16, 32, True, None, 1.5, "tanh"):
        same = [type(row["batch"]) is type(choice) and row["batch"] == choice for row in NAMES]
        np.testing.assert_array_equal(p["batch"] == choice, same)
    np.testing.assert_array_equal(p["act"] == p["batch"], [row["act"] == row["batch"] for row in NAMES])
    np.testing.assert_array_equal(p["head"] == "x", [row.get("head", "x") == "x" for row in NAMES])
    np.testing.assert_array_equal(p["kind"].code, X[:, 2])
    np.testing.assert_array_equal(SPACE.flatten(p), X)
    again = pickle.loads(pickle.dumps(p["kind"]))
    np.testing.assert_array_equal(again == "b", p["kind"] == "b")


def test_a_category_in_a_tree_comes_back():
    space = px.Space.from_tree({"net": {"act": SPACE["act"][0]}, "units": px.Int(1, 9)})
    x = jnp.array([[1.0, 3.0], [0.0, 9.0]])
    np.testing.assert_array_equal(space.unflatten(x)["net"]["act"] == "tanh", [True, False])
    np.testing.assert_array_equal(space.flatten(space.unflatten(x)), x)


def test_choose():
    """Values for any batch, functions row by row; both as the names say, and with derivatives."""
    values, functions = {"a": 1.0, "b": 2.0, "c": 4.0}, {"a": jnp.sin, "b": jnp.cos, "c": jnp.square}
    chosen = px.choose(named(X)["kind"], values)
    np.testing.assert_array_equal(chosen, [values[row["kind"]] for row in NAMES])
    trees = px.choose(named(X)["act"], relu={"w": jnp.zeros(3)}, tanh={"w": jnp.ones(3)})
    np.testing.assert_array_equal(trees["w"][:, 0], X[:, 0])
    results = by_rows(lambda p: jax.value_and_grad(px.choose(p["kind"], **functions))(0.4))(X)
    wanted = [jax.value_and_grad(functions[row["kind"]])(0.4) for row in NAMES]
    np.testing.assert_allclose(np.transpose(results), wanted, rtol=1e-6)
    assert px.choose(NAMES[0]["kind"], values) == values[NAMES[0]["kind"]]


ACT = named(X)["act"]
REFUSED = {
    "another name": (lambda: ACT == "rleu", ValueError, "'act' has no choice 'rleu'; did you mean 'relu'?"),
    "a code": (lambda: ACT == 1, ValueError, "'act' has no choice 1; it has relu, tanh"),
    "an array": (lambda: jnp.ones(40, int) == ACT, ValueError, "'act' has no choice Array"),
    "a number": (lambda: 0.1 * ACT, TypeError, "'float' and 'Choice'"),
    "an array of numbers": (lambda: jnp.ones(40) * ACT, TypeError, "'Choice'"),
    "a condition": (lambda: 1 if ACT else 2, TypeError, "'act' is a Choice, neither true nor false"),
    "an index": (lambda: jnp.ones(2)[ACT], (TypeError, IndexError), "Choice"),
    "a key of a dict": (lambda: {"relu": 1}[ACT], TypeError, "unhashable type: 'Choice'"),
    "no branch": (lambda: px.choose(ACT, relu=1), ValueError, "choose has no branch for 'tanh'"),
    "another branch": (lambda: px.choose(ACT, relu=1, tahn=2), ValueError, "'tahn'; did you mean 'tanh'"),
    "a column of x": (
        lambda: px.choose(X[0], relu=1),
        TypeError,
        r"must be a category, such as params\['act'\]",
    ),
    "another choice": (lambda: px.choose("elu", relu=1), ValueError, "must be one of 'relu', got 'elu'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()
