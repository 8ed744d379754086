"""Source tasks as states with groups, their rows padded and ordered on the host; and their best rows."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import placed
from parzax._programs import program
from parzax.meta.comparison import ComparedTasks, SimilarityEstimator
from parzax.meta.rows import SourceRows
from parzax.observations import capacity
from parzax.pareto import crowding_distance, non_domination_rank, order_by_rank_and_crowding
from parzax.parzen.rows import on_device
from parzax.parzen.smoothing import Smoothing
from parzax.space import Points
from parzax.split import AbstractSplit, State, padded_size
from parzax.split.state import resolved, violations
from parzax.status import Status


class Tasks(NamedTuple):
    """The rows of t source tasks, split into groups of the objective and every constraint.

    A task without constraints is in no group of one. A task with too few feasible rows is in no group of the
    objective: c-TPE counts all its rows as below then, its objective dropping out of the score, and would
    take them for the best that is known.
    """

    states: State  # (t, ...)
    below: Bool[np.ndarray, "t c1 n"]
    above: Bool[np.ndarray, "t c1 n"]
    shared: Bool[Array, "t d"] | None  # which parameters of the space each task has; None where all have all
    report: tuple[str, ...]  # a line per task: what was used of it

    @classmethod
    def of(cls, rows: list[SourceRows], split: AbstractSplit) -> "Tasks":
        """Of at least one task."""
        every = states(rows)
        below, above, status = map(np.array, _split(split, every))
        lacking = np.array([one.lacks_constraints for one in rows])
        below[lacking, 1:] = above[lacking, 1:] = False
        too_few = status & int(Status.NONE_FEASIBLE | Status.FEW_FEASIBLE) != 0
        below[too_few, 0] = above[too_few, 0] = False
        lacks = np.stack([one.lacking for one in rows])
        few = "; too few are feasible: its objectives do not count"
        report = tuple(one.summary() + few * bool(own) for one, own in zip(rows, too_few, strict=True))
        return cls(every, below, above, placed(~lacks) if lacks.any() else None, report)

    def compared(
        self, comparison: SimilarityEstimator, smoothing: Smoothing, group: int = 0
    ) -> ComparedTasks:
        """The densities of a group below, as tasks are compared by them."""
        below = self.below[:, group]
        masks = placed(below), placed(below | self.above[:, group])
        return _compared(comparison, smoothing, self.states, *masks, group_size(below))


def states(rows: list[SourceRows]) -> State:
    """A state per task, with a leading axis; a task that lacks constraints counts as satisfying all."""
    size, dtype = capacity(max(map(len, rows), default=1)), jnp.result_type(float)
    every = (_state(one, size, dtype) for one in rows)
    return jax.tree.map(lambda *arrays: jax.device_put(np.stack(arrays)), *every)


def _state(rows: SourceRows, size: int, dtype: Any) -> State:
    """The state after all rows: sorting them is cheaper than comparing all pairs, as `State.add` does."""
    constraints = np.full_like(rows.constraints, -1.0) if rows.lacks_constraints else rows.constraints
    objectives = resolved(rows.objectives, dtype)
    state = State(
        # Splits and densities look at points.
        x=np.full(rows.at.unit.shape, np.nan),
        points=rows.at,
        objectives=objectives,
        constraints=violations(constraints, dtype),
        constraint_only=~rows.evaluated,
        before=_before(objectives[:, 0], rows.evaluated),
        feasible_before=_before(objectives[:, 0], rows.feasible),
        repeated=_repeated(rows.at, objectives.astype(dtype), rows.evaluated),
        order=np.argsort(rows.at.unit.astype(dtype), axis=0, kind="stable").T.astype(np.int32),
        count=np.int32(len(rows)),
        overflow=np.bool_(False),
    )
    return jax.tree.map(lambda a: a.astype(dtype) if a.dtype.kind == "f" else a, state).grown(size)


def _before(loss: Float[np.ndarray, " n"], counted: Bool[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """How many rows that count come before each by loss, earlier ones first among equals; 0 for NaN."""
    order = np.argsort(loss, kind="stable")
    out = np.zeros(len(loss), np.int32)
    out[order] = np.cumsum(counted[order]) - counted[order]
    return np.where(np.isnan(loss), np.int32(0), out)


def _repeated(
    at: Points, objectives: Float[np.ndarray, "n m"], evaluated: Bool[np.ndarray, " n"]
) -> Bool[np.ndarray, " n"]:
    """See `parzax.split.State`."""
    out = np.zeros(len(objectives), bool)
    if objectives.shape[1] > 1 and evaluated.any():
        unit = at.unit.astype(objectives.dtype)
        both = np.concatenate([at.regime, at.index, unit, objectives], axis=1)[evaluated]
        first = np.unique(both, axis=0, return_index=True)[1]
        out[np.delete(np.flatnonzero(evaluated), first)] = True
    return out


def rows_at(rows: list[SourceRows], indices: list[Int[np.ndarray, " _"]]) -> Points:
    """(w, d) the rows of each task at its indices, those of all tasks together."""
    chosen = [one.at[index] for one, index in zip(rows, indices, strict=True)]
    return on_device(jax.tree.map(lambda *parts: np.concatenate(parts), *chosen), jnp.result_type(float))


def best(rows: list[SourceRows], n: int) -> list[Int[np.ndarray, " _"]]:
    """Of each of t tasks the top ceil(n / t) rows, feasible ones first, for a new task (arXiv 2212.06751).

    Rows that lack a parameter of the space are not taken; t counts the tasks that have others, and where some
    have feasible ones these tasks alone.
    """
    return best_of([(one.objectives, one.feasible, one.evaluated & one.complete) for one in rows], n)


def best_of(tasks: list[tuple[np.ndarray, np.ndarray, np.ndarray]], n: int) -> list[Int[np.ndarray, " _"]]:
    """The same of tasks that are (n, m) objectives and masks of feasible rows and of those to choose from."""
    some = any((feasible & mask).any() for _, feasible, mask in tasks)
    usable = [np.flatnonzero(mask & (not some or (feasible & mask).any())) for _, feasible, mask in tasks]
    each = math.ceil(n / max(sum(bool(len(own)) for own in usable), 1))
    return [
        own[np.lexsort((place(objectives[own]), ~feasible[own]))[:each]]
        for (objectives, feasible, _), own in zip(tasks, usable, strict=True)
    ]


def place(objectives: Float[np.ndarray, "n m"]) -> Int[np.ndarray, " n"]:
    """Place of each row in the order by loss, or by rank and crowding distance; no NaN."""
    n, m = objectives.shape
    if m == 1:
        order = np.argsort(objectives[:, 0], kind="stable")
    else:
        # Padded, so that few lengths are compiled.
        losses, dtype = np.full((capacity(n), m), np.nan), jnp.result_type(float)
        losses[:n] = resolved(objectives, dtype)
        losses, mask = placed(losses, dtype), placed(np.arange(len(losses)) < n)
        rank = non_domination_rank(losses, mask)
        order = np.asarray(order_by_rank_and_crowding(rank, crowding_distance(losses, rank, mask)))[:n]
    return np.argsort(order, kind="stable")


def group_size(masks: Bool[np.ndarray, "t n"]) -> int:
    """Length of arrays that hold the rows of any task under its mask."""
    return padded_size(int(masks.sum(axis=-1).max(initial=0)), masks.shape[-1])


@program
def _split(split: AbstractSplit, every: State) -> tuple[Array, Array, Array]:
    def one(state: State) -> tuple[Array, Array, Array]:
        found = split(state)
        return found.below, found.above, split.status(state)

    return jax.lax.map(one, every)


_compared = program(SimilarityEstimator.compared_rows)
