"""px.Problem: shapes, kinds, what is static and what is traced."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

import parzax as px

SPACE = px.Space({"x": px.Float(-1, 1), "y": px.Float(-1, 1)})
KEY = jax.random.key(0)
X = jnp.array([0.5, -0.25])


def total(key, x):
    return jnp.sum(x)


def both(key, x):
    return x, jnp.stack([x[0], x[1], x[0]])


@pytest.mark.parametrize(
    ("fn", "m", "c"),
    [
        (total, 1, 0),
        (lambda key, x: x[:1], 1, 0),
        (lambda key, x: [x[0], x[1]], 2, 0),
        (lambda key, x: (x[0], x[1]), 1, 1),
        (lambda key, x: (x[0], ()), 1, 0),
        (both, 2, 3),
        (lambda key, x: (1, True), 1, 1),
    ],
)
def test_shapes(fn, m, c):
    """Scalars are promoted, integers become floats, no constraints are an empty array."""
    problem = px.Problem(fn, SPACE, m, c)
    eager = problem(KEY, X)
    for values in (eager, jax.jit(problem.__call__)(KEY, X)):
        assert [v.shape for v in values] == [(m,), (c,)]
        assert all(v.dtype == jnp.float32 for v in values)
        for one, other in zip(values, eager, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("fn", "m", "c", "error", "message"),
    [
        (total, 2, 0, ValueError, r"losses of fn must have shape \(2,\), got \(\)"),
        (total, 1, 1, ValueError, "must return .losses, constraints., because n_constraints = 1"),
        (both, 1, 3, ValueError, r"losses of fn must be one number, got an array of shape \(2,\)"),
        (both, 2, 0, ValueError, "the second value of fn is for constraints, but n_constraints is 0"),
        (lambda key, x: (x[0], x[1], x[0]), 3, 0, ValueError, "belong in one array"),
        (lambda key, x: (x[0], x[1]), 2, 0, ValueError, r"for constraints, .* such as jnp.stack\(\[a, b\]\)"),
        (lambda key, x: None, 1, 0, TypeError, "must be numbers, got NoneType"),
        (lambda key, x: "good", 1, 0, TypeError, "must be numbers, got str"),
        (lambda key, x: jax.lax.complex(x[0], x[1]), 1, 0, TypeError, "real numbers, got dtype complex64"),
    ],
)
def test_wrong_results(fn, m, c, error, message):
    """Named while tracing, not somewhere inside a scan."""
    problem = px.Problem(fn, SPACE, m, c)
    with pytest.raises(error, match=message):
        jax.eval_shape(problem, KEY, X)


@pytest.mark.parametrize(
    ("key", "x", "error", "message"),
    [
        (KEY, jnp.zeros(3), ValueError, r"x must have shape \(2,\), got \(3,\); use jax.vmap"),
        (KEY, jnp.zeros((5, 2)), ValueError, "use jax.vmap for a batch"),
        (KEY, ["red", "blue"], TypeError, "x must be numbers"),
        (jax.random.split(KEY, 2), X, ValueError, r"key must be one key, got shape \(2,\)"),
        (X, KEY, TypeError, "key must be a typed key.*float32"),
        (jax.random.PRNGKey(0), X, TypeError, "key must be a typed key.*uint32"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_wrong_calls(key, x, error, message):
    with pytest.raises(error, match=message):
        px.Problem(total, SPACE)(key, x)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, SPACE), TypeError, "fn must be a function"),
        ((total, {"x": 1}), TypeError, "space must be a parzax.Space, got dict"),
        ((total, SPACE, 0), ValueError, "n_objectives must be a whole number of at least 1"),
        ((total, SPACE, 1, -1), ValueError, "n_constraints must be a whole number of at least 0"),
        ((total, SPACE, 1.0), ValueError, "n_objectives must be a whole number"),
        ((total, SPACE, True), ValueError, "n_objectives must be a whole number"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        px.Problem(*arguments)


def test_wrong_names():
    with pytest.raises(TypeError, match="name must be a string"):
        px.Problem(total, SPACE, name=3)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"feasible_optimum must be one number, got an array of shape \(2,\)"
    ):
        px.Problem(total, SPACE, feasible_optimum=[1.0, 2.0])


def test_names():
    assert px.Problem(total, SPACE).name == "total"
    assert px.Problem(total, SPACE, name="sum").name == "sum"


class Shifted(eqx.Module):
    shift: jax.Array

    def __call__(self, key, x):
        return jnp.sum((x - self.shift) ** 2), x[0] - self.shift


@pytest.mark.parametrize("make", [Shifted, lambda s: Partial(lambda s, key, x: Shifted(s)(key, x), s)])
def test_leaves_of_a_callable_are_batched(make):
    """vmap over the numbers that a problem depends on = a loop over problems."""
    shifts = jnp.array([-0.5, 0.0, 0.75])
    batch = jax.vmap(lambda s: px.Problem(make(s), SPACE, n_constraints=1, name="shifted"))(shifts)
    values, constraints = jax.jit(jax.vmap(lambda p: p(KEY, X)))(batch)
    for i, shift in enumerate(shifts):
        one, two = px.Problem(make(shift), SPACE, n_constraints=1)(KEY, X)
        np.testing.assert_allclose(values[i], one, rtol=1e-6)  # one rounding of a fused product
        np.testing.assert_array_equal(constraints[i], two)


def test_keys_and_scan():
    """Noise comes from the key alone; a problem is the carry of a scan and an argument of jit; one trace."""
    traces = []

    def noisy(key, x):
        traces.append(1)
        return jnp.sum(x) + jax.random.normal(key)

    problem = px.Problem(noisy, SPACE)
    assert jax.tree.leaves(problem) == []
    keys = jax.random.split(KEY, 4)

    @jax.jit
    def run(problem, keys):
        return jax.lax.scan(lambda p, key: (p, p(key, X)[0]), problem, keys)[1]

    trace = run(problem, keys)
    run(px.Problem(noisy, SPACE), keys)
    assert len(traces) == 1
    np.testing.assert_allclose(trace[:, 0], 0.25 + jax.vmap(jax.random.normal)(keys), rtol=1e-6)
    np.testing.assert_array_equal(jax.vmap(problem, in_axes=(0, None))(keys, X)[0], trace)
