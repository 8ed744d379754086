"""Which rows of a front fall below where not all do: greedy hypervolume subset selection against loops."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from benchmarks.settings import adjusted
from optuna.samplers._tpe.sampler import _split_complete_trials_multi_objective as optunas
from pareto.tables import N, holed, tables
from reference import pareto as reference
from reference import tpe as oracle

import parzax as px
from parzax.pareto import non_domination_rank, reference_point
from parzax.split.split import count_before

COUNTS = np.array([0, 1, 3, 8, 17, 33, N, N + 5], np.int32)
# Those whose ties are exact: on an even front the loops' last digit would decide.
NAMES = ("random", "each row twice", "all equal", "a chain", "near a front", "infinities")


@jax.jit
def _below(losses, evaluated, counted, count):
    """(n,) who is below."""
    rank = non_domination_rank(losses, evaluated)
    order = px.pareto.Hypervolume().order(losses, rank, evaluated, counted, count, N)
    return evaluated & (count_before(order, evaluated & counted) < count)


_reference_point = jax.jit(reference_point)
_all_counts = jax.jit(jax.vmap(_below, in_axes=(None, None, None, 0)))


def _wanted(losses, told, counted, count) -> list[int]:
    order = oracle.by_hypervolume(
        losses, reference.ranks(losses, told), np.flatnonzero(told).tolist(), counted, count
    )
    before = np.cumsum(counted[order]) - counted[order]
    return sorted(i for i, b in zip(order, before, strict=True) if b < count)


def _cases(m: int, dtype: type):
    """Losses, rows that are told, rows that count."""
    everything, some = np.ones(N, bool), np.arange(N) % 3 > 0
    for name, losses in tables(m, dtype).items():
        if name in NAMES:
            yield name, losses, everything, everything
            yield f"{name}, a third does not count", losses, everything, some
    losses, mask = holed(tables(m, dtype)["near a front"])
    told = mask & ~np.isnan(losses).any(axis=1)
    yield "rows that are not told", losses, told, told
    yield "nothing counts", losses, told, np.zeros(N, bool)
    yield "no rows", losses, np.zeros(N, bool), np.zeros(N, bool)


@pytest.mark.parametrize(
    ("m", "double"),
    [(2, True), pytest.param(2, False, marks=pytest.mark.slow),
     pytest.param(3, False, marks=pytest.mark.slow), pytest.param(3, True, marks=pytest.mark.slow)],
)  # fmt: skip
def test_equal_loops(m, double):
    """Catches another front that is cut, another reference, rows that do not count but are below, ties."""
    with jax.enable_x64(double):
        for name, losses, told, counted in _cases(m, np.float64 if double else np.float32):
            found = _all_counts(*map(jnp.asarray, (losses, told, counted, COUNTS)))
            for mask, count in zip(np.asarray(found), COUNTS.tolist(), strict=True):
                assert np.flatnonzero(mask).tolist() == _wanted(losses, told, counted, count), (name, count)


@pytest.mark.parametrize("m", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_equal_optuna(m, double):
    """Catches a split other than that of Optuna's TPE; signs of losses move its reference point."""
    study = optuna.create_study(directions=["minimize"] * m)
    for name, shift in (("random", 0), ("near a front", 0), ("near a front", -2), ("near a front", 3)):
        losses = tables(m)[name] + shift
        trials = [optuna.trial.create_trial(values=row.tolist()) for row in losses]
        for count in (1, 4, 10, 20, N - 1):
            theirs, _ = optunas(trials, study, count)
            everything = jnp.ones(N, bool)
            mask = _below(jnp.asarray(losses), everything, everything, jnp.asarray(count))
            kept = {id(trial) for trial in theirs}
            assert np.flatnonzero(mask).tolist() == [i for i, t in enumerate(trials) if id(t) in kept]


def test_reference_point():
    losses = jnp.array([[2.0, -1.0, 0.0], [jnp.inf, -2.0, -1.0], [1.0, -jnp.inf, -3.0], [9.0, 9.0, 9.0]])
    front = jnp.arange(4) < 3
    np.testing.assert_allclose(_reference_point(losses, front), [2.2, -0.9, 1e-12], rtol=1e-6)
    np.testing.assert_allclose(_reference_point(losses, front & False), 1e-12, rtol=1e-6)
    largest = np.finfo(np.float32).max
    np.testing.assert_array_equal(_reference_point(jnp.full((1, 2), largest), jnp.ones(1, bool)), largest)


@pytest.mark.slow
def test_scan_is_one_by_one():
    """A run's carry, and the same under jit alone; the state grows row by row."""
    losses = jnp.asarray(tables(2, np.float32)["near a front"])

    def step(told, i):
        told = told.at[i].set(True)
        return told, _below(losses, told, told, (told.sum() + 1) // 2)

    found = np.asarray(jax.jit(partial(jax.lax.scan, step))(jnp.zeros(N, bool), jnp.arange(N))[1])
    for i in (0, 7, 20, N - 1):
        told = np.arange(N) <= i
        assert np.flatnonzero(found[i]).tolist() == _wanted(np.asarray(losses), told, told, (i + 2) // 2)


@pytest.mark.slow
def test_most_is_at_least_the_count():
    """Catches a selection that ends before the group below is full."""
    n = jnp.arange(1, 4097)
    linear = (px.gamma.Linear(beta) for beta in (0.07, 0.1, 1.0))
    for rule in (px.gamma.Sqrt(), px.gamma.Sqrt(3.0), px.gamma.Optuna(), *linear):
        assert (np.asarray(jax.jit(jax.vmap(rule))(n)) <= [rule.most(k) for k in range(1, 4097)]).all()
    assert px.gamma.Linear(jnp.asarray(0.1)).most(100) == 100


def test_what_is_refused():
    space = px.Space({"x": px.Float(0, 1)})
    with pytest.raises(ValueError, match=r"^Hypervolume\(\) supports at most 3 objectives, got 4"):
        adjusted(px.mo_tpe, ties=px.pareto.Hypervolume())(space, 4)
    with pytest.raises(
        TypeError, match=r"^ties must be a rule of parzax.pareto, such as Crowding\(\), got 'volume'"
    ):
        adjusted(px.mo_tpe, ties="volume")(space, 2)
    assert px.mo_tpe(space, 4).split.ties == px.pareto.Crowding()
