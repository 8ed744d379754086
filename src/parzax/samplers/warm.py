"""First suggestions of a meta-learning sampler: the best rows of the source tasks."""

import math
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from parzax.observations import capacity
from parzax.pareto import crowding_distance, non_domination_rank, order_by_rank_and_crowding
from parzax.samplers.rounding import resolved
from parzax.samplers.source_rows import SourceRows

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler


def best_rows(sampler: "Sampler", rows: list[SourceRows]) -> np.ndarray:
    """The best rows of the tasks, (w, d), see `best`, of those that lack no parameter of the space."""
    tasks = [(one.objectives, one.feasible, one.told & one.complete) for one in rows]
    chosen = [one.x[index] for one, index in zip(rows, best(tasks, sampler.n_startup), strict=True)]
    return np.concatenate([np.zeros((0, len(sampler.space))), *chosen])


def best(tasks: list[tuple[np.ndarray, np.ndarray, np.ndarray]], n: int) -> list[np.ndarray]:
    """Indices of the top ceil(n / t) rows of each of t tasks, feasible ones first (arXiv 2212.06751).

    Args:
        tasks: for each its objectives (n, m), which rows are feasible, and which can be used, those with all
            objectives; t counts the tasks that have some.
        n: how many rows are wanted of all tasks together.
    """
    each = math.ceil(n / max(sum(bool(usable.any()) for _, _, usable in tasks), 1))
    out = []
    for objectives, feasible, usable in tasks:
        told = np.flatnonzero(usable)
        order = np.lexsort((place(objectives[told]), ~feasible[told])) if each else told
        out.append(told[order[:each]])
    return out


def place(objectives: np.ndarray) -> np.ndarray:
    """Place of each row in the order by loss, or by rank and crowding distance; (n, m) without NaN."""
    n = len(objectives)
    if objectives.shape[1] == 1:
        order = np.argsort(objectives[:, 0], kind="stable")
    else:
        # Padded, so that few lengths are compiled.
        losses, there = np.full((capacity(n), objectives.shape[1]), np.nan), np.arange(capacity(n)) < n
        losses[:n] = resolved(objectives, jnp.result_type(float))
        losses, mask = jnp.asarray(losses, jnp.result_type(float)), jnp.asarray(there)
        rank = non_domination_rank(losses, mask)
        order = np.asarray(order_by_rank_and_crowding(rank, crowding_distance(losses, rank, mask)))[:n]
    return np.argsort(order, kind="stable")


def from_pool(
    key: jax.Array, warm: Float[Array, "w d"], seen: Float[Array, "n d"], other: Float[Array, "k d"]
) -> Float[Array, "k d"]:
    """k random rows of ``warm`` that were not seen yet; those of ``other`` where there are too few."""
    if not len(warm):
        return other
    used = _same(warm, seen).any(axis=-1) | jnp.tril(_same(warm, warm), -1).any(axis=-1)
    rank = jnp.where(used, 2.0, jax.random.uniform(key, used.shape))
    order = jnp.argsort(rank)[: len(other)]
    found = ~used[order]
    missing = len(other) - len(order)
    chosen = jnp.pad(warm[order], ((0, missing), (0, 0)))
    return jnp.where(jnp.pad(found, (0, missing))[:, None], chosen, other)


def _same(a: Float[Array, "n d"], b: Float[Array, "k d"]) -> Bool[Array, "n k"]:
    a, b = a[:, None], b[None]
    return ((a == b) | (jnp.isnan(a) & jnp.isnan(b))).all(axis=-1)
