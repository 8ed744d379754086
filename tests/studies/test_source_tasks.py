"""The bounds of `benchmarks.studies.source_tasks`, on made-up runs: they hold, and each can break."""

import numpy as np
import pytest
import scipy.stats
from benchmarks.studies import source_tasks


def runs(over_alone: float, over_paper: float, n_paper: int = 8) -> dict[str, dict[str, np.ndarray]]:
    """Two units with given ratios, and some spread between runs."""
    rng, found = np.random.default_rng(0), {}

    def losses(n: int, level: float) -> np.ndarray:
        return level * np.exp(0.05 * rng.normal(size=(n, 100)))

    for unit in ("ellipsoid/4/1", "ball/4/8"):
        found[unit] = {source_tasks.ALONE: losses(60, 1.0)}
        for kind in ("c* = 0", "c* = 2"):
            found[unit][f"{source_tasks.DEFAULT}/{kind}"] = losses(60, over_alone)
            found[unit][f"{source_tasks.PAPER}/{kind}"] = losses(n_paper, over_alone / over_paper)
    return found


def test_bounds_hold_and_break():
    """Catches a bound of the mean instead of the interval, and a comparison that is not looked at."""
    found = runs(0.8, 0.9)
    assert source_tasks.missed(found, source_tasks.groups(found)) == []
    found = runs(1.2, 0.9)
    failed = source_tasks.missed(found, source_tasks.groups(found))
    assert len(failed) == 2 * len(source_tasks.BUDGETS)
    assert failed[0].startswith("ellipsoids, 1 task, after 10, over no sources: 1.")
    found = runs(0.8, 1.2)
    failed = source_tasks.missed(found, source_tasks.groups(found))
    assert len(failed) == 2 * len(source_tasks.BUDGETS)
    assert all(f"over {source_tasks.PAPER}: 1." in text for text in failed)


def test_ratio_is_welchs():
    """Catches unequal numbers of runs, and settings that share runs counted as independent."""
    found = runs(0.8, 0.9)
    settings = source_tasks.groups(found)["ellipsoids, 1 task"]
    assert settings == [("ellipsoid/4/1", "c* = 0"), ("ellipsoid/4/1", "c* = 2")]
    own = {name: np.log(losses[:, 19]) for name, losses in found["ellipsoid/4/1"].items()}
    ours, papers = (own[f"{method}/c* = 2"] for method in (source_tasks.DEFAULT, source_tasks.PAPER))
    interval = scipy.stats.ttest_ind(ours, papers, equal_var=False).confidence_interval(0.95)
    mean, *ends = source_tasks.ratio(found, settings[1:], source_tasks.DEFAULT, source_tasks.PAPER, 20)
    assert mean == pytest.approx(np.exp(ours.mean() - papers.mean()))
    assert ends == pytest.approx(list(np.exp(interval)))
    # Both settings have the same runs without sources, so their error is not halved.
    both = np.concatenate([own[f"{source_tasks.DEFAULT}/c* = {c}"] for c in (0, 2)])
    alone = own[source_tasks.ALONE]
    mean, low, high = source_tasks.ratio(found, settings, source_tasks.DEFAULT, source_tasks.ALONE, 20)
    error = (both.var() / len(both) + alone.var() / len(alone)) ** 0.5
    assert mean == pytest.approx(np.exp(both.mean() - alone.mean()))
    assert np.log(high / low) == pytest.approx(2 * 1.98 * error, rel=0.05)


def test_groups():
    """Ellipsoids by number of tasks, the others by kind of problem."""
    arrays = {source_tasks.ALONE: np.ones((2, 100)), "5/tables": np.ones((2, 100))}
    units = ["hpolib/slice/2", "hpolib/slice/8", "ball/4/8", "models/4/8", "hpolib_limited/slice/2"]
    groups = source_tasks.groups(dict.fromkeys(units, arrays))
    assert {name: [unit for unit, _ in own] for name, own in groups.items()} == {
        "tables": units[:2],
        "ellipsoids in a ball": units[2:3],
        "conditional": units[3:4],
        "tables under a limit": units[4:],
    }
