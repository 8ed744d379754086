"""Knowledge augmentation with candidates of the objective alone: a reason for a row of Table 2."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks.papers.c_tpe import searches, settings
from benchmarks.papers.c_tpe.results import Results, gap_ratio
from benchmarks.papers.rows import ratio_in_words
from benchmarks.papers.runs import Arrays
from benchmarks.papers.tables import Table
from parzax.parzen import AbstractDensities, AbstractSmoothing

# The unit's name, and of which method these are runs.
KIND, METHOD = "alone", "augmented, candidates of the objective"
N_RUNS, BUDGET = 300, settings.N_EVALUATIONS


class FirstDensity(AbstractDensities):
    """Densities whose candidates come from the first alone."""

    inner: AbstractDensities

    def log_prob(self, at: Any) -> Any:
        """As of ``inner``."""
        return self.inner.log_prob(at)

    def sample(self, key: Any, n: int) -> Any:
        """As of ``inner``."""
        return self.inner.sample(key, n)

    def first(self, n: int) -> AbstractDensities:  # noqa: ARG002
        """The first, whatever is asked for."""
        return self.inner.first(1)


class FirstCandidates(AbstractSmoothing):
    """A smoothing whose candidates come from the objective's density alone."""

    inner: AbstractSmoothing

    def basis(self, space: Any, dtype: Any) -> Any:
        """As of ``inner``."""
        return self.inner.basis(space, dtype)

    def fit(self, basis: Any, state: Any, split: Any) -> Any:
        """As of ``inner``, with other candidates."""
        densities, gamma = self.inner.fit(basis, state, split)
        return FirstDensity(densities), gamma

    def status(self, basis: Any, state: Any, split: Any) -> Any:
        """As of ``inner``."""
        return self.inner.status(basis, state, split)


def search(tables: Sequence[Table], quantile: float, n_seeds: int) -> Arrays:
    """A unit: as `searches.search`, with the size constrained."""
    found = {"quantiles": np.array([quantile])}
    for table in tables:
        stacked = searches.problems(table.path, table.objectives[0], ("size",), [quantile])
        sampler = px.c_tpe(stacked.space, 1)
        sampler = replace(sampler, smoothing=FirstCandidates(sampler.smoothing))
        root = jax.random.key(zlib.crc32(f"{METHOD}/{table.name}".encode()))
        losses, excess = searches.augmented(sampler, stacked, jax.random.split(root, (1, n_seeds)))
        found[f"{table.name}/size/losses"] = np.asarray(losses, np.float32)
        found[f"{table.name}/size/feasible"] = np.all(np.asarray(excess) <= 0, axis=-1)
    return found


def reason(most: Results, alone: Results) -> str:
    """What is left of the effect of augmentation with these candidates."""
    every = Results(most.losses | alone.losses, most.feasible | alone.feasible, most.oracle)
    own = every.settings((METHOD, settings.OURS, settings.AUGMENTED), settings.PRINTED_QUANTILES[-1])
    if not own:
        return ""
    usual, other = (
        ", ".join(
            f"{at.table} {ratio_in_words(*gap_ratio(every, method, settings.OURS, [at], BUDGET))}"
            for at in own
        )
        for method in (settings.AUGMENTED, METHOD)
    )
    return (
        f"half of the candidates are of the constraint's density, which {settings.N_AUGMENTED} random rows "
        f"make nearly uniform: with size constrained, after {BUDGET} over no augmentation {usual}; with "
        f"candidates of the objective's density alone {other}"
    )
