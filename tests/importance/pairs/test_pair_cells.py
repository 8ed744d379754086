"""Which grid cells share a cell of a slot."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.importance.layout import layout
from parzax.importance.pair_slots import count_sizes, merged_cells, slot_sizes, slot_width

SPACE = px.Space({"x": px.Float(0, 1), "k": px.Categorical(list("abcdefghijkl"))})
LAYOUT = layout(SPACE, px.Grid())


@pytest.mark.parametrize(("rows", "sizes"), [(0, 1), (539, 1), (540, 2), (960, 3), (1500, 4), (10**6, 4)])
def test_sizes_need_fifteen_rows_per_cell(rows, sizes):
    """15 G^2 rows for G = 4, 6, 8, 10."""
    assert count_sizes(rows) == sizes


def test_sizes_of_slots():
    """Five rows of the slot per cell; twice as many categories from eight on."""
    found = slot_sizes(jnp.int32(10**6), jnp.array([0, 80, 128, 179, 180, 288, 500, 800]))
    assert found.tolist() == [0, 0, 1, 1, 2, 3, 6, 7]
    assert slot_width(LAYOUT, 1) == 8
    assert slot_width(LAYOUT, 4) == 12  # no more than there are categories


compiled = jax.jit(partial(merged_cells, layout=LAYOUT, n_sizes=1))


def merged(counts: np.ndarray) -> np.ndarray:
    return np.asarray(compiled(jnp.asarray(counts)))


def test_even_rows_are_cut_by_width_and_uneven_ones_by_rank():
    even = merged(np.ones(LAYOUT.n_columns, np.int32))[0, :96]
    np.testing.assert_array_equal(even, np.repeat(range(4), 24))
    crowded = np.ones(LAYOUT.n_columns, np.int32)
    crowded[:4] = 100
    # Cut after 123, 246 and 369 of 492 rows, by the middle row of each cell: 50, 150, 250, 350, ...
    np.testing.assert_array_equal(merged(crowded)[0, :96], [0, 1, 2, 2, *[3] * 92])


def test_few_occupied_cells_are_cells():
    counts = np.zeros(LAYOUT.n_columns, np.int32)
    counts[[5, 20, 90]] = 1, 50, 3
    assert merged(counts)[0, [5, 20, 90]].tolist() == [0, 1, 2]


def test_rare_categories_share_the_last_cell():
    """Of twelve the three most frequent have cells of their own in four, the first of equal ones first."""
    counts = np.ones(LAYOUT.n_columns, np.int32)
    first = LAYOUT.offsets[1]
    counts[first + 7], counts[first + 2] = 9, 5
    four, eight = merged(counts)[:, first : first + 12]
    assert four.tolist() == [2, 3, 1, 3, 3, 3, 3, 0, 3, 3, 3, 3]
    assert eight.tolist() == [2, 3, 1, 4, 5, 6, 7, 0, 7, 7, 7, 7]
