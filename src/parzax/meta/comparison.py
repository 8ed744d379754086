"""How similar a target is to its source tasks, by the densities of their rows below (arXiv 2212.06751)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax._numerics import open_uniform
from parzax._programs import program
from parzax.kernels.bandwidth import FixedTop
from parzax.meta import variation
from parzax.meta.densities import POINTS, over_tasks
from parzax.meta.reduction import Reduction
from parzax.parzen.basis import Basis, basis_of
from parzax.parzen.evaluation import Prepared
from parzax.parzen.mixture import KernelMixture
from parzax.parzen.sampling import uniforms
from parzax.parzen.smoothing import Smoothing
from parzax.space import INACTIVE, Points, Space
from parzax.split import State

Estimate = Literal["balanced", "uniform", "overlap"]


class Compared(eqx.Module):
    """t densities of one group below by which tasks are compared, s draws from each, and raw importances."""

    prepared: Prepared
    samples: Points
    importance: Float[Array, "t d"]


@program
def _numbers(key: PRNGKeyArray, half: int, basis: Basis, dtype: Any) -> tuple[Any, Any, Points]:
    """Random numbers of a comparison: of draws from the sources and the target, and uniform points."""
    of_sources, of_target, of_neither = jax.random.split(key, 3)
    sources, target = (uniforms(own, half, basis, dtype, joint=True) for own in (of_sources, of_target))
    levels = open_uniform(of_neither, (2 * half, basis.n_slots), dtype)
    return sources, target, basis.frame.drawn(levels)


class Comparison(eqx.Module):
    """How densities are compared: without a prior, categories without spread, in some of the parameters.

    Points may leave parameters out: those are inactive there, which integrates them. There is no prior to
    anchor sums at, so that far from all rows a density may come out as 0.
    """

    basis: Basis  # for points that leave parameters out
    # Points of a density are made from the same random numbers at every call: only data change similarities.
    of_sources: tuple[Float[Array, "s 1"], Float[Array, "s k"]]
    of_target: tuple[Float[Array, "s 1"], Float[Array, "s k"]]
    scattered: Points  # (2 s, d) uniform ones, for the estimates that use them
    estimate: Estimate = eqx.field(static=True)

    @classmethod
    def of(
        cls, space: Space, smoothing: Smoothing, estimate: Estimate, n: int, key: PRNGKeyArray
    ) -> "Comparison":
        """With n points of an estimate, half of them from either task."""
        smallest, half, dtype = smoothing.bandwidth.smallest, max(n // 2, 1), jnp.result_type(float)
        basis = basis_of(space, dtype, smoothing.families, smallest, True).with_any_left_out()
        return cls(basis, *_numbers(key, half, basis, dtype), estimate)

    def density(self, smoothing: Smoothing, rows: Points, present: Bool[Array, " n"]) -> KernelMixture:
        """The density of the rows below."""
        plain = replace(smoothing, top=FixedTop(1.0), prior_weight=0.0)
        return plain.mixture(self.basis, rows, present.astype(rows.unit.dtype))

    def prepare(self, density: KernelMixture) -> Prepared:
        """Ready for evaluation."""
        return density.prepare(self.basis, POINTS, "product" if self.basis.form == "product" else "max")

    def compared_rows(
        self,
        reduction: Reduction,
        smoothing: Smoothing,
        states: State,
        below: Bool[Array, "t n"],
        counted: Bool[Array, "t n"],
        index: Int[Array, "t k"],
        present: Bool[Array, "t k"],
    ) -> Compared:
        """The tasks' densities of the rows below, which ``index`` has as numbers, as far as ``present``."""

        def one(at: Points, index: Int[Array, " k"], present: Bool[Array, " k"]) -> tuple[Prepared, Points]:
            density = self.density(smoothing, at[index], present)
            return self.prepare(density), density.from_uniforms(self.basis, *self.of_sources)

        importance = over_tasks(reduction.raw_importance, states.points, below, counted)
        prepared, samples = over_tasks(one, states.points, index, present)
        return Compared(prepared, samples, importance)

    def similarities(
        self, target: KernelMixture, tasks: Compared, kept: Bool[Array, "*t d"]
    ) -> Float[Array, " t"]:
        """s_m of the target and each task, by the parameters that are kept."""
        density = self.prepare(target)
        if self.estimate == "balanced":
            at = leave_out(target.from_uniforms(self.basis, *self.of_target), kept)
            samples = leave_out(tasks.samples, kept)
            by_tasks = self.of_tasks(tasks.prepared, at)
            by_themselves = self.of_tasks(tasks.prepared, samples)
            by_target = self.of_one(density, samples)
            own = jnp.broadcast_to(self.of_one(density, at), by_tasks.shape)
            found = variation.balanced_variation(by_themselves - by_target, by_tasks - own)
            return variation.similarity(found.value)
        at = leave_out(self.scattered, kept)
        log_target, logs = self.of_one(density, at), self.of_tasks(tasks.prepared, at)
        return self.at_uniform(jnp.broadcast_to(log_target, logs.shape), logs, at)[0]

    def at_uniform(
        self, log_p: Float[Array, "t s"], log_q: Float[Array, "t s"], at: Points
    ) -> tuple[Float[Array, " t"], variation.Variation]:
        """Similarities and variations, NaN for the estimate "overlap", from logs at uniform points."""
        if self.estimate == "overlap":
            alike = variation.overlap_similarity(log_p, log_q)
            return alike, variation.Variation(*[jnp.full_like(alike, jnp.nan)] * 2)
        log_uniform = jnp.broadcast_to(self._flat(self.basis.frame.log_uniform, at), log_p.shape)
        found = variation.uniform_variation(log_p, log_q, log_uniform)
        return variation.similarity(found.value), found

    def of_one(self, density: Prepared, at: Points) -> Float[Array, "*t s"]:
        """Logs of one density at points, of which each task may have its own."""
        return self._flat(lambda flat: density.log_prob(self.basis, flat), at)

    def of_tasks(self, densities: Prepared, at: Points) -> Float[Array, "t s"]:
        """Logs of the densities of t tasks at the same points, or each at its own."""
        if at.regime.ndim == 2:
            return over_tasks(lambda one: one.log_prob(self.basis, at), densities)
        return over_tasks(lambda one, own: one.log_prob(self.basis, own), densities, at)

    @staticmethod
    def _flat(function: Callable[[Points], Array], at: Points) -> Float[Array, "*t j"]:
        flat = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), at)
        return function(flat).reshape(at.regime.shape[:-1])


def leave_out(at: Points, kept: Bool[Array, "*t d"]) -> Points:
    """Points of the marginal density of the kept parameters; of t tasks' own where ``kept`` is (t, d)."""
    mask = kept[None] if kept.ndim == 1 else kept[:, None]
    mask = mask.reshape((1,) * max(at.regime.ndim - mask.ndim, 0) + mask.shape)
    shape = jnp.broadcast_shapes(mask.shape, at.regime.shape)
    own = jax.tree.map(lambda a: jnp.broadcast_to(a, shape), at)
    return replace(own, regime=jnp.where(mask, own.regime, INACTIVE))


def check_comparison(
    eta: Any, estimate: Any, n_samples: Any, key: PRNGKeyArray | None
) -> tuple[float | None, PRNGKeyArray]:
    """``eta`` and the key; raise TypeError or ValueError for settings that are none."""
    _checks.one_of("estimate", estimate, ("balanced", "uniform", "overlap"))
    _checks.whole_number("n_samples", n_samples, 2)
    eta = _checks.plain(eta)
    if eta is not None and not (isinstance(eta, (int, float)) and eta > 1):
        raise ValueError(f"eta must be above 1, or None, got {eta!r}.")
    key = jax.random.key(0) if key is None else key
    _checks.check_key(key)
    return eta, key
