"""Candidates: random configurations, all configurations of a small space, and the best that differ."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax.kernels import kernel_axis
from parzax.parzen.points import Points, slots
from parzax.parzen.sampling import ancestral
from parzax.samplers.refine import continuous
from parzax.space import INACTIVE, Space

# Spaces of up to so many configurations are listed to fill a batch; of larger ones more are drawn.
_MOST_LISTED, _DRAWS = 512, 4


def uniform(key: jax.Array, space: Space, n: int, dtype: Any) -> Float[Array, "{n} d"]:
    """Random configurations, (n, d): uniform on the kernel axes (log axes for log parameters), ancestral."""
    return jax.vmap(lambda k: _uniform_one(k, space, dtype))(jax.random.split(key, n))


def _uniform_one(key: jax.Array, space: Space, dtype: Any) -> Float[Array, " d"]:
    own = slots(space)
    level = jax.random.uniform(key, (len(own),), dtype)
    drawn = []
    for slot, u in zip(own, level, strict=True):
        n = max(slot.axis.n_values, 1)
        whole = slot.axis.kind != "continuous"
        drawn.append(jnp.minimum(u * n, n - 1).astype(jnp.int32) if whole else u)
    return ancestral(space, drawn, dtype)


# --- batches -------------------------------------------------------------------------------------


def may_repeat(space: Space) -> bool:
    """Whether draws can be equal: no parameter is continuous at every point."""
    return not any(slot.always and slot.axis.kind == "continuous" for slot in slots(space))


def fillers(key: jax.Array, space: Space, n: int, dtype: Any) -> Float[Array, "j d"]:
    """At least n configurations, among them n different ones where there are so many, in random order."""
    every = configurations(space, max(_MOST_LISTED, _DRAWS * n))
    if every is None:
        return uniform(key, space, _DRAWS * n, dtype)
    listed = jax.random.permutation(key, jnp.asarray(every, dtype))
    return jnp.tile(listed, (-(-n // len(every)), 1))


@lru_cache(maxsize=64)
def configurations(space: Space, most: int) -> np.ndarray | None:
    """All configurations, (j, d), NaN where inactive; None for more than ``most`` of them."""
    rows = np.full((1, len(space)), np.nan)
    for name in space.order:
        j = space.index(name)
        # Parents have their values by now.
        regime = space.derive_regimes(rows)[:, j]
        parts = [rows[regime == INACTIVE]]
        for i, domain in enumerate(space[name]):
            axis, here = kernel_axis(domain), rows[regime == i]
            n = max(axis.n_values, 1)
            if not len(here):
                continue
            if axis.kind == "continuous" or n * len(here) > most:
                return None
            own = np.repeat(here, n, axis=0)
            own[:, j] = np.tile(axis.native(np.arange(n), np.dtype(np.float64), np), len(here))
            parts.append(own)
        rows = np.concatenate(parts)
        if len(rows) > most:
            return None
    return rows


def different(space: Space, at: Points, place: Int[Array, " j"], n: int) -> Int[Array, " {n}"]:
    """Indices of the first n configurations by ``place``, equal ones once: again only when others run out."""
    return _greedy(place, lambda i: equal(space, at, i), n)


def apart(
    space: Space, start: Points, end: Points, score: Float[Array, " j"], n: int, least: float
) -> Points:
    """The best n ends of paths; one within ``least`` of a better one on every axis gives way to its start.

    Args:
        space: the search space.
        start, end: j different configurations each.
        score: (j,) of the ends.
        n: at most j, static.
        least: distance in unit coordinates.
    """
    j = len(score)
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), end, start)
    is_start = jnp.arange(2 * j) >= j
    reach = jnp.where(is_start, 0, least)[:, None]

    def near(i: Array) -> Array:
        return equal(space, both, i, reach) | (jnp.arange(2 * j) % j == i % j)

    return both[_greedy(rank_of(jnp.lexsort((jnp.tile(-score, 2), is_start))), near, n)]


def equal(space: Space, at: Points, i: Array, reach: Any = 0) -> Array:
    """(j,) which points are the i-th, or within ``reach`` of it on all its continuous axes.

    Discrete values are compared by number, since their native values may differ by a rounding.
    """
    own = at[i]
    same = (at.regime == own.regime) & (at.index == own.index) & (at.valid == own.valid)
    close = ~continuous(space, at) | (jnp.abs(at.unit - own.unit) <= reach)
    return (same & close).all(axis=-1)


def rank_of(order: Int[Array, " j"]) -> Int[Array, " j"]:
    """The place of each element in an order."""
    return jnp.zeros_like(order).at[order].set(jnp.arange(len(order), dtype=order.dtype))


def _greedy(place: Int[Array, " j"], same: Callable[[Array], Array], n: int) -> Int[Array, " {n}"]:
    """The n first by ``place``; those that are the same as a chosen one come after all others."""
    j = len(place)

    def choose(tier: Array, _: None) -> tuple[Array, Array]:
        # Tier 0 is free, 1 the same as a chosen one, 2 chosen.
        i = jnp.argmin(place + tier * j)
        return jnp.maximum(tier, same(i).astype(tier.dtype)).at[i].set(2), i

    return jax.lax.scan(choose, jnp.zeros_like(place), length=n)[1]
