"""Counts of pairs of parameters, against loops over the rows."""

import jax
import numpy as np

import parzax as px
from parzax.importance.pair_slots import checked_pairs, pair_counts

SPACE = px.Space(
    {
        "c": px.Categorical(["a", "b"]),
        "x": (px.Int(0, 2, when=px.In("c", ["a"])), px.Int(0, 1, when=px.In("c", ["b"]))),
        "k": px.Int(0, 3),
    }
)


def test_against_a_loop():
    """Rows per set, per pair, per slot and per cell; levels in the order asked, the region last."""
    rng = np.random.default_rng(0)
    c, k = rng.integers(0, 2, 60), rng.integers(0, 4, 60)
    x = rng.integers(0, np.where(c == 0, 3, 2))
    obs = px.Observations.from_arrays(SPACE, np.stack([c, x, k], axis=1).astype(float), rng.normal(size=60))
    encoded = obs.encode([0.5, 0.2], 0.8)
    pairs = checked_pairs([("c", "x"), ("x", "k")], SPACE.names)
    assert pairs == ((0, 1), (1, 2))
    found = jax.jit(lambda log: pair_counts(log, pairs))(jax.device_put(encoded))
    loss_rank = obs.losses[:, 0].argsort().argsort()
    sets = [loss_rank < 30, loss_rank < 12, loss_rank < 48]
    assert found.sets.tolist() == [30, 12, 48]
    assert found.active.tolist() == [48, 48]
    # Cells of a slot are the occupied ones: categories by their rows in the region, numbers in order.
    label = np.where(c == np.bincount(c[sets[2]]).argmax(), 0, 1)
    # Four slots of each pair: its parameters are in regimes 0 and 0, 0 and 1, 1 and 0, 1 and 1.
    slots = {0: (c == 0, label, x), 1: (c == 1, label, x), 4: (c == 0, x, k), 6: (c == 1, x, k)}
    for s, member in enumerate(sets):
        assert found.cells[s].sum() == 2 * member.sum()
        for r, (inside, first, second) in slots.items():
            expected = np.zeros(found.cells.shape[2:], int)
            np.add.at(expected, (first[member & inside], second[member & inside]), 1)
            np.testing.assert_array_equal(found.cells[s, r], expected)
