"""Interleaved timing on one core."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

# Before JAX is imported: one core for everybody, so that ratios compare work and not cores.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PARZAX_NO_CACHE", "1")  # first calls are those of a first process
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax

# By default a second thread runs what is not tiny; on one core that is two context switches for each call.
jax.config.update("jax_cpu_enable_async_dispatch", False)


def interleaved(
    candidates: dict[str, Callable[[], Any]], repeats: int, inner: dict[str, int] | None = None
) -> dict[str, float]:
    """Median seconds per call of each candidate; one after the other in every round.

    Args:
        candidates: name -> function to call.
        repeats: rounds.
        inner: calls per round of a candidate (fast ones are called several times, 1 if not given).
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, call in candidates.items():
            calls = 1 if inner is None else inner.get(name, 1)
            start = time.perf_counter()
            for _ in range(calls):
                call()
            seconds[name].append((time.perf_counter() - start) / calls)
    return {name: statistics.median(values) for name, values in seconds.items()}


def once(call: Callable[[], Any]) -> float:
    """Seconds of one call; of the first call, this is compilation and all."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
