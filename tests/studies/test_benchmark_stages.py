"""`benchmarks.stages`: every moment counts once, to the innermost stage."""

import pytest
from benchmarks.stages import exclusive


@pytest.mark.parametrize(
    ("spans", "found"),
    [
        ([], {}),
        ([(1.0, 3.0, "a")], {"a": 2.0}),
        # An import while something is traced, and what is traced within itself.
        ([(2.0, 3.0, "b"), (1.0, 6.0, "a")], {"a": 4.0, "b": 1.0}),
        ([(0.0, 9.0, "a"), (1.0, 5.0, "a"), (2.0, 4.0, "b"), (6.0, 7.0, "b")], {"a": 6.0, "b": 3.0}),
        # One after the other, with a gap of nobody's.
        ([(0.0, 1.0, "a"), (2.0, 4.0, "b")], {"a": 1.0, "b": 2.0}),
    ],
)
def test_exclusive(spans, found):
    """Against sums by hand; catches what is counted twice, and gaps that are."""
    assert exclusive(spans) == pytest.approx(found)
