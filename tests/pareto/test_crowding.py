"""Crowding against a loop and Optuna's, and the order that follows from it."""

import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from optuna.samplers.nsgaii._elite_population_selection_strategy import _calc_crowding_distance
from reference import pareto as reference

from pareto.tables import N, holed, tables
from parzax.pareto import Crowding, crowding_distance, non_domination_rank


def distances(losses, mask):
    losses, mask = jnp.asarray(losses), jnp.asarray(mask)
    rank = non_domination_rank(losses, mask)
    return np.asarray(rank), np.asarray(crowding_distance(losses, rank, mask))


@pytest.mark.parametrize("m", [1, pytest.param(2, marks=pytest.mark.slow), 3])
def test_equal_loops(m, double):
    """Catches neighbours of another front, a division by 0, NaN at infinities, warnings."""
    for seed, (name, losses) in enumerate(tables(m).items()):
        for rows, mask in ((losses, np.ones(N, bool)), holed(losses, seed)):
            rank, ours = distances(rows, mask)
            with np.errstate(over="ignore"):
                # Halved: a range beyond the largest float is one for the loop, not for us.
                expected = reference.crowding(rows if name != "huge" else rows / 2, rank, mask)
            if name == "subnormal":  # differences that XLA flushes to 0, but the ends are known
                ours, expected = np.isinf(ours), np.isinf(expected)
                np.testing.assert_array_equal(ours, expected, err_msg=name)
                continue
            on_host = crowding_distance(rows, rank, mask)
            assert isinstance(on_host, np.ndarray)
            for found in (ours, on_host):
                np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=name)


def test_equal_optuna(double):
    """Catches another normalisation than NSGA-II's; on rows without ties, where the rules are the same."""
    losses = tables(3)["random"]
    rank, ours = distances(losses, np.ones(N, bool))
    for front in range(rank.max() + 1):
        rows = np.flatnonzero(rank == front)
        trials = [optuna.trial.create_trial(values=list(losses[i])) for i in rows]
        for number, trial in enumerate(trials):
            trial.number = number
        theirs = _calc_crowding_distance(trials)
        np.testing.assert_allclose(ours[rows], [theirs[k] for k in range(len(rows))], rtol=1e-13)


def test_order(x64):
    """Catches ties that change places, absent rows among the others, and -0.0 before 0.0."""
    losses, mask = holed(tables(2, np.float64 if x64 else np.float32)["grid"])
    rank, distance = distances(losses, mask)
    expected = sorted(range(N), key=lambda i: (rank[i], -distance[i], i))
    for xp in (np, jnp):
        rows = [xp.asarray(x) for x in (losses, rank, mask, mask)]
        np.testing.assert_array_equal(Crowding().order(*rows, 3, N), expected)


@pytest.mark.slow
def test_laws():
    """Catches distances that depend on the order of distinct rows, on padding, units, jit or vmap."""
    losses, mask = holed(tables(2, np.float32)["random"])
    rank, distance = distances(losses, mask)
    new = np.random.default_rng(0).permutation(N)
    np.testing.assert_array_equal(distances(losses[new], mask[new])[1], distance[new])
    scaled = losses * np.float32([4, 0.5])
    np.testing.assert_array_equal(distances(scaled, mask)[1], distance)
    half = N // 2
    few = distances(losses, mask & (np.arange(N) < half))[1]
    rows = losses[:half].astype(np.float64)
    expected = reference.crowding(rows, reference.ranks(rows, mask[:half]), mask[:half])
    np.testing.assert_allclose(few[:half], expected, rtol=1e-5)
    args = (jnp.asarray(losses), jnp.asarray(rank), jnp.asarray(mask))
    np.testing.assert_array_equal(jax.jit(crowding_distance)(*args), distance)
    batch = jax.vmap(crowding_distance)(*(jnp.stack([a, a[new]]) for a in args))
    np.testing.assert_array_equal(batch, np.stack([distance, distance[new]]))


def test_few_rows():
    """Catches a failure without rows, and a lone row that is not at both ends."""
    assert crowding_distance(jnp.zeros((0, 2)), jnp.zeros(0, int)).shape == (0,)
    assert crowding_distance(jnp.zeros((1, 2)), jnp.zeros(1, int)).tolist() == [np.inf]
    assert crowding_distance(jnp.zeros((3, 2)), jnp.zeros(3, int)).tolist() == [0, 0, 0]
    empty = jnp.zeros((0, 2)), jnp.zeros(0, int), jnp.zeros(0, bool), jnp.zeros(0, bool)
    assert Crowding().order(*empty, 0, 0).shape == (0,)
