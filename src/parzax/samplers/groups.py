"""Who is good: the groups of the objective and of every constraint, and their shares."""

from typing import TYPE_CHECKING, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax.observations.splits import (
    constraint_split,
    feasible_split,
    linear_count,
    optuna_count,
    order_of,
    positions,
    sqrt_count,
    top_split,
)
from parzax.pareto import crowding_distance, non_domination_rank, order_by_rank_and_crowding

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler, State


class CountRule(eqx.Module):
    """How many rows are good.

    Attributes:
        rule: "sqrt" for ceil(sqrt(N) / 4), "linear" for ceil(quantile N), "optuna" for
            min(ceil(N / 10), 25); static.
        quantile: of the linear rule.
        whole_front: whether the first front is good as a whole, however large; static.
    """

    rule: Literal["sqrt", "linear", "optuna"] = eqx.field(static=True)
    quantile: float | Float[Array, ""] = 0.1
    whole_front: bool = eqx.field(static=True, default=False)

    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        """Number of good rows among n."""
        if self.rule == "sqrt":
            return sqrt_count(n)
        return optuna_count(n) if self.rule == "optuna" else linear_count(n, self.quantile)


class Groups(NamedTuple):
    """Groups of the objective, then of every constraint.

    Attributes:
        below, above: (c + 1, n) masks; every present row is in exactly one of the two.
        gamma: (c + 1,) share of the good group among the rows that were told.
    """

    below: Bool[Array, "c1 n"]
    above: Bool[Array, "c1 n"]
    gamma: Float[Array, " c1"]

    @property
    def both(self) -> Bool[Array, "2*c1 n"]:
        """The good groups, then the bad ones."""
        return jnp.concatenate([self.below, self.above])


def groups(sampler: "Sampler", state: "State") -> Groups:
    """Split the rows; pending ones are bad."""
    present = state.present
    told = present & ~jnp.isnan(state.objectives).any(axis=-1)
    count = sampler.count_rule(told.sum())
    if sampler.n_objectives == 1:
        order = order_of(state.objectives[:, 0], present)
    else:
        rank = non_domination_rank(state.objectives, told)
        distance = crowding_distance(state.objectives, rank, told)
        order = order_by_rank_and_crowding(rank, distance)
        if sampler.count_rule.whole_front:
            count = jnp.maximum(count, (told & (rank == 0)).sum())
    place = positions(order)
    if sampler.n_constraints and sampler.score != "naive":
        feasible = (state.constraints <= 0).all(axis=-1)
        objective = feasible_split(place, told, feasible, count)
    else:
        objective = top_split(place, told, count)
    of_constraints = jax.vmap(constraint_split, in_axes=(1, None))(state.constraints, told)
    below = jnp.concatenate([objective[None], of_constraints])
    n_told = jnp.maximum(told.sum(), 1).astype(state.x.dtype)
    return Groups(below, present & ~below, below.sum(axis=-1) / n_told)
