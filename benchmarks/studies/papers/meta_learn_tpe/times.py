"""Section 5.1 and C.2.2: the time of the task kernel."""

import time
from collections.abc import Iterator

import equinox as eqx
import jax
import numpy as np

import parzax as px
from benchmarks import toys
from benchmarks.settings import adjusted
from benchmarks.studies.papers.rows import Range, Row, judged
from benchmarks.studies.papers.runs import Arrays

# Dimensions and rows of the paper's time of the task kernel.
TIMED, N_TIMED = 10, 200
SOURCES, REPEATS = 4, 30
# Points of the estimate: of the paper, and so few that they cost little.
N_SAMPLES, N_FEW = 1000, 50


def kernel_times(n_rows: int) -> Arrays:
    """A unit: "seconds" (r,) of the task kernel of five tasks of so many rows, 1000 points.

    "text" (r,), of the preset of the text, whose points are uniform; "few" (r,), of 50 such points.
    """
    problem = toys.ellipsoid(TIMED)
    rng, logs = np.random.default_rng(0), {}
    for i in range(SOURCES):
        x = rng.uniform(-5, 5, (n_rows, TIMED))
        logs[f"{i}"] = px.Observations.from_arrays(problem.space, x, ((x - i) ** 2).sum(axis=1))
    x, found = rng.uniform(-5, 5, (n_rows, TIMED)), {}

    @eqx.filter_jit
    def kernel(sampler: px.samplers.Sampler, state: px.samplers.State) -> jax.Array:
        return px.meta.task_kernel(px.samplers.similarities(sampler, state))

    for name, preset, n_samples in (
        ("seconds", px.papers.authors_meta_learn_tpe, N_SAMPLES),
        ("text", px.papers.meta_learn_tpe, N_SAMPLES),
        ("few", px.papers.meta_learn_tpe, N_FEW),
    ):
        sampler = adjusted(preset, n_samples=n_samples)(problem.space, logs)
        state = sampler.tell(sampler.init(n_rows), x, (x**2).sum(axis=1))
        jax.block_until_ready(kernel(sampler, state))
        seconds = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            jax.block_until_ready(kernel(sampler, state))
            seconds.append(time.perf_counter() - start)
        found[name] = np.array(seconds)
    return found


def rows(few: Arrays, many: Arrays) -> Iterator[Row]:
    """Rows of both times, and of the order in the number of rows."""
    where = "Section 5.1, C.2.2"
    note = "four sources, 1000 points; compilation apart; the machine of this page, which is not the paper's"
    for key, own, printed, n_rows, limit in (
        ("kernel-time", few, "the task kernel takes 1e-4 s: 10D, 200 observations, 5 tasks", N_TIMED, 1e-4),
        ("kernel-time-many", many, "with S = 1000 and N_m = 10^4 less than a second", 10_000, 1.0),
    ):
        took = float(np.median(own["seconds"]))
        verdict = judged(took, 0, Range(0, limit))
        text, fewer = (float(np.median(own[name])) for name in ("text", "few"))
        reason = (
            f"at uniform points, as in the text, {text:.1e} s; at {N_FEW} of them {fewer:.1e} s, which calls "
            "and the densities' own work take"
        )
        yield Row(key, where, printed, f"{took:.1e} s with {n_rows} rows a task", verdict, note, reason)
    factor = float(np.median(many["seconds"]) / np.median(few["seconds"]))
    yield Row(
        "kernel-time-order", where, "its time is O(S max N_m)",
        f"{factor:.1f} times with {10_000 // N_TIMED} times as many rows",
        judged(factor, 0, Range(high=10_000 / N_TIMED)), note,
    )  # fmt: skip
