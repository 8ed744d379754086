"""Searches of functions in JAX beside the neighbours: ``python -m benchmarks.in_jax [--quick]``.

`parzax.optimize`, hyperoptax (a Gaussian process, and random search) and Optuna's TPE with batches of trials,
with 4 and 16 evaluations side by side. Writes a page, docs/in_jax.md for a full run without --out. Exits with
status 1 if, at 16 side by side on mixed and conditional spaces, parzax is behind random search or
hyperoptax's Gaussian process, or if a run takes more than a tenth of the time of the latter.
"""

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

import parzax as px
from benchmarks import pages
from benchmarks.pages import Page
from benchmarks.papers.runs import LIMIT, Arrays, Unit

N_EVALUATIONS, N_SEEDS, QUICK_SEEDS, SIZES = 200, 10, 3, (4, 16)
OURS, GP, RANDOM, OPTUNA = "parzax", "hyperoptax, GP", "hyperoptax, random", "Optuna's TPE"
PACKAGES = {OURS: None, GP: "hyperoptax", RANDOM: "hyperoptax", OPTUNA: "optuna"}
# Gaps below this count as it. Seconds after which a method is given up for a problem.
FLOOR, MOST_SECONDS = 1e-6, 900.0
JUDGED, MOST_TIME = ("mixed", "conditional"), 0.1
# Where the optimum is, in unit coordinates.
AT = 0.3
Domains = Mapping[str, px.Float | px.Int | px.Categorical]

MIXED: Domains = {
    "rate": px.Float(1e-5, 1.0, log=True),
    "dropout": px.Float(0.0, 0.5),
    "decay": px.Float(1e-8, 1e-1, log=True),
    "layers": px.Int(1, 8),
    "width": px.Int(8, 512, log=True),
    "activation": px.Categorical(["relu", "tanh", "gelu", "silu"]),
}
CONDITIONAL: Domains = {
    "model": px.Categorical(["svm", "forest"]),
    "c": px.Float(1e-3, 1e3, log=True, when=px.In("model", ["svm"])),
    "gamma": px.Float(1e-4, 10.0, log=True, when=px.In("model", ["svm"])),
    "trees": px.Int(10, 1000, log=True, when=px.In("model", ["forest"])),
    "depth": px.Int(1, 20, when=px.In("model", ["forest"])),
    "share": px.Float(0.0, 1.0),
}


def mixed(_key: jax.Array, params: Mapping[str, jax.Array]) -> jax.Array:
    """A bowl in unit coordinates; the activation moves the best rate, and one is the best."""
    units = _units(MIXED, params)
    moved = jnp.array([0.0, 0.1, 0.2, -0.1])[params["activation"].astype(int)]
    far = [4 * (units["rate"] - AT - moved) ** 2, *((units[name] - AT) ** 2 for name in list(units)[1:])]
    return sum(far) + 0.2 * (params["activation"] != 2)


def conditional(_key: jax.Array, params: Mapping[str, jax.Array]) -> jax.Array:
    """Two models with parameters of their own; the best forest is 0.1 better than the best SVM."""
    units = {name: (unit - AT) ** 2 for name, unit in _units(CONDITIONAL, params).items()}
    svm = 0.1 + units["c"] + 2 * units["gamma"]
    return jnp.where(params["model"] == 0, svm, units["trees"] + 2 * units["depth"]) + units["share"]


def _units(domains: Domains, params: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
    found = {}
    for name, domain in domains.items():
        if isinstance(domain, px.Categorical):
            continue
        ends, value = jnp.array([domain.low, domain.high], float), jnp.asarray(params[name], float)
        low, high, at = (jnp.log(x) if domain.log else x for x in (*ends, value))
        found[name] = (at - low) / (high - low)
    return found


def problem_of(name: str) -> tuple[Callable[..., jax.Array], Domains, float]:
    """A function of a key and named values, its domains, and its smallest value."""
    if name == "mixed":
        return mixed, MIXED, _off(MIXED, "layers") + _off(MIXED, "width")
    return conditional, CONDITIONAL, _off(CONDITIONAL, "trees") + 2 * _off(CONDITIONAL, "depth")


def _off(domains: Domains, name: str) -> float:
    """Smallest squared distance of an integer from the optimum in unit coordinates."""
    values = jnp.asarray(domains[name].list_values())
    return float(jnp.min((_units({name: domains[name]}, {name: values})[name] - AT) ** 2))


# --- the methods -------------------------------------------------------------------------------------


def search(method: str, problem: str, k: int, n_seeds: int) -> Arrays:
    """A unit: "gaps" (s, n) so far; seconds of the "first" run, with compilation, and of "later" ones."""
    fn, domains, least = problem_of(problem)
    run = {OURS: _ours, GP: _hyperoptax, RANDOM: _hyperoptax, OPTUNA: _optuna}[method](method, fn, domains, k)
    losses, seconds = [], []
    for seed in range(n_seeds):
        start = time.perf_counter()
        losses.append(np.asarray(run(seed))[:N_EVALUATIONS])
        seconds.append(time.perf_counter() - start)
    best = np.minimum.accumulate(np.stack(losses).astype(np.float64), axis=1) - least
    return {"gaps": best, "first": np.array(seconds[0]), "later": np.array(seconds[1:])}


Run = Callable[[int], Any]


def _ours(_method: str, fn: Callable[..., Any], domains: Domains, k: int) -> Run:
    problem = px.Problem.from_params(fn, dict(domains))
    sampler = px.tpe(problem.space)

    def run(seed: int) -> Any:
        trace = px.optimize(sampler, problem, jax.random.key(seed), N_EVALUATIONS, n_parallel=k)
        return trace.objectives[:, 0]

    return run


def _hyperoptax(method: str, fn: Callable[..., Any], domains: Domains, k: int) -> Run:
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

    space = {name: space_of(domain) for name, domain in domains.items()}
    n_rounds = -(-N_EVALUATIONS // k)
    if method == GP:
        state, optimizer = hyperoptax.BayesianSearch.init(
            space, n_max=n_rounds * k, n_parallel=k, maximize=False
        )
    else:
        state, optimizer = hyperoptax.RandomSearch.init(space, n_parallel=k)
    # As one program, which is how the library is fastest.
    compiled = jax.jit(lambda key: optimizer.optimize_scan(state, key, fn, n_rounds)[1][1])
    return lambda seed: compiled(jax.random.key(seed)).reshape(-1)


def _optuna(_method: str, fn: Callable[..., Any], domains: Domains, k: int) -> Run:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    compiled = jax.jit(jax.vmap(fn, in_axes=(None, 0)))

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

    def run(seed: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # options that Optuna calls experimental
            sampler = optuna.samplers.TPESampler(
                seed=seed, multivariate=True, group=True, constant_liar=k > 1
            )
        study, found = optuna.create_study(sampler=sampler), []
        while len(found) < N_EVALUATIONS:
            trials = [study.ask() for _ in range(k)]
            rows = [suggested(trial) for trial in trials]
            batch = {name: jnp.asarray([row[name] for row in rows]) for name in domains}
            losses = np.asarray(compiled(jax.random.key(seed), batch))
            for trial, loss in zip(trials, losses, strict=True):
                study.tell(trial, float(loss))
            found += losses.tolist()
        return found

    return run


def units(quick: bool) -> list[Unit]:
    """Every method on every problem, alone on the machine, since they are timed."""
    problems = JUDGED[:1] if quick else JUDGED
    found = []
    for problem in problems:
        for k in (16,) if quick else SIZES:
            for method, package in PACKAGES.items():
                arguments = {
                    "method": method,
                    "problem": problem,
                    "k": k,
                    "n_seeds": QUICK_SEEDS if quick else N_SEEDS,
                }
                found.append(
                    Unit(
                        f"{problem}/{k}/{method}", "benchmarks.in_jax:search", arguments, package, cost=30.0,
                        alone=True, limit=MOST_SECONDS,
                    )
                )  # fmt: skip
    return found


# --- the page ----------------------------------------------------------------------------------------


def log_gaps(arrays: Arrays) -> np.ndarray:
    """Logs of the last gaps."""
    return np.log(np.maximum(arrays["gaps"][:, -1], FLOOR))


def in_words(logs: np.ndarray) -> str:
    """Geometric mean with its 95 % interval."""
    reach = scipy.stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / len(logs) ** 0.5
    return "{:.2g} ({:.2g}, {:.2g})".format(*np.exp([logs.mean(), logs.mean() - reach, logs.mean() + reach]))


def total(arrays: Arrays) -> float:
    """Seconds of a first run, with compilation."""
    return float(arrays["first"])


def written(found: Mapping[str, Arrays]) -> Page:
    """A table of gaps and one of seconds by problem, and what does not hold."""
    methods = [method for method in PACKAGES if any(name.endswith(f"/{method}") for name in found)]
    blocks, failed = [ABOUT], []
    for title, cell in (("Gap after 200 evaluations", _gap), ("Seconds", _seconds)):
        lines = ["| problem | k | " + " | ".join(methods) + " |", "| --- | ---: |" + " --- |" * len(methods)]
        for problem, k in dict.fromkeys(tuple(name.split("/")[:2]) for name in found):
            cells = (cell(found.get(f"{problem}/{k}/{method}")) for method in methods)
            lines.append(f"| {problem} | {k} | " + " | ".join(cells) + " |")
        blocks += [f"## {title}", "\n".join(lines)]
    for problem in JUDGED:
        arrays = {method: found.get(f"{problem}/16/{method}", {}) for method in methods}
        if not arrays[OURS]:
            continue
        ours = log_gaps(arrays[OURS]).mean()
        for method in (GP, RANDOM):
            theirs = arrays.get(method, {})
            if theirs and LIMIT not in theirs and ours > log_gaps(theirs).mean():
                failed.append(f"{problem}, 16 side by side: the gap of {method} is smaller")
        gp = arrays.get(GP, {})
        if gp and LIMIT not in gp and total(arrays[OURS]) > MOST_TIME * total(gp):
            failed.append(
                f"{problem}, 16 side by side: {total(arrays[OURS]):.1f} s of {total(gp):.1f} s of {GP}"
            )
    compared = any(name.endswith(f"/16/{GP}") for name in found)
    held = (
        ("It does." if compared else "hyperoptax did not run.")
        if not failed
        else "\n".join(["It does not:", "", *(f"* {text}" for text in failed)])
    )
    blocks.append(f"{CLAIM} {held}")
    shape = next(iter(found.values()))["gaps"].shape
    return Page(blocks, shape, failed)


def _gap(arrays: Arrays | None) -> str:
    if not arrays:
        return "–"
    return f"over {MOST_SECONDS:g} s" if LIMIT in arrays else in_words(log_gaps(arrays))


def _seconds(arrays: Arrays | None) -> str:
    if not arrays or LIMIT in arrays:
        return "–"
    return f"{total(arrays):.1f}, then {np.median(arrays['later']):.2f}"


ABOUT = f"""A search of {N_EVALUATIONS} evaluations of a function in JAX, k of them at a time, by
`px.optimize(..., n_parallel=k)`, by hyperoptax 0.2 (its Gaussian process and random search,
`optimize_scan` in `jax.jit`), and by Optuna's TPE with k trials at a time.

* *Mixed*: three floats, two integers and a category. *Conditional*: two models with two parameters each,
  and one that both have; hyperoptax has no conditions, and searches all six.
* The gap to the optimum is a geometric mean over {N_SEEDS} runs, with its 95 % interval. Gaps below {FLOOR:g}
  count as that.
* Seconds are those of the first run, with compilation, then of a later one (median). One evaluation takes
  microseconds here, so this is the time of the library.
* A method that took more than {MOST_SECONDS:g} s for a problem was given up."""
CLAIM = f"""At 16 side by side, on mixed and conditional spaces, parzax should have a smaller gap than random
search and hyperoptax's Gaussian process, and take at most {MOST_TIME:g} of the time of the latter."""


if __name__ == "__main__":
    sys.exit(pages.main(None, "in_jax", __doc__, "Beside other libraries in JAX", units, written))
