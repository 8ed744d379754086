"""Greedy choice against a loop that tries every row, and Optuna's."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optuna._hypervolume.hssp import _solve_hssp
from reference import pareto as reference

from pareto.tables import N, holed, tables
from parzax.pareto import (
    ABSENT,
    greedy_hypervolume_order,
    hypervolume,
)

SIZE = 12


def chosen(losses, ref, mask=None, size=SIZE, convert=jnp.asarray) -> list[int]:
    order = greedy_hypervolume_order(convert(losses), convert(ref), size, mask)
    assert order.dtype == np.int32
    order = np.asarray(order)
    count = int((order < ABSENT).sum())
    assert sorted(order)[:count] == list(range(count))
    return np.argsort(order, kind="stable")[:count].tolist()


def on_host(losses, ref, size=SIZE, mask=None) -> list[int]:
    return chosen(losses, ref, mask, size, np.asarray)


WAYS = [*((jnp.asarray, m) for m in (1, 2, 3)), *((np.asarray, m) for m in (1, 2, 3, 4, 5))]


@pytest.mark.parametrize(("convert", "m"), WAYS)
@pytest.mark.parametrize("name", ["random", "grid", "each row twice", "all equal", "near a front"])
@pytest.mark.some(13)
def test_equal_loops(convert, m, name, double):
    """Catches a box cut on the wrong side, ties in another order, dominated rows before others.

    On the host any number of objectives: a lazy bound that is never renewed, and rounding that breaks ties.
    """
    losses, ref = tables(m)[name], np.linspace(0.9, 1.1, m)
    if m > 3:  # the loop takes a second for 14 rows of 4 objectives
        losses = losses[:14]
    size = SIZE if m < 4 else 6
    assert chosen(losses, ref, None, size, convert) == reference.greedy(losses, ref, size)


@pytest.mark.parametrize("m", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_equal_optuna(m, double):
    """Catches a greedy choice other than the published sampler's, on fronts."""
    front = np.abs(np.random.default_rng(0).normal(size=(N, m))) + 0.1
    front /= np.linalg.norm(front, axis=1, keepdims=True)
    theirs = _solve_hssp(front, np.arange(N), SIZE, np.full(m, 1.1))
    assert set(chosen(front, np.full(m, 1.1))) == set(theirs.tolist())


@pytest.mark.parametrize("m", [2, 3])
def test_absent_nan_and_infinite_rows(m, double):
    """Catches an absent row that is chosen, a NaN row before others, and infinity times 0."""
    losses, mask = holed(tables(m)["near a front"])
    got = chosen(losses, np.ones(m), jnp.asarray(mask))
    kept = np.flatnonzero(mask)
    assert got == kept[reference.greedy(losses[kept], np.ones(m), SIZE)].tolist()
    few = jnp.arange(N) < 5
    nan = np.where(np.arange(N)[:, None] % 2 == 0, np.nan, tables(m)["near a front"])
    assert set(chosen(nan, np.ones(m), few)) == set(range(5))
    assert set(chosen(nan, np.ones(m), few)[-3:]) == {0, 2, 4}
    endless = tables(m)["near a front"].copy()
    endless[[7, 3], 0] = -np.inf
    assert set(chosen(endless, np.ones(m))[:2]) == {3, 7}
    assert chosen(endless, np.ones(m)) == reference.greedy(endless, np.ones(m), SIZE)
    assert chosen(np.full((N, m), np.nan), np.ones(m)) == list(range(SIZE))


@pytest.mark.parametrize("m", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_laws(m, double):
    """Catches choices that depend on the order of distinct rows, on size, jit or vmap."""
    losses, ref = jnp.asarray(tables(m)["near a front"]), jnp.ones(m)
    order = greedy_hypervolume_order(losses, ref, SIZE)
    new = np.random.default_rng(0).permutation(N)
    np.testing.assert_array_equal(greedy_hypervolume_order(losses[new], ref, SIZE), order[new])
    fewer = greedy_hypervolume_order(losses, ref, 4)
    np.testing.assert_array_equal(fewer, jnp.where(order < 4, order, ABSENT))
    stopped = jax.vmap(lambda k: greedy_hypervolume_order(losses, ref, SIZE, stop=k))(jnp.array([0, 4, 50]))
    np.testing.assert_array_equal(stopped, [jnp.full(N, ABSENT), fewer, order])
    batched = jax.vmap(lambda x: greedy_hypervolume_order(x, ref, SIZE))(jnp.stack([losses, losses[new]]))
    np.testing.assert_array_equal(batched, jnp.stack([order, order[new]]))


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(("convert", "m"), [(jnp.asarray, 2), (np.asarray, 4)])
def test_few_rows_and_errors(convert, m):
    """Catches sizes beyond the rows, and a negative size."""

    def few(n, size, n_losses=m, mask=None):
        return chosen(np.zeros((n, n_losses)), np.ones(m), mask, size, convert)

    assert few(0, 3) == []
    assert few(2, 3) == [0, 1]
    assert few(2, 0) == []
    with pytest.raises(ValueError, match="size must be a whole number"):
        few(2, -1)
    with pytest.raises(ValueError, match=r"reference \(m,\)"):
        few(2, 1, m - 1)
    with pytest.raises(ValueError, match=r"mask must have shape \(2,\)"):
        few(2, 1, m, convert(np.ones(3)))
    with pytest.raises(ValueError, match="at most 3 objectives in JAX, got 4; give NumPy arrays"):
        greedy_hypervolume_order(jnp.zeros((1, 4)), jnp.ones(4), 1)


# --- on the host -------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [4, 5])
def test_host_equals_differences_of_volumes(m):
    """By brute force over all free rows, on a front of 40; and Optuna's choice."""
    losses, ref = tables(m)["near a front"], np.full(m, 1.1)
    chosen = []
    for _ in range(SIZE):
        free = [i for i in range(N) if i not in chosen]
        chosen.append(max(free, key=lambda i: hypervolume(losses[[*chosen, i]], ref)))
    assert on_host(losses, ref) == chosen
    theirs = _solve_hssp(losses, np.arange(N), SIZE, ref)
    assert set(chosen) == set(theirs.tolist())


def test_host_with_absent_nan_and_infinite_rows():
    """The same rules as the compiled form, whose docstring has them; with scales that no product holds."""
    losses, mask = holed(tables(4)["near a front"][:14])
    kept = np.flatnonzero(mask)
    assert (
        on_host(losses, np.ones(4), 6, mask) == kept[reference.greedy(losses[kept], np.ones(4), 6)].tolist()
    )
    scale = 2.0 ** np.array([600, 600, -600, -600])
    assert on_host(losses * scale, scale, 6, mask) == on_host(losses, np.ones(4), 6, mask)
    nan = np.where(np.arange(14)[:, None] % 2 == 0, np.nan, losses)
    assert on_host(nan, np.ones(4), 14)[-7:] == sorted(np.flatnonzero(np.isnan(nan).any(axis=1)))[-7:]
    endless = tables(4)["near a front"][:14].copy()
    endless[[7, 3], 0] = -np.inf
    assert set(on_host(endless, np.ones(4))[:2]) == {3, 7}
    assert on_host(endless, np.ones(4), 6) == reference.greedy(endless, np.ones(4), 6)
    in_order = np.lexsort(endless.T[::-1])
    assert on_host(endless, np.full(4, np.nan), 14) == in_order.tolist()
    assert on_host(endless, np.full(4, -np.inf), 14) == in_order.tolist()


def test_two_finite_objectives_need_no_moocore(monkeypatch):
    """Catches an import on the way, and rows beyond the reference that cut the others."""
    monkeypatch.setitem(sys.modules, "moocore", None)
    losses, ref = tables(2)["random"], np.array([0.7, 0.8])
    assert on_host(losses, ref) == reference.greedy(losses, ref, SIZE)


def test_host_without_moocore(monkeypatch):
    monkeypatch.setitem(sys.modules, "moocore", None)
    with pytest.raises(ImportError, match=r"needs moocore; install it with pip install 'parzax\[pareto\]'"):
        on_host(np.eye(4)[:2], np.full(4, 2.0))
