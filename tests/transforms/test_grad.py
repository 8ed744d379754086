"""Gradients with respect to float counts and masses: finite everywhere, right where smooth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from array_functions import density_of

import parzax as px

COUNTS = {
    "spread": [1.0, 4.0, 2.0, 5.0, 3.0, 1.5, 2.5],
    "with zeros": [0.0, 3.0, 0.0, 0.0, 2.0, 0.0, 1.0],
    "one occupied cell": [0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0],
    "one row": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    "empty": [0.0] * 7,
    "fractions": [0.1, 0.0, 0.2, 0.0, 0.3, 0.0, 0.0],
    "huge": [1e6, 0.0, 3e6, 1e6, 0.0, 0.0, 2e6],
}


# Compiled once per precision: all examples have one shape.
_JACOBIANS = {
    kind: (jax.jit(jax.jacrev(density_of(kind))), jax.jit(jax.jacfwd(density_of(kind))))
    for kind in ("numeric", "categorical")
}


def _finite_differences(function, x, h):
    out = []
    for i in range(len(x)):
        step = np.zeros(len(x))
        step[i] = h
        out.append((function(jnp.asarray(x + step)) - function(jnp.asarray(x - step))) / (2 * h))
    return np.array(out)


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_density_gradient_is_finite(counts, kind, x64):
    """Catches sqrt at zero spread, 0 ** -0.2 at no rows, and 0/0 of shares."""
    counts = jnp.asarray(counts)
    for jacobian in _JACOBIANS[kind]:
        assert bool(jnp.isfinite(jacobian(counts)).all())


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_density_gradient_is_right(kind, double):
    """Against central differences where all cells are occupied (quartiles and occupation then hold still)."""
    x = np.array(COUNTS["spread"])
    weights = jnp.asarray(np.random.default_rng(0).normal(size=7))

    @jax.jit
    def function(counts):
        return (weights * density_of(kind)(counts)).sum()

    # Central differences at 1e-5: truncation 1e-10, rounding 1e-11.
    np.testing.assert_allclose(
        jax.grad(function)(jnp.asarray(x)), _finite_differences(function, x, 1e-5), rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.2, 0.3, 0.5], [0.1, 0.6, 0.3]),
        ([0.0, 0.5, 0.5], [0.1, 0.6, 0.3]),
        ([0.0, 0.5, 0.5], [0.0, 0.6, 0.4]),
        ([0.0, 0.0, 1.0], [0.0, 0.0, 1.0]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ],
)
def test_divergence_gradient(p, q, x64):
    """Finite where the value is, cells empty in both included; right where q > 0."""
    p, q = jnp.asarray(p), jnp.asarray(q)
    for argument in (0, 1):
        gradient = np.asarray(jax.grad(px.divergence.pearson_divergence, argument)(p, q))
        assert np.isfinite(gradient).all()
        safe = np.where(q > 0, q, 1)
        exact = 2 * (p - q) / safe if argument == 0 else 1 - np.square(p / safe)
        np.testing.assert_allclose(gradient, np.where(q > 0, exact, 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_region", [[4.0, 3.0, 2.0], [4.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
def test_within_variance_gradient(n_region, double):
    """Finite with regimes that have no row; right where every regime has some."""
    divergence, n_target = np.array([0.5, 2.0, 0.1]), np.minimum(np.array([2.0, 1.0, 0.5]), n_region)
    region, total = np.array(n_region), 9.0
    for argument in range(3):
        args = [jnp.asarray(divergence), jnp.asarray(n_target), jnp.asarray(region)]

        def function(x, argument=argument, args=args):
            return px.importance.within_regime_variance(
                *args[:argument], x, *args[argument + 1 :], jnp.asarray(total)
            )

        gradient = jax.grad(function)(args[argument])
        assert bool(jnp.isfinite(gradient).all())
        if region.all():
            expected = _finite_differences(function, np.asarray(args[argument]), 1e-6)
            np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-9)


def test_padding_does_not_poison(x64):
    """Gradients of a density by its kernels' places are finite, and 0 for the rows that pad them."""
    pe = px.ParzenEstimator.fit(px.Space({"x": px.Float(0, 1)}), np.array([[0.1], [0.9], [0.5]]))
    unit = pe.mixture.rows.unit
    assert len(unit) > 3
    assert bool(jnp.isfinite(unit).all())

    def log_prob(unit):
        moved = eqx.tree_at(lambda own: own.mixture.rows.unit, pe, unit)
        return moved.log_prob(jnp.array([[0.3], [0.9]], unit.dtype)).sum()

    gradient = np.asarray(jax.jit(jax.grad(log_prob))(unit))
    assert np.isfinite(gradient).all()
    assert (gradient[:3] != 0).all()
    assert (gradient[3:] == 0).all()
