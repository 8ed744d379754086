"""Which rows are configurations of a space: the short way against encoding them."""

import numpy as np
import pytest
from densities import SPACES, draw

import parzax as px
from parzax.parzen.points import inside, points

NAN, INF = np.nan, np.inf
OWN = {
    "steps": px.Space(
        {
            "c": px.Float(-1.0, 1.0),
            "k": px.Int(0, 3),
            "z": px.Ordinal([0.5, 1.0, 3.0], when=px.In("k", [1, 2])),
            "y": px.Float(0.0, 1.0, step=0.25, when=px.Between("c", low=0.0)),
            "one": px.Int(3, 3),
            "w": px.Categorical(["a", "b"], when=(px.In("z", [0.5]), px.Between("c", high=0.5))),
            "u": (px.Float(1e-3, 1.0, log=True, when=px.In("w", ["a"])), px.Int(4, 9)),
        }
    )
}
# Values of the parameters of "steps" that are often right together.
LIKELY = ([-0.5, 0.25], [0, 1, 3], [NAN, 0.5, 3], [NAN, 0.25, 1], [3], [NAN, 0, 1], [0.5, 1e-3, 4, 9])
JUNK = [
    NAN,
    INF,
    -INF,
    -1.0,
    0.0,
    0.25,
    0.3,
    0.5,
    1.0,
    1.0 + 1e-9,
    1.0 + 1e-7,
    1.001,
    2.0,
    3.0,
    3.5,
    9.0,
    1e30,
]


@pytest.mark.parametrize("name", [*OWN, *SPACES])
def test_equal_encoding(name):
    """Catches a condition that is not looked at, a parent read too early, a slack of its own."""
    space, rng = (OWN | SPACES)[name], np.random.default_rng(0)
    x = rng.choice(JUNK, (4000, len(space)))
    good = draw(name, 4000, 1) if name in SPACES else np.stack([rng.choice(v, 4000) for v in LIKELY], axis=1)
    x = np.concatenate([good, np.where(rng.uniform(size=good.shape) < 0.8, good, x)])
    for dtype in (np.float64, np.float32):
        rows = x.astype(dtype)
        found = inside(space, rows)
        np.testing.assert_array_equal(found, points(space, rows).valid.all(axis=-1))
        assert found.any()
        assert not found.all()
    assert inside(space, x[:0]).shape == (0,)
    assert inside(space, x[:6].reshape(2, 3, -1)).shape == (2, 3)
