"""Where first answers go: ``python -m benchmarks.first_profile [--quick] [--json FILE]``.

Every line is a process of its own on one core: processor seconds in all, and of it, by the clock,
imports, executables read, JAX's tracing, lowering and XLA's compilation, and the rest (the host's own work
and the computation). The experiment: the same with every program compiled as "small", "middling" and "large",
and what the answer takes from then on. "Warm" is a process that finds all executables on disk. Then the
Optuna sampler: its longest wait, and what studies have taken after some trials. Nothing is promised.
"""

import json
import sys
import tempfile
from typing import Any

import numpy as np

from benchmarks import command
from benchmarks.first import AHEAD, LIMITS, crossing, seconds
from benchmarks.first_tasks import TASKS
from benchmarks.stages import STAGES

WAIT = "Optuna sampler, longest wait"
OPTUNA = "Optuna's sampler"
TRIALS = 20, 100, 300, 1000
COMPARED = {*LIMITS, "first ask, 15 of six kinds", "first ask, 500 of six kinds"}
COLUMNS = ("imports", "reading", *STAGES.values())


def line(task: str, how: str, cache: str) -> dict[str, Any]:
    """One process: the task's seconds by stage, and those of ``import jax`` and of the answer repeated."""
    found = seconds(task, cache, "--profile", PARZAX_COMPILE="auto" if how == "warm" else how)
    spent = [found["stages"].get(stage, 0.0) for stage in COLUMNS]
    parts = " ".join(f"{part:8.2f}" for part in [*spent, found["task"] - sum(spent)])
    head = f"{task:38s} {how:9s} {found['task'] / found['jax']:5.2f}x {found['task']:6.2f}"
    print(f"{head} {parts} {1e3 * found['again']:9.2f}", flush=True)
    return found


def waits(how: str) -> float:
    """The longest wait between two calls of an objective, compiled so; seconds of the clock."""
    with tempfile.TemporaryDirectory() as cache:
        if how == "warm":
            seconds(WAIT, cache)
        found = seconds(WAIT, cache, PARZAX_COMPILE="auto" if how == "warm" else how)
    print(f"{WAIT:38s} {how:9s} {found['task'] / found['jax']:5.2f}x {found['task']:6.2f}", flush=True)
    return found["task"]


def studies(space: str) -> dict[str, list[float]]:
    """What a study has taken after some trials, and from which on it is ahead of Optuna's."""
    with tempfile.TemporaryDirectory() as cache:
        runs = {OPTUNA: seconds(f"study, optuna, {space}", cache)["task"]}
        for how, effort in (("auto", "auto"), ("warm", "auto"), ("small", "small"), ("large", "large")):
            runs[how] = seconds(f"study, parzax, {space}", cache, PARZAX_COMPILE=effort)["task"]
    theirs = np.array(runs[OPTUNA])
    for how, run in runs.items():
        own = np.array(run)
        after = " ".join(f"{own[n - 1]:8.2f}" for n in TRIALS)
        steady = 1e3 * np.median(np.diff(own[500:]))
        ahead = "" if run is runs[OPTUNA] else f"{crossing(own, theirs):8.0f}"
        print(f"{'study, ' + space:26s} {how:20s} {after} {steady:8.2f} {ahead}", flush=True)
    return runs


def main(argv: list[str] | None = None) -> int:
    """Print the lines."""
    options = command.begin(__doc__, "as parzax decides, cold and warm, without the longest", argv)
    heads = " ".join(f"{name:>8s}" for name in (*COLUMNS, "rest"))
    print(f"{'':38s} {'':9s} {'':>6s} {'in all':>6s} {heads} {'again, ms':>9s}")
    figures = {}
    for task in TASKS:
        if options.quick and not (task in LIMITS and LIMITS[task].in_quick):
            continue
        with tempfile.TemporaryDirectory() as cache:
            figures[f"{task}, auto"] = line(task, "auto", cache)
            figures[f"{task}, warm"] = line(task, "warm", cache)
        if not task.startswith("import ") and not options.quick:
            for effort in ("small", "middling", "large") if task in COMPARED else ():
                with tempfile.TemporaryDirectory() as cache:
                    figures[f"{task}, {effort}"] = line(task, effort, cache)
    if not options.quick:
        print(f"\n{'':38s} {'':9s} {'':>6s} {'clock':>6s}")
        figures[WAIT] = {how: waits(how) for how in ("auto", "warm", "small", "large")}
        print(
            "\nprocessor seconds with imports after so many trials; ms a trial from 500 on; ahead from trial"
        )
        print(f"{'':47s} " + " ".join(f"{n:8d}" for n in TRIALS) + f" {'a trial':>8s} {'ahead':>8s}")
        for space in AHEAD:
            figures[f"study, {space}"] = studies(space)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
