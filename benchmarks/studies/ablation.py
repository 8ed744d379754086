"""What each component of the papers' samplers is worth: ``python -m benchmarks.studies.ablation [--quick]``.

`parzax.c_tpe` and `parzax.papers.authors_meta_learn_tpe` beside themselves with one option changed, on
ellipsoids and on tables of PARZAX_DATA. Writes a page (docs/studies/ablation.md for a full run without --out)
and a picture.
"""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.settings import adjusted
from benchmarks.studies import pages
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.drawing import save, short
from benchmarks.studies.papers.meta_learn_tpe.searches import EPSILON
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table, families, tables
from benchmarks.studies.source_tasks import ball, best_losses, ellipsoid, log_of, problem_of
from parzax.samplers import RandomStart

# Runs for each problem and option by sampler; one with sources takes fifteen times as long.
N_RUNS, QUICK_RUNS, BUDGETS = {"c_tpe": 500, "meta": 100}, 4, (20, 50, 100)
# Runs of one unit: a unit that is killed is lost.
N_EACH = 50
# Gaps below this share of the median first one are raised to it.
FLOOR = 1e-4
# Two settings are equal if the 95 % interval of their ratio lies within this factor.
EQUAL = 1.15
N_TASKS, BASE = 4, "as it is"
PAPERS = {"c_tpe": "`px.c_tpe`", "meta": "`px.papers.authors_meta_learn_tpe`"}
COMMON: Mapping[str, Mapping[str, Any]] = {
    "one in five at random": {"epsilon": 0.2},
    "candidates drawn jointly": {"joint": True},
    "no repeats": {"repeats": False},
    "good rows by linear(0.2)": {"gamma": px.gamma.Linear(0.2)},
    "bandwidth: neighbours": {"bandwidth": px.bandwidth.Neighbours()},
    "top: Optuna's": {"top": px.bandwidth.OptunaTop()},
    "good rows weighted by rank": {"merit": px.merits.ByRank()},
}
OPTIONS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "c_tpe": {
        **COMMON,
        "12 candidates": {"n_candidates": 12},
        "64 candidates": {"n_candidates": 64},
        "200 candidates": {"n_candidates": 200},
        "one in twenty at random": {"epsilon": EPSILON},
        "5 first at random": {"n_startup": 5},
        "20 first at random": {"n_startup": 20},
        "bandwidth: Scott, clipped at 0.1": {"bandwidth": px.bandwidth.Scott(0.1)},
        "all rows at a constraint's minimum below": {"unsatisfied": "all"},
        "shares of constraints cubed": {"share_power": 3.0},
        "naive product": {"acquisition": px.acquisition.Naive()},
    },
    "meta": {
        **COMMON,
        "24 candidates of each task": {"n_candidates": 24},
        "none at random": {"epsilon": 0.0},
        "no warm start": {"start": RandomStart(5)},
        "10 first": {"n_startup": 10},
        "bandwidth: Scott, not clipped": {"bandwidth": px.bandwidth.Scott(1e-4)},
        "compared with Scott's, not clipped": {"compared_bandwidth": px.bandwidth.Scott(1e-4)},
        "similarity at uniform points": {"estimate": "uniform"},
        "no dimension reduction": {"eta": None},
        "equal weights of the sources": {"eta": np.inf},
        "weights by stacking": {"task_weights": px.meta.Stacking()},
    },
}


def constrained(problem: tuple[str, Any], first: int, n_runs: int, options: Sequence[str]) -> Arrays:
    """A unit: option -> gaps (s, budgets) under constraints; for ("table", (table, names, quantile))."""
    kind, arguments = problem
    if kind == "ball":
        target, least = ball(4, 0.0), 0.0
    else:
        target, least = _limited(*arguments)

    def gaps(changed: Mapping[str, Any]) -> np.ndarray:
        sampler = adjusted(px.c_tpe, **changed)(target.space, n_constraints=target.n_constraints)
        return _gaps([sampler] * n_runs, target, first, least)

    return {BASE: gaps({})} | {name: gaps(OPTIONS["c_tpe"][name]) for name in options}


def _limited(table: Table, names: Sequence[str], quantile: float) -> tuple[px.samplers.Tabular, float]:
    limits = dict.fromkeys(names, quantile)
    loaded = load_table(table.path, [table.objectives[0]], constraint_quantiles=limits)
    unnamed = {"name": "", "objective_names": ("",), "constraint_names": ("",) * len(names)}
    return dataclasses.replace(loaded, **unnamed), float(np.asarray(loaded.oracle.best)[0])


def with_sources(problem: tuple[str, Any], first: int, n_runs: int, options: Sequence[str]) -> Arrays:
    """A unit: the same with four sources; of ("ellipsoid", centre), or of ("table", (table, others))."""
    kind, arguments = problem
    if kind == "ellipsoid":
        target, sources, least = ellipsoid(4, 0.0), [ellipsoid(4, arguments)], 0.0
    else:
        table, others = arguments
        target, sources = problem_of(table), [problem_of(other) for other in others]
        least = float(np.nanmin(np.asarray(target.losses)))
    logs = [
        {f"task {i}": log_of(sources[i % len(sources)], (first + seed, i)) for i in range(N_TASKS)}
        for seed in range(n_runs)
    ]

    def gaps(changed: Mapping[str, Any]) -> np.ndarray:
        settings = {"epsilon": EPSILON} | dict(changed)
        samplers = [
            adjusted(px.papers.authors_meta_learn_tpe, **settings)(target.space, each) for each in logs
        ]
        return _gaps(samplers, target, first, least)

    return {BASE: gaps({})} | {name: gaps(OPTIONS["meta"][name]) for name in options}


def _gaps(samplers: Sequence[px.samplers.Sampler], target: Any, first: int, least: float) -> np.ndarray:
    """After 1 evaluation, and after each budget; options share keys and logs, so that runs are pairs."""
    best = best_losses(samplers, target, first)
    return best[:, [0, *(budget - 1 for budget in BUDGETS)]] - least


def units(quick: bool) -> list[Unit]:
    """Three or four problems of each paper, in units of `N_EACH` runs."""
    by_name = {table.name: table for table in tables()}
    wanted: list[tuple[str, str, tuple[str, Any]]] = [("c_tpe", "ball", ("ball", None))]
    limits = ("slice_localization", ("size",), 0.1), ("slice_localization", ("size", "runtime"), 0.5)
    for name, names, quantile in (*limits, ("cifar10", ("size", "runtime"), 0.1)):
        if name in by_name:
            arguments = ("table", (by_name[name], names, quantile))
            wanted.append(("c_tpe", f"{name}, {' and '.join(names)} at {quantile}", arguments))
    wanted += [("meta", f"ellipsoid, c* = {center:g}", ("ellipsoid", center)) for center in (0.0, 2.0)]
    for own in families(tables()).values():
        for table in own:
            if table.name == "slice_localization":
                others = [other for other in own if other is not table]
                wanted.append(("meta", table.name, ("table", (table, others))))
    if quick:
        wanted = [each for each in wanted if each[1] in ("ball", "ellipsoid, c* = 0")]
    functions, found = {"c_tpe": "constrained", "meta": "with_sources"}, []
    for paper, name, problem in wanted:
        n_runs, n_each = (QUICK_RUNS,) * 2 if quick else (N_RUNS[paper], N_EACH)
        for first in range(0, n_runs, n_each):
            options = list(OPTIONS[paper])[-2:] if quick else list(OPTIONS[paper])
            arguments = {"problem": problem, "first": first, "n_runs": n_each, "options": options}
            cost = 18.0 if paper == "c_tpe" else 250.0
            work = f"benchmarks.studies.ablation:{functions[paper]}"
            found.append(Unit(f"{paper}/{name}/{first}", work, arguments, cost=cost))
    return found


# --- the page ----------------------------------------------------------------------------------------


def logs_of(found: Mapping[str, Arrays], paper: str) -> dict[str, dict[str, np.ndarray]]:
    """Problem -> option -> logs of gaps (s, budgets), of all its parts."""
    parts: dict[str, list[Arrays]] = {}
    for unit, arrays in found.items():
        if unit.startswith(f"{paper}/"):
            parts.setdefault(unit.split("/")[1], []).append(arrays)
    out = {}
    for problem, each in parts.items():
        gaps = {name: np.concatenate([one[name] for one in each]) for name in each[0]}
        least = FLOOR * np.median(gaps[BASE][:, 0])
        out[problem] = {name: np.log(np.maximum(own[:, 1:], least)) for name, own in gaps.items()}
    return out


def options_of(logs: Mapping[str, Mapping[str, np.ndarray]]) -> list[str]:
    """Those that were run."""
    return [name for name in next(iter(logs.values())) if name != BASE]


def ratio(logs: Mapping[str, Mapping[str, np.ndarray]], option: str, budget: int) -> tuple[float, ...]:
    """Geometric mean of gaps over those of the sampler as it is, and its 95 % interval over runs."""
    column = BUDGETS.index(budget)
    pairs = [own[option][:, column] - own[BASE][:, column] for own in logs.values()]
    mean = float(np.mean([each.mean() for each in pairs]))
    error = float(np.sqrt(sum(each.var(ddof=1) / len(each) for each in pairs)) / len(pairs))
    reach = float(scipy.stats.t.ppf(0.975, len(pairs[0]) - 1)) * error
    return tuple(np.exp([mean, mean - reach, mean + reach]).tolist())


def verdict(low: float, high: float) -> str:
    """Of an interval of a ratio."""
    if low >= 1 / EQUAL and high <= EQUAL:
        return f"equal within {EQUAL}"
    return "better" if high < 1 else "worse" if low > 1 else "not told apart"


def table(logs: Mapping[str, Mapping[str, np.ndarray]], options: Sequence[str]) -> str:
    """A row for each option."""
    lines = ["| option | " + " | ".join(f"after {b}" for b in BUDGETS) + " | after 100: verdict |"]
    lines.append("| --- |" + " --- |" * (len(BUDGETS) + 1))
    for option in options:
        ratios = [ratio(logs, option, budget) for budget in BUDGETS]
        cells = ["{:.2f} ({:.2f}, {:.2f})".format(*each) for each in ratios]
        lines.append(f"| {option} | " + " | ".join(cells) + f" | {verdict(*ratios[-1][1:])} |")
    return "\n".join(lines)


def each_problem(logs: Mapping[str, Mapping[str, np.ndarray]], options: Sequence[str]) -> str:
    """The same after 100 evaluations, with a column for each problem."""
    lines = ["| option | " + " | ".join(logs) + " |", "| --- |" + " --- |" * len(logs)]
    for option in options:
        cells = (
            "{:.2f} ({:.2f}, {:.2f})".format(*ratio({name: own}, option, 100)) for name, own in logs.items()
        )
        lines.append(f"| {option} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(found: Mapping[str, Arrays], path: Path) -> None:
    """Ratios after 100 evaluations with their intervals, a panel for each paper."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    lines = []
    for ax, (paper, title) in zip(axes, PAPERS.items(), strict=True):
        logs = logs_of(found, paper)
        options = options_of(logs)
        ratios = np.array([ratio(logs, option, 100) for option in options])
        order = np.argsort(-ratios[:, 0])
        for y, (middle, low, high) in enumerate(ratios[order]):
            ax.plot([low, high], [y, y], color="C0", lw=2)
            ax.plot(middle, y, "o", color="C0", ms=5)
        ax.axvspan(1 / EQUAL, EQUAL, color="0.92", zorder=0)
        ax.axvline(1, color="0.4", lw=1, zorder=1)
        ax.set(xscale="log", title=title.strip("`"), xlabel="gap over that of the unchanged sampler")
        ticks = [
            tick for tick in (0.5, 0.7, 1, 1.4, 2, 3, 5) if ratios.min() / 1.2 < tick < ratios.max() * 1.2
        ]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_yticks(range(len(options)), [options[i] for i in order], fontsize=8)
        lines += [(paper, options[i], *map(short, ratios[i])) for i in order[::-1]]
    save(figure, path, ("sampler", "option", "ratio", "low", "high"), lines)


def written(found: Mapping[str, Arrays]) -> Page:
    """The tables."""
    blocks, n_runs = [ABOUT], 0
    for paper, title in PAPERS.items():
        logs = logs_of(found, paper)
        options = options_of(logs)
        n_runs = max(n_runs, sum(len(own[BASE]) for own in logs.values()))
        blocks += [f"## {title}", table(logs, options), EACH, each_problem(logs, options)]
    return Page(blocks, (n_runs, BUDGETS[-1]), [], lambda path: draw(found, path))


ABOUT = f"""Each number is a ratio of two gaps to the optimum: with one option changed, divided by unchanged.
It is a geometric mean over problems and runs, with its 95 % interval over runs. Below 1 the change helps.

![Ratios with their intervals](ablation.png)

* In a full run each problem has {N_RUNS["c_tpe"]} runs of each option with `px.c_tpe`, and {N_RUNS["meta"]}
  with `px.papers.authors_meta_learn_tpe`.
* *Equal within {EQUAL}*: the interval lies between 1 / {EQUAL} and {EQUAL}. *Better* and *worse* exclude 1.
  The verdicts hold for these problems only.
* Runs with and without the change have the same keys, and the same logs of sources.
* `px.c_tpe` has constraints: a ball around the optimum of an ellipsoid of four dimensions, and on tables
  limits at quantiles of their entries.
* `px.papers.authors_meta_learn_tpe` suggests one in twenty at random, as in the paper, and has four sources
  of 100 random rows: ellipsoids around c* (the target is around 0), or the other tables of the benchmark.
* Before the first feasible evaluation, the loss is the largest of the run. Gaps are at least {FLOOR:g} of the
  median gap after one evaluation.
* Unchanged, both samplers draw each parameter of a candidate by itself, allow repeats, weight good rows
  equally and have Scott's bandwidth. `px.c_tpe` has 24 candidates, ceil(sqrt(N) / 4) good rows and 10 first
  suggestions at random. `px.papers.authors_meta_learn_tpe` has 100 candidates of each task, a tenth of the
  rows as good rows, and 5 first suggestions, the best rows of the sources."""
EACH = "Each problem, after 100 evaluations:"


if __name__ == "__main__":
    sys.exit(pages.main(None, "ablation", __doc__, "One component changed", units, written))
