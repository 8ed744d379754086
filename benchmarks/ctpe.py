"""Constrained TPE on benchmark tables: ``python -m benchmarks.ctpe [--quick] [--json FILE]``.

Five tables (NAS-Bench-201 and HPOlib), constraints on size, runtime or both at three quantiles, 50 runs of
200 evaluations each. Prints the medians of the best feasible value, Wilcoxon's signed-rank tests on the
medians, and the medians on ImageNet16-120 beside those measured earlier. Exits with status 1 if a claim of
`benchmarks.ctpe_claims` does not hold. ``--quick`` leaves out HPOlib and the naive product. Needs the
tables: the environment variable PARZAX_DATA names their folder. docs/ctpe.md says how to read the output.
"""

from benchmarks import timing  # noqa: F401  isort: skip  (pins the core before JAX is loaded)

import dataclasses
import json
import sys
import time
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks import command, ctpe_claims
from benchmarks.ctpe_claims import BUDGETS, Results, Setting
from parzax.samplers import Sampler

QUANTILES = (0.1, 0.5, 0.9)
N_RUNS, N_EVALUATIONS = 50, max(BUDGETS)
# Batches of 50 runs for the comparison with the figures of earlier runs.
N_BATCHES = 10
OBJECTIVES = {
    "nasbench201/cifar10": "valid_error",
    "nasbench201/imagenet16_120": "valid_error",
    "hpolib/slice_localization": "valid_mse",
    "hpolib/naval_propulsion": "valid_mse",
    "hpolib/parkinsons_telemonitoring": "valid_mse",
}
CONSTRAINTS = {"size": ("size",), "runtime": ("runtime",), "both": ("size", "runtime")}

# Losses (q, s, n) and constraints (q, s, n, c) of s runs at q thresholds.
Runs = tuple[jax.Array, jax.Array]


def problems(table: str, constraints: tuple[str, ...]) -> px.problems.Tabular:
    """A table at all quantiles, stacked; without its names, so that like tables share their programs."""
    each = [
        px.problems.Tabular.load(
            f"{table}.npz", [OBJECTIVES[table]], constraint_quantiles=dict.fromkeys(constraints, quantile)
        )
        for quantile in QUANTILES
    ]
    unnamed = ("",) * len(constraints)
    each = [dataclasses.replace(one, name="", constraint_names=unnamed) for one in each]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


@eqx.filter_jit
def optimised(sampler: Sampler, stacked: px.problems.Tabular, keys: jax.Array) -> Runs:
    """Whole runs of a sampler, for keys (q, s)."""

    def at_threshold(pair: tuple[px.problems.Tabular, jax.Array]) -> Runs:
        problem, own = pair
        trace = jax.vmap(lambda key: px.optimize(sampler, problem, key, N_EVALUATIONS))(own)
        return trace.objectives[..., 0], trace.constraints

    return jax.lax.map(at_threshold, (stacked, keys))


@eqx.filter_jit
def at_random(stacked: px.problems.Tabular, keys: jax.Array) -> Runs:
    """Random search: every configuration of the table is as likely, with replacement."""

    def run(problem: px.problems.Tabular, key: jax.Array) -> Runs:
        choose, evaluate = jax.random.split(key)
        rows = jax.random.randint(choose, (N_EVALUATIONS,), 0, problem.n_seeds.shape[0])
        own = jax.random.split(evaluate, N_EVALUATIONS)
        losses, constraints = jax.vmap(lambda k, row: problem(k, problem.decode(row)))(own, rows)
        return losses[..., 0], constraints

    return jax.vmap(jax.vmap(run, in_axes=(None, 0)))(stacked, keys)


def best_feasible(losses: jax.Array, constraints: jax.Array) -> np.ndarray:
    """(q, s, b) best feasible value after so many evaluations, infinite where there is none."""
    feasible = (np.asarray(constraints) <= 0).all(axis=-1)
    best = np.minimum.accumulate(np.where(feasible, np.asarray(losses, dtype=np.float64), np.inf), axis=-1)
    return best[..., np.array(BUDGETS) - 1]


class Keys:
    """Fresh keys for every batch of runs."""

    def __init__(self, seed: int) -> None:
        self._root, self._count = jax.random.key(seed), 0

    def __call__(self) -> jax.Array:
        self._count += 1
        return jax.random.split(jax.random.fold_in(self._root, self._count), (len(QUANTILES), N_RUNS))


def measure(quick: bool, report: Callable[[str], None]) -> Results:
    """All runs. Those that do not see the constraints serve size, runtime and both at a quantile."""
    keys, results = Keys(0), Results({}, {}, np.empty(0))
    for table in OBJECTIVES:
        if quick and not table.startswith("nasbench201"):
            continue
        short = table.split("/")[1]
        for name, constraints in CONSTRAINTS.items():
            stacked = problems(table, constraints)
            results.put_optima(short, name, QUANTILES, np.asarray(stacked.feasible_optimum)[:, 0])
            for naive in (False,) if quick else (False, True):
                sampler = px.c_tpe(stacked.space, len(constraints), naive=naive)
                best = best_feasible(*optimised(sampler, stacked, keys()))
                results.put("naive" if naive else "c-TPE", short, name, QUANTILES, best)
                report(f"{short}, {name}, {'naive product' if naive else 'c-TPE'}")
        both = problems(table, CONSTRAINTS["both"])
        found = {"TPE": optimised(px.tpe(both.space), both, keys()), "random": at_random(both, keys())}
        for sampler_name, (losses, excess) in found.items():
            for name, constraints in CONSTRAINTS.items():
                columns = [CONSTRAINTS["both"].index(one) for one in constraints]
                best = best_feasible(losses, excess[..., jnp.array(columns)])
                results.put(sampler_name, short, name, QUANTILES, best)
            report(f"{short}, {sampler_name}")
    stacked = problems("nasbench201/imagenet16_120", CONSTRAINTS["both"])
    sampler, batches = px.c_tpe(stacked.space, 2), 3 if quick else N_BATCHES
    own = [results.stacked("c-TPE", [Setting("imagenet16_120", "both", q) for q in QUANTILES])]
    own += [best_feasible(*optimised(sampler, stacked, keys())) for _ in range(batches - 1)]
    return dataclasses.replace(results, repeated=np.concatenate(own, axis=1))


def main(argv: list[str] | None = None) -> int:
    """Run, print, and return 1 if a claim does not hold."""
    options = command.begin(__doc__, "NAS-Bench-201 alone, without the naive product", argv)

    def report(what: str) -> None:
        if sys.stderr.isatty():
            print(f"\r{what:60}", end="", file=sys.stderr, flush=True)

    start = time.perf_counter()
    results = measure(options.quick, report)
    report("")
    seconds = time.perf_counter() - start
    print(f"{N_RUNS} runs of {N_EVALUATIONS} evaluations per setting; {seconds:.0f} s, compilation and all")
    print(f"\nMedian best feasible value at {'/'.join(map(str, BUDGETS))} evaluations\n")
    print(ctpe_claims.medians_table(results))
    tests, figures = ctpe_claims.tests(results, quick=options.quick), ctpe_claims.figures(results)
    print("\nc-TPE against the others on these medians, one-sided signed-rank tests\n")
    print(ctpe_claims.tests_table(tests))
    print("\nImageNet16-120, both constraints, against earlier runs of ours and of the authors' code\n")
    print(ctpe_claims.figures_table(figures))
    if options.json:
        rows = {
            "medians": [dataclasses.asdict(row) for row in ctpe_claims.medians(results)],
            "tests": [dataclasses.asdict(row) | {"holds": row.holds} for row in tests],
            "figures": [dataclasses.asdict(row) | {"holds": row.holds} for row in figures],
        }
        options.json.write_text(json.dumps(rows, indent=1).replace("Infinity", "null"))
    return command.verdict([row.text for row in (*tests, *figures) if not row.holds])


if __name__ == "__main__":
    sys.exit(main())
