"""Probabilities of boxes, densities of one parameter, distribution functions and quantiles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import parzax as px

from .spaces import SPACE

BOXES = [
    {"c": "a"},
    {"c": ["a", "d"], "y": (0.2, 0.5)},
    {"k": (4, 10)},
    {"k": None},
    {"x": (0.01, 0.1)},
    {"x": (3, 4)},
    {"x": None, "z": [0, 2]},
    {"k": (5, 5), "y": (-3, 0.2)},
    {"z": (1, 3), "y": (0.25, 0.9), "k": (2, 3)},
    {"k": (5.2, 5.8)},
    {"x": (0.1, 0.01), "c": "a"},
]


@pytest.fixture(scope="module")
def fitted() -> tuple[px.ParzenEstimator, np.ndarray]:
    """An estimator in float64, and many draws from it."""
    with jax.enable_x64(True):
        rows = np.asarray(SPACE.sample(jax.random.key(0), 15))
        pe = px.ParzenEstimator.fit(SPACE, rows, np.arange(1.0, 16))
        return pe, np.asarray(pe.sample(jax.random.key(1), (1 << 17,)))


def inside(x: np.ndarray, box: dict) -> np.ndarray:
    """Which configurations are in a box."""
    out = np.ones(len(x), bool)
    for name, given in box.items():
        column = x[:, SPACE.index(name)]
        if given is None:
            out &= np.isnan(column)
        elif isinstance(given, tuple):
            out &= (column >= given[0]) & (column <= given[1])
        else:
            choices = SPACE["c"][0].choices
            out &= np.isin(
                column, [choices.index(v) if isinstance(v, str) else v for v in np.atleast_1d(given)]
            )
    return out


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_mass_of_a_box(fitted, box):
    """Catches a wrong condition, bound, regime or cell: the share of draws in the box."""
    pe, draws = fitted
    with jax.enable_x64(True):
        mass = float(pe.mass(box))
    share = inside(draws, box).mean()
    assert abs(mass - share) < 5 * np.sqrt(mass * (1 - mass) / len(draws)) + 1e-12


def test_boxes_that_fill_the_space_sum_to_one(fitted):
    """Catches masses that are lost between pieces."""
    pe, _ = fitted
    with jax.enable_x64(True):
        parts = [{"x": (1e-3, 0.05)}, {"x": (0.05, 1)}, {"x": (2, 7)}, {"x": None}]
        np.testing.assert_allclose(sum(pe.mass(part) for part in parts), 1, rtol=1e-12)
        cells = [{"c": c, "z": z} for c in "abd" for z in (None, 0, 1, 2, 3)]
        np.testing.assert_allclose(sum(pe.mass(cell) for cell in cells), 1, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "regime"),
    [
        ("x", 0),
        pytest.param("x", 1, marks=pytest.mark.slow),
        ("k", 0),
        ("z", 0),
        pytest.param("y", 0, marks=pytest.mark.slow),
    ],
)
def test_density_of_one_parameter(fitted, name, regime):
    """Its distribution function is that of the draws in the domain, and the integral of its density."""
    pe, draws = fitted
    column, domain = draws[:, SPACE.index(name)], SPACE[name][regime]
    low, high = float(domain.low), float(domain.high)
    column = np.sort(column[(column >= low) & (column <= high)])
    with jax.enable_x64(True):
        one = pe.univariate(name, regime)
        level = np.linspace(0.01, 0.99, 23)
        at = np.asarray(one.quantile(level))
        shares = np.searchsorted(column, at, side="right") / len(column)
        np.testing.assert_allclose(one.cdf(at), shares, atol=5 * 0.5 / np.sqrt(len(column)))
        if domain.n_values is None:
            np.testing.assert_allclose(one.cdf(at), level, rtol=1e-10)
            density = jax.jit(lambda x: one.prob(x[None]))
            integral = quad(lambda x: float(density(x)), low, at[11], epsabs=1e-12, limit=200)[0]
            np.testing.assert_allclose(integral, level[11], rtol=1e-8)
            slope = jax.grad(lambda level: one.quantile(level))(0.4)
            difference = (one.quantile(0.4 + 1e-6) - one.quantile(0.4 - 1e-6)) / 2e-6
            np.testing.assert_allclose(slope, difference, rtol=1e-5)
        else:
            assert (one.cdf(at) >= level).all()
            assert (np.asarray(one.cdf(at - 1)) < level).all()
        np.testing.assert_array_equal(one.cdf(np.array([low - 1, high, high + 1])), [0, 1, 1])
        np.testing.assert_array_equal(one.quantile(np.array([0.0, 1.0]))[1], high)


def test_boxes_that_are_refused(fitted):
    """Unknown names and choices, and densities of several numbers, name the remedy."""
    pe, _ = fitted
    with jax.enable_x64(True):
        for call, message in (
            (lambda: pe.mass({"c": "e"}), "cannot be 'e'"),
            (lambda: pe.mass({"w": 1}), "no parameter 'w'"),
            (lambda: pe.cdf(0.5), r"univariate\(name\)"),
            (lambda: pe.univariate("c").cdf(0.5), "density of one number"),
        ):
            with pytest.raises(ValueError, match=message):
                call()


def test_traced_and_batched(fitted):
    """The same numbers under jit and vmap, and no compilation for other values."""
    pe, _ = fitted
    with jax.enable_x64(True):
        one = pe.univariate("x", 1)
        many = jnp.linspace(2.1, 6.9, 5)
        np.testing.assert_allclose(jax.vmap(one.cdf)(many), one.cdf(many), rtol=1e-12)
        np.testing.assert_allclose(
            jax.jit(lambda pe: pe.mass({"k": (4, 10)}))(pe), pe.mass({"k": (4, 10)}), rtol=1e-12
        )


def test_moments_and_mode():
    """Catches moments on the axis instead of native units, and a mode below that of a fine grid."""
    with jax.enable_x64(True):
        space = px.Space({"x": px.Float(1e-2, 10, log=True), "y": px.Float(-1, 1), "k": px.Int(0, 9)})
        pe = px.ParzenEstimator.fit(space, np.asarray(space.sample(jax.random.key(0), 9)))
        one = pe.univariate("x")
        density = jax.jit(lambda x: one.prob(x[None]))

        def raw(power: int) -> float:
            return quad(lambda x: x**power * float(density(x)), 1e-2, 10, epsabs=1e-13, limit=300)[0]

        np.testing.assert_allclose(one.moments(), (raw(1), raw(2) - raw(1) ** 2), rtol=1e-8)
        values = np.arange(10.0)
        mass = np.asarray(pe.univariate("k").prob(values[:, None]))
        variance = mass @ values**2 - (mass @ values) ** 2
        np.testing.assert_allclose(pe.univariate("k").moments(), (mass @ values, variance), rtol=1e-12)
        grid = np.stack(
            [a.ravel() for a in np.meshgrid(np.geomspace(1e-2, 10, 300), np.linspace(-1, 1, 300))], -1
        )
        pe = pe.marginal("x", "y")
        assert pe.log_prob(pe.mode(), "unit") >= pe.log_prob(grid, "unit").max()
