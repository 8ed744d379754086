"""Effects in units of the loss, beside the truth of functions that the process knows well."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax import surrogate
from parzax.surrogate.effects import RandomRows

SPACE = px.Space(
    {
        "lr": px.Float(1e-4, 1, log=True),
        "gate": px.Categorical(["on", "off", "half"]),
        "depth": px.Int(1, 5, when=px.In("gate", ["on"])),
        "idle": px.Ordinal([1, 10, 20]),
        "off": px.Float(0, 1, when=px.In("gate", ["off", "half"])),
    }
)
KEY = jax.random.key(0)
N_ROWS = 80
FEW = {"n_draws": 12, "n_points": 64}


def loss(lr, gate, depth):
    """Accuracy in points, say: the best is 0."""
    return (np.log10(lr) + 2) ** 2 + np.where(gate == 0, 0.5 * (depth - 2) ** 2, 1.5 * gate)


@pytest.fixture(scope="module")
def posterior():
    x = np.asarray(SPACE.sample(KEY, N_ROWS), np.float64)
    return surrogate.GaussianProcess().fit(SPACE, x, loss(*x[:, :3].T))


@pytest.fixture(scope="module")
def found(posterior):
    return surrogate.effects(KEY, posterior, **FEW)


# The mean over the depths that the gate makes active: (1 + 0 + 1 + 4 + 9) / 2 / 5.
ON, OTHERS = 1.5, (1.5 + 1.5 + 3.0) / 3
PLACES = np.array([-4 + 4 * (k + 0.5) / 16 for k in range(16)])


def test_curves_are_those_of_the_function(found):
    curves = found.losses.mean(axis=0)
    np.testing.assert_allclose(found.values[0], 10**PLACES)
    np.testing.assert_allclose(curves[0], (PLACES + 2) ** 2 + OTHERS, atol=0.2)
    np.testing.assert_array_equal(found.values[1], [0, 1, 2] + [np.nan] * 13)
    squares = np.mean((PLACES + 2) ** 2)
    np.testing.assert_allclose(curves[1, :3], squares + np.array([ON, 1.5, 3.0]), atol=0.25)
    np.testing.assert_allclose(curves[2, :5], squares + np.array([0.5, 0, 0.5, 2, 4.5]), atol=0.35)
    np.testing.assert_array_equal(found.values[3, :3], [1, 10, 20])
    assert np.ptp(curves[3]) < 0.1
    assert np.ptp(curves[4]) < 0.1


def test_the_worth_of_tuning(found):
    """The mean over the values minus the least, where the parameter is active; nothing for the idle one."""
    for worth in (found.worth, found.target_worth):
        wanted = [np.mean((PLACES + 2) ** 2), 1.5, 0]
        np.testing.assert_allclose(worth[:, [0, 2, 3]].mean(axis=0), wanted, atol=0.15)
        # One is idle: the value that is the best on average is worth nothing, or less.
        assert np.quantile(worth[:, 3], 0.05) <= 0 < np.quantile(worth[:, 0], 0.05)
    assert found.worth[:, 1].mean() == pytest.approx(OTHERS - 1.5, abs=0.2)
    slots = np.arange(len(found.values))
    best = found.values[slots, found.target_losses.argmin(axis=-1)]
    np.testing.assert_allclose(np.log10(np.median(best[:, 0])), -2, atol=0.2)
    assert np.median(best[:, 2]) == 2


def test_worth_lies_between_the_best_on_average_and_the_best_of_each_draw():
    curves = np.array([[0.0, 1, 2], [3, 1, 2], [1, 0, 2]])[:, None]
    found = surrogate.Effects(np.arange(3.0)[None], np.full((1, 3), 1 / 3), curves, curves + 1)
    # Means are 1, 2 and 1; the second value is the best on average.
    low, high = np.sort([1 - 1, 2 - 1, 1 - 0]), np.sort([1 - 0, 2 - 1, 1 - 0])
    wanted = [low[0], (low[1] + high[1]) / 2, high[2]]
    np.testing.assert_allclose(found.worth[:, 0], wanted)
    np.testing.assert_allclose(found.target_worth[:, 0], wanted)


def test_no_loss_counts_as_worse_than_the_worst_of_the_log():
    """A log that has not seen the steep end cannot say how bad it is."""
    x = np.asarray(SPACE.sample(KEY, 2 * N_ROWS), np.float64)
    x = x[np.log10(x[:, 0]) < -1][:N_ROWS]
    losses = 100 ** (np.log10(x[:, 0]) + 2)
    posterior = surrogate.GaussianProcess().fit(SPACE, x, losses)
    assert surrogate.effects(KEY, posterior, **FEW).losses.max() <= losses.max() * (1 + 1e-9)


def test_what_may_be_fixed(found):
    np.testing.assert_array_equal(found.negligible()[:4], [False, False, False, True])
    assert found.negligible(part=1.1)[:4].all()


@pytest.mark.slow
def test_a_surface(posterior):
    """Over two slots; along one of them its mean is the curve of the other."""
    few = {"n_draws": 4, "n_points": 32, "n_values": 16}
    both = surrogate.surface(KEY, posterior, (0, 3), **few)
    assert both.shape == (4, 16, 16)
    mean = both.mean(axis=0)
    np.testing.assert_allclose(mean[:, 0] - mean[:, 0].min(), (PLACES + 2) ** 2, atol=0.2)
    # Only where the gate is on there is a depth, and never where it is off or half.
    of_gate = surrogate.surface(KEY, posterior, (1, 2), **few)
    assert np.isfinite(of_gate[:, 0]).all()
    assert np.isnan(of_gate[:, 1:]).all()
    assert np.isnan(surrogate.surface(KEY, posterior, (2, 4), **few)).all()


@pytest.mark.slow
def test_a_parameter_with_two_domains_has_a_curve_for_each():
    gate = px.Float(0, 1)
    low, high = px.Float(-7, -2, when=px.Between("c", high=0.5)), px.Float(2, 7, when=px.Between("c", 0.5))
    space = px.Space({"c": gate, "x": (low, high)})
    x = np.asarray(space.sample(KEY, 90), np.float64)
    posterior = surrogate.GaussianProcess().fit(space, x, np.abs(x[:, 1]))
    effects = surrogate.effects(KEY, posterior, n_draws=8, n_points=32, n_values=8)
    assert (effects.values[1] < 0).all()
    assert (effects.values[2] > 0).all()
    np.testing.assert_allclose(effects.losses[:, 1:].mean(axis=0), np.abs(effects.values[1:]), atol=0.6)


@pytest.mark.slow
def test_jax_arrays_and_batches(posterior, found):
    x = np.asarray(SPACE.sample(KEY, N_ROWS), np.float64)
    tenfold = surrogate.GaussianProcess().fit(SPACE, x, 10 * loss(*x[:, :3].T))
    both = jax.tree.map(lambda *a: np.stack(a), posterior, tenfold)
    few = {"n_draws": 2, "n_points": 16, "n_values": 4}
    with jax.enable_x64(True):
        worth = jax.jit(jax.vmap(lambda fit: surrogate.effects(KEY, fit, **few).worth))(both)
    assert isinstance(worth, jax.Array)
    np.testing.assert_allclose(worth[1], 10 * np.asarray(worth[0]), rtol=1e-3, atol=1e-3)
    with jax.enable_x64(True):
        on_device = jax.tree.map(jnp.asarray, posterior)
        device = surrogate.effects(KEY, on_device, **FEW)
    chex.assert_trees_all_close(found, jax.tree.map(np.asarray, device), rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_means_are_over_valid_configurations(posterior):
    """Without learning rates from 0.1 the mean of (log10(lr) + 2) ** 2 is 1 and not 4 / 3."""
    valid = dataclasses.replace(
        posterior, space=px.Space(dict(zip(SPACE, SPACE.domains, strict=True)), lambda p: p["lr"] < 0.1)
    )
    curves = surrogate.effects(KEY, valid).losses.mean(axis=0)
    np.testing.assert_allclose(curves[1, :3], 1 + np.array([ON, 1.5, 3.0]), atol=0.25)
    # Where nothing is valid, the mean is over all configurations.
    np.testing.assert_allclose(curves[0], (PLACES + 2) ** 2 + OTHERS, atol=0.3)
    rows = RandomRows.draw(KEY, valid.space, 50, np.float32)
    x = valid.space.frame(np.dtype(np.float32)).decode(
        valid.space.frame(np.dtype(np.float32)).drawn(rows.levels)
    )
    assert valid.space.allows(x).all()
