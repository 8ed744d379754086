"""Samplers beside what people use: ``python -m benchmarks.studies.optimisers``.

Writes a page (mean ranks, normalised gaps, tests over problems, times) with pictures and their numbers;
without --out a full run writes docs/studies/optimisers, a quick one nothing. --settings compares `px.tpe`
with one setting changed, and what else was tried, in place of peers. Half of the problems are for choosing
settings, the other half, --half kept, is for the end. --resume goes on with the parts that a run which was
killed left behind. Exits with status 1 where a sampler of ours is no better than random search. PARZAX_DATA
names the folder of tables.
"""

import argparse
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import jax
import numpy as np

import parzax as px
from benchmarks.studies.optimisers import methods, page, scores, suites
from benchmarks.studies.optimisers.peers import PEERS
from benchmarks.studies.optimisers.problems import CHOICE, HALVES, KEPT
from benchmarks.studies.optimisers.scores import Curves
from benchmarks.studies.papers import runs
from benchmarks.studies.papers.runs import Arrays, Unit

PAGES = Path(__file__).parents[3] / "docs" / "studies" / "optimisers"
QUICK_PEERS = ("Optuna TPE",)
QUICK_GROUPS = ("bbob-02d", "conditional", "hpolib", "hpolib, size", "nmt_bench, two metrics")


def main(argv: list[str] | None = None) -> int:
    """Run the parts, write the page, and return 1 if a sampler of ours is no better than random search."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.optimisers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs, evaluations, problems and peers")
    parser.add_argument("--suite", choices=suites.SUITES, help="one of them alone")
    parser.add_argument("--half", choices=HALVES, default=CHOICE, help="which half of the problems")
    parser.add_argument("--settings", action="store_true", help="presets with one setting changed, no peers")
    parser.add_argument("--setting", choices=methods.SETTINGS, help="one of the settings alone")
    parser.add_argument("--out", type=Path, help="where the page goes")
    parser.add_argument("--resume", action="store_true", help="go on with what a killed run left behind")
    options = parser.parse_args(argv)
    if options.setting and not options.settings:
        parser.error("--setting goes with --settings")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        out = options.out or (Path(scratch) if options.quick else PAGES)
        out.mkdir(parents=True, exist_ok=True)
        what = "settings" if options.settings else "peers"
        name = "-".join(filter(None, [what, options.half, options.suite, options.setting]))
        parts = out / f".{name}{'-quick' * options.quick}"
        found = runs.run(units(options), parts, resume=options.resume, say=runs.progress)
        runs.progress("")
        curves, seconds = gathered(found)
        took = runs.clock(parts, time.perf_counter() - start, resume=options.resume)
        text = written(curves, seconds, options, out / name, took)
        (out / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)
    lost = no_better_than_random(curves)
    for method in lost:
        print(f"does not hold: {method} has a better mean rank than random search")
    return 1 if lost else 0


def units(options: argparse.Namespace) -> list[Unit]:
    """Ours by group, peers by problem; random search is one of ours."""
    n_seeds, n = (6, 50) if options.quick else (suites.N_SEEDS, suites.N_EVALUATIONS)
    if options.settings:
        n_seeds = min(n_seeds, suites.N_SEEDS_OF_SETTINGS)
    common, found = {"n_seeds": n_seeds, "n_evaluations": n}, []
    for kind, of_kind in suites.KINDS.items():
        ours = methods.settings(kind, options.setting) if options.settings else methods.OURS[kind]
        groups = [
            group
            for suite in of_kind
            if options.suite in (None, suite)
            for group in suites.names(suite)
            if not options.quick or group in QUICK_GROUPS
            if not options.settings or group in suites.OF_SETTINGS
        ]
        peers = {name: peer for name, peer in PEERS.items() if kind in peer.kinds and not options.settings}
        if options.quick:
            ours, peers = ours[:2], {name: peer for name, peer in peers.items() if name in QUICK_PEERS}
        for group in groups:
            needs = ("bbobax",) if "bbob-" in group else ()
            for method in (methods.RANDOM, *ours):
                arguments = {"method": method, "group": group, "half": options.half, **common}
                function = "benchmarks.studies.optimisers.searches:search"
                found.append(Unit(f"{method}/{group}", function, arguments, needs, cost=30.0))
            for name, peer in peers.items():
                for case in suites.cases(group, options.half):
                    if peer.groups and group not in peer.groups:
                        continue
                    arguments = {"peer": name, "group": group, "case": case, **common}
                    function, packages = "benchmarks.studies.optimisers.peers:search", (*peer.needs, *needs)
                    unit = f"{name}/{case.replace(' ', '_')}"
                    found.append(Unit(unit, function, arguments, packages, cost=peer.cost))
    return found


def gathered(found: dict[str, Arrays]) -> tuple[dict[str, Curves], dict[str, Curves]]:
    """Method -> case -> gaps, and method -> case -> seconds per run; what could not be run is not there."""
    curves: dict[str, dict[str, np.ndarray]] = {}
    seconds: dict[str, dict[str, np.ndarray]] = {}
    for name, arrays in found.items():
        method = name.split("/")[0]
        own = {case: array for case, array in arrays.items() if case != "seconds" and len(array)}
        if own:
            curves.setdefault(method, {}).update(own)
            per_run = arrays["seconds"] / sum(map(len, own.values()))
            seconds.setdefault(method, {}).update(
                {case: np.full(len(gaps), per_run) for case, gaps in own.items()}
            )
    return curves, seconds


def by_kind(curves: dict[str, Curves]) -> dict[str, dict[str, Curves]]:
    """Kind -> method -> case -> gaps; kinds and methods without cases are not there."""
    found = {}
    for kind, of_kind in suites.KINDS.items():
        groups = {group for suite in of_kind for group in suites.names(suite)}
        own = {
            method: {case: gaps for case, gaps in cases.items() if case.split("/")[0] in groups}
            for method, cases in curves.items()
        }
        own = {method: cases for method, cases in own.items() if cases}
        if own:
            found[kind] = own
    return found


def written(
    curves: dict[str, Curves],
    seconds: dict[str, Curves],
    options: argparse.Namespace,
    folder: Path,
    took: float,
) -> str:
    """The page in Markdown; draws its pictures."""
    flags = "".join(f" --{key}" for key in ("quick", "settings") if getattr(options, key))
    flags += "".join(
        f" --{key} {getattr(options, key)}" for key in ("setting", "suite", "half") if getattr(options, key)
    )
    title = "One setting changed" if options.settings else "Beside what people use"
    half = "the half kept for the end" if options.half == KEPT else "the half for choosing"
    blocks = [f"# {title}: {half}", f"```bash\npython -m benchmarks.studies.optimisers{flags}\n```"]
    shape = 0, 0
    for kind, own in by_kind(curves).items():
        every = max(map(len, own.values()))
        whole = {method: cases for method, cases in own.items() if len(cases) == every}
        shape = next(iter(whole[methods.RANDOM].values())).shape
        budgets = [budget for budget in suites.BUDGETS if budget <= shape[1]]
        groups = suites.parts(kind, scores.shared(whole))
        took_by = {
            name: float(np.concatenate([seconds[name][case] for case in own[name]]).mean()) for name in own
        }
        reference = methods.OURS[kind][0]
        place = folder / kind.replace(" ", "_")
        blocks += [
            f"## {kind[0].upper()}{kind[1:]}",
            page.tables(whole, groups, budgets, reference, took_by),
            page.pictures(
                whole,
                groups,
                budgets[-2 if len(budgets) > 1 else -1],
                place,
                reference if options.settings else None,
            ),
        ]
        rest = [method for method in own if method not in whole]
        if rest:
            heading = f"### {reference} beside those that ran on a part of the problems"
            blocks += [heading, page.of_few(own, rest, budgets, reference)]
        heading = f"### Where others are ahead of {reference}"
        about = "Each cell lists problems with p < 0.01 (Wilcoxon over runs, Holm over problems), "
        about += "and the ratio of median gaps."
        blocks += [heading, about, page.ahead(own, reference, budgets)]
    versions = f"parzax {px.__version__}, jax {jax.__version__}, Python {platform.python_version()}, "
    versions += f"{jax.devices()[0].device_kind}, {took:.0f} s, {shape[0]} runs of {shape[1]} evaluations."
    return "\n\n".join([*blocks, versions]) + "\n"


def no_better_than_random(curves: dict[str, Curves]) -> list[str]:
    """Samplers of ours that are not ahead of random search in mean rank after all evaluations."""
    lost = []
    for own in by_kind(curves).values():
        for method, cases in own.items():
            if method == methods.RANDOM or method in PEERS:
                continue
            pair = {method: cases, methods.RANDOM: own[methods.RANDOM]}
            n = next(iter(cases.values())).shape[1]
            ours, theirs = scores.ranks(pair, scores.shared(pair), n).mean(axis=1)
            if ours >= theirs:
                lost.append(method)
    return lost


if __name__ == "__main__":
    sys.exit(main())
