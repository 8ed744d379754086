"""Variances of random parts of a log, and with its losses shuffled: one compiled function for both."""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, PRNGKeyArray

from parzax._programs import program
from parzax.importance import Encoded, GridEstimator
from parzax.importance.draws import sample_size
from parzax.importance.layout import Layout
from parzax.importance.regimes import estimate_regimes
from parzax.importance.resample import replicate, sample_counter
from parzax.observations.levels import level_weight

# Limits of a batch: scattered entries, counts, and replicates.
_ROWS, _COUNTS, _MOST = 1 << 18, 1 << 16, 64
# Approximate number of counts of shuffles in one compiled call; calls run side by side.
_SHUFFLED = 1 << 22
# Number of rows that can be shuffled in the time it takes to draw one count.
_ROWS_PER_DRAW = 5


def draw_replicates(
    key: PRNGKeyArray, encoded: Encoded, counts: np.ndarray, numbers: Sequence[int], **static: Any
) -> tuple[Float[np.ndarray, "s b q d"], Float[np.ndarray, "s b2 q d"]]:
    """Within-regime variances (Eq. 11 of arXiv 2601.20800) of samples of the rows, and of shuffles.

    Samples have cut-offs of their own; losses are shuffled within regimes. All parameters and levels see the
    same rows in a sample. The samples of a log are those that `parzax.importance.resample` draws with the
    same key; of several seeds, with keys folded by the seed.

    Args:
        key: a typed key.
        encoded: the codes and ranks of s logs.
        counts: (s, q + 1, w) of the logs, whole numbers; see `parzax.importance.counts.sweep_counts`.
        numbers: how many samples and how many shuffles.
        static: of `compiled_replicates`, which compiles once for all values of the levels.
    """
    (s, d, m), (_, q1, w) = encoded.codes.shape, counts.shape
    keys = key[None] if s == 1 else jax.vmap(lambda seed: jax.random.fold_in(key, seed))(np.arange(s))
    if encoded.groups is not None:
        return _draw_groups(keys, encoded, numbers, **static)
    # The program has the levels in ascending order, so that it serves all orders.
    counts = counts[:, [*np.argsort(encoded.levels, kind="stable"), q1 - 1]]
    side_by_side = min(_MOST, _ROWS // (m * d), _COUNTS // ((q1 + 1) * w), max(numbers))
    b = 1 << max(side_by_side, 1).bit_length() - 1
    all_rounds = [math.ceil(n / b) for n in numbers]
    # A call computes a part of the replicates of one seed.
    n_parts = max(min(math.ceil(all_rounds[1] * b * q1 * w / _SHUFFLED), max(all_rounds)), 1)
    rounds = tuple(math.ceil(n / n_parts) for n in all_rounds)
    words, x64 = np.asarray(jax.random.key_data(key)).tolist(), jnp.result_type(float) == jnp.float64
    levels, raw = (*sorted(encoded.levels), encoded.region), encoded.grid.optuna_rounding
    ranks = np.asarray(encoded.rank)
    sizes = sample_size((ranks < m).sum(axis=1), static["method"]).tolist()
    needed = np.array([[level_weight(level, size, raw=raw) for level in levels] for size in sizes], np.int32)

    def variances(call: int) -> np.ndarray:
        seed, part = divmod(call, n_parts)
        rng = np.random.default_rng([*words, part, seed])
        null = np.zeros((0, q1, w), np.int32)
        if rounds[1]:
            null = shuffled_counts(rng, counts[seed], encoded.layout, rounds[1] * b)
        first, rows = np.int32(part * rounds[0] * b), (encoded.codes[seed], ranks[seed], needed[seed])
        with jax.enable_x64(x64):  # threads do not inherit it
            null = null.reshape(-1, b, q1, w)
            how = {"rounds": rounds, "layout": encoded.layout, **static}
            return np.asarray(compiled_replicates(keys[seed], first, *rows, null, **how))

    calls = [variances(0)]  # compiles
    with ThreadPoolExecutor(max(min(s * n_parts - 1, os.cpu_count() or 1), 1)) as pool:
        calls += pool.map(variances, range(1, s * n_parts))
    by_part = np.stack(calls).reshape(s, n_parts, sum(rounds) * b, q1 - 1, d)[..., encoded.place, :]
    parts = np.split(by_part, [rounds[0] * b], axis=2)
    sampled, shuffled = (x.reshape(s, -1, q1 - 1, d)[:, :n] for x, n in zip(parts, numbers, strict=True))
    return sampled, shuffled


# Most of the work is in loops.
_replicate = program(size="middling")(replicate)


def _draw_groups(
    keys: PRNGKeyArray, encoded: Encoded, numbers: Sequence[int], *, method: str, **static: Any
) -> tuple[Float[np.ndarray, "s b q d"], Float[np.ndarray, "s b2 q d"]]:
    """`draw_replicates` of logs with groups of rows, by the programs of `parzax.importance`."""
    logs = [jax.tree.map(itemgetter(seed), (keys, encoded)) for seed in range(len(keys))]

    def draw_variances(draw: str, n: int) -> Float[np.ndarray, "s n q d"]:
        if not n:
            return np.zeros((len(logs), 0, len(encoded.levels), encoded.codes.shape[1]))
        return np.stack([np.asarray(_replicate(*log, draw=draw, n=n, **static).variance) for log in logs])

    return draw_variances(method, numbers[0]), draw_variances("shuffle", numbers[1])


@program(size="middling")
def compiled_replicates(
    key: PRNGKeyArray,
    first: Int[Any, ""],
    codes: Integer[Any, "d m"],
    rank: Int[Any, " m"],
    needed: Int[Any, " q1"],
    null: Int[Any, "t b q1 w"],
    *,
    rounds: tuple[int, int],
    layout: Layout,
    estimator: GridEstimator,
    reference: str,
    method: str,
) -> Float[Array, "r b q d"]:
    """Variances of rounds of b samples of one log, from the ``first`` on, then of the counts of shuffles.

    ``null`` has the counts of the shuffles, b in a round; ``rounds`` says how many there are of samples and
    of shuffles. See `parzax.importance.resample` for ``method``, `sample_counter` for ``needed``.
    """
    b = null.shape[1]
    arrays = jnp.asarray(codes), jnp.asarray(rank), jnp.asarray(needed)
    ascending = tuple(range(len(needed) - 1))
    count = sample_counter(*arrays, ascending, layout, method)

    def sampled(number: Int[Array, ""]) -> Int[Array, "b q1 w"]:
        samples = first + number * b + jnp.arange(b, dtype=jnp.int32)
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(samples)
        return count(keys)

    def shuffled(number: Int[Array, ""]) -> Int[Array, "b q1 w"]:
        return jnp.asarray(null)[number - rounds[0]]

    def one_round(number: Int[Array, ""]) -> Float[Array, "b q d"]:
        if 0 in rounds:
            counts = (shuffled if rounds[1] else sampled)(number)
        else:  # one program for both, so that the estimates are compiled once
            counts = jax.lax.cond(number < rounds[0], sampled, shuffled, number)
        return estimate_regimes(counts, layout, estimator.divergence, reference == "uniform").variance

    return jax.lax.map(one_round, jnp.arange(sum(rounds), dtype=jnp.int32))


def shuffled_counts(rng: np.random.Generator, counts: np.ndarray, layout: Layout, n: int) -> np.ndarray:
    """Counts of ``n`` logs whose losses were shuffled within the regimes of each parameter.

    The target rows of a regime are then a random subset of its rows, so that their numbers per cell are
    multivariate hypergeometric, and the sets of all levels are nested as before. A parameter has draws of its
    own. For few rows these are shuffled; for many the numbers themselves are drawn, in a time that does not
    depend on the rows.

    Args:
        rng: the source of randomness.
        counts: (q + 1, w) whole numbers, target sets in ascending order and the region, see `sweep_counts`.
        layout: the columns.
        n: number of shuffles.

    Returns:
        (n, q + 1, w) int32; the region's row and the columns of inactive rows are those of ``counts``.
    """
    shuffled = np.repeat(counts[None].astype(np.int32), n, axis=0)
    for block in layout.blocks:
        columns = slice(block.start, block.start + block.n_cells)
        region = counts[-1, columns]
        occupied = np.flatnonzero(region)
        # Sets of equal size are the same set.
        sizes, level = np.unique(counts[:-1, columns].sum(axis=1), return_inverse=True)
        if len(occupied) > 1 and sizes[-1] > 0:
            by_rows = region.sum() <= _ROWS_PER_DRAW * len(sizes) * len(occupied)
            drawn = (_shuffled if by_rows else _drawn)(rng, region[occupied], sizes, n)
            # A slice where possible: indexing by lists takes several times as long.
            drawn = drawn if len(sizes) == len(level) else drawn[:, level]
            shuffled[:, :-1, columns if len(occupied) == block.n_cells else block.start + occupied] = drawn
    return shuffled


def _shuffled(rng: np.random.Generator, region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """(n, sets, cells) rows per cell of the first ``sizes`` of the region's rows, shuffled."""
    cells = np.repeat(np.arange(len(region), dtype=np.uint32), region)
    rows = rng.permuted(np.broadcast_to(cells, (n, len(cells))), axis=1)[:, : sizes[-1]]
    first_set = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
    place = (np.arange(n)[:, None] * len(sizes) + first_set) * len(region) + rows
    added = np.bincount(place.reshape(-1), minlength=n * len(sizes) * len(region))
    return added.astype(np.int32).reshape(n, len(sizes), len(region)).cumsum(axis=1, dtype=np.int32)


def _drawn(rng: np.random.Generator, region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """Draw the cells set by set: each set takes from what the smaller sets leave of the region."""
    added = np.zeros((len(sizes), len(region), n), np.int32)
    added[0] = rng.multivariate_hypergeometric(region, sizes[0], n, method="marginals").T
    left = region[:, None] - added[0].astype(region.dtype)
    for cells, size in zip(added[1:], np.diff(sizes), strict=True):
        wanted, others = np.full(n, size), left.sum(axis=0)
        for cell in range(len(region)):
            others -= left[cell]
            cells[cell] = rng.hypergeometric(left[cell], others, wanted)
            wanted -= cells[cell]
        left -= cells
    return np.moveaxis(added.cumsum(axis=0, dtype=np.int32), -1, 0)
