"""Samplers beside what people use: ``python -m benchmarks.optimisers [--quick] [--suite NAME] [--resume]``.

Writes a page (mean ranks, normalised regrets, tests over problems, times) with pictures and their numbers;
without --out a full run writes docs/optimisers, a quick one nothing. --settings compares presets of which one
setting is changed, in place of peers. Half of the problems are for choosing settings, the other half, --half
kept, is for the end. --resume goes on with the parts that a run which was killed left behind. Exits with
status 1 where a sampler of ours is no better than random search. PARZAX_DATA names the folder of tables.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import jax
import numpy as np

import parzax as px
from benchmarks.optimisers import methods, page, scores, suites
from benchmarks.optimisers.peers import PEERS
from benchmarks.optimisers.problems import CHOICE, HALVES
from benchmarks.optimisers.scores import Curves
from benchmarks.papers import runs
from benchmarks.papers.runs import Arrays, Unit

PAGES = Path(__file__).parents[2] / "docs" / "optimisers"
OURS = ("tpe", "optuna_tpe")
REFERENCE = "tpe"
QUICK_PEERS = ("Optuna TPE",)
QUICK_GROUPS = ("bbob-02d", "conditional", "hpolib")


def main(argv: list[str] | None = None) -> int:
    """Run the parts, write the page, and return 1 if a sampler of ours is no better than random search."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.optimisers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs, evaluations, problems and peers")
    parser.add_argument("--suite", choices=suites.SUITES, help="one of them alone")
    parser.add_argument("--half", choices=HALVES, default=CHOICE, help="which half of the problems")
    parser.add_argument("--settings", action="store_true", help="presets with one setting changed, no peers")
    parser.add_argument("--out", type=Path, help="where the page goes")
    parser.add_argument("--resume", action="store_true", help="go on with what a killed run left behind")
    options = parser.parse_args(argv)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        out = options.out or (Path(scratch) if options.quick else PAGES)
        out.mkdir(parents=True, exist_ok=True)
        kind = "settings" if options.settings else "peers"
        name = "-".join([kind, options.half, *([options.suite] if options.suite else [])])
        parts = out / f".{name}{'-quick' * options.quick}"
        parts_of = units(options)
        found = runs.run(parts_of, parts, resume=options.resume, say=runs.progress)
        runs.progress("")
        curves, seconds = gathered(found)
        took = runs.clock(parts, time.perf_counter() - start, resume=options.resume)
        text = written(curves, seconds, options, out, name, took)
        (out / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)
    lost = no_better_than_random(curves)
    for method in lost:
        print(f"does not hold: {method} has a better mean rank than random search")
    return 1 if lost else 0


def units(options: argparse.Namespace) -> list[Unit]:
    """Ours by group, peers by problem; random search is one of ours."""
    n_seeds, n = (6, 50) if options.quick else (suites.N_SEEDS, suites.N_EVALUATIONS)
    chosen = [options.suite] if options.suite else list(suites.SUITES)
    groups = [name for suite in chosen for name in suites.names(suite)]
    if options.quick:
        groups = [name for name in groups if name in QUICK_GROUPS]
    ours = methods.one_changed() if options.settings else OURS
    if options.quick:
        ours = ours[:2]
    found = []
    common = {"n_seeds": n_seeds, "n_evaluations": n}
    for group in groups:
        needs = ("bbobax",) if group.startswith("bbob") else ()
        for method in (methods.RANDOM, *ours):
            arguments = {"method": method, "group": group, "half": options.half, **common}
            function = "benchmarks.optimisers.searches:search"
            found.append(Unit(f"{method}/{group}", function, arguments, needs, cost=30.0))
        if options.settings:
            continue
        for peer in QUICK_PEERS if options.quick else PEERS:
            for case in suites.cases(group, options.half):
                arguments = {"peer": peer, "group": group, "case": case, **common}
                function, packages = "benchmarks.optimisers.peers:search", (*PEERS[peer].needs, *needs)
                name = f"{peer}/{case.replace(' ', '_')}"
                if not PEERS[peer].groups or group in PEERS[peer].groups:
                    found.append(Unit(name, function, arguments, packages, cost=PEERS[peer].cost))
    return found


def gathered(found: dict[str, Arrays]) -> tuple[dict[str, Curves], dict[str, float]]:
    """Method -> case -> regrets, and method -> seconds per run; what could not be run is not there."""
    curves: dict[str, dict[str, np.ndarray]] = {}
    seconds: dict[str, list[float]] = {}
    for name, arrays in found.items():
        method = name.split("/")[0]
        own = {case: array for case, array in arrays.items() if case != "seconds" and len(array)}
        if own:
            curves.setdefault(method, {}).update(own)
            n_runs = sum(map(len, own.values()))
            seconds.setdefault(method, []).append(float(arrays["seconds"]) / n_runs)
    return curves, {method: float(np.mean(own)) for method, own in seconds.items()}


def written(
    curves: dict[str, Curves],
    seconds: dict[str, float],
    options: argparse.Namespace,
    out: Path,
    name: str,
    took: float,
) -> str:
    """The page in Markdown; draws its pictures."""
    every = max(map(len, curves.values()))
    everywhere = {method: own for method, own in curves.items() if len(own) == every}
    n_runs, n = next(iter(everywhere[methods.RANDOM].values())).shape
    budgets = [budget for budget in suites.BUDGETS if budget <= n]
    of = {suite: suites.names(suite) for suite in suites.SUITES}
    groups = page.suites(scores.shared(everywhere), of)
    flags = "".join(f" --{key}" for key in ("quick", "settings") if getattr(options, key))
    flags += f" --suite {options.suite}" * bool(options.suite) + f" --half {options.half}"
    versions = f"parzax {px.__version__}, jax {jax.__version__}, Python {platform.python_version()}, "
    versions += f"{jax.devices()[0].device_kind}, {took:.0f} s, {n_runs} runs of {n} evaluations."
    blocks = [
        f"```bash\npython -m benchmarks.optimisers{flags}\n```",
        page.tables(everywhere, groups, budgets, REFERENCE, seconds),
        page.pictures(everywhere, groups, budgets[-2 if len(budgets) > 1 else -1], out / name),
    ]
    blocks += _of_few(curves, everywhere, budgets)
    peer = "Optuna TPE"
    if peer in everywhere:
        heading = f"## Where {REFERENCE} is worse than {peer}"
        blocks += [heading, page.behind(everywhere, REFERENCE, peer, budgets)]
    return "\n\n".join([*blocks, versions]) + "\n"


def _of_few(curves: dict[str, Curves], everywhere: dict[str, Curves], budgets: Sequence[int]) -> list[str]:
    """Peers that take too long for all problems, on those that they have."""
    rest = {method: own for method, own in curves.items() if method not in everywhere}
    if not rest:
        return []
    scale = scores.typical(curves[methods.RANDOM])
    lines = ["| | problems | " + " | ".join(f"after {b}" for b in budgets) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(budgets))
    for method, own in rest.items():
        cells = []
        for budget in budgets:
            with_one = scores.compare(curves[REFERENCE], {method: own}, scale, budget)[method]
            cells.append(f"{with_one.wins}/{with_one.losses}, {with_one.ratio:.2f}, p = {with_one.p:.2g}")
        n_runs = min(map(len, own.values()))
        lines.append(f"| {method}, {n_runs} runs | {len(own)} | " + " | ".join(cells) + " |")
    return [f"## {REFERENCE} beside peers that take long", "\n".join(lines)]


def no_better_than_random(curves: dict[str, Curves]) -> list[str]:
    """Samplers of ours that are not ahead of random search in mean rank after all evaluations."""
    random, lost = curves[methods.RANDOM], []
    for method, own in curves.items():
        if method == methods.RANDOM or method in PEERS:
            continue
        pair = {method: own, methods.RANDOM: random}
        cases = scores.shared(pair)
        ours, theirs = scores.ranks(pair, cases, next(iter(own.values())).shape[1]).mean(axis=1)
        if ours >= theirs:
            lost.append(method)
    return lost


if __name__ == "__main__":
    sys.exit(main())
