"""Level sets against a loop over sorted rows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import grid

import parzax as px
from parzax.importance.levels import level_sets
from parzax.lens.results.replicates import loss_ranks


def _sets(losses, weight, target, region, rule):
    """Masks of the target sets, in the order asked, and of the region."""
    usable = ~np.isnan(losses) if weight is None else ~np.isnan(losses) & (weight > 0)
    level, _, status = level_sets(
        np.where(usable, losses, np.nan), weight, tuple(np.sort(target).tolist()), region, rule, False
    )
    places = np.argsort(np.argsort(target, kind="stable"))
    return [level <= place for place in places], level <= len(target), status


@pytest.mark.parametrize("rule", ["ceil", "optuna", "floor"])
def test_against_the_loop(rule):
    """Ties, NaN, -inf, one and many levels, unsorted levels, a region: both ways of finding cut-offs."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 99, 100):
        for target, region in (([0.1], 1.0), ([0.3, 0.1, 0.2], 0.75), (np.arange(1, 20) * 0.05, 1.0)):
            losses = np.round(rng.normal(size=n), 1)
            losses[rng.uniform(size=n) < 0.1] = np.nan
            losses[rng.uniform(size=n) < 0.05] = -np.inf
            masks, inside, out = _sets(losses, None, np.asarray(target), region, rule)
            ones = np.ones(n)
            for level, mask in zip(target, masks, strict=True):
                expected = grid.level_set(losses, ones, level, rule)
                np.testing.assert_array_equal(mask, expected & grid.level_set(losses, ones, region, rule))
            np.testing.assert_array_equal(inside, grid.level_set(losses, ones, region, rule))
            usable = losses[~np.isnan(losses)]
            assert bool(out[0] & px.Status.NO_DATA) == (len(usable) < 2)


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=20),
    st.integers(1, 99),
)
def test_integer_weights_are_repetitions(rows, percent):
    """A weight of w is w rows: catches a cut-off that counts rows instead of weight."""
    losses, weight = (np.array(x, dtype=float) for x in zip(*rows, strict=True))
    masks, _, _ = _sets(losses, weight, [percent / 100], 1.0, "ceil")
    repeated = np.repeat(losses, weight.astype(int))
    if repeated.size == 0:
        assert not masks[0].any()
        return
    again, _, _ = _sets(repeated, None, [percent / 100], 1.0, "ceil")
    assert (weight * masks[0]).sum() == again[0].sum()
    k = math.ceil(Fraction(percent, 100) * len(repeated))
    cutoff = np.sort(repeated)[k - 1]
    np.testing.assert_array_equal(masks[0], (losses <= cutoff) & (weight > 0))


def test_ties_are_flagged_exactly():
    """A set that ends within a tie is flagged, whatever the weights; a straddling weight is no tie."""
    losses = np.array([1.0, 2, 2, 3, 4, 5, 6, 7])
    for weight in (None, np.full(8, 0.25)):
        _, _, out = _sets(losses, weight, [0.125, 0.25, 0.375, 0.5], 1.0, "ceil")
        tied = (out & px.Status.TIED_CUTOFF) > 0
        assert tied.tolist() == [False, True, False, False]
    # With weights of 2 a request of 4 is two rows; one of 3 ends inside the second, tied with itself.
    for level, tied in ((0.25, False), (0.1875, True)):
        _, _, out = _sets(np.arange(8.0), np.full(8, 2.0), [level], 1.0, "ceil")
        assert bool(out[0]) == tied


def test_ties_do_not_depend_on_the_order_of_rows():
    """Rows of weight 0.7 and 0.2 tie: without the lighter one the set has 1.2, enough for 1.1 but not 1.3."""
    losses, weight = np.array([1.0, 2, 2, 3]), np.array([0.5, 0.7, 0.2, 0.6])
    for order in ([0, 1, 2, 3], [0, 2, 1, 3], [3, 2, 1, 0]):
        _, _, out = _sets(losses[order], weight[order], [0.55, 0.65], 1.0, "ceil")
        assert ((out & px.Status.TIED_CUTOFF) > 0).tolist() == [True, False]


def test_tiny_levels_hold_one_row():
    """Catches a level that rounds to no rows at all, and with them to all rows."""
    masks, _, _ = _sets(np.arange(100.0), None, [1e-13], 1.0, "ceil")
    assert masks[0].sum() == 1


def test_fractional_weights_do_not_depend_on_their_total():
    """Catches rounding up only where the weights happen to add up to a whole number."""
    for last in (0.25, 0.26):
        weight = np.full(100, 0.25)
        weight[-1] = last
        masks, _, _ = _sets(np.arange(100.0), weight, [0.01], 1.0, "ceil")
        assert masks[0].sum() == (1 if last == 0.25 else 2)


def test_fractional_weights():
    """The first loss at which the running weight reaches q N."""
    losses, weight = np.array([3.0, 1, 2, 4]), np.array([0.5, 0.25, 0.75, 1.75])
    masks, _, _ = _sets(losses, weight, [0.05, 0.2, 0.34, 0.46, 0.47], 1.0, "ceil")
    # Running weight in order of loss: 0.25, 1.0, 1.5, 3.25 of 3.25.
    assert [int(m.sum()) for m in masks] == [1, 2, 3, 3, 4]


def test_narrow_types():
    """255 levels and more: catches a level index that wraps at 256."""
    losses = np.random.default_rng(0).permutation(1000).astype(float)
    for q in (254, 255, 256, 300):
        target = np.arange(1, q + 1) / (q + 1)
        masks, inside, _ = _sets(losses, None, target, 1.0, "ceil")
        assert inside.all()
        sizes = [int(m.sum()) for m in masks]
        assert sizes == [math.ceil(Fraction(i, q + 1) * 1000) for i in range(1, q + 1)]


def test_loss_ranks():
    """Tied rows share a rank, and rows that are left out have the padded size."""
    losses = np.array([[2.0, 1.0, np.nan, 1.0, -np.inf, 0.0, -0.0, np.nan], [np.nan] * 8])
    ranks = loss_ranks(losses, 10)
    assert ranks.tolist() == [[5, 3, 10, 3, 0, 1, 1, 10, 10, 10], [10] * 10]
