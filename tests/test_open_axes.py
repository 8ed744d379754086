"""Densities of numbers without bounds, or with one: SciPy's estimators are the oracle."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gaussian_kde, truncnorm

import parzax as px

INF = np.inf
DOMAINS = [
    px.Float(-INF, INF),
    px.Float(0, INF),
    px.Float(-INF, 3),
    px.Float(0, INF, log=True),
    px.Float(0.01, INF, log=True),
]
LEVELS = np.array([1e-3, 0.3, 0.9, 0.999])


def rows_of(domain: px.Float, n: int = 40) -> np.ndarray:
    rng = np.random.default_rng(n)
    if domain.low == -INF:
        return (min(domain.high, 1000) - rng.gamma(2, 3, n))[:, None]
    return (domain.low + rng.gamma(2, 3, n))[:, None]


def test_one_axis_is_scipys_gaussian_kde():
    x, at = rows_of(DOMAINS[0]), np.linspace(900, 1100, 101)
    weight = np.arange(1.0, len(x) + 1)
    with jax.enable_x64(True):
        pe = px.ParzenEstimator.fit(px.Space({"x": DOMAINS[0]}), x, weight, prior_weight=0)
        width = float(pe.scale[0, 0])
        peer = gaussian_kde(x[:, 0], 1.0, weight)
        peer.set_bandwidth(width / np.sqrt(peer.covariance[0, 0]))
        np.testing.assert_allclose(pe.log_prob(at[:, None]), peer.logpdf(at), rtol=1e-12)
        assert 0.2 < width / x.std() < 0.8


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.some(1)
def test_kernels_are_normals_truncated_at_the_bound(domain):
    """Each on the log axis, if the domain has one; masses, quantiles and draws are those of the density."""
    with jax.enable_x64(True):
        space, x = px.Space({"x": domain}), rows_of(domain)
        pe = px.ParzenEstimator.fit(space, x)
        place, scale = (np.asarray(a)[:, 0] for a in (pe.mixture.kernels()[0].unit, pe.mixture.kernels()[1]))
        weight = np.append(pe.weight, pe.prior_weight)
        low, high = domain.axis.ends
        kernels: Any = truncnorm((low - place) / scale, (high - place) / scale, place, scale)
        origin = float(domain.axis.start)
        at = x[:5, 0]
        unit = (np.log(at) if domain.log else at) - origin
        expected = np.log(kernels.pdf(unit[:, None]) @ weight) - (np.log(at) if domain.log else 0)
        np.testing.assert_allclose(pe.log_prob(x[:5]), expected, rtol=1e-11)
        np.testing.assert_allclose(pe.cdf(at), kernels.cdf(unit[:, None]) @ weight, rtol=1e-11)
        values = np.asarray(pe.quantile(LEVELS))
        np.testing.assert_allclose(pe.cdf(values), LEVELS, rtol=1e-10)
        mass = quad(lambda t: float(pe.prob(np.array([t]))), *values[[0, -1]], limit=200)[0]
        np.testing.assert_allclose(mass, 0.998, rtol=1e-8)
        np.testing.assert_allclose(pe.mass({"x": tuple(values[1:3])}), 0.6, rtol=1e-10)
        np.testing.assert_allclose(pe.mass({"x": (-1e30, 1e30)}), 1, rtol=1e-12)
        drawn = np.asarray(pe.sample(jax.random.key(0), 4000))
        assert space.allows(drawn).all()
        assert abs((drawn[:, 0] <= values[1]).mean() - 0.3) < 0.03
        best = pe.mode()
        assert (pe.log_prob(best, "unit") >= pe.log_prob(drawn, "unit").max() - 1e-6).all()
        np.testing.assert_array_equal(pe.log_prob(np.array([[np.nan], [INF], [-INF]])), -INF)
        assert px.Space.from_json(space.to_json()) == space


@pytest.mark.parametrize("rule", [px.bandwidth.Scott(), px.bandwidth.Neighbours()])
def test_densities_follow_the_unit_of_the_rows(rule):
    with jax.enable_x64(True):
        space, x = px.Space({"x": DOMAINS[0]}), rows_of(DOMAINS[0]) - 1000
        pe, other = (px.ParzenEstimator.fit(space, rows, bandwidth=rule) for rows in (x, 1e3 * x - 50))
        np.testing.assert_allclose(other.log_prob(1e3 * x - 50), pe.log_prob(x) - np.log(1e3), rtol=1e-9)


SPACE = px.Space(
    {
        "a": px.Float(-INF, INF),
        "c": px.Categorical(["u", "v"]),
        "b": (px.Float(0, INF, when=px.In("c", ["v"])), px.Float(-1, 1)),
    }
)


def mixed_rows(n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    c = rng.integers(0, 2, n)
    return np.stack([rng.normal(5, 2, n), c, np.where(c, rng.exponential(1, n), rng.uniform(-1, 1, n))], -1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [*(pytest.param(n, marks=pytest.mark.slow) for n in (0, 1)), 30])
def test_conditional_times_marginal_is_joint(n):
    with jax.enable_x64(True):
        x, at = mixed_rows(n), mixed_rows(5)
        pe = px.ParzenEstimator.fit(SPACE, x)
        for row in at:
            given = {"a": row[0], "c": int(row[1])}
            parts = pe.marginal("a", "c").log_prob(row[:2]) + pe.conditional(given).log_prob(row[2:])
            np.testing.assert_allclose(parts, pe.log_prob(row), rtol=1e-10)
        traced = jax.jit(lambda x: px.ParzenEstimator.fit(SPACE, x).log_prob(jnp.asarray(at)))
        np.testing.assert_allclose(traced(jnp.asarray(x)), pe.log_prob(at), rtol=1e-10)


def test_ranges_without_an_end():
    """Their masses are those of the distribution function."""
    for domain in DOMAINS[:3]:
        rows = rows_of(domain)
        pe = px.ParzenEstimator.fit(px.Space({"x": domain}), rows)
        below = float(pe.cdf(rows[0, 0]))
        masses = [pe.mass({"x": ends}) for ends in ((-INF, rows[0, 0]), (rows[0, 0], INF), (-INF, INF))]
        np.testing.assert_allclose(masses, [below, 1 - below, 1], rtol=1e-5)


def test_gradients_are_differences():
    """With respect to rows and points, at the bound too."""
    with jax.enable_x64(True):
        x, at = jnp.asarray(mixed_rows(12)), jnp.asarray(mixed_rows(3)).at[0].set(jnp.array([4.0, 1.0, 0.0]))

        def total(x, at):
            return px.ParzenEstimator.fit(SPACE, x).log_prob(at).sum()

        slopes, step = jax.jit(jax.grad(total, (0, 1)))(x, at), 1e-6
        value = jax.jit(total)
        for i, j in ((0, 0), (3, 2), (7, 2), (9, 0)):
            difference = (value(x.at[i, j].add(step), at) - value(x.at[i, j].add(-step), at)) / (2 * step)
            np.testing.assert_allclose(slopes[0][i, j], difference, rtol=1e-6, atol=1e-8)
        for i, j in ((1, 0), (2, 2)):
            difference = (value(x, at.at[i, j].add(step)) - value(x, at.at[i, j].add(-step))) / (2 * step)
            np.testing.assert_allclose(slopes[1][i, j], difference, rtol=1e-6, atol=1e-8)
        assert all(np.isfinite(slope).all() for slope in slopes)


@pytest.mark.usefixtures("double")
def test_what_needs_bounds_asks_for_them():
    x = mixed_rows(30)
    for call in (
        lambda: SPACE.sample(jax.random.key(0), 2),
        lambda: px.tpe(SPACE),
        lambda: px.encode(SPACE, x, x[:, 0], 0.5),
        lambda: px.surrogate.GaussianProcess().fit(SPACE, x, x[:, 0]),
        lambda: px.ParzenEstimator.fit(SPACE, x).marginal("a").moments(),
    ):
        with pytest.raises(ValueError, match="bounds"):
            call()
    wrong: Any = [
        (0, INF, {"step": 1}),
        (-INF, 0, {"log": True}),
        (0, INF, {"periodic": True}),
        (INF, INF, {}),
    ]
    for low, high, options in wrong:
        with pytest.raises(ValueError, match="Float"):
            px.Float(low, high, **options)
