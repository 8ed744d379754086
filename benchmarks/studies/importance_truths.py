"""Importances that are true of a problem, by enumeration, for `benchmarks.studies.importance_peers`."""

from collections.abc import Mapping
from itertools import chain, combinations
from math import comb
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks.studies.adaptive_problems import IDLE, mean_loss, problem_of

# Questions, and what is shared out among the parameters in the answer.
TARGET = (
    "best tenth"  # within-regime variance of membership in the best tenth, Eq. 11 of conditional PED-ANOVA
)
FIRST = "loss: alone"  # variance of the mean loss given a parameter
TOTAL = "loss: in all"  # variance that remains where all other parameters are fixed
SHAPLEY = "loss: Shapley"  # Shapley values of the variance of the mean loss given a set of parameters
DEFAULT = "around the default"  # Shapley values of the variance over a set, the others at their defaults
DELTA = "distribution"  # mean total variation between the loss's distribution given a parameter, and without
LEVEL = 0.1
# Values of a continuous parameter; an odd number, so that the default 0.5 is one of them.
N_VALUES, N_DRAWN_VALUES = 33, 9


def grid(space: px.Space, n_values: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Native values (m, d) of all combinations, NaN if inactive, and the number of values of each parameter.

    `IDLE` has one value. Conditions are on categories of a parent.
    """
    values: list[np.ndarray] = []
    domains: list[Any] = [domain for (domain,) in space.domains]
    for name, domain in zip(space.names, domains, strict=True):
        n = domain.n_values or (1 if name == IDLE else n_values)
        values.append(domain.axis.native(*domain.axis.drawn((np.arange(n) + 0.5) / n)))
    mesh = np.meshgrid(*values, indexing="ij")
    x = np.stack([part.ravel() for part in mesh], axis=1)
    for domain, column in zip(domains, x.T, strict=True):
        for condition in domain.conditions:
            parent = space.names.index(condition.parent)
            codes = [domains[parent].choices.index(choice) for choice in condition.values]
            column[~np.isin(x[:, parent], codes)] = np.nan
    return x, mesh[0].shape


def read_truth(problem: str, n_values: int = N_VALUES) -> dict[str, np.ndarray]:
    """A unit: true shares (d,) by question."""
    space = problem_of(problem).space
    with jax.enable_x64(True):
        x, shape = grid(space, n_values)
        losses = mean_loss(problem)(x).reshape(shape)
    return variance_shares(space, losses) | {
        TARGET: shares(target_variances(x, losses)),
        DELTA: shares(total_variations(losses)),
    }


def shares(values: Any) -> np.ndarray:
    """Parts of the sum; an estimate below 0 counts as 0, and if all do, the parts are equal."""
    positive = np.maximum(np.asarray(values, float), 0)
    total = positive.sum()
    return positive / total if total else np.full(len(positive), 1 / len(positive))


def variance_shares(space: px.Space, losses: np.ndarray) -> dict[str, np.ndarray]:
    """Shares (d,) of the variance of losses on a grid, by question."""
    every, d = tuple(range(losses.ndim)), losses.ndim
    means, explained, around = {every: losses}, {}, {}
    at = [0 if domain.n_values else n // 2 for (domain,), n in zip(space.domains, losses.shape, strict=True)]
    for kept in chain.from_iterable(combinations(every, n) for n in reversed(range(d + 1))):
        if kept != every:
            axis = next(axis for axis in every if axis not in kept)
            more = tuple(sorted((*kept, axis)))
            means[kept] = means[more].mean(axis=axis, keepdims=True)
        explained[kept] = means[kept].var()
        around[kept] = losses[tuple(slice(None) if axis in kept else at[axis] for axis in every)].var()
    rest = [tuple(other for other in every if other != axis) for axis in every]
    return {
        FIRST: shares([explained[axis,] for axis in every]),
        TOTAL: shares([explained[every] - explained[others] for others in rest]),
        SHAPLEY: shares(shapley(explained, d)),
        DEFAULT: shares(shapley(around, d)),
    }


def shapley(values: Mapping[tuple[int, ...], float], d: int) -> list[float]:
    """Shapley values of d players, given the value of each sorted tuple of players."""
    return [
        sum(
            (values[tuple(sorted((*others, player)))] - values[others]) / (d * comb(d - 1, len(others)))
            for others in values
            if player not in others
        )
        for player in range(d)
    ]


def target_variances(x: np.ndarray, losses: np.ndarray, level: float = LEVEL) -> list[float]:
    """Within-regime variances of membership in the target set: Eq. 11, without smoothing."""
    target = losses <= np.sort(losses, axis=None)[int(np.ceil(level * losses.size)) - 1]
    variances = []
    for axis, column in enumerate(x.T):
        others = tuple(other for other in range(losses.ndim) if other != axis)
        active = ~np.isnan(column).reshape(losses.shape)
        variances.append(float(active.mean() * target.mean(axis=others, where=active).var()))
    return variances


def total_variations(losses: np.ndarray, n_bins: int = 64) -> list[float]:
    """Borgonovo's delta of each parameter: densities are histograms of equal counts."""
    borders = np.quantile(losses, np.arange(1, n_bins) / n_bins)
    bins = np.searchsorted(np.unique(borders), losses, side="right")
    every = np.bincount(bins.ravel(), minlength=n_bins) / losses.size
    deltas = []
    for axis in range(losses.ndim):
        rows = np.moveaxis(bins, axis, 0).reshape(losses.shape[axis], -1)
        given = np.stack([np.bincount(row, minlength=n_bins) / row.size for row in rows])
        deltas.append(float(np.abs(given - every).sum(axis=1).mean() / 2))
    return deltas
