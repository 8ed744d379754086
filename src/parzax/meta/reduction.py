"""Choice of the parameters that tasks are compared by: the most important ones on average over tasks."""

import math
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._numerics import to_device
from parzax.divergence import Smoothed
from parzax.importance import Grid, GridEstimator
from parzax.importance.estimate import estimate_seeds
from parzax.importance.layout import Layout, grid_axis, layout
from parzax.parzen.restriction import with_ancestors
from parzax.space import Points, Space
from parzax.split.gamma import AbstractGamma

Rule = Literal["mean", "sum"]
NEVER = 2**31 - 1  # a number of rows that is never reached
# Points carry no bounds of their rows, so there are no pools.
_GRID = Grid(max_cells=50, max_pools=0)
_ESTIMATOR = GridEstimator(_GRID, Smoothed(debias=False))
# Values of domains with more values than this are put on the grid by their place, not by a table.
_TABLED = 1 << 16


class Reduction(eqx.Module):
    """Computes importances of parameters and chooses parameters (arXiv 2304.10255 and 2212.06751)."""

    # Both from `cell_table`: grid cells of discrete values, and the index of each block's first value.
    table: Int[Any, " t"]
    starts: Int[Any, " b"]
    ancestors: Bool[Any, "d d"]  # [i, j]: whether parameter i depends on parameter j
    layout: Layout = eqx.field(static=True)
    least: Int[Any, " d"]  # number of good rows needed to keep 1, 2, ... parameters, see `rows_needed`
    rule: Rule = eqx.field(static=True)  # combines the importances of the tasks, see `overall_importance`
    n_good: AbstractGamma | None = None  # rule for the number of good rows; None: the rows below

    @classmethod
    def of(
        cls, space: Space, eta: float | None, rule: Rule = "mean", n_good: AbstractGamma | None = None
    ) -> "Reduction":
        """The reduction for a space, with the divergence ``Smoothed(debias=False)`` on 50 cells."""
        ancestors = np.zeros((len(space), len(space)), dtype=bool)
        for name in space.names:
            others = [space.index(other) for other in with_ancestors(space, [name]) if other != name]
            ancestors[space.index(name), others] = True
        least = to_device(rows_needed(_checks.plain(eta), len(space)))
        return cls(*cell_table(space, _GRID), ancestors, layout(space, _GRID), least, rule, n_good)

    def raw_importance(
        self, at: Points, below: Bool[Array, " n"], counted: Bool[Array, " n"]
    ) -> Float[Array, " d"]:
        """E_u[(p_d / u - 1)^2] of each parameter, where p_d is the density of rows below and u is uniform.

        It is PED-ANOVA's variance (arXiv 2304.10255) divided by gamma^2, the squared share of the rows below.
        Eq. 15 of arXiv 2212.06751 averages it over tasks with the factor gamma^2, which is the same for all
        tasks there. With separate factors a task with few rows, and so a larger share, would outweigh the
        others. ``counted`` marks all rows of the task, the rows below included. The value is 0 without rows
        below. Pure, jit- and vmap-able.
        """
        level = jnp.where(below, 0, jnp.where(counted, 1, 2)).astype(jnp.int32)
        codes = point_codes(self.layout, self.table, self.starts, at)
        estimate = estimate_seeds(
            codes[None],
            level[None],
            None,
            jnp.zeros((1, 1), jnp.int32),
            place=(0,),
            layout=self.layout,
            estimator=_ESTIMATOR,
            reference="uniform",
        )
        n_below, n = below.sum().astype(at.unit.dtype), counted.sum().astype(at.unit.dtype)
        divergence = estimate.variance[0, 0] * (n / jnp.maximum(n_below, 1)) ** 2
        return jnp.where(n_below > 0, divergence, 0).astype(at.unit.dtype)

    def kept(
        self,
        of_target: Float[Array, " d"],
        of_sources: Float[Array, "t d"],
        measured: Bool[Array, "t _"],
        n_below: Int[Array, ""] | int,
        n: Int[Array, ""] | int,
    ) -> tuple[Bool[Array, " d"], Int[Array, ""]]:
        """Mask of the parameters to keep, by `overall_importance`, and the number that the rows allow."""
        importance = overall_importance(of_target, of_sources, self.rule, measured)
        good, rows = jnp.asarray(n_below, jnp.int32), jnp.asarray(n, jnp.int32)
        good = good if self.n_good is None else jnp.minimum(self.n_good(rows), good)
        allowed = jnp.sum(good >= jnp.asarray(self.least), dtype=jnp.int32)
        return kept_parameters(self.ancestors, importance, allowed), allowed


def overall_importance(
    of_target: Float[Array, " d"],
    of_sources: Float[Array, "t d"],
    rule: Rule = "mean",
    measured: Bool[Array, "t _"] | None = None,
) -> Float[Array, " d"]:
    """Importance of the parameters over all T tasks, from v_1 of the target and v_m of the T - 1 sources.

    v_1 and v_m come from `Reduction.raw_importance`. The rule "mean" is that of arXiv 2212.06751,
    (v_1 + sum_m v_m) / T. The rule "sum" is that of the authors' code (hpo-task-similarity 0.1.1),
    v_1 / T + (1 - 1 / T) sum_m v_m: the target has 1 / (T - 1) of the weight of a source, so it matters less
    the more sources there are. With one source both rules give the same ranking. If ``measured``, (t, d) or
    (t, 1), is given, only sources where it is True enter the sums and T.
    """
    measured = jnp.broadcast_to(True if measured is None else measured, of_sources.shape)
    n_tasks = (1 + measured.sum(axis=0)).astype(of_target.dtype)
    total = jnp.where(measured, of_sources, 0).sum(axis=0)
    if rule == "sum":
        return of_target / n_tasks + (1 - 1 / n_tasks) * total
    return (of_target + total) / n_tasks


def cell_table(space: Space, grid: Grid) -> tuple[Int[np.ndarray, " t"], Int[np.ndarray, " b"]]:
    """Grid cells of all values of blocks with few values, and the index of each block's first value.

    The index is -1 for a block with many values; its cells follow from the place of a value.
    """
    table, starts = [0], []
    for block in layout(space, grid).blocks:
        domain, start = space.domains[block.parameter][block.regime], -1
        n = domain.n_values
        if n is not None and n <= _TABLED:
            start, native = len(table), domain.axis.native(np.full(n, 0.5), np.arange(n))
            table += grid_axis(domain, grid).cells(native).tolist()
        starts.append(start)
    return np.asarray(table, np.int32), np.asarray(starts, np.int32)


def point_codes(
    where: Layout, table: Int[Any, " t"], starts: Int[Any, " b"], at: Points
) -> Int[Array, "d n"]:
    """Grid codes of (n, d) points, equal to those of `parzax.encode`; see `cell_table`."""
    blocks = np.array([(b.parameter, b.regime, b.n_cells, b.start) for b in where.blocks], np.int32)
    parameter, regime, n_cells, first = blocks.T
    last = jnp.asarray(n_cells)[None] - 1
    unit, index, start = at.unit[:, parameter], at.index[:, parameter], jnp.asarray(starts)[None]
    by_place = jnp.ceil(unit * last.astype(unit.dtype) - 0.5).astype(jnp.int32)
    by_number = jnp.asarray(table)[jnp.maximum(start + index, 0)]
    cell = jnp.clip(jnp.where(start >= 0, by_number, by_place), 0, last)
    # At most one block of a parameter applies to a row. Its code is added as the difference from the code
    # for "inactive".
    above = jnp.asarray(first - np.asarray(where.inactive, np.int32)[parameter])[None] + cell
    above = jnp.where(at.regime[:, parameter] == regime[None], above, 0)
    inactive = jnp.asarray(where.n_codes, jnp.int32)[:, None] - 1
    return jnp.broadcast_to(inactive, (len(inactive), len(unit))).at[parameter].add(above.T)


def rows_needed(eta: float | None, n_parameters: int) -> Int[np.ndarray, " d"]:
    """(d,) smallest number of good rows n for which floor(log_eta n) is at least 1, 2, ..., d.

    The rule is that of arXiv 2212.06751. ``eta`` is above 1. If it is infinite, no number of rows is enough;
    if it is None, one row is enough. Powers of eta are compared, because a quotient of logs can be rounded to
    slightly less than an integer.
    """
    if eta is None:
        return np.ones(n_parameters, np.int32)
    needed = np.full(n_parameters, NEVER, np.int64)
    for k in range(n_parameters):
        if (k + 1) * math.log(eta) >= math.log(NEVER):
            break
        needed[k] = math.ceil(eta ** (k + 1))
    return needed.astype(np.int32)


def kept_parameters(
    ancestors: Bool[Any, "d d"], importance: Float[Array, " d"], n: Int[Array, ""] | int
) -> Bool[Array, " d"]:
    """Mask of the n most important parameters (all if n is larger) and of their ``ancestors``.

    The importance may have any scale. Among equal importances the first parameter of the space comes first.
    """
    place = jnp.argsort(jnp.argsort(-importance, stable=True)).astype(jnp.int32)
    kept = place < jnp.asarray(n, jnp.int32)
    return kept | (jnp.asarray(ancestors) & kept[:, None]).any(axis=0)
