"""Interactions of an `Encoded`: traced, in a batch, on a device, and through the log of the same rows."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.importance import interactions
from parzax.importance.interactions import Interactions

from .logs import gated, log_of, mixed, product

LEVELS = [0.5, 0.2]


def native(obs: px.Observations) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    return obs.values, obs.losses[..., 0], obs.weight


def assert_equal(found: Interactions, expected: Interactions) -> None:
    names = ("variance", "joint", "main", "importance", "p_value", "n_active", "n_target", "n_region")
    for name in (*names, "regime_variance"):
        a, b = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(found.status, expected.status)


@pytest.mark.slow
@pytest.mark.parametrize("log", [pytest.param(gated, marks=pytest.mark.slow), mixed])
def test_jit_from_native_values_is_the_shell(log):
    # Catches a cell, level, weight or draw that depends on the way: x, losses and weights are traced here.
    obs = log(200)
    with jax.enable_x64(True):

        @jax.jit
        def traced(x, losses, weight, key):
            encoded = px.encode(obs.space, x, losses, LEVELS, 0.9, weight)
            return interactions(encoded, key, n_draws=30)

        key = jax.random.key(7)
        found = traced(*(None if a is None else jnp.asarray(a) for a in native(obs)), key)
        shell = px.interactions(obs, LEVELS, region=0.9, n_draws=30, key=key)
    assert isinstance(found.joint, jax.Array)
    assert isinstance(shell.joint, np.ndarray)
    assert_equal(found, shell.estimates)


@pytest.mark.slow
def test_vmap_over_seeds_is_the_shell_of_seeds():
    logs = [log_of(product, 200, seed) for seed in range(3)]
    values, losses = (np.stack([getattr(own, name) for own in logs]) for name in ("values", "losses"))
    obs = px.Observations.from_arrays(logs[0].space, values, losses)
    with jax.enable_x64(True):
        shell = px.interactions(obs, LEVELS, n_draws=40)
        keys = jax.random.split(jax.random.key(0), 3)

        @jax.jit
        @jax.vmap
        def seeds(x, losses, key):
            encoded = px.encode(obs.space, x, losses, LEVELS)
            return px.importance.interactions(encoded, key, pairs=((2, 0), (0, 1)), n_draws=40)

        found = jax.device_get(seeds(values, losses[..., 0], keys))
    assert found.pairs == ((2, 0), (0, 1))
    places = [shell.pairs.index(pair) for pair in (("x", "z"), ("x", "y"))]
    np.testing.assert_allclose(found.variance, shell.variance[..., places], atol=1e-12)
    np.testing.assert_allclose(found.p_value[..., 1], shell.p_value[..., places[1]], atol=1e-12)
    np.testing.assert_array_equal(found.status, shell.status[..., places])
    np.testing.assert_allclose(found.main[..., 0, ::-1], shell.main[..., places[0], :], atol=1e-12)


def test_numpy_in_numpy_out_and_nothing_moves_on_a_device():
    # Catches a detour through the host: once the arrays are placed, no transfer is allowed.
    host = log_of(product, 200).encode(LEVELS)
    placed, key = jax.device_put((host, jax.random.key(3)))
    with jax.transfer_guard("disallow"):
        found = interactions(placed, key, n_draws=20)
        default = interactions(placed, n_draws=20)
    on_host = interactions(host, jax.random.key(3), n_draws=20)
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(on_host))
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves((found, default)))
    assert_equal(on_host, found)
    assert_equal(default, interactions(host, jax.random.key(0), n_draws=20))


def test_loops_for_an_accelerator_do_not_grow():
    # Catches loops over seeds, rows, levels, pairs or slots, which cost a kernel a turn on an accelerator.
    def whiles(log, levels, n_draws, seeds=1):
        encoded = jax.tree.map(lambda a: np.repeat(a[None], seeds, axis=0), log.encode(levels))
        batch = jax.jit(jax.vmap(partial(interactions, n_draws=n_draws)))
        return batch.trace(encoded).lower(lowering_platforms=("cuda",)).as_text().count("stablehlo.while")

    assert whiles(log_of(product, 60), [0.1], 0) == 0
    assert whiles(mixed(2000), [0.1, 0.2, 0.3, 0.4, 0.5], 600, seeds=2) == 3


@pytest.mark.parametrize(
    ("n", "d"), [(0, 2), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((3, 2), (50, 1)))]
)
def test_few_rows_and_no_pairs(as_installed, n, d):
    # Catches a division by nothing, and an index into nothing.
    found = interactions(log_of(lambda x, noise: noise, n, d=d).encode(LEVELS), n_draws=10 * (n < 50))
    assert found.joint.shape == (2, d - 1)
    assert np.isfinite(found.variance).all()
    assert (found.status != 0).all()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"pairs": [(0, 3)]}, ValueError, "no parameter 3"),
        ({"pairs": [(1, 1)]}, ValueError, "is one parameter"),
        ({"pairs": [(0, 1), (1, 0)]}, ValueError, r"\(1, 0\) twice"),
        ({"pairs": ["xy"]}, ValueError, r"such as \(0, 1\)"),
        ({"pairs": 3}, TypeError, "pairs must be"),
        ({"n_draws": -1}, ValueError, "n_draws"),
        ({"key": 0}, TypeError, "key must be a typed key"),
    ],
)
def test_what_is_refused(as_installed, settings, error, message):
    with pytest.raises(error, match=message):
        px.importance.interactions(log_of(product, 20).encode(0.1), **settings)


def test_batches_and_other_types_are_refused(as_installed):
    encoded = log_of(product, 20).encode(0.1)
    with pytest.raises(ValueError, match=r"a batch of shape \(1,\); use jax.vmap"):
        interactions(jax.tree.map(lambda a: a[None], encoded))
    with pytest.raises(TypeError, match=r"encoded must be what parzax\.encode"):
        interactions(np.eye(3))
    with pytest.raises(TypeError, match=r"the log must be parzax\.Observations"):
        px.interactions(encoded)
