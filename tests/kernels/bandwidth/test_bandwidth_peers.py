"""The rules against Optuna and the TPE papers' own package."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters
from reference import authors

from parzax.kernels import bandwidth

# What the peers compute in the parameter's own units rounds before it is divided by the range.
TOLERANCE = 1e-12
SIZES = (0, 1, 2, 3, 7, 16, 120)
_padded = jax.jit(lambda rule, x, weight: rule(x, weight, prior_position=0.5))


def _scales(rule, position):
    """Scales of the rows, padded to one size that compiles once."""
    n, missing = len(position), max(SIZES) - len(position)
    weight = jnp.asarray(np.arange(max(SIZES)) < n, float)
    return np.asarray(_padded(rule, jnp.asarray(np.pad(position, (0, missing))), weight))[:n]


def _optuna(values, distribution, endpoints, magic):
    parameters = _ParzenEstimatorParameters(
        prior_weight=1.0,
        consider_magic_clip=magic,
        consider_endpoints=endpoints,
        weights=np.ones,
        multivariate=True,
    )
    estimator = _ParzenEstimator({"x": np.asarray(values, float)}, {"x": distribution}, parameters)
    kernels = estimator._mixture_distribution.distributions[0]
    low, high = kernels.adapted_low, kernels.adapted_high
    return (kernels.mu - low) / (high - low), kernels.sigma / (high - low)


def _pairs(position, scale):
    """Kernels as sorted pairs: the order of equal rows is that of an unstable sort in Optuna."""
    order = np.lexsort((np.asarray(scale).round(9), np.asarray(position).round(9)))
    return np.stack([np.asarray(position), np.asarray(scale)], axis=1)[order]


def test_normal_reference_is_statsmodels_formula(double):
    """1.06 sd n^(-1/(4 + D)); the formula, as statsmodels is no dependency."""
    rng = np.random.default_rng(0)
    for n, d in itertools.product((2, 3, 40), (1, 4)):
        x = rng.uniform(0, 0.5, n)
        rule = bandwidth.NormalReference(minimum=1e-6)
        scale = rule(jnp.asarray(x), jnp.ones(n), n_parameters=d)
        np.testing.assert_allclose(scale, 1.06 * np.std(x) * n ** (-1 / (4 + d)), rtol=TOLERANCE)


DISTRIBUTIONS = {
    "float": optuna.distributions.FloatDistribution(-3.0, 5.0),
    "float log": optuna.distributions.FloatDistribution(1e-5, 10.0, log=True),
    "float step": optuna.distributions.FloatDistribution(-1.0, 1.0, step=0.125),
    "int": optuna.distributions.IntDistribution(1, 13),
    "int step": optuna.distributions.IntDistribution(0, 60, step=5),
    "int log": optuna.distributions.IntDistribution(1, 500, log=True),
}


def _draw(rng, distribution, n):
    low, high = distribution.low, distribution.high
    if distribution.log:
        values = np.exp(rng.uniform(np.log(low), np.log(high), n))
    else:
        values = rng.uniform(low, high, n)
    if distribution.step is not None:
        values = low + np.round((values - low) / distribution.step) * distribution.step
    return values


@pytest.mark.parametrize(
    "name",
    [name if name == "int log" else pytest.param(name, marks=pytest.mark.slow) for name in DISTRIBUTIONS],
)
def test_neighbours_are_optunas(name, double, record_property):
    """Optuna 5's sigmas for every kind of numeric distribution, ties included."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for n, (endpoints, magic) in itertools.product(SIZES, [(False, True), (True, True), (False, False)]):
        rule = bandwidth.Neighbours(consider_endpoints=endpoints, consider_magic_clip=magic)
        position, scale = _optuna(_draw(rng, DISTRIBUTIONS[name], n), DISTRIBUTIONS[name], endpoints, magic)
        assert scale[-1] == 1  # as wide as the range
        assert position[-1] == pytest.approx(0.5)
        found = _scales(rule, position[:-1])
        error = np.abs(_pairs(position[:-1], found) - _pairs(position[:-1], scale[:-1]))
        worst = max(worst, error.max(initial=0))
    assert worst < TOLERANCE
    record_property("tried", f"bandwidth, Optuna, {name}: worst difference {worst:.1e}")


CASES = [
    # (low, high, step, minimum factor): continuous, integers, steps; a domain of two values, whose lower
    # clip is the upper one.
    (-3.0, 5.0, None, 0.01),
    (0.0, 1e-3, None, 0.1),
    (1, 9, 1, 1 / 9),
    (0, 1, 1, 1 / 2),
    (10, 70, 5, 1 / 13),
]


def _authors(rows, low, high, step, **options):
    """Scales of the authors' estimator and positions, on the axis with the outer half steps."""
    estimator = authors.parzen_estimator().NumericalParzenEstimator(
        np.asarray(rows, float), low, high, q=step, **options
    )
    width = estimator.ub - estimator.lb
    position = (np.asarray(rows, float) - estimator.lb) / width
    assert estimator._stds[-1] == pytest.approx(width)
    return jnp.asarray(position), estimator._stds[:-1] / width


def _rows(rng, low, high, step, n):
    rows = rng.uniform(low, high, n) if rng.uniform() < 0.5 else rng.normal(low, (high - low) / 9, n)
    rows = np.clip(rows, low, high)
    return rows if step is None else low + np.round((rows - low) / step) * step


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high", "step", "factor"), CASES)
def test_scott_is_the_authors(low, high, step, factor, double, record_property):
    """Units of the clips, discrete minimum, ddof, the prior's centre, quartiles; IQR 0 at many ties."""
    rng = np.random.default_rng(2)
    n_values = None if step is None else round((high - low) / step) + 1
    rule = bandwidth.Scott(minimum=factor if step is None else 0.01)
    worst = 0.0
    for n in SIZES:
        position, expected = _authors(
            _rows(rng, low, high, step, n), low, high, step, min_bandwidth_factor=factor
        )
        found = rule(position, jnp.ones(n), n_values=n_values)
        worst = max(worst, np.abs(np.asarray(found) - expected).max(initial=0))
    assert worst < TOLERANCE
    record_property("tried", f"bandwidth, parzen-estimator: worst difference {worst:.1e}")
