"""Units of work of the paper, and its rows from what they found."""

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.papers.meta_learn_tpe import ellipsoids, theory, two_metrics
from benchmarks.papers.meta_learn_tpe.reasons import REASONS
from benchmarks.papers.rows import Row, computed_by
from benchmarks.papers.runs import Arrays, Unit
from benchmarks.papers.tables import Table

PACKAGE = "benchmarks.papers.meta_learn_tpe"
N_SEEDS, N_SEEDS_MANY, N_SEEDS_MORE = 50, 20, 60
QUICK_SEEDS = 8
CANDIDATES = (4, 8)  # numbers of sources that are run again with fewer candidates


def units(quick: bool) -> list[Unit]:
    """All of the work; a quick run has fewer seeds, two numbers of sources and the smallest benchmark."""
    few, many = (QUICK_SEEDS, QUICK_SEEDS) if quick else (N_SEEDS, N_SEEDS_MANY)
    numbers = (1, 2) if quick else ellipsoids.N_TASKS
    module = f"{PACKAGE}.ellipsoids"
    found = [
        Unit(f"alone/{dim}", f"{module}:alone", {"dim": dim, "n_seeds": n}, cost=15)
        for dim, n in ((ellipsoids.FEW, few), (ellipsoids.MANY, many))
    ]
    for center in ellipsoids.CENTERS:
        own = {"center": center, "n_seeds": few}
        found.append(Unit(f"one/{center}", f"{module}:one_source", own, cost=20 + 1.2 * few))
    for n in numbers:
        for same in (False, True):
            if n > 1 or not same:
                own = {"n_tasks": n, "same": same, "n_seeds": many}
                name = f"several/{'same' if same else 'own'}/{n}"
                found.append(Unit(name, f"{module}:several", own, cost=20 + 2 * n * many))
        if n in CANDIDATES:
            own = {"n_tasks": n, "n_seeds": many}
            found.append(Unit(f"fewer/{n}", f"{module}:fewer_candidates", own, cost=20 + n * many))
    for target, others in targets(quick):
        own = {"target": target, "others": others, "n_seeds": many}
        found.append(Unit(f"tables/{target.name}", f"{PACKAGE}.two_metrics:search", own, cost=60 + 3 * many))
        own = own | {"n_seeds": few if quick else N_SEEDS_MORE, "repeats": target.family != "nmt_bench"}
        found.append(Unit(f"more/{target.name}", f"{PACKAGE}.two_metrics:search_more", own, cost=60.0))
    module = f"{PACKAGE}.theory"
    found.append(Unit("theory/sets", f"{module}:sets", cost=2))
    found.append(Unit("theory/onsets", f"{module}:onsets", cost=10))
    found.append(Unit("theory/equations", f"{module}:equations", cost=15))
    found.append(Unit("theory/similar", f"{module}:similar_sets", cost=15))
    found.append(Unit("theory/time", f"{module}:kernel_times", {"n_rows": 100}, cost=10, alone=True))
    found.append(Unit("theory/time-many", f"{module}:kernel_times", {"n_rows": 10_000}, cost=30, alone=True))
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
    """What the runs on each table found; "more" are those of `two_metrics.search_more`."""
    return {
        table.name: two_metrics.measured(table, found[f"{kind}/{table.name}"])
        for table, _ in targets(quick=False)
        if f"{kind}/{table.name}" in found
    }


def rows(found: Mapping[str, Arrays]) -> list[Row]:
    """All rows."""
    one = {center: found[f"one/{center}"] for center in ellipsoids.CENTERS}
    several = {
        kind: {int(name.split("/")[-1]): arrays for name, arrays in found.items() if name.startswith(prefix)}
        for kind, prefix in (("own", "several/own/"), ("same", "several/same/"), ("fewer", "fewer/"))
    }
    every = computed_by(ellipsoids, ellipsoids.figure_2(found[f"alone/{ellipsoids.FEW}"]["best"], one))
    tpe = found[f"alone/{ellipsoids.MANY}"]["best"]
    figure_12 = ellipsoids.figure_12(tpe, several["own"], several["same"], several["fewer"])
    every += computed_by(ellipsoids, figure_12)
    benchmarks = {table.name: table.family for table, _ in targets(quick=False)}
    every += computed_by(
        two_metrics, two_metrics.rows(tables_found(found), tables_found(found, "more"), benchmarks)
    )
    every += computed_by(theory, theory.rows(found, [table for table, _ in targets(quick=False)]))
    return [replace(row, reason=row.reason or REASONS.get(row.key, "")) for row in every]
