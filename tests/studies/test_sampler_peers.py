"""What `benchmarks.studies.sampler_peers` says of made-up runs, of what is missing and of what fails."""

import numpy as np
import pytest
from benchmarks.studies import sampler_peers
from benchmarks.studies.optimisers.peers import Peer
from benchmarks.studies.sampler_peers import BUDGETS, ELLIPSOIDS, ENTRANTS, FIXED, OPTUNA, OURS, SOURCES

CASES = [f"mixed/{i}" for i in range(6)]


def made_up(**factors: float) -> dict[str, dict[str, np.ndarray]]:
    """Gaps of twenty runs, so many times those of Optuna."""
    rng, found = np.random.default_rng(0), {}
    for method, factor in ({OPTUNA: 1.0} | factors).items():
        gaps = np.exp(0.05 * rng.normal(size=(6, 20, 4))) * [1.0, 0.3, 0.2, 0.1]
        gaps[:, :, 1:] *= factor
        found[method] = dict(zip(CASES, gaps, strict=True))
    return found


def test_ratio():
    """Catches a ratio upside down, the wrong column, and an interval that is not around it."""
    gaps = made_up(parzax=0.5)
    gaps[OURS]["mixed/0"][:, 3] *= 2
    for budget, expected in zip(BUDGETS, (0.5, 0.5, 0.5 * 2 ** (1 / 6)), strict=True):
        mean, low, high = sampler_peers.ratio(gaps[OURS], gaps[OPTUNA], gaps[OPTUNA], budget)
        assert low < mean < high
        assert mean == pytest.approx(expected, rel=0.05)


def test_page():
    """Catches a verdict that names who is behind, or none where parzax is; and an error that is not told."""
    found = {}
    for method, cases in made_up(parzax=0.8, Rustuna=0.5).items():
        found[f"{method}/{FIXED}/mixed"] = cases
    found[f"Hyperopt/{FIXED}/mixed"] = {sampler_peers.ERROR: np.array("TypeError: no such argument")}
    page = "\n".join(sampler_peers.written(found).blocks)
    assert page.count("**Rustuna 0.6") == len(BUDGETS)
    assert "in all but 3 cells" in page
    assert "| `px.tpe` | 6 | 20 | 0.8" in page
    assert "Hyperopt on some problems: `TypeError: no such argument`" in page
    level = {f"{method}/{FIXED}/mixed": cases for method, cases in made_up(parzax=1.0, Rustuna=1.0).items()}
    page = "\n".join(sampler_peers.written(level).blocks)
    assert "of the first, everywhere" in page
    assert "**" not in page


def test_missing(monkeypatch, tmp_path):
    """Catches units of samplers whose files are not there, and a page that does not say so."""
    monkeypatch.setenv(sampler_peers.HUB, str(tmp_path))
    assert sampler_peers.missing("ctpe") == "its files are not in the folder of --hub"
    (tmp_path / "package" / "samplers" / "ctpe").mkdir(parents=True)
    monkeypatch.delenv(sampler_peers.OPTUNA_4, raising=False)
    assert sampler_peers.missing("ctpe") == "there is no folder of --optuna-4"
    assert not [unit.name for unit in sampler_peers.units(False) if unit.name.startswith("ctpe/")]


def test_failure(monkeypatch):
    """Catches one sampler that stops the study: what it raises is the unit's array."""

    def fails(*_: object) -> None:
        raise KeyError("x")

    entrant = sampler_peers.Entrant(Peer(fails, ()), [SOURCES])
    monkeypatch.setitem(ENTRANTS, OPTUNA, entrant)
    found = sampler_peers.search(OPTUNA, SOURCES, ELLIPSOIDS, 2, 1)
    assert {name: str(array) for name, array in found.items()} == {sampler_peers.ERROR: "KeyError: 'x'"}
