"""Greedy choice against a loop that tries every row, and Optuna's."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optuna._hypervolume.hssp import _solve_hssp
from reference import pareto as reference

from pareto.tables import N, holed, tables
from parzax.pareto import ABSENT, greedy_hypervolume_order, hypervolume

SIZE = 12


def chosen(losses, ref, mask=None, size=SIZE, convert=jnp.asarray) -> list[int]:
    order = greedy_hypervolume_order(convert(losses), convert(ref), size, mask)
    assert order.dtype == np.int32
    order = np.asarray(order)
    count = int((order < ABSENT).sum())
    assert sorted(order)[:count] == list(range(count))
    return np.argsort(order, kind="stable")[:count].tolist()


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


@pytest.mark.parametrize(
    ("convert", "m"),
    [
        pytest.param(jnp.asarray, 2, marks=pytest.mark.slow),
        (jnp.asarray, 3),
        *((np.asarray, m) for m in (4, 5)),
    ],
)
def test_equal_optuna(convert, m, double):
    """Catches a greedy choice other than the published sampler's, on fronts; by brute force too."""
    front, ref = np.abs(np.random.default_rng(0).normal(size=(N, m))) + 0.1, np.full(m, 1.1)
    front /= np.linalg.norm(front, axis=1, keepdims=True)
    ours, best = chosen(front, ref, convert=convert), []
    assert set(ours) == set(_solve_hssp(front, np.arange(N), SIZE, ref).tolist())
    while m > 3 and len(best) < SIZE:
        free = [i for i in range(N) if i not in best]
        best.append(max(free, key=lambda i: hypervolume(front[[*best, i]], ref)))
        assert ours[: len(best)] == best


@pytest.mark.parametrize(("convert", "m"), [(jnp.asarray, 2), (jnp.asarray, 3), (np.asarray, 4)])
def test_absent_nan_and_infinite_rows(convert, m, double):
    """Catches an absent row that is chosen, a NaN row before others, and infinity times 0."""
    n, size = (N, SIZE) if m < 4 else (14, 6)  # the loop takes a second for 14 rows of 4 objectives
    front, one = tables(m)["near a front"][:n], np.ones(m)
    losses, mask = holed(front)
    kept = np.flatnonzero(mask)
    best = kept[reference.greedy(losses[kept], one, size)].tolist()
    assert chosen(losses, one, convert(mask), size, convert) == best
    scale = 2.0 ** np.array([600, 600, -600, -600])[:m]
    assert chosen(losses * scale, scale, convert(mask), size, convert) == best
    few = np.arange(n) < 5
    nan = np.where(np.arange(n)[:, None] % 2 == 0, np.nan, front)
    assert chosen(nan, one, convert(few), size, convert)[2:] == [0, 2, 4]
    endless = front.copy()
    endless[[7, 3], 0] = -np.inf
    best = chosen(endless, one, None, size, convert)
    assert set(best[:2]) == {3, 7}
    assert best == reference.greedy(endless, one, size)
    in_order = np.lexsort(endless.T[::-1])[:size].tolist()
    assert chosen(endless, np.full(m, np.nan), None, size, convert) == in_order
    assert chosen(endless, np.full(m, -np.inf), None, size, convert) == in_order
    assert chosen(np.full((n, m), np.nan), one, None, size, convert) == list(range(size))


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


def test_without_moocore(monkeypatch):
    """Two objectives need none: catches an import, and rows beyond the reference that cut others."""
    monkeypatch.setitem(sys.modules, "moocore", None)
    losses, ref = tables(2)["random"], np.array([0.7, 0.8])
    assert chosen(losses, ref, convert=np.asarray) == reference.greedy(losses, ref, SIZE)
    with pytest.raises(ImportError, match=r"needs moocore; install it with pip install 'parzax\[pareto\]'"):
        chosen(np.eye(4)[:2], np.full(4, 2.0), convert=np.asarray)
