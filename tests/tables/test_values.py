"""What names and values suggest of a column, and when two columns say the same."""

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.tables.doubts import rank_correlation, why_by_numbers

N = 60
RNG = np.random.default_rng(0)
LR, DEPTH = RNG.random(N), RNG.integers(1, 9, N)
# Numbers of trials of which a quarter failed.
GAPS = np.sort(np.random.default_rng(1).permutation(80)[:N])
LOSS = (LR - 0.4) ** 2 + RNG.normal(0, 0.02, N)


def read(columns, **options):
    df = pd.DataFrame({**columns, "y": LOSS})
    return px.Observations.from_dataframe(df, "y", directions="minimize", warn=False, **options)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (GAPS, "a counter of the rows"),
        (GAPS[::-1], "a counter of the rows"),
        (RNG.permutation(GAPS), "a counter of the rows"),
        (np.sort(RNG.choice(400, N, replace=False)), "a counter of the rows"),
        (1.7e9 + RNG.permutation(N) * 500.5, "a time"),
        (1.7e12 + np.arange(N) * 500.5, "a time"),
        # A grid of one parameter in order may be a counter with gaps.
        (np.arange(10, 310, 5)[:N], "a counter of the rows"),
        (2 ** np.arange(20), "a counter of the rows"),
        # Grids of several parameters; sorted continuous values.
        (np.repeat([8, 16, 32, 64], N // 4), ""),
        (np.tile(np.arange(20), 3), ""),
        (np.sort(LR), ""),
        (RNG.integers(1, 200, N), ""),
        (RNG.choice([1e9, 1.02e9, 1.05e9], N), ""),
    ],
)
def test_counters_and_times(values, why):
    """Catches numbers of trials or times of which some rows are missing, and a grid that is left out."""
    values = np.asarray(values, float)
    assert why_by_numbers(values, np.zeros((len(values), 1))) == why


def test_few_rows_say_nothing():
    """In toys of a few rows the same order may be the example."""
    few = LOSS[:15, None]
    assert why_by_numbers(3 - 2 * few[:, 0], few).startswith("a result")
    assert why_by_numbers(np.arange(6.0) * 2, np.arange(6.0)[:, None]) == ""


def test_results_are_recognised_by_order():
    """A result that follows the objective closely, whatever its name, or the only parameter that decides."""
    rng = np.random.default_rng(0)
    lr, depth = rng.random((2, N))
    loss = (lr - 0.4) ** 2 + 0.03 * depth
    near = np.exp(-10 * loss) + 0.05 * rng.normal(size=N)
    assert why_by_numbers(near, loss[:, None]).startswith("a result (rank correlation 0.9")
    for weight, asks in ((0.2, True), (0.4, False), (0.5, False)):
        alone = lr + weight * depth
        assert (rank_correlation(lr, alone) > 0.95) == asks
        assert bool(why_by_numbers(lr, alone[:, None])) == asks
    df = pd.DataFrame({"depth": depth, "kudos": lr, "loss": lr + 0.2 * depth})
    with pytest.raises(ValueError, match=r"'kudos': a result \(rank correlation 0\.9"):
        px.Observations.from_dataframe(df, "loss", warn=False)
    assert why_by_numbers(depth, loss[:, None]) == why_by_numbers(lr, loss[:, None]) == ""


def test_labels_of_a_parameter():
    """Columns that are equal in the same rows as an earlier one are its labels, in any order of values."""
    depth = RNG.integers(1, 5, N)
    name, code = np.array(["", "a", "d", "c", "b"])[depth], np.array([0, -8, 4, 7, -10])[depth]
    columns = {"depth": depth, "name": name, "code": code, "lr": LR, "square": LR**2}
    with pytest.raises(ValueError, match=r"parameters=\['depth', 'lr'\]") as error:
        read(columns)
    for copy, first in {"name": "depth", "code": "depth", "square": "lr"}.items():
        assert f"{copy!r}: it follows from {first!r}" in str(error.value)
    # Other values in one row are another parameter.
    code[0] += 1
    assert read({"depth": depth, "code": code, "lr": LR}).space.names == ("depth", "code", "lr")
