"""Rows of conditional PED-ANOVA beside its curves: they hold on results made to order, and each can break."""

import numpy as np
import pytest
from benchmarks.papers.cond_ped_anova import baselines, curves, learners, peers, sizes, theorem
from benchmarks.papers.cond_ped_anova.curves import ESTIMATORS, LEVELS, MEASURES, PROBLEMS
from benchmarks.papers.cond_ped_anova.statements import DISJOINT, MOVING, OVERLAP
from benchmarks.papers.rows import Verdict
from benchmarks.papers.runs import LIMIT

AGREES, EQUAL, DIFFERS, APART, NOT_RUN = Verdict
N_SEEDS = 10


@pytest.fixture(autouse=True)
def fresh_logs(monkeypatch):
    """As where there is no folder of data."""
    for module in (baselines, peers):
        monkeypatch.setattr(module, "sources", lambda: ("fresh",))


def verdicts(rows) -> dict[str, Verdict]:
    found = [*rows]
    assert len({row.key for row in found}) == len(found)
    return {row.key: row.verdict for row in found}


def arrays_of(shares: dict[str, float], noise: float = 0.0) -> dict[str, np.ndarray]:
    """Both estimators' measures, the same at every level, in the order c, x, y."""
    rng = np.random.default_rng(0)
    own = np.array([shares[name] for name in "cxy"]) + noise * rng.normal(size=(N_SEEDS, len(LEVELS), 3))
    return {f"{name}/{measure}": own for name in ESTIMATORS for measure in MEASURES}


def baseline(shares: dict[str, dict[str, float]], noise: float, difference: float) -> dict:
    ours = arrays_of({"c": 0.4, "x": 0.3, "y": 0.3}, 0.01)
    found = {f"curves/fresh/{problem}": ours for problem in PROBLEMS}
    for problem, own in shares.items():
        for variant in baselines.VARIANTS[problem]:
            arrays = arrays_of(own[variant], noise if variant == "imputation" else 0.001)
            found[f"baselines/fresh/{problem}-{variant}"] = arrays | {"difference": np.array(difference)}
    still = np.full((1, len(LEVELS), 3), 1 / 3)
    return found | {"baselines/middle": {"below": still, "above": still + 1e6 * difference}}


def test_baselines_hold_and_break():
    """Catches a comparison of c with the larger of x and y, and spreads the wrong way round."""
    third, below = dict.fromkeys("cxy", 1 / 3), {"c": 0.2, "x": 0.4, "y": 0.4}
    alike = {"filtering": third, "imputation": third}
    good = baseline({DISJOINT: alike, OVERLAP: alike, MOVING: {"expansion": below}}, 0.04, 1e-13)
    assert set(verdicts(baselines.rows(good)).values()) == {AGREES}
    above, uneven = {"c": 0.6, "x": 0.3, "y": 0.1}, {"c": 0.2, "x": 0.5, "y": 0.3}
    apart = {"filtering": uneven, "imputation": above}
    bad = baseline({DISJOINT: apart, OVERLAP: apart, MOVING: {"expansion": above}}, 0.001, 1e-3)
    assert set(verdicts(baselines.rows(bad)).values()) == {DIFFERS}


def units_of(peer: str, shares: dict[str, float]) -> dict:
    rng, found = np.random.default_rng(0), {}
    for problem, variants in peers.VARIANTS.items():
        for variant in variants:
            own = np.array([shares[name] for name in PROBLEMS[problem].space.names])
            for seed in range(N_SEEDS):
                found[f"peers/{peer}/fresh/{problem}-{variant}-{seed}"] = {
                    "importance": own + 1e-4 * rng.normal(size=3)
                }
            if peer in peers.QUICK:
                found[f"peers/{peer}/many/{problem}-{variant}-0"] = {
                    "importance": own + 1e-4 * rng.normal(size=(N_SEEDS, 3))
                }
    return found


@pytest.mark.parametrize("peer", peers.PEERS)
def test_peers_hold_and_break(peer):
    """Catches a peer that did not run and agrees, and the wrong parameter above the other."""
    assert set(verdicts(peers.rows({})).values()) == {NOT_RUN}

    def of(shares: dict[str, float]) -> dict[str, Verdict]:
        found = verdicts(peers.rows(units_of(peer, shares)))
        return {key: own for key, own in found.items() if key.startswith(f"peer-{peer}-")}

    alike, y_first, x_first = (of({"c": 1 / 3, "x": 1 / 3 - d, "y": 1 / 3 + d}) for d in (0.0, 0.1, -0.1))
    expansion = f"peer-{peer}-{MOVING}-expansion"
    assert y_first[expansion] is AGREES
    assert x_first[expansion] is DIFFERS
    others = alike.keys() - {expansion}
    assert {alike[key] for key in others} == {AGREES}
    assert {y_first[key] for key in others} == {DIFFERS}


def test_peers_that_take_too_long_are_named():
    """Catches a mean over fewer logs that says nothing, and a row without any that has a verdict."""
    found, late = units_of("SHAP", dict.fromkeys("cxy", 1 / 3)), {LIMIT: np.array(peers.PATIENCE)}
    filtering, imputation = (f"{DISJOINT}-{variant}" for variant in ("filtering", "imputation"))
    some = {row.key: row for row in peers.rows(found | {f"peers/SHAP/fresh/{filtering}-3": late})}
    assert f"{N_SEEDS - 1} seeds" in some[f"peer-SHAP-{filtering}"].ours
    assert some[f"peer-SHAP-{filtering}"].note.startswith("1 logs took")
    assert not some[f"peer-SHAP-{imputation}"].note
    none = {row.key: row for row in peers.rows(dict.fromkeys(found, late))}
    assert none[f"peer-SHAP-{imputation}"].verdict is NOT_RUN
    assert f"{N_SEEDS} logs took" in none[f"peer-SHAP-{imputation}"].note


def test_few_rows_hold_and_break():
    """Catches curves that are compared with themselves."""
    whole = {"c": 0.4, "x": 0.3, "y": 0.3}
    found = {f"curves/fresh/{problem}": arrays_of(whole, 0.001) for problem in PROBLEMS}
    near = {"c": 0.405, "x": 0.295, "y": 0.3}
    far = {"c": 0.6, "x": 0.1, "y": 0.3}
    for shares, wanted in ((near, AGREES), (far, DIFFERS)):
        fewer = {
            f"sizes/{problem}-{n}": arrays_of(shares, 0.001) for problem in sizes.SHOWN for n in sizes.FEWER
        }
        rows = verdicts(sizes.rows(found | fewer))
        assert {own for key, own in rows.items() if "errors" not in key} == {wanted}
        assert {own for key, own in rows.items() if "errors" in key} == {AGREES}  # the same spread
    noisy = {f"sizes/{problem}-{n}": arrays_of(near, 0.01) for problem in sizes.SHOWN for n in sizes.FEWER}
    rows = verdicts(sizes.rows(found | noisy))
    assert {own for key, own in rows.items() if "errors" in key} == {DIFFERS}


@pytest.mark.slow
def test_theorem_rows_can_break(monkeypatch):
    """Catches rows that do not look at the residuals."""
    exact = {key for key, own in verdicts(theorem.rows({})).items() if own is AGREES}
    monkeypatch.setattr(theorem, "residuals", lambda problem, level: ([0.0, 1e-9], [1e-9, 0.0], [0.0, 1e-9]))
    assert {key for key, own in verdicts(theorem.rows({})).items() if own is DIFFERS} == exact
    assert len(exact) == 9


def log_of(accuracies: np.ndarray, importances: dict[str, float]) -> dict[str, np.ndarray]:
    names = ["learner_id", "trainsize", "a.p", "b.p", "c.p", *(f"a.other{i}" for i in range(5))]
    own = np.array([importances.get(name, 0.01) for name in names])
    each = np.broadcast_to(own, (N_SEEDS, len(LEVELS), len(names)))
    return {
        "default": each, "parity": each, "names": np.array(names), "learners": np.array(["a", "b", "c"]),
        "accuracies": accuracies,
    }  # fmt: skip


def test_learners_hold_and_break(monkeypatch):
    """Catches printed numbers that are not looked at, and a rank from the wrong end."""
    rng = np.random.default_rng(0)
    largest = {"a": 0.9, "b": 0.8, "c": 0.6}
    printed = [
        learners.Printed(
            "Table 1", "7", name, {"min": (x - 0.4, 0.01), "mean": (x - 0.2, 0.01), "max": (x, 0.01)}
        )
        for name, x in largest.items()
    ]
    monkeypatch.setattr(learners, "printed", lambda: printed)
    assert set(verdicts(learners.rows({})).values()) == {NOT_RUN}
    center = np.array([[x - 0.4, x - 0.2, x] for x in largest.values()])
    accuracies = center + 0.01 * rng.normal(size=(N_SEEDS, 3, 3))
    good = log_of(accuracies, {"learner_id": 0.4, "trainsize": 0.2, "a.p": 0.3, "b.p": 0.2, "c.p": 0.05})
    assert set(verdicts(learners.rows({"learners/7": good})).values()) == {AGREES}
    least = {f"a.other{i}": 0.1 for i in range(5)} | {
        "b.p": 0.2,
        "c.p": 0.9,
        "trainsize": 0.0,
        "learner_id": 0.0,
    }
    bad = log_of(accuracies[:, ::-1], least)
    found = verdicts(learners.rows({"learners/7": bad}))
    assert found.pop("learners-7-b") is AGREES  # in the middle of both orders
    assert found.pop("figure-7-correlation") is AGREES  # the best learner is now c
    assert set(found.values()) == {DIFFERS}
    other = log_of(accuracies, least)
    assert verdicts(learners.rows({"learners/7": other}))["figure-7-correlation"] is DIFFERS


def test_units_name_the_curves_that_rows_ask_for():
    """Catches a unit that was renamed on one side."""
    assert curves.LEVELS is LEVELS
    names = {f"baselines/fresh/{p}-{v}" for p, own in baselines.VARIANTS.items() for v in own}
    assert {unit.name for unit in baselines.units()} == names | {"baselines/middle"}
    assert len({unit.name for unit in peers.units(quick=False)}) == len(peers.units(quick=False))
