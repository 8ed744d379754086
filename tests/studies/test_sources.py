"""What `benchmarks.studies.sources` claims, on made-up runs: it holds, and each claim can break."""

import numpy as np
import pytest
from benchmarks.studies import sources

BUDGETS = (10, 50)


def runs(alike: float, later: float, one: float = 1.0) -> dict[str, dict[str, np.ndarray]]:
    """Two units of 30 runs: ratios at first where tasks are alike, later everywhere, and of one setting."""
    rng, found = np.random.default_rng(0), {}
    for unit in ("ellipsoid/4/1", "ellipsoid/4/2"):
        alone = np.exp(0.1 * rng.normal(size=(30, 1))) * np.linspace(100, 1, 50)
        found[unit] = {sources.ALONE: alone}
        for method in sources.METHODS:
            for center in (0, 2):
                own = alone * np.exp(0.02 * rng.normal(size=(30, 1))) * later
                own[:, :20] *= alike / later if center == 0 else 2.0
                found[unit][f"{method}/c* = {center}"] = own * (
                    one if center == 2 and unit[-1] == "2" else 1.0
                )
    return found


def test_claims_hold_and_break():
    """Catches an interval that is not looked at, and a setting that hides in the mean."""
    assert sources.broken(runs(0.5, 0.9), BUDGETS) == []
    (first,) = sources.broken(runs(1.0, 0.9), BUDGETS)
    assert first.startswith("after 10, alike: 1.00")
    later = sources.broken(runs(0.5, 1.2), BUDGETS)
    assert later[0].startswith("after 50, over all: 1.20")
    assert len(later) == 5
    (single,) = sources.broken(runs(0.5, 0.8, one=1.5), BUDGETS)
    assert single.startswith("after 50, ellipsoid/4/2/c* = 2: 1.20")


def test_runs_of_one_number_are_pairs():
    """Catches errors of the runs without sources, which settings share, counted as independent."""
    found = runs(0.5, 0.9)
    own = [*sources.log_ratios(found, "stacking", 50).values()]
    assert [x.shape for x in own] == [(30,)] * 4
    mean, low, high = sources.together(own)
    assert mean == pytest.approx(0.9, abs=0.01)
    assert high - low < 0.02  # the spread of 0.1 between runs is not in it
    shared = np.random.default_rng(1).normal(size=30)
    wide = sources.together([x + shared for x in own])
    assert wide[2] - wide[1] == pytest.approx(mean * 2 * 1.96 * shared.std() / 30**0.5, rel=0.4)
    text = sources.table(found, [*sources.METHODS], BUDGETS)
    kinds = [line.split(" | ")[:2] for line in text.splitlines() if "| stacking |" in line]
    assert kinds == [
        ["| c* = 0", "2"],
        ["| c* = 2", "2"],
        ["| 1 source", "2"],
        ["| 2 sources", "2"],
        ["| all", "4"],
    ]
    assert sources.compared(found).keys() == found.keys()
    alone = {name: {k: x for k, x in own.items() if "stacking" not in k} for name, own in found.items()}
    assert sources.compared(alone) == {}
