"""Domains: what they hold, and how they map to the axis on which they are uniform."""

import math

import numpy as np
import pytest

import parzax as px


def _native(domain, *places):
    """Values at places of a continuum."""
    return domain.axis.native(np.array(places, float), np.zeros(len(places), int))


def test_float():
    domain = px.Float(-1, 3)
    assert domain.n_values is None
    assert domain.outside(np.array([-1, 3, 0.5, -1.1, 3.1, np.nan, np.inf])).tolist() == [
        False, False, False, True, True, True, True,
    ]  # fmt: skip
    np.testing.assert_allclose(_native(domain, 0, 0.25, 1), [-1, 0, 3])
    np.testing.assert_allclose(_native(px.Float(1e-4, 1, log=True), 0, 0.5, 1), [1e-4, 1e-2, 1])


def test_rounding_at_the_bounds_is_tolerated():
    """Values that miss the bound by a rounding error are in; catches exact comparisons with logged floats."""
    domain = px.Float(0.1, 0.3)
    assert not domain.outside(np.array([0.1 + 0.2, 0.1 - 1e-15])).any()
    assert domain.outside(np.array([0.1 - 1e-12, 0.3 + 1e-12])).all()
    # Whole numbers and logs of them have no rounding to forgive.
    assert px.Int(1, 10**10).outside(np.array([-5.0, 1e10 + 8])).all()
    assert px.Float(1e-10, 1, log=True).outside(np.array([0.0, -5e-10])).all()


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
        (px.Categorical(["a", "b"]), 2),
    ],
)
def test_number_of_values(domain, count):
    """Counts values, ends included, without the rounding of high / step."""
    assert domain.n_values == count


def test_stepped_values():
    """Multiples of the step from low, up to the rounding of a log."""
    assert px.Int(1, 9, step=2).outside(np.array([1, 2, 3, 9, 9.5])).tolist() == [
        False,
        True,
        False,
        False,
        True,
    ]
    stepped = px.Float(0, 1, step=0.1)
    assert not stepped.outside(np.arange(11) * 0.1).any()
    assert stepped.outside(np.array([0.05]))[0]


def test_ordinal():
    """Rank by value, tolerant of rounding; values between are none."""
    domain = px.Ordinal([16, 32, 64], log=True)
    values = np.array([16, 64, 32, 33, 31.9999999999, np.nan])
    rank = np.where(domain.outside(values), -1, domain.axis.index(values))
    assert rank.tolist() == [0, 2, 1, -1, 1, -1]
    assert domain.values == (16, 32, 64)
    assert px.Ordinal([0.5]).n_values == 1


def test_categorical_identity():
    """Equal by type and value, hashable, independent of the order of nothing else."""
    assert px.Categorical(["a", 1]) == px.Categorical(("a", 1))
    assert px.Categorical([1, 2]) != px.Categorical([1.0, 2.0])
    assert hash(px.Categorical([1, 2])) == hash(px.Categorical([1, 2]))
    assert px.Categorical([np.int64(3)]).choices == (3,)
    assert px.Categorical([math.nan, None]).n_values == 2
    assert px.Categorical(list("abc")).outside(np.array([0, 2, 3, -1, 0.5, np.nan])).tolist() == [
        False, False, True, True, True, True,
    ]  # fmt: skip


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
