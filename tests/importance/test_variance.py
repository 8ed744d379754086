"""The equations of conditional PED-ANOVA (arXiv 2601.20800) by their numbers, each against a plain loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.importance.variance import importance, inter_regime_variance, unweighted_variance

RNG = np.random.default_rng(0)
# Rows of a target and of the region in two regimes with a value and in "inactive".
TARGET, REGION = np.array([6, 3, 1]), np.array([30, 50, 20])
DIVERGENCE = np.array([1.7, 0.4, 0.0])


def test_equation_6_pearson_divergence(double):
    """D_PE(p || q) = sum_b q_b (p_b / q_b - 1)^2."""
    p, q = RNG.dirichlet(np.ones(7), size=2)
    expected = 0.0
    for p_b, q_b in zip(p, q, strict=True):
        expected += q_b * (p_b / q_b - 1) ** 2
    assert float(px.divergence.pearson_divergence(jnp.asarray(p), jnp.asarray(q))) == pytest.approx(
        expected, rel=1e-12
    )


def test_equation_8_importance(double):
    """Conditional local importance: v_d over the sum of v over all parameters."""
    variance = np.array([[0.3, 0.1, 0.0], [0.0, 0.0, 0.0]])
    expected = np.zeros_like(variance)
    for level, own in enumerate(variance):
        for d, v in enumerate(own):
            expected[level, d] = v / own.sum() if own.sum() > 0 else 0.0
    for found in (importance(variance), jax.jit(importance)(jnp.asarray(variance))):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_equation_11_within_regime_variance(double):
    """(gamma'/gamma)^2 sum_i alpha_i^2 / beta_i D_i with gamma'/gamma = n_T / n_R."""
    n_target, n_region = TARGET.sum(), REGION.sum()
    expected = 0.0
    for i, divergence in enumerate(DIVERGENCE):
        alpha, beta = TARGET[i] / n_target, REGION[i] / n_region
        expected += alpha**2 / beta * divergence
    expected *= (n_target / n_region) ** 2
    arrays = map(jnp.asarray, (DIVERGENCE, TARGET, REGION, n_region))
    assert float(jax.jit(px.importance.within_regime_variance)(*arrays)) == pytest.approx(expected, rel=1e-12)


def test_equation_17_standard_variance(double):
    """within + inter, inter = (n_T/n_R)^2 sum_i (alpha_i - beta_i)^2 / beta_i.

    Lemma F.2: that is the Pearson divergence of the regimes' cells together, here of raw cell masses.
    """
    cells_region = [RNG.integers(1, 9, 4), RNG.integers(1, 9, 5), np.array([12])]
    cells_target = [np.minimum(RNG.integers(0, 4, len(own)), own) for own in cells_region]
    target, region = (np.array([own.sum() for own in cells]) for cells in (cells_target, cells_region))
    divergence = []
    for p, q in zip(cells_target, cells_region, strict=True):
        shares = (p / max(p.sum(), 1), q / q.sum())
        divergence.append(float(((shares[0] - shares[1]) ** 2 / shares[1]).sum()) if p.sum() else 0.0)
    within = px.importance.within_regime_variance(
        *map(jnp.asarray, (divergence, target, region, region.sum()))
    )
    inter = inter_regime_variance(jnp.asarray(target), jnp.asarray(region), dtype=jnp.float64)
    n_target, n_region = target.sum(), region.sum()
    by_regime = sum(
        (t / n_target - r / n_region) ** 2 / (r / n_region) for t, r in zip(target, region, strict=True)
    )
    assert float(inter) == pytest.approx((n_target / n_region) ** 2 * by_regime, rel=1e-12)
    p, q = np.concatenate(cells_target) / n_target, np.concatenate(cells_region) / n_region
    together = (n_target / n_region) ** 2 * ((p - q) ** 2 / q).sum()
    assert float(within + inter) == pytest.approx(together, rel=1e-12)


def test_equation_18_unweighted_variance(double):
    """(n_T/n_R)^2 sum_i D_i, the ablation without regime probabilities."""
    expected = (TARGET.sum() / REGION.sum()) ** 2 * sum(DIVERGENCE.tolist())
    arrays = map(jnp.asarray, (DIVERGENCE, TARGET.sum(), REGION.sum()))
    assert float(unweighted_variance(*arrays)) == pytest.approx(expected, rel=1e-12)


def test_estimates_are_these_equations(double):
    """`estimate` gives Equations 8, 11, 17 and 18 of its own divergences and rows."""
    x = np.stack([RNG.uniform(size=200), RNG.integers(0, 2, 200), RNG.uniform(size=200)], axis=1)
    x[x[:, 1] == 0, 2] = np.nan
    space = px.Space(
        {"a": px.Float(0, 1), "k": px.Categorical(["u", "v"]), "b": px.Float(0, 1, when=px.In("k", ["v"]))}
    )
    imp = px.importance.estimate(px.encode(space, x, x[:, 0] + x[:, 1], 0.2))
    for d in range(3):
        target, region, divergence = imp.regime_target[0, d], imp.regime_region[d], imp.divergence[0, d]
        arrays = map(jnp.asarray, (divergence, target, region, region.sum()))
        np.testing.assert_allclose(
            imp.variance[0, d], px.importance.within_regime_variance(*arrays), rtol=1e-12
        )
        inter = inter_regime_variance(jnp.asarray(target), jnp.asarray(region), dtype=jnp.float64)
        np.testing.assert_allclose(imp.inter[0, d], inter, rtol=1e-12, atol=1e-18)
        arrays = map(jnp.asarray, (divergence, target.sum(), region.sum()))
        np.testing.assert_allclose(imp.unweighted[0, d], unweighted_variance(*arrays), rtol=1e-12)
    np.testing.assert_allclose(imp.importance, importance(imp.variance, balance=True), rtol=1e-15)
