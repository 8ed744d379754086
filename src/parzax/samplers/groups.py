"""Who is good: the groups of the objective and of every constraint, and their shares."""

import math
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._numerics import running_count
from parzax.observations.splits import (
    constraint_split,
    linear_count,
    optuna_count,
    split_by_order,
    sqrt_count,
)
from parzax.pareto import ABSENT, non_domination_rank
from parzax.samplers.fronts import by_crowding, by_hypervolume

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler
    from parzax.samplers.state import State

# Arrays of good rows are no shorter, so that few programs serve all capacities.
_LEAST_GOOD = 8


class CountRule(eqx.Module):
    """How many rows are good.

    Attributes:
        rule: "sqrt" for ceil(sqrt(N) / 4), "linear" for ceil(quantile N), "optuna" for
            min(ceil(N / 10), 25); static.
        quantile: of the linear rule.
        whole_front: whether the first front is good as a whole, however large, under constraints up to its
            last feasible row. Rows that repeat an earlier one count behind the others of their front: else
            copies of a good configuration would all be good, and lead to more copies; static.
    """

    rule: Literal["sqrt", "linear", "optuna"] = eqx.field(static=True)
    quantile: float | Float[Array, ""] = eqx.field(default=0.1, converter=_checks.plain)
    whole_front: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        """Raise for settings whose values are known and wrong."""
        _checks.one_of("rule", self.rule, ("sqrt", "linear", "optuna"))
        _checks.flag("whole_front", self.whole_front)
        value = _checks.scalar("quantile", self.quantile)
        if value is not None and not 0 < value <= 1:
            raise ValueError(f"quantile must lie in (0, 1], got {self.quantile!r}.")

    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        """Number of good rows among n."""
        if self.rule == "sqrt":
            return sqrt_count(n)
        return optuna_count(n) if self.rule == "optuna" else linear_count(n, self.quantile)

    def most(self, n: int) -> int:
        """At least the number of good rows among up to n; n itself where the quantile is traced."""
        if self.rule == "sqrt":
            return math.ceil(math.sqrt(n) / 4)
        if self.rule == "optuna":
            return min(n, 25)
        return math.ceil(self.quantile * n) if isinstance(self.quantile, (int, float)) else n


class Groups(NamedTuple):
    """Groups of the objective, then of every constraint.

    Attributes:
        below, above: (c + 1, n) masks; a row that takes part is in exactly one of the two.
        gamma: (c + 1,) share of the good group among the rows that were told.
        n_known: (c + 1,) number of those rows.
    """

    below: Bool[Array, "c1 n"]
    above: Bool[Array, "c1 n"]
    gamma: Float[Array, " c1"]
    n_known: Int[Array, " c1"]

    @property
    def both(self) -> Bool[Array, "2*c1 n"]:
        """The good groups, then the bad ones."""
        return jnp.concatenate([self.below, self.above])


def up_to_feasible(sampler: "Sampler") -> bool:
    """Whether the objective's good group is counted in feasible rows, as in c-TPE."""
    return bool(sampler.n_constraints) and sampler.score != "naive"


def most_good(sampler: "Sampler", capacity: int) -> int:
    """A bound on the objective's good rows: a power of two, or the capacity where none is known."""
    whole_front = sampler.n_objectives > 1 and sampler.count_rule.whole_front
    if whole_front or up_to_feasible(sampler):
        return capacity
    most = max(sampler.count_rule.most(capacity), _LEAST_GOOD)
    return min(1 << (most - 1).bit_length(), capacity)


def first_rows(mask: Bool[Array, " n"], size: int) -> tuple[Int[Array, " {size}"], Bool[Array, " {size}"]]:
    """Indices of up to ``size`` rows under a mask, in their order, and which of them exist."""
    n = len(mask)
    place = jnp.where(mask, running_count(mask) - 1, n)
    index = jnp.zeros(size, jnp.int32).at[place].set(jnp.arange(n, dtype=jnp.int32), mode="drop")
    return index, jnp.arange(size) < mask.sum()


def good_count(sampler: "Sampler", state: "State") -> tuple[Int[Array, ""], Int[Array, " n"] | None]:
    """How many of the rows that count are good, and the ranks of all, None for one objective.

    Of a first front that is good as a whole, the rows that count do: with constraints the feasible ones. Its
    repeated rows are a front of their own behind it, and so on.
    """
    count = sampler.count_rule(state.told.sum())
    if sampler.n_objectives == 1:
        return count, None
    rank = non_domination_rank(state.objectives, state.told)
    if sampler.count_rule.whole_front:
        rank = jnp.where(rank < ABSENT, 2 * rank + state.repeated, ABSENT)
        counted = state.feasible if up_to_feasible(sampler) else state.told
        count = jnp.maximum(count, (counted & (rank == 0)).sum())
    return count, rank


def groups(sampler: "Sampler", state: "State") -> Groups:
    """Split the usable rows; pending ones are bad. Extra rows take part where their constraint is known."""
    usable, told = state.usable, state.told
    by_feasible = up_to_feasible(sampler)
    count, rank = good_count(sampler, state)
    if rank is None:
        before = state.feasible_before if by_feasible else state.before
        objective = told & (before < count)
    else:
        counted = state.feasible if by_feasible else told
        if sampler.ties == "hypervolume":
            most = state.capacity if by_feasible else sampler.count_rule.most(state.capacity)
            order = by_hypervolume(state.objectives, rank, counted, count, most)
        else:
            order = by_crowding(state.objectives, rank, told)
        objective = split_by_order(order, told, counted, count)
    known = told[:, None] | (state.extra[:, None] & usable[:, None] & ~jnp.isnan(state.constraints))
    rule = partial(constraint_split, every_minimum=sampler.every_minimum)
    of_constraints = jax.vmap(rule, in_axes=(1, 1))(state.constraints, known)
    below = jnp.concatenate([objective[None], of_constraints])
    own = (usable & ~state.extra)[:, None]
    taking_part = jnp.concatenate([own, known | own], axis=1)
    n_known = jnp.concatenate([told[:, None], known], axis=1).sum(axis=0)
    gamma = below.sum(axis=-1) / jnp.maximum(n_known, 1).astype(state.x.dtype)
    return Groups(below, taking_part.T & ~below, gamma, n_known)
