"""Candidates (random, or all configurations of a small space), and the best different ones of them."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax._numerics import to_device
from parzax.parzen.basis import Basis
from parzax.space import INACTIVE, AbstractCells, Points, Space, host_frame
from parzax.split.state import same_rows

# Largest number of configurations to enumerate for a batch; of larger spaces, draws per suggestion.
_MOST_ENUMERATED, _DRAWS = 512, 4
# Least number of candidates that climb; two that end this close on every axis are the same suggestion.
_LEAST_CLIMBING, _APART = 8, 1e-3
# The first step, as a share of the range; the next is half of it where the score did not rise.
_FIRST = 0.02

Score = Callable[[Points], Float[Array, " j"]]
# Configurations that were told, and which of them count.
Seen = tuple[Points, Bool[Array, " n"]]


def draw_random(key: PRNGKeyArray, basis: Basis, n: int, dtype: Any) -> Points:
    """Random configurations, (n, d): uniform on the (log) axes, or over listed values."""

    def levels(key: PRNGKeyArray) -> Float[Array, " s"]:
        return jax.random.uniform(key, (basis.n_slots,), dtype)

    return basis.frame.drawn(jax.vmap(levels)(jax.random.split(key, n)))


def draw_fillers(key: PRNGKeyArray, basis: Basis, n: int, every: Points | None, dtype: Any) -> Points:
    """At least n configurations in random order, n of them different if the space has that many.

    ``every`` has all configurations of a small space.
    """
    if every is None:
        return draw_random(key, basis, _DRAWS * n, dtype)
    order = jax.random.permutation(key, len(every))
    return every[jnp.tile(order, -(-n // len(every)))]


@lru_cache(maxsize=64)
def enumerate_points(space: Space, n: int, dtype: Any) -> Points | None:
    """All configurations as points; None where the space is too large beside a batch of n."""
    rows = enumerate_space(space, max(_MOST_ENUMERATED, _DRAWS * n))
    if rows is None:
        return None
    with jax.ensure_compile_time_eval():
        return to_device(host_frame(space).encode(rows), dtype)


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
            axis, parents = domain.axis, rows[regime == i]
            if not len(parents):
                continue
            if not isinstance(axis, AbstractCells) or axis.n_values * len(parents) > most:
                return None
            n = int(axis.n_values)
            extended = np.repeat(parents, n, axis=0)
            extended[:, j] = np.tile(axis.value(np.arange(n), np.dtype(np.float64)), len(parents))
            parts.append(extended)
        rows = np.concatenate(parts)
        if len(rows) > most:
            return None
    return rows


def pick_different(basis: Basis, at: Points, place: Int[Array, " j"], n: int) -> Int[Array, " {n}"]:
    """Indices of the first n configurations by ``place``, equal ones once: again only when others run out."""
    continuous = basis.frame.on_continuum(at)
    return _pick_greedily(place, lambda i: is_near(at, at[i[None]], continuous, 0), n)


def pick_apart(
    basis: Basis, start: Points, end: Points, score: Float[Array, " j"], n: int, least: float
) -> Points:
    """The best n ends of paths; one within ``least`` of a better one on every axis gives way to its start.

    There are j different configurations of each, with the scores of the ends; n is at most j.
    """
    j = len(score)
    pool = concatenate(end, start)
    continuous, is_start = basis.frame.on_continuum(pool), jnp.arange(2 * j) >= j
    reach = jnp.where(is_start, 0, least)[:, None]

    def same(i: Int[Array, ""]) -> Bool[Array, " j2"]:
        return is_near(pool, pool[i[None]], continuous, reach) | (jnp.arange(2 * j) % j == i % j)

    return pool[_pick_greedily(invert_order(jnp.lexsort((jnp.tile(-score, 2), is_start))), same, n)]


def is_near(a: Points, b: Points, continuous: Bool[Any, "*n d"] | bool, reach: Any) -> Bool[Array, "*n"]:
    """Which points of a equal those of b, or are within ``reach`` of them on all continuous axes."""
    # Values to count are compared by number, since their places may differ by a rounding.
    same = (a.regime == b.regime) & (a.index == b.index) & (a.valid == b.valid)
    return (same & ((jnp.abs(a.unit - b.unit) <= reach) | jnp.logical_not(continuous))).all(axis=-1)


def is_seen(basis: Basis, at: Points, seen: Seen) -> Bool[Array, " j"]:
    """Which points were told already."""
    (rows, counts), continuous = seen, basis.frame.on_continuum(at)
    equal = is_near(at[None], rows[:, None], continuous[None], 0)
    return (equal & counts[:, None]).any(axis=0)


def find_members(at: Points, pool: Points) -> Int[Array, " n"]:
    """Index in a pool of each of n of its points; of equal points the first."""
    return jnp.argmax(same_rows(at, pool), axis=-1)


def concatenate(*parts: Points) -> Points:
    """Concatenate sets of points."""
    return jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *parts)


def select(first: Bool[Array, "n 1"], a: Points, b: Points) -> Points:
    """Points of a where ``first``, else of b."""
    return jax.tree.map(lambda x, y: jnp.where(first, x, y), a, b)


def invert_order(order: Int[Array, " j"]) -> Int[Array, " j"]:
    """The place of each element in an order."""
    return jnp.zeros_like(order).at[order].set(jnp.arange(len(order), dtype=order.dtype))


def _pick_greedily(
    place: Int[Array, " j"], same: Callable[[Array], Bool[Array, " j"]], n: int
) -> Int[Array, " {n}"]:
    """The n first by ``place``; an element that is the same as a chosen one comes after all others."""
    j = len(place)

    def choose(tier: Array, _: None) -> tuple[Array, Array]:
        # Tier 0 is free, 1 the same as a chosen one, 2 chosen.
        i = jnp.argmin(place + tier * j)
        return jnp.maximum(tier, same(i).astype(tier.dtype)).at[i].set(2), i

    return jax.lax.scan(choose, jnp.zeros_like(place), length=n)[1]


def best_of_candidates(
    basis: Basis,
    score: Score,
    drawn: Points,
    fillers: Points | None,
    n: int,
    n_steps: int,
    seen: Seen | None,
) -> Points:
    """The n best of the candidates ``drawn``, after ``n_steps`` of ascent from the best ones.

    ``fillers`` complete a batch if candidates are equal or ``seen``. Seen configurations come after the
    others; candidates outside the space, which a pool may have, come last.
    """
    pool = drawn if fillers is None else concatenate(drawn, fillers)
    scores = score_valid(score, pool)
    if n == 1 and not n_steps and seen is None:
        return pool[jnp.argmax(scores)[None]]
    last = () if seen is None else (is_seen(basis, pool, seen), ~pool.valid.all(axis=-1))
    place = invert_order(jnp.lexsort((-scores, jnp.arange(len(pool)) >= len(drawn), *last)))
    if not n_steps:
        return pool[pick_different(basis, pool, place, n)]
    n_climbing = min(max(n, _LEAST_CLIMBING), len(pool))
    low = pool[pick_different(basis, pool, place, n_climbing)]
    high, value = ascend(basis, score, low, n_steps)
    if seen is not None:
        value = jnp.where(is_seen(basis, high, seen), -jnp.inf, value)
    return high[jnp.argmax(value)[None]] if n == 1 else pick_apart(basis, low, high, value, n, _APART)


def score_valid(score: Score, at: Points) -> Float[Array, " j"]:
    """Scores, -inf outside the space."""
    return jnp.where(at.valid.all(axis=-1), score(at), -jnp.inf)


def ascend(basis: Basis, score: Score, at: Points, n_steps: int) -> tuple[Points, Float[Array, " j"]]:
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
