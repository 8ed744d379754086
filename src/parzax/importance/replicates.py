"""Variances of random parts of a log, and with its losses shuffled: one compiled function for all."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt

from parzax._programs import program
from parzax.importance.draws import bootstrap_samples, half_samples, sample_levels, shuffled_levels
from parzax.importance.grid import GridEstimator, Layout
from parzax.importance.grid.counts import replicate_counts
from parzax.importance.measures import measures

METHODS = {"half-sampling": half_samples, "bootstrap": bootstrap_samples}
# Numbers that are counted, and counts, of as many replicates as are computed side by side.
_ROWS, _COUNTS, _MOST = 1 << 18, 1 << 16, 64


class Rows(NamedTuple):
    """Logs of s seeds, their rows in the order of the losses; n with padding, which comes last.

    Attributes:
        codes: (s, d, n) grid codes.
        level: (s, n) first level set of each row; q for the region alone, q + 1 for rows outside.
        first_tied: (s, n) the first row with the same loss.
        usable: (s,) rows that have a loss.
    """

    codes: UInt[np.ndarray, "s d n"]
    level: UInt[np.ndarray, "s n"]
    first_tied: Int[np.ndarray, "s n"]
    usable: Int[np.ndarray, " s"]


class Regimes(NamedTuple):
    """In how many ways rows have regimes, and how many rows each has; see `shuffled_levels`."""

    regime: UInt[np.ndarray, "s u n"]
    ends: Int[np.ndarray, "s u e"]
    level_of: Int[np.ndarray, " d"]


class Replicates(NamedTuple):
    """Within-regime variances (Eq. 11 of arXiv 2601.20800) of samples of the rows, and of shuffles."""

    sampled: Float[np.ndarray, "s b q d"]
    shuffled: Float[np.ndarray, "s b q d"]


def replicates(
    key: PRNGKeyArray,
    rows: Rows,
    level_after: Int[np.ndarray, "s n1"],
    size: Int[np.ndarray, " s"],
    *,
    n_levels: int,
    n_samples: int,
    n_shuffles: int,
    layout: Layout,
    estimator: GridEstimator,
    uniform: bool = False,
    method: str = "half-sampling",
) -> Replicates:
    """Samples of ``size`` rows each, with cut-offs of their own, and shuffles of the losses within regimes.

    All parameters and levels see the same rows in a sample, and the same random keys in a shuffle.

    Args:
        key: a typed key.
        rows: the logs.
        level_after: (s, n + 1) see `parzax.importance.draws.sample_levels`.
        size: (s,) rows in a sample.
        n_levels: q.
        n_samples, n_shuffles: how many of each.
        layout, estimator, uniform: as in `parzax.importance.sweep`.
        method: "half-sampling" (without replacement) or "bootstrap".
    """
    s, d, n = rows.codes.shape
    # Shuffles alone go by regimes.
    regimes = regimes_of(rows, layout, n_levels) if n_shuffles else _one_regime(rows, layout, n_levels)
    most = max(n_samples, n_shuffles)
    side_by_side = min(_MOST, _ROWS // (n * d), _COUNTS // ((n_levels + 2) * layout.n_columns), most)
    side_by_side = 1 << max(side_by_side, 1).bit_length() - 1
    rounds = math.ceil(n_samples / side_by_side), math.ceil(n_shuffles / side_by_side)
    found = compiled_replicates(
        key, rows, regimes, level_after.astype(np.int32), size.astype(np.int32), n_levels=n_levels,
        rounds=rounds, side_by_side=side_by_side, layout=layout, estimator=estimator, uniform=uniform,
        method=method,
    )  # fmt: skip
    every = np.asarray(found).reshape(s, sum(rounds) * side_by_side, n_levels, d)
    first = rounds[0] * side_by_side
    return Replicates(every[:, :n_samples], every[:, first : first + n_shuffles])


def regimes_of(rows: Rows, layout: Layout, n_levels: int) -> Regimes:
    """The ways in which parameters have regimes, each once, with the rows of every set in every regime."""
    # Code -> regime, or pool of one whose bounds move; "inactive" and rows outside the region follow.
    k = layout.n_slots
    tables = np.full((len(layout.offsets), max(layout.n_codes)), k - 1, np.uint8 if k < 255 else np.uint16)
    for block in layout.blocks:
        first = block.start - layout.offsets[block.parameter]
        tables[block.parameter, first : first + block.n_cells] = block.slot
    regime = np.stack([table[rows.codes[:, j]] for j, table in enumerate(tables)], axis=1)
    outside = np.broadcast_to((rows.level > n_levels)[:, None], regime.shape)
    # Which rows share a regime is all that counts, so a branch and its complement are one way.
    regime = _by_first_row(np.where(outside, k, regime), k)
    _, chosen, level_of = np.unique(regime.swapaxes(0, 1), axis=0, return_index=True, return_inverse=True)
    regime = regime[:, chosen]
    sets = np.zeros((*regime.shape[:2], k + 1, n_levels + 2), np.int32)
    at = np.ogrid[: regime.shape[0], : regime.shape[1], :1][:2]
    np.add.at(sets, (*at, regime, np.broadcast_to(rows.level[:, None], regime.shape)), 1)
    sizes = sets.sum(axis=-1)[..., :k]
    before = np.cumsum(sizes, axis=-1) - sizes
    ends = before[..., None] + np.cumsum(sets[..., :k, :n_levels], axis=-1)
    return Regimes(regime, ends.reshape(*regime.shape[:2], -1), level_of.reshape(-1).astype(np.int32))


def _one_regime(rows: Rows, layout: Layout, n_levels: int) -> Regimes:
    """In place of regimes where nothing goes by them."""
    s, d, n = rows.codes.shape
    ends = np.zeros((s, 1, layout.n_slots * n_levels), np.int32)
    return Regimes(np.zeros((s, 1, n), np.uint8), ends, np.zeros(d, np.int32))


def _by_first_row(regime: UInt[np.ndarray, "s d n"], k: int) -> UInt[np.ndarray, "s d n"]:
    """Regimes numbered in the order in which they first appear; k stays k."""
    n = regime.shape[-1]
    first = np.stack([np.where((regime == i).any(-1), (regime == i).argmax(-1), n) for i in range(k)], -1)
    number = np.argsort(np.argsort(first, axis=-1, kind="stable"), axis=-1)
    number = np.concatenate([number, np.full((*number.shape[:-1], 1), k)], axis=-1).astype(regime.dtype)
    return np.take_along_axis(number, regime.astype(np.int64), axis=-1)


@program(size="middling")
def compiled_replicates(
    key: PRNGKeyArray,
    rows: Rows,
    regimes: Regimes,
    level_after: Int[Any, "s n1"],
    size: Int[Any, " s"],
    *,
    n_levels: int,
    rounds: tuple[int, int],
    side_by_side: int,
    layout: Layout,
    estimator: GridEstimator,
    uniform: bool,
    method: str,
) -> Float[Array, "t b q d"]:
    """`replicates` as one compiled function: rounds of samples, then of shuffles, of each seed in turn."""
    s, _, n = rows.codes.shape
    keys = jax.random.split(key, s * sum(rounds))
    seed = np.repeat(np.arange(s), sum(rounds))
    shuffles = np.tile(np.repeat([False, True], rounds), s)
    arrays = jax.tree.map(jnp.asarray, (rows, regimes._replace(level_of=None), level_after, size))
    level_of, u = jnp.asarray(regimes.level_of), regimes.regime.shape[1]

    def sampled(key: PRNGKeyArray, own: Any) -> tuple[Int[Array, "b u n"], Int[Array, "b n"]]:
        row, _, after, size = own
        weight = METHODS[method](key, side_by_side, n, size, row.usable)
        level = sample_levels(weight, row.first_tied, after)
        return jnp.broadcast_to(level[:, None], (side_by_side, u, n)), weight

    def shuffled(key: PRNGKeyArray, own: Any) -> tuple[Int[Array, "b u n"], Int[Array, "b n"]]:
        row, regime, *_ = own
        level = shuffled_levels(key, side_by_side, regime.regime, regime.ends, n_levels)
        inside = (row.level <= n_levels).astype(jnp.int32)
        return level, jnp.broadcast_to(inside[None], (side_by_side, n))

    def one_round(_: None, now: Any) -> tuple[None, Float[Array, "b q d"]]:
        key, seed, shuffle = now
        own = jax.tree.map(lambda x: x[seed], arrays)
        if 0 in rounds:
            level, weight = (shuffled if rounds[1] else sampled)(key, own)
        else:  # what follows is compiled once for both
            level, weight = jax.lax.cond(shuffle, shuffled, sampled, key, own)
        counts = replicate_counts(own[0].codes, level, level_of, weight, n_levels=n_levels, layout=layout)
        return None, measures(counts, layout, estimator, uniform).variance

    return jax.lax.scan(one_round, None, (keys, jnp.asarray(seed), jnp.asarray(shuffles)))[1]
