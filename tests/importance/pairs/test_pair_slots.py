"""Pairs, their slots, and the columns of the counts."""

import jax.numpy as jnp
import numpy as np

import parzax as px
from parzax.importance.layout import layout
from parzax.importance.pair_slots import pair_layout

SPACE = px.Space(
    {
        "c": px.Categorical(["a", "b"]),
        "x": (px.Int(0, 2, when=px.In("c", ["a"])), px.Int(0, 4, when=px.In("c", ["b"]))),
        "s": px.Float(1, 1),
    }
)
WHERE = pair_layout(layout(SPACE, px.Grid()), None)


def test_slots_are_regimes_of_both():
    """One for each pair of regimes with cells; none where a domain has a single value."""
    assert WHERE.pairs == ((0, 1), (0, 2), (1, 2))
    assert WHERE.slots == ((0, (0, 0)), (0, (0, 1)))
    assert WHERE.first_slot.tolist() == [0, 2, 2, 2]


def test_sums_over_the_slots_of_a_pair():
    assert WHERE.pair_sums(jnp.array([3, 4])).tolist() == [7, 0, 0]
    assert WHERE.pair_sums(jnp.array([[3, 1], [4, 1]])).tolist() == [[7, 2], [0, 0], [0, 0]]


def test_columns_have_one_more_for_other_rows():
    """Columns of slots of 4 cells: 8, one for other rows of the first pair, one for each pair without."""
    columns, of_slots = WHERE.columns(4)
    assert columns.n_columns == 11
    assert columns.offsets == (0, 9, 10)
    assert of_slots.tolist() == list(range(8))


def test_names_and_order():
    """Pairs by name, in the order given; the same layout as by index."""
    named = pair_layout(WHERE.layout, [("s", "c"), ("x", "c")], SPACE.names)
    assert named == pair_layout(WHERE.layout, [(2, 0), (1, 0)])
    np.testing.assert_array_equal(named.first_slot, [0, 0, 2])
