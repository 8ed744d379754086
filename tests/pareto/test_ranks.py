"""Ranks against loops, Optuna and moocore, and their laws."""

import jax
import jax.numpy as jnp
import moocore
import numpy as np
import pytest
from optuna.study._multi_objective import _fast_non_domination_rank
from reference import pareto as reference

from pareto.tables import N, holed, tables
from parzax._numerics.keys import float_of_key, ordered_key
from parzax.pareto import ABSENT, non_domination_rank, order


@pytest.mark.parametrize(("m", "x64"), [(2, False), (4, False), (1, True), (3, True)], indirect=["x64"])
def test_equal_loops_and_peers(m, x64):
    """Catches a wrong dominance, duplicates in two fronts, and subnormals or -0.0 compared by XLA."""
    for name, losses in tables(m, np.float64 if x64 else np.float32).items():
        rank = np.asarray(non_domination_rank(jnp.asarray(losses)))
        assert rank.dtype == np.int32
        np.testing.assert_array_equal(rank, reference.ranks(losses, np.ones(N)), err_msg=name)
        np.testing.assert_array_equal(rank, _fast_non_domination_rank(losses), err_msg=name)
        if m > 1 and np.isfinite(losses).all():  # at infinities moocore reads what it should not, and crashes
            theirs = moocore.pareto_rank(losses.astype(np.float64))
            np.testing.assert_array_equal(rank, theirs, err_msg=name)


@pytest.mark.parametrize(("m", "x64"), [(2, False), (3, True)], indirect=["x64"])
def test_absent_and_nan_rows(m, x64):
    """Catches a NaN row in a front, and whatever an absent row holds moving a rank."""
    for seed, losses in enumerate(tables(m, np.float64 if x64 else np.float32).values()):
        losses, mask = holed(losses, seed)
        expected = reference.ranks(losses, mask)
        np.testing.assert_array_equal(non_domination_rank(jnp.asarray(losses), jnp.asarray(mask)), expected)
        weight = jnp.where(mask, 0.5, -1.0)
        np.testing.assert_array_equal(non_domination_rank(jnp.asarray(losses), weight), expected)


@pytest.mark.parametrize("m", [2, pytest.param(3, marks=pytest.mark.slow), 4])
def test_many_rows(m, double):
    """Catches what depends on the number of blocks: n is not a multiple of one."""
    rng = np.random.default_rng(m)
    for losses in (rng.normal(size=(301, m)), rng.integers(0, 12, (301, m)) * 1.0):
        theirs = _fast_non_domination_rank(losses)
        np.testing.assert_array_equal(non_domination_rank(jnp.asarray(losses)), theirs)


@pytest.mark.parametrize("m", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_few_rows(m):
    """Catches a failure at no row, one row, no present row."""
    assert non_domination_rank(jnp.zeros((0, m))).shape == (0,)
    for value in (0.0, jnp.inf, -jnp.inf, jnp.nan):
        assert non_domination_rank(jnp.full((1, m), value)).tolist() == [0]
    losses = jnp.asarray(tables(m, np.float32)["random"])
    assert set(non_domination_rank(losses, jnp.zeros(N)).tolist()) == {ABSENT}
    assert set(non_domination_rank(losses * jnp.nan).tolist()) == {0}


@pytest.mark.parametrize("m", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_laws(m):
    """Catches ranks that depend on the order of rows, padding, monotone maps, jit or vmap."""
    losses, mask = holed(tables(m, np.float32)["grid"])
    losses, mask = jnp.asarray(losses), jnp.asarray(mask)
    rank = non_domination_rank(losses, mask)
    new = np.random.default_rng(0).permutation(N)
    np.testing.assert_array_equal(non_domination_rank(losses[new], mask[new]), rank[new])
    half = N // 2
    padded = jnp.concatenate([losses[:half], jnp.full((N - half, m), -jnp.inf)])
    np.testing.assert_array_equal(
        non_domination_rank(padded, mask & (jnp.arange(N) < half))[:half],
        reference.ranks(np.asarray(losses[:half]), np.asarray(mask[:half])),
    )
    np.testing.assert_array_equal(non_domination_rank(jnp.exp(losses), mask), rank)
    np.testing.assert_array_equal(jax.jit(non_domination_rank)(losses, mask), rank)
    batch = jnp.stack([jnp.asarray(t) for t in tables(m, np.float32).values()])
    batched = jax.vmap(non_domination_rank, (0, None))(batch, mask)
    for one, losses in zip(batched, batch, strict=True):
        np.testing.assert_array_equal(one, non_domination_rank(losses, mask))


def test_order_of_more_rows_than_pairs_fit():
    """Catches a difference between packed pairs and the sort that is used above 46340 rows."""
    rng = np.random.default_rng(0)
    for m in (1, 3):
        columns = [jnp.asarray(c, jnp.int32) for c in rng.integers(0, 4, (m, N))]
        packed, sorted_ = order.lexicographic(columns), order._sort_by_index(columns)
        jax.tree.map(np.testing.assert_array_equal, packed, sorted_)


def test_keys_are_in_the_order_of_floats(x64):
    """Catches a wrong sign or offset, and a key that does not lead back to its float."""
    dtype = np.float64 if x64 else np.float32
    info = np.finfo(dtype)
    positive = np.array([0, info.smallest_subnormal, info.tiny, 1, info.max, np.inf], dtype)
    x = jnp.asarray(np.concatenate([-positive[:0:-1], positive]))
    key = np.asarray(ordered_key(x))
    assert (np.diff(key) > 0).all()
    np.testing.assert_array_equal(np.asarray(float_of_key(ordered_key(x))), np.asarray(x))
    assert ordered_key(jnp.asarray(-0.0, dtype)) == 0
    assert ordered_key(jnp.asarray(np.nan, dtype)) > key[-1]


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("convert", [jnp.asarray, np.asarray])
def test_errors_name_the_argument(convert):
    """Catches a shape that would be broadcast."""
    with pytest.raises(ValueError, match=r"losses must be \(n, m\)"):
        non_domination_rank(convert(np.zeros(3)))
    with pytest.raises(ValueError, match=r"mask must have shape \(3,\)"):
        non_domination_rank(convert(np.zeros((3, 2))), convert(np.ones(2)))


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_on_the_host(m):
    """Catches a wrong front in the bisection, and rules for NaN, absent and repeated rows that differ."""
    for seed, losses in enumerate(tables(m, np.float64).values()):
        for rows, mask in ((losses, np.ones(N)), holed(losses, seed)):
            np.testing.assert_array_equal(non_domination_rank(rows, mask), reference.ranks(rows, mask))
    rng = np.random.default_rng(m)
    for losses in (rng.normal(size=(301, m)), rng.integers(0, 12, (301, m)) * 1.0):
        np.testing.assert_array_equal(non_domination_rank(losses), _fast_non_domination_rank(losses))
    assert non_domination_rank(np.zeros((0, m))).shape == (0,)
    assert set(non_domination_rank(np.zeros((3, m)), np.zeros(3)).tolist()) == {ABSENT}
