"""Importance from device arrays: the shell's numbers, under jit, vmap, grad and a transfer guard."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from importance.test_encode import CONDITIONAL, conditional_rows

LEVELS = (0.5, 0.1, 0.25)
PLAIN = px.Space({f"x{j}": px.Float(0, 1) for j in range(3)})
# Two regimes with a value, an inactive one, categories and steps; few kinds, so that it compiles fast.
MIXED = px.Space({name: CONDITIONAL[name] for name in ("c", "x", "booster", "depth")})
# With fewer cells there are fewer groups to compile.
COARSE = px.Grid(max_cells=12)
COLUMNS = [CONDITIONAL.names.index(name) for name in MIXED.names]
ARRAYS = (
    "variance",
    "inter",
    "unweighted",
    "divergence",
    "share",
    "counts",
    "regime_target",
    "regime_region",
)


def log(
    n: int = 300, seeds: int = 2, dtype=np.float64, space: px.Space = MIXED
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a space for some seeds, and losses with ties."""
    x = np.stack([conditional_rows(n, seed, dtype) for seed in range(seeds)])
    loss = np.abs(x[..., 0] - 0.4) + 0.2 * (x[..., 2] == 1) + 0.1 * np.nan_to_num(x[..., 3]) / 20
    if space is MIXED:
        x = x[..., COLUMNS]
    return x, np.round(loss, 2).astype(dtype).astype(np.float64)


def assert_equal(found, expected: px.ImportanceResult, tolerance: float) -> None:
    wanted = expected.estimates
    for name in ARRAYS:
        got, want = np.asarray(getattr(found, name)), getattr(wanted, name)
        assert got.shape == want.shape, name
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_array_equal(np.asarray(found.status), wanted.status)


CASES = {
    "levels": ({}, {}),
    "region": ({"region": 0.8, "grid": COARSE}, {}),
    "uniform reference": ({"grid": COARSE}, {"reference": "uniform"}),
    "smoothed": ({"grid": COARSE}, {"divergence": px.divergence.Smoothed(), "balance": False}),
    "parity": (
        {"grid": px.Grid.optuna()},
        {"divergence": px.divergence.Pearson(), "balance": False, "uniform_when_undefined": True},
    ),
}


def shell(x, loss, encoding, how, weight=None, space=MIXED):
    names = {name: how[name] for name in ("balance", "uniform_when_undefined") if name in how}
    estimator = px.GridEstimator(
        encoding.get("grid", px.Grid()), how.get("divergence", px.divergence.Explained()), **names
    )
    obs = px.Observations.from_arrays(space, x, loss, weight=weight)
    return px.cond_ped_anova(
        obs,
        LEVELS,
        encoding.get("region", 1.0),
        estimator=estimator,
        reference=how.get("reference", "region"),
    )


@pytest.mark.parametrize("case", CASES)
def test_traced_is_the_shell(case, double):
    """jit(vmap) over seeds of a conditional space: the numbers of `cond_ped_anova` to 1e-12.

    The first case has every kind of domain and of condition.
    """
    encoding, how = CASES[case]
    space = CONDITIONAL if case == "levels" else MIXED
    x, loss = log(space=space)

    @jax.jit
    @jax.vmap
    def importance(x, loss):
        return px.importance.estimate(px.encode(space, x, loss, LEVELS, **encoding), **how)

    expected = shell(x, loss, encoding, how, space=space)
    assert_equal(importance(jnp.asarray(x), jnp.asarray(loss)), expected, 1e-12)


def test_float32_inputs_are_the_shell_in_float64():
    """Inputs rounded to float32, computed in float32: counts exact, importances to 1e-6."""
    x, loss = log(dtype=np.float32)
    with jax.enable_x64(True):
        expected = shell(x, loss, {"grid": COARSE}, {})
    encoded = jax.vmap(lambda x, loss: px.encode(MIXED, x, loss, LEVELS, grid=COARSE))(
        jnp.asarray(x, jnp.float32), jnp.asarray(loss, jnp.float32)
    )
    found = jax.vmap(px.importance.estimate)(encoded)
    np.testing.assert_array_equal(np.asarray(found.counts), expected.counts)
    np.testing.assert_allclose(np.asarray(found.share), expected.importance, atol=1e-6)


@pytest.mark.parametrize("dtype", [int, pytest.param(float, marks=pytest.mark.slow)])
def test_weights(dtype, double):
    """Frequency weights, whole and fractional, under jit; a weight of 0 leaves a row out."""
    x, loss = log(seeds=1)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(x[0])).astype(dtype) if dtype is int else rng.uniform(0, 2, len(x[0]))

    @jax.jit
    def importance(x, loss, weight):
        return px.importance.estimate(px.encode(MIXED, x, loss, LEVELS, weight=weight, grid=COARSE))

    found = importance(*map(jnp.asarray, (x[0], loss[0], weight)))
    assert_equal(found, shell(x[0], loss[0], {"grid": COARSE}, {}, weight.astype(float)), 1e-12)


def test_eager_and_traced_have_the_same_shapes(double):
    """One level asked as a number keeps its axis, eagerly and traced; NumPy in gives NumPy out."""
    x, loss = log(60, 1)

    def importance(x, loss):
        return px.importance.estimate(px.encode(MIXED, x, loss, 0.2, grid=COARSE))

    eager = importance(jnp.asarray(x[0]), jnp.asarray(loss[0]))
    traced = jax.jit(importance)(jnp.asarray(x[0]), jnp.asarray(loss[0]))
    host = importance(x[0], loss[0])
    for name in (*ARRAYS, "status"):
        arrays = [getattr(one, name) for one in (eager, traced, host)]
        assert isinstance(arrays[2], np.ndarray)
        assert not isinstance(arrays[0], np.ndarray)
        for array in arrays[1:]:
            np.testing.assert_allclose(np.asarray(array), np.asarray(arrays[0]), rtol=1e-12, atol=1e-15)
    assert host.variance.shape == (1, len(MIXED))


def test_no_transfers():
    """Nothing goes through the host once the arrays are placed: jitted by the user, and eagerly."""
    x, loss = log(100)
    placed = jax.device_put((np.float32(x), np.float32(loss), np.float32(x[0]), np.float32(loss[0])))
    several, losses, one, own = jax.block_until_ready(placed)

    def importance(x, loss):
        return px.importance.estimate(px.encode(MIXED, x, loss, LEVELS, grid=COARSE))

    with jax.transfer_guard("disallow"):
        found = jax.jit(jax.vmap(importance))(several, losses)
        shares = found.share
        encoded = px.encode(MIXED, one, own, LEVELS, grid=COARSE)
        imp = px.importance.estimate(encoded)
        jax.block_until_ready((shares, imp.share))
    assert shares.shape == (2, 3, len(MIXED))


def test_gradients_with_respect_to_weights(double):
    """With level sets held fixed they are those of central differences; finite for every row."""
    x = jnp.asarray(np.random.default_rng(0).uniform(size=(120, 3)))
    loss = jnp.round(jnp.abs(x[:, 0] - 0.4) + 0.3 * x[:, 1], 2)
    weight = jnp.asarray(np.random.default_rng(1).uniform(0.6, 1.4, 120))
    fixed = px.encode(PLAIN, x, loss, 0.3, weight=weight)

    def of_weight(weight):
        encoded = dataclasses.replace(fixed, weight=weight)
        return px.importance.estimate(encoded).variance[0].sum()

    def through_encode(weight):
        return px.importance.estimate(px.encode(PLAIN, x, loss, 0.3, weight=weight)).variance[0].sum()

    gradient = jax.jit(jax.grad(of_weight))(weight)
    np.testing.assert_allclose(jax.grad(through_encode)(weight), gradient, rtol=1e-9, atol=1e-14)
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 1e-5
    step, value = 1e-6, jax.jit(of_weight)
    for row in (0, 17, 60, 119):
        shift = jnp.zeros(120).at[row].set(step)
        expected = (value(weight + shift) - value(weight - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[row], expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    ("kind", "space"),
    [("plain", PLAIN), ("mixed", MIXED), pytest.param("all", CONDITIONAL, marks=pytest.mark.slow)],
    ids=["plain", "mixed", "all"],
)
def test_loops_on_an_accelerator(kind, space):
    """Lowered for CUDA: one loop on plain floats, on mixed spaces one more than layout groups at most."""

    def loops(seeds, n, levels):
        def importance(x, loss):
            return px.importance.estimate(px.encode(space, x, loss, levels))

        shapes = (jax.ShapeDtypeStruct(s, jnp.float32) for s in ((seeds, n, len(space)), (seeds, n)))
        traced = jax.jit(jax.vmap(importance)).trace(*shapes)
        return traced.lower(lowering_platforms=("cuda",)).as_text().count("stablehlo.while")

    hundredths = (np.arange(1, 100) / 100).tolist()
    numbers = {loops(2, 100, hundredths[:40]), loops(400, 100, hundredths[:40]), loops(2, 5000, hundredths)}
    assert len(numbers) == 1, numbers
    groups = len(px.importance.layout.layout(space, px.Grid()).groups)
    assert numbers.pop() <= (1 if kind == "plain" else groups + 1)


def test_arguments_are_named():
    """Wrong types, a batch without vmap, another reference."""
    x, loss = jnp.ones((4, 3)), jnp.arange(4.0)
    encoded = px.encode(PLAIN, x, loss, 0.5)
    with pytest.raises(TypeError, match=r"encoded must be what parzax\.encode"):
        px.importance.estimate(x)
    with pytest.raises(TypeError, match=r"divergence must be one of parzax\.divergence"):
        px.importance.estimate(encoded, "explained")
    with pytest.raises(ValueError, match="reference must be one of"):
        px.importance.estimate(encoded, reference="other")
    batch = jax.tree.map(lambda a: a[None], encoded)
    with pytest.raises(ValueError, match=r"jax\.vmap"):
        px.importance.estimate(batch)


@pytest.mark.parametrize("n", [0, 1])
def test_no_rows_and_one(n, double):
    """Nothing is raised: NO_DATA, and importances of 0."""
    found = jax.jit(lambda x, loss: px.importance.estimate(px.encode(PLAIN, x, loss, LEVELS)))(
        jnp.ones((n, 3)) / 2, jnp.ones(n)
    )
    assert (np.asarray(found.status) & int(px.Status.NO_DATA)).all()
    assert (np.asarray(found.share) == 0).all()
    assert np.isfinite(found.variance).all()
