"""Variances of random samples of a log, and of logs with shuffled losses: one compiled function for both."""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from parzax._compile import compiled
from parzax.divergence import AbstractDivergence
from parzax.importance import Encoded
from parzax.importance.counts import configuration_share
from parzax.importance.encode import without_values
from parzax.importance.estimate import from_counts
from parzax.importance.levels import level_weights
from parzax.importance.resample import sample_counter, sample_size
from parzax.lens.results.shuffles import shuffled_counts, shuffled_group_counts

# Limits of a batch: scattered entries, counts, and replicates.
_ROWS, _COUNTS, _MOST = 1 << 18, 1 << 16, 64
# Approximate number of counts of shuffles in one compiled call; calls run side by side.
_SHUFFLED = 1 << 22
# Number of shuffles drawn from one seed. It is fixed, so that the shuffles do not depend on the size of a
# batch or call.
_SEEDED = 16


def draw_replicates(
    key: PRNGKeyArray, encoded: Encoded, counts: np.ndarray, numbers: Sequence[int], **static: Any
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
        static: static arguments of `compiled_replicates`, which compiles once for all values of the levels.
    """
    (s, d, m), (_, q1, w) = encoded.codes.shape, counts.shape
    keys = key[None] if s == 1 else jax.vmap(lambda seed: jax.random.fold_in(key, seed))(np.arange(s))
    # The levels are sorted, so that one program serves all orders of levels.
    counts = counts[:, [*np.argsort(encoded.levels, kind="stable"), q1 - 1]]
    side_by_side = min(_MOST, _ROWS // (m * d), _COUNTS // ((q1 + 1) * w), max(numbers))
    b = 1 << max(side_by_side, 1).bit_length() - 1
    # A call computes a part of the replicates of one seed: rounds of samples, and units of shuffles.
    unit, size = max(b, _SEEDED), q1 * w if encoded.groups is None else max(q1 * w, m)
    n_rounds, n_units = math.ceil(numbers[0] / b), math.ceil(numbers[1] / unit)
    n_parts = max(min(math.ceil(n_units * unit * size / _SHUFFLED), max(n_rounds, n_units)), 1)
    n_shuffled = math.ceil(n_units / n_parts) * unit
    rounds = math.ceil(n_rounds / n_parts), n_shuffled // b
    words, x64 = np.asarray(jax.random.key_data(key)).tolist(), jnp.result_type(float) == jnp.float64
    levels, raw = (*sorted(encoded.levels), encoded.region), encoded.grid.optuna_rounding
    ascending = replace(encoded, levels=levels[:-1])
    if encoded.groups is None:  # one program for all values of the levels
        ascending = without_values(ascending)
    sizes = sample_size((np.asarray(encoded.rank) < m).sum(axis=1), static["method"]).tolist()
    needed = np.array([level_weights(levels, np.float64(n), True, raw) for n in sizes]).astype(np.int32)

    def variances(call: int) -> np.ndarray:
        seed, part = divmod(call, n_parts)
        log, null = jax.tree.map(itemgetter(seed), ascending), [np.zeros((0, q1, w), np.int32)]
        for start in range(part * n_shuffled, (part + 1) * n_shuffled, _SEEDED):
            seeds = [*words, seed, start]
            if log.groups is None:
                null.append(shuffled_counts(seeds, counts[seed], log.layout, _SEEDED))
            else:
                null.append(shuffled_group_counts(seeds, log, _SEEDED))
        first = np.int32(part * rounds[0] * b)
        rows = log, needed[seed] if log.groups is None else None
        with jax.enable_x64(x64):  # set in each thread, because threads do not inherit the setting
            by_round = np.concatenate(null).reshape(-1, b, q1, w)
            how = {"rounds": rounds, **static}
            return np.asarray(compiled_replicates(keys[seed], first, by_round, *rows, **how))

    calls = [variances(0)]  # the first call compiles
    with ThreadPoolExecutor(max(min(s * n_parts - 1, os.cpu_count() or 1), 1)) as pool:
        calls += pool.map(variances, range(1, s * n_parts))
    by_part = np.stack(calls).reshape(s, n_parts, sum(rounds) * b, q1 - 1, d)[..., encoded.place, :]
    parts = np.split(by_part, [rounds[0] * b], axis=2)
    sampled, shuffled = (x.reshape(s, -1, q1 - 1, d)[:, :n] for x, n in zip(parts, numbers, strict=True))
    return sampled, shuffled


@compiled(size="middling")
def compiled_replicates(
    key: PRNGKeyArray,
    first: Int[Any, ""],
    null: Int[Any, "t b q1 w"],
    log: Encoded,
    needed: Int[Any, " q1"] | None,
    *,
    rounds: tuple[int, int],
    divergence: AbstractDivergence,
    reference: str,
    method: str,
) -> Float[Array, "r b q d"]:
    """Variances of rounds of b samples of one log, from number ``first`` on, and then of shuffles.

    ``null`` has the counts of the shuffles, b per round. ``rounds`` has the number of rounds of samples and
    of shuffles. ``log`` has ascending levels; ``needed`` is as in `sample_counter`, and ``method`` as in
    `parzax.importance.resample`.
    """
    log, b = jax.tree.map(jnp.asarray, log), null.shape[1]
    count = sample_counter(log, method, None if needed is None else jnp.asarray(needed))
    share = None if log.counted_groups is None else configuration_share(log)

    def sampled(number: Int[Array, ""]) -> Shaped[Array, "b q1 w"]:
        samples = first + number * b + jnp.arange(b, dtype=jnp.int32)
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(samples)
        return count(keys)

    def shuffled(number: Int[Array, ""]) -> Shaped[Array, "b q1 w"]:
        counts = jnp.asarray(null)[number - rounds[0]]
        return counts if share is None else counts.astype(share.dtype) * share

    def one_round(number: Int[Array, ""]) -> Float[Array, "b q d"]:
        if 0 in rounds:
            counts = (shuffled if rounds[1] else sampled)(number)
        else:  # samples and shuffles are in one program, so that the divergence is compiled once
            counts = jax.lax.cond(number < rounds[0], sampled, shuffled, number)
        status = jnp.zeros((counts.shape[0], counts.shape[1] - 1), jnp.int32)
        return from_counts(counts, status, log.layout, (divergence, reference, False, False)).variance

    return jax.lax.map(one_round, jnp.arange(sum(rounds), dtype=jnp.int32))
