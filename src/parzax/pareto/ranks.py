"""Non-domination ranks: in which front a row lies."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Num

from parzax.pareto.order import as_losses, lexicographic, present_rows, value_ranks

# The rank of a row that is not there: above every rank, and with room for sums below 2^31.
ABSENT = 2**30
# Rows treated together: the rows of a block take turns, so that long blocks have more turns, fewer steps.
_BLOCK = 8


def non_domination_rank(
    losses: Num[Array, "n m"], mask: Num[Array, " n"] | Bool[Array, " n"] | None = None
) -> Int[Array, " n"]:
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
    losses = as_losses(losses)
    return _rank(losses, present_rows(mask, len(losses)))


@jax.jit
def _rank(losses, present):
    n, m = losses.shape
    if n == 0:
        return jnp.zeros(0, jnp.int32)
    # What is not proper is dominated by all that is, and equal to itself.
    proper = present & ~jnp.any(jnp.isnan(losses), axis=1)
    ordered = lexicographic(value_ranks(losses, proper))
    if m == 1:
        rank = jnp.cumsum(ordered.first, dtype=jnp.int32) - 1
    else:
        size = -(-n // _BLOCK) * _BLOCK
        blocks = [_padded(column, size, n) for column in ordered.columns[1:]]
        first = _padded(ordered.first, size, False)
        rank = (_patience(blocks[0], first, n) if m == 2 else _tiles(blocks, first)).reshape(-1)
    return jnp.where(present, rank[ordered.position], ABSENT)


def _padded(column: Array, size: int, value: int) -> Array:
    return jnp.pad(column, (0, size - len(column)), constant_values=value).reshape(-1, _BLOCK)


def _patience(column: Int[Array, "b c"], first: Bool[Array, "b c"], n: int) -> Int[Array, "b c"]:
    """Ranks by the smallest second objective of every front so far; n where the front has no rows."""

    def step(smallest, block):
        y, first = block
        before = jnp.searchsorted(smallest, y, side="right", method="scan_unrolled").astype(jnp.int32)
        rank = _chains(before, first[:, None] & (y[:, None] <= y))
        return smallest.at[jnp.where(first, rank, n)].min(y, mode="drop"), rank

    return jax.lax.scan(step, jnp.full(n, n, jnp.int32), (column, first))[1]


def _tiles(columns: list[Int[Array, "b c"]], first: Bool[Array, "b c"]) -> Int[Array, "b c"]:
    """Ranks by comparing each block with all blocks before it."""

    def dominates(i, j):
        return functools.reduce(jnp.logical_and, (column[i][:, None] <= column[j] for column in columns))

    def step(j, length):
        # Kept as a tile until the end: elementwise maxima are vectorised, reductions are not.
        def tile(i, longest):
            return jnp.maximum(longest, jnp.where(dominates(i, j), length[i][:, None], 0))

        longest = jax.lax.fori_loop(0, j, tile, jnp.zeros((_BLOCK, _BLOCK), jnp.int32))
        rank = _chains(jnp.max(longest, axis=0), first[j][:, None] & dominates(j, j))
        # The length of the chain that a row hands on; equal rows hand it on once.
        return length.at[j].set(jnp.where(first[j], rank + 1, 0)), rank

    def with_rank(j, carry):
        length, ranks = carry
        length, rank = step(j, length)
        return length, ranks.at[j].set(rank)

    zeros = jnp.zeros(first.shape, jnp.int32)
    return jax.lax.fori_loop(0, len(first), with_rank, (zeros, zeros))[1]


def _chains(before: Int[Array, " c"], dominates: Bool[Array, "c c"]) -> Int[Array, " c"]:
    """Ranks within a block, given those that follow from the rows before it.

    Only rows above the diagonal dominate, so that a row's rank is final when its turn comes.
    """
    index = jnp.arange(_BLOCK)
    dominates = dominates & (index[:, None] < index)

    def hand_on(i, rank):
        return jnp.maximum(rank, jnp.where(dominates[i], rank[i] + 1, 0))

    return jax.lax.fori_loop(0, _BLOCK - 1, hand_on, before)
