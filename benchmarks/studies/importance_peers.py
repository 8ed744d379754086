"""Importances by many tools, beside truths: ``python -m benchmarks.studies.importance_peers``.

Tools answer different questions. Each is measured by the question that it means to answer, on logs of random
search and of Optuna's TPE on problems that are small enough to enumerate. Writes docs/studies/importance_peers.md
for a full run without --out. PARZAX_DATA names the folder of the tables. PARZAX_PEERS names Python interpreters,
separated by ":", whose environments have jaxgsa, SALib, HyperSHAP or DeepCAVE, which cannot be installed
together; without it these are left out. The exit status is always 0.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.studies import importance_readers, pages
from benchmarks.studies.adaptive_problems import problem_of
from benchmarks.studies.adaptive_readings import PEER_EVALUATORS, optuna_shares
from benchmarks.studies.adaptive_scores import N_BOOTSTRAP, distance
from benchmarks.studies.adaptive_searches import RANDOM, Logs, load
from benchmarks.studies.importance_readers import Answer, Axis, read_logs
from benchmarks.studies.importance_truths import (
    DEFAULT,
    DELTA,
    FIRST,
    LEVEL,
    N_DRAWN_VALUES,
    SHAPLEY,
    TARGET,
    TOTAL,
    grid,
    shares,
    variance_shares,
)
from benchmarks.studies.optimisers.page import table
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit
from parzax.lens.results.order import shows_learning

PROBLEMS = ("quadratic", "interacting", "gated", "conditional", "cells", "slice")
SEARCHES, SIZES, N_LOGS = (RANDOM, "Optuna TPE"), (40, 100, 300), 8
ROWS, SURROGATE, AUTOMATIC = "parzax rows", "parzax surrogate", "parzax"
OPTUNA = {f"Optuna {name}": name for name in PEER_EVALUATORS}
# Logs that are read by tools that take seconds.
N_SLOW, SLOW = 3, ("Optuna f-ANOVA", "HyperSHAP sensitivity")
# Of a log: whether the search learned; quality of the surrogate. They decide which of the two answers.
LEARNED, QUALITY = "learned", "quality"
# Draws of the surrogate on a grid; fewer where the grid is large.
N_DRAWS, MOST_POINTS = 16, 1 << 17


def units(quick: bool) -> list[Unit]:
    """Truths, then what each process reads."""
    module, truths = "benchmarks.studies.importance_peers", "benchmarks.studies.importance_truths"
    problems, sizes, n_logs = (PROBLEMS[3:4], SIZES[:1], 2) if quick else (PROBLEMS, SIZES, N_LOGS)
    listed = [Unit(f"truth/{problem}", f"{truths}:read_truth", {"problem": problem}) for problem in problems]
    for problem in problems:
        for search in SEARCHES:
            arguments = {"logs": Logs(search, problem, n_logs, max(sizes)), "sizes": sizes}
            for reader, cost in (("ours", 60), ("peers", 30)):
                name, needs = f"{reader}/{search}/{problem}", ("optuna", "sklearn", "tinygp")
                listed.append(Unit(name, f"{module}:read_{reader}", arguments, needs, cost, limit=600))
    return listed


def read_ours(logs: Logs, sizes: Sequence[int]) -> Arrays:
    """A unit: answers of parzax and of Optuna; see `read_logs`."""
    readers = {ROWS: _rows, SURROGATE: _surrogate}
    readers |= {name: _optuna(evaluator) for name, evaluator in OPTUNA.items()}
    x, loss = _log(logs)
    return read_logs(readers, problem_of(logs.problem).space, x, loss, sizes, N_SLOW, SLOW)


def read_peers(logs: Logs, sizes: Sequence[int]) -> Arrays:
    """A unit: answers of the packages of other environments, and their versions."""
    space, (x, loss), found = problem_of(logs.problem).space, _log(logs), {}
    for python in filter(None, os.environ.get("PARZAX_PEERS", "").split(":")):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder) / name) for name in ("logs.npz", "answers.npz")]
            log = {"x": places(space, x), "loss": loss, "axes": json.dumps(axes_of(space))}
            np.savez(paths[0], **log, sizes=sizes, n_slow=N_SLOW)
            subprocess.run([python, importance_readers.__file__, *paths], check=True)
            with np.load(paths[1]) as answers:
                found |= answers
    return found


def _log(logs: Logs) -> tuple[np.ndarray, np.ndarray]:
    arrays = load(logs)
    return np.asarray(arrays["x"], float), np.asarray(arrays["loss"], float)


def axes_of(space: px.Space) -> list[Axis]:
    """The parameters, as other packages have them; a condition is on one category."""
    axes = []
    for name, (domain,) in zip(space.names, space.domains, strict=True):
        parents = [
            (place, space.domains[place][0].choices.index(condition.values[0]))
            for condition in domain.conditions
            if (place := space.names.index(condition.parent)) >= 0
        ]
        ordered = not isinstance(domain, px.Categorical)
        axes.append(Axis(name, int(domain.n_values or 0), ordered, parents[0] if parents else None))
    return axes


def places(space: px.Space, x: np.ndarray) -> np.ndarray:
    """Codes of categories, and places of numbers in [0, 1]; NaN if inactive."""
    columns = []
    for j, (domain,) in enumerate(space.domains):
        column, n = x[..., j], domain.n_values
        index = domain.axis.index(np.nan_to_num(column, nan=0.0))
        place = (index + 0.5) / n if n else domain.axis.place(column, index)
        columns.append(np.where(np.isnan(column), np.nan, index if isinstance(domain, px.Categorical) else place))
    return np.stack(columns, axis=-1)


def _rows(space: px.Space, x: np.ndarray, loss: np.ndarray) -> Answer:
    """Importances of the rows, and whether their order shows that the search learned."""
    obs = px.Observations.from_arrays(space, x, loss)
    result = px.cond_ped_anova(obs, LEVEL, key=jax.random.key(0), surrogate=None)
    return {TARGET: result.importance[0], LEARNED: shows_learning(obs, obs.losses[..., 0][None])}


def _surrogate(space: px.Space, x: np.ndarray, loss: np.ndarray) -> Answer:
    """Importances of the surrogate; shares of the variance of its draws on a grid, by the truths' arithmetic."""
    obs, key = px.Observations.from_arrays(space, x, loss), jax.random.key(zlib.crc32(loss.tobytes()))
    result = px.cond_ped_anova(obs, LEVEL, key=key, surrogate=px.surrogate.GaussianProcess())
    points, shape = grid(space, N_DRAWN_VALUES)
    for (domain,), column in zip(space.domains, points.T, strict=True):
        for condition in domain.conditions:
            parent = space.names.index(condition.parent)
            codes = [space.domains[parent][0].choices.index(value) for value in condition.values]
            column[~np.isin(points[:, parent], codes)] = np.nan
    n_draws = max(min(N_DRAWS, MOST_POINTS // len(points)), 2)
    draws = np.minimum(result.posterior.draws(key, points, n_draws), np.nanmax(loss))
    answers = [variance_shares(space, np.asarray(draw, float).reshape(shape)) for draw in draws]
    return {TARGET: result.importance[0], QUALITY: result.posterior.quality} | {
        question: np.mean([answer[question] for answer in answers], axis=0) for question in answers[0]
    }


def _optuna(evaluator: str):
    question = {"PED-ANOVA": TARGET, "f-ANOVA": FIRST, "MDI": SHAPLEY}[evaluator]

    def read(space: px.Space, x: np.ndarray, loss: np.ndarray) -> Answer:
        return {question: optuna_shares(evaluator, space, x, loss)}

    return read


def written(found: Mapping[str, Arrays]) -> Page:
    return Page([], (0, 0), [])


def main(argv: list[str] | None = None) -> int:
    """Read the logs, write the page."""
    title = "Which importance answers which question?"
    return pages.main(argv, "importance_peers", __doc__, title, units, written)


if __name__ == "__main__":
    sys.exit(main())
