"""A level of k of N rows holds k rows."""

import numpy as np
import pytest
from conftest import COARSE

import parzax as px
from parzax.observations import level_sets
from parzax.observations.levels import level_weight


@pytest.mark.parametrize(
    ("level", "n", "size"),
    [(0.07, 100, 7), (0.15, 100, 15), (0.15, 20, 3), (2 / 3, 300, 200), (1 / 6, 600, 100), (6 / 7, 7, 6)],
)
def test_size_of_the_target(level, n, size):
    """Catches products such as 0.07 * 100 = 7.000000000000001, and fractions cut to some digits."""
    space = px.Space({"x": px.Float(0, 1)})
    values = np.random.default_rng(0).uniform(size=(n, 1))
    obs = px.Observations.from_arrays(space, values, np.arange(float(n)))
    result = px.cond_ped_anova(obs, level, estimator=px.GridEstimator(grid=COARSE))
    assert result.n_target.tolist() == [size]


@pytest.mark.slow
def test_every_fraction_of_some_numbers_of_rows():
    """The sets themselves, for all N up to 200 and some up to 10^4."""
    some = np.random.default_rng(0).integers(201, 10_000, 40).tolist()
    for n in [*range(2, 201), *some, 10_000]:
        losses = np.arange(float(n))[None]
        out = level_sets(losses, None, np.arange(1, n) / n, 1.0)
        # One more row per level, so the row of loss i enters with the level of i + 1 rows.
        np.testing.assert_array_equal(out.level[0], np.arange(n))


@pytest.mark.slow
def test_every_fraction_of_all_numbers_of_rows():
    """k / N of N rows for all k < N <= 10^4.

    Of N above 500 that are no multiples of 25 only those whose product is not k in floats; these are all.
    """
    n_calls = 0
    for n in range(1, 10_001):
        k = np.arange(1, n)
        if n > 500 and n % 25:
            k = k[k / n * n != k]
        found = [level_weight(level, n) for level in (k / n).tolist()]
        np.testing.assert_array_equal(found, k)
        n_calls += len(k)
    assert n_calls > 5_000_000
