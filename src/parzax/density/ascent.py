"""Ascents of functions by the signs of their slopes, and the mode of a mixture."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._compile import compiled
from parzax.density.basis import Basis
from parzax.density.cut import CutRows
from parzax.density.mixture import Mixture

_N_STEPS = 80
# What a step is multiplied by where its slope keeps its sign, and where it changes it.
_FASTER, _SLOWER = 1.2, 0.5


def ascended(
    function: Callable[[Float[Array, "*n d"]], Float[Array, "*n"]],
    start: Float[Array, "*n d"],
    size: Float[Array, "*n d"],
    n_steps: int,
    brought_back: Callable[[Float[Array, "*n d"]], Float[Array, "*n d"]],
) -> tuple[Float[Array, "*n d"], Float[Array, "*n"]]:
    """The places of the highest values that ascents reach, and the values.

    Coordinates move by steps that grow while the slope keeps its sign and shrink when it changes (Rprop;
    Riedmiller and Braun 1993), and are then ``brought_back`` to where the function is defined.
    """

    def total(at: Float[Array, "*n d"]) -> tuple[Array, Array]:
        value = function(at)
        return value.sum(), value

    def step(state: tuple[Array, ...], _: None) -> tuple[tuple[Array, ...], None]:
        at, size, before, best, highest = state
        (_, value), slope = jax.value_and_grad(total, has_aux=True)(at)
        best = jnp.where((value > highest)[..., None], at, best)
        turned = slope * before
        size = size * jnp.where(turned > 0, _FASTER, jnp.where(turned < 0, _SLOWER, 1)).astype(size.dtype)
        at = brought_back(at + size * jnp.sign(slope))
        return (at, size, slope, best, jnp.maximum(value, highest)), None

    state = start, size, jnp.zeros_like(start), start, jnp.full_like(start[..., 0], -jnp.inf)
    *_, best, highest = jax.lax.scan(step, state, length=n_steps)[0]
    return best, highest


@compiled
def mode(basis: Basis, mixture: Mixture) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """The configuration of the highest density that ascents reach, and its log density in unit coordinates.

    Each row is a start. Its continuous coordinates move; its discrete values stay.
    """
    # Rows of a conditional or marginal density may be in regimes that its space does not have there.
    within = mixture.rows.nearest if isinstance(mixture.rows, CutRows) else lambda unit: unit
    rows = basis.frame.at(basis.frame.spread(within(mixture.rows.unit)))
    moves = basis.frame.on_continuum(rows)

    def log_prob(unit: Float[Array, "n d"]) -> Float[Array, " n"]:
        return mixture.log_prob(basis, replace(rows, unit=unit))

    def onto_axes(unit: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return jnp.where(moves, within(basis.onto_axes(rows, unit)), rows.unit)

    unit, value = ascended(log_prob, rows.unit, 0.1 * mixture.scale, _N_STEPS, onto_axes)
    value = jnp.where(mixture.weight > 0, value, -jnp.inf)
    x = basis.frame.decode(replace(rows, unit=unit)[value.argmax()[None]])[0]
    return jnp.where(value.max() > -jnp.inf, x, jnp.nan), value.max()
