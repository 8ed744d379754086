"""Source tasks as padded states, split into groups, and the choice of their best rows."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import capacity, to_device
from parzax.meta.comparison import ComparedTasks, SimilarityEstimator
from parzax.meta.rows import SourceRows
from parzax.pareto import crowding_distance, non_domination_rank
from parzax.space import Points
from parzax.split import AbstractSplit, State, padded_size
from parzax.split.state import resolved, violations
from parzax.status import Status


class Tasks(NamedTuple):
    """The rows of t source tasks, split into groups for the objective and each constraint.

    The groups of a constraint have no rows of a task without constraints. The groups of the objective have no
    rows of a task with too few feasible rows: c-TPE puts all its rows below, and as a source they would then
    count as good rows.
    """

    states: State  # (t, ...)
    below: Bool[np.ndarray, "t c1 n"]
    above: Bool[np.ndarray, "t c1 n"]
    shared: Bool[Array, "t d"] | None  # parameters that each task has; None if every task has all
    report: tuple[str, ...]  # one line per task, which says what could be used of it

    @classmethod
    def of(cls, rows: list[SourceRows], split: AbstractSplit) -> "Tasks":
        """Split the rows of one or more tasks."""
        states, *groups = split_rows(rows, split)
        _checks.outside_traces(groups)
        below, above, status = map(np.array, groups)
        lacking = np.array([one.lacks_constraints for one in rows])
        below[lacking, 1:] = above[lacking, 1:] = False
        too_few = status & int(Status.NONE_FEASIBLE | Status.FEW_FEASIBLE) != 0
        below[too_few, 0] = above[too_few, 0] = False
        lacks = np.stack([one.lacking for one in rows])
        few = "; too few are feasible: its objectives do not count"
        report = tuple(one.summary() + few * bool(flag) for one, flag in zip(rows, too_few, strict=True))
        return cls(states, below, above, to_device(~lacks) if lacks.any() else None, report)

    def compared(self, comparison: SimilarityEstimator, group: int = 0) -> ComparedTasks:
        """The densities of a group below, for the comparison of tasks."""
        below = self.below[:, group]
        masks = to_device(below), to_device(below | self.above[:, group])
        return _compared(comparison, self.states, *masks, group_size(below))


def split_rows(
    rows: list[SourceRows], split: AbstractSplit
) -> tuple[State, Bool[Array, "t c1 n"], Bool[Array, "t c1 n"], Int[Array, " t"]]:
    """A state per task (leading axis t), its groups below and above, and their status.

    A task without constraints counts as if all its rows were feasible.
    """
    size, dtype = capacity(max(map(len, rows), default=1)), jnp.result_type(float)
    padded = [_padded(one, size, dtype) for one in rows]
    return _split(split, *(jax.tree.map(lambda *arrays: np.stack(arrays), *padded)))


def _padded(rows: SourceRows, size: int, dtype: Any) -> tuple[Any, ...]:
    """Arguments of `State.add`, padded to ``size`` rows, and the number of rows."""
    d, m, c = (a.shape[1] for a in (rows.at.unit, rows.objectives, rows.constraints))
    empty = State.empty(d, m, c, size, dtype)
    constraints = np.full_like(rows.constraints, -1.0) if rows.lacks_constraints else rows.constraints
    given = rows.at, resolved(rows.objectives, dtype), violations(constraints, dtype), ~rows.evaluated
    arrays = empty.points, empty.objectives, empty.constraints, empty.constraint_only

    def fill(large: np.ndarray, small: np.ndarray) -> np.ndarray:
        large[: len(small)] = small
        return large

    # Native values stay empty, because splits and densities use only points.
    return empty.x, *jax.tree.map(fill, arrays, given), np.int32(len(rows))


def rows_at(rows: list[SourceRows], indices: list[Int[np.ndarray, " _"]]) -> Points:
    """(w, d) rows of all tasks: each task contributes the rows at its indices."""
    chosen = [one.at[index] for one, index in zip(rows, indices, strict=True)]
    return to_device(jax.tree.map(lambda *parts: np.concatenate(parts), *chosen), jnp.result_type(float))


def best(rows: list[SourceRows], n: int) -> list[Int[np.ndarray, " _"]]:
    """Indices of the best ceil(n / t) rows of each of t tasks, feasible rows first (arXiv 2212.06751).

    Rows that lack a parameter of the space are not chosen. A task is counted in t only if it has other rows.
    If some of the counted tasks have feasible rows, only these tasks are counted.
    """
    return best_of([(one.objectives, one.feasible, one.evaluated & one.complete) for one in rows], n)


def best_of(tasks: list[tuple[np.ndarray, np.ndarray, np.ndarray]], n: int) -> list[Int[np.ndarray, " _"]]:
    """`best` for tasks given as (n, m) objectives, a mask of feasible rows and a mask of eligible rows."""
    some = any((feasible & mask).any() for _, feasible, mask in tasks)
    usable = [np.flatnonzero(mask & (not some or (feasible & mask).any())) for _, feasible, mask in tasks]
    each = math.ceil(n / max(sum(bool(len(index)) for index in usable), 1))
    return [
        index[np.lexsort((place(objectives[index]), ~feasible[index]))[:each]]
        for (objectives, feasible, _), index in zip(tasks, usable, strict=True)
    ]


def place(objectives: Float[np.ndarray, "n m"]) -> Int[np.ndarray, " n"]:
    """Place of each row in the order by loss, or by rank and crowding distance; rows must have no NaN."""
    if objectives.shape[1] == 1:
        order = np.argsort(objectives[:, 0], kind="stable")
    else:
        losses = resolved(objectives, jnp.result_type(float))
        rank = non_domination_rank(losses)
        order = np.lexsort((-crowding_distance(losses, rank), rank))
    return np.argsort(order, kind="stable")


def group_size(masks: Bool[np.ndarray, "t n"]) -> int:
    """Length of arrays that can hold the rows under the mask, for each task."""
    return padded_size(int(masks.sum(axis=-1).max(initial=0)), masks.shape[-1])


@compiled
def _split(split: AbstractSplit, *rows: Any) -> tuple[State, Array, Array, Array]:
    def one(rows: tuple[Any, ...]) -> tuple[State, Array, Array, Array]:
        x, _, objectives, constraints, _, _ = rows
        (size, d), m, c = x.shape, objectives.shape[1], constraints.shape[1]
        state = jax.tree.map(jnp.asarray, State.empty(d, m, c, size, x.dtype)).add(*rows)
        groups = split(state)
        return state, groups.below, groups.above, split.status(state)

    return jax.lax.map(one, rows)


_compared = compiled(SimilarityEstimator.compared_rows)
