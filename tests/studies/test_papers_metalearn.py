"""Rows of meta-learning TPE: statements that hold on runs made to order, and can each break."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from benchmarks.studies.papers import further
from benchmarks.studies.papers.meta_learn_tpe import (
    algorithms,
    cases,
    dissimilar,
    ensembles,
    of_tables,
    one_source,
    several_sources,
    spaces,
    theory,
    times,
    two_metrics,
)
from benchmarks.studies.papers.meta_learn_tpe.ellipsoids import CENTERS, MANY_CENTERS, NAIVE, OURS
from benchmarks.studies.papers.meta_learn_tpe.two_metrics import (
    ALONE,
    COLD,
    ETAS,
    FRESH,
    MIXED_UP,
    MO,
    RANDOM,
    Found,
)
from benchmarks.studies.papers.rows import Range, Verdict, judged_ratio
from benchmarks.studies.papers.tables import Table

AGREES, EQUAL, DIFFERS, APART, NOT_RUN = Verdict
N_SEEDS, N = 40, 200


def by_key(rows) -> dict:
    found = [*rows]
    assert len({row.key for row in found}) == len(found)
    return {row.key: row for row in found}


def verdicts(rows) -> dict:
    return {key: row.verdict for key, row in by_key(rows).items()}


def falling(start: float, end: float, seed: int = 0) -> np.ndarray:
    """(s, n) best losses of runs that fall from start to end, a few per cent apart."""
    spread = np.random.default_rng(seed).uniform(0.97, 1.03, (N_SEEDS, 1))
    return spread * np.geomspace(start, end, N)


def runs_of_one(*, reverse: bool = False, naive: float = 3.0, end: float = 1.0, weight=None) -> dict:
    """Runs by centre as Figure 2 shows them; or with similarity and order reversed, or another end."""
    found = {}
    for center in CENTERS:
        place = CENTERS[-1] - center if reverse else center
        fall = np.linspace(1.0, 0.3, N // 10) if weight is None else weight
        found[center] = {
            f"{OURS}/best": falling(10 * 1.8**place, end, center),
            f"{NAIVE}/best": falling(10 * 1.8**place * naive, end * naive, 20 + center),
            f"{OURS}/similarity": np.full((N_SEEDS, 1), 0.8 / (1 + place)) * fall,
        }
    return found


def test_figure_2_holds_and_breaks():
    tpe = falling(25, 1.0, 99)
    good = verdicts(one_source.rows(tpe, tpe, runs_of_one()))
    assert set(good.values()) == {AGREES}, good
    rising = np.linspace(0.3, 1.0, N // 10)
    bad = verdicts(
        one_source.rows(falling(5, 0.2, 99), tpe, runs_of_one(reverse=True, naive=0.5, weight=rising))
    )
    assert bad.pop("f2-poorly") is AGREES
    assert set(bad.values()) == {DIFFERS}, bad
    assert verdicts(one_source.rows(falling(200, 1.0, 99), tpe, runs_of_one()))["f2-poorly"] is DIFFERS


def test_seeds_too_few_to_tell():
    """Catches an end that agrees because nothing could be seen."""
    rng = np.random.default_rng(0)
    wide = {c: {k: x * rng.lognormal(0, 3, (N_SEEDS, 1)) if "best" in k else x for k, x in own.items()}
            for c, own in runs_of_one(naive=1.01).items()}  # fmt: skip
    found = verdicts(one_source.rows(falling(60, 1.0, 99), falling(60, 1.0, 99), wide))
    assert found["f2-end"] is APART


def test_ratios():
    """Catches a lead that is called equal, and a wide interval that is."""
    assert judged_ratio(-0.1, 0.01) is AGREES
    assert judged_ratio(0.02, 0.02) is EQUAL
    assert judged_ratio(0.02, 0.2) is APART
    assert judged_ratio(0.5, 0.1) is DIFFERS
    assert judged_ratio(0.1, 0.01, Range(0.8, 1.25)) is AGREES


def several(start: float, ends: dict[int, float]) -> dict:
    """Runs by number of sources, whose centre 3 begins at a loss."""
    return {
        n: {f"{c}": falling(start if c == 3 else 50, end, 10 * n + c) for c in MANY_CENTERS}
        for n, end in ends.items()
    }


def test_figure_12_holds_and_breaks():
    tpe = falling(100, 1.0, 99)
    same = {n: 1.0 for n in (1, 8)}  # noqa: C420
    every = several(500, same)
    more = {"every": every, "floor": several(700, same), "epsilon": tpe}
    good = verdicts(several_sources.rows(tpe, every, several(500, {8: 1.0}), **more))
    assert set(good.values()) == {AGREES}, good
    bad = by_key(several_sources.rows(tpe, several(20, {1: 2.0, 8: 80.0}), {}, **more))
    assert {row.verdict for row in bad.values()} == {DIFFERS}, bad
    assert "TPE with epsilon = 0.05 is at 1.00 (" in bad["f12-end-2"].remarks
    assert "by all (eta = 1.1), own logs: 0.99 (" in bad["f12-number-3"].remarks


TABLE = Table("a.npz", "a", "nmt_bench", 4, ("x", "y"), (), False)


def found_on(order: dict[str, float], *, eta: float = 0.0, late: float = 0.05) -> Found:
    """Shares of the true front that rise to an end by method."""
    rng, share = np.random.default_rng(0), {}
    names = [OURS, MO, RANDOM, ALONE, COLD, MIXED_UP, *FRESH.values(), *(f"eta/{e:g}" for e in ETAS)]
    for name in names:
        end = order.get(name, order[OURS])
        if name.startswith("eta") and name != "eta/2.5":
            end = order[OURS] + eta
        rise = np.interp(np.arange(100), [0, 4, 89, 99], [0, 0.01, end - late, end])
        share[name] = rise + 0.001 * rng.uniform(size=(20, 1))
    tops = {top: {name: np.cumsum(own > 0.3, axis=1) * own for name, own in share.items()}
            for top in two_metrics.TOPS}  # fmt: skip
    objectives = {name: np.stack([1 - own, 1 - own], axis=-1) for name, own in share.items()}
    return Found(objectives, share, np.ones((2, 2)), tops)


ORDER = {
    OURS: 0.9,
    MO: 0.65,
    RANDOM: 0.6,
    ALONE: 0.5,
    COLD: 0.5,
    FRESH[OURS]: 0.9,
    FRESH[MO]: 0.5,
    MIXED_UP: 0.5,
}
NOT_HERE = ("tagalog", "competition", "f4-protein", "f9-index")


def on_tables(found: dict[str, Found], family: str = "nmt_bench") -> dict:
    """Verdicts, but for what cannot be run."""
    tables = {name: dataclasses.replace(TABLE, name=name, family=family) for name in found}
    rows = verdicts(of_tables.rows(found, found, found, tables))
    if dissimilar.DISSIMILAR in found:
        rows |= verdicts(dissimilar.rows(*[found[dissimilar.DISSIMILAR]] * 2, tables))
    assert {rows.pop(key) for key in NOT_HERE if rows[key] is NOT_RUN} == {NOT_RUN}
    return rows


def test_tables_hold_and_break():
    good = on_tables({"a": found_on(ORDER)})
    assert set(good.values()) == {AGREES}, good
    worse = {name: 1 - share for name, share in ORDER.items()} | {ALONE: 0.9, RANDOM: 0.3}
    bad = on_tables({"a": found_on(worse, eta=0.2, late=0.0)})
    assert (bad.pop("distinct"), bad.pop("warm-start")) == (AGREES, EQUAL)
    late = found_on(ORDER)
    share = dict(late.share) | {COLD: late.share[COLD] + 0.4}
    assert on_tables({"a": dataclasses.replace(late, share=share)})["warm-start"] is DIFFERS
    assert set(bad.values()) == {DIFFERS}, bad


def test_runs_that_repeat_themselves():
    """Catches entries that are counted once for each evaluation."""
    own = found_on(ORDER)
    again = {name: np.repeat(runs[:, :50], 2, axis=1) for name, runs in own.objectives.items()}
    assert on_tables({"a": dataclasses.replace(own, objectives=again)})["distinct"] is DIFFERS


def test_the_tables_that_are_exceptions(monkeypatch):
    """There ours is not to be the best; catches a row that wants it."""
    name = of_tables.EXCEPTION
    found = on_tables({name: found_on(ORDER)}, "hpolib")
    assert f"f4-best-{name}" not in found
    assert found["f4-protein"] is AGREES
    assert on_tables({name: found_on(ORDER | {OURS: 0.6, MO: 0.9})}, "hpolib")["f4-protein"] is DIFFERS
    monkeypatch.setattr(dissimilar, "_bpe_symbols", lambda table: float(table.name == dissimilar.DISSIMILAR))
    monkeypatch.setattr(dissimilar, "_overlap", lambda *pair: 0.1)
    both = {dissimilar.DISSIMILAR: found_on(ORDER | {MO: 0.95}), "a": found_on(ORDER)}
    found = on_tables(both)
    assert (found["f8-bleu"], found["f9-bpe"]) == (AGREES, AGREES)
    assert found["f5-struggles"] is AGREES
    monkeypatch.setattr(dissimilar, "_bpe_symbols", lambda table: float(table.name != dissimilar.DISSIMILAR))
    found = on_tables(both | {dissimilar.DISSIMILAR: found_on(ORDER)})
    assert (found["f8-bleu"], found["f9-bpe"]) == (DIFFERS, DIFFERS)
    assert found["f5-struggles"] is DIFFERS


def test_parkinsons_with_an_eta_of_its_own():
    """There 1.5 is to be another curve; catches a row that wants all alike."""
    name = of_tables.OTHER
    alike_all = found_on(ORDER)
    assert on_tables({name: alike_all}, "hpolib")[f"f10-{name}"] is DIFFERS
    share = dict(alike_all.share) | {"eta/1.5": alike_all.share["eta/1.5"] - 0.2}
    other = dataclasses.replace(alike_all, share=share)
    assert on_tables({name: other}, "hpolib")[f"f10-{name}"] is AGREES


def test_without_tables_rows_say_so():
    assert set(verdicts(of_tables.rows({}, {}, {}, {})).values()) == {NOT_RUN}


def units(**changes) -> dict:
    rng = np.random.default_rng(0)
    s = rng.uniform(size=50)
    found = {
        "theory/sets": {"similarity": s, "overlap": s, "trivial": s},
        "theory/onsets": {f"{c}/{m}": np.where(np.arange(40) < 29, 1.0, 0.5)
                          for c in ("below", "floor", "ceil") for m in (1, 2)},
        "theory/convergence": {"share": np.array([[0.9, 1.0], [0.8, 1.0]]), "budgets": np.array([100, 5000])},
        "theory/equations": {"score": s, "improvement": s**3, "weight": np.array([0.5, 0.9999]),
                             "variance": np.array([2.0, 1.445])},
        "theory/similar": {"0.0001": np.array([0.5, 0.334]), "0.1": np.array([0.5, 0.33])},
    }  # fmt: skip
    return found | changes


def test_times_hold_and_break():
    def found(few: float, many: float) -> dict:
        units = ({name: np.full(5, x) for name in ("seconds", "text", "few")} for x in (few, many))
        return verdicts(times.rows(*units))

    assert set(found(1e-5, 2e-4).values()) == {AGREES}
    assert set(found(1e-2, 2.0).values()) == {DIFFERS}


def test_theory_holds_and_breaks():
    good = verdicts(theory.rows(units()))
    assert good.pop("eq-13-definite") is DIFFERS  # whatever the units say
    assert set(good.values()) == {AGREES}
    s = np.random.default_rng(0).uniform(size=50)
    late = {
        f"{c}/{m}": np.where(np.arange(40) < 20, 1.0, 0.5) for c in ("below", "floor", "ceil") for m in (1, 2)
    }
    bad = units(**{
        "theory/sets": {"similarity": s, "overlap": s + 0.1, "trivial": s - 0.1},
        "theory/onsets": late,
        "theory/equations": {"score": s, "improvement": -s, "weight": np.array([0.5, 0.9]),
                             "variance": np.array([2.0, 2.0])},
        "theory/similar": {"0.0001": np.array([0.334, 0.5]), "0.1": np.array([0.5, 0.68])},
        "theory/convergence": {"share": np.array([[0.9, 0.5], [0.8, 0.5]]), "budgets": np.array([100, 5000])},
    })  # fmt: skip
    found = verdicts(theory.rows(bad))
    assert found.pop("eq-13") is AGREES
    assert set(found.values()) == {DIFFERS}
    gone = units()
    del gone["theory/convergence"]
    assert verdicts(theory.rows(gone))["theorem-1"] is NOT_RUN


def test_overlap_of_the_best(monkeypatch):
    """Of 40 entries the best two are compared, by fronts of both metrics."""
    along = np.stack([np.arange(40.0), np.arange(40.0)], axis=-1)[:, None]
    tables = {"a": along, "b": np.roll(along, 1, axis=0), "c": along[::-1]}
    monkeypatch.setattr(dissimilar, "problem", lambda name: SimpleNamespace(losses=tables[name]))
    assert dissimilar._overlap("a", "a") == 1
    assert dissimilar._overlap("a", "b") == pytest.approx(1 / 3)
    assert dissimilar._overlap("a", "c") == 0


ALGORITHMS = {
    "algorithms/kernel": {"ours": np.full((2, 3), 0.5), "loop": np.full((2, 3), 0.5)},
    "algorithms/steps": {
        "missing": np.zeros(200, int), "first": np.full(6, 33), "proposed": np.array([99, 101, 100, 100]),
        "random": np.arange(2000) < 100, "alone": np.ones((4, 2)), "single": np.ones((9, 2), bool),
        "monotone": np.ones((9, 2)),
    },
}  # fmt: skip


def test_algorithms_hold_and_break():
    assert set(verdicts(algorithms.rows(ALGORITHMS)).values()) == {AGREES}
    bad = {
        "algorithms/kernel": {"ours": np.full((2, 3), 0.5), "loop": np.full((2, 3), 0.51)},
        "algorithms/steps": {
            "missing": np.arange(200) == 3, "first": np.full(6, 33),
            "proposed": np.array([40, 160, 100, 100]),
            "random": np.arange(2000) < 200, "alone": np.array([[1.0, 1.1]]),
            "single": np.array([[True, False]]), "monotone": np.array([[1.0, 1.1]]),
        },
    }  # fmt: skip
    assert set(verdicts(algorithms.rows(bad)).values()) == {DIFFERS}
    uneven = ALGORITHMS["algorithms/steps"] | {"first": np.array([100, 20, 20, 20, 20, 20])}
    found = verdicts(algorithms.rows(ALGORITHMS | {"algorithms/steps": uneven}))
    assert found["algorithm-2-start"] is DIFFERS


def cases_of(*, hold: bool) -> dict:
    rng = np.random.default_rng(0)
    spread, sign = 0.01 * rng.normal(size=(30, 1)), 1 if hold else -1
    high, low = (0.6, 0.1) if hold else (0.1, 0.6)
    return {
        "cases/guided": {
            "greedy": np.full(64, 0.0 if hold else 1.0), "prior": np.ones(64),
            "epsilon": np.full(64, 0.5 if hold else 0.0),
        },
        "cases/dimensions": {
            **{f"every/{dim}": own + spread[:, 0] for dim, own in ((2, high), (4, 0.3), (10, low))},
            **{f"reduced/{dim}": high + spread[:, 0] for dim in (2, 4, 10)},
            **{
                f"overlap/{c}/{dim}": 0.3 - sign * 0.01 * dim + 0.01 * spread[:, 0]
                for c in (1, 2)
                for dim in (4, 10)
            },
        },
        "cases/cubes": {dim: np.full(9, 0.99 if hold else 0.7) for dim in "23"},
        "cases/decays": {
            name: spread + 0.5 + sign * place for name, place in (("1.5", 0.0), ("2.5", 0.1), ("5", 0.2))
        },
    }  # fmt: skip


def test_cases_hold_and_break():
    assert set(verdicts(cases.rows(cases_of(hold=True))).values()) == {AGREES}
    found = verdicts(cases.rows(cases_of(hold=False)))
    assert found.pop("case-1-epsilon") is DIFFERS
    assert set(found.values()) == {DIFFERS}


def test_weights_and_improvement_of_the_ensemble():
    """Catches a pair that is counted otherwise, a weight of another model, and a rectangle too many."""
    rng = np.random.default_rng(0)
    predicted, observed = np.stack([rng.permutation(6) for _ in range(3)]), rng.permutation(6)
    draws = rng.integers(6, size=(8, 6))
    found = ensembles.ranking_losses(predicted, observed, draws)
    for model in range(3):
        for k, draw in enumerate(draws):
            wrong = sum((predicted[model, i] < predicted[model, j]) != (observed[i] < observed[j])
                        for i in draw for j in draw)  # fmt: skip
            assert found[model, k] == wrong
    losses = np.array([[1.0, 0.0, 5.0, 2.0], [2.0, 2.0, 5.0, 3.0], [1.0, 3.0, 5.0, 1.0]])
    np.testing.assert_allclose(ensembles.task_weights(losses, 0.0, rng), [0, 0, 1])
    kept = SimpleNamespace(random=lambda n: np.full(n, -1.0))
    weights = ensembles.task_weights(losses, 1.0, kept)
    np.testing.assert_allclose(weights, [(1 / 2 + 1 + 1 / 3) / 4, 1 / 12, (1 / 2 + 1 / 3 + 1) / 4])
    # Of 15 pairs the sources misrank 0, 1 and 2: distances 0, 2/3 and 4/3 with the bandwidth 0.1.
    predicted = np.array([[0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5], [1, 0, 3, 2, 4, 5], [5, 4, 3, 2, 1, 0]])
    weights, squared = ensembles.tst_r(predicted, np.arange(6), 0.5, rng)
    np.testing.assert_allclose(weights, np.array([9, 5, 0, 9]) / 23)
    np.testing.assert_array_equal(squared, [0, 0, 0, 1])
    y, mean, spread = rng.normal(size=(7, 2)), rng.normal(size=(3, 2)), rng.uniform(0.3, 1, (3, 2))
    edges = [np.union1d(np.linspace(1.1 * own.min(), 6, 2000), own) for own in y.T]
    u, v = ((edge[1:] + edge[:-1]) / 2 for edge in edges)
    free = ~np.any((u[:, None, None] <= y[:, 0]) & (v[None, :, None] <= y[:, 1]), axis=-1)
    for i, found in enumerate(ensembles.improvement(mean, spread, y)):
        above = [
            scipy.stats.norm.sf(at, mean[i, j], spread[i, j]) * np.diff(edges[j])
            for j, at in enumerate((u, v))
        ]
        np.testing.assert_allclose(found, above[0] @ free @ above[1], rtol=1e-4)
    of_one = ensembles.improvement(mean[:, :1], spread[:, :1], y[:, :1])
    for found, (at, _), (width, _) in zip(of_one, mean, spread, strict=True):
        area = scipy.integrate.quad(scipy.stats.norm(at, width).sf, y[:, 0].max(), np.inf)[0]
        np.testing.assert_allclose(found, area, rtol=1e-6)


@pytest.mark.slow
def test_the_joint_score_is_a_loop_s(monkeypatch):
    monkeypatch.setattr(further, "N_LOGS", 4)
    found = further.joint_scores()
    assert found["gap"].shape == (1,)
    assert found["gap"].max() < 1e-12


def test_the_ensembles_hold_and_break(monkeypatch):
    """Catches a ratio the wrong way round, and rows that are judged where nothing ran."""
    assert set(verdicts(ensembles.rows({})).values()) == {NOT_RUN}
    every = [Table("a.npz", name, family, 4, ("x",), (), ordinal=True) for name, family in
             (("a", ensembles.NMT), ("b", ensembles.HPOLIB))]  # fmt: skip
    monkeypatch.setattr(ensembles, "targets", lambda quick: [(target, []) for target in every])
    monkeypatch.setattr(ensembles, "measured", lambda table, arrays: Found({}, arrays, np.zeros((1, 2)), {}))
    rng = np.random.default_rng(0)

    def found(theirs: float, ours: float) -> dict:
        gaps = dict.fromkeys(ensembles.METHODS, theirs) | {OURS: ours, FRESH[OURS]: ours, ALONE: 0.5}
        runs = {name: 1 - own * (1 + 0.01 * rng.uniform(size=(20, 100))) for name, own in gaps.items()}
        arrays = {
            f"ensembles/{acquisition}/{table}": runs for acquisition in ("EHVI", "ParEGO") for table in "ab"
        }
        return verdicts(ensembles.rows(arrays | {"beside/a": {}, "fresh/a": {}, "beside/b": {}}))

    assert set(found(theirs=0.5, ours=0.3).values()) == {AGREES}
    assert set(found(theirs=0.2, ours=0.3).values()) == {DIFFERS}


@pytest.mark.parametrize(
    ("ours", "printed", "same"),
    [
        (["relu", "tanh"], ["ReLU", "tanh"], True),
        ([1000.0, 2000.0], ["1", "2"], True),
        ([0.0003, 0.0006], ["3", "6"], True),
        ([0.0, 0.3, 0.6], ["0.0", "0.3", "0.6"], True),
        ([1.0, 2.0], ["1", "3"], False),
        ([1.0, 2.0], ["1", "2", "3"], False),
        (["relu", "tanh"], ["relu", "sigmoid"], False),
    ],
)
def test_printed_spaces(ours, printed, same):
    assert spaces.same_values(ours, printed) is same
