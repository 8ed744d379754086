"""Non-domination ranks (the front of each row), on a device and on the host."""

import functools
from bisect import bisect_right
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from parzax._mesh import jit_on_meshes
from parzax._numerics import count_below
from parzax.pareto.order import Losses, Mask, checked_rows, lexicographic, value_ranks

# Rank of an absent row: above every other rank, and small enough that sums stay below 2^31.
ABSENT = 2**30
# Rows per block, for two objectives (_BLOCK) and for more (_TILE). Short blocks need few passes, long blocks
# need few steps.
_BLOCK, _TILE = 16, 8


def non_domination_rank(losses: Losses, mask: Mask = None) -> Int[Any, " n"]:
    """The front of each row, if fronts are removed one after the other; 0 is the Pareto front.

    q dominates p if q_j <= p_j in every objective and q_j < p_j in at least one (Deb et al., "A fast and
    elitist multiobjective genetic algorithm: NSGA-II", 2002, section III.A). The rank is the length of the
    longest chain of dominance that ends in the row:

        rank(p) = max(0, max over q that dominate p of rank(q) + 1)

    Rows are processed in lexicographic order, so rows that dominate a row come before it. With two objectives
    the algorithm keeps the smallest second objective of each front. This number grows with the front, so a
    bisection finds the front of a row (patience sorting): O(n log n). With more objectives each row is
    compared with all rows before it, in tiles: O(m n^2) comparisons and O(n) memory. Floats are replaced by
    integers in the same order, so ranks are exact, also for infinities and subnormals; -0.0 equals 0.0.
    NumPy arrays are ranked on the host, row by row, without compilation.

    Args:
        losses: (n, m), all minimised.
        mask: (n,) mask of the rows that exist, or their weights (a positive weight means present); all by
            default.

    Returns:
        (n,) int32 ranks from 0 without gaps; equal rows have equal ranks. Rows with a NaN come after all
        fronts: their rank is the number of fronts. Absent rows have the rank `ABSENT`, 2^30. Optuna treats
        NaN like a value above +inf, so [0, nan] may be in its first front; its ranks of other rows are the
        same.

    >>> import jax.numpy as jnp
    >>> losses = jnp.array([[1.0, 4.0], [2.0, 2.0], [2.0, 4.0], [2.0, 2.0], [0.0, jnp.nan]])
    >>> non_domination_rank(losses).tolist()
    [0, 0, 1, 0, 2]
    """
    rows, present = checked_rows(losses, mask)
    return _rank(rows, present) if isinstance(rows, jax.Array) else _rank_on_host(rows, present)


# A second form, because the first call is a tenth of a second or more without compilation: 0.6 s of a
# processor for the first 256 rows of two objectives in JAX 0.8.1, and 0.14 ms from then on, against 0.3 ms.
def _rank_on_host(points: np.ndarray, present: np.ndarray) -> np.ndarray:
    nan = np.isnan(points).any(axis=1)
    rank, proper = np.full(len(points), ABSENT, np.int32), present & ~nan
    # Adding 0.0 turns -0.0 into 0.0.
    distinct, number = np.unique(points[proper] + 0.0, axis=0, return_inverse=True)
    rank[proper] = _rank_distinct(distinct)[number.reshape(-1)]
    rank[present & nan] = rank[proper].max(initial=-1) + 1
    return rank


@jit_on_meshes()
def _rank(losses, present):
    n, m = losses.shape
    if n == 0:
        return jnp.zeros(0, jnp.int32)
    columns, first_of_equals, position = lexicographic(value_ranks(losses, present)[0])
    if m == 1:
        rank = jnp.cumsum(first_of_equals, dtype=jnp.int32) - 1
    else:
        block = _BLOCK if m == 2 else _TILE
        blocks = [_padded(column, block, n) for column in columns[1:]]
        first = _padded(first_of_equals, block, False)
        rank = (_patience(blocks[0], first, n) if m == 2 else _tiles(blocks, first)).reshape(-1)
    return jnp.where(present, rank[position], ABSENT)


def _padded(column: Array, block: int, value: int) -> Array:
    return jnp.pad(column, (0, -len(column) % block), constant_values=value).reshape(-1, block)


def _patience(column: Int[Array, "b c"], first: Bool[Array, "b c"], n: int) -> Int[Array, "b c"]:
    """Ranks by patience sorting. ``smallest`` has each front's smallest second objective, n if empty."""

    def step(smallest, block):
        y, first = block
        before = count_below(smallest, y + 1, -1, n, n)
        rank = _chains(before, first[:, None] & (y[:, None] <= y[None]))
        return smallest.at[jnp.where(first, rank, n)].min(y, mode="drop"), rank

    return jax.lax.scan(step, jnp.full(n, n, jnp.int32), (column, first))[1]


def _tiles(columns: list[Int[Array, "b c"]], first: Bool[Array, "b c"]) -> Int[Array, "b c"]:
    """Ranks from comparisons of each block with all blocks before it."""
    block = first.shape[1]

    def dominates(i, j):
        below = (column[i][:, None] <= column[j][None] for column in columns)
        return functools.reduce(jnp.logical_and, below)

    def step(j, length):
        # The reduction comes last, because XLA vectorises elementwise maxima but not reductions.
        def tile(i, longest):
            return jnp.maximum(longest, jnp.where(dominates(i, j), length[i][:, None], 0))

        longest = jax.lax.fori_loop(0, j, tile, jnp.zeros((block, block), jnp.int32))
        rank = _chains(jnp.max(longest, axis=0), first[j][:, None] & dominates(j, j))
        # Length of the chain that ends in each row; 0 for repeats, so that only the first equal row counts.
        return length.at[j].set(jnp.where(first[j], rank + 1, 0))

    # Later equal rows need no rank here, because they get the rank of the first.
    return jax.lax.fori_loop(0, len(first), step, jnp.zeros(first.shape, jnp.int32)) - 1


def _chains(before: Int[Array, " c"], dominates: Bool[Array, "c c"]) -> Int[Array, " c"]:
    """Longest chains that end in the rows of a block, from the chains ``before`` the block."""
    # Only an earlier row can dominate a row. Chains grow by one row per pass, until no chain grows.
    index = jnp.arange(len(before))
    dominates = dominates & (index[:, None] < index[None])

    def grow(carry):
        rank, _ = carry
        longer = jnp.maximum(before, jnp.max(jnp.where(dominates, rank[:, None] + 1, 0), axis=0))
        return longer, jnp.any(longer != rank)

    return jax.lax.while_loop(lambda carry: carry[1], grow, (before, jnp.asarray(True)))[0]


def _rank_distinct(rows: np.ndarray) -> np.ndarray:
    """Ranks of distinct rows in lexicographic order."""
    rank, others = np.arange(len(rows), dtype=np.int32), np.ascontiguousarray(rows.T[1:])
    if len(others) == 1:
        smallest: list[float] = []
        for i, y in enumerate(others[0].tolist()):
            rank[i] = bisect_right(smallest, y)
            smallest[rank[i] : rank[i] + 1] = [y]
    elif len(others):
        for i in range(len(rows)):
            dominates = np.logical_and.reduce(others[:, :i] <= others[:, i, None])
            rank[i] = rank[:i].max(initial=-1, where=dominates) + 1
    return rank
