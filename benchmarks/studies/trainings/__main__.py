"""Searches of tables of real trainings: ``python -m benchmarks.studies.trainings``.

Regrets, without noise, of the configuration (for two objectives: the front) that `px.tpe`, its relatives and
random search report, over those of Optuna's TPE, whose report is the trial with the smallest value. Half of
the tables is for choosing. Tables and runs are kept in docs/studies/.trainings. Where Rustuna is installed
there are ratios over its TPE too.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

import parzax as px
from benchmarks.studies.optimisers import page, scores
from benchmarks.studies.papers import runs
from benchmarks.studies.trainings import searches
from benchmarks.studies.trainings.searches import BUDGETS, KINDS, TWO, N, Runs, Task
from benchmarks.studies.trainings.tables import CHOICE, FOLDER, KEPT, TRAININGS

OPTUNA, RUSTUNA, SMALLEST = "Optuna's TPE", "Rustuna's TPE", 1e-4
PEERS = {OPTUNA: searches.optuna_tpe, RUSTUNA: searches.rustuna_tpe}
OURS: Mapping[str, Callable[..., Any]] = {
    "px.tpe": px.tpe,
    "px.tpe, repeats=False": lambda *of: px.tpe(*of, proposal=px.samplers.Proposal(repeats=False)),
    "px.tpe, neither repeats nor branches": lambda *of: px.tpe(
        *of, proposal=px.samplers.Proposal(repeats=False, one_branch=False)
    ),
    "px.optuna_tpe": px.optuna_tpe,
    "random": lambda *of: px.tpe(*of, start=px.samplers.RandomStart(N)),
}


def found(method: str, task: Task, n_seeds: int) -> Runs:
    """Runs of a method, which are kept in a file."""
    name = f"{method} {task.name} {task.kind} {n_seeds}".replace(" ", "_")
    file = FOLDER / "runs" / f"{name}.npz"
    if not file.exists():
        runs.progress(f"{method}: {task.name}, {task.kind}")
        if method in PEERS:
            made = searches.theirs(PEERS[method], task, n_seeds)
        else:
            made = searches.ours(OURS[method], task, n_seeds)
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, **made._asdict())
    with np.load(file, allow_pickle=False) as arrays:
        return Runs(**arrays)


def compared(
    kind: str, names: Sequence[str], methods: Sequence[str], seeds: tuple[int, int]
) -> list[list[str]]:
    """A line of the table for each method: geometric means of ratios, with 95 % intervals over tables."""
    tasks = [Task(name, kind) for name in names]

    def regrets(method: str, lucky: bool) -> list[np.ndarray]:
        n = seeds[method in PEERS]
        return [searches.reported(task, found(method, task, n), lucky=lucky) for task in tasks]

    ours, theirs = {method: regrets(method, False) for method in methods}, regrets(OPTUNA, True)
    lines = [[f"{kind}, {len(tasks)} tables", f"{OPTUNA} (regret)", *_cells(theirs, theirs, True)]]
    lines += [["", method, *_cells(own, theirs)] for method, own in ours.items()]
    lines.append(["", f"{OPTUNA}, by means", *_cells(regrets(OPTUNA, False), theirs)])
    if kind != TWO and find_spec("rustuna") is not None:
        others = regrets(RUSTUNA, True)
        lines += [["", f"{method} over {RUSTUNA}", *_cells(own, others)] for method, own in ours.items()]
    return lines


def _cells(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], alone: bool = False) -> list[str]:
    """A cell for each number of evaluations, and the interval over runs after all of them."""
    means, others = (np.maximum([own.mean(axis=0) for own in side], SMALLEST) for side in (ours, theirs))
    if alone:
        return [f"{np.exp(np.log(column).mean()):.3f}" for column in means.T] + [""]
    cells = []
    for ratio in (means / others).T:
        low, high = scores.interval(ratio)
        cells.append(f"{np.exp(np.log(ratio).mean()):.2f} ({low:.2f}, {high:.2f}), {(ratio < 1).sum()}")
    low, high = _over_runs(ours, theirs)
    return [*cells, f"({low:.2f}, {high:.2f})"]


def _over_runs(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> tuple[float, float]:
    """95 % interval of the last ratio, by resampling the runs of each table, which are not paired."""
    rng = np.random.default_rng(0)

    def logs(side: Sequence[np.ndarray]) -> np.ndarray:
        drawn = [own[rng.integers(0, len(own), (scores.N_RESAMPLED, len(own))), -1] for own in side]
        return np.log(np.maximum([one.mean(axis=1) for one in drawn], SMALLEST)).mean(axis=0)

    low, high = np.exp(np.quantile(logs(ours) - logs(theirs), [0.025, 0.975]))
    return float(low), float(high)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.trainings", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--half", choices=(CHOICE, KEPT), default=CHOICE, help="which half of the tables")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="what is asked of them"
    )
    parser.add_argument("--tables", nargs="+", choices=list(TRAININGS), help="these tables alone")
    parser.add_argument("--methods", nargs="+", choices=list(OURS), default=list(OURS))
    parser.add_argument("--seeds", nargs=2, type=int, default=(64, 64), help="runs of ours, and of peers")
    options = parser.parse_args(argv)
    lines: list[list[str]] = []
    for kind in options.kinds:
        names = [name for name, own in TRAININGS.items() if own.half == options.half]
        names = [name for name in names if kind != TWO or TRAININGS[name].two]
        names = [name for name in names if options.tables is None or name in options.tables]
        lines += compared(kind, names, options.methods, tuple(options.seeds)) if names else []
    runs.progress("")
    heads = ["", "", *(f"after {b}" for b in BUDGETS), f"interval over runs after {N}"]
    print(page.table(heads, lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
