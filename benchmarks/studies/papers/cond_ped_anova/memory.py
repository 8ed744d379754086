"""Appendix D.1: the memory that f-ANOVA needs by the number of rows."""

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import optuna

from benchmarks.optuna_peer import study_of
from benchmarks.studies.papers.cond_ped_anova import naive
from benchmarks.studies.papers.cond_ped_anova.peers import evaluated
from benchmarks.studies.papers.cond_ped_anova.statements import MOVING
from benchmarks.studies.papers.cond_ped_anova.times import MOST_FANOVA, SIZES, drawn, drawn_on
from benchmarks.studies.papers.rows import Range, Row, judged, missing
from benchmarks.studies.papers.runs import Arrays, Unit

# f-ANOVA's memory is taken at these, and drawn on to twice its largest log; the paper's machine has 16 GB.
MEMORY, MEMORY_SIZES, RAM = "times/memory", (2**8, 2**9, 2**10), Range(16.0)


def units() -> list[Unit]:
    """The one unit, of a full run."""
    work, sizes = f"{__name__}:memory", {"sizes": MEMORY_SIZES}
    return [Unit(MEMORY, work, sizes, needs="sklearn", cost=60, alone=True)]


def memory(sizes: tuple[int, ...]) -> Arrays:
    """A unit: "sizes", and MiB that f-ANOVA adds to a fresh process on an expanded log of each size."""
    found = []
    for n in sizes:  # the peak of a process never falls
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found.append(pool.submit(_added, n).result())
    return {"sizes": np.array(sizes), "mebibytes": np.array(found)}


def _added(n: int) -> float:
    import_module("sklearn.ensemble")
    study = study_of(naive.expansion(drawn(MOVING, n)), 0)
    before = _peak()
    evaluated("f-ANOVA", study, 0)
    return _peak() - before


def _peak() -> float:
    """MiB that this process had at most, from Linux; NaN elsewhere."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s*(\d+)", status.read_text()) if status.is_file() else None
    return int(found[1]) / 1024 if found else float("nan")


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """The one row."""
    yield _row(found)


def _row(found: Mapping[str, Arrays]) -> Row:
    """Whether memory is what stops f-ANOVA at twice the largest log that the paper has."""
    key, where, largest = "f6-memory", "D.1", 2 * MOST_FANOVA
    printed = f"f-ANOVA needs too much memory beyond 2^11 rows: GB at 2^12 [{RAM}]"
    seconds_of_peer = found.get(f"times/f-ANOVA/{MOVING}")
    own = found.get(MEMORY)
    if not own or not seconds_of_peer or np.isnan(own["mebibytes"]).any():
        return missing(key, where, printed, "a full run with f-ANOVA on Linux")
    power, number = drawn_on(own["sizes"], own["mebibytes"], largest)
    ran = np.isfinite(seconds_of_peer["f-ANOVA"])
    slope, last = drawn_on(seconds_of_peer["sizes"][ran], seconds_of_peer["f-ANOVA"][ran], SIZES[-1])
    number *= 2**20 / 1e9
    texts = [f"{x:.0f} MiB at {n}" for n, x in zip(own["sizes"], own["mebibytes"], strict=True)]
    return Row(
        key, where, printed, f"{number:.2g}, a power law of {power:.1f} through {', '.join(texts)}, {MOVING}",
        judged(number, 0, RAM), f"by Optuna {optuna.__version__}; the paper's is 4.7.0",
        "Optuna 4.7.0 on the same logs, by hand, adds 57 MiB at 1024 rows and 221 MiB at 4096; time grows: "
        f"seconds as n^{slope:.1f}, {last / 86400:.0f} days at {SIZES[-1]} rows",
    )  # fmt: skip
