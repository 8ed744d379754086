"""The compiled sweep itself: padding, float32 against float64, thousands of rows, many categories."""

import importlib

import jax
import numpy as np
import pytest
from conftest import ZOO_LEVELS, zoo, zoo_sweep
from reference import grid


@pytest.mark.parametrize("padded", [64, pytest.param(256, marks=pytest.mark.slow)])
def test_padding_changes_nothing(double, monkeypatch, padded):
    """Unpadded and padded: bit for bit."""
    module = importlib.import_module("parzax.lens.results.analysis")
    values, losses = zoo()
    results = []
    for size in (60, padded):
        monkeypatch.setattr(module, "capacity", lambda n, size=size: size)
        results.append(zoo_sweep(values, losses))
    for field in ("variance", "inter", "unweighted", "importance", "counts", "divergence", "status"):
        np.testing.assert_array_equal(*(getattr(result, field) for result in results), err_msg=field)


def test_float32_is_near_float64():
    """Counts are exact in both; variances within 2e-5 of the largest (eps/sqrt(D), D about 0.01)."""
    values, losses = zoo()
    single = zoo_sweep(values, losses)
    with jax.enable_x64(True):
        double_ = zoo_sweep(values, losses)
    assert single.variance.dtype == np.float32
    assert double_.variance.dtype == np.float64
    np.testing.assert_array_equal(single.counts, double_.counts)
    np.testing.assert_array_equal(single.status, double_.status)
    np.testing.assert_allclose(single.variance, double_.variance, atol=2e-5 * np.abs(double_.variance).max())
    np.testing.assert_allclose(single.importance, double_.importance, atol=1e-4)


def test_values_are_binned_in_float64():
    """Values on both sides of a cell's edge, closer than float32 resolves: catches a cast."""
    n = 60
    edge = 0.5 / 11 + 3 / 11
    values, losses = zoo(n)
    values[:, 0] = np.where(np.arange(n) % 2, edge + 1e-12, edge - 1e-12)
    values[:, 4] = np.where(np.isnan(values[:, 4]) | (values[:, 4] > 0), -3.3, values[:, 4])
    result = zoo_sweep(values, losses)
    region = result.counts[-1]
    assert region[:12].tolist() == [0, 0, 0, 30, 30] + [0] * 7


@pytest.mark.slow
def test_counts_past_2_to_the_31(double):
    """Weights that sum past an int32 are counted exactly: catches a wrap, and counting with floats."""
    values, losses = zoo()
    with jax.enable_x64(False):
        assert zoo_sweep(values, losses, weight=np.full(60, 2**20 + 1)).n_region == 60 * (2**20 + 1)
    weight = np.full(60, 2**30)
    result = zoo_sweep(values, losses, weight=weight)
    assert result.n_region == 60 * 2**30
    assert result.n_target.tolist() == [6 * 2**30, 15 * 2**30, 30 * 2**30]
    loop = grid.analyse(
        {"parameters": [{"name": "c", "kind": "float", "low": 0, "high": 1}]},
        values[:, :1],
        losses,
        ZOO_LEVELS,
        weight=weight,
        max_cells=12,
    )
    np.testing.assert_allclose(result.variance[:, :1], loop["variance"], rtol=1e-10)


def test_many_seeds_are_computed_in_chunks(double, monkeypatch):
    """Catches a chunk of other seeds, and one that is not trimmed."""
    values, losses = zoo(n=40, n_seeds=5)
    wanted = zoo_sweep(values, losses).estimates
    n_counts = (len(ZOO_LEVELS) + 2) * wanted.counts.shape[-1]
    monkeypatch.setattr(importlib.import_module("parzax.lens.results.analysis"), "_MOST_COUNTS", 2 * n_counts)
    chunked = zoo_sweep(values, losses).estimates
    np.testing.assert_array_equal(chunked.counts, wanted.counts)
    np.testing.assert_allclose(chunked.variance, wanted.variance, rtol=1e-12, atol=1e-15)
    assert chunked.status.shape == wanted.status.shape == (5, 3, 5)
