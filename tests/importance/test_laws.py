"""Laws that importance obeys whatever the data: symmetry, weights, padding, identities of the paper.

All in float64 on the coarse grid, so that a handful of compiled functions serves every law.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from array_functions import KERNELS
from conftest import ZOO, ZOO_LEVELS, coarse_method, zoo, zoo_observations, zoo_sweep
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import grid

import parzax as px
from parzax.divergence import Explained, pearson_divergence
from parzax.divergence.divergence import RegimeCounts
from parzax.importance.variance import inter_regime_variance

pytestmark = pytest.mark.usefixtures("double")
FIELDS = ("importance", "variance", "divergence", "alpha", "beta", "inter", "unweighted")
PARITY = pytest.mark.parametrize(
    "parity", [pytest.param(False, id="default"), pytest.param(True, id="parity", marks=pytest.mark.slow)]
)


def _same(a, b, rtol=1e-12):
    """Equal up to the order of sums, on the scale of the largest entry of a field."""
    for field in FIELDS:
        x, y = getattr(a, field), getattr(b, field)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * np.abs(y).max(initial=0), err_msg=field)
    np.testing.assert_array_equal(a.n_target, b.n_target)
    np.testing.assert_array_equal(a.n_region, b.n_region)


# --- symmetries --------------------------------------------------------------------------------


@PARITY
def test_rows_in_any_order(parity):
    """Catches anything that depends on the position of a row: ties, duplicates, padding at the end."""
    values, losses = zoo()
    losses = np.round(losses)
    order = np.random.default_rng(1).permutation(len(losses))
    a, b = zoo_sweep(values, losses, parity=parity), zoo_sweep(values[order], losses[order], parity=parity)
    _same(a, b)
    np.testing.assert_array_equal(a.counts, b.counts)


@pytest.mark.slow
def test_parameters_in_any_order():
    """Permuting parameters permutes the result: catches reading a neighbour's columns."""
    values, losses = zoo()
    order = [3, 0, 4, 2, 1]
    space = px.Space.from_json({"parameters": [ZOO["parameters"][j] for j in order]})
    obs = px.Observations.from_arrays(space, values[:, order], losses)
    permuted = px.cond_ped_anova(obs, ZOO_LEVELS, **coarse_method(False), n_resamples=0)
    straight = zoo_sweep(values, losses)
    for field in FIELDS:
        mine = getattr(straight, field)[:, order]
        np.testing.assert_allclose(getattr(permuted, field), mine, rtol=1e-12, atol=1e-15, err_msg=field)
    np.testing.assert_array_equal(permuted.status, straight.status[:, order])


@pytest.mark.parametrize(
    "monotone",
    [
        pytest.param(lambda r: 1e300 * r, id="1e300"),
        pytest.param(lambda r: 1e-320 * r, id="1e-320"),
        pytest.param(np.exp, id="exp"),
        pytest.param(lambda r: -1 / (1 + r), id="reciprocal"),
        pytest.param(lambda r: 1 + 1e-15 * r, id="1 + 1e-15 r"),
        pytest.param(lambda r: np.where(r == 0, -np.inf, r), id="-inf"),
    ],
)
def test_only_the_order_of_losses_counts(monotone):
    """Catches losses cast to float32, subtracted, or flushed to zero: all would create ties."""
    values, losses = zoo()
    rank = np.argsort(np.argsort(losses)).astype(float)
    np.testing.assert_array_equal(zoo_sweep(values, monotone(rank)).counts, zoo_sweep(values, rank).counts)


def test_maximize_is_minus():
    """A maximised objective is its negative, -inf and +inf included."""
    values, losses = zoo()
    losses[:3] = [-np.inf, np.inf, np.nan]
    a = zoo_sweep(values, losses)
    b = zoo_sweep(values, -losses, directions="maximize")
    np.testing.assert_array_equal(a.counts, b.counts)
    assert a.n_region == len(losses) - 2


@PARITY
def test_units_do_not_count(parity):
    """Affine changes of a domain (log-affine of a log one) with its values: catches absolute tolerances.

    Values are off the edges of cells, where rounding may decide (see `conftest.zoo`).
    """
    values, losses = zoo()
    base = zoo_sweep(values, losses, parity=parity)
    for scale, shift, power, factor in (
        (3.0, 10.0, 2.0, 7.0),
        (1e-200, 0.0, -1.0, 1e-3),
        (1e150, 1e150, 30.0, 1.0),
    ):
        space = json.loads(json.dumps(ZOO))
        changed = values.copy()
        for regime in space["parameters"][4]["regimes"]:
            regime["low"], regime["high"] = scale * regime["low"] + shift, scale * regime["high"] + shift
        changed[:, 4] = scale * values[:, 4] + shift
        eta = space["parameters"][3]
        ends = sorted((factor * eta["low"] ** power, factor * eta["high"] ** power))
        eta["low"], eta["high"] = ends
        # A negative power mirrors the log axis; off the edges and on a symmetric grid that changes nothing.
        changed[:, 3] = factor * values[:, 3] ** power
        obs = px.Observations.from_arrays(px.Space.from_json(space), changed, losses)
        other = px.cond_ped_anova(obs, ZOO_LEVELS, **coarse_method(parity), n_resamples=0)
        keep = [0, 1, 2, 4] if power < 0 and parity else slice(None)
        np.testing.assert_allclose(other.variance[:, keep], base.variance[:, keep], rtol=1e-10, atol=1e-16)


@pytest.mark.parametrize(
    ("domain", "native"),
    [
        ({"low": 0.0, "high": 1e-300, "log": False}, lambda decades: 1e-300 * (decades + 4) / 4),
        ({"low": 1e-300}, lambda decades: 10 ** (75 * decades)),
    ],
)
def test_domains_at_1e_300(domain, native):
    """Catches widths compared with an epsilon, and a log axis computed in float32 on the host."""
    values, losses = zoo()
    space = json.loads(json.dumps(ZOO))
    space["parameters"][3] |= domain
    changed = values.copy()
    changed[:, 3] = native(np.log10(values[:, 3]))
    obs = px.Observations.from_arrays(px.Space.from_json(space), changed, losses)
    other = px.cond_ped_anova(obs, ZOO_LEVELS, **coarse_method(False), n_resamples=0)
    np.testing.assert_array_equal(other.counts, zoo_sweep(values, losses).counts)


def test_levels_do_not_see_each_other():
    """Any order and any company of levels: catches a running sum that leaks, or answers in sorted order."""
    values, losses = zoo()
    obs = zoo_observations(values, losses)
    base = zoo_sweep(values, losses)
    order = [2, 0, 1]
    shuffled = px.cond_ped_anova(obs, [ZOO_LEVELS[i] for i in order], **coarse_method(False), n_resamples=0)
    np.testing.assert_array_equal(shuffled.variance, base.variance[order])
    np.testing.assert_array_equal(shuffled.n_target, base.n_target[order])
    other = px.cond_ped_anova(obs, [0.33, 0.25, 0.9], **coarse_method(False), n_resamples=0)
    np.testing.assert_array_equal(other.variance[1], base.variance[1])


def test_seeds_are_a_loop():
    """A seed axis is a loop over seeds: catches mixing of seeds in counts, cut-offs, statuses."""
    values, losses = zoo(n_seeds=3)
    losses[1] = np.round(losses[1])
    together = zoo_sweep(values, losses)
    assert together.importance.shape == (3, 3, 5)
    for seed in range(3):
        alone = zoo_sweep(values[seed], losses[seed])
        for field in (*FIELDS, "counts"):
            np.testing.assert_allclose(
                getattr(together, field)[seed], getattr(alone, field), rtol=1e-12, atol=1e-15
            )
        np.testing.assert_array_equal(together.status[seed], alone.status)
        assert together.n_region[seed] == alone.n_region


# --- weights -----------------------------------------------------------------------------------


@PARITY
def test_weight_two_is_a_duplicate(parity):
    """Integer weights count rows: catches weights that miss the density or the level sets."""
    values, losses = zoo(30)
    weight = np.random.default_rng(0).integers(1, 3, 30)
    again = np.repeat(np.arange(30), weight)
    a = zoo_sweep(values, losses, parity=parity, weight=weight)
    # Each row is a group; otherwise repeats of a configuration would count once.
    b = zoo_sweep(values[again], losses[again], parity=parity, groups=np.arange(len(again)))
    assert a.counts.dtype.kind == "i"
    np.testing.assert_array_equal(a.counts, b.counts)
    # One weight is a merged row in level sets too, so all fields agree, statuses included.
    _same(a, b)
    np.testing.assert_array_equal(a.status, b.status)


def test_weight_zero_is_absence():
    """Rows of weight 0 are as if deleted, however good their loss: catches rows that leak."""
    values, losses = zoo()
    keep = np.random.default_rng(0).uniform(size=60) < 0.7
    spoiled, spoiled_losses = values.copy(), losses.copy()
    spoiled[~keep] = values[keep][0]
    spoiled_losses[~keep] = np.where(np.arange((~keep).sum()) % 2, -np.inf, np.nan)
    a = zoo_sweep(spoiled, spoiled_losses, weight=keep.astype(float))
    b = zoo_sweep(values[keep], losses[keep])
    np.testing.assert_array_equal(a.counts, b.counts)
    _same(a, b)
    np.testing.assert_array_equal(a.status, b.status)
    selected = px.cond_ped_anova(
        zoo_observations(values, losses).select(keep), ZOO_LEVELS, **coarse_method(False), n_resamples=0
    )
    _same(selected, b)


@PARITY
def test_fractional_weights_follow_the_loops(parity):
    """Weights that are not whole: totals, cut-offs, quartiles and ddof by their sums."""
    values, losses = zoo()
    weight = np.random.default_rng(3).uniform(0, 3, 60)
    weight[::7] = 0
    mine = zoo_sweep(values, losses, parity=parity, weight=weight)
    loop = grid.analyse(
        ZOO,
        values,
        losses,
        ZOO_LEVELS,
        weight=weight,
        estimator="optuna" if parity else "default",
        max_cells=12,
    )
    np.testing.assert_allclose(mine.n_target, loop["n_target"], rtol=1e-12)
    np.testing.assert_allclose(mine.n_region, loop["n_region"], rtol=1e-12)
    for field in ("variance", "inter", "unweighted"):
        np.testing.assert_allclose(getattr(mine, field), loop[field], rtol=1e-9, atol=1e-13, err_msg=field)


# --- identities --------------------------------------------------------------------------------


def test_theorem_f1():
    """Eq. 45: where c acts only through d's regime, standard(d) = within(d) + variance(c), on raw masses.

    The standard variance is that of one density over the cells of all regimes (Lemma F.2 takes it apart).
    """

    @jax.jit
    def variances(d_target, d_region, c_target, c_region):
        """Within, between and standard variance of d, and the variance of c, from counts by regime."""
        n_t, n_r = d_target.sum(axis=1), d_region.sum(axis=1)
        shares = [rows / jnp.maximum(rows.sum(axis=1, keepdims=True), 1) for rows in (d_target, d_region)]
        divergence = jnp.where(n_t > 0, jax.vmap(px.divergence.pearson_divergence)(*shares), 0.0)
        within = px.importance.within_regime_variance(divergence, n_t, n_r, n_r.sum())
        inter = inter_regime_variance(n_t, n_r, dtype=jnp.float64)
        together = (
            px.importance.within_regime_variance(
                px.divergence.pearson_divergence((t / t.sum()).reshape(-1), (r / r.sum()).reshape(-1))[None],
                t.sum()[None],
                r.sum()[None],
                r.sum(),
            )
            for t, r in ((d_target, d_region), (c_target, c_region))
        )
        return within, inter, *together

    rng = np.random.default_rng(0)
    for _ in range(10):
        # Region: c has two cells per regime, independent of d inside each. The good share of a cell depends
        # on the regime and d alone, so the target keeps that independence exactly.
        good = [
            np.outer(rng.integers(1, 4, 2), rng.integers(1, 5, 3) * rng.integers(0, 3, 3)) for _ in range(2)
        ]
        base = [10 * g.max() * np.ones_like(g) for g in good]
        rows = [rng.integers(1, 4, 2) for _ in range(2)]
        region = [np.outer(w, b[0]) for w, b in zip(rows, base, strict=True)]
        target = [np.outer(w, g[0]) for w, g in zip(rows, good, strict=True)]
        if sum(t.sum() for t in target) == 0:
            continue
        by_d, by_c = (
            [np.stack([counts.sum(axis=axis) for counts in sets]) for sets in (target, region)]
            for axis in (0, 1)
        )
        within, inter, standard, variance_c = map(float, variances(*by_d, *by_c))
        np.testing.assert_allclose(standard, within + variance_c, rtol=1e-12)
        np.testing.assert_allclose(standard, within + inter, rtol=1e-12)


@PARITY
def test_one_regime_is_ped_anova(parity):
    """K = 1: variance = (n_T/n_R)^2 D, no inter term."""
    values, losses = zoo()
    space = px.Space.from_json({"parameters": ZOO["parameters"][:4]})
    obs = px.Observations.from_arrays(space, values[:, :4], losses)
    result = px.cond_ped_anova(obs, ZOO_LEVELS, **coarse_method(parity), n_resamples=0)
    ratio = result.n_target / result.n_region
    np.testing.assert_allclose(result.variance, ratio[:, None] ** 2 * result.divergence[..., 0], rtol=1e-14)
    np.testing.assert_allclose(result.unweighted, result.variance, rtol=1e-14)
    assert (result.inter == 0).all()


@PARITY
def test_equal_sets_give_zero(parity):
    """Ties that fill the region: exactly 0 and SAME_SETS, not the rounding of p/p - 1."""
    values, losses = zoo()
    result = zoo_sweep(values, np.zeros_like(losses), parity=parity)
    assert (result.variance == 0).all()
    assert (result.inter == 0).all()
    assert (result.unweighted == 0).all()
    assert (result.status & px.Status.SAME_SETS).all()
    np.testing.assert_array_equal(result.importance, 0.2 if parity else 0.0)


def _pair(draw):
    size = 9
    region = draw(st.lists(st.integers(0, 20), min_size=size, max_size=size).filter(lambda r: sum(r) > 1))
    target = [draw(st.integers(0, r)) for r in region]
    return np.array(target), np.array(region)


_densities = {
    kind: jax.jit(lambda t, r, kernel=kernel: Explained().densities(RegimeCounts(jnp.stack([t, r]), kernel)))
    for kind, kernel in KERNELS.items()
}


@settings(max_examples=100, deadline=None, database=None)
@given(st.composite(_pair)(), st.sampled_from(["numeric", "categorical"]))
def test_smoothing_only_loses(pair, kind):
    """One Markov kernel for both sets: smoothed D <= unsmoothed D , and p_T <= (n_r/n_t) p_R.

    Catches a kernel matrix whose columns do not sum to 1, or that differs between the sets.
    """
    target, region = pair
    if target.sum() == 0:
        return
    with jax.enable_x64(True):
        p_t, p_r = (np.asarray(p[0]) for p in _densities[kind](target, region))
        smoothed = float(pearson_divergence(p_t, p_r))
    q_t, q_r = target / target.sum(), region / region.sum()
    unsmoothed = sum((a - b) ** 2 / b for a, b in zip(q_t, q_r, strict=True) if b)
    # Rounding of sums of nine terms.
    assert smoothed <= unsmoothed + 1e-13
    assert smoothed >= 0
    np.testing.assert_allclose([p_t.sum(), p_r.sum()], 1, rtol=1e-12)
    bound = region.sum() / target.sum()
    assert (q_t <= bound * q_r * (1 + 1e-12)).all()
    assert (p_t <= bound * p_r * (1 + 1e-12)).all()
    assert (p_r > 0).all()


@PARITY
def test_importance_is_a_share(parity):
    """Rows sum to 1; signed variances enter as max(v, 0), but by default what is below 0 is made up for."""
    result = zoo_sweep(*zoo(), parity=parity)
    np.testing.assert_allclose(result.importance.sum(axis=-1), 1, rtol=1e-12)
    wanted = np.array([grid.shares(variance, balance=not parity) for variance in result.variance])
    np.testing.assert_allclose(result.importance, wanted, rtol=1e-12)
    assert (result.inter >= 0).all()
    np.testing.assert_allclose(result.standard, result.variance + result.inter)
    np.testing.assert_allclose(result.alpha.sum(axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(result.beta.sum(axis=-1), 1, rtol=1e-12)
