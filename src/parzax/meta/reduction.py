"""Choice of the parameters that tasks are compared by: the most important ones on average over tasks."""

import math
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._numerics import to_device
from parzax.density.basis import Basis
from parzax.density.mixture import Mixture
from parzax.density.restriction import with_ancestors
from parzax.space import INACTIVE, Points, Space
from parzax.split.gamma import AbstractGamma

Rule = Literal["mean", "sum"]
NEVER = 2**31 - 1  # a number of rows that is never reached
# Number of nodes on a continuum, and for each unit of 1 / bandwidth; then integrals are exact to rounding.
_NODES, _NODES_PER_SCALE = 64, 4
# Largest number of nodes of a slot: bandwidths below 0.004, and more values, are resolved in part.
_MOST_NODES = 1024


class Nodes(eqx.Module):
    """q values of single parameters, for integrals over each of the slots of a space."""

    at: Points  # (q, d); all parameters but one are left out
    slot: Int[Any, " q"]
    weight: Float[Any, " q"]  # sums to 1 over each slot

    @classmethod
    def of(cls, space: Space, smallest: float | None) -> "Nodes":
        """All values of a slot, weighted by the uniform density; on a continuum a Gauss-Legendre rule.

        ``smallest`` is the smallest bandwidth, None if it is not known.
        """
        wanted = _MOST_NODES if smallest is None else math.ceil(_NODES_PER_SCALE / max(smallest, 1e-6))
        n_nodes = min(max(wanted, _NODES), _MOST_NODES)
        places, rule = np.polynomial.legendre.leggauss(n_nodes)
        even = (np.arange(_MOST_NODES) + 0.5) / _MOST_NODES
        parts = []
        for s, slot in enumerate(space.slots):
            axis, n = slot.domain.axis, slot.domain.n_values
            if n is None:
                (unit, number), weight = axis.at((places + 1) / 2), rule
            elif n <= _MOST_NODES:
                number = np.arange(n)
                unit = axis.place(axis.native(np.full(n, 0.5), number), number)
                weight = np.exp(axis.log_uniform(number, np.dtype(np.float64)))
            else:
                (unit, number), weight = axis.at(even), np.ones(_MOST_NODES)
            parts.append((np.full(len(unit), s), unit, number, weight / weight.sum()))
        which, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        q, parameter = np.arange(len(which)), np.array([slot.parameter for slot in space.slots])[which]
        shape = len(q), len(space)
        unit, (regime, index) = np.full(shape, 0.5), (np.full(shape, n, np.int32) for n in (INACTIVE, 0))
        regime[q, parameter] = np.array([slot.regime for slot in space.slots])[which]
        unit[q, parameter], index[q, parameter], weight = columns
        return cls(Points(regime, unit, index, np.ones(shape, bool)), which.astype(np.int32), weight)


class Reduction(eqx.Module):
    """Computes importances of parameters and chooses parameters (arXiv 2304.10255 and 2212.06751)."""

    nodes: Nodes
    ancestors: Bool[Any, "d d"]  # [i, j]: whether parameter i depends on parameter j
    least: Int[Any, " d"]  # number of good rows needed to keep 1, 2, ... parameters, see `rows_needed`
    rule: Rule = eqx.field(static=True)  # combines the importances of the tasks, see `overall_importance`
    n_good: AbstractGamma | None = None  # rule for the number of good rows; None: the rows below

    @classmethod
    def of(
        cls,
        space: Space,
        eta: float | None,
        rule: Rule = "mean",
        n_good: AbstractGamma | None = None,
        smallest: float | None = None,
    ) -> "Reduction":
        """The reduction for a space; ``smallest`` is the smallest bandwidth, None if it is not known."""
        ancestors = np.zeros((len(space), len(space)), dtype=bool)
        for name in space.names:
            others = [space.index(other) for other in with_ancestors(space, [name]) if other != name]
            ancestors[space.index(name), others] = True
        least = to_device(rows_needed(_checks.plain(eta), len(space)))
        nodes = to_device(Nodes.of(space, smallest), jnp.result_type(float))
        return cls(nodes, ancestors, least, rule, n_good)

    def raw_importance(
        self, basis: Basis, density: Mixture, at: Points, counted: Bool[Array, " n"]
    ) -> Float[Array, " d"]:
        """E_u[(p_d / u - 1)^2] of each parameter, where p_d is a marginal of the density and u is uniform.

        It is Eq. 15 of arXiv 2212.06751 without gamma^2, which is the same for all tasks there, and so the
        variance of PED-ANOVA (arXiv 2304.10255) for these densities. With a gamma^2 of its own, a task with
        few rows, and so a larger share of rows below, would outweigh the others. ``counted`` marks all rows
        ``at`` of the task, the rows below included. For a parameter that is not always active it is the sum
        over its regimes of share^2 / P E_u[(p_d / u - 1)^2], where share and P are the shares of the rows
        below, and of all rows, in the regime, and the density is that of these rows below. The value is 0
        without rows below. The density must not have a prior. Pure, jit- and vmap-able.
        """
        nodes, frame = self.nodes, basis.frame
        weight = jnp.where(frame.here(density.rows), density.weight[:, None], 0)[:, nodes.slot].T
        log_p = density.log_prob(basis, nodes.at, jnp.pad(weight, ((0, 0), (0, 1))))
        share = weight.sum(axis=-1)
        # A density without any row is that of the wide kernels.
        ratio = jnp.where(share > 0, jnp.exp(log_p - frame.log_uniform(nodes.at)), 0)
        n_active = (frame.here(at) & counted[:, None]).sum(axis=0).astype(ratio.dtype)
        scale = counted.sum().astype(ratio.dtype) / jnp.maximum(n_active, 1)
        terms = nodes.weight * scale[nodes.slot] * (ratio - share) ** 2
        return jnp.zeros(basis.n_parameters, terms.dtype).at[frame.parameter[nodes.slot]].add(terms)

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
