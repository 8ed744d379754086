"""px.Problem.from_params: what the function gets, and what is said where it is wrong."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

import parzax as px

DOMAINS = {
    "kind": px.Categorical(["plain", "decayed"]),
    "rate": px.Float(1e-3, 1.0, log=True),
    "decay": px.Float(0.1, 0.9, when=px.In("kind", ["decayed"])),
    "units": px.Int(8, 64),
}
SPACE = px.Space(DOMAINS)
KEY = jax.random.key(0)
X = jnp.array([0.0, 0.25, jnp.nan, 16.0])


def loss(key, params):
    assert params["units"].dtype == jnp.int32
    return params["rate"] + params["decay"], params["units"] - 32


def test_a_dict():
    problem = px.Problem.from_params(loss, DOMAINS, n_constraints=1)
    assert problem.space == SPACE
    assert problem.name == "loss"
    objectives, constraints = jax.jit(problem.__call__)(KEY, X)
    # The inactive parameter has its lowest value.
    np.testing.assert_allclose(objectives, [0.35], rtol=1e-6)
    np.testing.assert_allclose(constraints, [-16.0])


def test_active():
    def function(key, params, active):
        return jnp.where(active["decay"], params["decay"], 2.0)

    problem = px.Problem.from_params(function, SPACE)
    assert float(problem(KEY, X)[0][0]) == 2.0
    assert float(problem(KEY, X.at[0].set(1).at[2].set(0.5))[0][0]) == 0.5


@pytest.mark.parametrize(
    "fn",
    [
        lambda key, params, active=None: jnp.where(active["decay"], 1.0, 2.0),
        lambda key, params, *, active: jnp.where(active["decay"], 1.0, 2.0),
        functools.partial(lambda w, key, params, active: jnp.where(active["decay"], 1.0, w), 2.0),
        Partial(lambda w, key, params, active: jnp.where(active["decay"], 1.0, w), jnp.asarray(2.0)),
        jax.jit(lambda key, params, active: jnp.where(active["decay"], 1.0, 2.0)),
    ],
)
def test_every_way_to_take_active(fn):
    problem = px.Problem.from_params(fn, SPACE)
    assert float(problem(KEY, X)[0][0]) == 2.0


def test_a_third_argument_with_a_default_is_not_filled():
    problem = px.Problem.from_params(lambda key, params, weight=3.0: weight * params["rate"], SPACE)
    np.testing.assert_allclose(problem(KEY, X)[0], [0.75])


def test_leaves_of_the_function_are_those_of_the_problem():
    def function(shift, key, params):
        return params["rate"] - shift

    problem = px.Problem.from_params(Partial(function, jnp.asarray(0.25)), SPACE)
    assert [leaf.shape for leaf in jax.tree.leaves(problem)] == [()]
    assert float(problem(KEY, X)[0][0]) == 0.0


def test_a_tree():
    tree = {"sgd": {"rate": px.Float(0, 1)}, "units": px.Int(1, 9)}
    problem = px.Problem.from_params(
        lambda key, params: params["sgd"]["rate"] * params["units"].astype(float), tree
    )
    assert float(problem(KEY, jnp.array([0.5, 4.0]))[0][0]) == 2.0


def test_equals_a_problem_of_vectors():
    """Named values and columns give equal losses, a category by its name or its code."""

    def loss(key, params):
        return params["rate"] * params["units"].astype(float) + jnp.where(
            params["kind"] == "decayed", 5.0, 0.0
        )

    named, columns = (
        px.Problem.from_params(loss, SPACE),
        px.Problem(lambda key, x: x[1] * x[3] + 5 * x[0], SPACE),
    )
    x = SPACE.sample(KEY, 32)
    first, second = (jax.vmap(lambda row, p=problem: p(KEY, row)[0])(x) for problem in (named, columns))
    np.testing.assert_array_equal(first, second)


def test_one_compilation_for_the_same_problem_again():
    """Each call makes a new object around the function."""
    first, second = (px.Problem.from_params(loss, DOMAINS, n_constraints=1) for _ in range(2))
    assert jax.tree.structure(first) == jax.tree.structure(second)
    assert hash(jax.tree.structure(first)) == hash(jax.tree.structure(second))


@pytest.mark.parametrize(
    ("fn", "error", "message"),
    [
        (
            lambda key, params: params["rat"],
            KeyError,
            "fn looks up 'rat', but the parameters are 'kind', 'rate'",
        ),
        (lambda key, params: {"rate": 1}["rates"], KeyError, "fn looks up 'rates'"),
        (lambda key, params: {"x": 1}["rate"], KeyError, "^'rate'"),
        (
            lambda key, params: jnp.ones(3) * params["rate"],
            ValueError,
            r"losses of fn must be one number, got an array of shape \(3,\); n_objectives is 1",
        ),
        (
            lambda key, params: (params["rate"], params["units"] - 9),
            ValueError,
            r"the second value of fn is for constraints, but n_constraints is 0\. Return the losses alone",
        ),
        (lambda params, key: params["rate"], TypeError, "string indexing"),
        (lambda key, params: params["rate"].reshape(3), TypeError, r"^cannot reshape[^\n]*$"),
    ],
)
def test_refusals(fn, error, message):
    problem = px.Problem.from_params(fn, SPACE)
    with pytest.raises(error, match=message):
        px.optimize(KEY, px.tpe(SPACE), problem, 4)
    with pytest.raises(TypeError, match=r"fn must be a function of \(key, params\)"):
        px.Problem.from_params(3, SPACE)
    for wrong in (None, 3, px.Float(0, 1), (px.Float(0, 1), px.Float(0, 1))):
        with pytest.raises(TypeError, match=r"a space must be a parzax\.Space or a dict or other pytree"):
            px.Problem.from_params(loss, wrong)


def test_a_path_is_no_key_of_a_tree():
    problem = px.Problem.from_params(lambda key, params: params["a.b"], {"a": {"b": px.Float(0, 1)}})
    with pytest.raises(
        KeyError, match=r"fn looks up 'a\.b', but the parameters are 'a\.b'; params has the structure"
    ):
        problem(KEY, jnp.ones(1))


def test_a_sampler_of_the_same_parameters_without_the_tree():
    problem = px.Problem.from_params(lambda key, params: params["a"]["b"], {"a": {"b": px.Float(0, 1)}})
    trace = px.optimize(KEY, px.tpe(px.Space({"a.b": px.Float(0, 1)})), problem, 4)
    np.testing.assert_array_equal(trace.x, trace.losses)


def minimum(fn, n_constraints=0):
    """A run is traced, which is when all of this is noticed."""
    problem = px.Problem.from_params(fn, DOMAINS, n_constraints=n_constraints)
    sampler = px.tpe(SPACE, n_constraints=n_constraints)
    return jax.eval_shape(lambda key: px.optimize(key, sampler, problem, 4).x, KEY)


def test_a_condition_is_no_constraint():
    """True counts as 1, which is a violation: size <= limit would ask for the opposite."""
    with pytest.raises(TypeError, match=r"must be numbers, got booleans; return a number that is <= 0"):
        minimum(lambda key, params: (params["rate"], params["units"] <= 16), 1)
    with pytest.raises(TypeError, match=r"must be numbers, got booleans; return a number that is <= 0"):
        minimum(lambda key, params: (params["rate"], [params["units"] <= 16, params["rate"]]), 2)
    with pytest.raises(TypeError, match="the constraints of fn must be numbers, got booleans"):
        px.optimize(KEY, px.tpe(SPACE, n_constraints=1), lambda key, x: (x[:1], x[:1] <= 0.5), 4)
