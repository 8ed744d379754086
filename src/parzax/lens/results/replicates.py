"""Replicates of a log, random samples and logs with shuffled losses: their variances, and p-values."""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from parzax import _checks
from parzax._compile import compiled
from parzax.divergence import AbstractDivergence
from parzax.importance import Counts, Encoded, Importance
from parzax.importance.counts import count_configurations
from parzax.importance.encode import without_values
from parzax.importance.estimate import How, from_counts
from parzax.importance.levels import level_sets, level_weights
from parzax.importance.resample import sample_counter
from parzax.lens.logs import Observations
from parzax.lens.logs.groups import find_groups

# Family-wise error rate of the tests of all parameters at one level.
SIGNIFICANCE = 0.05
# Smallest default number of shuffles.
SHUFFLES = 1000
# Default number of samples of a single log. It does not depend on the number of levels, so that results for a
# level agree.
_SAMPLES = 500
# Limit of rows times parameters times samples, which takes some seconds; and the smallest useful number of
# samples. A log that is too large for so many samples gets none.
_MOST_NUMBERS, _FEWEST_SAMPLES = 100_000_000, 50
# Cap on the default number of shuffles, unless p-values of many parameters need more.
_MOST_SHUFFLES = 2000
# Largest number of rows after each row is repeated as often as its weight says.
_MOST_REPEATED = 1 << 24
# Relative tolerance for equal variances: samples, shuffles and the log may be rounded differently.
_SAME = 1e-5
# Limits of a batch: scattered entries, and counts; and approximate number of counts of a call.
_ROWS, _COUNTS, _CALL = 1 << 18, 1 << 16, 1 << 22
# Replicates are drawn in units of so many; one unit of shuffles has one seed. The number is fixed, so that
# the shuffles do not depend on the size of a batch or call.
UNIT = 16
# The rows of a regime are shuffled if there are at most this many.
_MOST_ROWS = 3000


class Replicates(NamedTuple):
    """Variances of samples of a log, and p-values from shuffles of its losses.

    Attributes:
        sampled: (b, ..., q, d) variances v* of the samples (Eq. 11 of arXiv 2601.20800).
        p_value: (..., q, d) (1 + #{v* >= v}) / (n_shuffles + 1), where v* are the variances of logs whose
            losses were shuffled within the parameter's regimes; NaN where no shuffle was possible.
        spread: (...,) factor by which deviations of the samples are multiplied: sqrt(m / (n - m)) for samples
            of m of n rows without replacement, which is about 1 for halves.
        n_rows: (...,) number n of rows that have a loss.
        n_shuffles: number of shuffles.
    """

    sampled: np.ndarray
    p_value: np.ndarray
    spread: np.ndarray
    n_rows: np.ndarray
    n_shuffles: int = 0

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> "Replicates":
        """No samples and no shuffles of estimates of a shape (..., q, d)."""
        nothing = np.full(shape[:-2], np.nan)
        return cls(np.zeros((0, *shape)), np.full(shape, np.nan), nothing, nothing)


def choose_counts(
    obs: Observations, n_resamples: int | None = None, n_shuffles: int | None = None
) -> tuple[int, int]:
    """Numbers of samples and of shuffles of a log, where they are not given.

    By default, only a single log without fractional weights is resampled. A log that is too large for samples
    gets only shuffles, whose time does not grow with the number of rows. If its rows belong together in
    groups, shuffles take as long as samples, so it gets neither.
    """
    is_tested = True
    if n_resamples is None:
        integral = obs.weight is None or bool((obs.weight == np.floor(obs.weight)).all())
        fitting = min(_SAMPLES, _MOST_NUMBERS // max(obs.n * len(obs.space.names), 1))
        n_resamples = fitting if fitting >= _FEWEST_SAMPLES else 0
        is_tested = integral and not obs.batch_shape and (n_resamples > 0 or find_groups(obs) is None)
        n_resamples *= is_tested
    elif not _checks.whole_number("n_resamples", n_resamples, 0):
        is_tested = False
    if n_shuffles is None:
        n_shuffles = default_shuffles(len(obs.space.names), max(n_resamples, SHUFFLES)) * is_tested
    return n_resamples, _checks.whole_number("n_shuffles", n_shuffles, 0)


def default_shuffles(n_parameters: int, n_samples: int = SHUFFLES) -> int:
    """Default number of shuffles: at least the number of samples, and enough for adjusted p-values."""
    least = round(n_parameters / SIGNIFICANCE)  # with fewer no adjusted p-value can be 0.05 or less
    return max(n_samples, least, min(2 * least, _MOST_SHUFFLES))


def replicate(
    key: Any,
    losses: np.ndarray,
    log: Encoded,
    estimates: Importance,
    how: How,
    numbers: Sequence[int],
) -> Replicates:
    """Samples of the rows and shuffles of the losses of a log.

    ``log`` and ``estimates`` belong to the ``losses`` (s, n), which are NaN in unusable rows. ``numbers`` has
    the number of samples and the number of shuffles.
    """
    shape, counts = estimates.variance.shape, estimates.counts
    if not any(numbers):
        return Replicates.none(shape)
    if log.weight is not None:
        log, losses = _repeat_rows(log, losses, log.weight)
    log = replace(log, rank=loss_ranks(losses, log.codes.shape[2]))
    counts = np.rint(counts).astype(np.int64).reshape(-1, *counts.shape[-2:])
    sampled, shuffled = draw_replicates(key, log, counts, numbers, how[0], how[1])
    usable = ~np.isnan(losses)
    n_rows = n_groups = usable.sum(axis=1)
    if log.groups is not None:
        seeds = zip(log.groups[:, : usable.shape[1]], usable, strict=True)
        n_groups = np.array([len(np.unique(numbers[rows])) for numbers, rows in seeds])
    # The mean of m of n rows, drawn without replacement, deviates sqrt((n - m) / m) times as much as the mean
    # of n new rows.
    spread = np.sqrt(n_groups // 2 / np.maximum(n_groups - n_groups // 2, 1))
    p_value = p_values(estimates.variance.reshape(-1, *shape[-2:]), shuffled).reshape(shape)
    spread, n_rows = (x.reshape(shape[:-2]) for x in (spread, n_rows))
    sampled = np.moveaxis(sampled, 1, 0).reshape(-1, *shape)
    return Replicates(sampled, p_value, spread, n_rows, numbers[1])


def loss_ranks(losses: np.ndarray, rows: int) -> np.ndarray:
    """(s, rows) int32 number of usable rows with a smaller loss; ``rows`` for rows that are left out."""
    ranks = np.full((len(losses), rows), rows, np.int32)
    for rank, loss in zip(ranks, losses, strict=True):
        places = level_sets(loss, None, (0.5,), 1.0, "ceil")[1]
        rank[: len(loss)] = np.where(np.isnan(loss), rows, places)
    return ranks


def draw_replicates(
    key: PRNGKeyArray,
    encoded: Encoded,
    counts: np.ndarray,
    numbers: Sequence[int],
    divergence: AbstractDivergence,
    reference: str,
) -> tuple[Float[np.ndarray, "s b q d"], Float[np.ndarray, "s b2 q d"]]:
    """Within-regime variances (Eq. 11 of arXiv 2601.20800) of samples of the rows, and of shuffles.

    The cut-offs of a sample are computed from the sample; losses are shuffled within regimes. A sample has
    the same rows for all parameters and levels. A single log has the same samples as in
    `parzax.importance.resample` with the same key. With several seeds the number of each seed is folded into
    the key.

    Args:
        key: a typed key.
        encoded: s logs, with ranks and without weights.
        counts: (s, q + 1, w) integer counts of the logs; see `parzax.importance.counts.sweep_counts`.
        numbers: number of samples and number of shuffles.
        divergence, reference: as in `parzax.importance.resample`; static. The program is compiled
            once for all values of the levels.
    """
    (s, d, m), (_, q1, w) = encoded.codes.shape, counts.shape
    keys = key[None] if s == 1 else jax.vmap(lambda seed: jax.random.fold_in(key, seed))(np.arange(s))
    # The levels are sorted, so that one program serves all orders of levels.
    counts = counts[:, [*np.argsort(encoded.levels, kind="stable"), q1 - 1]]
    levels, size_rule = (*sorted(encoded.levels), encoded.region), encoded.grid.level_size
    logs, needed = replace(encoded, levels=levels[:-1]), [None] * s
    if encoded.groups is None:  # one program for all values of the levels
        sizes = ((np.asarray(encoded.rank) < m).sum(axis=1) // 2).tolist()
        needed = [level_weights(levels, np.float64(n), True, size_rule).astype(np.int32) for n in sizes]
        logs = without_values(logs)
    place = encoded.place
    # A call computes a part of the replicates of one seed; calls run side by side.
    n_units, size = [math.ceil(n / UNIT) for n in numbers], q1 * w
    size = size if encoded.groups is None else max(size, m)
    n_calls = max(min(math.ceil(sum(n_units) * UNIT * size / _CALL), max(n_units)), 1)
    n_sampled, n_shuffled = (math.ceil(n / n_calls) * UNIT for n in n_units)
    fitting = min(UNIT, _ROWS // (m * d), _COUNTS // (q1 * w))
    how = {"batch": 1 << max(fitting, 1).bit_length() - 1, "n_sampled": n_sampled}
    how |= {"divergence": divergence, "reference": reference}
    words, x64 = np.asarray(jax.random.key_data(key)).tolist(), jnp.result_type(float) == jnp.float64

    def variances(number: int) -> np.ndarray:
        seed, call = divmod(number, n_calls)
        log, shuffled = jax.tree.map(itemgetter(seed), logs), [np.zeros((0, q1, w), np.int32)]
        for start in range(call * n_shuffled, (call + 1) * n_shuffled, UNIT):
            shuffled.append(shuffled_counts([*words, seed, start], counts[seed], log, UNIT))
        first, rows = np.int32(call * n_sampled), np.concatenate(shuffled)
        with jax.enable_x64(x64):  # set in each thread, because threads do not inherit the setting
            return np.asarray(compiled_replicates(keys[seed], first, rows, log, needed[seed], **how))

    parts = [variances(0)]  # the first call compiles
    with ThreadPoolExecutor(max(min(s * n_calls - 1, os.cpu_count() or 1), 1)) as pool:
        parts += pool.map(variances, range(1, s * n_calls))
    by_call = np.stack(parts).reshape(s, n_calls, -1, q1 - 1, d)[..., place, :]
    split = np.split(by_call, [n_sampled], axis=2)
    sampled, shuffled = (x.reshape(s, -1, q1 - 1, d)[:, :n] for x, n in zip(split, numbers, strict=True))
    return sampled, shuffled


@partial(compiled, size="middling")
def compiled_replicates(
    key: PRNGKeyArray,
    first: Int[Any, ""],
    shuffled: Int[Any, "b q1 w"],
    log: Encoded,
    needed: Int[Any, " q1"] | None,
    *,
    batch: int,
    n_sampled: int,
    divergence: AbstractDivergence,
    reference: str,
) -> Float[Array, "r q d"]:
    """Variances of ``n_sampled`` samples of one log, from number ``first`` on, and of ``shuffled`` counts.

    ``log`` has ascending levels; ``needed`` is as in `sample_counter`. Replicates are computed in
    batches of ``batch``.
    """
    log, shuffled = jax.tree.map(jnp.asarray, (log, shuffled))
    counts = count_configurations(shuffled, log)

    def in_batches(function: Any, x: Array) -> Array:
        return jnp.concatenate(jax.lax.map(function, x.reshape(-1, batch, *x.shape[1:])))

    def estimate(counts: Shaped[Array, "b q1 w"]) -> Float[Array, "b q d"]:
        status = jnp.zeros((batch, counts.shape[1] - 1), jnp.int32)
        return from_counts(counts, status, log.layout, (divergence, reference, False, False)).variance

    if n_sampled:
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(first + jnp.arange(n_sampled, dtype=jnp.int32))
        counts = jnp.concatenate([in_batches(sample_counter(log, needed), keys), counts])
    return in_batches(estimate, counts)  # of both, so that the divergence is compiled once


# Shuffles are drawn on the host: there 10,000 of 5,000 rows take 0.6 s, `parzax.importance.shuffle` 13 s.


def shuffled_counts(seed: Sequence[int], counts: np.ndarray, log: Encoded | Counts, n: int) -> np.ndarray:
    """Counts of ``n`` logs whose losses were shuffled within the regimes of each parameter.

    Rows that belong together in groups are shuffled by `_shuffled_groups`. Otherwise the target rows of a
    regime are then a random subset of its rows, so that their numbers per cell are multivariate
    hypergeometric. The draws of different parameters are independent, and the draws of a set do not depend on
    the other sets. If the rows are few, the rows are shuffled. If they are many, the counts are drawn
    directly, in a time that does not depend on the number of rows.

    Args:
        seed: seed of the random numbers.
        counts: (q + 1, w) whole numbers, target sets in ascending order and the region, see `sweep_counts`.
        log: the log of the counts, without weights.
        n: number of shuffles.

    Returns:
        (n, q + 1, w) int32; without groups the region's row and the columns of inactive rows are those of
        ``counts``.
    """
    rng, layout = np.random.default_rng(seed), log.layout
    if isinstance(log, Encoded) and log.groups is not None:
        return _shuffled_groups(rng, log, n)
    shuffled = np.repeat(counts[None].astype(np.int32), n, axis=0)
    set_sizes = counts[:-1, : layout.n_codes[0]].sum(axis=1)
    rng_of_set = [np.random.default_rng([*seed, size]) for size in set_sizes.tolist()]
    for block in layout.blocks:
        columns = slice(block.start, block.start + block.n_cells)
        region = counts[-1, columns]
        occupied = np.flatnonzero(region)
        if len(occupied) > 1:
            cells, sizes = region[occupied], counts[:-1, columns].sum(axis=1)
            few = region.sum() <= _MOST_ROWS
            drawn = _shuffled(rng, cells, sizes, n) if few else _drawn(rng_of_set, cells, sizes, n)
            # A slice if possible: indexing by a list takes several times as long.
            shuffled[:, :-1, columns if len(occupied) == block.n_cells else block.start + occupied] = drawn
    return shuffled


def _shuffled(rng: np.random.Generator, region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """(n, sets, cells) rows per cell of target sets: the first ``sizes`` rows of the shuffled region."""
    cells = np.repeat(np.arange(len(region), dtype=np.uint32), region)
    rows = rng.permuted(np.broadcast_to(cells, (n, len(cells))), axis=1)[:, : sizes[-1]]
    first_set = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
    place = (np.arange(n)[:, None] * len(sizes) + first_set) * len(region) + rows
    added = np.bincount(place.reshape(-1), minlength=n * len(sizes) * len(region))
    return added.astype(np.int32).reshape(n, len(sizes), len(region)).cumsum(axis=1, dtype=np.int32)


def _drawn(rngs: Sequence[np.random.Generator], region: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """Draw the rows per cell of each target set separately; sets of different levels are not nested."""
    pairs = zip(rngs, sizes, strict=True)
    drawn = [rng.multivariate_hypergeometric(region, size, n, method="marginals") for rng, size in pairs]
    return np.stack(drawn, axis=1)


def _shuffled_groups(rng: np.random.Generator, log: Encoded, n: int) -> np.ndarray:
    """(n, q + 1, w) counts of shuffles of a log whose rows belong together in groups.

    For each parameter, the rows of a group in one regime are one unit. The units of a regime exchange their
    lists of cells; a unit with more rows than the list that it gets repeats the list. So the region's counts
    change too if units differ in their numbers of rows.
    """
    layout, n_sets, groups = log.layout, len(log.levels) + 1, np.asarray(log.groups)
    counts = np.zeros((n, n_sets, layout.n_columns), np.int32)
    in_region = log.level < n_sets
    for block in layout.blocks:
        cell = log.codes[block.parameter].astype(np.int64) + layout.offsets[block.parameter] - block.start
        rows = np.flatnonzero(in_region & (cell >= 0) & (cell < block.n_cells))
        rows = rows[np.argsort(groups[rows], kind="stable")]
        _, start, unit, length = np.unique(
            groups[rows], return_index=True, return_inverse=True, return_counts=True
        )
        listed, place = cell[rows], np.arange(len(rows)) - start[unit]
        if (listed == listed[start][unit]).all():
            place[:] = 0  # if all cells of a list are equal, positions in the list do not matter
        entries, n_rows = np.unique(np.stack([unit, log.level[rows], place]), axis=1, return_counts=True)
        unit, level, place = entries
        other = rng.permuted(np.broadcast_to(np.arange(len(start)), (n, len(start))), axis=1)[:, unit]
        cells = listed[start[other] + place % length[other]]
        place = (np.arange(n)[:, None] * n_sets + level) * block.n_cells + cells
        size = n * n_sets * block.n_cells
        added = np.bincount(place.reshape(-1), np.tile(n_rows, n), size).astype(np.int32)
        columns = slice(block.start, block.start + block.n_cells)
        counts[:, :, columns] = added.reshape(n, n_sets, block.n_cells).cumsum(axis=1, dtype=np.int32)
    return counts


def p_values(variance: np.ndarray, shuffled: np.ndarray) -> np.ndarray:
    """(s, q, d) p-values from (s, b, q, d) shuffled variances; NaN without shuffles, or if none can vary."""
    if not shuffled.shape[1]:
        return np.full(variance.shape, np.nan)
    reached = (shuffled >= variance[:, None] - _SAME * np.abs(variance[:, None])).sum(axis=1)
    p = (1 + reached) / (shuffled.shape[1] + 1)
    return np.where((shuffled == 0).all(axis=1) & (variance == 0), np.nan, p)


def _repeat_rows(log: Encoded, losses: np.ndarray, weight: np.ndarray) -> tuple[Encoded, np.ndarray]:
    """Repeat each row of a log, and its loss, as often as its weight says."""
    if (weight != np.floor(weight)).any():
        raise ValueError(
            "resampling needs weights that are whole numbers, as a row of weight 2 is two rows; leave the "
            "weights out, or set n_resamples=0."
        )
    times = weight.astype(np.int64)
    longest = int(times.sum(axis=1).max(initial=0))
    if longest > _MOST_REPEATED:
        raise ValueError(
            f"the weights stand for {longest} rows, too many to resample (at most {_MOST_REPEATED}); divide "
            "them, or set n_resamples=0."
        )
    rows = np.full((len(times), 1 << max(longest - 1, 0).bit_length()), -1)
    for filled, counts in zip(rows, times, strict=True):
        filled[: counts.sum()] = np.repeat(np.arange(len(counts)), counts)
    repeated = np.where(rows < 0, np.nan, np.take_along_axis(losses, rows, axis=1))
    groups = None if log.groups is None else np.take_along_axis(log.groups, rows, axis=1)
    codes = np.take_along_axis(log.codes, rows[:, None], axis=2)
    level = np.where(rows < 0, len(log.levels) + 1, np.take_along_axis(log.level, rows, axis=1))
    return replace(log, codes=codes, level=level, weight=None, groups=groups), repeated
