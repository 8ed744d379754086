"""Borders of cells, and values around them."""

import numpy as np
import pytest

import parzax as px
from parzax._numerics.keys import float_of_key, ordered_key
from parzax.importance.layout import cell_borders, grid_cells

DOMAINS = {
    "float": px.Float(0, 1),
    "float, negative": px.Float(-3.3, 7.7),
    "float, narrow": px.Float(1.0, 1.0 + 1e-9),
    "float, tiny": px.Float(0, 1e-300),
    "float, wide": px.Float(-8e307, 8e307),
    "float, log": px.Float(1e-5, 10, log=True),
    "float, log down to 1e-300": px.Float(1e-300, 1, log=True),
    "float, narrow log": px.Float(1e8, 1e8 + 1e-4, log=True),
    "float, step": px.Float(0.3, 2.3, step=0.1),
    "float, many steps": px.Float(-1, 1, step=1e-3),
    "int": px.Int(-4, 9),
    "int, more than cells": px.Int(1, 1000),
    "int, step": px.Int(3, 300, step=3),
    "int, log": px.Int(1, 4096, log=True),
    "int, beyond 65,536": px.Int(0, 100_000),
    "int, beyond 2^31": px.Int(0, 2**40),
    "int, beyond 2^31, log": px.Int(1, 2**40, log=True),
    "int, shifted": px.Int(-(2**45), 2**45),
    "ordinal": px.Ordinal([16, 32, 64, 128]),
    "ordinal, more than cells": px.Ordinal(np.cumsum(np.arange(1, 151)).tolist()),
    "ordinal, log": px.Ordinal([1e-8, 1e-4, 1e-3, 1.0], log=True),
    "categorical": px.Categorical(["a", "b", "c"]),
    "categorical, many": px.Categorical([f"c{i}" for i in range(300)]),
    "single": px.Float(2.5, 2.5),
}
GRIDS = {"default": px.Grid(), "parity": px.Grid.optuna()}


def around(values: np.ndarray, dtype=np.float64, units: int = 6) -> np.ndarray:
    """Each number and its neighbours up to so many units in the last place."""
    values = np.asarray(values, np.float64)
    with np.errstate(over="ignore"):
        key = ordered_key(values.astype(dtype)).astype(np.int64)
    near = (key[:, None] + np.arange(-units, units + 1)).reshape(-1)
    return float_of_key(near.astype(ordered_key(np.zeros(1, dtype)).dtype)).astype(np.float64)


def adversarial(domain: px.space.Domain, grid: px.Grid, dtype=np.float64) -> np.ndarray:
    """Borders, bounds, values, edges of slacks, and what is outside."""
    rng, axis = np.random.default_rng(0), domain.axis
    borders = float_of_key(cell_borders(domain, grid, np.float64))
    n = int(axis.n_values)
    chosen = (
        np.unique(np.r_[0, 1, n // 3, n // 2, n - 2, n - 1, rng.integers(0, n, 20)]).clip(0)
        if n
        else np.zeros(1, int)
    )
    values = np.asarray(axis.native(rng.uniform(size=len(chosen)), chosen), np.float64)
    ends = np.asarray(axis.native(np.array([0.0, 1.0]), np.array([0, max(n - 1, 0)])), np.float64)
    slack = np.array([0, 64 * 2.0**-52, 4 * 2.0**-23, 1e-6])
    with np.errstate(over="ignore", invalid="ignore"):
        slacks = np.concatenate([ends * (1 + slack[:, None]), ends * (1 - slack[:, None])]).reshape(-1)
        step = 1.0 if getattr(axis, "step", None) is None else float(axis.step)
        steps = (values[:, None] + step * np.array([-1, -0.5, -1e-3, 1e-3, 0.5, 1])).reshape(-1)
        listed = (values[:, None] * np.array([1 - 1e-6, 1 + 1e-6])).reshape(-1)
        found = around(np.concatenate([borders, values, ends, slacks, steps, listed]), dtype)
        inside = axis.native(rng.uniform(size=500), rng.integers(0, max(n, 1), 500))
        rest = [0.0, -0.0, 5e-324, -5e-324, np.inf, -np.inf, np.nan, 1e300]
        return np.concatenate([found, inside, rest]).astype(dtype).astype(np.float64)


@pytest.mark.parametrize("grid", GRIDS)
def test_cells_change_at_borders_alone(grid):
    """The largest value of a cell is in it, the next float in the next cell; no cell is without a border."""
    for name, domain in DOMAINS.items():
        (_, n_cells, rule), keys = (
            grid_cells(domain, GRIDS[grid]),
            cell_borders(domain, GRIDS[grid], np.float64),
        )
        below, above = rule(float_of_key(keys)), rule(float_of_key(keys + 1))
        assert (keys[1:] >= keys[:-1]).all(), name
        assert len(keys) == n_cells - 1, name
        # A cell between two borders that are equal has no value.
        last = np.append(keys, np.iinfo(keys.dtype).max)[1:] > keys
        assert (above[last] > np.flatnonzero(last)).all(), name
        assert (below <= np.arange(len(keys))).all(), name
