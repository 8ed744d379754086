"""Non-domination ranks: in which front a row lies, on a device and on the host; and their flags."""

import functools
from bisect import bisect_right
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from parzax._numerics import count_below
from parzax.pareto.order import Losses, Mask, checked_rows, lexicographic, value_ranks
from parzax.status import Status

# The rank of an absent row: above every rank, and with room for sums below 2^31.
ABSENT = 2**30
# Rows per block with two objectives, and with more: short blocks need few passes, long ones few steps.
_BLOCK, _TILE = 16, 8


def non_domination_rank(losses: Losses, mask: Mask = None) -> Int[Array, " n"]:
    """The front of each row when fronts are peeled off one by one; 0 is the Pareto front.

    q dominates p where q_j <= p_j in every objective and q_j < p_j in one (Deb et al., "A fast and elitist
    multiobjective genetic algorithm: NSGA-II", 2002, section III.A). The rank is the length of the longest
    chain of dominance that ends in the row:

        rank(p) = max(0, max over q that dominate p of rank(q) + 1)

    Rows go through in lexicographic order, where whatever dominates a row precedes it. With two objectives
    the smallest second objective of each front is kept, which rises with the front, and a row's front is
    found by bisection (patience sorting): O(n log n). With more, rows are compared with all before them, in
    tiles: O(m n^2) comparisons and O(n) memory. Everything is done on integers in the order of the
    floats, so that ranks are exact: infinities and subnormals are values like any other, and -0.0 is 0.0.

    Args:
        losses: all minimised.
        mask: rows that are there, or their weights (present where positive); all by default.

    Returns:
        Ranks from 0 without gaps, int32; equal rows share one. Rows with a NaN come after all fronts: they
        share the number of fronts as their rank. Absent rows, whatever they hold, have `ABSENT`, 2^30.
        Optuna ranks a NaN like a value beyond +inf, so that [0, nan] may be in the first front; its ranks of
        other rows are the same.

    >>> import jax.numpy as jnp
    >>> losses = jnp.array([[1.0, 4.0], [2.0, 2.0], [2.0, 4.0], [2.0, 2.0], [0.0, jnp.nan]])
    >>> non_domination_rank(losses).tolist()
    [0, 0, 1, 0, 2]
    """
    return _rank(*checked_rows(losses, mask))


def non_domination_rank_host(losses: Any, mask: Any = None) -> np.ndarray:
    """`non_domination_rank` on the host, in float64 and without compilation.

    Distinct rows go through in lexicographic order, so that only earlier ones can dominate a row. With two
    objectives the smallest second objective of each front decides, found by bisection: O(n log n). With more
    a row is compared with all before it: O(m n^2) comparisons, and O(n) memory.

    Args:
        losses: (n, m), minimised.
        mask: (n,) rows that are there, or their weights (present where positive); all by default.

    Returns:
        (n,) int32 ranks, of rows with a NaN and of absent ones as of `non_domination_rank`.

    >>> non_domination_rank_host([[1.0, 4.0], [2.0, 2.0], [2.0, 4.0], [2.0, 2.0], [0.0, np.nan]]).tolist()
    [0, 0, 1, 0, 2]
    """
    points, present = checked_rows(losses, mask, np)
    nan = np.isnan(points).any(axis=1)
    rank, proper = np.full(len(points), ABSENT, np.int32), present & ~nan
    # 0.0 and -0.0 are one loss.
    distinct, number = np.unique(points[proper] + 0.0, axis=0, return_inverse=True)
    rank[proper] = _rank_distinct(distinct)[number.reshape(-1)]
    rank[present & nan] = rank[proper].max(initial=-1) + 1
    return rank


def rank_status(losses: Losses, mask: Mask = None) -> Int[Array, ""]:
    """Bits of `Status` for ranks, crowding and choices: NO_ROWS, and NAN_LOSSES where present rows have one.

    >>> import jax.numpy as jnp
    >>> Status(int(rank_status(jnp.array([[0.0, jnp.nan]])))).name
    'NAN_LOSSES'
    """
    losses, present = checked_rows(losses, mask)
    nan = jnp.any(present & jnp.any(jnp.isnan(losses), axis=1))
    flags = jnp.where(nan, int(Status.NAN_LOSSES), 0) + jnp.where(jnp.any(present), 0, int(Status.NO_ROWS))
    return flags.astype(jnp.int32)


@jax.jit
def _rank(losses, present):
    n, m = losses.shape
    if n == 0:
        return jnp.zeros(0, jnp.int32)
    ordered = lexicographic(value_ranks(losses, present)[0])
    if m == 1:
        rank = jnp.cumsum(ordered.first, dtype=jnp.int32) - 1
    else:
        block = _BLOCK if m == 2 else _TILE
        blocks = [_padded(column, block, n) for column in ordered.columns[1:]]
        first = _padded(ordered.first, block, False)
        rank = (_patience(blocks[0], first, n) if m == 2 else _tiles(blocks, first)).reshape(-1)
    return jnp.where(present, rank[ordered.position], ABSENT)


def _padded(column: Array, block: int, value: int) -> Array:
    return jnp.pad(column, (0, -len(column) % block), constant_values=value).reshape(-1, block)


def _patience(column: Int[Array, "b c"], first: Bool[Array, "b c"], n: int) -> Int[Array, "b c"]:
    """Ranks by the smallest second objective of every front so far; n where the front has no rows."""

    def step(smallest, block):
        y, first = block
        before = count_below(smallest, y + 1, -1, n, n)
        rank = _chains(before, first[:, None] & (y[:, None] <= y[None]))
        return smallest.at[jnp.where(first, rank, n)].min(y, mode="drop"), rank

    return jax.lax.scan(step, jnp.full(n, n, jnp.int32), (column, first))[1]


def _tiles(columns: list[Int[Array, "b c"]], first: Bool[Array, "b c"]) -> Int[Array, "b c"]:
    """Ranks by comparing each block with all blocks before it."""
    block = first.shape[1]

    def dominates(i, j):
        below = (column[i][:, None] <= column[j][None] for column in columns)
        return functools.reduce(jnp.logical_and, below)

    def step(j, length):
        # A tile until the end: elementwise maxima are vectorised, reductions are not.
        def tile(i, longest):
            return jnp.maximum(longest, jnp.where(dominates(i, j), length[i][:, None], 0))

        longest = jax.lax.fori_loop(0, j, tile, jnp.zeros((block, block), jnp.int32))
        rank = _chains(jnp.max(longest, axis=0), first[j][:, None] & dominates(j, j))
        # The length of the chain that ends in a row; only the first of equal rows passes it on.
        return length.at[j].set(jnp.where(first[j], rank + 1, 0))

    # Equal rows take the rank of the first one, so the others need none.
    return jax.lax.fori_loop(0, len(first), step, jnp.zeros(first.shape, jnp.int32)) - 1


def _chains(before: Int[Array, " c"], dominates: Bool[Array, "c c"]) -> Int[Array, " c"]:
    """Longest chains within a block, given those that end in its rows from before it."""
    # Only rows above the diagonal dominate. Chains grow by one row in each pass, until none does.
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
