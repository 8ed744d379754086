"""Tables of neural networks in PARZAX_DATA, found by their headers; training is noisy, regret is of means."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.studies.optimisers.problems import Case, Group, alternately, of_one_loss
from benchmarks.studies.papers.tables import Table, families, tables


def groups() -> list[Group]:
    """One per benchmark; in each its tables are, by name, in turn for choosing and kept."""
    return [_group(family, own) for family, own in families(tables()).items()]


def names(family: str, own: Sequence[Table]) -> list[tuple[str, str]]:
    """Name and half of each table of a benchmark."""
    halves = alternately(len(own))
    return [(f"{family}/{table.name}", half) for table, half in zip(own, halves, strict=True)]


def _group(family: str, own: Sequence[Table]) -> Group:
    cases, space = [], None
    for table, (name, half) in zip(own, names(family, own), strict=True):
        problem = load_table(table.path, [table.objectives[0]])
        space = problem.space
        # Without its names, so that tables of a benchmark share their programs.
        plain = dataclasses.replace(problem, name="", objective_names=("",))
        cases.append(Case(name, half, (plain, regrets(problem))))
    if space is None:
        raise ValueError(f"{family} has no tables")
    return of_one_loss(family, space, tuple(cases), _loss, _regret)


def means(problem: px.samplers.Tabular) -> np.ndarray:
    """(n, m) mean losses of the configurations, over their trainings; NaN where each of them failed."""
    losses, n_seeds = np.asarray(problem.losses, np.float64), np.asarray(problem.n_seeds)[:, None]
    total = np.where(_exists(problem)[..., None], losses, 0).sum(axis=1)
    return np.where(n_seeds > 0, total / np.maximum(n_seeds, 1), np.nan)


def regrets(problem: px.samplers.Tabular) -> jax.Array:
    """(n,) mean losses above the smallest of a configuration that some training found feasible."""
    mean, feasible = means(problem)[:, 0], (np.asarray(problem.excess) <= 0).all(axis=-1)
    possible = (_exists(problem) & feasible).any(axis=1)
    if not possible.any():
        raise ValueError(f"no configuration of {problem.name} is feasible at {problem.thresholds}.")
    # What always fails counts as the worst configuration that there is.
    mean = np.where(possible, mean, mean[possible].max())
    return jnp.asarray(mean - mean.min(), float)


def _exists(problem: px.samplers.Tabular) -> np.ndarray:
    """(n, s) which trainings there are."""
    return np.arange(problem.losses.shape[1]) < np.asarray(problem.n_seeds)[:, None]


def _loss(shared: Any, _own: Any, key: jax.Array, x: jax.Array) -> jax.Array:
    return shared[0](key, x)[0][0]


def _regret(shared: Any, _own: Any, x: jax.Array) -> jax.Array:
    return shared[1][shared[0].encode(x)]
