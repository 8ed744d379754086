"""The rules of `benchmarks.studies.optimisers.repeat_rules` on made-up evaluations."""

import numpy as np
import pytest
from benchmarks.studies.optimisers.repeat_rules import RULES, Run, in_turn, lower_bound

# Rows 0 to 9 have these mean losses; the single evaluation of row 5 was lucky.
MEANS = np.arange(10.0)


def run(seed: int = 0, scale: float = 0.1) -> Run:
    """One evaluation of each row, and one of row 5 that is too good."""
    rng = np.random.default_rng(seed)
    train = lambda row: float(MEANS[row] + scale * rng.normal())  # noqa: E731
    return Run({row: [-1.0 if row == 5 else train(row)] for row in range(10)}, train)


@pytest.mark.parametrize("name", RULES)
def test_rule(name):
    """Catches a rule that spends another number, or that does not find out what was luck."""
    one = run()
    assert one.ranked()[0] == 5
    RULES[name](one, 20)
    assert sum(map(len, one.losses.values())) == 30
    bounds = one.bounds(1.0)
    assert min(bounds, key=bounds.__getitem__) == 0
    assert len(one.losses[5]) > 1
    assert len(one.losses[9]) == 1 + 2 * (name == "10 in turn")


def test_bounds():
    """By hand: deviations of +-1 about two means, pooled over two repeats, have a squared noise of 4 / 2."""
    one = Run({0: [1.0, 3.0], 1: [4.0, 6.0], 2: [7.0], 3: [np.inf, np.inf]}, lambda row: 0.0)
    bounds = one.bounds(1.0)
    np.testing.assert_allclose([bounds[0], bounds[1], bounds[2]], [2 + 1, 5 + 1, 7 + 2**0.5])
    assert bounds[3] == np.inf


def test_what_is_infeasible_is_not_repeated():
    """Catches NaN from infinite losses."""
    one = Run({0: [1.0], 1: [np.inf]}, lambda row: 1.0)
    lower_bound(1.0)(one, 3)
    in_turn(1)(one, 2)
    assert one.losses == {0: [1.0] * 6, 1: [np.inf]}
