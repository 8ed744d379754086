"""Densities under jit, vmap, grad and scan, in float64: the same density, and gradients are finite."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from density_laws import LAW, POINTS, SEEDS, SPACE, N, close, draw, fit
from hypothesis import given

import parzax as px

pytestmark = pytest.mark.usefixtures("double")


def _log_density(x, rows, weight, scale, minimum):
    """Everything that can be differentiated, in one function."""
    rule = px.bandwidth.Scott(minimum, 0.5)
    pe = fit(rows, weight, bandwidth=rule)
    smooth = fit(rows, weight, bandwidth=px.bandwidth.Constant(scale), top=0.7 + scale / 10)
    return pe.log_prob(x) + smooth.log_prob(x)


_compiled = jax.jit(_log_density)
_gradient = jax.jit(jax.grad(lambda *a: _log_density(*a).sum(), argnums=(0, 1, 2, 3, 4)))


FEW, COLUMNS = px.Space({name: SPACE[name] for name in ("c", "kind", "lr")}), np.array([0, 1, 3])


@jax.jit
@functools.partial(jax.grad, argnums=(0, 1, 2, 3, 4))
def _gradient_of_one(x, rows, weight, scale, minimum):
    """The first density alone, of three parameters, and a quarter of the program."""
    rule, top = px.bandwidth.Scott(minimum, 0.5), 0.7 + scale / 10
    pe = px.ParzenEstimator.fit(FEW, rows[:, COLUMNS], weight, bandwidth=rule, top=top)
    return pe.log_prob(x[:, COLUMNS]).sum()


def _arguments(seed):
    rng = np.random.default_rng(seed)
    scales = jnp.asarray(rng.uniform(0.1, 0.4)), jnp.asarray(rng.uniform(0.1, 0.3))
    return jnp.asarray(POINTS), jnp.asarray(draw(seed)), jnp.asarray(rng.uniform(0.5, 2, N)), *scales


@pytest.mark.slow
def test_jit_is_eager():
    """The host's way, with padding to a capacity, against everything compiled in one piece."""
    x, rows, weight, scale, minimum = _arguments(0)
    pe = fit(np.asarray(rows), np.asarray(weight), bandwidth=px.bandwidth.Scott(float(minimum), 0.5))
    rule, top = px.bandwidth.Constant(float(scale)), 0.7 + float(scale) / 10
    other = fit(np.asarray(rows), np.asarray(weight), bandwidth=rule, top=top)
    eager = np.asarray(pe.log_prob(np.asarray(x))) + np.asarray(other.log_prob(np.asarray(x)))
    close(_compiled(x, rows, weight, scale, minimum), eager)


@pytest.mark.slow
def test_vmap_is_a_loop():
    """Over rows, weights and settings at once: a batch of estimators."""
    batch = [_arguments(seed) for seed in range(3)]
    stacked = [jnp.stack(parts) for parts in zip(*batch, strict=True)]
    found = jax.jit(jax.vmap(_log_density))(*stacked)
    for each, arguments in zip(found, batch, strict=True):
        close(each, _compiled(*arguments))


@pytest.mark.slow
def test_carried_by_scan():
    """An estimator that is the carry of a scan, fitted anew in every step, is the one of a loop."""
    _, rows, *_ = _arguments(0)
    at = jnp.asarray(POINTS)

    def refit(pe, n):
        out = pe.log_prob(at)
        return fit(rows, (jnp.arange(N) < n).astype(float)), out

    def loop(first, counts):
        return jax.lax.scan(refit, first, counts)[1]

    start = fit(rows, jnp.zeros(N))
    found = jax.jit(loop)(start, jnp.asarray([3, N]))
    close(found[0], start.log_prob(at))
    close(found[1], fit(np.asarray(rows[:3])).log_prob(POINTS))


NAMES = ("points", "rows", "weights", "constant bandwidth or top", "clip")


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_gradients_are_finite_differences(seed):
    """By points, rows, weights and settings, in random directions; discrete and absent entries have none."""
    arguments = _arguments(seed)
    gradient = _gradient(*arguments)
    rng = np.random.default_rng(seed)
    h = 1e-6
    for i, name in enumerate(NAMES):
        value = np.asarray(arguments[i])
        direction = rng.normal(size=value.shape) * np.nan_to_num(np.abs(value))
        if value.ndim == 2:
            direction[:, [1, 4]] = 0
            # Across an end of a regime the density jumps.
            direction[:, 0] *= np.abs(value[:, 0, None] - [0, 0.4, 0.6, 1]).min(axis=1) > 1e-4
        both = []
        for sign in (1, -1):
            moved = list(arguments)
            moved[i] = jnp.asarray(value + sign * h * direction)
            both.append(float(_compiled(*moved).sum()))
        # Central differences: truncation about 1e-8 of third derivatives, rounding 1e-14 * 100 / 1e-6.
        assert np.isfinite(gradient[i]).all(), name
        wanted = (both[0] - both[1]) / (2 * h)
        found = float((np.asarray(gradient[i]) * direction).sum())
        assert abs(found - wanted) < 1e-6 * max(1, abs(wanted)), (name, found, wanted)


EXTREMES = {
    "at the ends": (np.array([[0, 0, -7, 1e-3, np.nan], [1, 1, 7, np.nan, 4]] * (N // 2)), np.ones(N)),
    "all equal": (np.repeat(draw(3, 1), N, axis=0), np.ones(N)),
    "weights of 0": (np.where(np.arange(N)[:, None] < 4, np.nan, draw(4)), (np.arange(N) >= 4).astype(float)),
    "none": (np.full((N, 5), np.nan), np.zeros(N)),
    "one": (draw(5), np.eye(N)[2]),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_gradients_are_finite_everywhere(name):
    """At clamps of coordinates and bandwidths, at padding and at weight 0."""
    rows, weight = EXTREMES[name]
    x = np.array(POINTS)
    x[:2] = EXTREMES["at the ends"][0][:2]
    gradients = _gradient_of_one(*map(jnp.asarray, (x, rows, weight, 0.1, 0.1)))
    for gradient, what in zip(gradients, NAMES, strict=True):
        assert np.isfinite(gradient).all(), what
