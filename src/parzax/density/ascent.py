"""The mode of a mixture, by ascent from its rows."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._compile import compiled
from parzax.density.basis import Basis
from parzax.density.mixture import Mixture

_N_STEPS = 80


@compiled
def mode(basis: Basis, mixture: Mixture) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """The configuration of the highest density that ascents reach, and its log density in unit coordinates.

    Each row is a start. Its continuous coordinates move by steps that grow while the slope keeps its sign
    and shrink when it changes (Rprop); its discrete values stay.
    """
    # Rows of a conditional or marginal density may be in regimes that its space does not have there.
    rows = basis.frame.encode(basis.frame.decode(mixture.rows))
    moves = basis.frame.on_continuum(rows)

    def log_prob(unit: Float[Array, "n d"]) -> Float[Array, " n"]:
        return mixture.log_prob(basis, replace(rows, unit=unit))

    def ascend(carry: Any, _: None) -> tuple[Any, None]:
        unit, step, slope = carry
        new = jnp.where(moves, jax.grad(lambda unit: log_prob(unit).sum())(unit), 0)
        step = step * jnp.where(new * slope > 0, 1.2, jnp.where(new * slope < 0, 0.5, 1)).astype(step.dtype)
        return (basis.onto_axes(rows, unit + step * jnp.sign(new)), step, new), None

    start = rows.unit, 0.1 * mixture.scale, jnp.zeros_like(rows.unit)
    (unit, _, _), _ = jax.lax.scan(ascend, start, length=_N_STEPS)
    places = jnp.stack([rows.unit, unit])
    value = jnp.where(mixture.weight > 0, jax.vmap(log_prob)(places), -jnp.inf)
    which = jnp.unravel_index(value.argmax(), value.shape)
    best = replace(rows, unit=places[which[0]])[which[1][None]]
    x = basis.frame.decode(best)[0]
    return jnp.where(value.max() > -jnp.inf, x, jnp.nan), value.max()
