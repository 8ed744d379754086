"""Candidates, random or all configurations of a small space; and suggestions, the best that differ."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax.parzen import AbstractDensities
from parzax.parzen.basis import Basis
from parzax.parzen.rows import on_device
from parzax.space import INACTIVE, AbstractCells, Points, Space, host_frame
from parzax.split.state import same_rows

# Spaces of up to so many configurations are listed to fill a batch; of larger ones more are drawn.
_MOST_LISTED, _DRAWS = 512, 4
# At least so many candidates climb; two that end this close on every axis are the same suggestion.
_LEAST_CLIMBING, _APART = 8, 1e-3
# The first step, as a share of the range; each next one is half of it unless the score rose.
_FIRST = 0.02

Score = Callable[[Points], Float[Array, " j"]]
# Configurations that are known, and which of them count.
Known = tuple[Points, Bool[Array, " n"]]


def at_random(key: PRNGKeyArray, basis: Basis, n: int, dtype: Any) -> Points:
    """Random configurations, (n, d): uniform on the (log) axes, or over listed values."""
    keys, n_slots = jax.random.split(key, n), basis.n_slots
    return basis.frame.drawn(jax.vmap(lambda own: jax.random.uniform(own, (n_slots,), dtype))(keys))


def fillers(key: PRNGKeyArray, basis: Basis, n: int, listed: Points | None, dtype: Any) -> Points:
    """At least n configurations in random order, n of them different if so many exist."""
    if listed is None:
        return at_random(key, basis, _DRAWS * n, dtype)
    order = jax.random.permutation(key, len(listed))
    return listed[jnp.tile(order, -(-n // len(listed)))]


@lru_cache(maxsize=64)
def enumerate_points(space: Space, n: int, dtype: Any) -> Points | None:
    """All configurations of a space that is small beside a batch of n; None of a larger one."""
    rows = enumerate_space(space, max(_MOST_LISTED, _DRAWS * n))
    if rows is None:
        return None
    with jax.ensure_compile_time_eval():
        return on_device(host_frame(space).encode(rows), dtype)


@lru_cache(maxsize=64)
def enumerate_space(space: Space, most: int) -> np.ndarray | None:
    """All configurations, (j, d), NaN where inactive; None for more than ``most`` of them."""
    rows = np.full((1, len(space)), np.nan)
    for name in space.order:
        j = space.index(name)
        # Parents have their values by now.
        regime = space.derive_regimes(rows)[:, j]
        parts = [rows[regime == INACTIVE]]
        for i, domain in enumerate(space[name]):
            axis, here = domain.axis, rows[regime == i]
            if not len(here):
                continue
            if not isinstance(axis, AbstractCells) or axis.n_values * len(here) > most:
                return None
            n = int(axis.n_values)
            own = np.repeat(here, n, axis=0)
            own[:, j] = np.tile(axis.value(np.arange(n), np.dtype(np.float64)), len(here))
            parts.append(own)
        rows = np.concatenate(parts)
        if len(rows) > most:
            return None
    return rows


def different(basis: Basis, at: Points, place: Int[Array, " j"], n: int) -> Int[Array, " {n}"]:
    """Indices of the first n configurations by ``place``, equal ones once: again only when others run out."""
    continuous = basis.frame.on_continuum(at)
    return _greedy(place, lambda i: _equal(at, at[i[None]], continuous, 0), n)


def apart(
    basis: Basis, start: Points, end: Points, score: Float[Array, " j"], n: int, least: float
) -> Points:
    """The best n ends of paths; one within ``least`` of a better one on every axis gives way to its start.

    There are j different configurations of each, with the scores of the ends; n is at most j.
    """
    j = len(score)
    both = joined(end, start)
    continuous, is_start = basis.frame.on_continuum(both), jnp.arange(2 * j) >= j
    reach = jnp.where(is_start, 0, least)[:, None]

    def near(i: Int[Array, ""]) -> Bool[Array, " j2"]:
        return _equal(both, both[i[None]], continuous, reach) | (jnp.arange(2 * j) % j == i % j)

    return both[_greedy(rank_of(jnp.lexsort((jnp.tile(-score, 2), is_start))), near, n)]


def _equal(at: Points, own: Points, continuous: Bool[Array, "j d"], reach: Any) -> Bool[Array, " j"]:
    """(j,) which points are a single one, or within ``reach`` of it on all its continuous axes."""
    # Values to count are compared by number, since their places may differ by a rounding.
    same = (at.regime == own.regime) & (at.index == own.index) & (at.valid == own.valid)
    return (same & (~continuous | (jnp.abs(at.unit - own.unit) <= reach))).all(axis=-1)


def repeats(basis: Basis, at: Points, known: Known) -> Bool[Array, " j"]:
    """Which points are known already."""
    (rows, counts), continuous = known, basis.frame.on_continuum(at)
    single = jax.tree.map(lambda leaf: leaf[:, None], rows)
    return (jax.vmap(lambda own: _equal(at, own, continuous, 0))(single) & counts[:, None]).any(axis=0)


def members(at: Points, pool: Points) -> Int[Array, " n"]:
    """Which point of a pool each of n of its points is, the first among equals."""
    return jnp.argmax(same_rows(at, pool), axis=-1)


def joined(*parts: Points) -> Points:
    """All points of some, one after the other."""
    return jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *parts)


def chosen(first: Bool[Array, "n 1"], a: Points, b: Points) -> Points:
    """Points of a where ``first``, else of b."""
    return jax.tree.map(lambda x, y: jnp.where(first, x, y), a, b)


def rank_of(order: Int[Array, " j"]) -> Int[Array, " j"]:
    """The place of each element in an order."""
    return jnp.zeros_like(order).at[order].set(jnp.arange(len(order), dtype=order.dtype))


def _greedy(
    place: Int[Array, " j"], same: Callable[[Array], Bool[Array, " j"]], n: int
) -> Int[Array, " {n}"]:
    """The n first by ``place``; those that are the same as a chosen one come after all others."""
    j = len(place)

    def choose(tier: Array, _: None) -> tuple[Array, Array]:
        # Tier 0 is free, 1 the same as a chosen one, 2 chosen.
        i = jnp.argmin(place + tier * j)
        return jnp.maximum(tier, same(i).astype(tier.dtype)).at[i].set(2), i

    return jax.lax.scan(choose, jnp.zeros_like(place), length=n)[1]


def best_of_pool(basis: Basis, score: Score, pool: Points, n: int, known: Known | None) -> Points:
    """The n members of a pool with the highest scores; equal and known ones last."""
    scores = valid_scores(score, pool)
    if n == 1 and known is None:
        return pool[jnp.argmax(scores)[None]]
    # Members outside the space come after those that are known.
    last = () if known is None else (repeats(basis, pool, known), jnp.isneginf(scores))
    place = rank_of(jnp.lexsort((-scores, *last)))
    return pool[different(basis, pool, place, n)]


def best_of_candidates(
    key: PRNGKeyArray,
    basis: Basis,
    score: Score,
    below: AbstractDensities,
    n: int,
    n_candidates: int,
    n_steps: int,
    filling: tuple[PRNGKeyArray, Points | None] | None,
    known: Known | None,
) -> Points:
    """The n best of what is drawn from the densities below, after ``n_steps`` of ascent from the best ones.

    ``filling`` is what fills a batch where candidates may be equal or ``known``, see `fillers`; None where
    nothing need. What is known comes after all others.
    """
    pool = below.sample(key, max(n_candidates, n))
    n_drawn, dtype = len(pool), pool.unit.dtype
    if filling is not None:
        pool = joined(pool, fillers(filling[0], basis, n, filling[1], dtype))
    scores = valid_scores(score, pool)
    if n == 1 and not n_steps and known is None:
        return pool[jnp.argmax(scores)[None]]
    # What was drawn comes before what fills the batch.
    last = () if known is None else (repeats(basis, pool, known),)
    place = rank_of(jnp.lexsort((-scores, jnp.arange(len(pool)) >= n_drawn, *last)))
    if not n_steps:
        return pool[different(basis, pool, place, n)]
    n_climbing = min(max(n, _LEAST_CLIMBING), len(pool))
    low = pool[different(basis, pool, place, n_climbing)]
    high, value = ascended(basis, score, low, n_steps)
    if known is not None:
        value = jnp.where(repeats(basis, high, known), -jnp.inf, value)
    return high[jnp.argmax(value)[None]] if n == 1 else apart(basis, low, high, value, n, _APART)


def valid_scores(score: Score, at: Points) -> Float[Array, " j"]:
    """Scores, -inf outside the space."""
    return jnp.where(at.valid.all(axis=-1), score(at), -jnp.inf)


def ascended(basis: Basis, score: Score, at: Points, n_steps: int) -> tuple[Points, Float[Array, " j"]]:
    """Configurations at least as good as ``at``, and their scores.

    Each point goes along its own gradient, scaled to a length in the largest coordinate; a step that does not
    raise the score is taken back and the length halved. Discrete coordinates stay, and so do those on which
    the domain of another parameter depends.
    """
    moves = basis.frame.on_continuum(at) & ~basis.frame.is_parent[None]

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

    start = (at.unit, score(at), jnp.full(len(at), _FIRST, at.unit.dtype))
    (unit, value, _), _ = jax.lax.scan(step, start, length=n_steps)
    return replace(at, unit=unit), value
