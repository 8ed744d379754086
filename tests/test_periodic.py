"""Numbers on a circle: whatever is computed from rows turns with the rows, and has no seam."""

from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px
from parzax._numerics.circle import log_wrapped_density, log_wrapped_mass, unrolled

TURN = 2 * np.pi
SPACE = px.Space(
    {
        "angle": px.Float(-1, TURN - 1, periodic=True),
        "hour": px.Int(0, 23, periodic=True),
        "day": px.Int(1, 7, periodic=True),
        "x": px.Float(0, 1),
        "tilt": px.Float(0, 360, periodic=True, when=px.Between("x", high=0.6)),
    }
)
STARTS, PERIODS = np.array([-1.0, 0, 1, 0, 0]), np.array([TURN, 24, 7, 1, 360])
# Turns of each parameter that take some rows across the seam; cells of the grid are 1/96 of a continuum.
SHIFTS = [np.array([TURN * 41 / 96, 7, 3, 0, 75]), np.array([2.345, -5, 1, 0, 123.456])]


def turned(x: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return np.where(shift != 0, STARTS + (x - STARTS + shift) % PERIODS, x)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Rows around the seam, and some anywhere."""
    rng = np.random.default_rng(0)
    x = np.asarray(SPACE.sample(jax.random.key(0), 60), np.float64)
    near = np.array([0.3, 2, 1, 0, 20]) * rng.normal(size=(40, 5))
    near[:, 1:3] = near[:, 1:3].round()
    x[:40, [0, 1, 2, 4]] = (STARTS + near % PERIODS)[:, [0, 1, 2, 4]]
    x[:, 4] = np.where(x[:, 3] < 0.6, x[:, 4], np.nan)
    return np.where(np.isnan(x[:, 4:]) & (x[:, 3:4] < 0.6), 1.0, x)


def exact(x: Any, scale: float, width: float) -> tuple[float, float, float]:
    """log density and its slope at x, and the log mass of an arc around x, by mpmath."""
    with mpmath.workdps(60):
        x, s, half = map(mpmath.mpf, (x, scale, width / 2))
        if scale < 1:
            images = [x + k for k in range(-9, 10)]
            terms = [mpmath.exp(-((y / s) ** 2) / 2) / (s * mpmath.sqrt(2 * mpmath.pi)) for y in images]
            slope = -sum(y * term for y, term in zip(images, terms, strict=True)) / s**2
            mass = sum(mpmath.ncdf((half - abs(y)) / s) - mpmath.ncdf((-half - abs(y)) / s) for y in images)
            density = sum(terms)
        else:
            decay, turn = mpmath.exp(-2 * (mpmath.pi * s) ** 2), 2 * mpmath.pi
            density, slope = 1 + 2 * decay * mpmath.cos(turn * x), -2 * decay * turn * mpmath.sin(turn * x)
            mass = 2 * half + 2 * decay * mpmath.cos(turn * x) * mpmath.sin(turn * half) / mpmath.pi
        return float(mpmath.log(density)), float(slope / density), float(mpmath.log(mass))


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])
def test_wrapped_normals_are_mpmaths(dtype):
    """Images of a normal for small scales, a Fourier series for large ones; and their derivatives."""
    at = np.array([0.0, 0.17, 0.4999, 0.5, -0.5, 0.9, -1.0]).astype(dtype)
    scales = np.array([1e-3, 0.03, 0.2, 0.3, 0.3 + 1e-6, 0.45, 1.0, 2.1, 40.0]).astype(dtype)
    x, s, width = (a.ravel() for a in np.meshgrid(at, scales, np.array([1e-3, 1 / 24, 0.9]).astype(dtype)))
    expected = np.array([exact(*map(float, each)) for each in zip(x, s, width, strict=True)]).T
    with jax.enable_x64(dtype == np.float64):
        x, s, width = map(jnp.asarray, (x, s, width))
        value, slope = jax.jit(jax.vmap(jax.value_and_grad(log_wrapped_density)))(x, s)
        mass = jax.jit(log_wrapped_mass)(x - width / 2, x + width / 2, s)
    error = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(value, expected[0], rtol=error, atol=error)
    np.testing.assert_allclose(
        slope * s, expected[1] * np.asarray(s), rtol=error, atol=error / np.asarray(s).min()
    )
    np.testing.assert_allclose(mass, expected[2], rtol=error if dtype == np.float64 else 1e-3, atol=error)


def test_the_seam_has_no_kink():
    """Second derivatives at the seam, at the antipode, and where the formula changes, by differences."""
    with jax.enable_x64(True):
        x, s = jnp.array([0.0, 0.5, -0.5, 1.0, 0.2]), jnp.array([0.1, 0.25, 0.3, 0.30001, 0.8])
        hessian = jax.jit(jax.vmap(jax.hessian(log_wrapped_density, (0, 1))))(x, s)
        step, gradient = 1e-6, jax.jit(jax.vmap(jax.grad(log_wrapped_density, (0, 1))))
        differences = [
            [(a - b) / (2 * step) for a, b in zip(gradient(*up), gradient(*down), strict=True)]
            for up, down in (((x + step, s), (x - step, s)), ((x, s + step), (x, s - step)))
        ]
        np.testing.assert_allclose(jnp.array(hessian), np.array(differences), rtol=1e-5, atol=1e-4)


RULES = [
    px.bandwidth.Scott(),
    px.bandwidth.Neighbours(),
    px.bandwidth.Constant(0.3),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.some(2)
def test_densities_turn_with_their_rows(rule, rows):
    with jax.enable_x64(True):
        pe, at = px.ParzenEstimator.fit(SPACE, rows, bandwidth=rule), rows[::2]
        for shift in SHIFTS:
            other = px.ParzenEstimator.fit(SPACE, turned(rows, shift), bandwidth=rule)
            np.testing.assert_allclose(other.log_prob(turned(at, shift)), pe.log_prob(at), atol=1e-10)
            for name, half in {"hour": 1.5, "angle": 0.2}.items():
                j = SPACE.index(name)
                ends = np.array([-half, half])[:, None] * np.eye(5)[j] + STARTS
                box, moved = (
                    tuple(turned(ends, s * np.eye(5)[j] + 1e-300)[:, j]) for s in (0 * shift, shift)
                )
                np.testing.assert_allclose(other.mass({name: moved}), pe.mass({name: box}), rtol=1e-10)


def test_rows_on_a_small_arc_have_the_bandwidth_of_a_line(rows):
    with jax.enable_x64(True):
        place = jnp.asarray(0.45 + 0.1 * rows[:, 3])
        place = place - (place.min() + place.max()) / 2 + 0.5
        for shift in (0.0, 0.3, 0.97):
            line = jax.jit(unrolled)((place + shift) % 1, jnp.ones(len(place)))
            np.testing.assert_allclose(line, place, atol=1e-14)
        scales = [
            px.ParzenEstimator.fit(px.Space({"a": px.Float(0, 1, periodic=periodic)}), place[:, None]).scale
            for periodic in (False, True)
        ]
        np.testing.assert_allclose(*scales, rtol=1e-12)


def test_masses_moments_and_draws_agree(rows):
    """Masses sum to 1; the mean direction, distribution function and draws are those of the density."""
    with jax.enable_x64(True):
        pe = px.ParzenEstimator.fit(SPACE, rows)
        drawn = np.asarray(pe.sample(jax.random.key(1), 1 << 15))
        assert SPACE.allows(drawn).all()
        for name in ("hour", "angle"):
            j, one = SPACE.index(name), pe.univariate(name)
            low, period = STARTS[j] - (name == "hour") / 2, PERIODS[j]
            turns = 2j * np.pi / period
            if name == "hour":
                value = np.arange(24.0)
                mass = np.asarray(one.prob(value[:, None]))
                np.testing.assert_allclose(one.cdf(value), np.cumsum(mass), rtol=1e-12)
            else:
                value = (
                    low + (np.arange(4096) + 0.5) / 4096 * period
                )  # exact for a smooth function on a circle
                mass = np.asarray(one.prob(value[:, None])) * period / 4096
                levels = np.array([0.03, 0.5, 0.99])
                np.testing.assert_allclose(one.cdf(one.quantile(levels)), levels, rtol=1e-12)
                ends = np.array([[low], [low + period]])
                np.testing.assert_allclose(*one.prob(ends), rtol=1e-12)
            vector = mass @ np.exp(turns * (value - low))
            np.testing.assert_allclose(np.sum(mass), 1, rtol=1e-10)
            mean, variance = one.moments()
            np.testing.assert_allclose(
                (mean - low) % period, np.angle(vector) / turns.imag % period, rtol=1e-9
            )
            np.testing.assert_allclose(variance, -2 * np.log(abs(vector)) / turns.imag**2, rtol=1e-9)
            sampled = np.exp(turns * (drawn[:, j] - low)).mean()
            assert abs(sampled - vector) < 4 / np.sqrt(len(drawn))


def test_the_mode_crosses_the_seam():
    with jax.enable_x64(True):
        space = px.Space({"a": px.Float(0, 1, periodic=True)})
        pe = px.ParzenEstimator.fit(
            space, np.array([[0.93], [0.04], [0.08]]), bandwidth=px.bandwidth.Constant(0.1)
        )
        line = np.linspace(0, 1, 100_001)
        best = line[np.argmax(pe.prob(line[:, None]))]
        assert abs((float(pe.mode()[0]) - best + 0.5) % 1 - 0.5) < 1e-4


def losses_of(x: np.ndarray) -> np.ndarray:
    """Best near the seam of the angle, and in the hours around midnight."""
    return np.cos(x[:, 0] - 2) + 0.5 * np.cos(TURN * (x[:, 1] - 11) / 24) * np.sign(x[:, 3] - 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("divergence", [px.divergence.Explained(), px.divergence.Pearson()])
def test_importances_turn_by_cells(divergence):
    with jax.enable_x64(True):
        x = np.asarray(SPACE.sample(jax.random.key(2), 300), np.float64)
        encoded = px.encode(SPACE, x, losses_of(x), [0.1, 0.3])
        other = px.encode(SPACE, turned(x, SHIFTS[0]), losses_of(x), [0.1, 0.3])
        for reference in ("region", "uniform"):
            one, two = (px.importance.estimate(e, divergence, reference=reference) for e in (encoded, other))
            np.testing.assert_allclose(two.variance, one.variance, atol=1e-12)
            assert one.importance[0, 0] > 0.4
        one, two = map(px.importance.interactions, (encoded, other))
        np.testing.assert_allclose(two.variance, one.variance, atol=1e-12)


def test_cells_are_equal_arcs():
    x = np.random.default_rng(3).uniform(size=(200, 5)) * PERIODS + STARTS
    x[:, 1:3], x[:, 4] = np.floor(x[:, 1:3]), np.where(x[:, 3] < 0.6, x[:, 4], np.nan)
    codes = px.encode(SPACE, x, x[:, 3], 0.5).codes
    np.testing.assert_array_equal(codes[0], np.floor((x[:, 0] + 1) / TURN * 96))
    np.testing.assert_array_equal(codes[1:3], x[:, 1:3].T - STARTS[1:3, None])
    with jax.enable_x64(True):
        np.testing.assert_array_equal(
            px.encode(SPACE, jnp.asarray(x), jnp.asarray(x[:, 3]), 0.5).codes, codes
        )


@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.slow), 6])
def test_suggestions_turn_with_the_state(n, rows):
    """Candidates come from the rows: the prior, which is uniform, draws the same values on every circle."""
    with jax.enable_x64(True):
        space = px.Space({name: SPACE[name] for name in ("angle", "hour", "x")})
        sampler = adjusted(px.tpe, prior_weight=1e-9, repeats=True)(space)
        losses, answers = losses_of(rows), []
        for shift in (0 * SHIFTS[1], *SHIFTS):
            moved = turned(rows, shift)[:, [0, 1, 3]]
            state = sampler.tell(sampler.init(), moved, losses)
            asked = np.asarray(sampler.ask(jax.random.key(4), state, n))
            full = np.insert(asked, [2, 3], 1.0, axis=1)
            answers.append(turned(full, -shift)[:, [0, 1, 3]])
        for other in answers[1:]:
            np.testing.assert_allclose(other[:, 1:], answers[0][:, 1:], atol=1e-8)
            apart = (other[:, 0] - answers[0][:, 0] + TURN / 2) % TURN - TURN / 2
            np.testing.assert_allclose(apart, 0, atol=1e-8)


@pytest.mark.slow
def test_searches_find_an_optimum_at_the_seam():
    """A batch of midpoints, too: the midpoint of 350 and 10 degrees is 0, not 180."""
    space = px.Space({"a": px.Float(0, 360, periodic=True), "b": px.Float(0, 360, periodic=True)})
    problem = px.Problem(lambda key, x: 2 - jnp.cos(jnp.deg2rad(x)).sum(), space)
    keys = jax.random.split(jax.random.key(5), 16)
    for n in (1, 5):
        trace = px.optimize_many(keys, px.tpe(space), problem, 60, n_parallel=n)
        assert np.median(trace.losses.min(axis=1)) < 0.02


def test_domains_say_what_they_are():
    text = SPACE.to_json()
    assert '"periodic": true' in text
    assert px.Space.from_json(text) == SPACE
    assert SPACE["hour"][0] != px.Int(0, 23)
    for wrong in (
        lambda: px.Float(1, 10, log=True, periodic=True),
        lambda: px.Float(0, 1, step=0.25, periodic=True),
        lambda: px.Varying(0, 1, periodic=True),
    ):
        with pytest.raises(ValueError, match="periodic"):
            wrong()
    with pytest.raises(TypeError, match="periodic"):
        px.Int(0, 23, periodic="yes")  # pyright: ignore
