"""What knowledge augmentation costs at 0.9: runs of the text, and with other candidates."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks.studies.papers.c_tpe import searches, settings
from benchmarks.studies.papers.c_tpe.results import Results, gap_ratio
from benchmarks.studies.papers.rows import ratio_in_words
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table
from parzax.density import AbstractMixture, AbstractSmoothing

# The unit's name, and of which method these are runs.
KIND, METHOD, PLAIN = "alone", "augmented, candidates of the objective", "candidates of the objective"
N_RUNS, N_TEXT = 300, 150
# The preset of the text, without augmentation and with it.
TEXT, TEXT_AUGMENTED = "px.papers.c_tpe", "px.papers.c_tpe, augmented"


class FirstDensity(AbstractMixture):
    """Densities whose candidates come from the first alone."""

    inner: AbstractMixture

    def log_prob(self, basis: Any, at: Any) -> Any:
        """As of ``inner``."""
        return self.inner.log_prob(basis, at)

    def sample(self, key: Any, basis: Any, n: int) -> Any:
        """As of ``inner``."""
        return self.inner.sample(key, basis, n)

    @property
    def below(self) -> AbstractMixture:
        """The density of the objective's group alone; groups of categories may share their kernels."""
        inner: Any = self.inner.below
        if inner.scale.ndim > 2:
            return jax.tree.map(lambda a: a[:1], inner)
        return replace(inner, weight=inner.weight[:1], prior_weight=inner.prior_weight[:1])


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


def units(family: str, tables: Sequence[Table]) -> list[Unit]:
    """Of a benchmark, by method."""
    found = []
    for method, n_seeds in ((METHOD, N_RUNS), (PLAIN, N_RUNS), (TEXT, N_TEXT), (TEXT_AUGMENTED, N_TEXT)):
        own = {"method": method, "tables": tables, "n_seeds": n_seeds}
        cost = 15 + 0.1 * n_seeds * len(tables)
        found.append(Unit(f"{KIND}/{method}/{family}", f"{__name__}:search", own, cost=cost))
    return found


def search(method: str, tables: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: as `searches.search` at 0.9, with the size constrained."""
    quantile = settings.PRINTED_QUANTILES[-1]
    found = {"quantiles": np.array([quantile])}
    run = searches.augmented if method in (METHOD, TEXT_AUGMENTED) else searches.optimised
    for table in tables:
        stacked = searches.problems(table.path, table.objectives[0], ("size",), [quantile])
        sampler = (px.papers.c_tpe if method in (TEXT, TEXT_AUGMENTED) else px.c_tpe)(stacked.space, 1)
        if method in (METHOD, PLAIN):
            sampler = replace(sampler, smoothing=FirstCandidates(sampler.smoothing))
        root = jax.random.key(zlib.crc32(f"{method}/{table.name}".encode()))
        losses, excess = run(sampler, stacked, jax.random.split(root, (1, n_seeds)))
        found[f"{table.name}/size/losses"] = np.asarray(losses, np.float32)
        found[f"{table.name}/size/feasible"] = np.all(np.asarray(excess) <= 0, axis=-1)
    return found


def reason(most: Results, alone: Results) -> str:
    """What augmentation costs by the text too, and with these candidates."""
    every = Results(most.losses | alone.losses, most.feasible | alone.feasible, most.oracle)
    methods = (METHOD, PLAIN, TEXT, TEXT_AUGMENTED, settings.OURS, settings.AUGMENTED)
    own = every.settings(methods, settings.PRINTED_QUANTILES[-1])
    if not own:
        return ""
    usual, text, other = (
        ", ".join(ratio_in_words(*gap_ratio(every, one, two, own, budget)) for budget in settings.BUDGETS)
        for one, two in ((settings.AUGMENTED, settings.OURS), (TEXT_AUGMENTED, TEXT), (METHOD, PLAIN))
    )
    first = settings.BUDGETS[0]
    shares = (
        f"{np.mean([every.feasible[method][at][:, :first].mean() for at in own]):.2f}"
        for method in (settings.AUGMENTED, settings.OURS)
    )
    return (
        f"with size constrained, after 50, 100, 150, 200 over no augmentation {usual}; the first {first} "
        f"evaluations are more cautious: feasible are {' instead of '.join(shares)}; it is the same by the "
        f"preset of the text, {text}, and with candidates of the objective's density alone, {other}"
    )
