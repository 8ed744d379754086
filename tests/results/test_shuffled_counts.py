"""Counts after a shuffle: sizes are kept, and all shuffles are equally likely at every level by itself."""

from collections import Counter
from math import comb, prod
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import parzax as px
from parzax.importance.layout import layout
from parzax.lens.results import replicates


def _shuffle(seed, counts, columns, n):
    log = SimpleNamespace(layout=columns, groups=None)
    return replicates.shuffled_counts(seed, counts, log, n)


@pytest.fixture(params=["rows", "counts"])
def way(request, monkeypatch):
    """Both ways to draw, whichever is faster."""
    monkeypatch.setattr(replicates, "_MOST_ROWS", {"rows": np.inf, "counts": 0}[request.param])
    return request.param


def _counts(columns, layout_, rng, in_regime):
    """Counts of three nested sets and the region, with rows that are inactive in the second parameter."""
    codes = np.stack([rng.integers(0, n - 1, columns) for n in layout_.n_codes], axis=1)
    codes[~in_regime, 1] = layout_.n_codes[1] - 1
    level = np.minimum(rng.integers(0, 6, columns), 3)
    counts = np.zeros((4, layout_.n_columns), np.int64)
    for offset, own in zip(layout_.offsets, codes.T, strict=True):
        np.add.at(counts, (level, offset + own), 1)
    return counts.cumsum(axis=0)


def test_regimes_keep_their_rows_at_every_level(way):
    rng = np.random.default_rng(0)
    space = px.Space({
        "c": px.Categorical(["a", "b"]),
        "x": [px.Float(0, 1, when=px.In("c", ["a"])), px.Int(1, 4, when=px.In("c", ["b"]))],
        "k": px.Int(1, 5),
    })  # fmt: skip
    columns = layout(space, px.Grid(max_cells=8))
    counts = _counts(200, columns, rng, rng.uniform(size=200) < 0.7)
    found = _shuffle([1, 2], counts, columns, 50)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found[:, -1], np.broadcast_to(counts[-1], (50, columns.n_columns)))
    at = list(columns.inactive)
    np.testing.assert_array_equal(found[..., at], np.broadcast_to(counts[:, at], (50, 4, 3)))
    assert (found <= found[:, -1:]).all()
    assert (np.diff(found, axis=1) >= 0).all() == (way == "rows")  # nested
    for block in columns.blocks:
        own = slice(block.start, block.start + block.n_cells)
        totals = np.broadcast_to(counts[:, own].sum(axis=-1), (50, 4))
        np.testing.assert_array_equal(found[..., own].sum(axis=-1), totals)
    assert (found[0] != found[1]).any()
    # A level by itself, and beside one other.
    for alone in ([1], [0, 2]):
        some = _shuffle([1, 2], counts[[*alone, -1]], columns, 50)
        np.testing.assert_array_equal(some[:, :-1], found[:, alone])


@pytest.mark.usefixtures("way")
def test_all_shuffles_are_equally_likely():
    """Of cells of 3, 1 and 2 rows sets of 2 and of 3 rows: catches draws that favour a cell."""
    columns = layout(px.Space({"k": px.Int(1, 4)}), px.Grid())
    region, sizes, n = [3, 0, 1, 2], (2, 3), 40_000
    counts = np.array([[2, 0, 0, 0, 0], [3, 0, 0, 0, 0], [*region, 0]])
    found = _shuffle([1], counts, columns, n)[:, :2, :4]
    for size, drawn in zip(sizes, np.moveaxis(found, 1, 0), strict=True):
        seen = Counter(map(tuple, drawn.tolist()))
        cells = [kind for kind in np.ndindex(4, 1, 2, 3) if sum(kind) == size]
        expected = {kind: prod(map(comb, region, kind)) / comb(6, size) for kind in cells}
        assert np.isclose(sum(expected.values()), 1)
        assert seen.keys() == expected.keys()
        observed = [seen[kind] for kind in expected]
        assert stats.chisquare(observed, n * np.array(list(expected.values()))).pvalue > 1e-4


def test_time_is_that_of_cells_for_many_rows():
    """A region of 10^8 rows is shuffled without them: catches a way that goes by rows."""
    columns = layout(px.Space({"x": px.Float(0, 1)}), px.Grid(max_cells=50))
    counts = np.zeros((2, columns.n_columns), np.int64)
    counts[1, :-1], counts[0, :25] = 2_000_000, 400_000
    found = _shuffle([0], counts, columns, 100)[:, 0, :-1]
    assert (found.sum(axis=1) == 10_000_000).all()
    np.testing.assert_allclose(found.mean(axis=0), 200_000, rtol=0.001)
    # Hypergeometric: m p (1 - p) (1 - m / n), of each of 50 cells.
    np.testing.assert_allclose(found.var(axis=0).mean(), 1e7 * 0.02 * 0.98 * 0.9, rtol=0.1)


def test_without_a_target_or_with_one_cell_nothing_is_drawn():
    columns = layout(px.Space({"k": px.Int(1, 3)}), px.Grid())
    for counts in ([[0, 0, 0, 4], [1, 2, 3, 4]], [[0, 2, 0, 1], [0, 5, 0, 2]]):
        found = _shuffle([0], np.array(counts), columns, 3)
        np.testing.assert_array_equal(found, np.broadcast_to(counts, (3, 2, 4)))
