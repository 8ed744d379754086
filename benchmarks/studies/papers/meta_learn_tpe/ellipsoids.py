"""Runs of Figures 2 and 12: ellipsoids whose centre is that of the target, or further and further away."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks import toys
from benchmarks.settings import adjusted
from benchmarks.studies.papers.meta_learn_tpe.searches import (
    EPSILON,
    N_ROWS,
    best,
    runs,
    with_count,
    with_eta,
)
from benchmarks.studies.papers.rows import Range
from benchmarks.studies.papers.runs import Arrays
from parzax.samplers import Sampler

CENTERS, SIMILAR, FAR = (0, 1, 2, 3, 4), (0, 1), (2, 3, 4)
FEW, MANY = 4, 10
# Random evaluations before the model: of Section 5, and 5 % of the evaluations of Figure 12.
N_STARTUP = {FEW: 5, MANY: 10}
N_TASKS, MANY_CENTERS = (1, 2, 4, 8), (0, 1, 2, 3)
N_EVALUATIONS, ONSET = 200, 30
# Rows of the target from which on our runs compare tasks, by the row of the onset.
COMPARED_FROM = 21
# An eta with which all of ten parameters are kept as soon as three rows are good.
EVERY_PARAMETER = 1.1
# "Almost recovered": our range for words.
RECOVERED = Range(high=1.25)
OURS, NAIVE = "ours", "naive"


def alone(dim: int, n_seeds: int, epsilon: float = 0.0) -> Arrays:
    """A unit: "best" (s, n) by TPE without sources; the paper's has no epsilon."""
    target = toys.ellipsoid(dim)
    sampler = adjusted(px.mo_tpe, n_startup=N_STARTUP[dim], epsilon=epsilon)(target.space, 1)
    return {"best": best(runs([sampler] * n_seeds, target, N_EVALUATIONS)[0])}


def one_source(center: int, n_seeds: int) -> Arrays:
    """A unit: "METHOD/best" (s, n) and "METHOD/similarity" (s, n / 10) with one source, D = 4."""
    samplers = [sampler(FEW, center, 1, seed) for seed in range(n_seeds)]
    found = {}
    for name, own in ((OURS, samplers), (NAIVE, [with_eta(own, np.inf) for own in samplers])):
        losses, alike = runs(own, toys.ellipsoid(FEW), N_EVALUATIONS, alike=True)
        found |= {f"{name}/best": best(losses), f"{name}/similarity": alike[..., 0]}
    return found


def several(n_tasks: int, same: bool, n_seeds: Sequence[int], **options: Any) -> Arrays:
    """A unit: "CENTER" (s, n) best loss with so many sources, D = 10; ``same``: of the same rows.

    ``n_seeds`` are those of each centre.
    """
    found = {}
    for center, n in zip(MANY_CENTERS, n_seeds, strict=True):
        if n == 0:
            continue
        samplers = [sampler(MANY, center, n_tasks, seed, same=same, **options) for seed in range(n)]
        losses, _ = runs(samplers, toys.ellipsoid(MANY), N_EVALUATIONS)
        found[f"{center}"] = best(losses)
    return found


def sampler(
    dim: int,
    center: int,
    n_tasks: int,
    seed: int,
    *,
    same: bool = False,
    count: str = "below",
    **options: Any,
) -> Sampler:
    """With so many logs of the same function; each of its own rows, or all of the ``same``."""
    own, space = logs(dim, center, n_tasks, seed, same=same), toys.ellipsoid(dim).space
    options = {"epsilon": EPSILON, "n_startup": N_STARTUP[dim]} | options
    return with_count(adjusted(px.papers.authors_meta_learn_tpe, **options)(space, own), count)


def logs(dim: int, center: int, n_tasks: int, seed: int, *, same: bool = False) -> dict[str, px.Observations]:
    """So many by name; for each seed others."""
    first = max(N_TASKS) * seed
    return {f"task {i}": _log(dim, center, first + (0 if same else i)) for i in range(n_tasks)}


def _log(dim: int, center: int, seed: int) -> px.Observations:
    """Random rows of a source task; for all centres the same ones."""
    x = np.random.default_rng(seed).uniform(-5, 5, (N_ROWS, dim))
    task = toys.ellipsoid(dim, center)
    losses, _ = jax.vmap(task, in_axes=(None, 0))(jax.random.key(0), jnp.asarray(x))
    return px.Observations.from_arrays(task.space, x, np.asarray(losses))


def log_ratio(one: np.ndarray, other: np.ndarray, budget: int) -> tuple[float, float]:
    """Log of the ratio of geometric means after so many evaluations, and its standard error."""
    return difference(np.log(one[:, budget - 1]), np.log(other[:, budget - 1]))


def difference(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Of means over runs, and its standard error."""
    return float(a.mean() - b.mean()), float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))
