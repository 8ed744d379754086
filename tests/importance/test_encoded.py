"""What `Encoded` says of itself."""

import numpy as np

import parzax as px


def test_place_of_each_level():
    """The i-th level asked for is the ``place[i]``-th of the ascending ones."""
    obs = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), np.full((9, 1), 0.5), np.arange(9.0))
    encoded = obs.encode([0.5, 0.1, 0.9, 0.25])
    assert encoded.place == (2, 0, 3, 1)
    assert np.sort(encoded.levels)[list(encoded.place)].tolist() == list(encoded.levels)
    assert encoded.level.tolist() == [0, 1, 1, 2, 2, 3, 3, 3, 3]
