"""Which parameters the tasks are compared by: the most important ones, on average over tasks."""

import math
from functools import lru_cache
from itertools import takewhile
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax.importance.sweep import compiled_sweep
from parzax.kernels import Axis
from parzax.observations.grid import GridSpec, cells
from parzax.observations.layout import layout
from parzax.parzen import GridEstimator
from parzax.parzen.points import Points, slots
from parzax.parzen.restriction import parents
from parzax.space import Domain, Space

Importance = Literal["mean", "sum"]

# Domains with more values than this are on the grid by their unit coordinate.
_TABLED = 1 << 16


def raw_importance(
    space: Space,
    at: Points,
    below: Bool[Array, " n"],
    counted: Bool[Array, " n"],
    estimator: GridEstimator | None = None,
) -> Float[Array, " d"]:
    """PED-ANOVA's variance of every parameter against the uniform density (arXiv 2304.10255).

    Not normalised, as arXiv 2212.06751 averages it over tasks. Pure, jit- and vmap-able.

    Args:
        space: the search space.
        at: (n, d) rows.
        below: (n,) the good group.
        counted: (n,) all rows that count, the good ones among them.
        estimator: the default of `parzax.GridEstimator`, without its subtraction of chance, when None.

    Returns:
        (d,) within-regime variances, 0 without good rows.
    """
    estimator = GridEstimator(debias=False) if estimator is None else estimator
    level = jnp.where(below, 0, jnp.where(counted, 1, 2)).astype(jnp.int32)
    found = compiled_sweep(
        codes(space, at, estimator.grid)[None],
        level[None],
        None,
        jnp.zeros((1, 1), jnp.int32),
        layout=layout(space, estimator.grid),
        estimator=estimator,
        uniform=True,
    )
    return jnp.where(below.any(), found.variance[0, 0], 0).astype(at.unit.dtype)


def overall_importance(
    of_target: Float[Array, " d"],
    of_sources: Float[Array, "t d"],
    rule: Importance = "mean",
    known: Bool[Array, "t _"] | None = None,
) -> Float[Array, " d"]:
    """Importance of the parameters over all tasks.

    "mean" is that of arXiv 2212.06751, (v_1 + sum_m v_m) / T, T counting the target. "sum" is that of the
    authors' code (hpo-task-similarity 0.1.1), v_1 / T + (1 - 1 / T) sum_m v_m: there the target counts as
    1 / (T - 1) of a source, and the more sources there are, the less. With one source both rank alike.

    Args:
        of_target: (d,) v_1, by `raw_importance`.
        of_sources: (t, d) v_m of the T - 1 source tasks.
        rule: "mean" or "sum".
        known: (t, d) or (t, 1), where a source says something; T counts those that do. Everywhere when None.
    """
    n_tasks: Any = 1 + len(of_sources)
    if known is not None:
        n_tasks, of_sources = 1 + known.sum(axis=0), jnp.where(known, of_sources, 0)
    total = of_sources.sum(axis=0)
    if rule == "sum":
        return of_target / n_tasks + (1 - 1 / n_tasks) * total
    return (of_target + total) / n_tasks


def n_kept(n: Int[Array, ""] | int, eta: float, most: int) -> Int[Array, ""]:
    """min(floor(log_eta n), most): how many parameters n good rows allow (arXiv 2212.06751); 0 without any.

    Counts the powers of eta up to n: a quotient of logs is below the whole number that it is at some of them.

    Args:
        n: number of good rows.
        eta: above 1, static.
        most: static.
    """
    # The first whole number that allows k; what no int32 reaches is left out.
    powers = takewhile(lambda power: power < 2**31, (eta**k for k in range(1, most + 1)))
    least = np.array([math.ceil(power) for power in powers], np.int64).clip(max=2**31 - 1).astype(np.int32)
    return (jnp.asarray(n) >= least).sum().astype(jnp.int32)


def kept_parameters(space: Space, importance: Float[Array, " d"], n: Int[Array, ""]) -> Bool[Array, " d"]:
    """The n most important parameters, and those that they depend on.

    Args:
        space: the search space.
        importance: (d,) any scale; equal ones count in the space's order.
        n: how many; all where it is larger than d.

    Returns:
        (d,) mask.
    """
    place = jnp.argsort(jnp.argsort(-importance, stable=True))
    kept = place < n
    return kept | (jnp.asarray(ancestors_of(space)) & kept[:, None]).any(axis=0)


@lru_cache(maxsize=256)
def ancestors_of(space: Space) -> np.ndarray:
    """(d, d) whether the parameter of a row depends on that of a column."""
    out = np.zeros((len(space), len(space)), dtype=bool)
    for name in space.order:
        j = space.index(name)
        for parent in parents(space, name):
            out[j] |= out[space.index(parent)]
            out[j, space.index(parent)] = True
    return out


def codes(space: Space, at: Points, grid: GridSpec) -> Int[Array, "d n"]:
    """`parzax.observations.grid_codes` of rows on the kernel axes, where they are."""
    where = layout(space, grid)
    own = {(slot.parameter, slot.regime): slot.axis for slot in slots(space)}
    inactive = [last - first for first, last in zip(where.offsets, where.inactive, strict=True)]
    columns = [jnp.full(at.unit.shape[:-1], code, jnp.int32) for code in inactive]
    for slot in where.slots:
        j = slot.parameter
        domain, axis = space.domains[j][slot.regime], own[j, slot.regime]
        cell = _cells(domain, axis, at.unit[..., j], at.index[..., j], slot.n_cells, grid)
        code = (slot.start - where.offsets[j] + cell).astype(jnp.int32)
        columns[j] = jnp.where(at.regime[..., j] == slot.regime, code, columns[j])
    return jnp.stack(columns)


def _cells(domain: Domain, axis: Axis, unit: Array, index: Array, n_cells: int, grid: GridSpec) -> Array:
    if axis.kind == "point" or n_cells == 1:
        return jnp.zeros_like(index)
    if axis.kind == "categorical":
        return index
    if axis.kind == "stepped" and axis.n_values <= _TABLED:
        return jnp.searchsorted(jnp.asarray(_firsts(domain, axis, grid)), index, side="right")
    return jnp.clip(jnp.ceil(unit * (n_cells - 1) - 0.5), 0, n_cells - 1).astype(jnp.int32)


@lru_cache(maxsize=1024)
def _firsts(domain: Domain, axis: Axis, grid: GridSpec) -> np.ndarray:
    """Number of the first value of every cell but the first."""
    values = np.asarray(axis.native(np.arange(axis.n_values), np.dtype(np.float64), np))
    cell = cells(domain, values, grid)
    return np.searchsorted(cell, np.arange(1, cell[-1] + 1)).astype(np.int32)
