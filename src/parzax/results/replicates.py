"""Variances of random parts of a log, and with its losses shuffled: one compiled function for both."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, PRNGKeyArray, Shaped

from parzax._programs import program
from parzax.divergence import AbstractDivergence
from parzax.importance import Encoded
from parzax.importance.layout import Layout
from parzax.importance.regimes import estimate_regimes
from parzax.importance.resample import sample_counter, sample_size
from parzax.observations.levels import level_weight
from parzax.results.null import shuffled_counts

# Limits on what is computed side by side: scattered entries, counts, and replicates.
_ROWS, _COUNTS, _MOST = 1 << 18, 1 << 16, 64
# Counts of shuffles in one call of the compiled function, about; calls run side by side.
_SHUFFLED = 1 << 22


def replicates(
    key: PRNGKeyArray,
    encoded: Encoded,
    counts: Shaped[np.ndarray, "s q1 w"],
    *,
    n_samples: int,
    n_shuffles: int,
    method: str,
    **static: Any,
) -> tuple[Float[np.ndarray, "s b q d"], Float[np.ndarray, "s b2 q d"]]:
    """Within-regime variances (Eq. 11 of arXiv 2601.20800) of samples of the rows, and of shuffles.

    Samples have cut-offs of their own; losses are shuffled within regimes. All parameters and levels see the
    same rows in a sample. The samples of a log are those that `parzax.importance.resample` draws with the
    same key; of several seeds, with keys folded by the seed.

    Args:
        key: a typed key.
        encoded: the codes and ranks of s logs.
        counts: of the whole logs, whole numbers; see `parzax.importance.counts.sweep_counts`.
        n_samples, n_shuffles: how many of each.
        method, static: of `compiled_replicates`, which compiles once for all values of the levels.
    """
    (s, d, m), (_, q1, w) = encoded.codes.shape, counts.shape
    side_by_side = min(_MOST, _ROWS // (m * d), _COUNTS // ((q1 + 1) * w), max(n_samples, n_shuffles))
    b = 1 << max(side_by_side, 1).bit_length() - 1
    in_all = tuple(math.ceil(n / b) for n in (n_samples, n_shuffles))
    # A call has a part of the replicates of one seed.
    n_parts = max(min(math.ceil(in_all[1] * b * q1 * w / _SHUFFLED), max(in_all)), 1)
    rounds = tuple(math.ceil(n / n_parts) for n in in_all)
    words, x64 = np.asarray(jax.random.key_data(key)).tolist(), jnp.result_type(float) == jnp.float64
    levels, raw = (*sorted(encoded.levels), encoded.region), encoded.grid.optuna_rounding
    ranks, static = np.asarray(encoded.rank), static | {"layout": encoded.layout, "method": method}
    sizes = sample_size((ranks < m).sum(axis=1), method).tolist()
    needed = np.array([[level_weight(level, size, raw=raw) for level in levels] for size in sizes], np.int32)
    keys = key[None] if s == 1 else jax.vmap(lambda seed: jax.random.fold_in(key, seed))(np.arange(s))

    def variances(call: int) -> np.ndarray:
        seed, part = divmod(call, n_parts)
        rng = np.random.default_rng([*words, part, seed])
        null = np.zeros((0, q1, w), np.int32)
        if rounds[1]:
            null = shuffled_counts(rng, counts[seed], encoded.layout, rounds[1] * b)
        first, rows = np.int32(part * rounds[0] * b), (encoded.codes[seed], ranks[seed], needed[seed])
        with jax.enable_x64(x64):  # which holds for a thread
            null = null.reshape(-1, b, q1, w)
            replicated = compiled_replicates(keys[seed], first, *rows, null, rounds=rounds, **static)
            return np.asarray(replicated).reshape(-1, q1 - 1, d)

    calls = [variances(0)]  # compiles
    with ThreadPoolExecutor(max(min(s * n_parts - 1, os.cpu_count() or 1), 1)) as pool:
        calls += pool.map(variances, range(1, s * n_parts))
    every = np.stack(calls).reshape(s, n_parts, -1, q1 - 1, d)
    sampled, shuffled = (part.reshape(s, -1, q1 - 1, d) for part in np.split(every, [rounds[0] * b], axis=2))
    return sampled[:, :n_samples], shuffled[:, :n_shuffles]


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
    divergence: AbstractDivergence,
    uniform: bool,
    method: str,
) -> Float[Array, "r b q d"]:
    """Variances of rounds of b samples of one log, from the ``first`` on, then of the counts of shuffles.

    ``null`` has the counts of the shuffles, b in a round; ``rounds`` says how many there are of samples and
    of shuffles. See `parzax.importance.resample` for ``method``, `sample_counter` for ``needed``.
    """
    b = null.shape[1]
    count = sample_counter(jnp.asarray(codes), jnp.asarray(rank), jnp.asarray(needed), layout, method)

    def sampled(number: Int[Array, ""]) -> Int[Array, "b q1 w"]:
        samples = first + number * b + jnp.arange(b, dtype=jnp.int32)
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(samples)
        return count(keys)

    def shuffled(number: Int[Array, ""]) -> Int[Array, "b q1 w"]:
        return jnp.asarray(null)[number - rounds[0]]

    def one_round(number: Int[Array, ""]) -> Float[Array, "b q d"]:
        if 0 in rounds:
            counts = (shuffled if rounds[1] else sampled)(number)
        else:  # what follows is compiled once for both
            counts = jax.lax.cond(number < rounds[0], sampled, shuffled, number)
        return estimate_regimes(counts, layout, divergence, uniform).variance

    return jax.lax.map(one_round, jnp.arange(sum(rounds), dtype=jnp.int32))
