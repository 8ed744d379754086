"""An Optuna user changes one line: ``python -m benchmarks.studies.optuna_studies``.

Optuna studies whose sampler is `px.adapters.optuna.TPESampler`, beside those whose sampler is Optuna's
`TPESampler`, both with their defaults, on problems of `benchmarks.studies.optimisers` from its half kept for
the end. Writes a page, docs/studies/optuna_studies.md for a full run without --out. Exits with status 1 where
the first is behind the second, significantly or far.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks.studies import pages
from benchmarks.studies.optimisers import page, peers, scores, suites
from benchmarks.studies.optimisers.problems import KEPT
from benchmarks.studies.optimisers.scores import FAR, Comparison, Curves
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit

OURS, THEIRS = "parzax", "Optuna"
GROUPS = {
    "floats": "bbob-05d",
    "of every kind": "mixed",
    "conditional": "conditional",
    "tables": "hpolib",
    "constraints": "mixed in a ball",
    "two objectives": "hpolib, two metrics",
}
N_STUDIES, N_TRIALS = 20, 100
CHECKPOINTS = 25, 50, 100


def _ours(_: Any, seed: int) -> Any:
    return px.adapters.optuna.TPESampler(seed=seed)


def _theirs(samplers: Any, seed: int) -> Any:
    return samplers.TPESampler(seed=seed)


SAMPLERS = {OURS: _ours, THEIRS: _theirs}


def search(sampler: str, group: str, case: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: "gaps" (s, n), and the "seconds" (s,) of each study in its sampler.

    The first study compiles, as in the first process ever: nothing is read from disk.
    """
    from benchmarks.timed_sampler import Timed

    os.environ["PARZAX_NO_CACHE"] = "1"
    jax.clear_caches()
    used: list[Timed] = []

    def make(samplers: Any, seed: int) -> Any:
        used.append(Timed(SAMPLERS[sampler](samplers, seed)))
        return used[-1]

    peer = peers.Peer(partial(peers.in_study, make), ("optuna",))
    found = peers.searched(peer, group, case, n_seeds, n_evaluations)
    return {"gaps": found[case], "seconds": np.array([own.seconds for own in used])}


def units(quick: bool) -> list[Unit]:
    """Every problem, by both."""
    n_seeds, n = (4, 50) if quick else (N_STUDIES, N_TRIALS)
    found = []
    for kind, group in (("conditional", "conditional"),) if quick else GROUPS.items():
        needs = ("optuna", "bbobax") if group.startswith("bbob") else ("optuna",)
        for case in _cases(group)[: 2 if quick else None]:
            for sampler in SAMPLERS:
                arguments = {"sampler": sampler, "group": group, "case": case}
                arguments |= {"n_seeds": n_seeds, "n_evaluations": n}
                name = f"{sampler}/{kind}/{case.replace('/', '|')}"
                found.append(
                    Unit(
                        name,
                        "benchmarks.studies.optuna_studies:search",
                        arguments,
                        needs,
                        cost=20.0,
                        alone=True,
                    )
                )
    return found


def _cases(group: str) -> list[str]:
    """Of the half kept for the end; none of tables that PARZAX_DATA lacks."""
    there = any(group in suites.names(suite) for suite in suites.SUITES)
    return suites.cases(group, KEPT) if there else []


def compared(found: Mapping[str, Arrays], kinds: Sequence[str], budget: int) -> Comparison:
    """Median gaps of ours with Optuna's over the problems of some kinds."""
    curves: dict[str, Curves] = {sampler: {} for sampler in SAMPLERS}
    for name, arrays in found.items():
        sampler, kind, case = name.split("/")
        if kind in kinds:
            curves[sampler] = {**curves[sampler], case: arrays["gaps"]}
    # Of the first trial, which is random for both.
    scale = scores.typical(curves[THEIRS])
    return scores.compare(curves[OURS], {THEIRS: curves[THEIRS]}, scale, budget)[THEIRS]


def seconds(found: Mapping[str, Arrays], kinds: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Sampler -> seconds of a first study, and of one of those that follow: medians over problems."""
    of = {sampler: [] for sampler in SAMPLERS}
    for name, arrays in found.items():
        sampler, kind, _ = name.split("/")
        if kind in kinds:
            first, *later = arrays["seconds"]
            of[sampler].append((first, np.median(later)))
    return {sampler: tuple(np.median(own, axis=0).tolist()) for sampler, own in of.items()}


def table(found: Mapping[str, Arrays], budgets: Sequence[int]) -> str:
    """By kind of problem and for all."""
    kinds = list(dict.fromkeys(name.split("/")[1] for name in found))
    heads = ["", "problems", *(f"after {budget}" for budget in budgets)]
    heads += [f"{sampler}, {which}" for sampler in SAMPLERS for which in ("first study", "later ones")]
    lines = []
    for name, own in [*((kind, [kind]) for kind in kinds), ("all", kinds)]:
        n = len({case for one in found for _, kind, case in [one.split("/")] if kind in own})
        by_budget = [compared(found, own, budget) for budget in budgets]
        took = [f"{second:.2f} s" for pair in seconds(found, own).values() for second in pair]
        lines.append([name, str(n), *map(str, by_budget), *took])
    return page.table(heads, lines)


def behind(found: Mapping[str, Arrays], budgets: Sequence[int]) -> list[str]:
    """Budgets after which ours are behind over all problems, at p < 0.01 or by more than `FAR`."""
    kinds = list({name.split("/")[1] for name in found})
    by_budget = {budget: compared(found, kinds, budget) for budget in budgets}
    lost = {b: c for b, c in by_budget.items() if c.ratio > FAR or (c.ratio > 1 and c.p < 0.01)}
    return [f"after {b}, by {c.ratio:.2f}" for b, c in lost.items()]


def written(found: Mapping[str, Arrays]) -> Page:
    """The table, and what does not hold."""
    shape = next(iter(found.values()))["gaps"].shape
    budgets = [budget for budget in CHECKPOINTS if budget <= shape[1]]
    failed = behind(found, budgets)
    claim = "Over all problems, parzax should not be behind at p < 0.01, nor by a factor above 2. "
    held = f"It is: {'; '.join(failed)}." if failed else "It is not."
    return Page([ABOUT, table(found, budgets), claim + held], shape, failed)


ABOUT = """What changes if an Optuna study gets `sampler=px.adapters.optuna.TPESampler()` instead of
`optuna.samplers.TPESampler()`? Both run with their defaults, on the problems of [the
suite](optimisers/index.md) that were kept for the end.

A cell such as "18/11, 0.89, p = 0.011" means: parzax has the smaller median gap on 18 problems and the
larger one on 11; the geometric mean of its gaps is 0.89 times Optuna's; p is from Wilcoxon's test over
problems, not adjusted. Seconds are the time spent in the sampler in one study (median over problems). The
first study of a process compiles everything; later ones use these programs."""


if __name__ == "__main__":
    sys.exit(pages.main(None, "optuna_studies", __doc__, "Optuna studies, one line changed", units, written))
