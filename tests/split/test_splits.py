"""Groups below and above against loops, on random and degenerate rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.split.split import constraint_split, count_before, first_rows
from parzax.split.state import first_equal

SPLIT = jax.jit(lambda order, present, feasible, count: (
    present & (count_before(order, present) < count),
    present & (count_before(order, present & feasible) < count),
))  # fmt: skip


def _loop(loss, present, feasible, count):
    """Rows up to the count-th one, and up to the count-th feasible one."""
    rows = sorted((i for i in range(len(loss)) if present[i]), key=lambda i: (np.isnan(loss[i]), loss[i], i))
    top = set(rows[:count])
    found, below = 0, set()
    for i in rows:
        below.add(i)
        found += bool(feasible[i])
        if found == count:
            break
    return [i in top for i in range(len(loss))], [i in below for i in range(len(loss))]


@pytest.mark.parametrize(
    "kind", ["random", "ties", "nothing feasible", "all feasible", "infinite", "one", "none"]
)
def test_splits_are_the_loops(kind):
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = 16
        loss = rng.integers(0, 3, n).astype(float) if kind == "ties" else rng.normal(size=n)
        present = np.arange(n) < {"one": 1, "none": 0}.get(kind, rng.integers(2, n + 1))
        feasible = rng.uniform(size=n) < {"nothing feasible": 0, "all feasible": 2}.get(kind, 0.4)
        if kind == "infinite":
            loss[:3] = np.inf, -np.inf, np.inf
        count = int(rng.integers(1, 5))
        mine = SPLIT(np.lexsort((loss, ~present)), present, feasible, count)
        for got, expected in zip(mine, _loop(loss, present, feasible, count), strict=True):
            np.testing.assert_array_equal(got, expected)


_constraint_split = jax.jit(constraint_split, static_argnames="unsatisfied")


@pytest.mark.parametrize(
    ("value", "present", "expected"),
    [
        ([-1.0, 0.0, 1e-9, np.nan], [1, 1, 1, 1], [1, 1, 0, 0]),
        ([2.0, 1.0, 1.0, np.nan], [1, 1, 1, 1], [0, 1, 0, 0]),  # none satisfied: the first at the smallest
        ([2.0, 1.0, -1.0, np.nan], [1, 1, 0, 1], [0, 1, 0, 0]),
        ([np.inf, -np.inf, 0.5, 1.0], [1, 1, 1, 1], [0, 1, 0, 0]),
        ([np.inf, np.inf, 1.0, 1.0], [1, 1, 0, 0], [1, 0, 0, 0]),
        ([np.nan, np.nan, 1.0, 1.0], [1, 1, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_constraint_split(value, present, expected):
    split = _constraint_split(jnp.array(value), jnp.array(present, bool))
    assert split.tolist() == [bool(e) for e in expected]


def test_every_minimum_as_the_papers_text_has_it():
    value, present = jnp.array([2.0, 1.0, 1.0, np.nan]), jnp.ones(4, bool)
    assert _constraint_split(value, present, unsatisfied="all").tolist() == [False, True, True, False]
    assert not _constraint_split(value, present, unsatisfied="none").any()


def test_counts(x64):
    """Whole numbers stay whole whatever the dtype."""
    n = np.arange(1, 1001)
    rules = px.gamma.Sqrt(), px.gamma.Linear(0.1), px.gamma.Optuna()
    counts = jax.jit(lambda n: [jax.vmap(rule)(n) for rule in rules])(jnp.asarray(n))
    sqrt, linear, optuna = (np.asarray(count).tolist() for count in counts)
    assert sqrt == [next(c for c in range(1, 20) if 16 * c * c >= k) for k in n]
    assert linear == [-(-k // 10) for k in n]
    assert optuna == [min(-(-k // 10), 25) for k in n]


@pytest.mark.parametrize("seed", range(3))
def test_first_equal(seed):
    """The first one that counts and is equal; -0.0 equals 0.0."""
    rng = np.random.default_rng(seed)
    arrays = rng.integers(0, 3, (40, 2)), rng.choice([0.0, -0.0, 0.5], (40, 2)).astype(np.float32)
    counted = rng.uniform(size=40) < 0.7
    rows = [(*first, *second) for first, second in zip(*arrays, strict=True)]
    equal = [[j for j in range(40) if rows[j] == rows[i] and counted[j]] for i in range(40)]
    wanted = [min(equal[i]) if counted[i] else 40 for i in range(40)]
    assert len(set(wanted)) < sum(counted)
    found = jax.jit(first_equal)(tuple(map(jnp.asarray, arrays)), jnp.asarray(counted))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("n_below", [0, 1, 5, 8])
def test_first_rows(n_below):
    """The mask may have fewer rows than the arrays."""
    rng, n, size = np.random.default_rng(n_below), 20, 8
    mask = np.zeros(n, bool)
    mask[rng.choice(n, n_below, replace=False)] = True
    index, present = jax.jit(first_rows, static_argnums=1)(mask, size)
    assert np.array_equal(np.asarray(index)[present], np.flatnonzero(mask))
    assert present.sum() == n_below
