"""The groups below and above, for the objective and each constraint, with their shares."""

import abc
from dataclasses import replace
from functools import partial
from typing import Any, Literal, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics.arrays import running_count
from parzax.pareto import ABSENT, AbstractTies, Crowding, non_domination_rank
from parzax.split.gamma import AbstractGamma, Linear
from parzax.split.merits import AbstractMerit, ByRank
from parzax.split.state import State, first_equal
from parzax.status import Status

# Smallest length of the arrays that hold a group's rows, so that few lengths are compiled.
_LEAST_ROWS = 8
# Weights of rows by grade fall by a factor e over this share of the group below (docs/studies/batches.md).
_GRADE_WIDTH = 0.75


class SplitRows(eqx.Module):
    """Masks of the groups below and above: the objective first, then each constraint.

    A row may be in neither group.
    """

    below: Bool[Array, "c1 n"]
    above: Bool[Array, "c1 n"]
    gamma: Float[Array, " c1"]  # share of the evaluated rows that are in the group below
    n_measured: Int[Array, " c1"]  # number of rows that were evaluated
    most: int = eqx.field(static=True)  # upper bound on the number of the objective's rows below
    # Mixture weights of the objective's rows, below and above; None for equal weights.
    weights: Float[Array, "2 n"] | None = None
    # How good the evaluated rows are, from 1 to 0, 0 for all other rows; None if the split does not say.
    grades: Float[Array, " n"] | None = None

    @property
    def masks(self) -> Bool[Array, "c2 n"]:
        """The groups below, followed by the groups above."""
        return jnp.concatenate([self.below, self.above])

    def graded(self) -> "SplitRows":
        """The objective's groups without a border: each row is below with its grade, and above with the rest.

        Bandwidths remain those of the groups with a border. Without grades nothing changes.
        """
        if self.grades is None:
            return self
        told = self.below[0] | self.above[0]
        return replace(self, weights=jnp.where(told[None], jnp.stack([self.grades, 1 - self.grades]), 0))


class AbstractSplit(eqx.Module):
    """A rule that splits the rows of a state."""

    @abc.abstractmethod
    def __call__(self, state: State) -> SplitRows:
        """The groups of the objective (or of all objectives together) and of each constraint."""

    @abc.abstractmethod
    def status(self, state: State) -> Int[Array, ""]:
        """Bits of `parzax.Status` that describe unusual groups."""


def _flag(name: str, default: bool) -> Any:
    return eqx.field(static=True, default=default, converter=partial(_checks.flag, name))


@final
class Split(AbstractSplit):
    """The splits of the TPE family; the defaults are those of `parzax.tpe`.

    For the objective the best rows are below, as many as the gamma rule says. They are ordered by loss, or,
    with several objectives, by non-domination rank and ``ties``; among equal rows the earlier one comes
    first. For a constraint the rows that satisfy it are below. Pending rows are above. Constraint-only rows
    are in the groups of the constraints that they have values for.

    Attributes:
        gamma: rule of `parzax.gamma` for the number of rows below. None is ``Linear(0.2)``, and
            ``Linear(0.1)`` under constraints.
        infeasible: which rows that violate a constraint are below. The gamma rule counts feasible rows, and
            the best N^(l) of them are below. With "better" so are all infeasible rows that are better than
            the last of these, as in c-TPE (arXiv 2211.14411). If there are fewer than N^(l) feasible rows,
            every row is below, the share is 1 and the objective has no effect on the score. This is as in the
            authors' code; the paper says it only for no feasible row. With "nearest" only N^(l) of these
            infeasible rows are below, those with the smallest violation: the sum of the positive values of
            the constraints, each over its largest finite value. With "alike" infeasible rows are counted and
            ordered like all others. No effect without constraints. Static.
        first_front: whether the whole first front is below, however large; unless "alike", its feasible
            rows are counted. A row that repeats an earlier row is ordered after the others of its front.
            Otherwise all copies of a good configuration would be below and lead to more copies. Static.
        every_tie: whether all rows tied with the last row below are below too, as in the texts (f <= f^gamma;
            arXiv 2211.14411, Eq. 4; 2212.06751, Eq. 6). False takes the earliest, as the authors' code does.
            No effect with several objectives. Static.
        unsatisfied: which rows are below while no row satisfies a constraint: "first", the first of the rows
            with the smallest value, as in c-TPE's appendix B.3.2 and the authors' code; "all", all of these
            rows, as in its Section 2.2 (in a discrete space repeats of one configuration can then outweigh
            all other rows, and a run may never leave it); "none", as in the naive product of its
            appendix B.2. Static.
        ties: rule that chooses which rows of a front are below, if not all of them are:
            `parzax.pareto.Crowding`, or, for two or three objectives, `parzax.pareto.Hypervolume`.
        merit: rule of `parzax.merits` for the mixture weights of the rows below; None for equal weights, as
            in the papers and in Optuna.
    """

    gamma: AbstractGamma | None = None
    infeasible: Literal["nearest", "better", "alike"] = eqx.field(static=True, default="nearest")
    first_front: bool = _flag("first_front", False)
    every_tie: bool = _flag("every_tie", False)
    unsatisfied: str = eqx.field(static=True, default="first")
    ties: AbstractTies = Crowding()
    merit: AbstractMerit | None = ByRank()

    def __check_init__(self) -> None:
        """Raise TypeError or ValueError for wrong settings."""
        _checks.one_of("unsatisfied", self.unsatisfied, ("first", "all", "none"))
        _checks.instance("gamma", self.gamma, AbstractGamma | None, "a rule of parzax.gamma or None")
        _checks.instance("ties", self.ties, AbstractTies, "a rule of parzax.pareto, such as Crowding()")
        _checks.instance("merit", self.merit, AbstractMerit | None, "a rule of parzax.merits")
        _checks.one_of("infeasible", self.infeasible, ("nearest", "better", "alike"))

    def __call__(self, state: State) -> SplitRows:
        return _compiled_split(self, state)

    def _split(self, state: State) -> SplitRows:
        losses, points, evaluated = state.losses, state.points, state.evaluated
        counts_feasible = self._counts_feasible(state)
        counted = state.feasible if counts_feasible else evaluated
        rule, capacity = self._rule(state), state.capacity
        count = rule(evaluated.sum())
        # An upper bound on the number of rows below, up to the last counted row.
        most = capacity if counts_feasible or self.every_tie else rule.most(capacity)
        if losses.shape[1] == 1:
            # Sorted by loss; equal rows keep their order, and rows without losses come last.
            order = state.loss_order[0]
            rank = count_before(order, evaluated)
        else:
            self.ties.check(losses.shape[1])
            rank = non_domination_rank(losses, evaluated)
            if self.first_front:
                # The repeated rows of each front form a separate front directly after it. All counted rows
                # of the first front are below.
                first = first_equal((points.regime, points.index, points.unit, losses), evaluated)
                repeated = first < jnp.arange(len(first), dtype=first.dtype)
                rank = jnp.where(rank < ABSENT, 2 * rank + repeated.astype(rank.dtype), ABSENT)
                count = jnp.maximum(count, (counted & (rank == 0)).sum(dtype=count.dtype))
            order = self.ties.order(losses, rank, evaluated, counted, count, most)
        dtype, place = state.x.dtype, count_before(order, counted)
        objective = evaluated & (place < count)
        if self.every_tie and losses.shape[1] == 1:
            loss = losses[:, 0]
            objective = evaluated & (loss <= jnp.max(loss, initial=-jnp.inf, where=objective))
        if counts_feasible and self.infeasible == "nearest":
            others = objective & ~state.feasible
            by_violation = order[jnp.argsort(jnp.where(others, violation(state), jnp.inf)[order])]
            objective &= state.feasible | (count_before(by_violation, others) < count)
        width = _GRADE_WIDTH * jnp.maximum(count, 1).astype(dtype)
        grades = jnp.where(evaluated, jnp.exp(-(place.astype(dtype) + 0.5) / width), 0)
        if losses.shape[1] > 1:
            # All rows of a front have the place of its first row.
            rank = jnp.searchsorted(jnp.sort(jnp.where(objective, rank, ABSENT)), rank).astype(jnp.int32)
        elif counts_feasible:
            rank = count_before(order, objective)

        usable, only = state.usable[:, None], state.constraint_only[:, None]
        measured = evaluated[:, None] | (only & usable & ~jnp.isnan(state.constraints))
        of_constraint = partial(constraint_split, unsatisfied=self.unsatisfied)
        satisfied = jax.vmap(of_constraint, in_axes=(1, 1))(state.constraints, measured)
        below = jnp.concatenate([objective[None], satisfied])
        told = usable & ~only
        taking_part = jnp.concatenate([told, measured | told], axis=1).T
        n_measured = jnp.concatenate([evaluated[:, None], measured], axis=1).sum(axis=0)
        gamma = below.sum(axis=-1).astype(dtype) / jnp.maximum(n_measured, 1).astype(dtype)
        most = capacity if self.first_front and losses.shape[1] > 1 else padded_size(most, capacity)
        above, weights = taking_part & ~below, None
        if self.merit is not None:
            weights = jnp.where(jnp.stack([objective, above[0]]), self.merit(rank, objective, dtype), 0)
        return SplitRows(below, above, gamma, n_measured, most, weights, grades)

    def status(self, state: State) -> Int[Array, ""]:
        """NONE_FEASIBLE or FEW_FEASIBLE if the objective is ignored because too few rows are feasible."""
        if not self._counts_feasible(state):
            return jnp.zeros((), jnp.int32)
        n_feasible = state.feasible.sum(dtype=jnp.int32)
        none = state.evaluated.any() & (n_feasible == 0)
        # With "nearest" all feasible rows are below.
        few = (n_feasible > 0) & (n_feasible < self._rule(state)(state.evaluated.sum()))
        few &= self.infeasible == "better"
        return jnp.where(none, int(Status.NONE_FEASIBLE), 0) | jnp.where(few, int(Status.FEW_FEASIBLE), 0)

    def _rule(self, state: State) -> AbstractGamma:
        """The gamma rule."""
        default = Linear(0.1 if state.constraints.shape[1] else 0.2)
        return default if self.gamma is None else self.gamma

    def _counts_feasible(self, state: State) -> bool:
        """Whether the gamma rule counts only feasible rows."""
        return self.infeasible != "alike" and state.constraints.shape[1] > 0


_compiled_split = compiled(Split._split)


def padded_size(most: int, capacity: int) -> int:
    """Length of arrays for up to ``most`` rows: a power of two, at least 8 and at most the capacity."""
    return min(1 << (max(most, _LEAST_ROWS) - 1).bit_length(), capacity)


def count_before(order: Int[Array, " n"], counted: Bool[Array, " n"]) -> Int[Array, " n"]:
    """Number of counted rows before each row in ``order``, a permutation of the rows."""
    counts = counted[order].astype(jnp.int32)
    before = jnp.cumsum(counts) - counts
    return jnp.zeros_like(counts).at[order].set(before, unique_indices=True)


def violation(state: State) -> Float[Array, " n"]:
    """Sum of the positive values of each row's constraints, each over its largest finite value."""
    excess = jnp.where(jnp.isnan(state.constraints), jnp.inf, jnp.maximum(state.constraints, 0))
    finite = state.evaluated[:, None] & jnp.isfinite(excess)
    largest = jnp.where(finite, excess, 0).max(axis=0, keepdims=True)
    return (excess / jnp.where(largest > 0, largest, 1)).sum(axis=-1)


def constraint_split(
    value: Float[Array, " n"], present: Bool[Array, " n"], *, unsatisfied: str = "first"
) -> Bool[Array, " n"]:
    """Mask of the rows below for one constraint: the rows with value <= 0.

    If no row satisfies the constraint, the first row with the smallest value is below; with ``unsatisfied``
    "all" or "none", all rows with this value or no row (see `Split`). A row with NaN is never below.
    """
    measured = present & ~jnp.isnan(value)
    satisfied = measured & (value <= 0)
    if unsatisfied == "none":
        return satisfied
    lowest = measured & (value == jnp.min(jnp.where(measured, value, jnp.inf)))
    if unsatisfied == "first":
        lowest &= jnp.arange(len(value)) == jnp.argmax(lowest)
    return jnp.where(satisfied.any(), satisfied, lowest)


def first_rows(mask: Bool[Array, " n"], size: int) -> tuple[Int[Array, " {size}"], Bool[Array, " {size}"]]:
    """Indices of the first ``size`` rows under a mask, and a mask of the indices that exist."""
    n = len(mask)
    place = jnp.where(mask, running_count(mask) - 1, n)
    index = jnp.zeros(size, jnp.int32).at[place].set(jnp.arange(n, dtype=jnp.int32), mode="drop")
    return index, jnp.arange(size) < mask.sum()


def first_orders(order: Int[Array, "d n"], mask: Bool[Array, " n"], size: int) -> Int[Array, "d {size}"]:
    """Sort orders of the `first_rows` under a mask, from the sort orders of all rows, without sorting."""
    number = jnp.where(mask, running_count(mask) - 1, -1)

    def filtered(order: Int[Array, " n"]) -> Int[Array, " k"]:
        ordered = number[order]
        place = jnp.where(ordered >= 0, running_count(ordered >= 0) - 1, size)
        # The places after the last row keep their number.
        return jnp.arange(size, dtype=order.dtype).at[place].set(ordered, mode="drop")

    return jax.vmap(filtered)(order)
