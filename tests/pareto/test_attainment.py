"""Attainment surfaces against a loop and moocore's eaf."""

import jax
import jax.numpy as jnp
import moocore
import numpy as np
import pytest
from reference import pareto as reference

from pareto.tables import holed
from parzax.pareto import attainment_surface

S, N = 5, 8


def corners(losses, level, mask=None) -> list[tuple[float, float]]:
    surface = attainment_surface(jnp.asarray(losses), level, mask)
    on = np.asarray(surface.corner)
    return list(zip(np.asarray(surface.x)[on].tolist(), np.asarray(surface.y)[on].tolist(), strict=True))


def runs(name: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if name == "random":
        return rng.normal(size=(S, N, 2))
    if name == "all equal":
        return np.ones((S, N, 2))
    if name == "extreme":
        return rng.choice([-1e200, -1e-320, 0.0, 1e-320, 1e-200, 1e200], (S, N, 2))
    return rng.integers(0, 4, (S, N, 2)) * 1.0


@pytest.mark.parametrize("name", ["random", "grid", "all equal", "extreme"])
def test_equal_loops_and_moocore(name, double):
    """Catches points at one x counted one by one, corners that are none, and levels off by one."""
    losses = runs(name)
    sets = np.repeat(np.arange(S), N)
    for level in range(1, S + 1):
        ours = corners(losses, level)
        assert ours == reference.attainment(losses, level, np.ones((S, N))), level
        theirs = moocore.eaf(losses.reshape(-1, 2), sets=sets, percentiles=[100 * level / S])
        assert ours == sorted(map(tuple, theirs[:, :2].tolist())), level


def test_absent_nan_and_infinite_points(double):
    """Catches a run without points that attains something, and NaN that attains all."""
    losses, mask = holed(runs("grid").reshape(-1, 2))
    losses, mask = losses.reshape(S, N, 2), mask.reshape(S, N)
    mask[2] = False
    losses[0, 0], losses[1, 1] = (-np.inf, 3.0), (1.0, np.inf)
    for level in range(1, S + 1):
        expected = reference.attainment(losses, level, mask)
        assert corners(losses, level, jnp.asarray(mask)) == expected
    assert corners(losses, S, jnp.asarray(mask)) == []
    assert attainment_surface(jnp.zeros((3, 0, 2)), 1).x.shape == (0,)


def test_laws():
    """Catches a surface that depends on the order of runs or points, jit or vmap over levels."""
    losses = runs("grid").astype(np.float32)
    levels = jnp.arange(1, S + 1)
    every = jax.vmap(attainment_surface, (None, 0))(jnp.asarray(losses), levels)
    new = losses[np.random.default_rng(0).permutation(S)][:, ::-1]
    for level in range(1, S + 1):
        one = attainment_surface(jnp.asarray(losses), level)
        jax.tree.map(lambda a, b, k=level: np.testing.assert_array_equal(a[k - 1], b), every, one)
        assert corners(new, level) == corners(losses, level)
        # A staircase: never rises, and no level lies below a lower one.
        assert (np.asarray(one.y[1:]) <= np.asarray(one.y[:-1])).all()
    assert (np.asarray(every.y[1:]) >= np.asarray(every.y[:-1])).all()


@pytest.mark.usefixtures("as_installed")
def test_errors_name_the_argument():
    """Catches runs of three objectives, and a mask of another shape."""
    with pytest.raises(ValueError, match=r"losses must be \(s, n, 2\)"):
        attainment_surface(jnp.zeros((2, 3, 3)), 1)
    with pytest.raises(ValueError, match="mask must have shape"):
        attainment_surface(jnp.zeros((2, 3, 2)), 1, jnp.ones(2))
