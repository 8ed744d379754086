"""Candidates: random configurations, and the best that differ from each other."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax.parzen.points import slots
from parzax.parzen.sampling import ancestral
from parzax.space import Space


def uniform(key: jax.Array, space: Space, n: int, dtype: Any) -> Float[Array, "{n} d"]:
    """Random configurations, (n, d): uniform on the kernel axes (log axes for log parameters), ancestral."""
    return jax.vmap(lambda k: _uniform_one(k, space, dtype))(jax.random.split(key, n))


def _uniform_one(key: jax.Array, space: Space, dtype: Any) -> Float[Array, " d"]:
    own = slots(space)
    level = jax.random.uniform(key, (len(own),), dtype)
    drawn = []
    for slot, u in zip(own, level, strict=True):
        n = max(slot.axis.n_values, 1)
        continuous = slot.axis.kind == "continuous"
        drawn.append(u if continuous else jnp.minimum(u * n, n - 1).astype(jnp.int32))
    return ancestral(space, drawn, dtype)


def distinct(pool: Float[Array, "j d"], score: Float[Array, " j"], n: int) -> Int[Array, " {n}"]:
    """Indices of the n best candidates, equal ones once (again only when there are too few others)."""
    if n == 1:
        return jnp.argmax(score)[None]
    same = (pool[:, None] == pool) | (jnp.isnan(pool[:, None]) & jnp.isnan(pool))
    equal = same.all(axis=-1)
    earlier = jnp.arange(len(pool))[:, None] > jnp.arange(len(pool))
    repeated = (equal & earlier).any(axis=-1)
    # Repeated ones come after all others, in order of score.
    place = jnp.lexsort((-score, repeated))
    return place[:n]
