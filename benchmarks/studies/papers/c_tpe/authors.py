"""How long c-TPE takes with the authors' densities, from their package parzen-estimator.

Their sampler of c-TPE is in no package; its time is nearly all in these densities. Every evaluation
estimates one below and one above for the objective and for each constraint, draws 24 candidates from every
one below, and evaluates all candidates under all.
"""

import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.load_table import load_table
from benchmarks.studies.papers.c_tpe import settings
from benchmarks.studies.papers.c_tpe.peers import Lookup
from benchmarks.studies.papers.c_tpe.results import Results
from benchmarks.studies.papers.rows import OURS_ALONE, Row, Verdict, missing
from benchmarks.studies.papers.runs import Arrays
from benchmarks.studies.papers.tables import Table
from benchmarks.studies.without_torch import without_torch

N_CANDIDATES, N_STARTUP, TOP, LEAST_WIDTH = 24, 10, 0.8, 0.1


def seconds(tables: Sequence[Table]) -> Arrays:
    """A unit: "TABLE/n_constraints", the seconds of one run, without those of the table."""
    with without_torch():
        package = importlib.import_module("parzen_estimator")
    found = {}
    for table in tables:
        lookup = Lookup(load_table(table.path, [table.objectives[0]]))
        for n_constraints in (1, 2):
            found[f"{table.name}/{n_constraints}"] = np.array(_run(package, lookup, n_constraints))
    return found


def _run(package: Any, lookup: Lookup, n_constraints: int) -> float:
    """Rows are random: the time depends on how many there are, not on which."""
    rng = np.random.RandomState(0)
    n, d = settings.N_EVALUATIONS, len(lookup.sizes)
    rows = np.stack([rng.randint(size, size=n) for size in lookup.sizes], axis=1)
    start = time.perf_counter()
    for rows_known in range(N_STARTUP, n):
        orders = [rng.permutation(rows_known) for _ in range(1 + n_constraints)]
        n_below = int(np.ceil(np.sqrt(rows_known) / 4))
        pairs = [
            [_density(package, lookup, rows[group]) for group in (order[:n_below], order[n_below:])]
            for order in orders
        ]
        drawn = [below.sample(N_CANDIDATES, rng, dim_independent=True) for below, _ in pairs]
        candidates = [np.concatenate([own[j] for own in drawn]) for j in range(d)]
        logs = [[own.log_pdf(candidates) for own in pair] for pair in pairs]
        np.argmax(sum(-np.logaddexp(0.0, above - below) for below, above in logs))
    return time.perf_counter() - start


def _density(package: Any, lookup: Lookup, rows: np.ndarray) -> Any:
    each = {}
    for name, size, category, x in zip(lookup.names, lookup.sizes, lookup.categories, rows.T, strict=True):
        each[name] = (
            package.CategoricalParzenEstimator(samples=x, n_choices=size, top=TOP)
            if category
            else package.NumericalParzenEstimator(
                samples=x, lb=0, ub=size - 1, q=1, dtype=int, min_bandwidth_factor=LEAST_WIDTH
            )
        )
    return package.MultiVariateParzenEstimator(each)


def row(arrays: Arrays, results: Results, ours: float) -> Row:
    """Seconds of the authors' densities for all runs of c-TPE, beside ours for the same runs."""
    key, where, printed = "authors-time", OURS_ALONE, "the authors' way takes longer than ours"
    if not arrays:
        return missing(key, where, printed, "tables in PARZAX_DATA and the package parzen-estimator")
    theirs = sum(
        float(arrays[f"{setting.table}/{len(settings.CONSTRAINTS[setting.constraints])}"]) * len(runs)
        for setting, runs in results.losses[settings.OURS].items()
    )
    one = np.mean([float(x) for x in arrays.values()])
    n_runs = sum(map(len, results.losses[settings.OURS].values()))
    text = f"{n_runs} runs of c-TPE: {theirs / 3600:.2g} hours of one core; ours {ours:.0f} s"
    note = (
        f"extrapolated from {len(arrays)} runs of {one:.2g} s on average, with the densities of their "
        f"package alone (no groups, no tables); ours with compilation and tables: {theirs / ours:.0f} times "
        "as fast"
    )
    return Row(key, where, printed, text, Verdict.AGREES if theirs > ours else Verdict.DIFFERS, note)
