"""Which rows fall into the groups below and above, per objective and constraint, with their shares."""

import abc
from functools import partial
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._numerics import running_count
from parzax.pareto import ABSENT, non_domination_rank
from parzax.split.gamma import AbstractGamma
from parzax.split.merits import AbstractMerit, Equal
from parzax.split.state import State
from parzax.split.ties import AbstractTies, Crowding
from parzax.status import Status

# Least length of the arrays of a group's rows, so that few programs serve all capacities.
_LEAST_ROWS = 8


class SplitRows(eqx.Module):
    """Groups below and above, of the objective and then of every constraint; a row may be in neither."""

    below: Bool[Array, "c1 n"]
    above: Bool[Array, "c1 n"]
    gamma: Float[Array, " c1"]  # share of the group below among the rows that were evaluated
    n_measured: Int[Array, " c1"]  # number of rows that were evaluated
    most: int = eqx.field(static=True)  # a bound on the objective's rows below
    # Mixture weights of the objective's rows below, 1 for all others; None: equal weights.
    merit: Float[Array, " n"] | None = None

    @property
    def masks(self) -> Bool[Array, "c2 n"]:
        """The groups below, then those above."""
        return jnp.concatenate([self.below, self.above])


class AbstractSplit(eqx.Module):
    """A rule that splits the rows of a state."""

    @abc.abstractmethod
    def __call__(self, state: State) -> SplitRows:
        """The groups of the objective (or of all objectives together) and of every constraint."""

    @abc.abstractmethod
    def status(self, state: State) -> Int[Array, ""]:
        """Bits of `parzax.Status` that say what is unusual about the groups."""


@final
class Split(AbstractSplit):
    """The splits of the TPE family.

    The best rows fall below: by loss, or by non-domination rank and ``ties``; as many as the gamma rule says.
    For a constraint these are the rows that satisfy it. Pending rows are above, and constraint-only rows
    take part where their constraint is known.

    Attributes:
        gamma: how many rows fall below.
        up_to_feasible: count feasible rows, as c-TPE does: all rows up to the N^(l)-th feasible one fall
            below (arXiv 2211.14411). With fewer of them every row does, as in the authors' code (the paper
            says so for none): the share is then 1 and the objective drops out of the score; static.
        first_front: whether the first front falls below as a whole, however large, under constraints up to
            its last feasible row. Rows that repeat an earlier one count behind the others of their front:
            else copies of a good configuration would all be below, and lead to more copies; static.
        every_minimum: what falls below while no row satisfies a constraint: all rows at the smallest value,
            as c-TPE's main text says, or the first of them (its appendix and the authors' code). In a
            discrete space the repeats of one configuration then outweigh everything else, and a run may
            never leave it; static.
        ties: which rows of a front fall below, if only some do.
        merit: how much more the best of the rows below count.
    """

    gamma: AbstractGamma
    up_to_feasible: bool = eqx.field(static=True, default=False, converter=_checks.plain)
    first_front: bool = eqx.field(static=True, default=False, converter=_checks.plain)
    every_minimum: bool = eqx.field(static=True, default=False, converter=_checks.plain)
    ties: AbstractTies = Crowding()
    merit: AbstractMerit = Equal()

    def __check_init__(self) -> None:
        """Raise TypeError or ValueError for wrong settings."""
        kinds = {"gamma": AbstractGamma, "ties": AbstractTies, "merit": AbstractMerit}
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                home = "merits" if name == "merit" else name
                raise TypeError(f"{name} must be a rule of parzax.{home}, got {getattr(self, name)!r}.")
        for name in ("up_to_feasible", "first_front", "every_minimum"):
            _checks.flag(name, getattr(self, name))

    def __call__(self, state: State) -> SplitRows:
        usable, evaluated, counted = state.usable, state.evaluated, self._counted(state)
        count, rank = self._count_and_rank(state)
        if rank is None:
            before = state.feasible_before if self.up_to_feasible else state.before
            objective = evaluated & (before < count)
            place = state.before
        else:
            self.ties.check(state.objectives.shape[-1])
            most = state.capacity if self.up_to_feasible else self.gamma.most(state.capacity)
            order = self.ties.order(state.objectives, rank, evaluated, counted, count, most)
            objective = split_by_order(order, evaluated, counted, count)
            ordered = jnp.sort(jnp.where(objective, rank, ABSENT))
            place = jnp.searchsorted(ordered, rank).astype(jnp.int32)
        merit = self.merit(place, objective, state.x.dtype)
        only, evaluated = state.constraint_only[:, None], evaluated[:, None]
        measured = evaluated | (only & usable[:, None] & ~jnp.isnan(state.constraints))
        of_constraint = partial(constraint_split, every_minimum=self.every_minimum)
        below = jax.vmap(of_constraint, in_axes=(1, 1))(state.constraints, measured)
        below = jnp.concatenate([objective[None], below])
        told, dtype = usable[:, None] & ~only, state.x.dtype
        taking_part = jnp.concatenate([told, measured | told], axis=1).T
        n_measured = jnp.concatenate([evaluated, measured], axis=1).sum(axis=0)
        gamma = below.sum(axis=-1).astype(dtype) / jnp.maximum(n_measured, 1).astype(dtype)
        return SplitRows(below, taking_part & ~below, gamma, n_measured, self._most(state), merit)

    def status(self, state: State) -> Int[Array, ""]:
        """NONE_FEASIBLE and FEW_FEASIBLE where every row falls below because too few are feasible."""
        if not self.up_to_feasible:
            return jnp.zeros((), jnp.int32)
        n_feasible, count = state.feasible.sum(dtype=jnp.int32), self._count_and_rank(state)[0]
        none = state.evaluated.any() & (n_feasible == 0)
        few = (n_feasible > 0) & (n_feasible < count)
        return jnp.where(none, int(Status.NONE_FEASIBLE), 0) | jnp.where(few, int(Status.FEW_FEASIBLE), 0)

    def _counted(self, state: State) -> Bool[Array, " n"]:
        return state.feasible if self.up_to_feasible else state.evaluated

    def _count_and_rank(self, state: State) -> tuple[Int[Array, ""], Int[Array, " n"] | None]:
        """Number of counted rows that shall fall below, and the ranks of all rows, None for one objective."""
        count = self.gamma(state.evaluated.sum())
        if state.objectives.shape[-1] == 1:
            return count, None
        rank = non_domination_rank(state.objectives, state.evaluated)
        if self.first_front:
            # Its rows that count are below. Repeated ones are a front of their own behind it, and so on.
            rank = jnp.where(rank < ABSENT, 2 * rank + state.repeated.astype(rank.dtype), ABSENT)
            count = jnp.maximum(count, (self._counted(state) & (rank == 0)).sum(dtype=count.dtype))
        return count, rank

    def _most(self, state: State) -> int:
        """A bound on the objective's rows below: a power of two, or the capacity."""
        n, several = state.capacity, state.objectives.shape[-1] > 1
        if (several and self.first_front) or self.up_to_feasible:
            return n
        return padded_size(self.gamma.most(n), n)


def padded_size(most: int, capacity: int) -> int:
    """Length of arrays for up to ``most`` of the rows: a power of two from 8 on, or the capacity if less."""
    return min(1 << (max(most, _LEAST_ROWS) - 1).bit_length(), capacity)


def split_by_order(
    order: Int[Array, " n"], present: Bool[Array, " n"], counted: Bool[Array, " n"], count: Int[Array, ""]
) -> Bool[Array, " n"]:
    """Present rows up to the ``count``-th counted one in ``order``; all of them if fewer count."""
    counts = (counted & present)[order].astype(jnp.int32)
    before = jnp.zeros_like(counts).at[order].set(jnp.cumsum(counts) - counts, unique_indices=True)
    return present & (before < count)


def constraint_split(
    value: Float[Array, " n"], present: Bool[Array, " n"], *, every_minimum: bool = False
) -> Bool[Array, " n"]:
    """The rows that satisfy one constraint, value <= 0; without any, the first row at the smallest value.

    With ``every_minimum`` all rows at that value, see `Split`. A row with NaN is never below.
    """
    measured = present & ~jnp.isnan(value)
    satisfied = measured & (value <= 0)
    lowest = measured & (value == jnp.min(jnp.where(measured, value, jnp.inf)))
    if not every_minimum:
        lowest &= jnp.arange(len(value)) == jnp.argmax(lowest)
    return jnp.where(satisfied.any(), satisfied, lowest)


def first_rows(mask: Bool[Array, " n"], size: int) -> tuple[Int[Array, " {size}"], Bool[Array, " {size}"]]:
    """Indices of up to ``size`` rows under a mask, in their order, and which of them exist."""
    n = len(mask)
    place = jnp.where(mask, running_count(mask) - 1, n)
    index = jnp.zeros(size, jnp.int32).at[place].set(jnp.arange(n, dtype=jnp.int32), mode="drop")
    return index, jnp.arange(size) < mask.sum()
