"""Frames: native values as points on the axes of a space, and points as native values."""

import functools

import jax
import numpy as np

import parzax as px

SPACE = px.Space(
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
VALUES = np.array([[0.0, 1e-4, 1, 2, -7, 3], [0.6, 1e-2, 10, 1, np.nan, 3], [1.0, 1.0, 100, 0, 7, 3]])


@functools.cache
def on_device(x64):
    """The points of the values, and these from the points again, by one program."""
    dtype = np.dtype(np.float64 if x64 else np.float32)
    frame = SPACE.frame(dtype)

    def there_and_back(x):
        points = frame.encode(x)
        return points, frame.decode(points)

    return jax.jit(there_and_back)(VALUES.astype(dtype))


def test_points(x64):
    """0 and 1 at the ends of continua, uniform on the (log) axis, by regime; numbers of listed values.

    1/2 where a parameter is inactive or has no axis.
    """
    dtype = np.dtype(np.float64 if x64 else np.float32)
    device, _ = on_device(x64)
    assert device.unit.dtype == dtype
    for at in (SPACE.frame().encode(VALUES), device):
        unit, index, regime = (np.asarray(part) for part in (at.unit, at.index, at.regime))
        np.testing.assert_allclose(unit[:, :2], [[0, 0], [0.6, 0.5], [1, 1]], atol=1e-6)
        np.testing.assert_allclose(unit[:, 4], [0, 0.5, 1], atol=1e-6)
        assert index[:, [2, 3, 5]].tolist() == [[0, 2, 0], [1, 1, 0], [2, 0, 0]]
        assert (np.diff(unit[:, 2]) > 0).all()
        assert ((unit[:, 2] > 0) & (unit[:, 2] < 1)).all()
        assert regime[:, 4].tolist() == [0, -1, 1]
        assert (regime[:, [0, 1, 2, 3, 5]] == 0).all()
        assert np.asarray(at.valid).all()


def test_there_and_back(x64):
    """Listed values exactly, places on continua within roundings."""
    dtype = np.dtype(np.float64 if x64 else np.float32)
    _, device = on_device(x64)
    host = SPACE.frame().decode(SPACE.frame().encode(VALUES))
    for found, tolerance in ((device, 20 * np.finfo(dtype).eps), (host, 1e-14)):
        np.testing.assert_allclose(found, VALUES, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(np.asarray(found)[:, [2, 3, 5]], VALUES[:, [2, 3, 5]])


def test_long_arrays_are_classified_in_blocks():
    """Catches rows that are lost or mixed up between blocks, and regimes that differ from those of a row."""
    rng = np.random.default_rng(0)
    x = VALUES[rng.integers(0, len(VALUES), 20_000)]
    x = np.where(rng.uniform(size=x.shape) < 0.9, x, rng.choice([np.nan, 0.3, 2.0], x.shape))
    at, (regime, valid) = SPACE.frame().encode(x), SPACE.classify(x)
    np.testing.assert_array_equal(regime, at.regime)
    np.testing.assert_array_equal(valid, at.valid)
    assert valid.any(axis=0).all()
    assert not valid.all(axis=1).all()


def test_random_ordinals_are_uniform_over_their_values():
    """1/6 each, whatever their distances: catches draws by the width of cells."""
    values = [1, 4, 16, 64, 256, 1024]
    frame = px.Space({"o": px.Ordinal(values)}).frame()
    drawn = frame.decode(frame.drawn((np.arange(600)[:, None] + 0.5) / 600))[:, 0]
    assert [np.count_nonzero(drawn == value) for value in values] == [100] * 6
