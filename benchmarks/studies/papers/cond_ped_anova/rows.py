"""Units of work of the paper, and its rows from what they found."""

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.studies.papers.cond_ped_anova import (
    baselines,
    learners,
    memory,
    more_statements,
    peers,
    reasons,
    reference,
    sizes,
    statements,
    theorem,
    times,
)
from benchmarks.studies.papers.cond_ped_anova.curves import ESTIMATORS, PROBLEMS, of_unit, sources, spread
from benchmarks.studies.papers.cond_ped_anova.statements import STATEMENTS, Statement
from benchmarks.studies.papers.rows import Row, Verdict, by_the_larger, computed_by, judged
from benchmarks.studies.papers.runs import Arrays, Unit

EVERY = [*STATEMENTS, *more_statements.STATEMENTS]
CURVES = "benchmarks.studies.papers.cond_ped_anova.curves:curves"


def units(quick: bool) -> list[Unit]:
    """All of the work; a quick run leaves out the peers that take minutes."""
    found = []
    for source in sources():
        for problem in PROBLEMS:
            own = {"problem": problem, "source": source}
            found.append(Unit(f"curves/{source}/{problem}", CURVES, own, cost=5))
        for region in sorted({own.region for own in EVERY} - {1.0}):
            for problem in sorted({own.problem for own in EVERY if own.region == region}):
                own = {"problem": problem, "source": source, "region": region}
                found.append(Unit(f"curves/{source}/{problem}-{region:g}", CURVES, own, cost=5))
    found += sizes.units() + baselines.units() + learners.units() + reasons.units()
    found += [] if quick else learners.more_units()
    return found + peers.units(quick) + times.units(quick) + ([] if quick else memory.units())


def rows(found: Mapping[str, Arrays]) -> list[Row]:
    """All rows, in the order of the paper."""
    parts = (baselines, peers, times, memory, sizes, theorem, reference, learners, more_statements)
    every: list[Row] = []
    for module in (statements, more_statements):
        every += computed_by(module, [_row(statement, found) for statement in module.STATEMENTS])
    for part in parts:
        every += computed_by(part, part.rows(found))
    why = reasons.reasons(found)
    return [replace(row, reason=_with(row, why.get(row.key, ""))) for row in every]


def _with(row: Row, why: str) -> str:
    """The computed reason, and what would tell a row that is not told apart."""
    is_open = row.verdict is Verdict.NOT_TOLD_APART
    return "; ".join(text for text in (why, row.reason if is_open or not why else "") if text)


def _row(own: Statement, found: Mapping[str, Arrays]) -> Row:
    verdicts: dict[str, dict[str, Verdict]] = {name: {} for name in ESTIMATORS}
    texts: dict[str, list[str]] = {name: [] for name in ESTIMATORS}
    end = "" if own.region == 1 else f"-{own.region:g}"
    for source in sources():
        arrays = found[f"curves/{source}/{own.problem}{end}"]
        for name, curves in of_unit(arrays, own.problem, own.region).items():
            number, error = spread(own.measure, curves)
            verdicts[name][source] = judged(number, error, own.wanted)
            texts[name].append(f"{source} {number:.3g}" + (f" ± {error:.2g}" if error else ""))
    verdict, parity = (
        by_the_larger(verdicts[name].get("stored"), verdicts[name]["fresh"]) for name in ("default", "parity")
    )
    ours = "; ".join(f"{name}: {', '.join(own_texts)}" for name, own_texts in texts.items())
    note = "" if parity is verdict else f"with the reference's estimator: {parity}"
    return Row(own.key, own.where, f"{own.printed} [{own.wanted}]", ours, verdict, note)
