"""Attainment surfaces against a loop and moocore's eaf."""

import moocore
import numpy as np
import pytest
from reference import pareto as reference

from parzax.lens.plotting.runs import attained_corners

S, N = 5, 8


def corners(runs, level) -> list[tuple[float, float]]:
    return list(map(tuple, attained_corners(runs, level).tolist()))


def draw_runs(name: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if name == "random":
        return rng.normal(size=(S, N, 2))
    if name == "all equal":
        return np.ones((S, N, 2))
    if name == "extreme":
        return rng.choice([-1e200, -1e-320, 0.0, 1e-320, 1e-200, 1e200], (S, N, 2))
    return rng.integers(0, 4, (S, N, 2)) * 1.0


@pytest.mark.parametrize("name", ["random", "grid", "all equal", "extreme"])
def test_equal_loops_and_moocore(name):
    """Catches points at one x counted one by one, corners that are none, and levels off by one."""
    losses = draw_runs(name)
    sets = np.repeat(np.arange(S), N)
    for level in range(1, S + 1):
        ours = corners(losses, level)
        assert ours == reference.attainment(losses, level, np.ones((S, N))), level
        theirs = moocore.eaf(losses.reshape(-1, 2), sets=sets, percentiles=[100 * level / S])
        assert ours == sorted(map(tuple, theirs[:, :2].tolist())), level


def test_uneven_runs():
    """Catches a run without points that attains something, and points that count for another run."""
    losses, mask = draw_runs("grid"), np.random.default_rng(1).random((S, N)) < 0.6
    mask[2] = False
    losses[0, 0] = (-np.inf, 3.0)
    runs = [run[here] for run, here in zip(losses, mask, strict=True)]
    for level in range(1, S + 1):
        assert corners(runs, level) == reference.attainment(losses, level, mask)
    assert corners(runs, S) == []
    assert corners([np.zeros((0, 2))], 1) == []
