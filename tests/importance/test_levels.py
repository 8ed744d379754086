"""Level sets: a level of k of N rows holds k rows; those on a device are the host's, bit by bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COARSE

import parzax as px
from parzax.importance.levels import level_weights


def test_size_of_the_target():
    """Catches products such as 0.07 * 100 = 7.000000000000001, and fractions cut to some digits."""
    cases = (
        (0.07, 100, 7),
        (0.15, 100, 15),
        (0.15, 20, 3),
        (2 / 3, 300, 200),
        (1 / 6, 600, 100),
        (6 / 7, 7, 6),
    )
    for level, n, size in cases:
        values = np.random.default_rng(0).uniform(size=(n, 1))
        obs = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), values, np.arange(float(n)))
        assert (obs.encode(level).level == 0).sum() == size
        if n <= 64:
            result = px.cond_ped_anova(obs, level, grid=COARSE, n_resamples=0)
            assert result.n_target.tolist() == [size]


def test_place_of_each_level():
    """The i-th level asked for is the ``place[i]``-th of the ascending ones."""
    encoded = px.encode(
        px.Space({"x": px.Float(0, 1)}), np.full((9, 1), 0.5), np.arange(9.0), [0.5, 0.1, 0.9, 0.25]
    )
    assert encoded.place == (2, 0, 3, 1)
    assert encoded.level.tolist() == [0, 1, 1, 2, 2, 3, 3, 3, 3]


@pytest.mark.slow
def test_every_fraction_of_all_numbers_of_rows():
    """k / N of N rows for all k < N <= 10^4.

    Of N above 500 that are no multiples of 25 only those whose product is not k in floats; these are all.
    """
    n_calls = 0
    for n in range(1, 10_001):
        k = np.arange(1, n)
        if n > 500 and n % 25:
            k = k[k / n * n != k]
        found = level_weights(tuple((k / n).tolist()), np.float64(n), True, False)
        np.testing.assert_array_equal(found, k)
        n_calls += len(k)
    assert n_calls > 5_000_000


LOSSES = {
    "continuous": lambda rng, n: rng.normal(size=n),
    "tied": lambda rng, n: rng.integers(0, 7, n).astype(float),
    "tied at the cut-off": lambda rng, n: np.where(np.arange(n) < n // 2, 0.0, rng.normal(size=n) + 5),
    "equal": lambda rng, n: np.ones(n),
    "subnormal": lambda rng, n: rng.integers(-3, 4, n) * 5e-324,
    "zeros of both signs": lambda rng, n: np.where(rng.uniform(size=n) < 0.5, 0.0, -0.0),
    "infinite": lambda rng, n: rng.choice([-np.inf, 1.0, 2.0, 3.0], n),
    "missing": lambda rng, n: np.where(rng.uniform(size=n) < 0.3, np.nan, rng.normal(size=n)),
    "none": lambda rng, n: np.full(n, np.nan),
    "failed": lambda rng, n: rng.choice([np.inf, -np.inf, np.nan, 0.5, 1.5], n),
    "all failed": lambda rng, n: rng.choice([np.inf, np.nan], n),
    "huge": lambda rng, n: rng.choice([-1.7e308, 1.7e308, 1e308], n),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "few fractions": lambda rng, n: rng.choice([0.5, 0.7, 0.2, 0.6], n),
    "whole": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "fractions": lambda rng, n: rng.uniform(0, 2, n),
    "zero": lambda rng, n: np.zeros(n),
}
LEVELS = [0.5, 0.07, 1 / 3, 0.9, 1e-9]


@pytest.mark.parametrize("n", [1, 100, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 7, 300))])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("losses", LOSSES)
def test_levels_are_the_hosts(losses, weights, n, double):
    """Special values of losses and weights; sizes that are whole but for rounding; a log is the same."""
    rng = np.random.default_rng(n)
    loss, weight = LOSSES[losses](rng, n), WEIGHTS[weights](rng, n)
    space, x = px.Space({"x": px.Float(0, 1)}), rng.uniform(size=(n, 1))
    for grid, region in ((px.Grid(), 1.0), (px.Grid(), 0.95), (px.Grid.optuna(), 1.0)):
        log = px.Observations.from_arrays(space, x, loss, weight=weight).encode(LEVELS, region, grid=grid)
        host = px.encode(space, x, loss, LEVELS, region, weight, grid)
        arrays = (jnp.asarray(a) if a is not None else None for a in (x, loss, weight))
        device = px.encode(
            space, *list(arrays)[:2], LEVELS, region, None if weight is None else jnp.asarray(weight), grid
        )
        for name in ("codes", "level", "rank", "status", "weight", "n_failed"):
            for one in (host, log):
                found, wanted = getattr(device, name), getattr(one, name)
                if name != "weight" or weight is not None:
                    np.testing.assert_array_equal(np.asarray(found), wanted, err_msg=name)
        assert host.n_failed == (~(loss < np.inf)).sum()
        assert (host.level[~(loss < np.inf)] == len(LEVELS) + 1).all()


@pytest.mark.parametrize(
    "n", [10, 300, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 99, 100, 1000))]
)
def test_level_sizes_in_a_float32_program(n):
    """k = ceil(q N) is exact although the program is in float32: all hundredths of n rows."""
    levels = (np.arange(1, 100) / 100).tolist()
    space, x = px.Space({"x": px.Float(0, 1)}), np.linspace(0, 1, n, dtype=np.float32)[:, None]
    device = px.encode(space, jnp.asarray(x), jnp.asarray(np.arange(n, dtype=np.float32)), levels)
    host = px.Observations.from_arrays(space, x, np.arange(n)).encode(levels)
    np.testing.assert_array_equal(np.asarray(device.level), host.level)


@pytest.mark.slow
def test_weights_can_be_differentiated_in_float32():
    """Catches derivatives of the float64 sums within a program of float32: level sets are held fixed."""
    space, x = px.Space({"x": px.Float(0, 1)}), jnp.linspace(0, 1, 9, dtype=jnp.float32)

    def total(weight):
        return px.encode(space, x[:, None], x, [0.3], weight=weight).weight.sum()

    with jax.enable_x64(False):
        np.testing.assert_array_equal(jax.grad(total)(jnp.ones(9, jnp.float32)), 1)
