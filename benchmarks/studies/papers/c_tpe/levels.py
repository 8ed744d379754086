"""CNSGA-II and HyperMapper by level of the constraint, and ranks before the last evaluation."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import parzax as px
from benchmarks.studies.papers import hypermapper_runs
from benchmarks.studies.papers.c_tpe import nei, searches, settings
from benchmarks.studies.papers.c_tpe.results import Results, gap_ratio, percentage_loss
from benchmarks.studies.papers.c_tpe.rows import constrained
from benchmarks.studies.papers.c_tpe.rows import units as units_of_page
from benchmarks.studies.papers.c_tpe.settings import CNSGA, OURS, RANDOM, VANILLA, Setting
from benchmarks.studies.papers.c_tpe.trajectories import RANKED, average_ranks
from benchmarks.studies.papers.rows import (
    Range,
    Row,
    Verdict,
    judged,
    judged_ratio,
    missing,
    ratio_in_words,
    together,
)
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table, tables

HM2 = "HM2"
# HyperMapper: runs of a setting, and evaluations, which are the first column of Table 1.
N_HM2, FEW = 10, settings.BUDGETS[0]
TIGHT, *_, LOOSE = settings.PRINTED_QUANTILES
SMALLER = Range(high=1.0)
N_BOOTSTRAP = 50
NEEDS = "tables in PARZAX_DATA and Optuna"
NEEDS_HM2 = "tables in PARZAX_DATA, and a Python with HyperMapper in PARZAX_PEERS"
LOSSES = "absolute percentage losses, geometric mean of the settings"
FEWER = f"2 of 9 tables, {N_HM2} runs of HyperMapper 2.2.13 of {FEW} evaluations; {LOSSES}"


def units(quick: bool) -> list[Unit]:
    """Runs of the page of c-TPE at the printed quantiles, and those of HyperMapper where it is."""
    found = [
        replace(unit, arguments=dict(unit.arguments) | {"quantiles": settings.PRINTED_QUANTILES})
        for unit in units_of_page(quick)
        if unit.name == "oracles" or unit.name.split("/")[:2] in [["runs", name] for name in (*RANKED, CNSGA)]
    ]
    python = None if quick else python_with("hypermapper")
    if not python:
        return found
    for table in constrained(quick):
        kinds = {nei.HPOLIB: ("size", "both"), nei.CATEGORIES: ("size",)}.get(table.name, ())
        for kind in kinds:
            for quantile in settings.PRINTED_QUANTILES:
                own = {"python": python, "table": table, "kind": kind, "quantiles": (quantile,)}
                name = f"runs/{HM2}/{table.family}-{kind}-{quantile:g}"
                found.append(Unit(name, f"{__name__}:hypermapper", own, cost=12 * N_HM2))
    return found


def python_with(package: str) -> str | None:
    """The first Python of PARZAX_PEERS that has a package."""
    code = f"import sys, importlib.util as util; sys.exit(util.find_spec({package!r}) is None)"
    pythons = filter(None, os.environ.get("PARZAX_PEERS", "").split(":"))
    return next((one for one in pythons if not subprocess.run([one, "-I", "-c", code]).returncode), None)


def hypermapper(python: str, table: Table, kind: str, quantiles: Sequence[float]) -> Arrays:
    """A unit: as `searches.search`, of one table and one kind of constraint."""
    stacked = searches.problems(table.path, table.objectives[0], settings.CONSTRAINTS[kind], quantiles)
    domains = [domain for (domain,) in stacked.space.domains]
    problem = {
        "sizes": [domain.n_values for domain in domains],
        "ordered": [not isinstance(domain, px.Categorical) for domain in domains],
        "losses": np.asarray(stacked.losses)[0, ..., 0],
        "excess": np.asarray(stacked.excess),
        "n_trainings": np.asarray(stacked.n_seeds)[0],
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("problem.npz", "runs.npz")]
        np.savez(paths[0], **problem, n_seeds=N_HM2, n_evaluations=FEW)
        subprocess.run([python, "-I", "-W", "ignore", hypermapper_runs.__file__, *paths], check=True)
        with np.load(paths[1]) as file:
            runs = {f"{table.name}/{kind}/{name}": file[name] for name in ("losses", "feasible")}
    return runs | {"quantiles": np.array(quantiles)}


# --- rows --------------------------------------------------------------------------------------------------


def rows(results: Results) -> Iterator[Row]:
    """All rows."""
    yield from _cnsga(results)
    yield from _ranks(results)
    yield from _hypermapper(results)


def chosen(
    results: Results,
    pair: tuple[str, str],
    quantile: float,
    family: str = "",
    kinds: Sequence[str] = tuple(settings.CONSTRAINTS),
) -> list[Setting]:
    """Settings that both methods ran on, of a benchmark (or of all) and of kinds of constraints."""
    families = {table.name: table.family for table in tables()}
    return [
        setting
        for setting in results.settings(pair, quantile)
        if families.get(setting.table, "").startswith(family) and setting.constraints in kinds
    ]


def _beside(
    results: Results,
    key: str,
    where: str,
    printed: str,
    pair: tuple[str, str],
    own: Sequence[Setting],
    budgets: Sequence[int],
    wanted: Range = SMALLER,
) -> Row:
    """Losses of the first method over those of the other."""
    note, needs = (FEWER, NEEDS_HM2) if HM2 in pair else (LOSSES, NEEDS)
    if not own:
        return missing(key, where, printed, needs)
    ratios = [gap_ratio(results, *pair, own, budget) for budget in budgets]
    after = ", ".join(map(str, budgets))
    text = f"{pair[0]} over {pair[1]} after {after}: {', '.join(ratio_in_words(*one) for one in ratios)}"
    verdict = together([judged_ratio(*one, wanted) for one in ratios])
    return Row(key, where, f"{printed} [{wanted}]", text, verdict, note)


def _looser(
    results: Results,
    key: str,
    where: str,
    printed: str,
    pairs: Sequence[tuple[str, str, int]],
    family: str = "",
    kinds: Sequence[str] = tuple(settings.CONSTRAINTS),
    reason: str = "",
) -> Row:
    """Whether the ratio of both losses after a budget falls from the tightest constraint to the loosest."""
    texts, verdicts, note = [], [], LOSSES
    for *pair, budget in pairs:
        own = {q: chosen(results, (pair[0], pair[1]), q, family, kinds) for q in settings.PRINTED_QUANTILES}
        if not all(own.values()):
            return missing(key, where, printed, NEEDS_HM2 if HM2 in pair else NEEDS)
        note = FEWER if HM2 in pair else note
        ratios = {q: gap_ratio(results, *pair, each, budget) for q, each in own.items()}
        change = ratios[LOOSE][0] - ratios[TIGHT][0], float(np.hypot(ratios[TIGHT][1], ratios[LOOSE][1]))
        verdicts.append(judged_ratio(*change))
        each = ", ".join(f"{q:g}: {ratio_in_words(*one)}" for q, one in ratios.items())
        texts.append(
            f"{pair[0]} over {pair[1]} after {budget} at {each}; last over first {ratio_in_words(*change)}"
        )
    verdict = together(verdicts)
    why = "more tables and runs would tell" if verdict is Verdict.NOT_TOLD_APART else reason
    return Row(key, where, f"{printed} [last over first at most 1]", "; ".join(texts), verdict, note, why)


def _two(results: Results) -> Row:
    """Losses of HM2 with two constraints over those with the size alone, on HPOlib, at the same quantiles."""
    key, where = "hm2-two", "Appendix G.1, Figure 9"
    printed = "HM2 converges more slowly with two constraints than with one"
    kept = [s for q in settings.PRINTED_QUANTILES for s in chosen(results, (HM2, OURS), q, "hpolib")]
    both, single = ([s for s in kept if s.constraints == kind] for kind in ("both", "size"))
    if not (both and single):
        return missing(key, where, printed, NEEDS_HM2)
    (a, e), (b, f) = (_mean_log(results, HM2, own, FEW) for own in (both, single))
    ratio = a - b, float(np.hypot(e, f))
    text = f"two over one after {FEW}: {ratio_in_words(*ratio)}"
    verdict = judged_ratio(*ratio, Range(low=1.0))
    return Row(key, where, f"{printed} [at least 1]", text, verdict, FEWER)


def _mean_log(results: Results, method: str, own: Sequence[Setting], budget: int) -> tuple[float, float]:
    """Mean over settings of the log of mean losses, and its standard error."""
    losses = [percentage_loss(results, method, setting)[:, budget - 1] for setting in own]
    variance = sum(x.var(ddof=1) / len(x) / x.mean() ** 2 for x in losses)
    return float(np.mean([np.log(x.mean()) for x in losses])), float(np.sqrt(variance)) / len(losses)


def _cnsga(results: Results) -> Iterator[Row]:
    """Appendices G.1 and G.3."""
    pair, every = (OURS, CNSGA), settings.BUDGETS
    printed = "on HPOlib CNSGA-II improves early as constraints become looser"
    yield _looser(results, "cnsga-early", "Appendix G.1", printed, [(CNSGA, RANDOM, FEW)], "hpolib")
    loose = chosen(results, pair, LOOSE, "hpolib")
    printed = f"at {LOOSE:g} on HPOlib c-TPE still converges quicker than CNSGA-II"
    yield _beside(results, "cnsga-quicker", "Appendix G.1", printed, pair, loose, every)
    two = [s for q in settings.PRINTED_QUANTILES for s in chosen(results, pair, q, "hpolib", ("both",))]
    printed = "with two constraints on HPOlib c-TPE converges quicker than CNSGA-II as well"
    yield _beside(results, "cnsga-two-ours", "Appendix G.1", printed, pair, two, every)
    printed = (
        "on NAS-Bench-201 c-TPE keeps its performance as constraints become looser, CNSGA-II and HM2 do not"
    )
    rivals = [(*pair, every[-1]), (OURS, HM2, FEW)]
    yield _looser(results, "looser-nasbench201", "Appendix G.3", printed, rivals, "nasbench201")


def _ranks(results: Results) -> Iterator[Row]:
    """Figures 16 to 18 before the last evaluation."""
    early = settings.BUDGETS[:-1]
    words = "c-TPE has the best average rank before 200 evaluations too"
    if not all(chosen(results, (OURS, CNSGA), q) for q in settings.PRINTED_QUANTILES):
        yield missing("ranks-early", "Figures 16-18", words, NEEDS)
        return
    rng, ranks = np.random.default_rng(0), {}
    for kind in settings.CONSTRAINTS:  # (draws, quantiles, methods, evaluations), the first by all seeds
        ranks[kind] = np.array(
            [
                [average_ranks(results, kind, q, rng if draw else None) for q in settings.PRINTED_QUANTILES]
                for draw in range(N_BOOTSTRAP + 1)
            ]
        )
    for kind, own in ranks.items():
        leads = (own[:, :, 1:].min(axis=2) - own[:, :, 0]).mean(axis=1)[:, [b - 1 for b in early]]
        errors = leads[1:].std(axis=0)
        yield Row(
            f"ranks-early-{kind}", f"Figures 16-18, {kind}", f"{words} [lead at least 0]",
            f"lead after {', '.join(map(str, early))}: "
            + ", ".join(f"{a:.2f} ± {e:.2g}" for a, e in zip(leads[0], errors, strict=True)),
            together([judged(float(a), float(e), Range(0)) for a, e in zip(leads[0], errors, strict=True)]),
            f"rank of the next best of {', '.join((*RANKED[1:], CNSGA))} less c-TPE's, mean of the quantiles "
            f"{', '.join(map(str, settings.PRINTED_QUANTILES))}; {len(results.tables())} of "
            f"{settings.N_TABLES} tables",
        )  # fmt: skip


def _hypermapper(results: Results) -> Iterator[Row]:
    """Section 4, Appendices G.1 and H."""
    size = ("size",)
    for q, printed, wanted in (
        (TIGHT, "HM2 outperforms vanilla TPE at tight constraints", SMALLER),
        (LOOSE, "HM2 is not better than vanilla TPE", Range(low=1.0)),
    ):
        pair = (HM2, VANILLA)
        yield _beside(
            results, f"hm2-vanilla-{q:g}", f"Appendix H, at {q:g}", printed, pair,
            chosen(results, pair, q, kinds=size), (FEW,), wanted,
        )  # fmt: skip
    pairs = [(OURS, HM2, FEW)]
    printed = "c-TPE is not degraded as constraints become looser, HM2 is"
    two = "with two constraints HM2 is far behind at 0.1 already, see Table 1; with one see G.1"
    yield _looser(results, "hm2-looser", "Section 4", printed, pairs, reason=two)
    printed = f"on HPOlib, size constrained, {printed}"
    yield _looser(results, "hm2-looser-hpolib", "Appendix G.1", printed, pairs, "hpolib", size)
    yield _two(results)
