"""Beside a Gaussian process: ``python -m benchmarks.studies.gp [--quick] [--out FILE] [--resume]``.

Gaps of `px.tpe`, Optuna's TPE and Optuna's GP sampler on twenty problems of the half that
`benchmarks.studies.optimisers` keeps for the end, ten runs of a hundred evaluations each. Writes a page,
docs/studies/gp.md for a full run without --out. Exits with status 1 if `px.tpe` is no better than random
search. It takes 2.5 hours of one core. PARZAX_DATA names the folder of tables.
"""

import os
import sys
from collections.abc import Mapping

import numpy as np

from benchmarks.studies import pages
from benchmarks.studies.optimisers import discrete, peers, scores, suites
from benchmarks.studies.optimisers.page import table
from benchmarks.studies.optimisers.problems import KEPT
from benchmarks.studies.optimisers.scores import Curves
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit

OURS, GP, TPE, RANDOM = "tpe", "Optuna GP", "Optuna TPE", "random"
N_SEEDS, N_EVALUATIONS, BUDGETS = 10, 100, (15, 25, 50, 100)
# Kind -> group -> which of its kept problems.
PROBLEMS: Mapping[str, Mapping[str, slice]] = {
    "BBOB": {"bbob-02d": slice(0, None, 4), "bbob-05d": slice(2, None, 4)},
    "discrete": {name: slice(2 * i + 1, 2 * i + 2) for i, name in enumerate(discrete.SPACES)},
    "mixed, conditional": {"mixed": slice(None), "conditional": slice(None)},
    "tables": {name: slice(None) for name in suites.names("tables")},
}


def cases(group: str) -> list[str]:
    """The problems of a group."""
    return suites.cases(group, KEPT)[next(groups[group] for groups in PROBLEMS.values() if group in groups)]


def units(quick: bool) -> list[Unit]:
    """One for each problem and method."""
    n_seeds, n = (2, 20) if quick else (N_SEEDS, N_EVALUATIONS)
    found = []
    for group in [name for groups in PROBLEMS.values() for name in groups][:: 4 if quick else 1]:
        needs = ("bbobax",) if group.startswith("bbob") or group in discrete.SPACES else ()
        for case in cases(group)[: 1 if quick else None]:
            common, name = {"group": group, "n_seeds": n_seeds, "n_evaluations": n}, case.replace(" ", "_")
            for method in (OURS, RANDOM):
                arguments = {"method": method, "half": KEPT, "cases": (case,), **common}
                found.append(
                    Unit(
                        f"{method}/{name}", "benchmarks.studies.optimisers.searches:search", arguments, needs
                    )
                )
            for peer in (TPE, GP):
                arguments, packages = (
                    {"peer": peer, "case": case, **common},
                    (*peers.PEERS[peer].needs, *needs),
                )
                cost = 300.0 if peer == GP else 10.0
                found.append(
                    Unit(f"{peer}/{name}", "benchmarks.studies.gp:of_peer", arguments, packages, cost)
                )
    return found


def of_peer(peer: str, group: str, case: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit of Optuna's; as many threads as a process has cores are slower than one on so few rows."""
    if peer == GP:
        import torch

        torch.set_num_threads(1)
    one = peers.PEERS[peer]
    return peers.searched(peers.Peer(one.optimise, one.needs), group, case, n_seeds, n_evaluations)


def written(found: Mapping[str, Arrays]) -> Page:
    """The tables."""
    curves: dict[str, dict[str, np.ndarray]] = {}
    seconds: dict[str, list[float]] = {}
    for name, arrays in found.items():
        method = name.split("/")[0]
        for case in arrays.keys() - {"seconds"}:
            curves.setdefault(method, {})[case] = arrays[case]
            seconds.setdefault(method, []).append(float(arrays["seconds"]) / len(arrays[case]))
    shape = next(iter(curves[OURS].values())).shape
    budgets = [budget for budget in BUDGETS if budget <= shape[1]]
    took = ", ".join(f"{np.mean(seconds[name]):.1f} s for {name}" for name in (GP, TPE) if name in seconds)
    ranks = scores.ranks(curves, scores.shared(curves), budgets[-1]).mean(axis=1)
    by_method = dict(zip(curves, ranks, strict=True))
    # A quick run is too short for the claim.
    lost = shape[1] == N_EVALUATIONS and by_method[OURS] >= by_method[RANDOM]
    failed = ["px.tpe is no better than random search"] if lost else []
    blocks = [ABOUT, by_kind(curves, budgets), f"A run took {took} on one core.", EACH, each(curves, budgets)]
    return Page(blocks, shape, failed)


def by_kind(curves: Mapping[str, Curves], budgets: list[int]) -> str:
    """`px.tpe` beside the others, over the problems of each kind."""
    scale = scores.typical(curves[RANDOM])
    kinds = {
        kind: [case for case in curves[OURS] if case.split("/")[0] in groups]
        for kind, groups in PROBLEMS.items()
    }
    parts = {"all": list(curves[OURS])} | {kind: own for kind, own in kinds.items() if own}
    lines = []
    for part, own in parts.items():
        subset = {name: {case: of[case] for case in own if case in of} for name, of in curves.items()}
        others = {name: subset[name] for name in (GP, TPE) if subset.get(name)}
        compared = [scores.compare(subset[OURS], others, scale, budget) for budget in budgets]
        lines += [[f"{part}, {len(own)}", name, *(str(at[name]) for at in compared)] for name in others]
    return table(["problems", "beside", *(f"after {budget}" for budget in budgets)], lines)


def each(curves: Mapping[str, Curves], budgets: list[int]) -> str:
    """Ratios of median gaps, problem by problem, and in how many runs ours is smaller and larger."""
    lines = []
    for case, theirs in curves.get(GP, {}).items():
        cells = []
        for budget in budgets:
            pair = np.stack([own[: len(theirs), budget - 1] for own in (curves[OURS][case], theirs)])
            floor = scores.FLOOR * max(np.median(curves[RANDOM][case][:, 0]), 1e-30)
            ratio = np.divide(*np.maximum(np.median(pair, axis=1), floor))
            cells.append(f"{ratio:.2g} ({(pair[0] < pair[1]).sum()}/{(pair[0] > pair[1]).sum()})")
        lines.append([case, *cells])
    return table(["", *(f"after {budget}" for budget in budgets)], lines)


ABOUT = f"""Gaps to the optimum, after some evaluations, of `px.tpe` beside Optuna's GP sampler and its TPE.
The problems are from the half of [the suite](optimisers/index.md) that was kept for the end. A cell such as
"11/9, 1.20, p = 0.87" means: `px.tpe` has the smaller median gap on 11 problems and the larger one on 9; the
geometric mean of its gaps is 1.20 times the other's; p is from Wilcoxon's test over problems (Holm). Gaps
below {scores.FLOOR:g} times that of a random configuration are raised to this value. All samplers begin with
ten random rows."""
EACH = """## Problem by problem

The median gap of `px.tpe` over that of GP, and in how many of the runs its gap is smaller/larger. Ten runs
are few: only 9/1 and 10/0 would pass a sign test at p < 0.05."""


if __name__ == "__main__":
    # Before torch is loaded.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(pages.main(None, "gp", __doc__, "Beside a Gaussian process", units, written))
