"""Rows of the papers: verdicts, and statements that hold on results made to order and can each break."""

import csv
import dataclasses
import json
import re
import time

import jax
import numpy as np
import pytest
from benchmarks.studies.papers import audit, audit_loops, draws, runs
from benchmarks.studies.papers.__main__ import PAGES, PAPERS
from benchmarks.studies.papers.cond_ped_anova import more_statements, times
from benchmarks.studies.papers.cond_ped_anova.curves import LEVELS, PROBLEMS, Curves
from benchmarks.studies.papers.cond_ped_anova.statements import (
    DISJOINT,
    MOVING,
    NESTED,
    OVERLAP,
    STATEMENTS,
    THREE_WAY,
    Statement,
)
from benchmarks.studies.papers.cond_ped_anova.theorem import residuals
from benchmarks.studies.papers.rows import (
    OURS_ALONE,
    Range,
    Row,
    Verdict,
    by_the_larger,
    computed_by,
    counts,
    equal,
    judged,
    lost,
    page_table,
    read_verdicts,
    together,
    write_verdicts,
)
from benchmarks.studies.papers.tables import families, tables

N_SEEDS = 3
AGREES, EQUAL, DIFFERS, APART, NOT_RUN = Verdict


def test_verdicts():
    """Catches noise that agrees or differs, an exact number at an end that differs, and NaN that agrees."""
    wanted = Range(0.5, 1)
    assert [judged(x, 0.1, wanted) for x in (0.75, 0.5, 1.0, 0.4, 0.29, np.nan)] == [
        AGREES, APART, APART, APART, DIFFERS, DIFFERS,
    ]  # fmt: skip
    assert judged(0.001, 10, Range(0)) is APART
    assert judged(0.5, 0, wanted) is AGREES
    assert judged(0.4, 0, wanted) is DIFFERS
    assert together([AGREES, APART]) is APART
    assert together([AGREES, DIFFERS, APART]) is DIFFERS
    assert together([AGREES, EQUAL]) is EQUAL
    assert [equal(x, e) for x, e in ((0.0, 0.07), (0.0, 0.072), (-0.1, 0.02), (0.14, 0.0))] == [
        True, False, True, False,
    ]  # fmt: skip
    assert [by_the_larger(few, APART) for few in (None, AGREES, DIFFERS)] == [APART, APART, DIFFERS]
    assert [str(r) for r in (Range(0, 0), Range(high=1), Range(2), wanted)] == [
        "exactly 0", "at most 1", "at least 2", "0.5 to 1",
    ]  # fmt: skip


def row(key: str, verdict: Verdict) -> Row:
    return Row(key, "Figure 1", "a | b", "1", verdict)


def test_what_agreed_and_does_not_any_more(tmp_path):
    """Catches a lost row that nobody hears of, and a quick run that fails for want of seeds."""
    before = [row("a", AGREES), row("b", AGREES), row("c", DIFFERS), row("d", AGREES)]
    write_verdicts(tmp_path / "x.csv", before)
    known = read_verdicts(tmp_path / "x.csv")
    assert known == {own.key: own.verdict for own in before}
    assert lost(before, known, quick=False) == []
    now = [row("a", DIFFERS), row("b", APART), row("c", DIFFERS)]
    assert len(lost(now, known, quick=False)) == 3
    assert len(lost(now, known, quick=True)) == 1
    unable = [row("a", Verdict.CANNOT_BE_RUN)]
    assert len(lost(unable, {"a": AGREES}, quick=False)) == 1
    assert lost(unable, {"a": AGREES, "b": AGREES}, quick=False, data=False) == []
    assert len(lost([row("a", DIFFERS)], {"a": AGREES}, quick=True, data=False)) == 1
    assert read_verdicts(tmp_path / "none.csv") == {}
    assert counts(now) == "0 agrees, 0 equal within 1.15, 2 differs, 1 not told apart, 0 cannot be run"
    table = page_table(now).splitlines()
    assert len(table) == 5
    assert r"a \| b" in table[2]
    assert table[2].endswith("not known |  |")
    (known_from,) = computed_by(times, [row("a", AGREES)])
    assert (PAGES.parents[2] / known_from.code).is_file()
    assert page_table([known_from]).endswith(
        "[`times.py`](../../../benchmarks/studies/papers/cond_ped_anova/times.py) |"
    )


def test_the_page_counts_what_the_tables_have():
    """Catches counts that a run has left behind, a page without its table, and one that says otherwise."""
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    for name in PAPERS:
        verdicts = [*read_verdicts(PAGES / f"{name}.csv", of_paper=True).values()]
        assert verdicts, name
        line = next(line for line in text.splitlines() if f"({name}.md)" in line)
        assert [int(cell) for cell in line.split("|")[2:7]] == [verdicts.count(own) for own in Verdict]
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)]+\.(?:png|csv|md))\)", page):
            assert (PAGES / link).is_file(), link
        with (PAGES / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            rows = [
                Row(note=r.pop("note"), verdict=Verdict(r.pop("verdict")), **r) for r in csv.DictReader(file)
            ]
        # A table has the remarks, to which a row that differs adds this.
        assert page_table(rows).replace("; not known |", " |") in page, name


def test_what_is_not_told_apart_says_what_would_tell():
    """Catches a page with many open rows, and one of them without a word."""
    open_rows = []
    for name in PAPERS:
        with (PAGES / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            open_rows += [row for row in csv.DictReader(file) if row["verdict"] == APART]
    assert len(open_rows) <= 22
    assert all(row["note"] for row in open_rows), [row["key"] for row in open_rows if not row["note"]]


def test_the_drawn_statements_can_break():
    """Catches a row that another page has no more, numbers of no consequence, and a loop unheard."""

    def steps(outward: float) -> dict[str, np.ndarray]:
        """Importances of x and y that grow to the last level but one, and then by so much."""
        own = np.array([0.3 + outward, 0.3, 0.2, 0.15, 0.1, 0.0, 0.1, 0.15, 0.2, 0.3, 0.3 + outward])
        noise = 1e-4 * np.random.default_rng(0).normal(size=(40, 11))
        moving = np.stack([1 - 2 * own + noise, own + noise, own + noise], axis=2)
        both = np.stack([moving, np.zeros_like(moving)])
        return {"default": both, "parity": both, "many": own[9:]}

    def shares(*gamma_0: float) -> dict[str, np.ndarray]:
        gamma = np.stack([np.resize(gamma_0, 9), np.full(9, 0.5)], axis=1)
        ratio = np.ones((9, len(audit_loops.PLACES)))
        ratio[:, [int(np.argmin(abs(audit_loops.PLACES[:-2] - 1).sum(axis=1))), -2]] = 20.0, 19.0
        return {"gamma": gamma, "ratio": ratio}

    def augmented(at_tight: float, at_loose: float) -> dict[str, np.ndarray]:
        """Losses with augmentation over those without."""
        loss = np.tile(np.random.default_rng(0).uniform(1, 1.1, (30, 4)), (2, 1, 1))
        return {
            name: loss[..., :n] * np.array([factor, 1])[:, None, None]
            for name, n, factor in (("t/size/0.1", 2, at_tight), ("t/size/0.5", 4, at_loose))
        } | {f"t/size/{level}/bad": np.array(9.0) for level in (0.1, 0.5)}

    good = {
        "own_rows": {"n": np.array(9), "wrong": np.array(0)},
        "nested_cells": {"plain": np.array([9, 0]), "gated": np.array([9, 0])},
        "integrals": {"improvement": np.zeros(2), "probability": np.zeros(2)},
        "groups": {"score": np.array([0.5, 0.4])},
        "inactive": {"gap": np.zeros(2), "divergence": np.array(0.0)},
        "steps": steps(0.02),
        "shares": shares(0.03),
        "augmentation": augmented(0.9, 1.0),
    }
    bad = {
        "own_rows": {"n": np.array(9), "wrong": np.array(1)},
        "nested_cells": {"plain": np.array([9, 1]), "gated": np.array([9, 1])},
        "integrals": {"improvement": np.array([0, 0.1]), "probability": np.array([0, 0.1])},
        "groups": {"score": np.array([0.5, 1e-4])},
        "inactive": {"gap": np.zeros(2), "divergence": np.array(0.1)},
        "steps": steps(-0.02),
        "shares": shares(0.07),
        "augmentation": augmented(0.9, 1.3),
    }
    computed = {f"drawn-{p}" for p, drawn in audit.STATEMENTS.items() if drawn.criterion or not drawn.rows}
    rows = audit.rows(good)
    assert (len(rows), len(computed)) == (20, 10)
    assert {row.verdict for row in rows if row.key in computed} == {AGREES}
    assert {row.verdict for row in audit.rows(good | bad) if row.key in computed} == {DIFFERS}
    undecided = audit.rows(good | {"shares": shares(0.055, 0.05), "augmentation": augmented(1.0, 1.0)})
    assert {row.verdict for row in undecided if row.key in ("drawn-13", "drawn-21")} == {APART}
    (broken,) = (row for row in audit.rows(good | bad) if row.key == "drawn-3")
    assert broken.loop == "agrees: not confirmed"
    (absent,) = (row for row in audit.rows(good | {"augmentation": {}}) if row.key == "drawn-13")
    assert (absent.verdict, absent.loop) == (Verdict.CANNOT_BE_RUN, "agrees")
    again = {"loops/gating": {"verdict": np.array("differs"), "numbers": np.array("3 of 4")}}
    (row,) = (row for row in audit.rows(good | again) if row.key == "drawn-22")
    assert (row.loop, row.note) == ("agrees; run again: differs", "loop: 3 of 4")


def test_the_page_of_the_draw_counts_its_loops():
    """Catches a sentence that a new verdict has left behind."""
    with (PAGES / "audit.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    drawn_rows = [row for row in rows if row["where"] != OURS_ALONE]
    loops = [row["loop"].split("; run again")[0] for row in drawn_rows]
    assert len(loops) == len(audit.STATEMENTS) == 20
    assert f"All {sum(not own.endswith('not confirmed') for own in loops)} verdicts are" in audit.ABOUT
    assert f"{sum(bool(drawn.rows) for drawn in audit.STATEMENTS.values())} had a row" in audit.ABOUT
    of_page = {row["key"]: row["loop"].split(":")[0].split(";")[0] for row in drawn_rows}
    assert of_page == {f"drawn-{place}": drawn.verdict for place, drawn in audit.STATEMENTS.items()}


def test_the_rows_of_two_earlier_draws_can_break():
    """Catches numbers of no consequence for a verdict."""
    names = ("quantiles", "picks", "probability", "ties")
    errors = {f"error/{name}": np.full(3, 0.05) for name in ("f-ANOVA", "PED-ANOVA", "parzax")}
    good = {
        "first/presets": dict.fromkeys(names, np.zeros(2)),
        "first/slopes": {"gap": np.zeros(2)},
        "first/categories": {"cifar10": np.array([15625, *[5] * 6])},
        "first/accuracy": errors | {"seconds/f-ANOVA": np.full(3, 9.0), "seconds/PED-ANOVA": np.full(3, 0.1)},
        "second/suggestions": {"shares": np.full(10, 0.8)},
        "second/activity": {"n": np.array(9), "other": np.array(0)},
        "second/products": {"main": np.zeros(2), "explained": np.zeros(3)},
        "second/quantiles": {"gaps": np.zeros((3, 19))},
        "second/shift": {"similarity": np.array([0.95, 0.95]), "error": np.array(0.01)},
    }
    bad = {
        "first/presets": dict.fromkeys(names, np.ones(2)),
        "first/slopes": {"gap": np.ones(2)},
        "first/categories": {"cifar10": np.array([15625, *[5] * 5])},
        "first/accuracy": good["first/accuracy"] | {"seconds/f-ANOVA": np.full(3, 0.2)},
        "second/suggestions": {"shares": np.full(10, 0.1)},
        "second/activity": {"n": np.array(9), "other": np.array(1)},
        "second/products": {"main": np.array([0, 0.1]), "explained": np.zeros(3)},
        "second/quantiles": {"gaps": np.full((3, 19), 0.01)},
        "second/shift": {"similarity": np.array([0.2, 0.95]), "error": np.array(0.01)},
    }
    for found, verdict in ((good, AGREES), (bad, DIFFERS)):
        assert [row.verdict for row in draws.rows(found)] == [verdict] * 12
    without = good | {"first/categories": {}, "first/accuracy": {}, "second/activity": {}}
    lacking = {row.key for row in draws.rows(without) if row.verdict is NOT_RUN}
    assert lacking == {"first-categories", "first-accuracy", "second-activity"}


# --- the curves of conditional PED-ANOVA ------------------------------------------------------


EVERY = [*STATEMENTS, *more_statements.STATEMENTS]


def bump(at: float, width: float) -> np.ndarray:
    """1 at a level, falling to 0 at the distance ``width``."""
    return np.maximum(1 - np.abs(LEVELS - at) / width, 0)


def ideal(problem: str) -> dict[str, np.ndarray]:
    """Importances as the figures show them, (q,) by parameter."""
    q = LEVELS
    tent = np.minimum(2 * q, 2 * (1 - q))
    below, above = q < 0.5, q > 0.5
    if problem == DISJOINT:
        c = np.where(q > 0.985, 0.06, tent**1.3)
        return {"c": c, "x": (1 - c) * below, "y": (1 - c) * above}
    if problem == OVERLAP:
        c = np.where(q > 0.985, 0.06, 0.2 * tent**0.5)
        y = np.where(q <= 0.2, 0.001, (1 - c) * np.clip((q - 0.2) / 0.6, 0, 1))
        return {"c": c, "x": 1 - c - y, "y": y}
    if problem == MOVING:
        c = np.minimum(tent**1.3, 0.99)
        return {"c": c, "x": 0.7 * (1 - c), "y": 0.3 * (1 - c)}
    if problem == NESTED:
        own = {"c0": 0.95 * bump(0.75, 0.2), "c1": 0.8 * bump(0.375, 0.2), "x": 0.9 * bump(0, 0.4)}
        return own | {"y": 0.5 * bump(0.55, 0.2), "z": 0.95 * bump(1, 0.2)}
    assert problem == THREE_WAY
    c = np.maximum(bump(1 / 3, 0.3), bump(2 / 3, 0.3))
    return {"c": c, "x": (1 - c) * (q < 0.66), "y": (1 - c) * (q > 0.66)}


def curves(own: Statement) -> Curves:
    """The same for every seed, with the ablations that the paper shows."""
    names = PROBLEMS[own.problem].space.names
    known = ideal(own.problem)
    levels = LEVELS[own.region > LEVELS]
    importance = np.stack([known[name] for name in names], axis=-1)[: len(levels)]
    if own.key in ("f7-c", "f7-moving-c"):  # with a smaller region c matters later
        importance[:, names.index("c")] *= 0.1
    standard = importance + 0.3
    if "c" in names:  # Theorem F.1
        of_c = importance[:, [names.index("c")]]
        standard = importance + np.where(np.arange(len(names)) == names.index("c"), 0.0, of_c)
    unweighted = np.where(levels[:, None] > 0.5, np.roll(importance, 1, axis=1), importance)
    arrays = {"variance": importance, "importance": importance, "standard": standard}
    arrays["unweighted"] = unweighted
    if own.key in ("f4-y-spikes", "f4-y-dominates", "f4-boundary-activation-overlap"):
        spiking = np.zeros_like(importance)
        spiking[(levels > 0.2) & (levels < 0.5), names.index("y")] = 9.0
        arrays["unweighted"] = importance + spiking
    return Curves(names, levels, {name: np.stack([x] * N_SEEDS) for name, x in arrays.items()})


def changed(own: Curves, change) -> Curves:
    return dataclasses.replace(own, arrays={name: change(x) for name, x in own.arrays.items()})


# Results under which something of the paper does not hold.
WRONG = {
    "all alike": lambda x: np.full_like(x, 1 / x.shape[-1]),
    "levels from the other end": lambda x: x[:, ::-1],
    "parameters in another place": lambda x: np.roll(x, 1, axis=-1),
    "parameters in yet another place": lambda x: np.roll(x, -1, axis=-1),
    "nothing": np.zeros_like,
    "noise": lambda x: np.random.default_rng(0).uniform(size=x.shape),
}


@pytest.mark.parametrize("own", EVERY, ids=lambda own: own.key)
def test_every_statement_can_break(own):
    """Catches a statement that refuses what the paper shows, and one that nothing can break."""
    good = curves(own)
    assert judged(own.measure(good), 0, own.wanted) is AGREES, own.measure(good)
    with np.errstate(invalid="ignore", divide="ignore"):
        broken = [name for name, change in WRONG.items()
                  if judged(own.measure(changed(good, change)), 0, own.wanted) is DIFFERS]  # fmt: skip
    assert broken


def test_keys_are_unique():
    assert len({own.key for own in EVERY}) == len(EVERY)


@pytest.mark.parametrize("problem", [DISJOINT, OVERLAP, MOVING])
def test_theorem_f1(problem):
    """Eq. 45 and Lemma F.2 on exact masses, with the standard variance by its definition."""
    for level in (0.1, 0.5, 0.77):
        with jax.enable_x64(True):
            np.testing.assert_allclose(residuals(problem, level), 0, atol=1e-12)


# --- units of work ---------------------------------------------------------------------------


def test_figure_6_can_break():
    """Catches a peer that is faster at one size and agrees, and an answer without any peer."""

    def verdicts(peer: float, names: tuple[str, ...] = ("f-ANOVA", "MDI", "SHAP")) -> set[Verdict]:
        ours = {"sizes": np.array([512, 2048, 8192]), times.OURS: np.ones(3)}
        close = ours | {times.PLAIN: np.full(3, 2.0)}
        found = {f"times/close/{problem}": close for problem in times.SHOWN}
        for name in names:
            theirs = ours | {name: np.array([9.0, peer, np.nan])}
            found |= {f"times/{name}/{problem}": theirs for problem in times.SHOWN}
        costs = {"sizes": np.ones(1), "made": np.ones(1), "conditional": np.ones(1), "plain": np.ones(1)}
        found |= {f"times/overhead/{problem}": costs for problem in times.SHOWN}
        keys = {f"f6-{problem}" for problem in times.SHOWN}
        return {row.verdict for row in times.rows(found) if row.key in keys}

    assert [*map(verdicts, (1.1, 0.9, 0.5))] == [{AGREES}, {APART}, {DIFFERS}]
    assert verdicts(1.1, ("f-ANOVA",)) == {APART}
    assert times.judge(np.inf, all_ran=False) is Verdict.CANNOT_BE_RUN


def test_a_run_goes_on_where_it_was_killed(tmp_path):
    """Catches work that is done twice, half-written files that are read, and a missing package that fails."""
    unit = runs.Unit("part/one", "numpy:identity", {})
    there = tmp_path / "part" / "one.npz"
    there.parent.mkdir()
    np.savez(there, x=np.arange(3))
    absent = runs.Unit("two", "no_such_package:f", needs="no_such_package")
    said = []
    found = runs.run([unit, absent], tmp_path, resume=True, say=said.append)
    np.testing.assert_array_equal(found["part/one"]["x"], np.arange(3))
    assert found["two"] == {}
    assert not said


def test_units_run_and_leave_whole_files(tmp_path, capsys):
    """Catches a half-written file that is taken for whole, one of other code, a run that goes on."""
    units = [runs.Unit(f"a/{x}", "builtins:dict", {"x": x}) for x in (1, 2)]
    units.append(runs.Unit("b", "builtins:dict", {"x": 3}, alone=True))
    units.append(runs.Unit("c", "builtins:dict", {"x": 4}, needs=("numpy", "no_such_package")))
    (tmp_path / "a").mkdir()
    np.savez(tmp_path / "a" / "1.npz", x=9)  # of an earlier run, which does not go on
    found = runs.run(units, tmp_path, resume=False, say=lambda text: None)
    assert {name: {k: int(x) for k, x in own.items()} for name, own in found.items()} == {
        "a/1": {"x": 1}, "a/2": {"x": 2}, "b": {"x": 3}, "c": {},
    }  # fmt: skip
    assert {path.name for path in tmp_path.rglob("*.*")} == {"1.npz", "2.npz", "b.npz"}
    (tmp_path / "b.npz").rename(tmp_path / "b.1.part")
    (tmp_path / "a" / "1.npz").write_bytes((tmp_path / "a" / "2.npz").read_bytes())
    said: list[str] = []
    again = runs.run(units, tmp_path, resume=True, say=said.append)
    assert int(again["b"]["x"]) == 3
    assert int(again["a/1"]["x"]) == 2  # from its file
    assert len(said) == 1
    assert not capsys.readouterr().err
    (tmp_path / "code").write_text("another", encoding="utf-8")
    for _ in range(2):  # also the second time
        runs.run(units, tmp_path, resume=True, say=said.append)
        assert "another state of the code" in capsys.readouterr().err


def test_programs_are_forgotten_where_memory_maps_run_out(tmp_path, monkeypatch):
    """Catches programs that stay, and work that is wrong without them."""
    import jax
    import jax.numpy as jnp

    compiled = jax.jit(lambda x: x + 1)
    assert int(compiled(jnp.arange(3))[0]) == 1
    for most, left in ((10**9, 1), (0, 0)):
        monkeypatch.setattr(runs, "MOST_MAPS", most)
        runs._work(runs.Unit("a", "builtins:dict", {"x": 1}), tmp_path)
        assert compiled._cache_size() == left
    assert int(compiled(jnp.arange(3))[0]) == 1


def doze(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.slow
def test_a_unit_over_its_limit_is_given_up(tmp_path):
    """Catches a peer that is waited for, one that is tried again, and an alarm that outlives its unit."""
    units = [
        runs.Unit("slow", f"{__name__}:doze", {"seconds": 60.0}, limit=0.2),
        runs.Unit("quick", "builtins:dict", {"x": 1}, limit=60.0),
    ]
    for resume in (False, True):
        found = runs.run(units, tmp_path, resume=resume, say=lambda text: None)
        assert {name: {k: float(x) for k, x in own.items()} for name, own in found.items()} == {
            "slow": {runs.LIMIT: 0.2}, "quick": {"x": 1},
        }  # fmt: skip


def test_the_time_of_a_run_that_was_killed(tmp_path):
    """Catches a page that has the seconds since the resumption alone, or those of a run before."""
    assert runs.clock(tmp_path / "parts", 5.0, resume=False) == 5
    assert runs.clock(tmp_path / "parts", 2.5, resume=True) == 7.5
    assert runs.clock(tmp_path / "parts", 1.0, resume=False) == 1


def test_tables_are_found_by_their_headers(tmp_path, monkeypatch):
    """Catches a list of names in the code, a header that is none, and one whose table is missing."""
    monkeypatch.setenv("PARZAX_DATA", str(tmp_path))
    folder = tmp_path / "anything"
    folder.mkdir()
    header = {"name": "cifar100", "family": "new", "n_configs": 4, "objective": {"array": "loss"}}
    header |= {"hyperparameters": [{"kind": "ordinal"}], "constraints": {"size": {}, "runtime": {}}}
    two = header | {"name": "tl_en", "family": "pairs", "objectives": [{"array": "a"}, {"array": "b"}]}
    for own in (header, two, header | {"name": "without"}):
        (folder / f"{own['name']}.json").write_text(json.dumps(own))
        if own["name"] != "without":
            (folder / f"{own['name']}.npz").write_bytes(b"")
    (folder / "space.json").write_text(json.dumps({"parameters": {}}))
    found = tables()
    assert [table.name for table in found] == ["cifar100", "tl_en"]
    assert found[0].path == "anything/cifar100.npz"
    assert found[0].constraints == ("size", "runtime")
    assert [table.objectives for table in found] == [("loss",), ("a", "b")]
    assert [*families(found)] == ["new", "pairs"]
    monkeypatch.delenv("PARZAX_DATA")
    assert tables() == []
