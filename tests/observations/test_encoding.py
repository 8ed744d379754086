"""Grid cells, codes, unit coordinates, padding."""

import numpy as np
import pytest
from conftest import zoo, zoo_observations
from reference import grid, logs

import parzax as px
from parzax.observations import GridSpec, capacity, grid_codes, layout
from parzax.observations.grid import cell_kind, cells

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
    domain, spec = _domain(body), px.GridSpec(max_cells=max_cells, mirror=mirror)
    values = _values(body, np.random.default_rng(0))
    assert cell_kind(domain, spec)[1] == grid.grid_size(body, mirror, max_cells)
    expected = [grid.cell(body, x, mirror, max_cells) for x in values]
    np.testing.assert_array_equal(cells(domain, values, spec), expected)


@pytest.mark.parametrize("body", DOMAINS, ids=str)
def test_every_cell_can_be_reached(body):
    """Both ends and all between: catches cells that are lost to an off-by-one."""
    domain, spec = _domain(body), px.GridSpec()
    size = cell_kind(domain, spec)[1]
    n_values = grid.number_of_values(body)
    if n_values is None:
        values = domain.to_native(np.linspace(0, 1, 1001))
    elif body["kind"] == "categorical":
        values = np.arange(n_values, dtype=float)
    elif body["kind"] == "ordinal":
        values = np.array(body["values"], float)
    else:
        values = body["low"] + body.get("step", 1) * np.arange(n_values, dtype=float)
    if not (body["kind"] == "int" and body.get("log")):
        assert set(cells(domain, values, spec).tolist()) == set(range(size))
    else:
        assert {0, size - 1} <= set(cells(domain, values, spec).tolist()) <= set(range(size))


@pytest.mark.parametrize("name", logs.names())
def test_codes_of_real_logs(name):
    """Every parameter of every log: code = offset of the regime + cell, inactive last, in range."""
    log = logs.load(name)
    rows, losses = log.values[:1, :60], log.objective[:1, :60]
    obs = px.Observations.from_arrays(px.Space.from_json(log.space), rows, losses, log.direction)
    spec = px.GridSpec(mirror=False)
    codes, where = grid_codes(obs, spec), layout(obs.space, spec)
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


def test_unit_coordinates(x64):
    """0 and 1 at the ends, uniform on the (log) axis, by regime; 0 where inactive; codes of categories."""
    space = px.Space(
        {
            "c": px.Float(0, 1),
            "eta": px.Float(1e-4, 1, log=True),
            "units": px.Ordinal([1, 10, 100], log=True),
            "kind": px.Categorical(["a", "b", "c"]),
            "x": (
                px.Float(-7, -2, when=px.Between("c", high=0.5)),
                px.Float(2, 7, when=px.Between("c", low=0.7)),
            ),
            "one": px.Int(3, 3),
        }
    )
    values = [[0.0, 1e-4, 1, 2, -7, 3], [0.6, 1e-2, 10, 1, np.nan, 3], [1.0, 1.0, 100, 0, 7, 3]]
    encoded = px.Observations.from_arrays(space, values, [1, 2, 3]).encode()
    np.testing.assert_allclose(
        encoded.unit[:3], [[0, 0, 0, 2, 0, 0], [0.6, 0.5, 0.5, 1, 0, 0], [1, 1, 1, 0, 1, 0]], atol=1e-6
    )
    assert encoded.regime[:3, 4].tolist() == [0, -1, 1]
    assert encoded.unit.dtype == (np.float64 if x64 else np.float32)


def test_padding():
    """Padded rows: weight 0, inactive, excluded by the mask, everything finite."""
    values, losses = zoo(70)
    losses[5] = np.nan
    encoded = zoo_observations(values, losses, weight=np.r_[0.0, np.ones(69)]).encode()
    assert encoded.unit.shape == (256, 5)
    assert encoded.codes.shape == (5, 256)
    assert encoded.mask.sum() == 68
    assert not np.asarray(encoded.mask)[[0, 5, *range(70, 256)]].any()
    assert (np.asarray(encoded.weight)[70:] == 0).all()
    assert (np.asarray(encoded.regime)[70:] == -1).all()
    assert np.isfinite(encoded.unit).all()
    assert not np.isnan(encoded.losses).any()


def test_capacity():
    """64, 256, 1024, 4096, then doubling: at most four sizes up to 4096."""
    assert {capacity(n) for n in range(4097)} == {64, 256, 1024, 4096}
    for n in (4097, 8192, 8193, 100_000, 2**20, 2**20 + 1):
        size = capacity(n)
        assert size >= n
        assert size < 2 * n
        assert size & (size - 1) == 0


def test_wide_codes():
    """More cells than a byte or two bytes number: catches a wrap."""
    for n_choices, dtype in ((255, np.uint8), (256, np.uint16), (70_000, np.uint32)):
        space = px.Space({"z": px.Categorical([str(i) for i in range(n_choices)])})
        obs = px.Observations.from_arrays(space, [[n_choices - 1.0], [0.0]], [1, 2])
        codes = grid_codes(obs, px.GridSpec())
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
    assert grid_codes(obs, GridSpec())[0, 0].tolist() == [0, 0, 49, 49]
