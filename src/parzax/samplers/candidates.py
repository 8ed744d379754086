"""Candidates: random configurations, and the best that differ from each other."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax.parzen.points import applies, slots
from parzax.space import INACTIVE, Space


def uniform(key: jax.Array, space: Space, n: int, dtype: Any) -> Float[Array, "{n} d"]:
    """Random configurations, (n, d): uniform on the kernel axes (log axes for log parameters), ancestral."""
    return jax.vmap(lambda k: _uniform_one(k, space, dtype))(jax.random.split(key, n))


def _uniform_one(key: jax.Array, space: Space, dtype: Any) -> Float[Array, " d"]:
    keys = jax.random.split(key, len(slots(space)))
    by_slot = {(slot.parameter, slot.regime): (slot, k) for slot, k in zip(slots(space), keys, strict=True)}
    regime: list[Any] = [jnp.asarray(INACTIVE, jnp.int32)] * len(space)
    index: list[Any] = [jnp.asarray(0, jnp.int32)] * len(space)
    value: list[Any] = [jnp.asarray(jnp.nan, dtype)] * len(space)
    for name in space.order:
        j = space.index(name)
        for i, domain in reversed(list(enumerate(space[name]))):
            slot, own = by_slot[j, i]
            inside = applies(space, domain, regime, index, value, jnp)
            if slot.axis.kind == "continuous":
                native = slot.axis.native_at(jax.random.uniform(own, (), dtype), jnp)
            else:
                number = jax.random.randint(own, (), 0, max(slot.axis.n_values, 1))
                index[j] = jnp.where(inside, number, index[j])
                native = slot.axis.native(number, dtype, jnp)
            regime[j] = jnp.where(inside, i, regime[j])
            value[j] = jnp.where(inside, native, value[j])
    return jnp.stack(value)


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
