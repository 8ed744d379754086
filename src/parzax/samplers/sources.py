"""Densities of source tasks, fitted once: what a meta-learning sampler carries along."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax.kernels import FixedTop
from parzax.observations.ages import ramp_weights
from parzax.parzen import ParzenEstimator
from parzax.parzen.evaluation import Mixture, product_holds
from parzax.parzen.fitting import peak_of
from parzax.parzen.points import Points, check_dtype, points, slots
from parzax.parzen.sampling import uniforms
from parzax.samplers.candidates import uniform
from parzax.samplers.groups import Groups, good_count, groups, up_to_feasible
from parzax.samplers.source_rows import SourceRows
from parzax.samplers.source_states import states
from parzax.samplers.state import State
from parzax.samplers.warm import best_rows
from parzax.space import INACTIVE, Space
from parzax.tasks import Importance, raw_importance

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler

Estimate = Literal["balanced", "uniform", "overlap"]

# Densities are prepared for this many points, all candidates together: it decides on tables and forms.
_POINTS = 1024
# Tasks that are evaluated together: their pairs stay in a core's cache.
_TOGETHER = 8
# Groups are padded to powers of two from here on.
_LEAST_ROWS = 8


class Density(eqx.Module):
    """The estimators of one group, one per task: t tasks of up to n rows.

    Attributes:
        fitted: (t, n, ...) for draws.
        mixture: (t, ...) the same, prepared for evaluation.
        n_rows: (t,) size of the group.
    """

    fitted: ParzenEstimator
    mixture: Mixture
    n_rows: Float[Array, " t"]

    def log_prob(self, at: Points) -> Float[Array, "t j"]:
        """log densities in unit coordinates, of every task at all points."""
        return over_tasks(lambda mixture: mixture.log_prob(at), self.mixture)


class Comparison(eqx.Module):
    """The good densities by which tasks are compared.

    Attributes:
        mixture: (t, ...) without a prior, categories without spread; no parameter counts as always active, so
            that points may leave some out.
        samples: (t, s, d) draws from each.
        importance: (t, d) raw importance of the parameters in each task.
    """

    mixture: Mixture
    samples: Points
    importance: Float[Array, "t d"]


class Sources(eqx.Module):
    """Source tasks of a sampler, t of them, in groups of the objective and every constraint.

    Attributes:
        below, above: (c + 1) densities each.
        comparisons: (c + 1) of the good groups.
        draws: random numbers from which the target's points are made: the same at every call, so that
            similarities change with the data alone.
        scattered: (2 s, d) uniform points, for the estimates that use them.
        warm: (w, d) native values of the tasks' best rows, the first suggestions.
        shared: (t, d) which parameters of the space each task has; None where all have all.
        eta: tasks are compared by the floor(log_eta n) most important parameters, n the number of the
            target's good rows; None for all; static.
        estimate: how tasks are compared; static.
        most: candidates of all groups and tasks together, at most; static.
        notes: names of the tasks, and a line for each: what was used of it; static.
        importance: how those of the tasks make one (`parzax.tasks.overall_importance`); static.
    """

    below: tuple[Density, ...]
    above: tuple[Density, ...]
    comparisons: tuple[Comparison, ...]
    draws: tuple[Float[Array, "s 1"], Float[Array, "s k"]]
    scattered: Points
    warm: Float[Array, "w d"]
    shared: Bool[Array, "t d"] | None
    eta: float | None = eqx.field(static=True)
    estimate: Estimate = eqx.field(static=True)
    most: int = eqx.field(static=True)
    notes: "Notes" = eqx.field(static=True)
    importance: Importance = eqx.field(static=True, default="mean")

    @property
    def n_tasks(self) -> int:
        """Number of source tasks, t."""
        return self.below[0].n_rows.shape[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """(t,) of the tasks."""
        return self.notes.names

    @property
    def report(self) -> tuple[str, ...]:
        """(t,) a line per task: what was used of it."""
        return self.notes.report


class Notes:
    """Words about tasks. All are equal, so that no compiled program depends on them."""

    def __init__(self, names: tuple[str, ...], report: tuple[str, ...]) -> None:
        self.names, self.report = names, report

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Notes)

    def __hash__(self) -> int:
        return hash(Notes)


def over_tasks(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function`` of every task, a few together."""
    t = len(jax.tree.leaves(arguments)[0])
    if t <= _TOGETHER:
        return jax.vmap(function)(*arguments)
    # Filled up with copies, so that one program serves all.
    n = -(-t // _TOGETHER)
    blocks = jax.tree.map(
        lambda a: a[jnp.minimum(jnp.arange(n * _TOGETHER), t - 1)].reshape(n, _TOGETHER, *a.shape[1:]),
        arguments,
    )
    out = jax.lax.map(lambda one: jax.vmap(function)(*one), blocks)
    return jax.tree.map(lambda a: a.reshape(n * _TOGETHER, *a.shape[2:])[:t], out)


def fit_sources(
    sampler: "Sampler",
    rows: list[SourceRows],
    *,
    eta: float | None,
    estimate: Estimate,
    n_samples: int,
    most: int,
    importance: Importance,
    key: jax.Array,
) -> Sources:
    """Fit the groups of all tasks under a sampler's settings.

    A task without constraints is in no group of one. A task with too few feasible rows is in no group of the
    objective: c-TPE counts all its rows as good then, since its objective drops out of the score, and would
    take them for the best that is known.

    Args:
        sampler: how rows are split and smoothed.
        rows: at least one task.
        eta, estimate, most, importance: see `Sources`.
        n_samples: points of a comparison, half of them from either task.
        key: for these points.
    """
    check_dtype(sampler.space, jnp.result_type(float), native=True, arrays=False)
    state = states(sampler, rows)
    own, count = _groups(sampler, state)
    below, above = (np.array(mask) for mask in (own.below, own.above))
    lacking = np.array([one.lacks_constraints for one in rows])
    below[lacking, 1:] = above[lacking, 1:] = False
    n_told, n_feasible = (np.array([[one.told.sum(), one.feasible.sum()] for one in rows])).T
    too_few = up_to_feasible(sampler) & (n_told > 0) & (n_feasible < np.asarray(count))
    below[too_few, 0] = above[too_few, 0] = False
    dtype, half = state.x.dtype, max(n_samples // 2, 1)
    of_sources, of_target, of_neither = jax.random.split(key, 3)
    draws = uniforms(of_sources, half, sampler.space, dtype, joint=True)
    densities: dict[str, list[Density]] = {"below": [], "above": []}
    comparisons = []
    for i in range(below.shape[1]):
        for name, masks in (("below", below[:, i]), ("above", above[:, i])):
            index, mask = compact(masks)
            densities[name].append(_density(sampler, state, jnp.asarray(masks), index, mask))
        counted = jnp.asarray(below[:, i] | above[:, i])
        index, mask = compact(below[:, i])
        comparisons.append(_comparison(sampler, state, jnp.asarray(below[:, i]), counted, index, mask, draws))
    lacks = np.stack([one.lacking for one in rows])
    report = tuple(
        f"{one.summary}; too few are feasible: its objectives do not count" if few else one.summary
        for one, few in zip(rows, too_few, strict=True)
    )
    return Sources(
        tuple(densities["below"]),
        tuple(densities["above"]),
        tuple(comparisons),
        uniforms(of_target, half, sampler.space, dtype, joint=True),
        points(sampler.space, uniform(of_neither, sampler.space, 2 * half, dtype)),
        jnp.asarray(best_rows(sampler, rows), dtype),
        None if not lacks.any() else jnp.asarray(~lacks),
        eta,
        estimate,
        most,
        Notes(tuple(one.name for one in rows), report),
        importance=importance,
    )


def compact(masks: np.ndarray) -> tuple[Array, Array]:
    """Indices of each task's rows under a mask, (t, k), and which of them exist; in the order of the rows."""
    size = max(int(masks.sum(axis=-1).max(initial=0)), _LEAST_ROWS)
    size = min(1 << (size - 1).bit_length(), masks.shape[-1])
    index = np.argsort(~masks, axis=-1, kind="stable")[:, :size]
    return jnp.asarray(index), jnp.asarray(np.take_along_axis(masks, index, axis=-1))


@eqx.filter_jit
def _groups(sampler: "Sampler", state: State) -> tuple[Groups, Int[Array, " t"]]:
    """Groups of every task, and how many rows are good for its objectives."""
    return jax.lax.map(lambda one: (groups(sampler, one), good_count(sampler, one)[0]), state)


@eqx.filter_jit
def _density(
    sampler: "Sampler", state: State, masks: Bool[Array, "t n"], index: Array, present: Array
) -> Density:
    dtype = state.x.dtype

    def one(at: Points, mask: Array, index: Array, present: Array) -> tuple[ParzenEstimator, Mixture]:
        ages = ramp_weights(mask, dtype)[index] if sampler.forget else None
        fitted = ParzenEstimator.fit_points(
            sampler.space,
            at[index],
            present.astype(dtype),
            bandwidth=sampler.bandwidth,
            top=sampler.top,
            prior_weight=sampler.prior_weight,
            mixture_weight=ages,
        )
        # By the number of all pairs, not those of a task: the form that is fast for many.
        return fitted, fitted.prepare(_POINTS, fitted.form(_POINTS * max(len(masks), _POINTS)))

    fitted, mixture = over_tasks(one, state.points, masks, index, present)
    return Density(fitted, mixture, present.sum(axis=-1).astype(dtype))


@eqx.filter_jit
def _comparison(
    sampler: "Sampler",
    state: State,
    below: Array,
    counted: Array,
    index: Array,
    present: Array,
    draws: tuple[Array, Array],
) -> Comparison:
    def one(at: Points, index: Array, present: Array) -> tuple[Mixture, Points]:
        fitted = comparable(sampler, at[index], present)
        return free(fitted), points(sampler.space, fitted.from_uniforms(*draws))

    mixture, samples = over_tasks(one, state.points, index, present)
    importance = over_tasks(
        lambda at, b, c: raw_importance(sampler.space, at, b, c), state.points, below, counted
    )
    return Comparison(mixture, samples, importance)


def comparable(sampler: "Sampler", rows: Points, present: Array) -> ParzenEstimator:
    """The density of good rows by which a task is compared (arXiv 2212.06751)."""
    return ParzenEstimator.fit_points(
        sampler.space,
        rows,
        present.astype(rows.unit.dtype),
        bandwidth=sampler.bandwidth,
        top=FixedTop(1.0),
        prior_weight=0.0,
    )


def free(fitted: ParzenEstimator) -> Mixture:
    """Prepared so that points may leave parameters out: those are inactive there, which integrates them.

    There is no prior to anchor sums at, so that far from all rows a density may come out as 0.
    """
    own = tuple(slot._replace(always=False) for slot in slots(fitted.space))
    holds = product_holds(
        fitted.scale.dtype,
        n_continuous=sum(slot.axis.kind == "continuous" for slot in own),
        smallest=fitted.smallest,
        peak=peak_of(fitted.space, fitted.smallest),
        safe_prior=True,
    )
    form = "product" if holds else "max"
    return Mixture.prepare(
        fitted.kernels, fitted.scale, fitted.weight, fitted.prior_weight, fitted.priors, own, form, _POINTS
    )


def leave_out(at: Points, kept: Bool[Array, "*t d"]) -> Points:
    """Points of the marginal density of the kept parameters.

    Args:
        at: (..., n, d).
        kept: (d,), or (t, d) with a mask for each of t tasks: then the points have that axis too.
    """
    regime = jnp.where(kept if kept.ndim == 1 else kept[:, None], at.regime, INACTIVE)
    own = jax.tree.map(lambda a: jnp.broadcast_to(a, regime.shape), at)
    return eqx.tree_at(lambda p: p.regime, own, regime)


def log_uniform(space: Space, at: Points) -> Float[Array, " j"]:
    """log density of uniform configurations in unit coordinates, of the parameters that are not left out."""
    out = jnp.zeros(at.unit.shape[:-1], at.unit.dtype)
    for slot in slots(space):
        if slot.axis.kind in ("categorical", "stepped"):
            here = at.regime[..., slot.parameter] == slot.regime
            out = out - jnp.where(here, math.log(slot.axis.n_values), 0)
    return out
