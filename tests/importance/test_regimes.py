"""From counts to what regimes hold: rows, occupied cells, crowding, and regimes of several pools."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.importance.layout import layout
from parzax.importance.regimes import estimate_regimes, level_variances, merge_pools

SPACE = px.Space(
    {
        "c": px.Categorical(["a", "b"]),
        "x": (px.Int(0, 2, when=px.In("c", ["a"])), px.Float(0, 1, when=px.In("c", ["b"]))),
    }
)


def counts_of(rows: list[tuple[int, int]], grid: px.Grid) -> np.ndarray:
    """(w,) counts of rows (column of c, column of x)."""
    columns = layout(SPACE, grid)
    counts = np.zeros(columns.n_columns, np.int32)
    for row in rows:
        for offset, code in zip(columns.offsets, row, strict=True):
            counts[offset + code] += 1
    return counts


def test_rows_and_cells_of_every_slot(double):
    """Regimes of two parameters, and the variances of Eq. 11 and 17 from them, in fractions."""
    grid = px.Grid(max_cells=50)
    target = counts_of([(0, 0), (0, 0)], grid)
    region = counts_of([(0, 0)] * 3 + [(0, 2)] + [(1, 3)] * 3 + [(1, 20)], grid)
    counts = jnp.asarray(np.stack([target, region]))[None]
    pearson = px.divergence.Pearson(min_rows=0)
    estimates = jax.jit(lambda counts: estimate_regimes(counts, layout(SPACE, grid), pearson, uniform=False))
    divergence, rows, occupied, crowded = (array[0] for array in estimates(counts))
    assert rows[:, 0].tolist() == [[2, 0, 0], [8, 0, 0]]
    assert rows[:, 1].tolist() == [[2, 0, 0], [4, 4, 0]]
    assert occupied.tolist() == [[2, 0, 0], [2, 2, 0]]
    # All but one row of the second regime lie at one end of its 50 cells.
    assert crowded.tolist() == [[0, 0, 0], [0, 1, 0]]
    variance, inter, _ = level_variances(divergence[0], rows[0], rows[1])
    # (n_T / n_R)^2 alpha^2 / beta = 4 / (8 * 4) of the only regime in the target.
    np.testing.assert_allclose(variance[1], divergence[0, 1, 0] / 8, rtol=1e-12)
    # alpha = (1, 0), beta = (1/2, 1/2): (1/4)^2 (1/2 + 1/2).
    np.testing.assert_allclose(inter.tolist(), [0, 1 / 16], rtol=1e-12)


@pytest.mark.slow
def test_regimes_of_pools(double):
    """D of a regime is such that n_T^2 / n_R D is the sum of that of its pools."""
    grid = px.Grid(max_pools=2)
    columns = layout(px.Space({"x": px.Varying(0, 2)}), grid)
    assert columns.n_slots == 4
    rows = jnp.asarray([[[[0, 2, 3, 0]], [[1, 6, 4, 0]]]])
    divergence = jnp.asarray([[[[0.0, 0.5, 0.25, 0.0]]]])
    rows_of, divergence_of = jax.jit(partial(merge_pools, layout=columns))(rows, divergence)
    assert rows_of[0].tolist() == [[[5, 0]], [[11, 0]]]
    expected = (2**2 / 6 * 0.5 + 3**2 / 4 * 0.25) / (5**2 / 11)
    np.testing.assert_allclose(divergence_of[0, 0, 0].tolist(), [expected, 0], rtol=1e-12)
