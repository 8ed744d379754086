"""The best configurations among the rows of a state."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from parzax._compile import compiled
from parzax.pareto import non_domination_rank
from parzax.samplers.repeats import average, first_evaluations
from parzax.split import State


class Best(NamedTuple):
    """The best configurations among the n rows of a state: one for one objective, the front for several.

    Attributes:
        x: (n, d) native values.
        losses: (n, m) means over the evaluations of a configuration, in the sampler's directions.
        constraints: (n, c) means of the values, satisfied if <= 0.
        mask: (n,) True in the first evaluated row of each best configuration. In all other rows the arrays
            above are NaN.
    """

    x: Float[Array, "n d"]
    losses: Float[Array, "n m"]
    constraints: Float[Array, "n c"]
    mask: Bool[Array, " n"]


def signed(directions: tuple[str, ...], values: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Flip the sign of maximised objectives: turns their values into losses, and back."""
    signs = np.array([-1 if direction == "maximize" else 1 for direction in directions])
    return values * signs.astype(values.dtype)[None]


@compiled
def best_rows(directions: tuple[str, ...], state: State) -> Best:
    """The best configurations of a state; see `parzax.samplers.Sampler.best`."""
    evaluated = state.evaluated
    means = average(first_evaluations(state.x, evaluated), state.losses, state.constraints, evaluated)
    if len(directions) == 1:
        row, exists = means.best()
        mask = exists & (jnp.arange(state.capacity, dtype=row.dtype) == row)
    else:
        rank = non_domination_rank(means.losses, means.feasible)
        mask = (rank == 0) & means.feasible
    rows = state.x, signed(directions, means.losses), means.constraints
    x, losses, constraints = (jnp.where(mask[:, None], part, jnp.nan) for part in rows)
    return Best(x, losses, constraints, mask)
