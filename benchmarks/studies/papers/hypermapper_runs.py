"""Runs of HyperMapper on tables, for `benchmarks.studies.papers.further`.

``PYTHON hypermapper_runs.py PROBLEM.npz RUNS.npz`` is called with the Python of an environment that has
HyperMapper, and imports nothing of the project. PROBLEM has the "sizes" (d,) of the parameters and which of
them are "ordered" (d,), "losses" (rows, trainings), "excess" (thresholds, rows, trainings, constraints),
"n_trainings" (rows,), "n_seeds" and "n_evaluations". RUNS has "losses" and "feasible" (thresholds, seeds,
evaluations). Rows are the full factorial in C order; one of a configuration's trainings is drawn at random.
"""

import contextlib
import json
import os
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

# As in the authors' repository of c-TPE; every other setting is HyperMapper's default.
N_RANDOM = 10
SETTINGS = {
    "application_name": "table",
    "optimization_objectives": ["loss"],
    "feasible_output": {
        "enable_feasible_predictor": True,
        "name": "Valid",
        "true_value": "True",
        "false_value": "False",
    },
    "number_of_cpus": 1,
    "local_search_starting_points": 3,
    "local_search_random_points": 100,
}


def run(problem: dict[str, np.ndarray], threshold: int, seed: int) -> tuple[list[float], list[bool]]:
    """Losses of one run, and whether each evaluation is feasible."""
    from hypermapper import optimizer

    np.random.seed(seed)  # noqa: NPY002 (HyperMapper reads the global generators, and has no seed)
    random.seed(seed)
    draw, losses, feasible = np.random.default_rng(seed), [], []

    def evaluate(values: dict[str, int]) -> dict[str, float | bool]:
        choices = [int(values[f"x{i}"]) for i in range(len(problem["sizes"]))]
        row = int(np.ravel_multi_index(choices, problem["sizes"]))
        training = int(draw.integers(problem["n_trainings"][row]))
        losses.append(float(problem["losses"][row, training]))
        feasible.append(bool((problem["excess"][threshold, row, training] <= 0).all()))
        return {"loss": losses[-1], "Valid": feasible[-1]}

    parameters = {
        f"x{i}": {"parameter_type": "ordinal" if ordered else "categorical", "values": list(range(size))}
        for i, (size, ordered) in enumerate(zip(problem["sizes"].tolist(), problem["ordered"], strict=True))
    }
    n_later = int(problem["n_evaluations"]) - N_RANDOM
    path, stdout = Path("settings.json"), sys.stdout
    path.write_text(
        json.dumps(SETTINGS | {"input_parameters": parameters, "optimization_iterations": n_later})
    )
    try:  # HyperMapper replaces stdout by a log of its own
        with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
            optimizer.optimize(str(path), evaluate)
    finally:
        sys.stdout = stdout
    return losses, feasible


def main(source: str, target: str) -> None:
    """Read the problem, run every threshold and seed, and write the runs."""
    with np.load(source) as file:
        problem = dict(file)
    target = str(Path(target).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # HyperMapper writes its logs where it runs
        os.environ["PWD"] = folder
        runs = [
            [run(problem, threshold, seed) for seed in range(int(problem["n_seeds"]))]
            for threshold in range(len(problem["excess"]))
        ]
        os.chdir(Path(target).parent)
    arrays = [np.array([[one[i] for one in each] for each in runs]) for i in (0, 1)]
    np.savez(target, losses=arrays[0], feasible=arrays[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
