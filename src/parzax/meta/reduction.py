"""Which parameters the tasks are compared by: the most important ones, on average over tasks."""

import math
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax.importance.grid import GridEstimator, Layout, PointCells, layout
from parzax.importance.sweep import compiled_sweep
from parzax.space import Points, Space

Rule = Literal["mean", "sum"]


class Reduction(eqx.Module):
    """How parameters are weighed and chosen (arXiv 2304.10255 and 2212.06751)."""

    cells: PointCells  # of the grid on which importance is measured
    ancestors: Bool[Any, "d d"]  # whether the parameter of a row depends on that of a column
    layout: Layout = eqx.field(static=True)
    estimator: GridEstimator = eqx.field(static=True)
    eta: float | None = eqx.field(static=True)  # floor(log_eta n) count for n rows below; None for all
    rule: Rule = eqx.field(static=True)  # how importances of the tasks make one, see `overall_importance`

    @classmethod
    def of(
        cls, space: Space, eta: float | None, rule: Rule = "mean", estimator: GridEstimator | None = None
    ) -> "Reduction":
        """That of a space; by default ``GridEstimator.smoothed(debias=False)``."""
        estimator = GridEstimator.smoothed(debias=False) if estimator is None else estimator
        # Of points no bounds are known.
        estimator = replace(estimator, grid=replace(estimator.grid, max_pools=0))
        grid, ancestors = estimator.grid, np.zeros((len(space), len(space)), dtype=bool)
        for name in space.order:
            own = ancestors[space.index(name)]
            for parent in map(space.index, space.parents(name)):
                own |= ancestors[parent]
                own[parent] = True
        return cls(PointCells.of(space, grid), ancestors, layout(space, grid), estimator, eta, rule)

    def raw_importance(
        self, at: Points, below: Bool[Array, " n"], counted: Bool[Array, " n"]
    ) -> Float[Array, " d"]:
        """PED-ANOVA's variance of every parameter against the uniform density (arXiv 2304.10255).

        Within-regime variances of n rows; 0 without rows below, which are among those that are ``counted``.
        Not normalised, as arXiv 2212.06751 averages it over tasks. Pure, jit- and vmap-able.
        """
        level = jnp.where(below, 0, jnp.where(counted, 1, 2)).astype(jnp.int32)
        codes, nothing = self.cells.codes(at)[None], jnp.zeros((1, 1), jnp.int32)
        found = compiled_sweep(
            codes, level[None], None, nothing, layout=self.layout, estimator=self.estimator, uniform=True
        )
        return jnp.where(below.any(), found.variance[0, 0], 0).astype(at.unit.dtype)

    def kept(
        self,
        of_target: Float[Array, " d"],
        of_sources: Float[Array, "t d"],
        known: Bool[Array, "t _"],
        n_below: Int[Array, ""],
    ) -> tuple[Bool[Array, " d"], Int[Array, ""]]:
        """The parameters that count, by `overall_importance`, and how many the target's rows below allow."""
        n_parameters = len(self.ancestors)
        if self.eta is None:
            return jnp.ones(n_parameters, bool), n_below
        importance = overall_importance(of_target, of_sources, self.rule, known)
        n = n_kept(n_below, self.eta, n_parameters)
        return kept_parameters(self.ancestors, importance, n), n


def overall_importance(
    of_target: Float[Array, " d"],
    of_sources: Float[Array, "t d"],
    rule: Rule = "mean",
    known: Bool[Array, "t _"] | None = None,
) -> Float[Array, " d"]:
    """Importance of the parameters over all tasks, of v_1 of the target and v_m of the T - 1 sources.

    Both by `Reduction.raw_importance`.

    "mean" is that of arXiv 2212.06751, (v_1 + sum_m v_m) / T, T counting the target. "sum" is that of the
    authors' code (hpo-task-similarity 0.1.1), v_1 / T + (1 - 1 / T) sum_m v_m: there the target counts as
    1 / (T - 1) of a source, and the more sources there are, the less. With one source both rank alike.
    T counts the sources that say something where that is ``known``, (t, d) or (t, 1); all when None.
    """
    dtype = of_target.dtype
    n_tasks = jnp.full(len(of_target), 1 + len(of_sources), dtype)
    if known is not None:
        known = jnp.broadcast_to(known, of_sources.shape)
        n_tasks, of_sources = (1 + known.sum(axis=0)).astype(dtype), jnp.where(known, of_sources, 0)
    total = of_sources.sum(axis=0)
    if rule == "sum":
        return of_target / n_tasks + (1 - 1 / n_tasks) * total
    return (of_target + total) / n_tasks


def n_kept(n: Int[Array, ""] | int, eta: float, most: int) -> Int[Array, ""]:
    """min(floor(log_eta n), most): how many parameters n rows below allow (arXiv 2212.06751); 0 without any.

    Counts the powers of eta up to n: a quotient of logs is below the whole number that it is at some of them.
    ``eta`` is above 1, and static as ``most`` is.
    """
    # The first whole number that allows k; what no int32 reaches is left out.
    powers = takewhile(lambda power: power < 2**31, (eta**k for k in range(1, most + 1)))
    least = np.array([math.ceil(power) for power in powers], np.int64).clip(max=2**31 - 1).astype(np.int32)
    return (jnp.asarray(n)[None] >= least).sum().astype(jnp.int32)


def kept_parameters(
    ancestors: Bool[Any, "d d"], importance: Float[Array, " d"], n: Int[Array, ""] | int
) -> Bool[Array, " d"]:
    """Mask of the n most important parameters (all if n is larger) and of their ``ancestors``.

    The importance may have any scale; equal ones count in the space's order.
    """
    kept = jnp.argsort(jnp.argsort(-importance, stable=True)) < n
    return kept | (jnp.asarray(ancestors) & kept[:, None]).any(axis=0)
