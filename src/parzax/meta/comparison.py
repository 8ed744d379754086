"""Similarity of a target to its source tasks, from the densities of their rows below (arXiv 2212.06751)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import open_uniform
from parzax.density.basis import Basis, basis_of, families_of
from parzax.density.mixture import Mixture
from parzax.density.smoothing import Smoothing
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth
from parzax.meta import variation
from parzax.meta.densities import fit_density, over_tasks
from parzax.meta.reduction import Reduction, Rule
from parzax.meta.variation import Half, Variation
from parzax.space import INACTIVE, Points, Space
from parzax.split import State
from parzax.split.gamma import AbstractGamma

Estimate = Literal["balanced", "uniform", "overlap"]


@dataclass(frozen=True)
class Comparison:
    """How tasks are compared, for `BySimilarity` and `parzax.samplers.similarities`.

    Attributes:
        eta: above 1; it limits the number of parameters that tasks are compared by. None compares by all
            parameters. `math.inf` compares by none: every source then has the kernel value k(1, m) = 1 / T,
            as in the paper's naive meta-learning. Samplers that differ in ``eta`` share compiled programs.
        estimate: estimate of the similarity: "balanced" (`parzax.meta.balanced_variation`), the paper's
            "uniform" (`uniform_variation`) or its "overlap" (`overlap_similarity`).
        n_samples: number of random points in the estimate.
        key: key for the random points of the estimate, which are the same in every call;
            `jax.random.key(0)` if None.
        importance: how the importance of a parameter is computed from the variances v_1 of the target and
            v_m of the sources: the paper's "mean", (v_1 + sum_m v_m) / T, or "sum" from the authors' code,
            v_1 / T + (1 - 1 / T) sum_m v_m.
        n_good: rule for |D_1^(l)|, the number of good rows of the target, which sets the number of parameters
            to compare by: a rule of `parzax.gamma`, such as ``parzax.gamma.Linear(0.1, down=True)``, applied
            to the number of the target's rows. With None, or if the rule gives more, it is the number of rows
            in the target's group below.
        bandwidth, top: bandwidth rules (`parzax.density.Smoothing`) of the densities that are compared. None
            takes the rule of the score. These densities have no prior.

    Raises:
        TypeError, ValueError: invalid settings.
    """

    eta: float | None = 2.5
    estimate: Estimate = "balanced"
    n_samples: int = 1000
    key: PRNGKeyArray | None = None
    importance: Rule = "mean"
    n_good: AbstractGamma | None = None
    bandwidth: AbstractBandwidth | None = None
    top: float | Array | CategoricalBandwidth | None = 1.0

    def __post_init__(self) -> None:
        _checks.one_of("estimate", self.estimate, ("balanced", "uniform", "overlap"))
        _checks.whole_number("n_samples", self.n_samples, 2)
        eta = _checks.plain(self.eta)
        if eta is not None and not (isinstance(eta, (int, float)) and eta > 1):
            raise ValueError(f"eta must be above 1, or None, got {eta!r}.")
        if self.key is not None:
            _checks.check_key(self.key)
        _checks.one_of("importance", self.importance, ("mean", "sum"))
        _checks.instance("n_good", self.n_good, AbstractGamma | None, "a rule of parzax.gamma or None")
        kinds, wanted = AbstractBandwidth | None, "a rule of parzax.bandwidth or None"
        _checks.instance("bandwidth", self.bandwidth, kinds, wanted)
        if isinstance(self.top, (int, float)):
            _checks.setting("top", self.top, above=0, most=1)

    def smoothing(self, scored: Smoothing) -> Smoothing:
        """The smoothing of the compared densities, from that of the score: without a prior."""
        bandwidth = scored.bandwidth if self.bandwidth is None else self.bandwidth
        top = scored.top if self.top is None else self.top
        return replace(scored, bandwidth=bandwidth, top=top, prior_weight=0.0, ages=None, joint=True)


class ComparedTasks(eqx.Module):
    """Data for comparing tasks: t densities of one group below, s draws from each, and raw importances."""

    densities: Mixture
    samples: Points
    importance: Float[Array, "*t d"]


@compiled
def _numbers(key: PRNGKeyArray, n: int, basis: Basis, dtype: Any) -> tuple[Array, Points]:
    """Keys for draws from the sources and from the target, and n uniform points."""
    *draws, scattered = jax.random.split(key, 3)
    return jnp.stack(draws), basis.frame.drawn(open_uniform(scattered, (n, basis.n_slots), dtype))


class SimilarityEstimator(eqx.Module):
    """Estimates similarities of densities over some of the parameters.

    The densities have no prior. A point may leave parameters out by marking them inactive; the density is
    then integrated over them. Without a prior, sums cannot be anchored, so a density far from all rows may be
    computed as 0.
    """

    basis: Basis  # basis for points that leave parameters out
    smoothing: Smoothing  # of the densities
    # Every call uses the same random numbers, so that similarities change only if the data change.
    keys: PRNGKeyArray  # (2,), for draws from the sources and from the target
    scattered: Points  # (s, d) uniform points, for the estimates that use them
    reduction: Reduction
    estimate: Estimate = eqx.field(static=True)

    @classmethod
    def of(cls, space: Space, smoothing: Smoothing, settings: Comparison) -> "SimilarityEstimator":
        """Build the estimator. Half of the points of an estimate come from each of the two tasks."""
        n, dtype = 2 * (int(settings.n_samples) // 2), jnp.result_type(float)
        smoothing = settings.smoothing(smoothing)
        families, smallest = families_of(space, dict(smoothing.kernels)), smoothing.bandwidth.smallest
        basis = replace(basis_of(space, dtype, families, smallest), pairwise=False)
        key = jax.random.key(0) if settings.key is None else settings.key
        reduction = Reduction.of(space, settings.eta, settings.importance, settings.n_good, smallest)
        return cls(basis, smoothing, *_numbers(key, n, basis, dtype), reduction, settings.estimate)

    def density(self, rows: Points, mask: Bool[Array, " n"], size: int) -> Mixture:
        """The density of the rows under a mask; the mask has at most ``size`` rows."""
        return fit_density(self.basis, self.smoothing, rows, mask, size)

    def compared_rows(
        self, states: State, below: Bool[Array, "t n"], counted: Bool[Array, "t n"], size: int
    ) -> ComparedTasks:
        """Densities of the rows below of each task (at most ``size`` rows, all of them ``counted``)."""

        half = len(self.scattered) // 2

        def one(at: Points, below: Bool[Array, " n"], counted: Bool[Array, " n"]) -> ComparedTasks:
            density = self.density(at, below, size)
            samples = density.sample(self.keys[0], self.basis, half)
            importance = self.reduction.raw_importance(self.basis, density, at, counted)
            return ComparedTasks(density, samples, importance)

        return over_tasks(one, states.points, below, counted)

    def similarities(
        self, target: Mixture, tasks: ComparedTasks, kept: Bool[Array, "*t d"]
    ) -> Float[Array, " t"]:
        """Similarity s_m of the target to each task, over the kept parameters."""
        if self.estimate != "balanced":
            return self._at_scattered(target, tasks, kept)[0]
        at = target.sample(self.keys[1], self.basis, len(self.scattered) // 2)
        of_tasks, of_target = (self._half(target, tasks, points, kept) for points in (tasks.samples, at))
        return variation.similarity(variation.of_halves(of_tasks, of_target, len(self.scattered)).value)

    def pairs(
        self, tasks: ComparedTasks, kept: Bool[Array, " d"], shared: Bool[Array, "t d"] | None
    ) -> tuple[Float[Array, "t t"], Variation]:
        """Similarities and variations of all pairs of tasks, over the kept parameters that both have."""
        has = jnp.broadcast_to(kept, tasks.importance.shape)
        has = has if shared is None else has & shared

        def of_both(has_parameter: Bool[Array, " d"]) -> Bool[Array, "*t d"]:
            return kept if shared is None else has_parameter[None] & has

        each = tasks.densities, tasks.samples, has
        if self.estimate == "balanced":
            halves = jax.lax.map(lambda one: self._half(one[0], tasks, one[1], of_both(one[2])), each)
            apart = variation.of_halves(halves, jax.tree.map(jnp.transpose, halves), len(self.scattered))
            alike = variation.similarity(apart.value)
        else:
            alike, apart = jax.lax.map(lambda one: self._at_scattered(one[0], tasks, of_both(one[2])), each)
        share = (has[:, None] & has[None]).any(axis=-1)
        apart = Variation(jnp.where(share, apart.value, 1), jnp.where(share, apart.error, 0))
        return jnp.where(share, alike, 0), apart

    def _half(self, density: Mixture, tasks: ComparedTasks, at: Points, kept: Bool[Array, "*t d"]) -> Half:
        """One half (t,) of the variations between a density and the densities of t tasks.

        The points ``at`` are drawn from one of the two densities.
        """
        log_p, log_q = self._logs(density, tasks, leave_out(at, kept))
        return variation.half(log_p - log_q)

    def _at_scattered(
        self, density: Mixture, tasks: ComparedTasks, kept: Bool[Array, "*t d"]
    ) -> tuple[Float[Array, " t"], Variation]:
        """Similarities and variations from uniform points; "overlap" gives no variation (NaN)."""
        at = leave_out(self.scattered, kept)
        log_p, log_q = self._logs(density, tasks, at)
        if self.estimate == "overlap":
            alike = variation.overlap_similarity(log_p, log_q)
            return alike, Variation(*[jnp.full_like(alike, jnp.nan)] * 2)
        log_uniform = jnp.broadcast_to(_flat(self.basis.frame.log_uniform, at), log_p.shape)
        apart = variation.uniform_variation(log_p, log_q, log_uniform)
        return variation.similarity(apart.value), apart

    def _logs(
        self, density: Mixture, tasks: ComparedTasks, at: Points
    ) -> tuple[Float[Array, "t s"], Float[Array, "t s"]]:
        """Log densities of one task and of t tasks, at common points or at separate points for each task."""
        if at.regime.ndim == 2:
            of_tasks = over_tasks(lambda one: one.log_prob(self.basis, at), tasks.densities)
        else:
            of_tasks = over_tasks(lambda one, points: one.log_prob(self.basis, points), tasks.densities, at)
        of_one = _flat(lambda points: density.log_prob(self.basis, points), at)
        return jnp.broadcast_to(of_one, of_tasks.shape), of_tasks


def _flat(function: Callable[[Points], Array], at: Points) -> Float[Array, "*t j"]:
    """``function`` at (t, j) or (j,) points, in one evaluation of all points."""
    points = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), at)
    return function(points).reshape(at.regime.shape[:-1])


def leave_out(at: Points, kept: Bool[Array, "*t d"]) -> Points:
    """Points with all parameters inactive except the kept ones; (t, j, d) if ``kept`` is (t, d)."""
    mask = kept[..., None, :]
    shape = jnp.broadcast_shapes(mask.shape, at.regime.shape)
    points, mask = jax.tree.map(lambda a: jnp.broadcast_to(a, shape), (at, mask))
    return replace(points, regime=jnp.where(mask, points.regime, INACTIVE))
