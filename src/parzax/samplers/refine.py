"""Steps uphill from the best candidates, in their continuous coordinates."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax.parzen.points import Points, slots
from parzax.space import INACTIVE, Space

# The first step, as a share of the range; each next one is half of it unless it went uphill.
_FIRST = 0.02


def uphill(
    space: Space, score: Callable[[Points], Array], at: Points, n_steps: int
) -> tuple[Points, Float[Array, " j"]]:
    """Configurations at least as good as ``at``, and their scores.

    Each point goes along its own gradient, scaled to a length in the largest coordinate; a step that does not
    raise the score is taken back and the length halved. Discrete coordinates and regimes stay.

    Args:
        space: the search space.
        score: (j,) scores of points.
        at: (j, d) where to start.
        n_steps: number of steps.
    """
    moves = continuous(space, at)

    def step(state: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], None]:
        unit, value, length = state
        slope = jax.grad(lambda u: score(replace(at, unit=u)).sum())(unit)
        slope = jnp.where(moves & jnp.isfinite(slope), slope, 0)
        largest = jnp.abs(slope).max(axis=-1, keepdims=True)
        direction = slope / jnp.where(largest > 0, largest, 1)
        new = jnp.clip(unit + length[:, None] * direction, 0, 1)
        new_value = score(replace(at, unit=new))
        better = new_value > value
        unit = jnp.where(better[:, None], new, unit)
        return (unit, jnp.where(better, new_value, value), jnp.where(better, length, length / 2)), None

    start = (at.unit, score(at), jnp.full(len(at.unit), _FIRST, at.unit.dtype))
    (unit, value, _), _ = jax.lax.scan(step, start, length=n_steps)
    return replace(at, unit=unit), value


def continuous(space: Space, at: Points) -> Array:
    """(j, d) whether a coordinate is continuous and active."""
    out = jnp.zeros(at.unit.shape, bool)
    for slot in slots(space):
        if slot.axis.kind == "continuous":
            here = at.regime[..., slot.parameter] == slot.regime
            out = out.at[..., slot.parameter].set(out[..., slot.parameter] | here)
    return out


def native(space: Space, at: Points) -> Float[Array, "j d"]:
    """Native values of encoded points, NaN where inactive."""
    columns = [jnp.full(at.unit.shape[:-1], jnp.nan, at.unit.dtype)] * len(space)
    for slot in slots(space):
        j, axis = slot.parameter, slot.axis
        if axis.kind == "continuous":
            value = axis.native_at(at.unit[..., j], jnp)
        else:
            value = axis.native(at.index[..., j], at.unit.dtype, jnp)
        columns[j] = jnp.where(at.regime[..., j] == slot.regime, value, columns[j])
    stacked = jnp.stack(columns, axis=-1)
    return jnp.where(at.regime == INACTIVE, jnp.nan, stacked)
