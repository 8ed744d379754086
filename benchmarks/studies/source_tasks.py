"""From 1 to 100 source tasks: ``python -m benchmarks.studies.source_tasks [--choose] [--quick]``.

Best losses of `parzax.meta_learn_tpe` over those without sources, and over those of the paper's sampler: on
ellipsoids, in a conditional space, under a constraint, and on tables of PARZAX_DATA, also under a limit on
size. Writes a page, docs/studies/source_tasks.md for a full run without --out. Exits with status 1 if a bound
does not hold. With --choose it compares settings instead, on other logs, and prints the table.
"""

import dataclasses
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

import parzax as px
from benchmarks import toys
from benchmarks.load_table import load_table
from benchmarks.studies import pages
from benchmarks.studies.optimisers.mixed import units_of
from benchmarks.studies.pages import Page
from benchmarks.studies.papers import runs as unit_runs
from benchmarks.studies.papers.meta_learn_tpe import searches
from benchmarks.studies.papers.meta_learn_tpe.searches import N_ROWS
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table, families, tables
from parzax.samplers import FromRows

Logs = Mapping[str, px.Observations]
LIMITED = "_limited"
ALONE, DEFAULT, PAPER = "no sources", "px.meta_learn_tpe", "px.papers.authors_meta_learn_tpe"
# What is compared with --choose, without constraints and under them: all are divided by the first.
NUMBERS = (5, 7, 10)
CHOICES: Mapping[str, Mapping[str, float]] = {f"{n} first": {"n_startup": n} for n in NUMBERS}
UNDER_CONSTRAINTS: Mapping[str, Mapping[str, float]] = {
    f"{n} first, share_power={power}": {"n_startup": n, "share_power": float(power)}
    for power in (3, 1)
    for n in NUMBERS
}
N_EVALUATIONS, BUDGETS = 100, (10, 20, 50, 100)
# Upper 95 % bounds of geometric means must be below this.
MOST_BEHIND = 1.05
# Losses below this share of the median first one are raised to it.
FLOOR = 1e-4
# Number of tasks -> runs, and runs of the paper's sampler, whose time grows with the tasks; else `OTHERWISE`.
# On tables under a limit each log of that sampler may need a program of its own.
RUNS = {1: (1000, 100), 4: (800, 100), 8: (600, 600), 30: (500, 24), 100: (200, 8)}
OTHERWISE, UNDER_LIMIT = (600, 160), (600, 300)
N_ALONE, N_CHOICE, SHIFTS = 4000, 300, (0.0, 0.2, 0.4)
# Share of a table's configurations that are within the limit on size.
WITHIN = 0.1
# Runs that share a program's call, of samplers without sources in their densities.
LANES = 50
# Logs of the settings for choosing have seeds from 0 on; the others from here on. A function whose default
# changed after its logs were looked at has other logs since.
KEPT, LOOKED_AT = 1000, {"ball": 20_000}
MODELS = px.Space(
    {
        "model": px.Categorical(["svm", "forest"]),
        "c": px.Float(1e-3, 1e3, log=True, when=px.In("model", ["svm"])),
        "gamma": px.Float(1e-4, 10.0, log=True, when=px.In("model", ["svm"])),
        "trees": px.Int(10, 1000, log=True, when=px.In("model", ["forest"])),
        "depth": px.Int(1, 20, when=px.In("model", ["forest"])),
        "features": px.Float(0.0, 1.0, when=px.In("model", ["forest"])),
        "share": px.Float(0.0, 1.0),
    }
)
_UNITS = units_of(MODELS)


def ellipsoid(dim: int, center: float) -> px.Problem:
    """The paper's ellipsoid."""
    return toys.ellipsoid(dim, float(center))


def ball(dim: int, center: float) -> px.Problem:
    """An ellipsoid whose optimum is inside a feasible ball: about a tenth of the box for D = 4."""
    point = jnp.full(dim, float(center))
    return px.Problem(jax.tree_util.Partial(_in_ball, point), ellipsoid(dim, 0).space, 1, 1, name="ball")


def _in_ball(center: jax.Array, _key: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    weight = 5.0 ** jnp.arange(len(center))
    return (weight * (x - center) ** 2).sum(), ((x - center - 1) ** 2).sum() - 3.77**2


def models(_dim: int, shift: float) -> px.Problem:
    """Two models with their own parameters; with a shift above 0.3 the other model is the better one."""
    return px.Problem(jax.tree_util.Partial(_of_models, jnp.asarray(float(shift))), MODELS, name="models")


def _of_models(shift: jax.Array, _key: jax.Array, x: jax.Array) -> jax.Array:
    units = _UNITS(x)
    worse = jnp.where((x[0] == 0) == (shift < 0.3), 0.0, 0.1)
    return worse + jnp.nansum(jnp.arange(1, len(units) + 1) * (units - 0.3 - shift) ** 2) + 1e-3


FUNCTIONS: Mapping[str, Callable[[int, float], px.Problem]] = {
    "ellipsoid": ellipsoid,
    "ball": ball,
    "models": models,
}


def on_function(
    name: str, dim: int, n_tasks: int, centers: Sequence[float], choose: bool, quick: bool
) -> Arrays:
    """A unit: "METHOD/CENTER" (s, n) best loss so far; without sources it is the same for all centres."""
    make = FUNCTIONS[name]
    target = make(dim, 0.0)
    n_seeds, n_papers, n_alone = _n_runs(n_tasks, choose, quick)
    found = {ALONE: _alone(name, dim, n_alone)}
    for k, center in enumerate(centers):
        # The kept runs of a setting have their own logs and keys, so that settings are independent.
        source, first = make(dim, center), 0 if choose else KEPT * (1 + k) + LOOKED_AT.get(name, 0)
        logs = [
            {f"task {i}": log_of(source, (first + seed, i)) for i in range(n_tasks)}
            for seed in range(n_seeds)
        ]
        found |= _searches(target, logs, f"c* = {center:g}", first, choose, n_papers)
    return found


@lru_cache
def _alone(name: str, dim: int, n_seeds: int) -> np.ndarray:
    """The same runs for all numbers of tasks."""
    target = FUNCTIONS[name](dim, 0.0)
    return best_losses([px.tpe(target.space, 1, target.n_constraints)] * n_seeds, target)


def on_table(
    table: Table, others: Sequence[Table], n_logs: int, limited: bool, choose: bool, quick: bool
) -> Arrays:
    """A unit: the same with ``n_logs`` logs of each other table; losses are above the smallest feasible."""
    target, *sources = (problem_of(each, limited) for each in (table, *others))
    first, n_tasks = 0 if choose else KEPT, n_logs * len(sources)
    n_seeds, n_papers, n_alone = _n_runs(n_tasks, choose, quick, limited)
    logs = [
        {
            f"task {i}": log_of(sources[i % len(sources)], (first + seed, i))
            for i in range(n_logs * len(sources))
        }
        for seed in range(n_seeds)
    ]
    found = {ALONE: best_losses([px.tpe(target.space, 1, target.n_constraints)] * n_alone, target)}
    found |= _searches(target, logs, "tables", first, choose, n_papers)
    return {name: losses - float(target.feasible_optimum[0]) for name, losses in found.items()}


def _n_runs(n_tasks: int, choose: bool, quick: bool, limited: bool = False) -> tuple[int, int, int]:
    """Runs with sources, of the paper's sampler, and without sources."""
    if choose or quick:
        return (4, 4, 4) if quick else (N_CHOICE, 0, N_CHOICE)
    n, n_papers = UNDER_LIMIT if limited else RUNS.get(n_tasks, OTHERWISE)
    return n, n_papers, n if limited else N_ALONE


def _searches(
    target: px.Problem,
    logs: Sequence[Logs],
    kind: str,
    first: int,
    choose: bool,
    n_papers: int,
) -> Arrays:
    def best(make: Callable[..., px.samplers.Sampler], n_runs: int, **options: Any) -> np.ndarray:
        options["n_constraints"] = target.n_constraints
        return best_losses([make(target.space, each, **options) for each in logs[:n_runs]], target, first)

    n = len(logs)
    if choose:
        choices = UNDER_CONSTRAINTS if target.n_constraints else CHOICES
        return {f"{k}/{kind}": best(px.meta_learn_tpe, n, **v) for k, v in choices.items()}
    found = {DEFAULT: best(px.meta_learn_tpe, n), PAPER: best(px.papers.authors_meta_learn_tpe, n_papers)}
    return {f"{method}/{kind}": losses for method, losses in found.items()}


def log_of(problem: px.Problem, seed: tuple[int, int]) -> px.Observations:
    """A log of random rows."""
    x, objectives, constraints = _random_rows(problem, jax.random.fold_in(jax.random.key(seed[0]), seed[1]))
    x, losses = (np.asarray(a, np.float64) for a in (x, objectives))
    limits = np.asarray(constraints, np.float64) if problem.n_constraints else None
    return px.Observations.from_arrays(problem.space, x, losses, constraints=limits)


@eqx.filter_jit
def _random_rows(problem: px.Problem, key: jax.Array) -> tuple[jax.Array, ...]:
    draw, evaluate = jax.random.split(key)
    anything = px.tpe(problem.space)
    x = jax.vmap(lambda key: anything.ask(key, anything.init(1))[0])(jax.random.split(draw, N_ROWS))
    return x, *jax.vmap(problem)(jax.random.split(evaluate, N_ROWS), x)


def best_losses(samplers: Sequence[px.samplers.Sampler], problem: px.Problem, key: int = 0) -> np.ndarray:
    """(s, n) smallest feasible loss so far; before there is one, the largest loss of the run."""
    keys = jax.random.split(jax.random.key(key), len(samplers))
    # Settings that are numbers stay constants of the program, which is then faster.
    samplers = [
        jax.tree.map(lambda a: jnp.asarray(a) if isinstance(a, np.ndarray) else a, s) for s in samplers
    ]
    longest = max(len(s.start.rows) if isinstance(s.start, FromRows) else 0 for s in samplers)
    samplers = [_padded(s, longest) for s in samplers]
    best = np.empty((len(samplers), N_EVALUATIONS))
    mixes = isinstance(samplers[0].smoothing, px.meta.MixedSmoothing)
    for chunk in searches.chunks(samplers, searches.LANES if mixes else LANES):
        together = jax.tree.map(
            lambda *a: jnp.stack(a) if eqx.is_array(a[0]) else a[0], *(samplers[i] for i in chunk)
        )
        best[chunk] = np.asarray(_runs(together, problem, keys[chunk]))
    return best


def _padded(sampler: px.samplers.Sampler, n: int) -> px.samplers.Sampler:
    """The sampler with its first suggestions repeated up to n, so that samplers share programs."""
    if not isinstance(sampler.start, FromRows):
        return sampler
    rows = sampler.start.rows
    start = dataclasses.replace(sampler.start, rows=rows[np.arange(n) % len(rows)])
    return dataclasses.replace(sampler, start=start)


@eqx.filter_jit
def _runs(samplers: px.samplers.Sampler, problem: px.Problem, keys: jax.Array) -> jax.Array:
    def run(sampler: px.samplers.Sampler, key: jax.Array) -> jax.Array:
        trace = px.optimize(key, sampler, problem, N_EVALUATIONS)
        best = trace.best_losses()
        return jnp.where(jnp.isinf(best), trace.losses.max(), best)

    return eqx.filter_vmap(run, in_axes=(eqx.if_array(0), 0))(samplers, keys)


def problem_of(table: Table, limited: bool = False) -> px.samplers.Tabular:
    limits = {"size": WITHIN} if limited else None
    loaded = load_table(table.path, [table.objectives[0]], constraint_quantiles=limits)
    # Without its names, tables of a benchmark share their programs.
    return dataclasses.replace(loaded, name="", objective_names=("",))


def units(quick: bool, choose: bool = False) -> list[Unit]:
    """One for each function and number of tasks, and for each table, with ``choose`` for every other one."""
    common = {"choose": choose, "quick": quick}
    centers, numbers = (0.0, 1.0, 2.0, 3.0), (8,) if choose else (4,) if quick else (1, 4, 30, 100)
    functions = [("ellipsoid", 4, n, centers) for n in numbers]
    functions += [] if quick else [("ball", 4, 8, centers), ("models", 4, 8, SHIFTS)]
    found = [
        Unit(
            f"{name}/{dim}/{n}", "benchmarks.studies.source_tasks:on_function",
            {"name": name, "dim": dim, "n_tasks": n, "centers": each, **common}, cost=50.0 + 5 * n,
        )
        for name, dim, n, each in functions
    ]  # fmt: skip
    n_logs, work = 4 if choose else 1, "benchmarks.studies.source_tasks:on_table"
    with_limits = [table for table in tables() if "size" in table.constraints]
    kinds = [(False, "", tables()), (True, LIMITED, with_limits)] if not quick else []
    for limited, suffix, of_kind in kinds:
        for family, tables_of in families(of_kind).items():
            for table in tables_of[:: 2 if choose else 1]:
                others = [other for other in tables_of if other is not table]
                arguments = {"table": table, "others": others, "n_logs": n_logs, "limited": limited} | common
                name = f"{family}{suffix}/{table.name}/{n_logs * len(others)}"
                found.append(Unit(name, work, arguments, cost=240.0 if limited else 60.0))
    return found


# --- the page ----------------------------------------------------------------------------------------

Setting = tuple[str, str]  # a unit, and a centre of its sources or "tables"


def samples(
    found: Mapping[str, Arrays], settings: Sequence[Setting], method: str, budget: int
) -> list[tuple[float, np.ndarray]]:
    """Weights and logs of best losses of independent sets of runs; settings share those without sources."""
    weights: dict[tuple[str, str], float] = {}
    first: dict[str, str] = {}
    for unit, kind in settings:
        name = ALONE if method == ALONE else f"{method}/{kind}"
        # A function or table has the same runs without sources for all numbers of tasks.
        first_unit = first.setdefault("/".join(unit.split("/")[:2]), unit) if method == ALONE else unit
        weights[first_unit, name] = weights.get((first_unit, name), 0) + 1 / len(settings)
    return [
        (
            weight,
            np.log(np.maximum(found[unit][name][:, budget - 1], FLOOR * np.median(found[unit][ALONE][:, 0]))),
        )
        for (unit, name), weight in weights.items()
    ]


def ratio(
    found: Mapping[str, Arrays], settings: Sequence[Setting], method: str, other: str, budget: int
) -> tuple[float, float, float]:
    """Geometric mean of ratios of best losses over settings, and its 95 % interval by Welch's t."""
    sets = samples(found, settings, method, budget)
    sets += [(-weight, logs) for weight, logs in samples(found, settings, other, budget)]
    mean = sum(weight * logs.mean() for weight, logs in sets)
    variances = np.array([weight**2 * logs.var(ddof=1) / len(logs) for weight, logs in sets])
    n_free = variances.sum() ** 2 / max((variances**2 / [len(logs) - 1 for _, logs in sets]).sum(), 1e-300)
    reach = scipy.stats.t.ppf(0.975, max(n_free, 1)) * variances.sum() ** 0.5
    middle, low, high = np.exp([mean, mean - reach, mean + reach]).tolist()
    return middle, low, high


def groups(found: Mapping[str, Arrays]) -> dict[str, list[Setting]]:
    """Settings by what is judged together: number of tasks on ellipsoids, and kinds of problems."""
    out: dict[str, list[Setting]] = {}
    for unit, arrays in found.items():
        family, _, n = unit.split("/")
        name = {"models": "conditional", "ball": "ellipsoids in a ball"}.get(family, "tables")
        name += " under a limit" * family.endswith(LIMITED)
        if family == "ellipsoid":
            name = f"ellipsoids, {n} task{'s' * (n != '1')}"
        kinds = dict.fromkeys(key.rsplit("/", 1)[1] for key in arrays if key != ALONE)
        out.setdefault(name, []).extend((unit, kind) for kind in kinds)
    return out


def centers_of(found: Mapping[str, Arrays]) -> dict[str, list[Setting]]:
    """Settings by the centre of the sources, which is that of the target for c* = 0."""
    out: dict[str, list[Setting]] = {}
    for name, settings in groups(found).items():
        for unit, kind in settings:
            if kind != "tables":
                out.setdefault(f"{name.split(',')[0]}, {kind}", []).append((unit, kind))
    return out


def pairs_of(
    found: Mapping[str, Arrays], settings: Sequence[Setting], pairs: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The pairs of methods that were run."""
    unit, kind = settings[0]
    return [pair for pair in pairs if all(one == ALONE or f"{one}/{kind}" in found[unit] for one in pair)]


def table(
    found: Mapping[str, Arrays], rows: Mapping[str, list[Setting]], pairs: Sequence[tuple[str, str]]
) -> str:
    """Ratios of pairs of methods with their intervals."""
    lines = ["| | settings | ratio | " + " | ".join(f"after {b}" for b in BUDGETS) + " |"]
    lines.append("| --- | ---: | --- |" + " --- |" * len(BUDGETS))
    for name, settings in rows.items():
        for method, other in pairs_of(found, settings, pairs):
            ratios = (ratio(found, settings, method, other, budget) for budget in BUDGETS)
            cells = ("{:.2f} ({:.2f}, {:.2f})".format(*each) for each in ratios)
            lines.append(f"| {name} | {len(settings)} | {method} / {other} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


PAIRS = (DEFAULT, ALONE), (DEFAULT, PAPER)


def missed(found: Mapping[str, Arrays], rows: Mapping[str, list[Setting]]) -> list[str]:
    """Bounds that do not hold."""
    failed = []
    for name, settings in rows.items():
        for (method, other), budget in product(pairs_of(found, settings, PAIRS), BUDGETS):
            mean, low, high = ratio(found, settings, method, other, budget)
            if high >= MOST_BEHIND:
                failed.append(f"{name}, after {budget}, over {other}: {mean:.2f} ({low:.2f}, {high:.2f})")
    return failed


def written(found: Mapping[str, Arrays]) -> Page:
    """The tables, and the bounds that do not hold."""
    rows, alone = groups(found), next(iter(found.values()))[ALONE]
    # The intervals of a quick run are too wide for the bounds.
    failed = missed(found, rows) if len(alone) == N_ALONE else []
    bounds = "\n".join([BOUNDS, "", *(f"* {text}" for text in failed)]) if failed else f"{BOUNDS} none."
    by_center = table(found, centers_of(found), PAIRS)
    return Page([ABOUT, table(found, rows, PAIRS), bounds, UNLIKE, by_center], alone.shape, failed)


ABOUT = """The first table has best losses of `px.meta_learn_tpe`, with its defaults, over those of `px.tpe`
(*no sources*) and of `px.papers.authors_meta_learn_tpe`: geometric means over settings and runs, with 95 %
intervals (Welch's). Below 1 `px.meta_learn_tpe` is ahead. Every source has 100 random rows.

* Ellipsoids have 4 dimensions. Their centre is at 0 for the target, and at c* = 0, 1, 2, 3 for the sources.
* *Ellipsoids in a ball* are feasible in about a tenth of the box, which moves with the centre; 8 sources.
* *Conditional*: two models with three and two parameters of their own. The optimum of the 8 sources is that
  of the target, or shifted by 0.2 or 0.4 of each axis; with the last shift the other model is better.
* *Tables*: the sources are the other tables of the benchmark. *Under a limit* on size, a tenth of the
  configurations are feasible.
* Before a feasible evaluation, the loss is the largest of the run. Losses below 1e-4 times the first one are
  raised to this value.
* Numbers of runs: without sources 4000 (600 on tables under a limit). On ellipsoids with 1, 4, 8, 30 and 100
  tasks 1000, 800, 600, 500 and 200, elsewhere 600. The paper's sampler, whose time grows with the tasks, has
  100, 100, 600, 24 and 8 on ellipsoids, 300 on tables under a limit, and 160 elsewhere."""
BOUNDS = f"""Each interval of the first table should end below {MOST_BEHIND}. Intervals that do not:"""
UNLIKE = """## By likeness of the sources

The same runs by centre or shift of the sources. These rows are not judged."""


def choose(quick: bool) -> None:
    """Print ratios of best losses by setting."""
    with tempfile.TemporaryDirectory() as scratch:
        found = unit_runs.run(units(quick, True), Path(scratch), resume=False, say=unit_runs.progress)
    pairs = []
    for choices in (CHOICES, UNDER_CONSTRAINTS):
        first, *others = choices
        pairs += [*((name, ALONE) for name in choices), *((name, first) for name in others)]
    print(table(found, groups(found) | centers_of(found), pairs))


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--choose"]
    if len(arguments) < len(sys.argv) - 1:
        sys.exit(choose("--quick" in arguments))
    title = "From 1 to 100 source tasks"
    sys.exit(pages.main(arguments, "source_tasks", __doc__, title, units, written))
