"""A start that spreads over the space, for the question whether that is worth more than chance."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax.samplers import AbstractStart
from parzax.samplers.candidates import AtRandom
from parzax.space import Points
from parzax.split import State


class Spread(AbstractStart):
    """Of ``n_drawn`` random configurations the one farthest from all rows (maximin; Johnson et al. 1990)."""

    n_drawn: int = eqx.field(static=True, default=64)
    n_startup: int = eqx.field(static=True, default=10)

    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        """One after another: it is for a single suggestion."""
        drawn = jax.vmap(at_random)(jax.random.split(key, self.n_drawn))
        flat = jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), drawn)
        near = jnp.where(state.present[None], _distances(flat, state.points), jnp.inf).min(axis=1)
        best = jnp.argsort(-near)[: len(drawn.unit[0])]
        return flat[best]


def _distances(a: Points, b: Points) -> Float[Array, "n k"]:
    """Root mean square over parameters: of places on an axis, 1 for another category or regime."""
    a, b = jax.tree.map(lambda x: x[:, None], a), b[None]
    apart = jnp.abs(a.unit - b.unit)
    other = (a.regime != b.regime) | ((a.index != b.index) & (apart == 0))
    return jnp.sqrt((jnp.where(other, 1.0, apart) ** 2).mean(axis=-1))
