"""Units of work of the paper, and its rows from what they found."""

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.studies.papers.meta_learn_tpe import (
    algorithms,
    cases,
    dissimilar,
    ellipsoids,
    of_tables,
    one_source,
    several_sources,
    spaces,
    theory,
    times,
    two_metrics,
)
from benchmarks.studies.papers.meta_learn_tpe.reasons import REASONS
from benchmarks.studies.papers.meta_learn_tpe.searches import EPSILON
from benchmarks.studies.papers.rows import Row, computed_by
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table

PACKAGE = "benchmarks.studies.papers.meta_learn_tpe"
# Runs: of a source in four and in ten dimensions, of several, of a table, there without repeats.
N_ONE, N_SINGLE, N_SEVERAL, N_TABLE, N_MORE = 300, 400, 100, 300, 600
# Runs without sources, which are cheap, and of what fewer runs do not decide: centres in four dimensions and
# in ten (there of one source and of eight; of two and four with logs of their own fewer), and tables.
N_MOST, N_BETWEEN = 1000, 300
NEAR_ENDS_TABLES = ("so_en", "sw_en")
NEAR_ENDS, NEAR_ENDS_MANY = (4,), (0, 1)
QUICK_SEEDS = 8


def units(quick: bool) -> list[Unit]:
    """All of the work; a quick run has fewer seeds, two numbers of sources and the smallest benchmark."""

    def most(n: int, near_an_end: bool = False) -> int:
        """Seeds of a unit; `QUICK_SEEDS` in a quick run."""
        return QUICK_SEEDS if quick else N_MOST if near_an_end else n

    many, plain = most(N_SEVERAL), most(N_MOST)
    numbers = (1, 2) if quick else ellipsoids.N_TASKS
    module = f"{PACKAGE}.ellipsoids"
    found = [
        Unit(f"alone/{dim}", f"{module}:alone", {"dim": dim, "n_seeds": plain}, cost=15 + 0.03 * plain)
        for dim in (ellipsoids.FEW, ellipsoids.MANY)
    ]
    for dim in (ellipsoids.FEW, ellipsoids.MANY):
        own = {"dim": dim, "n_seeds": plain, "epsilon": EPSILON}
        found.append(Unit(f"alone/epsilon/{dim}", f"{module}:alone", own, cost=15 + 0.03 * plain))
    for n in (numbers[0], numbers[-1]):
        own = {"n_tasks": n, "same": False, "n_seeds": (many,) * len(ellipsoids.MANY_CENTERS)}
        own["eta"] = ellipsoids.EVERY_PARAMETER
        found.append(Unit(f"every/{n}", f"{module}:several", own, cost=30 + (0.2 + 0.5 * n) * many))
    own = {"n_tasks": numbers[-1], "same": False, "n_seeds": (0, 0, many, many), "count": "floor"}
    found.append(Unit(f"floor/{numbers[-1]}", f"{module}:several", own, cost=30 + 0.25 * numbers[-1] * many))
    for center in ellipsoids.CENTERS:
        runs = most(N_ONE, center in NEAR_ENDS)
        own = {"center": center, "n_seeds": runs}
        found.append(Unit(f"one/{center}", f"{module}:one_source", own, cost=30 + 0.6 * runs))
    for n in numbers:
        for same in (False, True):
            if n > 1 or not same:
                between = N_SEVERAL if same else N_BETWEEN
                near = N_MOST if n in (numbers[0], numbers[-1]) else between
                others = N_SINGLE if n == 1 else N_SEVERAL
                of_center = tuple(
                    most(near if center in NEAR_ENDS_MANY else others) for center in ellipsoids.MANY_CENTERS
                )
                own = {"n_tasks": n, "same": same, "n_seeds": of_center}
                name = f"several/{'same' if same else 'own'}/{n}"
                found.append(Unit(name, f"{module}:several", own, cost=30 + 0.1 * (1 + n) * sum(of_center)))
    for target, others in targets(quick):
        own = {"target": target, "others": others, "n_seeds": most(N_TABLE)}
        module = f"{PACKAGE}.two_metrics"
        found.append(Unit(f"tables/{target.name}", f"{module}:search", own, cost=60 + 0.6 * N_TABLE))
        if target.name in NEAR_ENDS_TABLES:
            found.append(
                Unit(
                    f"most/{target.name}",
                    f"{module}:more_runs",
                    own | {"n_seeds": plain},
                    cost=60 + 0.15 * plain,
                )
            )
        own = own | {"n_seeds": many}
        found.append(Unit(f"cold/{target.name}", f"{module}:without_start", own, cost=30 + 0.2 * many))
        if target.name == two_metrics.DISSIMILAR:
            own = own | {"n_seeds": most(N_TABLE)}
            found.append(Unit(f"mixed-up/{target.name}", f"{module}:mixed_up", own, cost=60 + 0.2 * N_TABLE))
        own = {"target": target, "n_seeds": plain}
        found.append(Unit(f"mo/{target.name}", f"{module}:plain", own, cost=20 + 0.05 * plain))
        if target.family == "nmt_bench":
            own = {"target": target, "others": others, "n_seeds": most(N_MORE)}
            found.append(
                Unit(f"more/{target.name}", f"{module}:without_repeats", own, cost=60 + 0.2 * N_MORE)
            )
    for name, cost in (("kernel", 10), ("steps", 60)):
        found.append(Unit(f"algorithms/{name}", f"{PACKAGE}.algorithms:{name}", cost=cost))
    for name, cost in (("guided", 90), ("dimensions", 30), ("cubes", 5), ("decays", 20)):
        found.append(Unit(f"cases/{name}", f"{PACKAGE}.cases:{name}", cost=cost))
    module = f"{PACKAGE}.theory"
    found.append(Unit("theory/sets", f"{module}:sets", cost=2))
    found.append(Unit("theory/onsets", f"{module}:onsets", cost=10))
    found.append(Unit("theory/equations", f"{module}:equations", cost=15))
    found.append(Unit("theory/similar", f"{module}:similar_sets", cost=15))
    for name, n_rows in (("time", times.N_TIMED), ("time-many", 10_000)):
        own = {"n_rows": n_rows}
        found.append(Unit(f"theory/{name}", f"{PACKAGE}.times:kernel_times", own, cost=20, alone=True))
    small = two_metrics.usable().get("nmt_bench")
    if small:
        size = (2, 1000) if quick else (5, 5000)
        own = {"target": small[0], "n_seeds": size[0], "n_evaluations": size[1]}
        found.append(Unit("theory/convergence", f"{module}:convergence", own, cost=size[0] * size[1] / 200))
    return found


def targets(quick: bool) -> list[tuple[Table, list[Table]]]:
    """Every table that has others of its benchmark; of a quick run those of the benchmark of small tables."""
    every = two_metrics.usable()
    if quick and every:
        small = min(every, key=lambda name: every[name][0].n_rows)
        every = {small: every[small]}
    return [(own, [t for t in group if t != own]) for group in every.values() for own in group]


def tables_found(found: Mapping[str, Arrays], kind: str = "tables") -> dict[str, two_metrics.Found]:
    """What the runs on each table found; other kinds are those of `units`."""
    return {
        table.name: two_metrics.measured(table, _together(found, kind, table.name))
        for table, _ in targets(quick=False)
        if f"{kind}/{table.name}" in found
    }


def _together(found: Mapping[str, Arrays], kind: str, table: str) -> Arrays:
    """With MO-TPE, and with the most runs of ours that there are."""
    more = found.get(f"most/{table}", {}) if kind == "tables" else {}
    return found[f"{kind}/{table}"] | found[f"mo/{table}"] | more


def rows(found: Mapping[str, Arrays]) -> list[Row]:
    """All rows."""
    one = {center: found[f"one/{center}"] for center in ellipsoids.CENTERS}
    several = {
        prefix: {
            int(name.split("/")[-1]): arrays for name, arrays in found.items() if name.startswith(prefix)
        }
        for prefix in ("several/own/", "several/same/", "every/", "floor/")
    }
    few, tpe, few_epsilon, epsilon = (
        found[f"{kind}/{dim}"]["best"]
        for kind in ("alone", "alone/epsilon")
        for dim in (ellipsoids.FEW, ellipsoids.MANY)
    )
    every = computed_by(one_source, one_source.rows(few, few_epsilon, one))
    own, same, every_parameter, floor = several.values()
    more = {"every": every_parameter, "floor": floor, "epsilon": epsilon}
    every += computed_by(several_sources, several_sources.rows(tpe, own, same, **more))
    every += computed_by(several_sources, several_sources.beside_few(few, one, tpe, own[1]))
    tables = {table.name: table for table, _ in targets(quick=False)}
    kinds = [tables_found(found, kind) for kind in ("tables", "more", "cold")]
    every += computed_by(of_tables, of_tables.rows(*kinds, tables))
    if dissimilar.DISSIMILAR in kinds[0]:
        known = {name: tables[name] for name in kinds[0]}
        mixed_up = tables_found(found, "mixed-up")[dissimilar.DISSIMILAR]
        there = kinds[0][dissimilar.DISSIMILAR]
        every += computed_by(dissimilar, dissimilar.rows(there, mixed_up, known))
    every += computed_by(theory, theory.rows(found))
    every += computed_by(spaces, spaces.rows([*tables.values()]))
    every += computed_by(times, times.rows(found["theory/time"], found["theory/time-many"]))
    every += computed_by(algorithms, algorithms.rows(found)) + computed_by(cases, cases.rows(found))
    return [replace(row, reason=row.reason or REASONS.get(row.key, "")) for row in every]
