"""Searches on problems whose importances are known: ``python -m benchmarks.studies.adaptive_searches``.

Makes the logs that `benchmarks.studies.adaptive_logs` reads, one file for each search and problem; files that
are there stay. A log does not depend on how it is read, so that logs are made once and read again after each
change of the surrogate. Names of files, such as px.tpe/quadratic, or parts of them choose among the logs.
"""

import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import parzax as px
from benchmarks.studies.adaptive_problems import NETWORKS, PROBLEMS, TABLES, problem_of
from benchmarks.studies.optimisers.peers import PEERS, is_active
from benchmarks.studies.pages import DOCS
from benchmarks.studies.papers.runs import Arrays

FOLDER = DOCS / ".adaptive_searches"
RANDOM = "random search"
# More logs of px.tpe on tables, for the space to search next.
NEXT = "for the next space"
# Searchers of `benchmarks.studies.optimisers.peers`, which run in Optuna studies, and their packages.
PEER_PACKAGES = {
    "Optuna TPE": ("optuna",),
    "Optuna CMA-ES": ("optuna", "cmaes"),
    "Hyperopt": ("hyperopt",),
    "Optuna GP": ("optuna", "torch"),
}


def _with_start(n: int) -> Callable[[px.Space], Any]:
    return lambda space: px.tpe(space, start=px.samplers.RandomStart(n))


def _with_random(part: float) -> Callable[[px.Space], Any]:
    return lambda space: px.tpe(space, proposal=px.samplers.Proposal(epsilon=part))


# px.tpe with more random rows, at its start or throughout.
RANDOM_PARTS: Mapping[str, Callable[[px.Space], Any]] = {
    "25 random rows first": _with_start(25),
    "50 random rows first": _with_start(50),
    "epsilon 0.25": _with_random(0.25),
    "epsilon 0.5": _with_random(0.5),
}
SAMPLERS: Mapping[str, Callable[[px.Space], Any]] = {
    "px.tpe": px.tpe,
    "px.optuna_tpe": px.optuna_tpe,
    NEXT: px.tpe,
    **RANDOM_PARTS,
}
# Problems on which parts of random rows are compared, and worth is measured.
FEW_PROBLEMS = ("quadratic", "branching", "slice", "cells")


class Logs(NamedTuple):
    """Which logs there are: so many seeds of n trials each."""

    searcher: str
    problem: str
    n_seeds: int
    n: int

    @property
    def name(self) -> str:
        """Of search and problem."""
        return f"{self.searcher}/{self.problem}"

    @property
    def installed(self) -> bool:
        """Whether the packages of the search are there."""
        return all(map(find_spec, PEER_PACKAGES.get(self.searcher, ())))

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / f"{self.name}.npz"


# Logs of each search: of how many seeds, and of how many trials.
SEEDS = {
    RANDOM: (12, 300),
    "px.tpe": (12, 300),
    "px.optuna_tpe": (12, 300),
    "Optuna TPE": (12, 300),
    "Optuna CMA-ES": (12, 300),
    "Hyperopt": (12, 100),
    "Optuna GP": (12, 100),
}


def all_logs() -> Iterator[Logs]:
    """Those of the page. CMA-ES would be random search on tables of categories alone."""
    for searcher, (n_seeds, n) in SEEDS.items():
        for problem in (*PROBLEMS, *TABLES, *NETWORKS):
            if searcher != "Optuna CMA-ES" or problem not in ("cells", "images"):
                yield Logs(searcher, problem, n_seeds, n)
    yield from (Logs(NEXT, problem, 40, 100) for problem in TABLES)
    yield from (Logs(part, problem, 4, 100) for part in RANDOM_PARTS for problem in FEW_PROBLEMS)


def load(logs: Logs) -> Arrays:
    """Arrays x (s, n, d) and loss (s, n): from the file, or from `search` if that has fewer."""
    arrays = _stored(logs)
    if arrays is None:
        arrays = search(*logs)
        logs.path.parent.mkdir(parents=True, exist_ok=True)
        part = logs.path.with_suffix(".part")
        with part.open("wb") as file:
            np.savez_compressed(file, x=arrays["x"], loss=arrays["loss"])
        part.replace(logs.path)
    return {name: arrays[name][: logs.n_seeds, : logs.n] for name in ("x", "loss")}


def _stored(logs: Logs) -> Arrays | None:
    if not logs.path.is_file():
        return None
    with np.load(logs.path, allow_pickle=False) as arrays:
        n_seeds, n = arrays["loss"].shape
        return dict(arrays) if n_seeds >= logs.n_seeds and n >= logs.n else None


def search(searcher: str, problem: str, n_seeds: int, n: int) -> Arrays:
    """Native values x (s, n, d) and loss (s, n) of runs of n trials."""
    seed = zlib.crc32(f"{searcher}/{problem}".encode())
    objective, keys = problem_of(problem), jax.random.split(jax.random.key(seed), n_seeds)
    evaluate = jax.jit(lambda key, x: objective(key, x)[0][0])
    if searcher == RANDOM:
        x = jax.vmap(lambda key: objective.space.sample(key, n))(keys)
        # Other keys than those of the configurations, so that noise does not depend on them.
        trials = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, 1), n))(keys)
        return {"x": np.asarray(x), "loss": np.asarray(jax.vmap(jax.vmap(evaluate))(trials, x))}
    if searcher in SAMPLERS:
        trace = px.optimize_many(keys, SAMPLERS[searcher](objective.space), objective, n)
        return {"x": np.asarray(trace.x), "loss": np.asarray(trace.losses[..., 0])}
    runs = []
    for i, key in enumerate(keys):
        rows: list[np.ndarray] = []
        losses: list[float] = []

        def told(at: Mapping[str, float], key=key, rows=rows, losses=losses) -> tuple[list, list]:
            rows.append(_native(objective.space, at))
            losses.append(float(evaluate(jax.random.fold_in(key, len(rows)), rows[-1])))
            return losses[-1:], []

        PEERS[searcher].optimise(objective.space, told, n, i, 1)
        runs.append((rows, losses))
    x, loss = map(np.array, zip(*runs, strict=True))
    return {"x": x, "loss": loss}


def _native(space: px.Space, at: Mapping[str, float]) -> np.ndarray:
    """A row of native values from what peers suggest: for an ordinal the number of its value.

    Hyperopt also suggests parameters of which not all conditions hold.
    """
    values = []
    for name, (domain,) in zip(space.names, space.domains, strict=True):
        value = at.get(name, np.nan) if is_active(space, dict(at), domain) else np.nan
        if isinstance(domain, px.Ordinal) and not np.isnan(value):
            value = domain.values[int(value)]
        values.append(value)
    return np.array(values, float)


def main(chosen: list[str]) -> int:
    """Make the logs whose names contain one of the texts; a search whose package is missing makes none."""
    for logs in all_logs():
        if logs.installed and not logs.path.is_file() and any(text in logs.name for text in chosen or [""]):
            start = time.process_time()
            load(logs)
            print(f"{logs.name}: {time.process_time() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
