"""Similarity of a target to its source tasks, from the densities of their rows below (arXiv 2212.06751)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import open_uniform, to_device
from parzax.density.basis import Basis, basis_of, families_of
from parzax.density.mixture import Mixture
from parzax.density.restriction import with_ancestors
from parzax.density.smoothing import Smoothing
from parzax.kernels.bandwidth import CategoricalBandwidth
from parzax.meta import variation
from parzax.meta.variation import Variation
from parzax.space import INACTIVE, Points, Space
from parzax.split import first_rows
from parzax.split.gamma import AbstractGamma

Estimate = Literal["balanced", "uniform", "overlap"]
NEVER = 2**31 - 1  # a number of rows that is never reached
# Number of nodes on a continuum, and for each unit of 1 / bandwidth; then integrals are exact to rounding.
_NODES, _NODES_PER_SCALE = 64, 4
# Largest number of nodes of a slot: bandwidths below 0.004, and more values, are resolved in part.
_MOST_NODES = 1024
# Number of tasks that are evaluated at once, so that their (point, kernel) pairs stay in a core's cache.
_TOGETHER = 8


@dataclass(frozen=True)
class Comparison:
    """How tasks are compared, for `BySimilarity` and `parzax.samplers.similarities`.

    Attributes:
        eta: above 1; it limits the number of parameters that tasks are compared by. None compares by all
            parameters. `math.inf` compares by none: every source then has the kernel value k(1, m) = 1 / T,
            as in the paper's naive meta-learning. Samplers that differ in ``eta`` share compiled programs.
        estimate: estimate of the similarity: "balanced" (`parzax.meta.balanced_variation`), the paper's
            "uniform" (`uniform_variation`) or its "overlap" (`overlap_similarity`).
        n_samples: number of random points in the estimate, which are the same in every call.
        n_good: rule for |D_1^(l)|, the number of good rows of the target, which sets the number of parameters
            to compare by: a rule of `parzax.gamma`, such as ``parzax.gamma.Linear(0.1, down=True)``, applied
            to the number of the target's rows. With None, or if the rule gives more, it is the number of rows
            in the target's group below.
        top: rule for categories (`parzax.density.Smoothing`) of the densities that are compared; None is that
            of the score. These densities have no prior.

    Raises:
        TypeError, ValueError: invalid settings.
    """

    eta: float | None = 2.5
    estimate: Estimate = "balanced"
    n_samples: int = 1000
    n_good: AbstractGamma | None = None
    top: float | Array | CategoricalBandwidth | None = 1.0

    def __post_init__(self) -> None:
        _checks.one_of("estimate", self.estimate, ("balanced", "uniform", "overlap"))
        _checks.whole_number("n_samples", self.n_samples, 2)
        eta = _checks.plain(self.eta)
        if eta is not None and not (isinstance(eta, (int, float)) and eta > 1):
            raise ValueError(f"eta must be above 1, or None, got {eta!r}.")
        _checks.instance("n_good", self.n_good, AbstractGamma | None, "a rule of parzax.gamma or None")
        if isinstance(self.top, (int, float)):
            _checks.setting("top", self.top, above=0, most=1)

    def smoothing(self, scored: Smoothing) -> Smoothing:
        """The smoothing of the compared densities, from that of the score: without a prior."""
        top = scored.top if self.top is None else self.top
        return replace(scored, top=top, prior_weight=0.0, ages=None, joint=True)


class ComparedTask(eqx.Module):
    """A task, or t tasks, to compare: the density of the rows below, s draws from it, and raw importance."""

    density: Mixture
    samples: Points
    importance: Float[Array, "*t d"]  # see `SimilarityEstimator.raw_importance`


@compiled
def _numbers(key: PRNGKeyArray, n: int, basis: Basis, dtype: Any) -> tuple[Array, Points]:
    """Keys for draws from the sources and from the target, and n uniform points."""
    *draws, scattered = jax.random.split(key, 3)
    return jnp.stack(draws), basis.frame.drawn(open_uniform(scattered, (n, basis.n_slots), dtype))


class SimilarityEstimator(eqx.Module):
    """Estimates similarities of densities over the most important parameters (arXiv 2212.06751).

    The densities have no prior. A point may leave parameters out by marking them inactive; the density is
    then integrated over them. Without a prior, sums cannot be anchored, so a density far from all rows may be
    computed as 0.
    """

    basis: Basis  # basis for points that leave parameters out
    smoothing: Smoothing  # of the densities
    # Every call uses the same random numbers, so that similarities change only if the data change.
    keys: Key[Any, "2"]  # for draws from the sources and from the target
    scattered: Points  # (s, d) uniform points, for the estimates that use them
    nodes: tuple[Points, Int[Any, " q"], Float[Any, " q"]]  # see `quadrature`
    ancestors: Bool[Any, "d d"]  # [i, j]: whether parameter i depends on parameter j
    least: Int[Any, " d"]  # number of good rows needed to keep 1, 2, ... parameters, see `rows_needed`
    n_good: AbstractGamma | None  # rule for the number of good rows; None: the rows below
    estimate: Estimate = eqx.field(static=True)

    @classmethod
    def of(cls, space: Space, smoothing: Smoothing, settings: Comparison) -> "SimilarityEstimator":
        """Build the estimator. Half of the points of an estimate come from each of the two tasks."""
        n, dtype = 2 * (int(settings.n_samples) // 2), jnp.result_type(float)
        smoothing = settings.smoothing(smoothing)
        families, smallest = families_of(space, dict(smoothing.kernels)), smoothing.bandwidth.smallest
        basis = replace(basis_of(space, dtype, families, smallest).for_parts, pairwise=False)
        return cls(
            basis,
            smoothing,
            *_numbers(jax.random.key(0), n, basis, dtype),
            to_device(quadrature(space, smallest), dtype),
            ancestors_of(space),
            to_device(rows_needed(_checks.plain(settings.eta), len(space))),
            settings.n_good,
            settings.estimate,
        )

    def compared_rows(
        self,
        rows: Points,
        below: Bool[Array, " n"],
        counted: Bool[Array, " n"],
        key: PRNGKeyArray,
        size: int,
    ) -> ComparedTask:
        """A task from its rows below, at most ``size`` rows, all of them ``counted``."""
        index, present = first_rows(below, size)
        density = self.smoothing.mixture(self.basis, rows[index], present)
        samples = density.sample(key, self.basis, len(self.scattered) // 2)
        return ComparedTask(density, samples, self.raw_importance(density, rows, counted))

    def raw_importance(self, density: Mixture, at: Points, counted: Bool[Array, " n"]) -> Float[Array, " d"]:
        """E_u[(p_d / u - 1)^2] of each parameter, where p_d is a marginal of the density and u is uniform.

        It is Eq. 15 of arXiv 2212.06751 without gamma^2, which is the same for all tasks there, and so the
        variance of PED-ANOVA (arXiv 2304.10255) for these densities. With a gamma^2 of its own, a task with
        few rows, and so a larger share of rows below, would outweigh the others. ``counted`` marks all rows
        ``at`` of the task, the rows below included. For a parameter that is not always active it is the sum
        over its regimes of share^2 / P E_u[(p_d / u - 1)^2], where share and P are the shares of the rows
        below, and of all rows, in the regime, and the density is that of these rows below. The value is 0
        without rows below. The density must not have a prior. Pure, jit- and vmap-able.
        """
        (at_nodes, slot, node_weight), frame = self.nodes, self.basis.frame
        weight = jnp.where(frame.here(density.rows), density.weight[:, None], 0)[:, slot].T
        log_p = density.log_prob(self.basis, at_nodes, jnp.pad(weight, ((0, 0), (0, 1))))
        share = weight.sum(axis=-1)
        # A density without any row is that of the wide kernels.
        ratio = jnp.where(share > 0, jnp.exp(log_p - frame.log_uniform(at_nodes)), 0)
        n_active = (frame.here(at) & counted[:, None]).sum(axis=0).astype(ratio.dtype)
        scale = counted.sum().astype(ratio.dtype) / jnp.maximum(n_active, 1)
        terms = node_weight * scale[slot] * (ratio - share) ** 2
        return jnp.zeros(self.basis.n_parameters, terms.dtype).at[frame.parameter[slot]].add(terms)

    def kept(
        self,
        of_target: Float[Array, " d"],
        of_sources: Float[Array, "t d"],
        measured: Bool[Array, "t _"],
        n_below: Int[Array, ""] | int,
        n: Int[Array, ""] | int,
    ) -> tuple[Bool[Array, " d"], Int[Array, ""]]:
        """Mask of the parameters to keep, by `overall_importance`, and the number that the rows allow."""
        importance = overall_importance(of_target, of_sources, measured)
        good, rows = jnp.asarray(n_below, jnp.int32), jnp.asarray(n, jnp.int32)
        good = good if self.n_good is None else jnp.minimum(self.n_good(rows), good)
        allowed = jnp.sum(good >= jnp.asarray(self.least), dtype=jnp.int32)
        return kept_parameters(self.ancestors, importance, allowed), allowed

    def compare(
        self, first: ComparedTask, second: ComparedTask, kept: Bool[Array, " d"]
    ) -> tuple[Float[Array, ""], Variation]:
        """Similarity and variation of two tasks over the kept parameters; "overlap" has NaN variation."""

        def log_densities(at: Points) -> tuple[Float[Array, " s"], Float[Array, " s"]]:
            at = leave_out(at, kept)
            return first.density.log_prob(self.basis, at), second.density.log_prob(self.basis, at)

        if self.estimate == "balanced":
            logs = log_densities(first.samples), log_densities(second.samples)
            apart = variation.balanced_variation(*(log_p - log_q for log_p, log_q in logs))
            return variation.similarity(apart.value), apart
        log_p, log_q = log_densities(self.scattered)
        if self.estimate == "overlap":
            alike = variation.overlap_similarity(log_p, log_q)
            return alike, Variation(*[jnp.full_like(alike, jnp.nan)] * 2)
        log_uniform = self.basis.frame.log_uniform(leave_out(self.scattered, kept))
        apart = variation.uniform_variation(log_p, log_q, log_uniform)
        return variation.similarity(apart.value), apart


def leave_out(at: Points, kept: Bool[Array, " d"]) -> Points:
    """Points with all parameters inactive except the kept ones."""
    return replace(at, regime=jnp.where(kept[None], at.regime, INACTIVE))


def ancestors_of(space: Space) -> Bool[np.ndarray, "d d"]:
    """[i, j]: whether parameter i depends on parameter j."""
    ancestors = np.zeros((len(space), len(space)), dtype=bool)
    for name in space.names:
        others = [space.index(other) for other in with_ancestors(space, [name]) if other != name]
        ancestors[space.index(name), others] = True
    return ancestors


def quadrature(space: Space, smallest: float | None) -> tuple[Points, Int[Any, " q"], Float[Any, " q"]]:
    """q values of single parameters, their slots and weights, for integrals over each slot of a space.

    All values of a slot are weighted by the uniform density; on a continuum a Gauss-Legendre rule. The
    weights of a slot sum to 1, and all parameters of a point but one are left out.

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
    return Points(regime, unit, index, np.ones(shape, bool)), which.astype(np.int32), weight


def overall_importance(
    of_target: Float[Array, " d"],
    of_sources: Float[Array, "t d"],
    measured: Bool[Array, "t _"] | None = None,
) -> Float[Array, " d"]:
    """Importance of the parameters over all T tasks, from v_1 of the target and v_m of the T - 1 sources.

    v_1 and v_m come from `SimilarityEstimator.raw_importance`, and the mean (v_1 + sum_m v_m) / T is that of
    arXiv 2212.06751. If ``measured``, (t, d) or (t, 1), is given, only sources where it is True enter the sum
    and T.
    """
    measured = jnp.broadcast_to(True if measured is None else measured, of_sources.shape)
    n_tasks = (1 + measured.sum(axis=0)).astype(of_target.dtype)
    total = jnp.where(measured, of_sources, 0).sum(axis=0)
    return (of_target + total) / n_tasks


def rows_needed(eta: float | None, n_parameters: int) -> Int[np.ndarray, " d"]:
    """(d,) smallest number of good rows n for which floor(log_eta n) is at least 1, 2, ..., d.

    The rule is that of arXiv 2212.06751. ``eta`` is above 1. If it is infinite, no number of rows is enough;
    if it is None, one row is enough. Powers of eta are compared, because a quotient of logs can be rounded to
    slightly less than an integer.
    """
    if eta is None:
        return np.ones(n_parameters, np.int32)
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(n_parameters, eta, np.float64))
    return np.minimum(np.ceil(powers), NEVER).astype(np.int32)


def kept_parameters(
    ancestors: Bool[Any, "d d"], importance: Float[Array, " d"], n: Int[Array, ""] | int
) -> Bool[Array, " d"]:
    """Mask of the n most important parameters (all if n is larger) and of their ``ancestors``.

    The importance may have any scale. Among equal importances the first parameter of the space comes first.
    """
    place = jnp.argsort(jnp.argsort(-importance, stable=True)).astype(jnp.int32)
    kept = place < jnp.asarray(n, jnp.int32)
    return kept | (jnp.asarray(ancestors) & kept[:, None]).any(axis=0)


def over_tasks(function: Callable[..., Any], *arguments: Any) -> Any:
    """Map ``function`` over tasks, the leading axis of the arguments."""
    t = len(jax.tree.leaves(arguments)[0])
    if t <= _TOGETHER:
        return jax.vmap(function)(*arguments)
    # The last block is filled with copies, so that one program serves all blocks.
    index = jnp.minimum(jnp.arange(-(-t // _TOGETHER) * _TOGETHER), t - 1)
    filled = jax.tree.map(lambda a: a[index], arguments)
    out = jax.lax.map(lambda one: function(*one), filled, batch_size=_TOGETHER)
    return jax.tree.map(lambda a: a[:t], out)
