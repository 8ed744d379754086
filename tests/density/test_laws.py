"""Laws that a mixture density obeys whatever the data.

All in float64, with fixed shapes, so that a handful of compiled functions serves every law.
"""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import log_prob_in
from density_laws import LAW, POINTS, SEEDS, N, close, draw, fit
from hypothesis import given
from hypothesis import strategies as st

import parzax as px

pytestmark = pytest.mark.usefixtures("double")


@functools.cache
def _nodes(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    node, weight = np.polynomial.legendre.leggauss(16)
    return low + (high - low) * (node + 1) / 2, weight * (high - low) / 2


@functools.cache
def everything() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that integrate over all configurations of SPACE."""
    points, weights = [], []
    log_node, log_weight = _nodes(math.log(1e-3), 0.0)
    lr = [(0, math.exp(t), np.nan, w * math.exp(t)) for t, w in zip(log_node, log_weight, strict=True)]
    rest = [*lr, *((1, np.nan, k, 1.0) for k in range(1, 5))]
    nothing = (np.array([np.nan]), np.array([1.0]))
    # The end of a regime belongs to the next one, and a node never stands on it.
    for ends, x in (((0, 0.4), _nodes(-7, -2)), ((0.4, 0.6), nothing), ((0.6, 1), _nodes(2, 7))):
        pairs = (zip(*both, strict=True) for both in (_nodes(*ends), x))
        for (c, wc), (value, wx), (kind, rate, k, w) in itertools.product(*pairs, rest):
            points.append((c, kind, value, rate, k))
            weights.append(wc * wx * w)
    return np.array(points), np.array(weights)


# --- mass --------------------------------------------------------------------------------------


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_unit_mass_over_a_conditional_space(seed):
    """Integrals over every regime and sums over every branch: catches a factor that is not normalised."""
    points, weights = everything()
    assert abs(weights @ np.asarray(fit(draw(seed)).prob(points)) - 1) < 1e-7


@pytest.mark.slow
def test_unit_mass_without_a_prior_and_with_the_prior_alone():
    points, weights = everything()
    for pe in (fit(draw(0), prior_weight=jnp.asarray(0.0)), fit(draw(0)[:0])):
        assert abs(weights @ np.asarray(pe.prob(points)) - 1) < 1e-7


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_measures_differ_by_the_jacobian(seed):
    """Per native unit and per unit of the axes: of active continuous parameters only."""
    pe = fit(draw(seed))
    c_x = np.where(np.isnan(POINTS[:, 2]), 0, math.log(5))
    lr = np.where(np.isnan(POINTS[:, 3]), 0, np.log(np.nan_to_num(POINTS[:, 3], nan=1) * math.log(1e3)))
    close(pe.log_prob(POINTS, "unit") - np.asarray(pe.log_prob(POINTS)), c_x + lr)


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_marginal_is_the_integrated_joint(seed):
    """Mass of every regime included: c's density integrates the branches of x, with and without x."""
    points, weights = everything()
    pe = fit(draw(seed))
    joint = weights * np.asarray(pe.prob(points))
    c, inverse = np.unique(points[:, 0], return_inverse=True)
    node_weight = np.concatenate([_nodes(*ends)[1] for ends in ((0, 0.4), (0.4, 0.6), (0.6, 1))])
    summed = np.bincount(inverse, joint) / node_weight
    close(pe.marginal("c").prob(c[:, None]), summed, 1e-7)
    inside = [joint[(points[:, 0] < 0.4)].sum(), joint[points[:, 0] >= 0.6].sum()]
    marginal = pe.marginal("x")
    assert marginal.space.names == ("c", "x")
    for (ends, values), mass in zip((((0, 0.4), (-7, -2)), ((0.6, 1), (2, 7))), inside, strict=True):
        (c, wc), (x, wx) = _nodes(*ends), _nodes(*values)
        pairs = np.array(list(itertools.product(c, x)))
        assert abs(np.outer(wc, wx).ravel() @ np.asarray(marginal.prob(pairs)) - mass) < 1e-7
    kinds = np.bincount(points[:, 1].astype(int), joint)
    close(pe.marginal("kind").prob(np.array([[0.0], [1.0]])), kinds, 1e-7)


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_conditional_times_marginal_is_the_joint(seed):
    pe = fit(draw(seed))
    values = {"c": 0.3, "kind": "a"}
    rest = pe.conditional(values)
    assert rest.space.names == ("x", "lr")
    at = draw(seed + 1, 16)[:, [2, 3]]
    at = np.stack([np.linspace(-7, -2, 16), np.geomspace(1e-3, 1, 16)], axis=-1)
    full = np.stack([np.full(16, 0.3), np.zeros(16), at[:, 0], at[:, 1], np.full(16, np.nan)], axis=-1)
    marginal = pe.marginal("c", "kind").log_prob(np.array([[0.3, 0.0]]))
    close(rest.log_prob(at) + marginal, pe.log_prob(full))
    # Per regime: given its parents, every part of the density integrates to 1.
    (x, wx), (t, wt) = _nodes(-7, -2), _nodes(math.log(1e-3), 0)
    pairs = np.array(list(itertools.product(x, np.exp(t))))
    assert abs(np.outer(wx, wt * np.exp(t)).ravel() @ np.asarray(rest.prob(pairs)) - 1) < 1e-7


DISCRETE = px.Space(
    {
        "k": px.Int(0, 3),
        "log": px.Int(1, 9, log=True),
        "step": px.Float(-1.0, 1.0, step=0.5),
        "size": px.Ordinal([1, 2, 5], log=True),
        "kind": px.Categorical(["a", "b", "c"]),
        "long": px.Int(0, 199, when=px.In("kind", ["c"])),
    }
)


@functools.cache
def _all_discrete() -> np.ndarray:
    numeric = list(itertools.product(range(4), range(1, 10), np.linspace(-1, 1, 5), (1, 2, 5)))
    last = [(0, np.nan), (1, np.nan), *((2, v) for v in range(200))]
    return np.array([(*a, *b) for a, b in itertools.product(numeric[::7], last)]), np.array(
        [(*a, *b) for a, b in itertools.product(numeric, last[:2])]
    )


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_masses_sum_to_one(seed):
    """Integers, log integers, steps, ordinals, categories; and a long domain given all the others."""
    rng = np.random.default_rng(seed)
    numeric = [(rng.integers(4), rng.integers(1, 10), rng.integers(-2, 3) / 2, [1, 2, 5][rng.integers(3)])]
    numeric += [(0, 9, -1.0, 5), (3, 1, 1.0, 1)]
    rows = np.array([(*a, *b) for a, b in zip(numeric, [(0, np.nan), (2, 7.0), (2, 199.0)], strict=True)])
    pe = px.ParzenEstimator.fit(DISCRETE, rows)
    with_long, without = _all_discrete()
    # P(kind in {a, b}) = 1 - P(kind = c), the latter from the marginal.
    kind_c = float(pe.marginal("kind").prob(np.array([[2.0]]))[0])
    assert abs(np.asarray(pe.prob(without)).sum() + kind_c - 1) < 1e-12
    own = np.asarray(pe.prob(with_long)).reshape(-1, 202)
    numeric_only = pe.marginal("k", "log", "step", "size")
    close(own.sum(axis=1), numeric_only.prob(with_long.reshape(-1, 202, 6)[:, 0, :4]), 1e-12)


# --- rows --------------------------------------------------------------------------------------


@LAW
@given(SEEDS)
def test_rows_in_any_order(seed):
    rows, weight = draw(seed), np.random.default_rng(seed).uniform(0.5, 2, N)
    order = np.random.default_rng(seed).permutation(N)
    straight = np.asarray(fit(rows, weight).log_prob(POINTS))
    close(fit(rows[order], weight[order]).log_prob(POINTS), straight)


@LAW
@given(SEEDS, st.integers(1, 4))
def test_a_duplicate_is_a_weight_of_two(seed, times):
    """Under Scott's rule, whose n, spread and quartiles count rows as often as they were seen."""
    rows = draw(seed)
    weight = np.ones(N)
    weight[2] = times
    doubled = np.concatenate([rows, np.repeat(rows[2:3], times - 1, axis=0)])
    close(fit(rows, weight).log_prob(POINTS), fit(doubled).log_prob(POINTS))


@LAW
@given(SEEDS, st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -7.5, 0.5]))
def test_rows_of_weight_zero_hold_anything(seed, junk):
    rows = draw(seed)
    padded = np.concatenate([np.full((3, 5), junk), rows])
    weight = np.r_[0, 0, 0, np.ones(N)]
    pe = fit(padded, weight)
    close(pe.log_prob(POINTS), fit(rows).log_prob(POINTS))
    assert int(pe.status) == 0


# --- units -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "shift"), [(1e6, -3e5), (1e-6, 0.0)])
def test_affine_covariance(factor, shift):
    """Another unit of measurement divides the density by its length, and changes nothing else."""
    u = np.random.default_rng(0).uniform(size=(20, 1))
    plain = px.ParzenEstimator.fit(px.Space({"x": px.Float(0, 1)}), u)
    moved = px.ParzenEstimator.fit(px.Space({"x": px.Float(shift, factor + shift)}), factor * u + shift)
    at = np.linspace(0, 1, 16)[:, None]
    close(moved.log_prob(factor * at + shift) + math.log(factor), plain.log_prob(at), 1e-9)
    close(moved.log_prob(factor * at + shift, "unit"), plain.log_prob(at, "unit"), 1e-9)


@pytest.mark.slow
def test_log_covariance():
    """A log parameter is its logarithm on a linear axis, with the density over x: minus log x."""
    values = np.random.default_rng(0).uniform(math.log(1e-5), math.log(10), (20, 1))
    log = px.ParzenEstimator.fit(px.Space({"x": px.Float(1e-5, 10.0, log=True)}), np.exp(values))
    linear = px.ParzenEstimator.fit(px.Space({"x": px.Float(math.log(1e-5), math.log(10))}), values)
    at = np.linspace(math.log(1e-5), math.log(10), 16)[:, None]
    close(log.log_prob(np.exp(at)) + at[:, 0], linear.log_prob(at), 1e-11)
    close(log.log_prob(np.exp(at), "unit"), linear.log_prob(at, "unit"), 1e-11)


# --- mixtures ----------------------------------------------------------------------------------


@pytest.mark.slow
@LAW
@given(SEEDS, st.floats(0.01, 50))
def test_the_prior_is_mixed_in_by_its_weight(seed, prior_weight):
    """p_w = (n p_0 + w q) / (n + w): catches weights normalised before the prior joins."""
    rule = px.bandwidth.Constant(0.2)
    without, with_prior = (
        fit(draw(seed), bandwidth=rule, prior_weight=jnp.asarray(w)).prob(POINTS) for w in (0.0, prior_weight)
    )
    alone = fit(draw(seed)[:0], bandwidth=rule, prior_weight=jnp.asarray(prior_weight)).prob(POINTS)
    close(with_prior, (N * without + prior_weight * alone) / (N + prior_weight))


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_linear_in_mixture_weights(seed):
    """Mixture weights do not enter the bandwidth, so densities add up."""
    rng = np.random.default_rng(seed)
    first, second = rng.uniform(size=(2, N)) * rng.integers(0, 2, (2, N))
    first[0] = second[1] = 1
    prior_weight = jnp.asarray(0.5)

    def unnormalised(mixture_weight):
        pe = fit(draw(seed), mixture_weight=mixture_weight, prior_weight=prior_weight)
        return np.asarray(pe.prob(POINTS)) * (mixture_weight.sum() + 0.5)

    alone = 0.5 * np.asarray(fit(draw(seed)[:0], prior_weight=prior_weight).prob(POINTS))
    close(unnormalised(first) + unnormalised(second) - alone, unnormalised(first + second), 1e-11)


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_forms_agree(seed):
    pe = fit(draw(seed))
    close(log_prob_in("product", pe, POINTS), np.asarray(log_prob_in("pairwise", pe, POINTS)), 1e-11)


@pytest.mark.slow
@LAW
@given(SEEDS)
def test_samples_are_configurations(seed):
    """Conditions hold in every draw, so the density of each is finite."""
    pe = fit(draw(seed))
    x = pe.sample(jax.random.key(seed), (64,))
    assert np.isfinite(pe.log_prob(np.asarray(x))).all()
    np.testing.assert_array_equal(np.isnan(x[:, 2]), (x[:, 0] >= 0.4) & (x[:, 0] < 0.6))
    np.testing.assert_array_equal(np.isnan(x[:, 3]), x[:, 1] == 1)
