"""Do source tasks ever hurt? ``python -m benchmarks.studies.sources [--quick] [--out FILE] [--resume]``.

Best losses with sources over those of the same sampler without any, by rule of weights: on ellipsoids whose
centre is that of the sources (c* = 0) or further and further away (c* = 1, 2, 3), and on tables of
PARZAX_DATA with the other tables of their benchmark as sources. Writes a page, docs/studies/sources.md for a
full run without --out. Exits with status 1 where a claim about the default does not hold.
"""

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence

import jax
import numpy as np

import parzax as px
from benchmarks import toys
from benchmarks.load_table import load_table
from benchmarks.studies import pages
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.meta_learn_tpe import ellipsoids, searches
from benchmarks.studies.papers.meta_learn_tpe.searches import N_ROWS
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table, families, tables

Logs = Mapping[str, px.Observations]

ALONE, DEFAULT = "without", "warm start (default)"
METHODS: Mapping[str, Callable[[px.Space, Logs], px.samplers.Sampler]] = {
    DEFAULT: px.meta_learn_tpe,
    "stacking": lambda space, logs: px.meta_learn_tpe(space, logs, task_weights=px.meta.Stacking()),
    "by similarity": lambda space, logs: px.meta_learn_tpe(space, logs, task_weights=px.meta.BySimilarity()),
    "the paper's sampler": px.papers.authors_meta_learn_tpe,
}
DIMS, N_TASKS, CENTERS = (4, 10), (1, 2, 4, 8), (0, 1, 2, 3)
# Of the ellipsoids so many sources also count in other ways.
COMPARED = 4
# Runs of the default and of the sampler without sources, and of the others.
N_SEEDS, N_SEEDS_OF_OTHERS = 120, 30
N_EVALUATIONS, BUDGETS = 200, (10, 20, 50, 100, 200)
FLOOR = 1e-4
# Behind by at most this after 50 evaluations or more.
MOST_BEHIND = 1.05


def on_ellipsoids(dim: int, n_tasks: int, n_seeds: int, n_evaluations: int, centers: Sequence[int]) -> Arrays:
    """A unit: "METHOD/c* = CENTER" (s, n) best loss so far; without sources the same for all centres."""
    target = toys.ellipsoid(dim)
    found = {ALONE: _best([px.tpe(target.space)] * n_seeds, target, n_evaluations)}
    for center in centers:
        logs = [ellipsoids.logs(dim, center, n_tasks, seed) for seed in range(n_seeds)]
        for method, make in METHODS.items():
            if method != DEFAULT and n_tasks != COMPARED:
                continue
            own = [make(target.space, each) for each in logs[: _runs(method)]]
            found[f"{method}/c* = {center}"] = _best(own, target, n_evaluations)
    return found


def on_table(target: Table, others: Sequence[Table], n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: "METHOD/tables" (s, n) best loss so far, less the smallest of the table."""
    own, *rest = (_problem(table) for table in (target, *others))
    logs = [
        {f"task {i}": _log(other, len(rest) * seed + i) for i, other in enumerate(rest)}
        for seed in range(n_seeds)
    ]
    least = float(np.nanmin(np.asarray(own.losses)))
    found = {ALONE: _best([px.tpe(own.space)] * n_seeds, own, n_evaluations) - least}
    for method, make in METHODS.items():
        samplers = [make(own.space, each) for each in logs[: _runs(method)]]
        found[f"{method}/tables"] = _best(samplers, own, n_evaluations) - least
    return found


def _runs(method: str) -> int:
    return N_SEEDS if method == DEFAULT else N_SEEDS_OF_OTHERS


def _best(samplers: Sequence[px.samplers.Sampler], problem: px.Problem, n_evaluations: int) -> np.ndarray:
    return searches.best(searches.runs(samplers, problem, n_evaluations)[0])


def _problem(table: Table) -> px.samplers.Tabular:
    loaded = load_table(table.path, [table.objectives[0]])
    return dataclasses.replace(loaded, name="", objective_names=("",))


def _log(own: px.samplers.Tabular, seed: int) -> px.Observations:
    """Random entries of a table."""
    choose, evaluate = jax.random.split(jax.random.key(seed))
    x = jax.vmap(own.decode)(jax.random.randint(choose, (N_ROWS,), 0, own.n_seeds.shape[0]))
    losses = jax.vmap(own)(jax.random.split(evaluate, N_ROWS), x)[0]
    return px.Observations.from_arrays(own.space, np.asarray(x, float), np.asarray(losses, float))


def units(quick: bool) -> list[Unit]:
    """One for each number of parameters and of tasks, and for each table."""
    dims, tasks, centers = ((4,), (COMPARED,), (0, 2)) if quick else (DIMS, N_TASKS, CENTERS)
    common = {"n_seeds": 8 if quick else N_SEEDS, "n_evaluations": 50 if quick else N_EVALUATIONS}
    module = "benchmarks.studies.sources"
    found = [
        Unit(
            f"ellipsoid/{dim}/{n}", f"{module}:on_ellipsoids",
            {"dim": dim, "n_tasks": n, "centers": centers, **common}, cost=600.0 if n == COMPARED else 60.0,
        )
        for dim in dims
        for n in tasks
    ]  # fmt: skip
    for family, own in families(tables()).items():
        if len(own) > 1 and not quick:
            for table in own:
                others = [other for other in own if other is not table]
                arguments = {"target": table, "others": others, **common}
                found.append(Unit(f"{family}/{table.name}", f"{module}:on_table", arguments, cost=150.0))
    return found


# --- the page ----------------------------------------------------------------------------------------


def log_ratios(found: Mapping[str, Arrays], method: str, budget: int) -> dict[str, np.ndarray]:
    """Setting -> (s,) logs of best losses over those without sources; runs of one number have one key.

    Losses below 1e-4 times the median first one are raised to this value: what is left there is rounding.
    """
    out = {}
    for unit, arrays in found.items():
        floor = FLOOR * np.median(arrays[ALONE][:, 0])
        without = np.log(np.maximum(arrays[ALONE][:, budget - 1], floor))
        for name, own in arrays.items():
            if name.startswith(f"{method}/"):
                logs = np.log(np.maximum(own[:, budget - 1], floor))
                out[f"{unit}/{name.split('/')[1]}"] = logs - without[: len(logs)]
    return out


def together(logs: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """Geometric mean of ratios, and its 95 % interval over runs: settings share those without sources."""
    of_runs = np.mean(logs, axis=0)
    mean, error = of_runs.mean(), of_runs.std(ddof=1) / len(of_runs) ** 0.5
    return tuple(float(x) for x in np.exp([mean, mean - 1.96 * error, mean + 1.96 * error]))


def compared(found: Mapping[str, Arrays]) -> dict[str, Arrays]:
    """The units in which all of `METHODS` were run."""
    return {unit: own for unit, own in found.items() if all(log_ratios({unit: own}, m, 1) for m in METHODS)}


def table(found: Mapping[str, Arrays], methods: Sequence[str], budgets: Sequence[int]) -> str:
    """Geometric means over settings of a kind, each way beside the others."""
    lines = ["| | settings | sources count by | " + " | ".join(f"after {b}" for b in budgets) + " |"]
    lines.append("| --- | ---: | --- |" + " --- |" * len(budgets))
    kinds = kinds_of([*log_ratios(found, DEFAULT, budgets[0])])
    for kind, settings in kinds.items():
        for method in methods:
            cells, chosen = [], []
            for budget in budgets:
                own = log_ratios(found, method, budget)
                chosen = [own[key] for key in settings]
                cells.append("{:.2f} ({:.2f}, {:.2f})".format(*together(chosen)))
            lines.append(f"| {kind} | {len(chosen)} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def kinds_of(settings: Sequence[str]) -> dict[str, list[str]]:
    """Kind -> settings: by centre, by the number of sources where that differs, tables, and all."""
    out: dict[str, list[str]] = {}
    for key in settings:
        out.setdefault(kind_of(key), []).append(key)
    numbers = sorted({int(key.split("/")[2]) for key in settings if key.startswith("ellipsoid/")})
    for n in numbers if len(numbers) > 1 else []:
        own = [key for key in settings if key.startswith("ellipsoid/") and key.split("/")[2] == str(n)]
        out[f"{n} source{'s' * (n > 1)}"] = own
    return out | {"all": [*settings]}


def kind_of(setting: str) -> str:
    """What a setting is counted with: its centre, or "tables"."""
    return setting.rsplit("/", 1)[1]


def broken(found: Mapping[str, Arrays], budgets: Sequence[int]) -> list[str]:
    """What does not hold of `CLAIMS`."""
    failed = []
    for budget in budgets:
        own = log_ratios(found, DEFAULT, budget)
        if budget < 50:
            mean, low, high = together([logs for key, logs in own.items() if kind_of(key) == "c* = 0"])
            if high >= 1:
                failed.append(f"after {budget}, alike: {mean:.2f} ({low:.2f}, {high:.2f})")
            continue
        mean, low, high = together([*own.values()])
        # Of few runs the interval is too wide for that.
        if (high if len(next(iter(own.values()))) >= N_SEEDS else low) > MOST_BEHIND:
            failed.append(f"after {budget}, over all: {mean:.2f} ({low:.2f}, {high:.2f})")
        for key, logs in own.items():
            mean, low, high = together([logs])
            if low > MOST_BEHIND:
                failed.append(f"after {budget}, {key}: {mean:.2f} ({low:.2f}, {high:.2f})")
    return failed


def written(found: Mapping[str, Arrays]) -> Page:
    """The table, and what does not hold."""
    shape = next(iter(found.values()))[ALONE].shape
    budgets = [budget for budget in BUDGETS if budget <= shape[1]]
    failed = broken(found, budgets)
    others = f"{OTHERS}\n\n{table(compared(found), [*METHODS], budgets)}"
    return Page([ABOUT, table(found, [DEFAULT], budgets), _claims(failed), others], shape, failed)


ABOUT = """By default they hardly ever do: `px.meta_learn_tpe` takes its first five suggestions from
the sources (*warm start*), and nothing else. The tables have best losses with sources over those of `px.tpe`
without any: geometric means over settings and runs, with 95 % intervals. Below 1 sources help.

* Ellipsoids have 4 or 10 dimensions. Their centre is at 0 for the target, and at c* for the sources: 1,
  2, 4 or 8 of them, with 100 random rows each.
* Each table has the other tables of its benchmark as sources. Its losses are those above the smallest
  of the table.
* Losses below 1e-4 times the first one are raised to this value.

[What the rules are](../meta.md#weights)."""


OTHERS = f"""## Sources in the densities

With `task_weights` sources count for longer: the densities are mixtures over tasks, by *stacking*
(`px.meta.Stacking()`) or *by similarity* (`px.meta.BySimilarity()`, the paper's rule), and all else is
as in `px.tpe`. *The paper's sampler* is `px.papers.authors_meta_learn_tpe`, which also has the paper's split,
bandwidths and candidates. Ellipsoids have {COMPARED} sources here, and all but the default at most
{N_SEEDS_OF_OTHERS} runs."""


CLAIMS = """Three claims are checked for the default. After 10 and 20 evaluations it is ahead if tasks are
alike: the interval is below 1. From 50 on it is at most 5 % behind over all settings: the interval ends
below 1.05. And it is further behind in no single setting: no interval lies above 1.05."""


def _claims(failed: Sequence[str]) -> str:
    if not failed:
        return f"{CLAIMS} All three hold."
    return "\n".join([f"{CLAIMS} These do not hold:", "", *(f"* {text}" for text in failed)])


if __name__ == "__main__":
    sys.exit(pages.main(None, "sources", __doc__, "Do source tasks ever hurt?", units, written))
