"""Units of work of the paper, and its rows from what they found."""

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.studies.papers.c_tpe import (
    algorithms,
    authors,
    candidates,
    counts,
    feasible,
    first_feasible,
    nei,
    settings,
    shares,
    theory,
    toy,
    trajectories,
    unconstrained,
    vanished,
)
from benchmarks.studies.papers.c_tpe.reasons import REASONS
from benchmarks.studies.papers.c_tpe.results import Results
from benchmarks.studies.papers.rows import Row, computed_by
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table, families, tables

PACKAGE = "benchmarks.studies.papers.c_tpe"
N_HYPEROPT, QUICK_HYPEROPT = 50, 15
# More runs of CNSGA-II.
N_CNSGA = 300
# Seconds per table, kind, quantile and seed of one core, about.
COSTS = {settings.OURS: 0.02, settings.NAIVE: 0.02, settings.AUGMENTED: 0.04, settings.CNSGA: 0.08}
SEEING = (settings.OURS, settings.NAIVE, settings.AUGMENTED, settings.TOP)


def constrained(quick: bool) -> list[Table]:
    """Tables with thresholds of size and runtime; of a quick run the two smallest."""
    found = [own for own in tables() if {"size", "runtime"} <= set(own.constraints)]
    return sorted(found, key=lambda own: own.n_rows)[:2] if quick else found


def units(quick: bool) -> list[Unit]:
    """All of the work; a quick run has the two smallest tables, three quantiles and fewer seeds."""
    found = [
        Unit("toy/maps", f"{PACKAGE}.toy:maps", cost=8),
        Unit("toy/overlaps", f"{PACKAGE}.toy:overlaps", cost=12),
        Unit("toy/vanished", f"{PACKAGE}.vanished:vanished", cost=15),
        Unit("toy/modes", f"{PACKAGE}.vanished:modes", cost=15),
        Unit("algorithms/candidates", f"{PACKAGE}.algorithms:candidates", cost=10),
        Unit("algorithms/augmentation", f"{PACKAGE}.algorithms:augmentation", cost=8),
        Unit("theory/scores", f"{PACKAGE}.theory:scores", cost=5),
        Unit("theory/splits", f"{PACKAGE}.theory:splits", cost=10),
        Unit("theory/improvements", f"{PACKAGE}.theory:improvements", cost=5),
    ]
    own = constrained(quick)
    if not own:
        return found
    found.append(Unit("theory/shares", f"{PACKAGE}.shares:infeasible", {"tables": own}, cost=5))
    found.append(Unit("theory/quantiles", f"{PACKAGE}.shares:of_quantiles", {"tables": own}, cost=20))
    found.append(Unit("theory/lemmas", f"{PACKAGE}.shares:of_thresholds", {"tables": own}, cost=5))
    firsts = {"tables": own, "n_seeds": 2 * _n_seeds(quick)}
    found.append(Unit("algorithms/first", f"{PACKAGE}.first_feasible:ablation", firsts, cost=60))
    oracles = {"tables": own, "quantiles": quantiles(quick)}
    theirs = Unit(
        "authors",
        f"{PACKAGE}.authors:seconds",
        {"tables": own},
        needs="parzen_estimator",
        cost=20,
        alone=True,
    )
    found.append(theirs)
    found.append(Unit("oracles", f"{PACKAGE}.searches:oracles", oracles, cost=10))
    for family, members in families(own).items():
        found += [_search(method, family, kinds, members, quick) for method, kinds in _methods()]
        found += _peers(family, members, quick)
        if not quick:
            found += [_again(*own, family, members) for own in _methods() if own[0] in settings.CLOSE]
            found += [_again_cnsga(family, members)] if family == "nasbench201" else []
            found += candidates.units(family, members)
    return found if quick else found + nei.units(own)


def quantiles(quick: bool, method: str = "") -> tuple[float, ...]:
    """Those that a method is run at."""
    few = quick or method in (settings.TOP, settings.CNSGA)
    return settings.PRINTED_QUANTILES if few else settings.QUANTILES


def _methods() -> list[tuple[str, tuple[str, ...]]]:
    found: list[tuple[str, tuple[str, ...]]] = []
    for method in SEEING:
        one = ("size",) if method == settings.AUGMENTED else ("size", "runtime")
        found += [(method, one), (method, ("both",))]
    return found + [(method, tuple(settings.CONSTRAINTS)) for method in (settings.VANILLA, settings.RANDOM)]


def _search(method: str, family: str, kinds: tuple[str, ...], members: list[Table], quick: bool) -> Unit:
    n_seeds, own = _n_seeds(quick), quantiles(quick, method)
    size = len(members) * len(kinds) * len(own) * n_seeds
    arguments = {"method": method, "kinds": kinds, "tables": members, "quantiles": own, "n_seeds": n_seeds}
    cost = 15 + COSTS.get(method, 0.01) * size
    return Unit(_name(method, family, kinds), f"{PACKAGE}.searches:search", arguments, cost=cost)


def _again(method: str, kinds: tuple[str, ...], family: str, members: list[Table]) -> Unit:
    """More seeds, for differences that are small: of Table 2, and at 0.9."""
    own, quantiles = _search(method, family, kinds, members, quick=False), settings.PRINTED_QUANTILES
    more = {"quantiles": quantiles, "again": "/again", "n_seeds": settings.N_AGAIN}
    size = len(members) * len(kinds) * len(quantiles) * settings.N_AGAIN
    return replace(
        own, name=own.name.replace("runs/", "again/", 1), arguments=dict(own.arguments) | more,
        cost=15 + COSTS.get(method, 0.01) * size,
    )  # fmt: skip


def _again_cnsga(family: str, members: list[Table]) -> Unit:
    """More seeds of CNSGA-II where it is near c-TPE."""
    more = {"quantiles": settings.PRINTED_QUANTILES[:1], "n_seeds": N_CNSGA, "first": settings.N_SEEDS}
    return Unit(
        _name(settings.CNSGA, family, ("size",)).replace("runs/", "again/", 1),
        f"{PACKAGE}.peers:cnsga",
        {"kinds": ("size",), "tables": members} | more,
        needs="optuna",
        cost=COSTS[settings.CNSGA] * len(members) * N_CNSGA,
    )


def _peers(family: str, members: list[Table], quick: bool) -> list[Unit]:
    own, n = quantiles(quick, settings.CNSGA), QUICK_HYPEROPT if quick else N_HYPEROPT
    search = Unit(
        f"unconstrained/parzax/{family}",
        f"{PACKAGE}.unconstrained:search",
        {"tables": members, "n_seeds": n},
        cost=20,
    )
    hyperopt = Unit(
        f"unconstrained/hyperopt/{family}",
        f"{PACKAGE}.peers:hyperopt",
        {"tables": members, "n_seeds": n},
        needs="hyperopt",
        cost=0.8 * n * len(members),
    )
    each = [
        Unit(
            _name(settings.CNSGA, family, (kind,)),
            f"{PACKAGE}.peers:cnsga",
            {"kinds": (kind,), "tables": members, "quantiles": own, "n_seeds": _n_seeds(quick)},
            needs="optuna",
            cost=COSTS[settings.CNSGA] * len(members) * len(own) * _n_seeds(quick),
        )
        for kind in settings.CONSTRAINTS
    ]
    return [search, hyperopt, *each]


def _n_seeds(quick: bool) -> int:
    return settings.QUICK_SEEDS if quick else settings.N_SEEDS


def _name(method: str, family: str, kinds: tuple[str, ...]) -> str:
    return f"runs/{method}/{family}-{'-'.join(kinds)}"


def results(found: Mapping[str, Arrays], kind: str = "runs") -> Results:
    """All constrained runs, or those of another kind: of methods that ran "again", or "alone"."""
    each = [(name.split("/")[1], arrays) for name, arrays in found.items() if name.startswith(f"{kind}/")]
    return Results.of_units(each, found.get("oracles", {}))


def rows(found: Mapping[str, Arrays]) -> list[Row]:
    """All rows."""
    own = results(found)
    n_quantiles = len({setting.quantile for setting in own.oracle}) or 1
    run = [table for table in constrained(quick=False) if table.name in own.tables()]
    every = computed_by(toy, toy.rows(found["toy/maps"], found["toy/overlaps"]))
    every += computed_by(toy, toy.trajectory_rows(found["toy/overlaps"]))
    every += computed_by(vanished, vanished.rows(found["toy/vanished"], found["toy/modes"]))
    every += computed_by(theory, theory.rows(found)) + computed_by(shares, shares.rows(found, run))
    every += computed_by(algorithms, algorithms.rows(found))
    first = first_feasible.rows(found.get("algorithms/first", {}), own)
    every += computed_by(first_feasible, first)
    again = results(found, "again")
    # All seeds of the methods that ran again; a quick run has none.
    most = own.with_more(again) if again.losses else own
    every += computed_by(counts, counts.rows(own, most))
    every += computed_by(nei, nei.rows(most))
    every += computed_by(trajectories, trajectories.rows(own, most, n_quantiles))
    every += computed_by(feasible, feasible.rows(own, most))
    without = unconstrained_runs(found)
    every += computed_by(unconstrained, unconstrained.rows(without))
    every += computed_by(unconstrained, unconstrained.rank_rows(list(without.get(unconstrained.PRESET, {}))))
    every += computed_by(authors, [authors.row(found.get("authors", {}), own, _seconds(found))])
    last = f"t2-{settings.PRINTED_QUANTILES[-1]:g}"
    reasons = REASONS | {last: candidates.reason(most, results(found, candidates.KIND))}
    return [replace(row, reason=row.reason or reasons.get(row.key, "")) for row in every]


def _seconds(found: Mapping[str, Arrays]) -> float:
    """Of all runs of c-TPE."""
    own = [arrays for name, arrays in found.items() if name.startswith(f"runs/{settings.OURS}/")]
    return sum(float(arrays["seconds"]) for arrays in own)


def unconstrained_runs(found: Mapping[str, Arrays]) -> dict[str, Arrays]:
    """Method -> table -> losses (s, n), of those that ran."""
    by_method: dict[str, Arrays] = {}
    for name, arrays in found.items():
        if name.startswith("unconstrained/parzax"):
            for key, losses in arrays.items():
                method, table = key.split("/")
                by_method.setdefault(method, {})[table] = losses
        elif name.startswith("unconstrained/hyperopt"):
            for table, losses in arrays.items():
                by_method.setdefault(unconstrained.HYPEROPT, {})[table] = losses
    return by_method
