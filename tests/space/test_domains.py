"""Domains: what they hold, and how they map to the axis on which they are uniform."""

import math

import numpy as np
import pytest

import parzax as px


def _native(domain, *places):
    """Values at places of a continuum."""
    return domain.axis.native(np.array(places, float), np.zeros(len(places), int))


def test_native_values():
    np.testing.assert_allclose(_native(px.Float(-1, 3), 0, 0.25, 1), [-1, 0, 3])
    np.testing.assert_allclose(_native(px.Float(1e-4, 1, log=True), 0, 0.5, 1), [1e-4, 1e-2, 1])
    assert px.Float(-1, 3).n_values is None


INSIDE_AND_OUTSIDE = {
    px.Float(-1, 3): ([-1, 3, 0.5], [-1.1, 3.1, np.nan, np.inf]),
    # A value may miss a bound by a rounding error: comparisons with logged floats are not exact.
    px.Float(0.1, 0.3): ([0.1 + 0.2, 0.1 - 1e-15], [0.1 - 1e-12, 0.3 + 1e-12]),
    # Whole numbers and logs of them have no rounding to forgive.
    px.Int(1, 10**10): ([1, 10**10], [-5.0, 1e10 + 8]),
    px.Float(1e-10, 1, log=True): ([1e-10], [0.0, -5e-10]),
    # Multiples of the step from low, up to the rounding of a log.
    px.Int(1, 9, step=2): ([1, 3, 9], [2, 9.5]),
    px.Float(0, 1, step=0.1): (np.arange(11) * 0.1, [0.05]),
    px.Ordinal([16, 32, 64], log=True): ([16, 64, 32, 31.9999999999], [33, np.nan]),
    px.Categorical(list("abc")): ([0, 2], [3, -1, 0.5, np.nan]),
}


@pytest.mark.parametrize("domain", INSIDE_AND_OUTSIDE, ids=repr)
def test_outside(domain):
    inside, outside = map(np.array, INSIDE_AND_OUTSIDE[domain])
    assert not domain.outside(inside).any()
    assert domain.outside(outside).all()


@pytest.mark.parametrize(
    ("domain", "count"),
    [
        (px.Int(3, 3), 1),
        (px.Int(0, 9), 10),
        (px.Int(1, 9, step=2), 5),
        (px.Int(-5, 5), 11),
        (px.Float(0, 1, step=0.1), 11),
        (px.Float(0.1, 0.7, step=0.2), 4),
        (px.Ordinal([1, 2, 8]), 3),
        (px.Ordinal([0.5]), 1),
        (px.Categorical(["a", "b"]), 2),
    ],
)
def test_number_of_values(domain, count):
    """Counts values, ends included, without the rounding of high / step."""
    assert domain.n_values == count


def test_ordinal():
    """Numbers of values, in their order."""
    domain = px.Ordinal([16, 32, 64], log=True)
    assert domain.axis.index(np.array([16, 64, 32, 31.9999999999])).tolist() == [0, 2, 1, 1]
    assert domain.values == (16, 32, 64)


def test_categorical_identity():
    """Equal by type and value, hashable, independent of the order of nothing else."""
    assert px.Categorical(["a", 1]) == px.Categorical(("a", 1))
    assert px.Categorical([1, 2]) != px.Categorical([1.0, 2.0])
    assert hash(px.Categorical([1, 2])) == hash(px.Categorical([1, 2]))
    assert px.Categorical([np.int64(3)]).choices == (3,)
    assert px.Categorical([math.nan, None]).n_values == 2


def test_domains_are_values():
    """Frozen, comparable, usable as static arguments."""
    assert px.Float(0, 1) == px.Float(0.0, 1.0)
    assert px.Float(0, 1) != px.Int(0, 1)
    assert len({px.Int(0, 3), px.Int(0, 3), px.Int(0, 4)}) == 2
    with pytest.raises(AttributeError):
        px.Float(0, 1).low = 2


def test_extremes():
    """Bounds at the ends of the floats, and log domains over 600 orders of magnitude."""
    wide = px.Float(1e-300, 1e300, log=True)
    one = np.array([1.0])
    np.testing.assert_allclose(wide.axis.place(one, wide.axis.index(one)), 0.5)
    np.testing.assert_allclose(_native(wide, 0.5), 1, rtol=1e-10)
    assert px.Int(-(2**53), 2**53 - 2**52).n_values == 2**53 + 2**53 - 2**52 + 1
