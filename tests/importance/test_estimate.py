"""Importance from device arrays: the shell's numbers, under jit, vmap, grad and a transfer guard."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COARSE, COARSE_PARITY_GRID, OPTUNA

import parzax as px
from importance.test_encode import CONDITIONAL, conditional_rows

LEVELS = (0.5, 0.1, 0.25)
PLAIN = px.Space({f"x{j}": px.Float(0, 1) for j in range(3)})
# Two regimes with a value, an inactive one, categories and steps; few kinds, so that it compiles fast.
MIXED = px.Space({name: CONDITIONAL[name] for name in ("c", "x", "booster", "depth")})
COLUMNS = [CONDITIONAL.names.index(name) for name in MIXED.names]
ARRAYS = (
    "variance",
    "inter",
    "unweighted",
    "divergence",
    "importance",
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
    found, wanted = jax.device_get(found), expected.estimates
    for name in ARRAYS:
        got, want = getattr(found, name), getattr(wanted, name)
        assert got.shape == want.shape, name
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_array_equal(found.status, wanted.status)


# Case: arguments of `encode`, and those of `estimate`.
CASES = {
    "every kind of condition": ({}, {}),
    "uniform reference": ({"grid": COARSE}, {"reference": "uniform"}),
    "parity, uniform reference": (
        {"grid": COARSE_PARITY_GRID},
        {
            "divergence": px.divergence.Pearson(),
            "uniform_when_undefined": True,
            "reference": "uniform",
        },
    ),
}


def shell(x, loss, encoding, how, weight=None, space=MIXED):
    settings = {name: how[name] for name in ("divergence", "reference") if name in how}
    obs = px.Observations.from_arrays(space, x, loss, weight=weight)
    return px.cond_ped_anova(
        obs,
        LEVELS,
        region=encoding.get("region", 1.0),
        grid=encoding.get("grid", px.Grid()),
        **settings,
        n_resamples=0,
    )


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[] if case.startswith("parity") else pytest.mark.slow) for case in CASES],
)
def test_traced_is_the_shell(case, double):
    """jit(vmap) over seeds of a conditional space: the numbers of `cond_ped_anova` to 1e-12."""
    encoding, how = CASES[case]
    space = CONDITIONAL if case == "every kind of condition" else MIXED
    x, loss = log(space=space)

    @jax.jit
    @jax.vmap
    def importance(x, loss):
        return px.importance.estimate(px.encode(space, x, loss, LEVELS, **encoding), **how)

    expected = shell(x, loss, encoding, how, space=space)
    assert_equal(importance(jnp.asarray(x), jnp.asarray(loss)), expected, 1e-12)


WEIGHTED = {"region": 0.8, "grid": COARSE}


def weighted_log(kind: str) -> tuple[np.ndarray, ...]:
    """Rows, losses and frequency weights of two seeds; whole weights are 0 for some rows.

    With fractional weights losses have no ties: TIED_CUTOFF depends on the order of tied rows then.
    """
    x, loss = log()
    rng = np.random.default_rng(0)
    if kind == "whole":
        return x, loss, rng.integers(0, 4, loss.shape)
    return x, loss + 1e-6 * np.arange(loss.shape[1]), rng.uniform(0, 2, loss.shape)


def weighted_importance(x, loss, weight):
    return px.importance.estimate(px.encode(MIXED, x, loss, LEVELS, weight=weight, **WEIGHTED))


@functools.cache
def traced(kind: str) -> px.importance.Importance:
    """The importances of both seeds under jit(vmap), in float64 and moved to the host."""
    with jax.enable_x64(True):
        return jax.device_get(jax.jit(jax.vmap(weighted_importance))(*weighted_log(kind)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", pytest.param("fractional", marks=pytest.mark.slow)])
def test_weights_and_region(kind, double):
    """The default estimator under jit(vmap), with a region of 0.8: the numbers of `cond_ped_anova`."""
    x, loss, weight = weighted_log(kind)
    assert_equal(traced(kind), shell(x, loss, WEIGHTED, {}, weight.astype(float)), 1e-12)


def test_float32_inputs_are_the_shell_in_float64():
    """Inputs rounded to float32, computed in float32: counts exact, importances to 1e-6.

    Under jit(vmap) nothing goes through the host once the arrays are placed.
    """
    x, loss = log(dtype=np.float32)
    with jax.enable_x64(True):
        # Weights of 1, so that the program is that of the test above.
        expected = shell(x, loss, {"grid": COARSE}, {}, np.ones_like(loss))
    placed = jax.block_until_ready(jax.device_put((np.float32(x), np.float32(loss))))

    def importance(x, loss):
        return px.importance.estimate(px.encode(MIXED, x, loss, LEVELS, grid=COARSE))

    with jax.transfer_guard("disallow"):
        found = jax.jit(jax.vmap(importance))(*placed)
        shares = jax.block_until_ready(found.importance)
    np.testing.assert_array_equal(np.asarray(found.counts), expected.counts)
    np.testing.assert_allclose(np.asarray(shares), expected.importance, atol=1e-6)


def test_eager_is_traced(double):
    """A log by itself: on a device without any transfer, and on the host, where NumPy in gives NumPy out."""
    one = [array[0] for array in weighted_log("whole")]
    placed = jax.block_until_ready(jax.device_put(one))
    with jax.transfer_guard("disallow"):
        eager = jax.block_until_ready(weighted_importance(*placed))
    host = weighted_importance(*one)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(eager))
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(host))
    eager = jax.device_get(eager)
    for name in (*ARRAYS, "status"):
        for array in (getattr(host, name), getattr(traced("whole"), name)[0]):
            np.testing.assert_allclose(array, getattr(eager, name), rtol=1e-12, atol=1e-15)


def test_one_level_keeps_its_axis():
    """A level asked for as a number is one of one level, traced as on the host."""
    x, loss = (array[0] for array in log(60, 1))

    def importance(x, loss):
        return px.importance.estimate(px.encode(MIXED, x, loss, 0.2, grid=COARSE))

    assert jax.eval_shape(importance, *map(jnp.asarray, (x, loss))).variance.shape == (1, len(MIXED))
    assert px.encode(MIXED, x, loss, 0.2, grid=COARSE).status.shape == (1,)


@pytest.mark.slow
def test_gradients_with_respect_to_weights(double):
    """With level sets held fixed they are those of central differences; finite for every row."""
    x = np.random.default_rng(0).uniform(size=(120, 3))
    loss = np.round(np.abs(x[:, 0] - 0.4) + 0.3 * x[:, 1], 2)
    weight = np.random.default_rng(1).uniform(0.6, 1.4, 120)

    @jax.jit
    def value_and_gradients(x, loss, weight, changed):
        """Sum of the variances for changed weights, its gradient, and the gradient through the encoder."""

        def encode(weight):
            return px.encode(PLAIN, x, loss, 0.3, weight=weight, grid=COARSE)

        def total(encoded):
            return px.importance.estimate(encoded).variance[0].sum()

        fixed = encode(weight)
        value = jax.value_and_grad(lambda weight: total(dataclasses.replace(fixed, weight=weight)))
        return *value(changed), jax.grad(lambda weight: total(encode(weight)))(weight)

    _, gradient, through_encode = map(np.asarray, value_and_gradients(x, loss, weight, weight))
    np.testing.assert_allclose(through_encode, gradient, rtol=1e-9, atol=1e-14)
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 1e-5
    step = 1e-6
    for row in (0, 17, 60, 119):
        shift = step * np.eye(120)[row]
        upper, lower = (
            float(value_and_gradients(x, loss, weight, weight + change)[0]) for change in (shift, -shift)
        )
        np.testing.assert_allclose(gradient[row], (upper - lower) / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    "space",
    [PLAIN, MIXED, pytest.param(CONDITIONAL, marks=pytest.mark.slow)],
    ids=["plain", "mixed", "all"],
)
def test_loops_on_an_accelerator(space):
    """Lowered for CUDA: one loop on plain floats, on mixed spaces one more than layout groups at most."""

    def loops(seeds, n, levels):
        def importance(x, loss):
            return px.importance.estimate(px.encode(space, x, loss, levels))

        shapes = (jax.ShapeDtypeStruct(s, jnp.float32) for s in ((seeds, n, len(space)), (seeds, n)))
        traced = jax.jit(jax.vmap(importance)).trace(*shapes)
        return traced.lower(lowering_platforms=("cuda",)).as_text().count("stablehlo.while")

    hundredths = (np.arange(1, 100) / 100).tolist()
    number = loops(400, 5000, hundredths)
    assert number <= (1 if space is PLAIN else len(px.importance.layout.layout(space, px.Grid()).groups) + 1)
    if space is CONDITIONAL:
        assert loops(2, 100, hundredths[:40]) == number


def test_arguments_are_named():
    """Wrong types, a batch without vmap, another reference."""
    x, loss = np.ones((4, 3)), np.arange(4.0)
    encoded = px.encode(PLAIN, x, loss, 0.5)
    with pytest.raises(TypeError, match=r"encoded must be what parzax\.encode"):
        px.importance.estimate(x)
    with pytest.raises(TypeError, match=r"divergence must be one of parzax\.divergence.*got 'explained'"):
        px.importance.estimate(encoded, "explained")
    for name in ("balance", "uniform_when_undefined"):
        with pytest.raises(TypeError, match=f"{name} must be True or False"):
            px.importance.estimate(encoded, **{name: 1})
    with pytest.raises(ValueError, match="reference must be one of"):
        px.importance.estimate(encoded, reference="other")
    batch = jax.tree.map(lambda a: a[None], encoded)
    with pytest.raises(ValueError, match=r"jax\.vmap"):
        px.importance.estimate(batch)


@pytest.mark.parametrize("n", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_rows_and_one(n, double):
    """Nothing is raised: NO_DATA, and importances of 0."""
    found = jax.jit(lambda x, loss: px.importance.estimate(px.encode(PLAIN, x, loss, LEVELS, grid=COARSE)))(
        np.full((n, 3), 0.5), np.ones(n)
    )
    assert (np.asarray(found.status) & int(px.Status.NO_DATA)).all()
    assert (np.asarray(found.importance) == 0).all()
    assert np.isfinite(found.variance).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["default", pytest.param("optuna", marks=pytest.mark.slow)])
def test_a_chain_of_array_functions(name, double):
    """Counts, divergence, variance, shares: `cond_ped_anova`; densities of the papers give Optuna's alone."""
    how, space = OPTUNA if name == "optuna" else {}, px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})
    divergence = how.get("divergence", px.divergence.Explained())
    x = np.random.default_rng(0).uniform(size=(300, 2))
    losses = (x[:, 0] - 0.3) ** 2 + 0.2 * x[:, 1]
    encoded = px.encode(space, jnp.asarray(x), jnp.asarray(losses), [0.1], grid=how.get("grid", px.Grid()))

    def of_densities(counts):
        settings = {"floor": 1e-12, "floor_quartiles": True} if name == "optuna" else {}
        p, q = (px.divergence.grid_density(rows, **settings) for rows in counts)
        return px.divergence.pearson_divergence(p, q)[None]

    def of_counts(counts):
        return divergence.estimate(px.divergence.RegimeCounts(counts, px.kernels.TruncatedNormal))

    def shares(divergence_of):
        variances = []
        for codes, n_codes in zip(encoded.codes, encoded.layout.n_codes, strict=True):
            first_sets = jnp.zeros((3, n_codes), int).at[encoded.level, codes].add(1)
            counts = first_sets[:-1, :-1].cumsum(axis=0)
            sizes = counts.sum(axis=1)
            variances.append(
                px.importance.within_regime_variance(divergence_of(counts), sizes[:1], sizes[1:], sizes[1])
            )
        return px.importance.importance(jnp.stack(variances), balance=name != "optuna")

    obs = px.Observations.from_arrays(space, x, losses)
    wanted = px.cond_ped_anova(obs, 0.1, **how).importance[0]
    found, of_papers = (
        np.asarray(jax.jit(shares, static_argnums=0)(way)) for way in (of_counts, of_densities)
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    difference = np.abs(of_papers - wanted).max()
    assert difference < 1e-12 if name == "optuna" else 1e-4 < difference < 0.04
