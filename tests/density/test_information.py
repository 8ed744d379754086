"""Entropies, divergences and mutual information against SciPy's quadrature and enumeration."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import roots_legendre, xlogy

import parzax as px
from parzax import density
from parzax.density import information

KEY = jax.random.key(0)
LINE = {"x": px.Float(-2, 3)}
MIXED = LINE | {"c": px.Categorical(["a", "b", "d"])}
DIVERGENCES = {
    density.kl: lambda p, q: xlogy(p, p / q),
    density.jensen_shannon: lambda p, q: (xlogy(p, 2 * p / (p + q)) + xlogy(q, 2 * q / (p + q))) / 2,
    density.total_variation: lambda p, q: abs(p - q) / 2,
    density.pearson: lambda p, q: (p - q) ** 2 / q,
}


def fitted(domains: dict, seed: int, n: int = 12) -> px.ParzenEstimator:
    """An estimator of n random rows."""
    space = px.Space(domains)
    rows = np.asarray(space.sample(jax.random.key(seed), n))
    return px.ParzenEstimator.fit(space, rows, np.arange(1.0, n + 1))


def integrated(function, *densities: px.ParzenEstimator) -> float:
    """Integral of a function of densities, by SciPy's rule along x and by enumeration of everything else."""
    places, weights = roots_legendre(40)
    x = np.concatenate([edge + 0.1 * (1 + places) for edge in np.linspace(-2, 3, 26)[:-1]])
    lists = [np.arange(float(domain.n_values)) for (domain,) in densities[0].space.domains[1:]]
    rows = np.stack([v.ravel() for v in np.meshgrid(x, *lists, indexing="ij")], axis=-1)
    values = function(*(np.asarray(p.prob(rows)) for p in densities))
    return 0.1 * np.tile(weights, 25) @ values.reshape(len(x), -1).sum(axis=1)


@pytest.mark.parametrize(
    "domains", [LINE, pytest.param(MIXED, marks=pytest.mark.slow)], ids=["line", "mixed"]
)
def test_quadrature(domains):
    """Catches a wrong formula, weight, Jacobian or unit."""
    with jax.enable_x64(True):
        p, q = fitted(domains, 0), fitted(domains, 1)
        value, error = density.entropy(KEY, p)
        np.testing.assert_allclose(value, integrated(lambda p: -xlogy(p, p), p), rtol=1e-10)
        assert error == 0
        for divergence, function in DIVERGENCES.items():
            rtol = 1e-4 if divergence is density.total_variation else 1e-10
            np.testing.assert_allclose(divergence(KEY, p, q).value, integrated(function, p, q), rtol=rtol)
            np.testing.assert_allclose(divergence(KEY, p, p).value, 0, atol=1e-14)


def test_mutual_information():
    """Catches marginals over the wrong columns: that of x and c is the sum of its parts."""
    with jax.enable_x64(True):
        p = fitted(MIXED, 0)
        entropies = [density.entropy(KEY, part).value for part in (p.marginal("x"), p.marginal("c"), p)]
        wanted = entropies[0] + entropies[1] - entropies[2]
        np.testing.assert_allclose(density.mutual_information(KEY, p, "x", "c").value, wanted, rtol=1e-10)
        swapped = density.mutual_information(KEY, p, ("c",), ("x",)).value
        np.testing.assert_allclose(swapped, wanted, rtol=1e-10)


@pytest.fixture
def drawn(monkeypatch):
    """Estimates from draws, on spaces that a quadrature would do."""
    monkeypatch.setattr(information, "quadrature", lambda *_: None)
    jax.clear_caches()
    yield
    jax.clear_caches()


def calls_of() -> dict:
    """Every function, of densities on a space of a number and a category."""
    p, q = fitted(MIXED, 0), fitted(MIXED, 1)
    calls = {kind: lambda key, n, kind=kind: kind(key, p, q, n=n) for kind in DIVERGENCES}
    calls[density.entropy] = lambda key, n: density.entropy(key, p, n=n)
    calls[density.mutual_information] = lambda key, n: density.mutual_information(key, p, "x", "c", n=n)
    return calls


@pytest.mark.slow
def test_standard_errors_cover(request):
    """Catches a wrong variance, a biased mean, and draws of the wrong density."""
    calls = calls_of()
    exact = {kind: float(call(KEY, 400).value) for kind, call in calls.items()}
    request.getfixturevalue("drawn")
    keys = jax.random.split(KEY, 1000)
    for kind, call in calls.items():
        value, error = map(np.asarray, jax.vmap(lambda key, call=call: call(key, 400))(keys))
        assert abs(value.mean() - exact[kind]) < 4 * value.std() / np.sqrt(len(value)), kind
        assert 0.93 <= np.mean(np.abs(value - exact[kind]) < 1.96 * error) <= 0.97, kind


def value_at(kind, key: jax.Array, by: float, of_weight: bool) -> jax.Array:
    """A divergence from a density whose widths along x have a factor, or the weight of a row."""
    p, q = fitted(MIXED, 0), fitted(MIXED, 1)
    if of_weight:
        rows = np.asarray(p.space.sample(jax.random.key(0), 12))
        weight = jnp.arange(1.0, 13).at[0].multiply(5 * by)
        return kind(key, px.ParzenEstimator.fit(p.space, rows, weight), q, n=400).value
    scale = p.mixture.scale * jnp.stack([jnp.asarray(by, p.scale.dtype), jnp.ones((), p.scale.dtype)])[None]
    return kind(key, replace(p, mixture=replace(p.mixture, scale=scale)), q, n=400).value


def slope(kind, key: jax.Array, of_weight: bool) -> jax.Array:
    """Its derivative by the factor, at 1."""
    return jax.grad(lambda by: value_at(kind, key, by, of_weight))(1.0)


@pytest.mark.slow
def test_derivatives(request):
    """Catches wrong derivatives of a quadrature, and derivatives that draws lose."""
    calls = [(kind, of) for kind in (density.kl, density.pearson) for of in (False, True)]
    with jax.enable_x64(True):
        for kind, of in calls:
            up, down = (value_at(kind, KEY, by, of) for by in (1 + 1e-5, 1 - 1e-5))
            np.testing.assert_allclose(slope(kind, KEY, of), (up - down) / 2e-5, rtol=1e-6)
    exact = [slope(kind, KEY, of) for kind, of in calls]
    request.getfixturevalue("drawn")
    keys = jax.random.split(KEY, 400)
    for (kind, of), truth in zip(calls, exact, strict=True):
        slopes = np.asarray(jax.vmap(lambda key, kind=kind, of=of: slope(kind, key, of))(keys))
        assert abs(slopes.mean() - truth) < 4 * slopes.std() / np.sqrt(len(slopes))


def test_leave_one_out():
    """Catches a row that is its own neighbour, and weights of rows that are ignored."""
    with jax.enable_x64(True):
        p = fitted(LINE, 0)
        rows, weight = p.mixture.rows.unit[:12] * 5 - 2, np.arange(1.0, 13)
        left = []
        for i in range(12):
            others = np.where(np.arange(12) == i, 0, np.asarray(p.weight[:12]))
            mixture = replace(p.mixture, weight=p.mixture.weight.at[:12].set(others / (1 - p.weight[i])))
            mixture = replace(mixture, prior_weight=p.prior_weight / (1 - p.weight[i]))
            left.append(-replace(p, mixture=mixture).log_prob(rows[i]))
        value, error = density.entropy(KEY, p, rows=True)
        np.testing.assert_allclose(value, np.average(np.asarray(left), weights=weight), rtol=1e-12)
        assert error > 0


def test_densities_without_rows_and_refusals():
    """Without rows the prior is the density; sets that overlap and other spaces raise."""
    space = px.Space(MIXED | {"y": px.Float(0, 1, when=px.In("c", ["a"]))})
    p = px.ParzenEstimator.fit(space, np.zeros((0, 3)))
    assert np.isfinite(density.entropy(KEY, p).value)
    with pytest.raises(ValueError, match=r"a batch of estimators of shape \(2,\)"):
        density.entropy(KEY, jax.tree.map(lambda a: jnp.stack([a, a]), p), rows=True)
    with pytest.raises(ValueError, match="both have 'c'"):
        density.mutual_information(KEY, p, "y", "c")
    with pytest.raises(ValueError, match="same space"):
        density.kl(KEY, p, fitted(MIXED, 0))


def test_regimes_of_traced_values_are_not_compared():
    """Catches a divergence between densities whose regimes differ in a way that only values tell."""
    space = px.Space(
        {"c": px.Categorical(["u", "v"]), "x": px.Float(0, 1, when=px.In("c", ["u"])), "y": px.Float(0, 1)}
    )
    pe = px.ParzenEstimator.fit(space, np.array([[0, 0.2, 0.3], [1, np.nan, 0.7]]))

    def apart(a, b):
        of_a, of_b = (pe.conditional({"c": code}) for code in (a, b))
        return px.density.kl(jax.random.key(0), of_a, of_b).value

    with pytest.raises(ValueError, match="p and q must be in the same regimes"):
        jax.vmap(apart)(jnp.array([0, 1]), jnp.array([1, 0]))
