"""Source tasks: their rows in the target's space, in groups, the best of them, and their densities."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import capacity, to_device
from parzax.density import Mixture, Smoothing
from parzax.density.basis import Basis
from parzax.meta.comparison import ComparedTask, Comparison, SimilarityEstimator, over_tasks
from parzax.pareto import crowding_distance, non_domination_rank
from parzax.space import INACTIVE, Points, Space
from parzax.split import AbstractSplit, SplitRows, State, padded_size
from parzax.split.state import resolved, violations
from parzax.status import Status


@dataclass(frozen=True)
class Notes:
    """Report lines about tasks. All instances compare equal, so that no compiled program depends on them.

    A sampler that is returned from compiled code may therefore have the report of another sampler.
    """

    report: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """One source task in the target's space; `parzax.Observations.to_source` makes it from a log."""

    at: Points  # (n, d) rows; a missing value has no regime, so its kernel is the prior
    absent: Bool[np.ndarray, "n d"]  # which values are missing
    losses: Float[np.ndarray, "n m"]  # NaN in rows that have only constraints
    constraints: Float[np.ndarray, "n c"]  # NaN if not measured
    summary: str  # a report line on what could be used of the task

    def __len__(self) -> int:
        return len(self.at)

    @property
    def lacking(self) -> Bool[np.ndarray, " d"]:
        """Mask of the parameters without any value although they are active in some row."""
        return self.absent.any(axis=0) & (self.at.regime == INACTIVE).all(axis=0)

    @property
    def lacks_constraints(self) -> bool:
        """Whether the task has no constraint value at all."""
        return bool(np.isnan(self.constraints).all())

    @property
    def evaluated(self) -> Bool[np.ndarray, " n"]:
        """Mask of the rows with losses."""
        return np.asarray(~np.isnan(self.losses).any(axis=1))

    @property
    def feasible(self) -> Bool[np.ndarray, " n"]:
        """Mask of the evaluated rows that satisfy all constraints; all rows of a task without constraints."""
        return self.evaluated & (self.lacks_constraints | (self.constraints <= 0).all(axis=1))


class Tasks(NamedTuple):
    """The rows of t source tasks, split into groups for the objective and each constraint.

    The groups of a constraint have no rows of a task without constraints. The groups of the objective have no
    rows of a task with too few feasible rows: c-TPE puts all its rows below, and as a source they would then
    count as good rows. A task without constraints counts as if all its rows were feasible.
    """

    states: State  # (t, ...)
    below: Bool[np.ndarray, "t c1 n"]
    above: Bool[np.ndarray, "t c1 n"]
    shared: Bool[Array, "t d"] | None  # parameters that each task has; None if every task has all
    report: tuple[str, ...]  # one line per task, which says what could be used of it

    @classmethod
    def of(cls, rows: list[SourceRows], split: AbstractSplit) -> "Tasks":
        """Split the rows of one or more tasks."""
        most, dtype = max(map(len, rows)), jnp.result_type(float)
        size = padded_size(most, capacity(most))
        states = [_state(one, size, dtype) for one in rows]
        states = to_device(jax.tree.map(lambda *arrays: np.stack(arrays), *states))
        groups = _split(split, states)
        _checks.on_host("a source task", groups)
        below, above, status = map(np.array, groups)
        lacking = np.array([one.lacks_constraints for one in rows])
        below[lacking, 1:] = above[lacking, 1:] = False
        too_few = status & int(Status.NONE_FEASIBLE | Status.FEW_FEASIBLE) != 0
        below[too_few, 0] = above[too_few, 0] = False
        lacks = np.stack([one.lacking for one in rows])
        prior = "; the prior stands for missing values"
        few = "; too few are feasible: its objectives do not count"
        pairs = zip(rows, too_few, strict=True)
        report = (one.summary + prior * bool(one.absent.any()) + few * bool(flag) for one, flag in pairs)
        return cls(states, below, above, to_device(~lacks) if lacks.any() else None, tuple(report))

    def compared(self, comparison: SimilarityEstimator, group: int = 0) -> ComparedTask:
        """The densities of a group below, for the comparison of tasks."""
        below = self.below[:, group]
        size = padded_size(int(below.sum(axis=-1).max(initial=0)), below.shape[-1])
        return _compared_rows(comparison, self.states.points, below, below | self.above[:, group], size)


class Sources(eqx.Module):
    """t source tasks; each has c + 1 densities below and above, for the objective and each constraint."""

    densities: Mixture  # (t, c + 1, 2)
    n_rows: Float[Array, "t c1 2"]  # number of rows of each group
    compared: tuple[ComparedTask, ...]  # of the groups below
    comparison: SimilarityEstimator
    shared: Bool[Array, "t d"] | None  # as in `Tasks`
    notes: Notes = eqx.field(static=True)  # one line for each task

    @classmethod
    def fit(
        cls,
        space: Space,
        rows: list[SourceRows],
        split: AbstractSplit,
        smoothing: Smoothing,
        comparison: Comparison,
    ) -> "Sources":
        """Fit the groups of one or more tasks in the target's space; see `parzax.meta_learn_tpe`."""
        dtype = jnp.result_type(float)
        space.check_dtype(dtype, native=True, arrays=False)
        tasks, basis = Tasks.of(rows, split), smoothing.basis(space, dtype)
        estimator = SimilarityEstimator.of(space, smoothing, comparison)

        masks = np.stack([tasks.below, tasks.above], axis=2)
        densities = _densities(basis, smoothing, tasks.states.points, masks)
        n_rows = to_device(masks.sum(axis=-1).astype(dtype))
        compared = tuple(tasks.compared(estimator, group) for group in range(masks.shape[1]))
        return cls(densities, n_rows, compared, estimator, tasks.shared, Notes(tasks.report))

    @property
    def report(self) -> tuple[str, ...]:
        """(t,) one line per task, which says which rows and parameters could be used."""
        return self.notes.report

    def has_rows(self, group: int) -> Bool[Array, " t"]:
        """Mask of the tasks that have rows in the group below."""
        return self.n_rows[:, group, 0] > 0

    def similarities(self, state: State, split: SplitRows, group: int = 0) -> Float[Array, " t"]:
        """Similarity s_m of the target to each source task, from the rows below (arXiv 2212.06751).

        All similarities are 1 while the target has too few rows below to keep a single parameter. A task is
        compared over the kept parameters that it has. Its similarity is 0 if it has none of them, or no row
        below.
        """
        compared, has_rows, below = self.compared[group], self.has_rows(group), split.below[group]
        # The importance of a parameter is averaged over the tasks that have it.
        measured = has_rows[:, None] if self.shared is None else has_rows[:, None] & self.shared
        comparison, rows = self.comparison, state.points
        size = split.most if group == 0 else state.capacity
        target = comparison.compared_rows(rows, below, below | split.above[group], comparison.keys[1], size)
        importance = target.importance, compared.importance
        kept, n = comparison.kept(*importance, measured, below.sum(), split.n_measured[group])
        if self.shared is None:
            alike, _ = over_tasks(lambda task: comparison.compare(target, task, kept), compared)
        else:
            kept = kept[None] & self.shared
            alike, _ = over_tasks(partial(comparison.compare, target), compared, kept)
        some = jnp.broadcast_to(kept.any(axis=-1), has_rows.shape)
        return jnp.where(has_rows, jnp.where(n > 0, jnp.where(some, alike, 0), 1), 0)


def named_sources(sources: Any, argument: str = "sources") -> dict[str, Any]:
    """Source tasks by name, from a list or a dict of logs.

    A log is anything with the method ``to_source(name, space, n_objectives, n_constraints)``, such as
    `parzax.Observations`.

    TypeError for a value that is neither, ValueError for no source and for names that are equal as text.
    """
    if hasattr(sources, "to_source") or not isinstance(sources, Iterable):
        wanted = "a list of parzax.Observations or a dict of them by name, one log per task"
        raise TypeError(f"{argument} must be {wanted}, got {type(sources).__name__}.")
    named = sources if isinstance(sources, Mapping) else {f"task {i}": o for i, o in enumerate(sources, 1)}
    out = {str(name): source for name, source in named.items()}
    for name, source in out.items():
        if not hasattr(source, "to_source"):
            hint = "parzax.adapters.optuna.observations reads a study, Observations.by_task a table of tasks"
            given = f"got {type(source).__name__}; {hint}"
            raise TypeError(f"{argument}: {name!r} must be parzax.Observations, {given}.")
    if len(out) < len(named):
        raise ValueError(f"{argument}: two of the tasks {list(named)} have the same name; change one.")
    if not out:
        raise ValueError(f"{argument} must have at least one task.")
    return out


def _state(rows: SourceRows, size: int, dtype: Any) -> State:
    """The rows as a state of NumPy arrays, without native values: splits and densities use only points."""
    (n, d), m, c = rows.at.unit.shape, rows.losses.shape[1], rows.constraints.shape[1]
    state = State.empty(d, m, c, size, dtype)
    constraints = np.full_like(rows.constraints, -1.0) if rows.lacks_constraints else rows.constraints
    given = rows.at, resolved(rows.losses, dtype), violations(constraints, dtype), ~rows.evaluated
    arrays = state.points, state.losses, state.constraints, state.constraint_only
    for large, small in zip(jax.tree.leaves(arrays), jax.tree.leaves(given), strict=True):
        large[:n] = small
    exists, losses = (np.arange(size) < n)[:, None], np.where(np.isnan(state.losses), np.inf, state.losses)
    keys = (np.where(exists, key, np.inf) for key in (state.points.unit, losses))
    order, loss_order = (np.argsort(key, axis=0, kind="stable").T.astype(np.int32) for key in keys)
    return replace(state, order=order, loss_order=loss_order, count=np.asarray(n, np.int32))


def best(rows: list[SourceRows], n: int, space: Space) -> tuple[Points, list[Int[np.ndarray, " _"]]]:
    """The best ceil(n / t) rows of each of t tasks, feasible first (arXiv 2212.06751), and their indices.

    Rows that lack a parameter of the space, or are not valid in it, are not chosen. A task is counted in t
    only if it has other rows. If some of the counted tasks have feasible rows, only these tasks are counted.
    """
    frame = space.frame()
    eligible = (one.evaluated & ~one.absent.any(axis=1) & frame.allowed(one.at) for one in rows)
    indices = best_of([(one.losses, one.feasible, mask) for one, mask in zip(rows, eligible, strict=True)], n)
    chosen = [one.at[index] for one, index in zip(rows, indices, strict=True)]
    at = jax.tree.map(lambda *parts: np.concatenate(parts), *chosen)
    return to_device(at, jnp.result_type(float)), indices


def best_of(tasks: list[tuple[np.ndarray, np.ndarray, np.ndarray]], n: int) -> list[Int[np.ndarray, " _"]]:
    """Indices of `best` for tasks given as (n, m) losses, a mask of feasible and a mask of eligible rows."""
    some = any((feasible & mask).any() for _, feasible, mask in tasks)
    usable = [np.flatnonzero(mask & (not some or (feasible & mask).any())) for _, feasible, mask in tasks]
    each = math.ceil(n / max(sum(bool(len(index)) for index in usable), 1))
    return [
        index[np.lexsort((place(losses[index]), ~feasible[index]))[:each]]
        for (losses, feasible, _), index in zip(tasks, usable, strict=True)
    ]


def place(losses: Float[np.ndarray, "n m"]) -> Int[np.ndarray, " n"]:
    """Place of each row in the order by loss, or by rank and crowding distance; rows must have no NaN."""
    if losses.shape[1] == 1:
        order = np.argsort(losses[:, 0], kind="stable")
    else:
        resolved_losses = resolved(losses, jnp.result_type(float))
        rank = non_domination_rank(resolved_losses)
        order = np.lexsort((-crowding_distance(resolved_losses, rank), rank))
    return np.argsort(order, kind="stable")


@compiled
def _split(split: AbstractSplit, states: State) -> tuple[Array, Array, Array]:
    def one(state: State) -> tuple[Array, Array, Array]:
        groups = split(state)
        return groups.below, groups.above, split.status(state)

    return jax.lax.map(one, states)


@compiled
def _compared_rows(
    comparison: SimilarityEstimator,
    rows: Points,
    below: Bool[Any, "t n"],
    counted: Bool[Any, "t n"],
    size: int,
) -> ComparedTask:
    one = partial(comparison.compared_rows, key=comparison.keys[0], size=size)
    return over_tasks(one, rows, below, counted)


@compiled
def _densities(basis: Basis, smoothing: Smoothing, rows: Points, masks: Bool[Any, "t c1 2 n"]) -> Mixture:
    """Densities (t, c + 1, 2) of the groups of t tasks."""
    return over_tasks(lambda at, masks: jax.vmap(partial(smoothing.mixture, basis, at))(masks), rows, masks)
