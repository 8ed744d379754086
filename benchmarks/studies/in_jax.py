"""Searches of functions in JAX beside the neighbours: ``python -m benchmarks.studies.in_jax [--quick]``.

`parzax.optimize`, hyperoptax (a Gaussian process, and random search) and Optuna's TPE with batches of trials,
with 1, 4, 16 and 64 evaluations side by side. Writes a page, docs/studies/in_jax.md for a full run without
--out. Exits with status 1 if, at 16 side by side on mixed and conditional spaces, parzax is behind random
search or hyperoptax's Gaussian process, or if a first run takes more than a fifth of the time of the latter.
(The page says where it takes more than a tenth.)
"""

import functools
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.studies import pages
from benchmarks.studies.in_jax_problems import BBOB, NAMES, Task, task
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import LIMIT, Arrays, Unit

N_EVALUATIONS, SIZES = 200, (1, 4, 16, 64)
OURS, GP, RANDOM, OPTUNA = "parzax", "hyperoptax, GP", "hyperoptax, random", "Optuna's TPE"
PACKAGES = {OURS: None, GP: "hyperoptax", RANDOM: "hyperoptax", OPTUNA: "optuna"}
# Runs: later ones of a compiled program take milliseconds.
N_RUNS, QUICK_RUNS = {OURS: 100, GP: 20, RANDOM: 100, OPTUNA: 20}, 3
# Gaps below this count as it. Seconds after which a method is given up for a problem.
FLOOR, MOST_SECONDS = 1e-6, 900.0
# hyperoptax compiles each of the k suggestions anew: with 64, one problem shows how long that takes.
MOST_K = 16
JUDGED, AT_K = ("mixed", "conditional"), 16
# Shares of the time of hyperoptax's Gaussian process: what a first run should take, and what is a failure.
MOST_TIME, FAILING_TIME = 0.1, 0.2
MEANINGS = {
    "mixed": "a bowl in three floats, two integers and a category",
    "conditional": "two models with two parameters each, and one parameter that both have",
    "networks": "60 steps of training on scikit-learn's digits: test loss, of six parameters",
    "bbob-sphere": "f1 of BBOB in five dimensions, another instance for each seed",
    "bbob-rosenbrock": "f8, likewise",
    "bbob-rastrigin": "f15, likewise",
}

# --- the methods -------------------------------------------------------------------------------------


def search(method: str, problem: str, k: int, n_runs: int) -> Arrays:
    """A unit: "gaps" (s,) at the end; seconds of the "first" run, with compilation, and of "later" ones."""
    target = task(problem)
    drawn = [jax.block_until_ready(target.draw(seed)) for seed in range(n_runs)]
    run = {OURS: _ours, GP: _hyperoptax, RANDOM: _hyperoptax, OPTUNA: _optuna}[method](method, target, k)
    gaps, seconds = [], []
    for seed, shared in enumerate(drawn):
        start = time.perf_counter()
        losses = np.asarray(run(seed, shared), float)[:N_EVALUATIONS]
        seconds.append(time.perf_counter() - start)
        gaps.append(losses.min() - target.least)
    return {"gaps": np.array(gaps), "first": np.array(seconds[0]), "later": np.array(seconds[1:])}


# The losses, by a seed and its arrays.
Run = Callable[[int, Any], Any]


def _ours(_method: str, target: Task, k: int) -> Run:
    sampler = px.tpe(px.Space(dict(target.domains)))

    def by_codes(shared: Any, key: jax.Array, params: Any) -> jax.Array:  # as the other libraries call it
        return target.fn(shared, key, {name: getattr(value, "code", value) for name, value in params.items()})

    def run(seed: int, shared: Any) -> Any:
        problem = px.Problem.from_params(jax.tree_util.Partial(by_codes, shared), dict(target.domains))
        trace = px.optimize(jax.random.key(seed), sampler, problem, N_EVALUATIONS, n_parallel=k)
        return trace.losses[:, 0]

    return run


def _hyperoptax(method: str, target: Task, k: int) -> Run:
    import hyperoptax

    def space_of(domain: Any) -> Any:
        if isinstance(domain, px.Categorical):
            return hyperoptax.DiscreteSpace(tuple(range(len(domain.choices))))
        kinds = {
            (px.Float, False): hyperoptax.LinearSpace,
            (px.Float, True): hyperoptax.LogSpace,
            (px.Int, False): hyperoptax.QLinearSpace,
            (px.Int, True): hyperoptax.QLogSpace,
        }
        return kinds[type(domain), domain.log](domain.low, domain.high)

    space = {name: space_of(domain) for name, domain in target.domains.items()}
    n_rounds = -(-N_EVALUATIONS // k)
    if method == GP:
        state, optimizer = hyperoptax.BayesianSearch.init(
            space, n_max=n_rounds * k, n_parallel=k, maximize=False
        )
    else:
        state, optimizer = hyperoptax.RandomSearch.init(space, n_parallel=k)

    @jax.jit  # as one program the library is fastest
    def losses(key: jax.Array, shared: Any) -> jax.Array:
        fn = functools.partial(target.fn, shared)
        return optimizer.optimize_scan(state, key, fn, n_rounds)[1][1].reshape(-1)

    return lambda seed, shared: losses(jax.random.key(seed), shared)


def _optuna(_method: str, target: Task, k: int) -> Run:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    domains = target.domains
    evaluate = jax.jit(jax.vmap(target.fn, in_axes=(None, 0, 0)))

    def suggested(trial: Any) -> dict[str, float]:
        values: dict[str, float] = {}
        for name, domain in domains.items():
            if isinstance(domain, px.Categorical):
                values[name] = trial.suggest_categorical(name, range(len(domain.choices)))
                continue
            parents = [(c.parent, c.values) for c in domain.conditions if isinstance(c, px.In)]
            if all(domains[parent].choices[values[parent]] in allowed for parent, allowed in parents):
                suggest = trial.suggest_int if isinstance(domain, px.Int) else trial.suggest_float
                values[name] = suggest(name, domain.low, domain.high, log=domain.log)
            else:
                values[name] = domain.low
        return values

    def run(seed: int, shared: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # options that Optuna calls experimental
            sampler = optuna.samplers.TPESampler(
                seed=seed, multivariate=True, group=True, constant_liar=k > 1
            )
        study, losses, key = optuna.create_study(sampler=sampler), [], jax.random.key(seed)
        while len(losses) < N_EVALUATIONS:
            trials = [study.ask() for _ in range(k)]
            rows = [suggested(trial) for trial in trials]
            batch = {name: jnp.asarray([row[name] for row in rows]) for name in domains}
            key, of_round = jax.random.split(key)
            told = np.asarray(evaluate(shared, jax.random.split(of_round, k), batch)).tolist()
            for trial, loss in zip(trials, told, strict=True):
                study.tell(trial, loss)
            losses += told
        return losses

    return run


def units(quick: bool) -> list[Unit]:
    """Every method on every problem, alone on the machine, since they are timed."""
    made = []
    for problem in JUDGED[:1] if quick else NAMES:
        for k in (AT_K,) if quick else SIZES:
            for method, package in PACKAGES.items():
                if package == "hyperoptax" and k > MOST_K and problem != NAMES[0]:
                    continue
                n_runs = QUICK_RUNS if quick else N_RUNS[method]
                arguments = {"method": method, "problem": problem, "k": k, "n_runs": n_runs}
                needs = tuple(name for name in (package, "bbobax" if problem in BBOB else None) if name)
                cost = {GP: 250.0, OPTUNA: 60.0}.get(method, 10.0)
                work = "benchmarks.studies.in_jax:search"
                unit = Unit(
                    f"{problem}/{k}/{method}", work, arguments, needs, cost, alone=True, limit=MOST_SECONDS
                )
                made.append(unit)
    return made


# --- the page ----------------------------------------------------------------------------------------


def log_gaps(arrays: Arrays) -> np.ndarray:
    """Logs of gaps."""
    return np.log(np.maximum(arrays["gaps"], FLOOR))


def ratio(ours: Arrays, theirs: Arrays) -> tuple[float, ...]:
    """Geometric mean of gaps over theirs, and its 95 % interval (Welch)."""
    test = scipy.stats.ttest_ind(log_gaps(ours), log_gaps(theirs), equal_var=False)
    interval = test.confidence_interval(0.95)
    mean = log_gaps(ours).mean() - log_gaps(theirs).mean()
    return tuple(np.exp([mean, interval.low, interval.high]).tolist())


def total(arrays: Arrays) -> float:
    """Seconds of a first run, with compilation."""
    return float(arrays["first"])


def written(found: Mapping[str, Arrays]) -> Page:
    """Gaps, ratios and seconds by problem and k, and what does not hold."""
    runs = {name: arrays for name, arrays in found.items() if LIMIT not in arrays}
    cells = list(dict.fromkeys(tuple(name.split("/")[:2]) for name in found))
    peers = [method for method in (GP, RANDOM, OPTUNA) if any(name.endswith(f"/{method}") for name in found)]

    def table(methods: Sequence[str], cell: Callable[[str, str], str]) -> str:
        lines = ["| problem | k | " + " | ".join(methods) + " |", "| --- | ---: |" + " --- |" * len(methods)]
        for problem, k in cells:
            words = [cell(f"{problem}/{k}", method) for method in methods]
            lines.append(f"| {problem} | {k} | " + " | ".join(words) + " |")
        return "\n".join(lines)

    def gap(cell: str, method: str) -> str:
        arrays = runs.get(f"{cell}/{method}")
        return f"{np.exp(log_gaps(arrays).mean()):.2g}" if arrays else _missing(found, cell, method)

    def compared(cell: str, method: str) -> str:
        ours, theirs = runs.get(f"{cell}/{OURS}"), runs.get(f"{cell}/{method}")
        if not ours or not theirs:
            return _missing(found, cell, method)
        return "{:.2g} ({:.2g}, {:.2g})".format(*ratio(ours, theirs))

    def seconds(cell: str, method: str) -> str:
        arrays = runs.get(f"{cell}/{method}")
        if not arrays:
            return _missing(found, cell, method)
        return f"{total(arrays):.1f}, then {np.median(arrays['later']):.2g}"

    short = [each for problem in JUDGED for each in _short(found, runs, problem)]
    failed = [text for text, fails in short if fails]
    blocks = [
        ABOUT, "## parzax over the others", RATIOS, table(peers, compared), *_ahead(runs, cells, GP),
        *_ahead(runs, cells, OPTUNA), "## Gaps", table([OURS, *peers], gap), "## Seconds", SECONDS,
        table([OURS, *peers], seconds), "## What should hold",
    ]  # fmt: skip
    compared_with_gp = any(f"{problem}/{AT_K}/{GP}" in runs for problem in JUDGED)
    held = ("It does." if compared_with_gp else f"{GP} did not run.") if not short else "It does not:"
    blocks += [f"{CLAIM} {held}", "\n".join(f"* {text}" for text, _ in short)]
    n_runs = max((len(arrays["gaps"]) for arrays in runs.values()), default=0)
    return Page([block for block in blocks if block], (n_runs, N_EVALUATIONS), failed)


def _missing(found: Mapping[str, Arrays], cell: str, method: str) -> str:
    return f"over {MOST_SECONDS:g} s" if LIMIT in found.get(f"{cell}/{method}", {}) else "–"


def _ahead(runs: Mapping[str, Arrays], cells: Sequence[Sequence[str]], method: str) -> list[str]:
    """Where the whole interval is on one side, in words."""
    sides: dict[str, dict[str, list[str]]] = {"parzax": {}, method: {}, "neither": {}}
    for problem, k in cells:
        ours, theirs = runs.get(f"{problem}/{k}/{OURS}"), runs.get(f"{problem}/{k}/{method}")
        if ours and theirs:
            _, low, high = ratio(ours, theirs)
            side = "parzax" if high < 1 else method if low > 1 else "neither"
            sides[side].setdefault(problem, []).append(k)
    words = [
        f"{side} is ahead on " + ", ".join(f"{name} ({', '.join(ks)})" for name, ks in problems.items())
        for side, problems in sides.items()
        if problems
    ]
    return [f"Beside {method} (k in brackets): {'; '.join(words)}."] if words else []


def _short(found: Mapping[str, Arrays], runs: Mapping[str, Arrays], problem: str) -> list[tuple[str, bool]]:
    """Claims that do not hold on a problem, and whether the command then fails."""
    arrays = {method: runs.get(f"{problem}/{AT_K}/{method}") for method in PACKAGES}
    ours, gp = arrays[OURS], arrays[GP]
    if not ours:
        limited = LIMIT in found.get(f"{problem}/{AT_K}/{OURS}", {})
        return [(f"{problem}: parzax took over {MOST_SECONDS:g} s", True)] if limited else []
    short = []
    for method in (GP, RANDOM):
        theirs = arrays[method]
        if theirs and ratio(ours, theirs)[0] > 1:
            short.append((f"{problem}: the mean gap of {method} is smaller", True))
    if gp and total(ours) > MOST_TIME * total(gp):
        text = f"{problem}: {total(ours):.1f} s of {total(gp):.1f} s of {GP}"
        short.append((text, total(ours) > FAILING_TIME * total(gp)))
    return short


ABOUT = f"""A search of {N_EVALUATIONS} evaluations of a function in JAX, k of them at a time, by
`px.optimize(px.tpe(space), ..., n_parallel=k)`, by hyperoptax 0.2 (its Gaussian process and random search,
`optimize_scan` in `jax.jit`), and by Optuna's TPE (`multivariate`, `group`, `constant_liar`) with k trials at
a time. parzax and random search ran {N_RUNS[OURS]} times, the others {N_RUNS[GP]} times.

"""
ABOUT += (
    "\n".join(f"* *{name}*: {meaning}" for name, meaning in MEANINGS.items())
    + f"""

hyperoptax has no conditions, and searches all parameters. A method that took more than {MOST_SECONDS:g} s for
the runs of one row was given up; hyperoptax with k = 64 was tried on *{NAMES[0]}* alone."""
)
RATIOS = f"""Ratio of geometric means of the gap between the best loss of a run and the optimum (of
*networks*, of the best loss), with its 95 % interval. Below 1 parzax is ahead. Smaller gaps than
{FLOOR:g} are raised to this value."""
SECONDS = """Of the first run, with compilation, then of a later one (median), on one core. An evaluation
takes microseconds, that of a network milliseconds: this is the time of the library."""
CLAIM = f"""With {AT_K} side by side, on {" and ".join(JUDGED)} problems, parzax should have a smaller gap
than random search and hyperoptax's Gaussian process, and its first run at most {MOST_TIME:g} of the time of
the latter's."""


if __name__ == "__main__":
    sys.exit(pages.main(None, "in_jax", __doc__, "Beside other libraries in JAX", units, written))
