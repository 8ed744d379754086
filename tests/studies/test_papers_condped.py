"""Rows of conditional PED-ANOVA beside its curves: they hold on results made to order, and each can break."""

import jax
import numpy as np
import pytest
from benchmarks.studies.papers.cond_ped_anova import (
    baselines,
    curves,
    learners,
    memory,
    more_statements,
    peers,
    reasons,
    sizes,
    theorem,
    times,
)
from benchmarks.studies.papers.cond_ped_anova.curves import ESTIMATORS, LEVELS, MEASURES, PROBLEMS
from benchmarks.studies.papers.cond_ped_anova.statements import DISJOINT, MOVING, NESTED, OVERLAP, THREE_WAY
from benchmarks.studies.papers.rows import Verdict
from benchmarks.studies.papers.runs import LIMIT

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
    assert set(verdicts_of_baselines(good).values()) == {AGREES}
    above, uneven = {"c": 0.6, "x": 0.3, "y": 0.1}, {"c": 0.2, "x": 0.5, "y": 0.3}
    apart = {"filtering": uneven, "imputation": above}
    bad = baseline({DISJOINT: apart, OVERLAP: apart, MOVING: {"expansion": above}}, 0.001, 1e-3)
    assert set(verdicts_of_baselines(bad).values()) == {DIFFERS}


def verdicts_of_baselines(found: dict) -> dict[str, Verdict]:
    """Without the rows of what is not conditional, which have a test of their own."""
    rows = verdicts(baselines.rows(found))
    return {key: own for key, own in rows.items() if not key.startswith("unconditional-")}


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


def test_theorem_rows_can_break(monkeypatch):
    """Catches rows that do not look at the residuals."""
    monkeypatch.setattr(theorem, "LEVELS", np.array([0.2, 0.77]))
    found = verdicts(theorem.rows({}))
    exact = {key for key, own in found.items() if own is AGREES}
    premises = {f"premise-f.1-{problem}" for problem in (NESTED, THREE_WAY)}
    assert {key for key, own in found.items() if own is DIFFERS} == premises
    monkeypatch.setattr(theorem, "residuals", lambda problem, level: ([0.0, 1e-9], [1e-9, 0.0], [0.0, 1e-9]))
    monkeypatch.setattr(theorem, "parted", lambda problem, level: ([0.0, 1e-9], [], [1e-9]))
    assert {key for key, own in verdicts(theorem.rows({})).items() if own is DIFFERS} == exact | premises
    assert len(exact) == 13


def test_premise_of_theorem_f1():
    """Catches a gate that is no function of the regime and passes, and one that is and fails."""
    with jax.enable_x64(True):
        holds = [theorem.gap(THREE_WAY, "c", "x", 0.2), theorem.gap(NESTED, "c0", "z", 0.8)]
        lacks_37, lacks_both = theorem.gap(THREE_WAY, "c", "y", 0.2), theorem.gap(NESTED, "c0", "x", 0.2)
    for own in holds:
        assert max(own.regime, own.effect) < 1e-15
        assert own.gate == pytest.approx(own.inter)
        assert own.excess <= 1e-15
    # By hand: the target is 0.6 of one third of the rows, and 0.3 of the two thirds that y is inactive in.
    assert (lacks_37.gate, lacks_37.inter) == pytest.approx((0.6**2 / 3 - 0.04, 0.3**2 * 2 / 3 - 0.04))
    assert lacks_37.regime < 1e-15
    assert lacks_37.effect == pytest.approx(0.3)
    assert lacks_37.excess == pytest.approx(0.06)
    assert lacks_both.regime == pytest.approx(0.25)
    assert lacks_both.effect > 0.1


def test_slow_peers_are_controlled_by_the_fast_one():
    """Catches logs that are paired wrongly, and a mean of ten logs that is not corrected."""
    rng, n = np.random.default_rng(0), 200
    ahead = rng.normal(0.02, 0.1, n)  # y - x by MDI

    def shares(difference: np.ndarray) -> np.ndarray:
        y = (1 + difference) / 2
        return np.stack([np.zeros_like(y), 1 - y, y], axis=-1)

    found = {f"peers/MDI/many/{OVERLAP}-imputation-0": {"importance": shares(ahead)}}
    slow = 2 * ahead[:N_SEEDS] + 1e-3 * rng.normal(size=N_SEEDS)
    names = [f"peers/SHAP/fresh/{OVERLAP}-imputation-{seed}" for seed in range(N_SEEDS)]
    found |= {name: {"importance": own} for name, own in zip(names, shares(slow), strict=True)}
    pair = peers.controlled(found, "SHAP", OVERLAP, "imputation")
    assert pair is not None
    (number, error), correlation, logs = pair
    assert number == pytest.approx(2 * ahead.mean(), abs=1e-3)
    assert error == pytest.approx(2 * ahead.std() / np.sqrt(n), rel=0.05)
    assert (correlation > 0.999, logs) == (True, f"{n} logs")
    row = next(own for own in peers.rows(found) if own.key == f"peer-SHAP-{OVERLAP}-imputation")
    assert "controlled" in row.ours
    images = found | {peers.MIRRORED: {"importance": shares(0.002 - ahead)}}
    pair = peers.controlled(images, "SHAP", OVERLAP, "imputation")
    assert pair is not None
    assert pair[0][0] == pytest.approx(0.002, abs=1e-3)
    assert pair[0][1] < error / 10
    mixed = found | dict(zip(names, ({"importance": own} for own in shares(slow[::-1])), strict=True))
    pair = peers.controlled(mixed, "SHAP", OVERLAP, "imputation")
    assert pair is not None
    assert abs(pair[1]) < 0.9


def test_optuna_that_evaluates_more_is_seen():
    """Catches a row that agrees whatever the evaluator names."""

    def verdict(names: list[str]) -> Verdict:
        found = {peers.EXCLUDED: {"names": np.array(names)}}
        return {row.key: row.verdict for row in peers.rows(found)}["optuna-excludes"]

    assert verdict(["c", "c", "c", "c0", "c"]) is AGREES
    assert verdict(["c", "c", "c x", "c0", "c"]) is DIFFERS


def test_unconditional_rows_can_break():
    """Catches a comparison of one estimator with itself."""
    third = dict.fromkeys("cxy", 1 / 3)
    found = {
        f"curves/fresh/{DISJOINT}": arrays_of(third)
        | {f"{x}/inter": np.zeros((2, 99, 3)) for x in ESTIMATORS}
    }
    found[f"baselines/fresh/{DISJOINT}-filtering"] = arrays_of(third)
    assert set(verdicts(baselines._unconditional_rows(found)).values()) == {AGREES}
    found[f"baselines/fresh/{DISJOINT}-filtering"]["parity/variance"] = np.full((N_SEEDS, 99, 3), 0.34)
    found[f"curves/fresh/{DISJOINT}"]["default/inter"] = np.full((2, 99, 3), 1e-9)
    assert set(verdicts(baselines._unconditional_rows(found)).values()) == {DIFFERS}


def test_further_times_can_break():
    """Catches ratios that are turned round, and powers of the wrong sign."""
    sizes = np.array([512, 1024, 2048])
    own = {
        times.PLAIN: {"sizes": sizes, times.PLAIN: np.ones(3)},
        "f-ANOVA": {"sizes": sizes, "f-ANOVA": np.array([20.0, 80.0, np.nan])},
        "SHAP": {"sizes": sizes, "SHAP": np.array([1.0, 4.0, 16.0])},
    }
    costs = {"sizes": sizes, "made": np.full(3, 9.0), "conditional": np.full(3, 2.0), "plain": np.ones(3)}
    found = {f"times/overhead/{MOVING}": costs, f"times/f-ANOVA/{MOVING}": own["f-ANOVA"]}
    found[memory.MEMORY] = {"sizes": sizes, "mebibytes": np.array([1000.0, 4000.0, 16000.0])}
    good = {row.key: row for row in (*times._further(found, MOVING, own), *memory.rows(found))}
    assert {row.verdict for row in good.values()} == {AGREES}
    assert "64000" not in good["f6-memory"].ours
    costs["made"], own["f-ANOVA"]["f-ANOVA"] = np.full(3, 0.5), np.array([5.0, 20.0, np.nan])
    own["SHAP"]["SHAP"], found[memory.MEMORY]["mebibytes"] = np.full(3, 9.0), np.array([10.0, 20.0, 40.0])
    bad = (*times._further(found, MOVING, own), *memory.rows(found))
    assert {row.verdict for row in bad} == {DIFFERS}
    assert {row.verdict for row in times._further(found, MOVING, {})} == {DIFFERS, NOT_RUN}


def printed_tables(order: tuple[str, ...]) -> list[learners.Printed]:
    """Tables 1 and 2 made to order: the first learner is ahead by 0.1 on 1457 and by 0.02 elsewhere."""
    found = []
    for instance, step in (("1053", 0.05), ("1457", 0.1), ("1063", 0.02), ("1468", 0.02)):
        for i, name in enumerate(order):
            largest, mean = 0.9 - step * i, 0.5 + step * (name == "aknn")
            numbers = {kind: (x, 0.01) for kind, x in (("min", 0.1), ("mean", mean), ("max", largest))}
            found.append(learners.Printed("Table 2", instance, name, numbers))
    return found


def test_printed_tables_hold_and_break():
    """Catches statements of the tables that no table could refute."""
    good = printed_tables(("svm", "ranger", "aknn"))
    assert set(verdicts(more_statements._printed_alone(good)).values()) == {AGREES}
    bad = printed_tables(("aknn", "svm", "ranger"))[::-1]
    bad = [
        own._replace(instance={"1457": "1063", "1063": "1457"}.get(own.instance, own.instance)) for own in bad
    ]
    bad = [
        own._replace(numbers=own.numbers | {"max": (0.9 + own.numbers["max"][0] / 10, 0.01)}) for own in bad
    ]
    assert set(verdicts(more_statements._printed_alone(bad)).values()) == {DIFFERS}


def test_a_region_that_is_a_zoom_is_seen(monkeypatch):
    """Catches a comparison of other levels."""
    monkeypatch.setattr(more_statements, "sources", lambda: ("fresh",))
    monkeypatch.setattr(learners, "printed", list)
    whole = arrays_of({"c": 0.8, "x": 0.1, "y": 0.1})
    half = {name: own[:, :49] for name, own in whole.items()}
    small = {name: own[:, :49] for name, own in arrays_of({"c": 0.1, "x": 0.8, "y": 0.1}).items()}
    for region, wanted in ((half, DIFFERS), (small, AGREES)):
        found = {f"curves/fresh/{DISJOINT}": whole, f"curves/fresh/{DISJOINT}-0.5": region}
        assert verdicts(more_statements.rows(found))["f7-zoom"] is wanted


def test_reasons_name_the_learner_that_is_off():
    """Catches the correlation with a learner instead of without it, and a shift of the wrong kind."""
    largest = np.array([0.9, 0.8, 0.6])
    accuracies = np.broadcast_to(np.stack([largest - 0.4, largest - 0.2, largest], -1), (N_SEEDS, 3, 3))
    arrays = log_of(accuracies, {"a.p": 0.3, "b.p": 0.2, "c.p": 0.9})
    rows = [
        learners.Printed(
            "Table 1", "7", name, {"min": (x - 0.4, 0.01), "mean": (x - 0.2, 0.01), "max": (x, 0.01)}
        )
        for name, x in zip("abc", (0.9, 0.8, 0.9), strict=True)
    ]
    assert reasons._explain_correlation(rows, arrays).startswith(
        "c alone: without it the correlation is 1.00"
    )
    cut = np.stack([accuracies, accuracies + np.array([0.0, 0.0, 0.004])])
    text = reasons._explain_table(rows[2], arrays, {"cut": cut})
    assert "+0.300 from ours" in text
    assert "at most 0.004" in text
    order = reasons._explain_order(rows, arrays)
    assert "from 0.00 to 0.00" in order


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
