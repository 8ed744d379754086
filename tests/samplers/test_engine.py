"""Samplers: splits, suggestions, whole runs."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px
from parzax import samplers
from parzax.samplers.candidates import pick_different
from parzax.samplers.sampler import _suggest

from .tables import empty

SPACE = px.Space(
    {
        "x": px.Float(-2, 2),
        "k": px.Categorical(["a", "b", "z"]),
        "y": px.Float(1e-3, 1, log=True, when=px.In("k", ["a"])),
    }
)


def _objective(key, x):
    """Least at x = 0.5 with k = "b"; |x| <= 1 is feasible. Noisy, so that the keys of evaluations count."""
    loss = (x[0] - 0.5) ** 2 + jnp.where(x[1] != 1, 0.5, 0) + 0.01 * jax.random.normal(key)
    return loss[None], (jnp.abs(x[0]) - 1)[None]


PROBLEM = px.Problem(_objective, SPACE, n_objectives=1, n_constraints=1)
C_TPE = samplers.c_tpe(SPACE, n_constraints=1)
RUN = jax.jit(lambda key: samplers.optimize(key, C_TPE, PROBLEM, 60))


@pytest.fixture(scope="module")
def trace():
    return RUN(jax.random.key(0))


@pytest.mark.slow
def test_a_run_respects_the_space_and_finds_the_optimum(trace):
    x = np.asarray(trace.x, float)
    assert trace.x.shape == (60, 3)
    assert trace.losses.shape == trace.constraints.shape == (60, 1)
    np.testing.assert_array_equal(np.isnan(x[:, 2]), x[:, 1] != 0)
    px.Observations.from_arrays(SPACE, x, np.asarray(trace.losses)[:, 0])  # refuses rows outside
    best = np.asarray(trace.best_losses())
    assert (best[1:] <= best[:-1]).all()  # infinite before the first feasible row
    assert best[-1] < 0.05


@eqx.filter_jit
def _step(sampler, problem, state, key):
    """What the loop promises to do, by hand."""
    ask, evaluate = jax.random.split(key)
    x = sampler.ask(ask, state)
    objectives, constraints = problem(evaluate, x[0])
    return sampler.tell(state, x, objectives[None], constraints[None]), (x[0], objectives, constraints)


def test_a_loop_is_ask_and_tell_by_hand(trace):
    """The same key split in the same way."""
    state, rows = empty(C_TPE, 64), []
    for row_number in range(24):
        state, row = _step(C_TPE, PROBLEM, state, jax.random.fold_in(jax.random.key(0), row_number))
        rows.append(row)
    run = trace.x, trace.losses, trace.constraints
    for found, wanted in zip(run, zip(*rows, strict=True), strict=True):
        # One compiled program against another: roundings may differ, choices must not.
        np.testing.assert_allclose(found[:24], np.stack(wanted), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(trace.x[:24, 1], state.x[:24, 1])


@pytest.mark.slow
def test_a_batch_has_no_duplicates_while_there_are_others():
    space = px.Space({"k": px.Int(1, 3), "x": px.Float(0, 1, when=px.In("k", [2, 3]))})
    pool = jnp.array([[1.0, jnp.nan], [1.0, jnp.nan], [2.0, 0.0], [3.0, 0.0]])
    place = jnp.array([0, 1, 3, 2])
    basis = px.tpe(space).smoothing.basis(space, pool.dtype)
    at = basis.frame.encode(pool)
    choose = jax.jit(lambda n: pick_different(basis, at, place, n), static_argnums=0)
    assert choose(3).tolist() == [0, 3, 2]
    assert choose(4).tolist() == [0, 3, 2, 1]
    assert choose(1).tolist() == [0]


KEY = jax.random.key(0)
ROW, ONE = jnp.array([[0.0, 1.0, jnp.nan]]), jnp.zeros(1)


@pytest.mark.slow
def test_copies_of_a_row_below_are_not_all_below():
    """Catches a first front that grows by every repetition, until nothing else is suggested."""
    space = px.Space({"a": px.Int(1, 12), "b": px.Categorical(["u", "v", "w"])})
    sampler = px.mo_tpe(space, 2)
    x = jnp.array([[1.0, 0], [5, 1], [5, 1], [5, 1], [12, 2], [5, 1], [9, 0], [8, 0]])
    losses = jnp.array([[0.0, 9], [1, 1], [1, 1], [1, 1], [9, 0], [1, 1], [7, 7], [8, 8]])
    state = sampler.tell(sampler.init(16), x, losses)
    assert np.flatnonzero(sampler.split(state).below[0]).tolist() == [0, 1, 4]


def test_calls_on_the_host_are_one_program():
    """Catches an ask that is dispatched operation by operation, seconds at every call."""
    sampler = px.papers.tpe(px.Space({"a": px.Categorical([0, 1])}))
    state = sampler.init(8)
    jax.clear_caches()
    before = _suggest.n_compiled
    for seed in range(3):
        sampler.ask(jax.random.key(seed), state)
    assert _suggest.n_compiled == before + 1


@pytest.mark.slow
def test_pools_with_members_outside_the_space():
    """Catches a member outside chosen at random, where compiled code cannot refuse it."""
    space = px.Space({"a": px.Float(0, 1)})
    sampler = adjusted(px.tpe, epsilon=1.0)(space)
    ask = jax.jit(jax.vmap(sampler.ask, in_axes=(0, None, None, None)), static_argnums=2)
    pool = jnp.array([[3.0], [0.5], [-1.0], [jnp.nan], [0.25]])
    found = ask(jax.random.split(jax.random.key(0), 20), sampler.init(8), 2, pool)
    assert np.array_equal(np.sort(found[..., 0], axis=1), [[0.25, 0.5]] * 20)


@pytest.mark.slow
def test_truths_are_no_constraints():
    """Catches True, meant as satisfied, taken as 1 > 0."""
    sampler = px.c_tpe(px.Space({"a": px.Float(0, 1)}), n_constraints=1)
    for truths in ([True], np.array([True]), jnp.array([False])):
        with pytest.raises(TypeError, match="<= 0 means satisfied"):
            sampler.tell(sampler.init(8), [[0.5]], [1.0], truths)


@pytest.mark.parametrize(
    ("m", "c", "gamma", "n_candidates"), [(1, 0, 0.2, 64), (1, 2, 0.1, 64), (2, 0, 0.2, 24), (2, 1, 0.1, 24)]
)
def test_settings_that_depend_on_what_there_is(m, c, gamma, n_candidates):
    """Catches a setting that goes by objectives instead of constraints, and a given one that is lost."""
    sampler = px.tpe(SPACE, m, c)
    losses = np.arange(40.0)[:, None].repeat(m, axis=1)
    state = sampler.tell(sampler.init(), np.tile(ROW, (40, 1)), losses, np.full((40, c), -1.0))
    below = eqx.filter_jit(sampler.split)(state).below[0]
    assert int(below.sum()) == int(px.gamma.Linear(gamma)(jnp.array(40)))
    assert sampler.n_candidates == n_candidates
    given = adjusted(px.tpe, gamma=px.gamma.Sqrt(), n_candidates=7)(SPACE, m, c)
    assert (given.split.gamma, given.n_candidates) == (px.gamma.Sqrt(), 7)


def test_share_power_reaches_the_score():
    """Catches a preset that takes the power and loses it, and a default that is another's.

    `meta/test_warm_start.py` has the presets with source tasks.
    """
    space = px.Space({"x": px.Float(0, 1)})
    presets = {
        px.tpe: (3.0, (1, 1)),
        px.c_tpe: (1.0, (1, 1)),
        px.mo_tpe: (1.0, (2, 1)),
        px.optuna_tpe: (1.0, (1, 1)),
    }
    for preset, (usual, counts) in presets.items():
        assert preset(space, *counts).acquisition == px.acquisition.Relative(usual)
        given = adjusted(preset, share_power=2.5)(space, *counts)
        assert given.acquisition == px.acquisition.Relative(2.5)
    assert px.papers.naive_c_tpe(space).acquisition == px.acquisition.Naive()
    # Without constraints c-TPE's score is that of its objective alone.
    assert px.c_tpe(space, n_constraints=0).acquisition == px.acquisition.Relative(1.0)
    assert px.mo_tpe(space, 2).acquisition == px.c_tpe(space).acquisition == px.acquisition.Relative()


def test_the_start_ends_at_the_same_row_in_eager_and_compiled_code():
    """Constraint-only rows do not count; catches a start that the host ends earlier or later."""
    space = px.Space({"k": px.Categorical([*"abcdefgh"])})
    sampler = adjusted(px.c_tpe, n_startup=3)(space, n_constraints=1)
    ask, keys = jax.jit(jax.vmap(sampler.ask, in_axes=(0, None))), jax.random.split(jax.random.key(0), 8)
    state = sampler.augment(sampler.init(8), np.array([[5.0], [6.0]]), np.array([0.0, 1.0]))
    for n_told in range(5):
        eager = jnp.stack([sampler.ask(key, state) for key in keys])
        np.testing.assert_array_equal(eager, ask(keys, state), err_msg=str(n_told))
        drawn = jnp.stack(
            [dataclasses.replace(sampler, start=px.samplers.RandomStart(9)).ask(key, state) for key in keys]
        )
        assert np.array_equal(eager, drawn) == (n_told < 3), n_told
        loss = np.nan if n_told == 1 else 1.0  # pending and failed rows count
        state = sampler.tell(state, np.array([[7.0]]), np.array([loss]), np.array([0.0 * loss]))
