"""Grid cells of values, and codes of rows and of points."""

import sys

import numpy as np
import pytest
from conftest import zoo, zoo_observations
from reference import grid, logs

import parzax as px
from parzax.importance.encode import host_codes
from parzax.importance.layout import grid_cells, layout

pytestmark = pytest.mark.data

DOMAINS = [
    {"kind": "float", "low": -7.0, "high": -2.0},
    {"kind": "float", "low": 1e-4, "high": 1.0, "log": True},
    {"kind": "float", "low": 0.0, "high": 1.0, "step": 0.25},
    {"kind": "float", "low": 0.0, "high": 10.0, "step": 0.1},
    {"kind": "int", "low": 0, "high": 9},
    {"kind": "int", "low": 1, "high": 9, "step": 2},
    {"kind": "int", "low": -100, "high": 100},
    {"kind": "int", "low": 0, "high": 98},
    {"kind": "int", "low": 0, "high": 99},
    {"kind": "int", "low": 1, "high": 300, "log": True},
    {"kind": "int", "low": 7, "high": 2981, "log": True},
    {"kind": "int", "low": 3, "high": 3},
    {"kind": "ordinal", "values": [1, 2, 8, 64]},
    {"kind": "categorical", "choices": ["a", "b", "c"]},
]


def _domain(body):
    return px.Space.from_json({"parameters": [{"name": "x", **body}]})["x"][0]


def _codes(obs, spec, rows=None):
    """Those of a log, which has a seed axis or none."""
    shape = (-1, obs.n, len(obs.space))
    return host_codes(obs.space, obs.values.reshape(shape), obs.regime.reshape(shape), spec, rows)


def _values(body, rng):
    if body["kind"] == "categorical":
        return rng.integers(0, len(body["choices"]), 50).astype(float)
    if body["kind"] == "ordinal":
        return rng.choice(np.array(body["values"], float), 50)
    n_values = grid.number_of_values(body)
    if n_values is not None:
        return body["low"] + body.get("step", 1) * rng.integers(0, n_values, 300).astype(float)
    u = np.r_[0.0, 1.0, rng.uniform(size=300)]
    if body.get("log"):
        return np.clip(body["low"] * (body["high"] / body["low"]) ** u, body["low"], body["high"])
    return np.clip(body["low"] + (body["high"] - body["low"]) * u, body["low"], body["high"])


@pytest.mark.parametrize("body", DOMAINS, ids=str)
@pytest.mark.parametrize("mirror", [False, True], ids=["parity", "default"])
@pytest.mark.parametrize("max_cells", [50, 12])
def test_cells_against_the_loop(body, mirror, max_cells):
    """Grid sizes and cells, value by value: catches the rounding rule and the size of integer log grids."""
    domain, spec = _domain(body), px.Grid(max_cells=max_cells, mirror=mirror)
    values = _values(body, np.random.default_rng(0))
    assert grid_cells(domain, spec)[1] == grid.grid_size(body, mirror, max_cells)
    expected = [grid.cell(body, x, mirror, max_cells) for x in values]
    np.testing.assert_array_equal(grid_cells(domain, spec)[2](values), expected)


@pytest.mark.parametrize("body", DOMAINS, ids=str)
def test_every_cell_can_be_reached(body):
    """Both ends and all between: catches cells that are lost to an off-by-one."""
    domain, spec = _domain(body), px.Grid()
    size = grid_cells(domain, spec)[1]
    n_values = grid.number_of_values(body)
    if n_values is None:
        values = domain.axis.native(np.linspace(0, 1, 1001), np.zeros(1001, int))
    elif body["kind"] == "categorical":
        values = np.arange(n_values, dtype=float)
    elif body["kind"] == "ordinal":
        values = np.array(body["values"], float)
    else:
        values = body["low"] + body.get("step", 1) * np.arange(n_values, dtype=float)
    if not (body["kind"] == "int" and body.get("log")):
        assert set(grid_cells(domain, spec)[2](values).tolist()) == set(range(size))
    else:
        assert {0, size - 1} <= set(grid_cells(domain, spec)[2](values).tolist()) <= set(range(size))


@pytest.mark.parametrize("name", logs.names())
def test_codes_of_real_logs(name):
    """Every parameter of every log: code = offset of the regime + cell, inactive last, in range."""
    log = logs.load(name)
    rows, losses = log.values[:1, :60], log.objective[:1, :60]
    obs = px.Observations.from_arrays(px.Space.from_json(log.space), rows, losses, log.direction)
    spec = px.Grid(max_cells=50, mirror=False)
    codes, where = _codes(obs, spec), layout(obs.space, spec)
    assert codes.dtype == np.uint8
    for j, entry in enumerate(log.space["parameters"]):
        sizes = [grid.grid_size(domain, False) for domain in grid.domains_of(entry)]
        starts = np.cumsum([0, *sizes])
        assert where.inactive[j] - where.offsets[j] == starts[-1]
        for i, row in enumerate(rows[0]):
            regime = int(obs.regime[0, i, j])
            if regime < 0:
                expected = starts[-1]
            else:
                expected = starts[regime] + grid.cell(grid.domains_of(entry)[regime], row[j], False)
            assert codes[0, j, i] == expected


def test_padding():
    """Rows beyond the log's are inactive ones, so that they stand in no cell."""
    values, losses = zoo(70)
    obs, spec = zoo_observations(values, losses), px.Grid()
    codes, where = _codes(obs, spec, 256), layout(obs.space, spec)
    assert codes.shape == (1, 5, 256)
    np.testing.assert_array_equal(codes[..., :70], _codes(obs, spec))
    inactive = np.array(where.inactive) - np.array(where.offsets)
    np.testing.assert_array_equal(codes[0, :, 70:], np.repeat(inactive[:, None], 186, axis=1))


@pytest.mark.parametrize("most", [1, 20, 60, 500])
def test_rows_are_encoded_in_blocks(most, monkeypatch):
    """Whatever part of the seeds and rows is encoded together, the codes are those of one block."""
    obs, spec = zoo_observations(*zoo(30, n_seeds=3)), px.Grid()
    codes = _codes(obs, spec, 64)
    monkeypatch.setattr(sys.modules[host_codes.__module__], "_BLOCK", most)
    np.testing.assert_array_equal(_codes(obs, spec, 64), codes)


def test_wide_codes():
    """More cells than a byte or two bytes number: catches a wrap."""
    for n_choices, dtype in ((255, np.uint8), (256, np.uint16), (70_000, np.uint32)):
        space = px.Space({"z": px.Categorical([str(i) for i in range(n_choices)])})
        obs = px.Observations.from_arrays(space, [[n_choices - 1.0], [0.0]], [1, 2])
        codes = _codes(obs, px.Grid())
        assert codes.dtype == dtype
        assert codes.ravel().tolist() == [n_choices - 1, 0]


@pytest.mark.parametrize("log", [False, True])
def test_values_within_rounding_of_the_bounds_fall_into_the_end_cells(log):
    """On a domain so narrow that the slack of the bounds spans cells, nothing wraps to the other end."""
    low, high = 1.0, 1.0 + 2.0**-40
    domain = px.Float(low, high, log=log)
    slack = 60 * 2.0**-52
    values = np.array([[low - slack], [low], [high], [high + slack]])
    obs = px.Observations.from_arrays(px.Space({"x": domain}), values, np.arange(4.0))
    assert _codes(obs, px.Grid(max_cells=50))[0, 0].tolist() == [0, 0, 49, 49]
