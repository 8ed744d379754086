"""Estimators under `jax.jit`: methods as they are, arrays that stay where they are, blocks by platform."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import log_prob_in
from devices import run_on_devices

import parzax as px

SPACE = px.Space(
    {
        "x": px.Float(0, 1),
        "c": px.Categorical(["a", "b"]),
        "y": px.Float(0, 1, when=px.In("c", ["a"])),
    }
)
FLOATS = px.Space({f"x{j}": px.Float(0, 1) for j in range(3)})


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 2, n)
    y = np.where(c == 0, rng.uniform(size=n), np.nan)
    return jnp.asarray(np.stack([rng.uniform(size=n), c, y], 1), jnp.float32)


@pytest.fixture(scope="module")
def pe():
    return px.ParzenEstimator.fit(SPACE, rows())


@pytest.fixture(scope="module")
def jitted(pe):
    """Methods by name, compiled once for all tests."""
    return {"log_prob": jax.jit(pe.log_prob), "sample": jax.jit(pe.sample, static_argnums=1)}


# --- methods -----------------------------------------------------------------------------------
@pytest.mark.slow
def test_methods_are_jitted_as_they_are(pe, jitted):
    """Values equal the eager ones, also where two methods of equal hash meet within a program."""
    x, key = rows(), jax.random.key(0)
    logs = np.asarray(pe.log_prob(x))
    np.testing.assert_allclose(jitted["log_prob"](x), logs, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(pe.prob)(x), np.exp(logs), rtol=1e-5)
    np.testing.assert_allclose(jitted["sample"](key, 5), pe.sample(key, 5), rtol=1e-5)
    by_name = jax.jit(pe.sample, static_argnames="shape")
    assert by_name.eval_shape(key, shape=5).shape == (5, len(SPACE))
    twice = jax.jit(lambda x: jax.jit(pe.log_prob)(x) + jax.jit(pe.log_prob)(x))
    np.testing.assert_allclose(twice(x), 2 * logs, rtol=1e-5)


def test_equality_of_methods_is_by_identity(pe):
    same_arrays = px.ParzenEstimator.fit(SPACE, rows())
    assert pe.log_prob == pe.log_prob
    assert hash(pe.log_prob) == hash(pe.log_prob)
    assert pe.log_prob != pe.prob
    assert pe.log_prob != same_arrays.log_prob
    assert pe.log_prob.__name__ == "log_prob"
    assert pe.log_prob.__doc__ == px.ParzenEstimator.log_prob.__doc__


def test_estimators_of_the_same_shapes_share_a_program(pe):
    """As an argument its arrays are data; the arrays of a method's estimator are constants."""
    other, x, n_traced = px.ParzenEstimator.fit(SPACE, rows(seed=1)), rows(), []

    def evaluate(log_prob, x):
        n_traced.append(1)
        return log_prob(x)

    by_argument = jax.jit(lambda one, x: evaluate(one.log_prob, x))
    for one in (pe, other):
        np.testing.assert_allclose(by_argument(one, x), one.log_prob(x), rtol=1e-5)
        np.testing.assert_allclose(eqx.filter_jit(one.log_prob)(x), one.log_prob(x), rtol=1e-5)
    assert len(n_traced) == 1


# --- transfers ---------------------------------------------------------------------------------
def test_nothing_is_transferred_after_a_first_call(pe, jitted):
    """JAX arrays, by public methods and under the user's own jit: nothing comes from the host."""
    x, key, weight = rows(), jax.random.key(0), jnp.ones(40)
    share, fit = jnp.asarray(0.5), jax.jit(lambda x: px.ParzenEstimator.fit(SPACE, x))
    calls = {
        "fit": lambda: px.ParzenEstimator.fit(SPACE, x),
        "fit, weights": lambda: px.ParzenEstimator.fit(
            SPACE, x, weight, mixture_weight=weight, top=share, prior_weight=share
        ),
        "log_prob": lambda: pe.log_prob(x),
        "prob": lambda: pe.prob(x, "unit"),
        "sample": lambda: pe.sample(key, 5),
        "jitted fit": lambda: fit(x),
        "jitted log_prob": lambda: jitted["log_prob"](x),
        "jitted sample": lambda: jitted["sample"](key, 5),
    }
    for name, call in calls.items():
        call()
        with jax.transfer_guard("disallow"):
            try:
                call()
            except jax.errors.JaxRuntimeError as error:
                pytest.fail(f"{name}: {error}")


# --- blocks ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("platform", "n_blocks"), [("cpu", 20), ("cuda", 1)])
def test_blocks_suit_the_platform(platform, n_blocks):
    """10^4 points x 1024 kernels: 20 blocks of 2^19 pairs in a CPU's cache, one on a GPU."""
    pe = px.ParzenEstimator.fit(FLOATS, jnp.full((1024, 3), 0.5))
    points = jax.ShapeDtypeStruct((10_000, 3), np.float32)
    lowered = jax.jit(pe.log_prob).trace(points).lower(lowering_platforms=(platform,))
    text = lowered.as_text()
    loops = re.findall(r"stablehlo.constant dense<20> : tensor<i32>", text)
    assert ("stablehlo.while" in text) == (n_blocks > 1)
    assert bool(loops) == (n_blocks > 1)


@pytest.mark.parametrize("n", [4099, *(pytest.param(n, marks=pytest.mark.slow) for n in (4160, 5000))])
def test_blocks_do_not_show(n):
    """Points in blocks, with a padded last one, have the values and slopes of points one by one."""
    rng = np.random.default_rng(0)
    pe = px.ParzenEstimator.fit(FLOATS, jnp.asarray(rng.uniform(size=(1000, 3)), jnp.float32))
    x = jnp.asarray(rng.uniform(size=(n, 3)), jnp.float32)
    few = np.r_[0:60, n // 2 : n // 2 + 60, n - 60 : n]

    def value_and_slope(x):
        return jax.value_and_grad(lambda x: (log_prob_in("product", pe, x) ** 2).sum())(x)

    every, some = (np.asarray(log_prob_in("product", pe, at)) for at in (x, x[few]))
    np.testing.assert_allclose(every[few], some, rtol=1e-5, atol=1e-5)
    every, some = (np.asarray(jax.jit(value_and_slope)(at)[1]) for at in (x, x[few]))
    np.testing.assert_allclose(every[few], some, rtol=1e-3, atol=1e-3)


# --- several devices ---------------------------------------------------------------------------
SCRIPT = """
import json, re
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import parzax as px
from densities import log_prob_in

space = px.Space({
    "x": px.Float(0, 1), "c": px.Categorical(["a", "b"]), "k": px.Int(1, 9),
    "y": (px.Float(0, 1, when=px.In("c", ["a"])), px.Int(1, 40, when=px.In("c", ["b"]))),
})
rng = np.random.default_rng(0)

def rows(n):
    c = rng.integers(0, 2, n)
    y = np.where(c == 0, rng.uniform(size=n), rng.integers(1, 40, n))
    return np.stack([rng.uniform(size=n), c, rng.integers(1, 10, n), y], 1).astype(np.float32)

pe = px.ParzenEstimator.fit(space, jnp.asarray(rows(1000)))
mesh = jax.make_mesh((4,), ("points",), axis_types=(AxisType.Auto,))
out = {}
for n, forms in CASES.items():
    x = jnp.asarray(rows(n))
    sharded = jax.device_put(x, NamedSharding(mesh, P("points")))
    for form in forms:
        log_prob = jax.jit(lambda x: log_prob_in(form, pe, x))
        compiled = log_prob.lower(sharded).compile()
        collective = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
        value = compiled(sharded)
        out[f"{n} {form}"] = {
            "collectives": len(re.findall(collective, compiled.as_text())),
            "loops": len(re.findall("while", compiled.as_text())),
            "sharding": str(value.sharding.spec),
            "difference": float(jnp.abs(jnp.asarray(np.asarray(value)) - log_prob(x)).max()),
        }
eager = pe.log_prob(sharded)
out["eager"] = str(eager.sharding.spec)
print(json.dumps(out))
"""


FORMS = ("product", "pairwise")
# Numbers of points, the larger one in blocks, and forms. A process and each form compile for seconds.
CASES = {400: FORMS, 4 * 1021: FORMS}


@pytest.mark.slow
def test_sharded_points_need_no_collective():
    """In every form, in blocks or not; the values are those of one device, and lie as the points do."""
    found = run_on_devices(f"CASES = {CASES}\n" + SCRIPT)
    assert "points" in found.pop("eager")
    assert len(found) == sum(map(len, CASES.values()))
    for name, case in found.items():
        assert case["collectives"] == 0, name
        assert "points" in case["sharding"], name
        assert case["difference"] < 1e-4, name
