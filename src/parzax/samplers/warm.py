"""First suggestions of a meta-learning sampler: the best rows of the source tasks."""

import math
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from parzax.pareto import crowding_distance, non_domination_rank, order_by_rank_and_crowding
from parzax.samplers.source_rows import SourceRows
from parzax.samplers.state import State

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler


def best_rows(sampler: "Sampler", state: State, rows: list[SourceRows]) -> np.ndarray:
    """The top ceil(n_startup / t) rows of each of t tasks, (w, d), feasible ones first (arXiv 2212.06751).

    Rows that lack a parameter of the space are left out.
    """
    n = math.ceil(sampler.n_startup / len(rows))
    all_feasible = np.asarray(jax.vmap(lambda one: one.feasible)(state))
    out = [np.zeros((0, len(sampler.space)))]
    for t, one in enumerate(rows):
        told = np.flatnonzero(~np.isnan(one.objectives).any(axis=-1) & one.complete)
        if len(told) and n:
            feasible = all_feasible[t][told]
            order = np.lexsort((place(one.objectives[told]), ~feasible))
            out.append(one.x[told[order[:n]]])
    return np.concatenate(out)


def place(objectives: np.ndarray) -> np.ndarray:
    """Place of each row in the order by loss, or by rank and crowding distance; (n, m) without NaN."""
    if objectives.shape[1] == 1:
        order = np.argsort(objectives[:, 0], kind="stable")
    else:
        losses, mask = jnp.asarray(objectives), jnp.ones(len(objectives), bool)
        rank = non_domination_rank(losses, mask)
        order = np.asarray(order_by_rank_and_crowding(rank, crowding_distance(losses, rank, mask)))
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
