"""Variances of random parts of a log, and with its losses shuffled: one compiled function for all."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, Shaped

from parzax._programs import program
from parzax.divergence import AbstractDivergence
from parzax.importance.layout import Layout
from parzax.importance.measures import measures
from parzax.importance.resample import Ranked, sampled_counts
from parzax.results.null import shuffled_counts

# Numbers that are counted, and counts, of as many replicates as are computed side by side.
_ROWS, _COUNTS, _MOST = 1 << 18, 1 << 16, 64
# Counts of shuffles in one call of the compiled function, about; calls run side by side.
_SHUFFLED = 1 << 22


class Replicates(NamedTuple):
    """Within-regime variances (Eq. 11 of arXiv 2601.20800) of samples of the rows, and of shuffles."""

    sampled: Float[np.ndarray, "s b q d"]
    shuffled: Float[np.ndarray, "s b q d"]


def replicates(
    key: PRNGKeyArray,
    rows: Ranked,
    counts: Shaped[np.ndarray, "s q1 w"],
    *,
    n_samples: int,
    n_shuffles: int,
    layout: Layout,
    divergence: AbstractDivergence,
    uniform: bool = False,
    method: str = "half-sampling",
) -> Replicates:
    """Samples of the rows, with cut-offs of their own, and shuffles of the losses within regimes.

    All parameters and levels see the same rows in a sample. The samples of a log are those that
    `parzax.importance.resample` draws with the same key; of several seeds, with keys folded by the seed.

    Args:
        key: a typed key.
        rows: the logs, s seeds, of NumPy arrays.
        counts: of the whole logs, whole numbers; see `parzax.importance.counts.sweep_counts`.
        n_samples, n_shuffles: how many of each.
        layout, divergence, uniform: as in `parzax.importance.estimate`.
        method: "half-sampling" (without replacement) or "bootstrap".
    """
    (s, d, n), (_, q1, w) = rows.codes.shape, counts.shape
    side_by_side = min(_MOST, _ROWS // (n * d), _COUNTS // ((q1 + 1) * w), max(n_samples, n_shuffles))
    b = 1 << max(side_by_side, 1).bit_length() - 1
    in_all = tuple(math.ceil(x / b) for x in (n_samples, n_shuffles))
    # A call is some seeds with all of their shuffles, or a part of the shuffles of one.
    of_seed = max(in_all[1] * b * q1 * w, 1)
    parts = min(math.ceil(of_seed / _SHUFFLED), max(*in_all, 1))
    groups = math.ceil(s / max(_SHUFFLED // of_seed, 1))
    rounds, side = tuple(math.ceil(x / parts) for x in in_all), math.ceil(s / groups)
    seed, x64 = np.asarray(jax.random.key_data(key)).tolist(), jnp.result_type(float) == jnp.float64
    keys = key[None] if s == 1 else jax.vmap(lambda i: jax.random.fold_in(key, i))(np.arange(s))

    def call(i: int) -> np.ndarray:
        group = np.minimum(np.arange(side) + i // parts * side, s - 1)  # filled up with the last seed
        null = np.zeros((side, rounds[1] * b, q1, w), np.int32)
        if rounds[1]:
            for own, j in zip(null, group, strict=True):
                own[:] = shuffled_counts(np.random.default_rng([*seed, i, j]), counts[j], layout, len(own))
        first = np.int32(i % parts * rounds[0] * b)
        with jax.enable_x64(x64):  # which holds for a thread
            found = compiled_replicates(
                keys[group], first, Ranked(*(np.asarray(x)[group] for x in rows)), null.reshape(-1, b, q1, w),
                n_levels=q1 - 1, rounds=rounds, side_by_side=b, layout=layout, divergence=divergence,
                uniform=uniform, method=method,
            )  # fmt: skip
            return np.asarray(found).reshape(side, sum(rounds) * b, q1 - 1, d)

    found = [call(0)]  # compiles
    with ThreadPoolExecutor(max(min(groups * parts - 1, os.cpu_count() or 1), 1)) as pool:
        found += pool.map(call, range(1, groups * parts))
    # (parts, all seeds, replicates of a part, levels, parameters)
    every = np.stack([np.concatenate(found[part::parts])[:s] for part in range(parts)])
    of_samples, of_shuffles = (
        np.concatenate(list(x), axis=1) for x in np.split(every, [rounds[0] * b], axis=2)
    )
    return Replicates(of_samples[:, :n_samples], of_shuffles[:, :n_shuffles])


@program(size="middling")
def compiled_replicates(
    keys: Key[Array, " s"],
    first: Int[Any, ""],
    rows: Ranked,
    null: Int[Any, "t b q1 w"],
    *,
    n_levels: int,
    rounds: tuple[int, int],
    side_by_side: int,
    layout: Layout,
    divergence: AbstractDivergence,
    uniform: bool,
    method: str,
) -> Float[Array, "all b q d"]:
    """`replicates` as one compiled function: rounds of samples, then of shuffles, of each seed in turn.

    The ``null`` holds the counts of the shuffles; ``first`` is the number of the first sample.
    """
    s = len(rows.codes)
    seed, shuffles = np.repeat(np.arange(s), sum(rounds)), np.tile(np.repeat([False, True], rounds), s)
    place, number = np.cumsum(shuffles) - 1, np.tile(np.arange(sum(rounds)), s)
    arrays = jax.tree.map(jnp.asarray, rows)

    def sampled(seed: Int[Array, ""], number: Int[Array, ""], _: Int[Array, ""]) -> Int[Array, "b q1 w"]:
        samples = first + number * side_by_side + jnp.arange(side_by_side, dtype=jnp.int32)
        own = jax.vmap(lambda i: jax.random.fold_in(keys[seed], i))(samples)
        of_seed = jax.tree.map(lambda x: x[seed], arrays)
        return sampled_counts(own, of_seed, layout=layout, n_levels=n_levels, method=method)

    def shuffled(_: Int[Array, ""], __: Int[Array, ""], place: Int[Array, ""]) -> Int[Array, "b q1 w"]:
        return null[place]

    def one_round(_: None, now: Any) -> tuple[None, Float[Array, "b q d"]]:
        shuffle, *own = now
        if 0 in rounds:
            counts = (shuffled if rounds[1] else sampled)(*own)
        else:  # what follows is compiled once for both
            counts = jax.lax.cond(shuffle, shuffled, sampled, *own)
        return None, measures(counts, layout, divergence, uniform).variance

    rest = tuple(jnp.asarray(x.astype(np.int32)) for x in (seed, number, np.maximum(place, 0)))
    return jax.lax.scan(one_round, None, (jnp.asarray(shuffles), *rest))[1]
