"""Importance against the level, of seeds of the paper's five problems, by two estimators."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks.studies.papers import data
from benchmarks.studies.papers.runs import Arrays
from benchmarks.synthetic import PROBLEMS as SYNTHETIC

LEVELS = np.arange(1, 100) / 100
# Seeds of the stored logs, as in the paper, and of fresh ones, which tell apart what ten do not.
N_SEEDS, N_FRESH = 10, 200
N_ROWS, N_BOOTSTRAP = 1000, 200
PROBLEMS = {problem.name: problem for problem in SYNTHETIC}
ESTIMATORS = {"default": {}, "parity": {"divergence": px.divergence.Pearson(), "grid": px.Grid.optuna()}}
MEASURES = ("variance", "importance", "standard", "inter", "unweighted")


@dataclass(frozen=True)
class Curves:
    """What one estimator says of the seeds of a problem, below a region.

    Attributes:
        names: of the parameters.
        levels: (q,).
        arrays: measure -> (s, q, d).
    """

    names: tuple[str, ...]
    levels: np.ndarray
    arrays: Arrays

    def seeds(self, chosen: Any) -> "Curves":
        """The same of some seeds."""
        return Curves(self.names, self.levels, {name: x[chosen] for name, x in self.arrays.items()})

    def at(self, level: float) -> int:
        """Which level it is."""
        return int(np.abs(self.levels - level).argmin())

    def each(self, name: str, measure: str = "importance") -> np.ndarray:
        """(s, q) of one parameter."""
        return self.arrays[measure][..., self.names.index(name)]

    def mean(self, name: str, measure: str = "importance") -> np.ndarray:
        """(q,) over the seeds."""
        return self.each(name, measure).mean(axis=0)

    def error(self, name: str, measure: str = "importance") -> np.ndarray:
        """(q,) standard error over the seeds."""
        own = self.each(name, measure)
        return own.std(axis=0, ddof=1) / np.sqrt(len(own))

    def shares(self, measure: str) -> np.ndarray:
        """(s, q, d) positive values of a measure over their sum at each level."""
        positive = np.maximum(self.arrays[measure], 0)
        whole = positive.sum(axis=-1, keepdims=True)
        return positive / np.where(whole > 0, whole, 1)

    def between(self, low: float, high: float) -> np.ndarray:
        """(q,) which levels lie in a range, ends included."""
        return (self.levels >= low - 1e-9) & (self.levels <= high + 1e-9)


def sources() -> tuple[str, ...]:
    """Stored logs where there are some, and fresh ones."""
    return ("fresh",) if data.folder() is None else ("stored", "fresh")


def n_seeds(source: str) -> int:
    """Of the logs of a source."""
    return N_SEEDS if source == "stored" else N_FRESH


def log(problem: str, source: str, n_rows: int = N_ROWS, first: int = 0) -> px.Observations:
    """Seeds of a problem: "stored" ones, or "fresh" ones by a random search of our own.

    For another ``first`` there are other fresh ones.
    In float64, as trees split by the last digits of what divides the rows alike.
    """
    own = PROBLEMS[problem]
    if source == "stored":
        stored = data.folder()
        assert stored is not None, "stored logs are only asked for where there are some"
        with np.load(stored / "synthetic" / f"{problem}.npz") as file:
            values, losses = file["values"], file["objective"]
    else:
        with jax.enable_x64(True):
            keys = jax.random.split(jax.random.key(N_ROWS + first), N_FRESH)
            drawn = jax.vmap(lambda key: own.sample(key, n_rows))(keys)
            values, losses = (np.asarray(x) for x in drawn)
    return px.Observations.from_arrays(own.space, values, losses)


def curves(problem: str, source: str, region: float = 1.0, n_rows: int = N_ROWS) -> Arrays:
    """A unit: both estimators' measures, "ESTIMATOR/MEASURE" -> (s, q, d), at the levels below the region."""
    with jax.enable_x64(True):
        obs, found = log(problem, source, n_rows), {}
        for name, estimator in ESTIMATORS.items():
            result = px.cond_ped_anova(
                obs, LEVELS[region > LEVELS], region=region, **estimator, n_resamples=0
            )
            found |= {f"{name}/{measure}": np.asarray(getattr(result, measure)) for measure in MEASURES}
    return found


def of_unit(arrays: Arrays, problem: str, region: float = 1.0) -> dict[str, Curves]:
    """Estimator -> curves."""
    return {
        name: Curves(
            PROBLEMS[problem].space.names,
            LEVELS[region > LEVELS],
            {measure: arrays[f"{name}/{measure}"] for measure in MEASURES},
        )
        for name in ESTIMATORS
    }


def spread(measure: Callable[..., float], *curves: Curves) -> tuple[float, float]:
    """A number of some curves of the same seeds, and its standard error over the seeds by the bootstrap."""
    rng, n = np.random.default_rng(0), len(next(iter(curves[0].arrays.values())))
    drawn = [measure(*(own.seeds(i) for own in curves)) for i in rng.integers(0, n, (N_BOOTSTRAP, n))]
    return measure(*curves), float(np.std(drawn))
