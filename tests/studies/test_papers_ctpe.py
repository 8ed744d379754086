"""Rows of c-TPE: statements that hold on runs made to order, and can each break."""

import dataclasses
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest
import scipy.stats
from benchmarks.settings import adjusted
from benchmarks.studies.papers import hypermapper_runs, power
from benchmarks.studies.papers.c_tpe import (
    algorithms,
    authors,
    counts,
    feasible,
    first_feasible,
    fixed_rules,
    levels,
    nei,
    settings,
    shares,
    theory,
    toy,
    trajectories,
    unconstrained,
    vanished,
)
from benchmarks.studies.papers.c_tpe.printed import Count
from benchmarks.studies.papers.c_tpe.results import Results
from benchmarks.studies.papers.c_tpe.settings import Setting
from benchmarks.studies.papers.rows import Verdict
from benchmarks.studies.papers.tables import Table

import parzax as px

AGREES, EQUAL, DIFFERS, APART, NOT_RUN = Verdict
N_SEEDS, N = 20, 200
TABLES = ("a", "b", "c", "d", "e")
PRINTED = {
    (q, b): Count(27, 0, 0) if q < 0.9 else Count(14, 11, 2)
    for q in settings.PRINTED_QUANTILES
    for b in settings.BUDGETS
}


def made(
    speed: dict[str, float], *, feasible: dict[str, float] | None = None, tables: tuple[str, ...] = TABLES
) -> Results:
    """Runs whose loss falls to 1 at a speed by method; the share that is feasible, too."""
    rng, share = np.random.default_rng(0), feasible or {}
    losses, fits, oracle = {}, {}, {}
    for method, own in speed.items():
        for table in tables:
            for kind in settings.CONSTRAINTS:
                for quantile in settings.PRINTED_QUANTILES:
                    at = Setting(table, kind, quantile)
                    fall = 2 * np.exp(-own * np.arange(N) / N)
                    noise = 1 + 0.02 * rng.uniform(size=(N_SEEDS, N))
                    losses.setdefault(method, {})[at] = (1 + fall) * noise
                    drawn = rng.uniform(size=(N_SEEDS, N)) < share.get(method, 0.8) * (1.4 - quantile)
                    fits.setdefault(method, {})[at] = drawn
                    oracle[at] = (1.0, 4.0)
    return Results(losses, fits, oracle)


GOOD = {
    settings.OURS: 9.0,
    settings.AUGMENTED: 10.0,
    settings.NAIVE: 2.0,
    settings.VANILLA: 1.5,
    settings.RANDOM: 1.0,
    settings.CNSGA: 2.5,
}
REVERSED = {name: 10 - speed for name, speed in GOOD.items()}


@pytest.fixture
def printed(monkeypatch):
    for module in (counts, nei):
        monkeypatch.setattr(module, "table_1", lambda: dict.fromkeys((*counts.METHODS, "NEI"), PRINTED))
    monkeypatch.setattr(counts, "table_2", lambda: {cell: Count(9, 5, 4) for cell in PRINTED})


def by_key(rows) -> dict:
    found = [*rows]
    assert len({row.key for row in found}) == len(found)
    return {row.key: row for row in found}


@pytest.mark.slow
def test_table_1_holds_and_breaks(printed):
    """Catches a comparison the wrong way round, and a method that was not run and agrees."""
    good, bad = made(GOOD, feasible={settings.AUGMENTED: 0.9}), made(REVERSED)
    found = by_key(counts.rows(good, good))
    others = [row for key, row in found.items() if key.startswith("t1")]
    assert len(others) == 12  # `nei` has those of NEI
    assert {row.verdict for row in others} == {AGREES}, [row for row in others if row.verdict is not AGREES]
    broken = by_key(counts.rows(bad, bad))
    for key, row in broken.items():
        if key.startswith("t1"):
            assert row.verdict is DIFFERS, row


def only(speed: dict[str, float], *methods: str) -> dict[str, float]:
    """Of these methods alone: what compares with others is not run."""
    return {method: speed[method] for method in methods}


def test_table_2_holds_and_breaks(printed):
    both = settings.OURS, settings.AUGMENTED
    runs = made(only(GOOD, *both), feasible={settings.AUGMENTED: 0.9})
    good = by_key(counts.rows(runs, runs))
    assert [good[f"t2-{q:g}"].verdict for q in settings.PRINTED_QUANTILES] == [AGREES] * 3
    runs = made(only(REVERSED, *both))
    bad = by_key(counts.rows(runs, runs))
    assert [bad[f"t2-{q:g}"].verdict for q in settings.PRINTED_QUANTILES] == [DIFFERS] * 3


def test_few_settings_agree_with_nothing(printed):
    """Catches an agreement by a test that could not have seen anything."""
    few = made(only(GOOD, settings.OURS, settings.NAIVE))
    one = {
        name: {at: x for at, x in own.items() if at.table == "a" and at.constraints == "size"}
        for name, own in few.losses.items()
    }
    few = dataclasses.replace(few, losses=one)
    row = by_key(counts.rows(few, few))["t1-Naïve c-TPE-0.1"]
    assert row.verdict is APART


@pytest.mark.slow
def test_the_figures_hold_and_break(monkeypatch):
    families = {name: "hpolib" if name < "c" else "nasbench201" for name in TABLES}
    for module in (trajectories, feasible):
        monkeypatch.setattr(
            module, "tables",
            lambda: [Table(f"{name}.npz", name, own, 4, ("x",), (), False) for name, own in families.items()],
        )  # fmt: skip
    monkeypatch.setattr(feasible, "trainings", lambda *_: (np.linspace(0, 1e3, 100), None))
    share = {settings.AUGMENTED: 0.9, settings.OURS: 0.6, settings.VANILLA: 0.1}
    good = made(GOOD, feasible=share)
    for at in good.losses[settings.VANILLA]:  # Figure 5: what TPE finds is good, and infeasible
        good.losses[settings.VANILLA][at][:, N // 2 :][~good.feasible[settings.VANILLA][at][:, N // 2 :]] = (
            0.5
        )
        if at.quantile == 0.9 and families[at.table] == "hpolib":
            for kept in (good.losses, good.feasible):
                alike = np.tile(kept[settings.OURS][at], (5, 1))
                kept[settings.VANILLA][at] = kept[settings.OURS][at] = alike
    found = figure_rows(good)
    assert found.pop("f10-12").verdict is NOT_RUN
    for key in ELSEWHERE:
        del found[key]
    assert {row.verdict for row in found.values()} == {AGREES}, found
    bad = made(REVERSED, feasible={settings.AUGMENTED: 0.2})
    for at in bad.losses[settings.OURS]:
        bad.losses[settings.OURS][at][:, N // 2 :] = 0.5
        bad.feasible[settings.OURS][at][:, N // 2 :] = False
    broken = figure_rows(bad)
    assert {row.verdict for key, row in broken.items() if key not in ("f10-12", *ELSEWHERE)} == {DIFFERS}, (
        broken
    )


def figure_rows(own: Results) -> dict:
    """Of all figures of runs."""
    n = len(settings.PRINTED_QUANTILES)
    return by_key([*trajectories.rows(own, own, n), *feasible.rows(own, own)])


# Rows that `made` says nothing of; the test below does.
ELSEWHERE = (
    *(f"{row}-{q:g}" for row in ("f1-naive", "discrepancy") for q in settings.PRINTED_QUANTILES),
    "levels", "levels-naive", "learnt-share", "f6-decays",
)  # fmt: skip


@pytest.mark.slow
def test_levels_gaps_and_shares(monkeypatch):
    """Catches a spread of the wrong method, a gap of the wrong benchmark, a share of the wrong runs."""
    families = {name: "hpolib" if name < "c" else "nasbench201" for name in TABLES}

    def tables() -> list[Table]:
        return [Table(f"{name}.npz", name, own, 4, ("x",), (), False) for name, own in families.items()]

    for module in (trajectories, feasible):
        monkeypatch.setattr(module, "tables", tables)
    monkeypatch.setattr(feasible, "trainings", lambda *_: (np.linspace(0, 1e3, 100), None))
    monkeypatch.setattr(trajectories, "NAS", "e")
    speeds = GOOD | {settings.NAIVE: 0.5}
    found = made(speeds, feasible={settings.OURS: 0.4, settings.AUGMENTED: 0.5, settings.VANILLA: 0.4})
    for own in found.losses[settings.NAIVE].values():
        own *= 1.2
    for at, own in found.losses[settings.VANILLA].items():
        own *= 1.5 if families[at.table] == "nasbench201" else 1
    for own in found.feasible[settings.AUGMENTED].values():
        own[:, 60:] = False

    def verdicts() -> dict:
        rows = figure_rows(found)
        return {key: rows[key].verdict for key in ELSEWHERE}

    assert set(verdicts().values()) == {AGREES}, verdicts()
    families.update({name: "nasbench201" if own == "hpolib" else "hpolib" for name, own in families.items()})
    monkeypatch.setattr(trajectories, "NAS", "a")
    found.losses[settings.NAIVE], found.losses[settings.OURS] = (
        found.losses[settings.OURS], found.losses[settings.NAIVE],
    )  # fmt: skip
    for kept in found.feasible.values():
        for own in kept.values():
            own[:] = True
    for own in found.feasible[settings.OURS].values():
        own[:, 150:] = False
    broken = verdicts()
    assert set(broken.values()) == {DIFFERS}, broken


def test_without_tables_rows_say_so(monkeypatch):
    monkeypatch.setattr(counts, "table_1", dict)
    monkeypatch.setattr(counts, "table_2", dict)
    empty = Results({}, {}, {})
    rows = [
        *counts.rows(empty, empty),
        *nei.rows(empty),
        *trajectories.rows(empty, empty, 1),
        *feasible.rows(empty, empty),
        *shares.rows({}, []),
        *first_feasible.rows({}, empty),
        *levels.rows(empty),
        *fixed_rules.rows(empty, {}),
        *unconstrained.rows({}),
    ]
    assert {row.verdict for row in rows} == {NOT_RUN}


def test_levels_of_peers_hold_and_break(monkeypatch):
    """Catches a ratio the wrong way round, another level or benchmark, and the rank of another method."""
    families = {nei.HPOLIB: "hpolib", nei.CATEGORIES: "nasbench201"}
    every = [Table(f"{name}.npz", name, own, 4, ("x",), (), False) for name, own in families.items()]
    monkeypatch.setattr(levels, "tables", lambda: every)
    methods = *levels.RANKED, settings.CNSGA, levels.HM2

    def verdicts(two: float, *losses_of: tuple[float, float, float]) -> dict:
        """Losses of each method by quantile; with two constraints the peers are ``two`` times as far away."""
        results = made(dict.fromkeys(methods, 1.0), tables=tuple(families))
        for method, own in zip(methods, losses_of, strict=True):
            for at, losses in results.losses[method].items():
                noise = np.random.default_rng(0).uniform(0, 0.001, losses.shape)
                gap = own[settings.PRINTED_QUANTILES.index(at.quantile)] - 1
                farther = at.constraints == "both" and method in methods[-2:]
                losses[:] = 1 + gap * (two if farther else 1) + noise
                results.feasible[method][at][:] = True
        return {key: row.verdict for key, row in by_key(levels.rows(results)).items()}

    naive, random = (1.95, 1.95, 1.95), (1.9, 1.9, 1.9)
    good = verdicts(1.3, (1.1, 1.05, 1.02), naive, (1.8, 1.3, 1.2), random, (1.94, 1.5, 1.3), (1.3, 1.3, 1.3))
    assert set(good.values()) == {AGREES}, good
    naive = (1.2, 1.2, 1.2)
    bad = verdicts(
        0.5, (1.15, 1.8, 1.95), naive, (1.05, 1.5, 1.9), random, (1.25, 1.25, 1.35), (1.1, 1.1, 1.15)
    )
    assert set(bad.values()) == {DIFFERS}, bad


# Of `fixed_rules`: factors of losses, and the verdict of each.
BY_LEVEL = {
    AGREES: ((1.0, 2.0, 4.0), (1.0, 1.1, 1.2)),
    DIFFERS: ((1.0, 1.6, 1.6), (1.0, 4.0, 4.0)),
    APART: ((1.0, 2.0, 4.0), (4.0, 1.0, 2.0)),
}
OF_TWO = {AGREES: (1.3, 1.3, 1.3), DIFFERS: (1.0, 1.0, 1.0), APART: (1.3, 0.999, 0.999)}  # by table
OF_HM2 = {AGREES: (1.5, 1.5, 1.5), DIFFERS: (1.5, 1.5, 0.5), APART: (0.5, 1.5, 1.5)}  # by quantile
OF_RELEASED = {AGREES: 1.0, DIFFERS: 0.0, APART: 0.08}


@pytest.mark.parametrize("wanted", [AGREES, DIFFERS, APART])
def test_the_fixed_rules_hold_and_break(monkeypatch, wanted):
    """Catches a rule the wrong way round, and another level, table, constraint or budget."""
    families = dict(zip(TABLES, ["hpolib"] * 3 + ["nasbench201"] * 2, strict=True))
    every = [Table(f"{name}.npz", name, own, 4, ("x",), (), False) for name, own in families.items()]
    monkeypatch.setattr(levels, "tables", lambda: every)
    monkeypatch.setattr(fixed_rules, "table_1", lambda: {levels.HM2: PRINTED})
    rng = np.random.default_rng(3)
    methods = settings.CNSGA, settings.OURS, settings.RANDOM, settings.NAIVE, settings.VANILLA, levels.HM2
    results = made(dict.fromkeys(methods, 1.0))
    results.losses[levels.HM2] = {
        at: losses
        for at, losses in results.losses[levels.HM2].items()
        if (at.table, at.constraints) in (("a", "size"), ("a", "both"), ("d", "size"))
    }
    two, of_hm2, (cnsga, ours) = (own[wanted] for own in (OF_TWO, OF_HM2, BY_LEVEL))
    for method, own in results.losses.items():
        for at, losses in own.items():
            q, both = settings.PRINTED_QUANTILES.index(at.quantile), at.constraints == "both"
            by_level = {settings.CNSGA: cnsga, settings.OURS: ours, levels.HM2: ours}.get(method)
            gap = by_level[q] if by_level else 1.0
            gap *= of_hm2[q] if method == levels.HM2 else 1
            gap *= two[TABLES.index(at.table)] if method == settings.CNSGA and both and at.table < "d" else 1
            losses[:] = 1 + gap * (1 + 0.01 * rng.uniform(size=(len(losses), 1)))
            results.feasible[method][at][:] = True
    even = {n: (np.arange(n) + 0.5)[:, None] / n * np.ones(N) for n in (15, 50)}
    released = {
        name: dict.fromkeys(TABLES, even[15] + OF_RELEASED[wanted]) for name in unconstrained.RELEASED
    }
    runs = {unconstrained.PRESET: dict.fromkeys(TABLES, even[50])} | released
    found = by_key(fixed_rules.rows(results, runs))
    assert {row.verdict for row in found.values()} == {wanted}, found
    # A run without a feasible row is the worst.
    for at in results.feasible[settings.OURS]:
        results.feasible[settings.OURS][at][:, : levels.FEW] = False
    assert fixed_rules.hypermapper(results).verdict is DIFFERS


def test_entries_of_table_3_are_by_the_rank_sum_test():
    """Catches a variance without ties, the other side, and a single table that decides."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 50).astype(float), rng.integers(1, 11, 15).astype(float)
    p = scipy.stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic", alternative="less").pvalue
    assert scipy.stats.norm.sf(fixed_rules.standard_score([(a, b)])) == pytest.approx(p, rel=1e-12)
    far = np.zeros(50), np.ones(15)
    assert fixed_rules.entry([far] * 4 + [far[::-1]]) == "B"
    assert fixed_rules.entry([far[::-1]] * 4 + [far]) == "W"
    assert fixed_rules.entry([far] * 3 + [far[::-1]] * 2) == "N"
    np.testing.assert_allclose(fixed_rules.holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])


def test_hypermapper_sees_the_table(tmp_path, monkeypatch):
    """Catches a row or training that is another, a threshold for another, and losses in another order."""
    asked = np.random.default_rng(1).integers(0, [2, 3], (4, 2))

    def optimize(path: str, evaluate) -> None:
        told = json.loads(Path(path).read_text())
        assert told["optimization_iterations"] == 4 - hypermapper_runs.N_RANDOM
        kinds = {
            name: (own["parameter_type"], len(own["values"]))
            for name, own in told["input_parameters"].items()
        }
        assert kinds == {"x0": ("categorical", 2), "x1": ("ordinal", 3)}
        for values in asked.tolist():
            answer = evaluate({f"x{i}": choice for i, choice in enumerate(values)})
            print(answer)  # hidden

    fake = SimpleNamespace(optimizer=SimpleNamespace(optimize=optimize))
    monkeypatch.setitem(sys.modules, "hypermapper", fake)
    monkeypatch.chdir(tmp_path)
    losses = np.arange(6.0)[:, None] * [1, 1, 100]
    excess = np.stack([losses - 2, losses - 4])[..., None]
    n_trainings = np.full(6, 2)  # the third is no training
    problem = {"sizes": [2, 3], "ordered": [False, True], "losses": losses, "excess": excess}
    np.savez(tmp_path / "in.npz", **problem, n_trainings=n_trainings, n_seeds=2, n_evaluations=4)
    hypermapper_runs.main("in.npz", "out.npz")
    wanted = asked @ [3, 1]
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_array_equal(found["losses"], np.tile(wanted, (2, 2, 1)))
        np.testing.assert_array_equal(found["feasible"][:, 0], [wanted <= 2, wanted <= 4])


# --- noisy expected improvement ---------------------------------------------------------------


def with_levels(ours: tuple[float, ...], theirs: tuple[float, ...]) -> Results:
    """Runs of c-TPE, NEI and random search that stay at a loss by quantile; vanilla TPE ends at 1.45."""
    methods = settings.OURS, settings.NEI, settings.RANDOM, settings.VANILLA
    found = made(dict.fromkeys(methods, 1.5), tables=nei.TABLES)
    for method, by_quantile in zip(methods, (ours, theirs, theirs), strict=False):
        for at, losses in found.losses[method].items():
            noise = np.random.default_rng(0).uniform(0, 0.001, losses.shape)
            losses[:] = by_quantile[settings.PRINTED_QUANTILES.index(at.quantile)] + noise
            found.feasible[method][at][:] = True
    return found


def test_the_statements_on_nei_hold_and_break(printed):
    """Catches a ratio the wrong way round, and a statement of the wrong quantile or table."""
    good = by_key(nei.rows(with_levels((1.1, 1.1, 1.1), (1.2, 1.5, 1.9))))
    assert {row.verdict for row in good.values()} == {AGREES}, good
    assert "27/0/0" in good["t1-NEI"].printed
    bad = by_key(nei.rows(with_levels((2.5, 1.5, 1.5), (2.2, 1.1, 1.1))))
    assert {row.verdict for row in bad.values()} == {DIFFERS}, bad
    one = with_levels((1.1, 1.1, 1.1), (1.2, 1.5, 1.9))
    for at in [at for at in one.losses[settings.NEI] if at.table == nei.CATEGORIES]:
        del one.losses[settings.NEI][at]
    found = by_key(nei.rows(one))
    assert {key for key, row in found.items() if row.verdict is not NOT_RUN} == {
        "nei-looser-hpolib",
        "nei-random",
    }


class Bowl:
    """A table of 48 rows: two parameters in order and a category, whose last option is best."""

    names, sizes, categories = ("x", "y", "z"), [4, 4, 3], [False, False, True]

    def __call__(self, draw: np.random.Generator, choices) -> tuple[float, np.ndarray]:
        x, y, z = (int(choice) for choice in choices)
        return (x - 2) ** 2 + (y - 1) ** 2 + 2.0 * (2 - z) + 0.01 * draw.normal(), np.array([x + y - 3.5])


def test_features_and_neighbours():
    """Catches a category with an order, and neighbours that differ in two parameters or in none."""
    table, rows = Bowl(), np.arange(48)
    features, choices = nei.encoded(table, rows), np.stack(np.unravel_index(rows, table.sizes), axis=1)
    np.testing.assert_allclose(features[:, :2], choices[:, :2] / 3)
    np.testing.assert_array_equal(features[:, 2:], np.eye(3)[choices[:, 2]])
    for row in rows:
        expected = np.flatnonzero((choices != choices[row]).sum(axis=1) == 1)
        np.testing.assert_array_equal(np.sort(nei.neighbours(table, int(row))), expected)


# CI does not install BoTorch, which is large.
if find_spec("botorch") is not None:

    def test_a_run_of_nei(monkeypatch):
        """Catches an acquisition of the wrong sign; 30 random rows of 48 have the best one in 63 %."""
        monkeypatch.setattr(nei, "N_CANDIDATES", 20)
        runs = [nei.run(Bowl(), seed, 30) for seed in range(3)]
        for losses, feasible in runs:
            assert min(loss for loss, fits in zip(losses, feasible, strict=True) if fits) < 0.5
            assert np.mean(feasible[nei.N_STARTUP :]) > 0.5
            assert np.mean(losses[nei.N_STARTUP : 20]) < np.mean(losses[: nei.N_STARTUP])
        assert nei.run(Bowl(), 0, 15)[0] == runs[0][0][:15]


# --- the toy and the theorems ---------------------------------------------------------------


def test_the_maps_hold_and_break():
    """Catches a peak that is looked up at another place than where the disc is."""
    grid, rng = toy.grid(), np.random.default_rng(0)
    inside, outside = (np.sum((grid - at) ** 2, axis=1).argmin() for at in ((0.0, 0.0), (-4.0, -4.0)))

    def maps(shares: dict, peak: dict, second: str) -> dict:
        found = {}
        for name in toy.MAPS:
            found[f"gamma/{name}"] = rng.normal(shares[name], 0.001, (toy.N_DRAWS, 2))
            for method in toy.METHODS:
                score = np.full((toy.N_DRAWS, len(grid)), -9.0)
                score[:, peak[method]] = 1
                if method == second:
                    score[:, len(grid) // 5] = 0.5
                found[f"score/{name}/{method}"] = score
        return found

    def overlaps(ours: float, naive: float) -> dict:
        found = {}
        for name, middle in toy.OVERLAPS.items():
            for method, share in (("c-TPE", ours), ("naive", naive)):
                hit = rng.uniform(size=(toy.N_RUNS, toy.N_EVALUATIONS)) < share
                found[f"x/{name}/{method}"] = np.where(hit[..., None], middle / 2, 5.0) * np.ones(2)
        return found

    shares = {name: own[1:] for name, own in toy.MAPS.items()}
    peak = {"c-TPE": inside, "naive": outside}
    good = by_key(toy.rows(maps(shares, peak, "naive"), overlaps(0.9, 0.2)))
    assert good.pop("f3-alike").verdict is DIFFERS
    assert {row.verdict for row in good.values()} == {AGREES}, good
    assert by_key(toy._overlap(overlaps(0.9, 0.9), "large"))["f3-alike"].verdict is AGREES
    wrong = dict.fromkeys(toy.MAPS, (0.8, 0.8))
    peak = {"c-TPE": outside, "naive": inside}
    bad = by_key(toy.rows(maps(wrong, peak, "c-TPE"), overlaps(0.2, 0.9)))
    assert {row.verdict for row in bad.values()} == {DIFFERS}, bad


def test_the_theorems_hold_and_break():
    rng = np.random.default_rng(0)
    ratio, gamma = np.exp(rng.normal(0, 2, (4000, 3))), rng.uniform(0.001, 1, (4000, 3))
    slope = (1 - gamma) / (1 - gamma + gamma * ratio) / ratio
    score = rng.normal(size=50)
    good = {"ratio": ratio, "gamma": gamma, "slope": slope, "slope/ones": np.zeros((4000, 3))}
    good |= {"c-TPE": score**3, "TPE": score}
    good |= {"proposition": np.full(9, 0.5), "corollary": np.full(9, -3.0)}
    keys = ("theorem-1", "theorem-1-one", "corollary-2", "proposition-1", "corollary-1")
    found = by_key(theory.rows(_units(good)))
    assert [found[key].verdict for key in keys] == [AGREES] * 5
    assert found["corollary-2-affine"].verdict is DIFFERS
    line = good | {"TPE": np.log(np.exp(score) + 0.5), "c-TPE": np.log(2 * np.exp(score) + 3)}
    assert by_key(theory.rows(_units(line)))["corollary-2-affine"].verdict is AGREES
    bad = good | {"slope": slope[:, ::-1], "slope/ones": slope, "c-TPE": -score}
    bad |= {"proposition": np.linspace(0, 1e-6, 9), "corollary": np.linspace(0, 1e-6, 9)}
    broken = by_key(theory.rows(_units(bad)))
    assert [broken[key].verdict for key in keys] == [DIFFERS] * 5


def test_lemmas():
    """A share of both above one of them; both feasible in part where each alone is as a whole."""

    def verdicts(rows: list) -> list[Verdict]:
        found = by_key(shares.rows({"theory/lemmas": {"a": np.array(rows)}}, []))
        return [found[key].verdict for key in ("lemma-1", "lemma-2")]

    assert verdicts([[0.5, 0.4, 0.2], [1.0, 1.0, 1.0], [0.3, 0.1, 0.0]]) == [AGREES, AGREES]
    assert verdicts([[0.5, 0.4, 0.45], [1.0, 1.0, 0.9]]) == [DIFFERS, DIFFERS]


def test_splits_break():
    """Catches logs of which the text says nothing and that count, and groups that are not looked at."""
    found = by_key(theory.rows(_units(_scores())))
    assert {found[f"algorithm-1-{key}"].verdict for key in ("objective", "constraint")} == {AGREES}
    assert found["algorithm-1-objective"].ours.startswith("0 of 1 ")
    wrong = {"same": np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])}
    found = by_key(theory.rows(_units(_scores(), **{"theory/splits": wrong})))
    assert {found[f"algorithm-1-{key}"].verdict for key in ("objective", "constraint")} == {DIFFERS}


def _units(scores: dict, **others: dict) -> dict:
    splits = {"same": np.array([[1.0, 1.0, 1.0], [np.nan, 1.0, 1.0]])}
    return {"theory/scores": scores, "theory/improvements": scores, "theory/splits": splits, **others}


def test_the_shares_of_the_tables():
    own = Table("hpolib/a.npz", "a", "hpolib", 10, ("loss",), ("size", "runtime"), True)

    def infeasible(whole: float, top: float) -> dict:
        return {"a": np.array([[whole, top]] * 3)}

    quantiles = np.array(settings.QUANTILES)[:, None, None] * np.ones((2, 2))

    def verdicts(top: float, off: float) -> list[Verdict]:
        units = {"theory/shares": infeasible(0.1, top), "theory/quantiles": {"a": off + quantiles}}
        found = by_key(shares.rows(units, [own]))
        return [found[key].verdict for key in ("top-tenth-hpolib", "quantile-values")]

    assert verdicts(0.16, 0.01) == [AGREES, AGREES]
    assert verdicts(0.4, 0.1) == [DIFFERS, DIFFERS]


def _scores() -> dict:
    ones = np.ones((60, 3))
    return {
        "ratio": ones,
        "gamma": ones / 2,
        "slope": ones,
        "slope/ones": ones,
        "c-TPE": ones,
        "TPE": ones[:, 0],
        "proposition": ones[:, 0],
        "corollary": ones[:, 0],
    }


def test_a_trajectory_holds_and_breaks():
    """Catches a method that is taken for the other, and evaluations that are far away at the end."""
    rng, middle, n = np.random.default_rng(0), toy.OVERLAPS["small"], toy.N_EVALUATIONS
    # Along the diagonal: the far side of the feasible disc, and where it meets the other disc.
    far, near = middle + 0.9 * toy.RADIUS / 2**0.5, middle - 0.98 * toy.RADIUS / 2**0.5

    def runs(last: float) -> np.ndarray:
        line = np.linspace(far, last, n)[:, None] * np.ones(2)
        return line + rng.normal(0, 0.01, (40, n, 2))

    def verdicts(ours: np.ndarray, naive: np.ndarray) -> list[Verdict]:
        found = by_key(toy.trajectory_rows({"x/small/c-TPE": ours, "x/small/naive": naive}))
        return [found[key].verdict for key in ("f3-boundary", "f3-trajectory", "f3-trajectory-naive")]

    ours = runs(near)
    ours[:, n // 2 :] = near + rng.normal(0, 0.01, (40, n // 2, 2))
    stays = runs(far) - 0.4
    assert verdicts(ours, stays) == [AGREES] * 3
    assert verdicts(stays, ours) == [DIFFERS] * 3


def test_vanished_constraints_hold_and_break():
    rng = np.random.default_rng(0)
    names = ("plain", "relative")

    def rows(constant: tuple, far: dict, modes: float, in_wide: float) -> dict:
        found = {f"constant/{name}": rng.normal(x, 0.01, 40) for name, x in zip(names, constant, strict=True)}
        for method, share in ({"vanilla": 0.1} | far).items():
            found[method] = np.where(np.arange(400) < 400 * share, 1.0, 0.01)
        modes = {"rastrigin/c-TPE": modes, "rastrigin/random": 0.8, "sphere/c-TPE": 0.1, "sphere/random": 1.0}
        modes = {name: loss * rng.uniform(0.9, 1.1, 400) for name, loss in modes.items()}
        for method, share in (("c-TPE", in_wide), ("random", 0.5)):
            modes[f"valleys/{method}"] = np.where(np.arange(400) < 400 * share, 1.0, -0.8)
        return {key: row.verdict for key, row in by_key(vanished.rows(found, modes)).items()}

    good = rows((0.3, 0.99), {"c-TPE": 0.05, "naive": 0.3}, 1.0, 0.8)
    assert set(good.values()) == {AGREES}
    broken = rows((0.9, 0.9), {"c-TPE": 0.3, "naive": 0.03}, 0.5, 0.2)
    assert set(broken.values()) == {DIFFERS}


# --- Algorithms 1 and 2 -----------------------------------------------------------------------


def test_candidates_of_an_ask():
    """Catches a position that gives another candidate, and candidates of another number."""
    space = px.Space({"x": px.Float(0, 1)})
    sampler = adjusted(px.papers.c_tpe, n_candidates=4)(space, n_constraints=1)
    x = np.linspace(0, 1, 12)[:, None]
    state = sampler.tell(sampler.init(16), x, x[:, 0], x[:, 0] - 0.5)
    (each,) = np.asarray(algorithms._asked(sampler, state, jax.random.split(jax.random.key(0), 1), 10))
    assert len(np.unique(each[:8])) == 8
    assert (each[8:] == each[0]).all()


def test_candidates_hold_and_break():
    """Candidates of one density alone, and of the marginals; too few of them."""
    masses = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.5, 0.0], [0.0, 0.5]], [[0.0, 0.0], [1.0, 0.0]]])
    rng = np.random.default_rng(0)

    def rows(joint: np.ndarray, alone: np.ndarray, count: int) -> list[Verdict]:
        found = {"masses": masses}
        for name, mass in (("px.papers.c_tpe", joint), ("px.c_tpe", alone)):
            quadrant = rng.choice(4, (400, 72), p=mass.ravel())
            found[name] = np.stack(np.divmod(quadrant, 2), axis=-1) * 0.8 + 0.1
            found[f"{name}/count"] = np.array(count)
        return [row.verdict for row in algorithms._candidates(found)]

    alone = np.array([[1.25, 0.25], [1.25, 0.25]]) / 3
    assert rows(masses.mean(axis=0), alone, 72) == [AGREES] * 2
    assert rows(masses[0], masses.mean(axis=0), 72) == [DIFFERS] * 2
    assert rows(masses.mean(axis=0), alone, 24) == [DIFFERS] * 2


def test_groups_of_algorithm_2():
    """Catches cheap rows in the objective's group or that of another constraint."""
    losses = np.array([3.0, 1.0, 2.0])
    excess = np.array([[-1.0, -1.0], [1.0, 2.0], [-1.0, 1.0], [-1.0, -9.0], [4.0, -9.0]])
    objective, cheap, other = algorithms.augmented_groups(losses, excess, {1})
    assert objective == ({0, 1, 2}, set())
    assert cheap == ({0, 2, 3}, {1, 4})
    assert other == ({0}, {1, 2})
    assert algorithms.augmented_groups(losses[1:], excess[1:3], set())[2] == ({1}, {0})


def test_augmentation_breaks():
    good = {
        "same": np.array([[1.0, 1, 1], [np.nan, 1, 1]]),
        "shares": np.zeros((2, 3)),
        "scores": np.zeros((1, 9)),
    }
    assert {row.verdict for row in algorithms._augmentation(good)} == {AGREES}
    bad = good | {"same": np.array([[1.0, 1, 1], [np.nan, 0, 1]]), "scores": np.full((1, 9), 1e-6)}
    assert {row.verdict for row in algorithms._augmentation(bad)} == {DIFFERS}
    shares = good | {"shares": np.full((2, 3), 0.01)}
    assert next(algorithms._augmentation(shares)).verdict is DIFFERS


def test_without_the_selection_no_row_is_below():
    """Catches a constraint that is satisfied by a row and loses it, and a share that stays."""
    space = px.Space({"x": px.Float(0, 1)})
    sampler = px.c_tpe(space, n_constraints=2)
    excess = np.array([[1.0, -1.0], [2.0, 1.0], [3.0, 1.0]])
    state = sampler.tell(sampler.init(4), np.array([[0.1], [0.5], [0.9]]), np.arange(3.0), excess)
    own, without = sampler.split(state), first_feasible.WithoutSelection(sampler.split)(state)
    assert np.asarray(own.below)[1:, :3].tolist() == [[True, False, False], [True, False, False]]
    assert np.asarray(without.below)[1:, :3].tolist() == [[False] * 3, [True, False, False]]
    assert np.asarray(without.above)[1:, :3].tolist() == [[True] * 3, [False, True, True]]
    assert np.asarray(without.gamma)[1:].tolist() == [0, pytest.approx(1 / 3)]
    assert (np.asarray(without.below)[0] == np.asarray(own.below)[0]).all()


def test_first_feasible_evaluations():
    """Catches runs with a feasible start that count, and rows the wrong way round."""
    feasible = np.zeros((4, 60), bool)
    feasible[0, 3] = feasible[1, 10] = feasible[2, 30] = True
    assert first_feasible.waits(feasible).tolist() == [1, 21, 51]
    rng = np.random.default_rng(0)

    def selection(ours: float, theirs: float) -> Verdict:
        each = {settings.OURS: ours, first_feasible.WITHOUT: theirs}
        found = {
            f"{m}/a/{k}": rng.random((99, 60)) < p for m, p in each.items() for k in settings.CONSTRAINTS
        }
        for own in found.values():
            own[:, : first_feasible.N_STARTUP] = False
        return first_feasible._selection(found).verdict

    assert selection(0.5, 0.1) is AGREES
    assert selection(0.1, 0.5) is DIFFERS
    assert first_feasible._selection({}).verdict is NOT_RUN

    def first(ours: float, theirs: float) -> Verdict:
        share = {settings.OURS: ours, settings.VANILLA: theirs, settings.RANDOM: theirs}
        own = made(dict.fromkeys(share, 1.0), feasible=share)
        for method in own.feasible.values():
            for runs in method.values():
                runs[:, : first_feasible.N_STARTUP] = False
        return first_feasible._first(own).verdict

    assert first(0.4, 0.1) is AGREES
    assert first(0.1, 0.4) is DIFFERS
    assert first_feasible._first(Results({}, {}, {})).verdict is NOT_RUN


# --- Table 3 and the tests -------------------------------------------------------------------


@pytest.mark.slow
def test_table_3_holds_and_breaks(monkeypatch):
    """Catches a letter of the wrong side, and an agreement of runs that differ."""
    monkeypatch.setattr(unconstrained, "table_3", lambda: {("our TPE", "Hyperopt"): ("N", "B", "B", "B")})
    rng = np.random.default_rng(0)

    def runs(loss: float, n: int) -> dict:
        return {t: np.minimum.accumulate(loss * (1 + 0.01 * rng.uniform(size=(n, N))), 1) for t in TABLES}

    def verdicts(tpe: float, hyperopt: float, ours: float) -> dict:
        theirs = {"our TPE": runs(tpe, 15), "Hyperopt": runs(hyperopt, 15)}
        start = runs(1.5, 15)
        for name in theirs:  # alike until 50
            theirs[name] = {
                t: np.concatenate([start[t][:, :50], x[:, 50:]], 1) for t, x in theirs[name].items()
            }
        monkeypatch.setattr(unconstrained, "released", lambda tables: theirs)
        own = {unconstrained.PRESET: runs(ours, 50), unconstrained.BY_N: runs(ours, 50)}
        own[unconstrained.HYPEROPT] = theirs["Hyperopt"]
        return {key: row.verdict for key, row in by_key(unconstrained.rows(own)).items()}

    assert set(verdicts(1.0, 1.2, 1.0).values()) == {AGREES}
    assert set(verdicts(1.2, 1.0, 1.5).values()) == {DIFFERS}
    # Where the released runs do not show what is printed, ours need not; what is worse still differs.
    alike = verdicts(1.0, 1.0, 1.0)
    assert {alike[f"t3-own-{name}"] for name in (unconstrained.PRESET, unconstrained.BY_N)} == {APART}
    assert verdicts(1.0, 1.0, 1.2)[f"t3-own-{unconstrained.PRESET}"] is DIFFERS


def test_average_ranks_hold_and_break(monkeypatch):
    """Catches a rank of the wrong end, and a stage that is not looked at."""
    rng, order = np.random.default_rng(0), ["our TPE", "TuRBO-1", "TuRBO-5", "Hyperopt", "CoCaBO"]

    def verdicts(early: list[str], late: list[str]) -> dict:
        runs = {}
        for name in unconstrained.RELEASED:
            levels = np.r_[np.full(60, 10.0 + early.index(name)), np.full(N - 60, float(late.index(name)))]
            runs[name] = {t: levels + 0.1 * rng.random((15, N)) for t in TABLES}
        monkeypatch.setattr(unconstrained, "released", lambda tables: runs)
        return {key: row.verdict for key, row in by_key(unconstrained.rank_rows(TABLES)).items()}

    assert set(verdicts(["TuRBO-1", "our TPE", *order[2:]], order).values()) == {AGREES}
    assert set(verdicts(order, order[::-1]).values()) == {DIFFERS}
    monkeypatch.setattr(unconstrained, "released", lambda tables: {})
    assert {row.verdict for row in unconstrained.rank_rows(())} == {NOT_RUN}


def test_the_stratified_test_is_the_rank_sum_test_of_one_table():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 20).astype(float), rng.integers(2, 11, 15).astype(float)
    _, p = scipy.stats.mannwhitneyu(a, b, use_continuity=False, method="asymptotic")
    assert power.two_sided(power.over_tables([a], [b])) == pytest.approx(p, rel=1e-12)
    assert power.over_tables([a, a], [b, b]) == pytest.approx(np.sqrt(2) * power.over_tables([a], [b]))
    assert power.over_tables([a], [b]) < 0


def test_the_smallest_effect_falls_with_more_settings():
    """Catches an effect that is that of no test: exact samples see any effect, few settings none."""
    rng = np.random.default_rng(0)
    first, second = rng.lognormal(0, 0.01, (2, 20, 200))
    assert power.of_settings(first, second, 0.01) <= 0.02
    assert power.of_settings(first[:4], second[:4], 0.01) == np.inf
    assert power.of_settings(np.ones((20, 200)), np.ones((20, 200)), 0.01) == power.EFFECTS[0]
    assert power.of_settings(np.full((20, 200), np.inf), second, 0.01) == np.inf


def test_more_seeds_count(printed):
    """Catches seeds of a second run that have no say: they contradict the first here."""
    first, again = (
        made({settings.OURS: own, settings.AUGMENTED: other}) for own, other in ((9.0, 1.0), (0.5, 20.0))
    )
    assert first.with_more(again).losses[settings.OURS][Setting("a", "both", 0.9)].shape == (2 * N_SEEDS, N)
    most = first.with_more(again)
    alone, both = by_key(counts.rows(first, first)), by_key(counts.rows(first, most))
    assert alone["t2-0.9"].verdict is DIFFERS
    assert both["t2-0.9"] == alone["t2-0.9"]
    assert alone["t2-ratio-0.9"].verdict is DIFFERS
    assert both["t2-ratio-0.9"].verdict is not DIFFERS
    assert f"{2 * N_SEEDS} seeds" in both["t2-ratio-0.9"].note
    assert both["t1-Random-0.1"] == alone["t1-Random-0.1"]


def test_the_authors_time():
    """Catches runs that are not counted, and a way of ours that is slower and agrees."""
    own = made({settings.OURS: 9.0})
    n = sum(len(runs) for runs in own.losses[settings.OURS].values())
    each = {f"{table}/{k}": np.array(2.0) for table in own.tables() for k in (1, 2)}
    row = authors.row(each, own, 1.0)
    assert row.verdict is AGREES
    assert n == len(TABLES) * 9 * N_SEEDS
    assert row.ours.startswith(f"{n} runs of c-TPE: {2 * n / 3600:.2g} hours")
    assert authors.row(each, own, 3.0 * n).verdict is DIFFERS
    assert authors.row({}, own, 1.0).verdict is NOT_RUN
