"""Acquisition functions against plain formulas, their limits, and the theorems of c-TPE."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from parzax.acquisition import Relative, constrained_score, log_ratio, log_relative_ratio, naive_product

# Compiled, an acquisition function is one program for each shape; an acquisition is an argument.
_ratio, _relative, _score, _naive = map(
    jax.jit, (log_ratio, log_relative_ratio, constrained_score, naive_product)
)
_scored = jax.jit(lambda acquisition, *logs: acquisition(*logs))


def _exact(below, above, gamma):
    with mpmath.workdps(60):
        ratio = mpmath.exp(mpmath.mpf(above) - mpmath.mpf(below))
        return float(-mpmath.log(mpmath.mpf(gamma) + (1 - mpmath.mpf(gamma)) * ratio))


def test_relative_ratio_is_the_formula(double):
    """Catches cancellation and overflow, also at likelihoods of exp(-800)."""
    rng = np.random.default_rng(0)
    below, above = rng.normal(0, [[3.0], [300.0]], (2, 200))
    below, above = np.append(below, [-800, -800, 5]), np.append(above, [-805, 700, -900])
    gamma = rng.uniform(0.01, 0.99, below.size)
    found = _relative(jnp.asarray(below), jnp.asarray(above), jnp.asarray(gamma))
    exact = np.array([_exact(*row) for row in zip(below, above, gamma, strict=True)])
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-14)


LIMITS = [  # log l, log g, share, score
    (3.0, 0.0, 1.0, 0.0),  # everything is good: nothing to tell apart
    (3.0, 1.0, 0.0, 2.0),  # nothing is: the plain ratio
    (-np.inf, 0.0, 0.3, -np.inf),
    (-np.inf, -np.inf, 0.3, -np.inf),  # outside the space
    (-np.inf, -np.inf, 1.0, -np.inf),
    (0.0, -np.inf, 0.3, -np.log(0.3)),  # the upper bound
]


def test_limits(x64):
    below, above, gamma, expected = map(jnp.asarray, np.array(LIMITS).T)
    np.testing.assert_allclose(_relative(below, above, gamma), expected, rtol=1e-6)


@jax.jit
def _slopes(points, gamma):
    slope = jax.vmap(jax.grad(log_relative_ratio, (0, 1, 2)), (0, None, None))
    return slope(points, jnp.zeros((), points.dtype), gamma)


@pytest.mark.parametrize("gamma", [0.0, 0.2, 1.0])
def test_gradients_are_finite(gamma):
    points = jnp.array([-900.0, -20.0, 0.0, 20.0, 900.0])
    by_below, by_above, _ = _slopes(points, jnp.array(gamma))
    assert np.isfinite(by_below).all()
    assert np.isfinite(by_above).all()
    if gamma == 1:
        assert not np.any(by_below)


def test_corollary_2():
    """With every constraint satisfied everywhere, candidates are ordered as TPE orders them."""
    rng = np.random.default_rng(2)
    below, above = rng.normal(size=(2, 3, 100)).astype(np.float32)
    score = _score(below, above, np.array([0.1, 1.0, 1.0], np.float32))
    np.testing.assert_array_equal(np.argsort(score), np.argsort(below[0] - above[0]))


def test_share_power_is_that_of_the_objectives_share(double):
    """Catches a power of the constraints' shares, or of the ratio instead of its share."""
    rng = np.random.default_rng(3)
    below, above = rng.normal(size=(2, 3, 50))
    gamma = np.array([0.3, 0.5, 0.9])
    for power in (1.0, 2.5):
        shares = [gamma[0] ** float(power), *gamma[1:]]
        exact = [
            sum(_exact(low[j], high[j], g) for low, high, g in zip(below, above, shares, strict=True))
            for j in range(50)
        ]
        score = _scored(Relative(jnp.asarray(power)), *map(jnp.asarray, (below, above, gamma)))
        np.testing.assert_allclose(score, exact, rtol=1e-12, atol=1e-14)


def test_share_power_between_c_tpe_and_the_plain_ratio(x64):
    """1 is c-TPE's score, a large one the ratio's, and with a share of 1 the objective has no say."""
    rng, dtype = np.random.default_rng(4), jnp.result_type(float)
    below, above = rng.normal(size=(2, 2, 40)).astype(dtype)
    gamma = np.array([0.3, 0.5], dtype)
    score = _score(below, above, gamma)
    np.testing.assert_array_equal(_scored(Relative(), below, above, gamma), score)
    factor = np.asarray(_relative(below[1], above[1], gamma[1:]))
    objectives_share_is_1 = np.array([1, 0.5], dtype)
    powers = jnp.array([1.0, 3.0, 100.0])
    densities = jnp.asarray(below), jnp.asarray(above)
    swept = jax.jit(jax.vmap(lambda power, gamma: Relative(power)(*densities, gamma), (0, None)))
    one, three, large = swept(powers, gamma)
    np.testing.assert_allclose(one, score, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(three, _scored(Relative(3.0), below, above, gamma), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(large, below[0] - above[0] + factor, rtol=1e-5, atol=1e-5)
    for every in swept(powers, objectives_share_is_1):
        np.testing.assert_allclose(every, factor, rtol=1e-6, atol=1e-6)


SHARES = [[0.0, 0.0], [0.2, 0.5], [1.0, 0.0]]


@jax.jit
@functools.partial(jax.grad, argnums=(0, 1))
def _slopes_of_relative(below, power, gamma):
    return Relative(power)(below, jnp.zeros_like(below), gamma).sum()


@pytest.mark.parametrize("gamma", SHARES)
def test_gradients_with_a_share_power_are_finite(gamma):
    """In the densities, and in the power itself, at shares of 0 and 1 too."""
    below = jnp.array([[-900.0, 0.0, 900.0], [3.0, -20.0, 900.0]])
    for gradient in _slopes_of_relative(below, jnp.array(3.0), jnp.array(gamma)):
        assert np.isfinite(gradient).all()


INF = np.inf
# Logs of l and g of two groups at one candidate, shares, and both scores.
EDGES = [
    ([-INF, 0.0], [0.0, -INF], [0.5, 0.0], -INF, -INF),  # 0 times infinity: the candidate is impossible
    ([0.0, -INF], [-INF, 0.0], [0.0, 0.5], -INF, -INF),
    ([-INF, 1.0], [-INF, 0.0], [0.0, 0.0], -INF, -INF),
    ([0.0, INF], [INF, 0.0], [0.0, 0.0], -INF, -INF),  # infinitely bad in one group
    ([INF, 1.0], [INF, 0.0], [0.0, 0.0], 1.0, 1.0),  # equal densities tell nothing apart
    ([INF, 1.0], [INF, 0.0], [0.3, 1.0], 0.0, 1.0),
    ([0.0, 1.0], [-INF, 0.0], [0.0, 0.0], INF, INF),
]


@pytest.mark.parametrize(("below", "above", "gamma", "relative", "naive"), EDGES)
def test_products_at_the_edges_are_numbers(below, above, gamma, relative, naive, x64):
    """Catches -inf + inf, and inf - inf."""
    below, above, gamma = map(jnp.asarray, (below, above, gamma))
    # A logarithm of the exponential of 1 may round otherwise in another release of JAX.
    np.testing.assert_allclose(_score(below, above, gamma), relative, rtol=1e-6, atol=1e-6)
    assert _naive(below, above) == naive


def test_log_ratio_of_infinite_densities():
    below, above = jnp.array([INF, INF, 0.0, -INF, -INF]), jnp.array([INF, 0.0, INF, INF, -INF])
    assert _ratio(below, above).tolist() == [0.0, INF, -INF, -INF, -INF]


@jax.jit
def _slopes_of_products(below, above, gamma):
    """Values and gradients of the sums over the first three candidates."""

    def relative(below, above):
        return constrained_score(below, above, gamma)[:3].sum()

    def naive(below, above):
        return naive_product(below, above)[:3].sum()

    return [jax.value_and_grad(score, (0, 1))(below, above) for score in (relative, naive)]


@pytest.mark.parametrize("gamma", SHARES)
def test_gradients_of_products_are_finite(gamma):
    """Where densities are positive, also beside candidates of density 0; 0 at those."""
    below = jnp.array([[-900.0, 0.0, 900.0, -INF, 2.0], [3.0, -20.0, 900.0, 0.0, -INF]])
    above = jnp.array([[0.0, 0.0, -900.0, 0.0, 1.0], [0.0, 7.0, 900.0, -INF, 0.0]])
    for value, gradients in _slopes_of_products(below, above, jnp.array(gamma)):
        assert np.isfinite(value)
        for gradient in gradients:
            assert np.isfinite(gradient).all()
            assert not np.any(gradient[:, 3:])


@pytest.mark.parametrize("gamma", SHARES)
def test_second_derivatives_of_the_score_are_those_of_the_formula(gamma, double):
    below, above = jnp.array([-1.0, 0.3]), jnp.array([0.5, -0.2])

    def formula(below):
        return -jnp.log(gamma + (1 - gamma) * jnp.exp(above - below)).sum()

    gamma = jnp.array(gamma)
    found = jax.jit(jax.hessian(lambda below: constrained_score(below, above, gamma)))(below)
    np.testing.assert_allclose(found, jax.jit(jax.hessian(formula))(below), rtol=1e-10, atol=1e-14)


@pytest.mark.usefixtures("as_installed")
def test_shapes_are_checked():
    ones = jnp.ones((2, 3))
    with pytest.raises(ValueError, match=r"below and above must have the same shape"):
        naive_product(ones, ones[:1])
    with pytest.raises(ValueError, match=r"gamma must have shape \(2,\)"):
        constrained_score(ones, ones, jnp.ones(3))
    for gamma in (jnp.ones(3), jnp.ones(())):
        with pytest.raises(ValueError, match=r"gamma must have shape \(2,\)"):
            Relative(3.0)(ones, ones, gamma)
    with pytest.raises(ValueError, match=r"share_power must be a single number, got shape \(2,\)"):
        Relative(jnp.array([1.0, 2.0]))(ones, ones, jnp.ones(2))
