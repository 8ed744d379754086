"""What `benchmarks.studies.beliefs` says of made-up runs, and the beliefs that it makes."""

import numpy as np
import pytest
from benchmarks.studies import beliefs
from benchmarks.studies.optimisers.problems import HALVES

import parzax as px


@pytest.mark.parametrize(("factor", "n_failed"), [(1.0, 0), (1.3, 1)])
def test_verdict(factor, n_failed):
    """Catches a wrong belief that costs too much and passes, and a good one that is not counted."""
    rng, found = np.random.default_rng(0), {}
    times = {beliefs.NONE: 1.0, beliefs.GOOD: 0.5, beliefs.VAGUE: 1.0, beliefs.WRONG: factor}
    for half in HALVES:
        for kind, factor_of_kind in times.items():
            gaps = np.exp(0.01 * rng.normal(size=(4, 20, 1))) * np.linspace(2, 1, 60) * factor_of_kind
            found[f"{kind}/{half}/mixed"] = {f"mixed/{i}": runs for i, runs in enumerate(gaps)}
    page = beliefs.written(found)
    assert len(page.failed) == n_failed
    assert page.shape == (20, 60)
    assert all("| good | 0.50" in block for block in page.blocks if block.startswith("| belief"))


def test_wrong_beliefs_are_elsewhere():
    """Catches a wrong belief at the best value, and a good one far from it."""
    rng, domain = np.random.default_rng(0), px.Float(1e-4, 1.0, log=True)
    good, wrong = (
        np.log10([beliefs.belief(domain, 1e-3, kind, rng).mean for _ in range(200)])
        for kind in (beliefs.GOOD, beliefs.WRONG)
    )
    assert abs(np.median(good) + 3) < 0.2
    np.testing.assert_allclose(wrong, -1)
    choice = px.Categorical(["a", "b", "c"])
    assert beliefs.belief(choice, 1, beliefs.GOOD, rng)["b"] == 0.7
    assert beliefs.belief(choice, 1, beliefs.WRONG, rng)["b"] < 0.2
