"""Counts per (level, cell): one pass over the rows, then a running sum over the levels."""

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer, Shaped

from parzax.importance.layout import Layout

# Below this many (row, parameter) pairs one flat scatter is fastest on a CPU; above it, a loop over the
# columns, whose counts stay in the first-level cache.
_FLAT_LIMIT = 1 << 17
# Largest number of joint counts of two columns, so that they fit the first-level cache.
_PAIR_LIMIT = 1 << 13
# Largest number of columns for which all pairs are unrolled; more would take too long to compile.
_MOST_PAIRED = 32
# Running sums over up to this many levels are unrolled.
_WRITTEN_OUT = 4


def sweep_counts(
    codes: Integer[Array, "#s d n"],
    level: Integer[Array, "s *d n"],
    weight: Shaped[Array, "s n"] | None,
    *,
    place: tuple[int, ...],
    layout: Layout,
) -> Shaped[Array, "s q1 w"]:
    """Rows (weight) of every level set, and of the region last, in the columns of ``layout``.

    ``level`` is the first set that holds a row, (s, n), or (s, d, n) if it differs between parameters.
    ``codes`` may have a single seed, which is then used for all seeds. Set i of the answer is at position
    ``place[i]`` in ascending order.
    """
    arrays = codes, level.astype(jnp.int32), weight
    sets = len(place) + 2
    flat = partial(_flat_histogram, sets=sets, layout=layout)
    if codes.size <= _FLAT_LIMIT or len(codes) < len(level) or level.ndim == 3:
        histogram = flat(*arrays)
    else:
        by_column = partial(_histograms_by_column, sets=sets, layout=layout)
        cpu = partial(by_column, most_pairs=_PAIR_LIMIT, over_seeds=jax.lax.map)
        # On an accelerator the time is proportional to the scattered entries, so pairs of columns halve it.
        n_columns, n_rows = codes.shape[1:]
        paired = partial(by_column, most_pairs=n_rows, over_seeds=lambda count, seeds: jax.vmap(count)(seeds))
        pairs_pay = n_columns <= _MOST_PAIRED and sets * max(layout.n_codes) ** 2 <= n_rows
        default = paired if pairs_pay else flat
        histogram = jax.lax.platform_dependent(*arrays, cpu=cpu, default=default)
    counts = running_sum(histogram[:, :-1])
    return counts if list(place) == sorted(place) else counts[:, np.array([*place, len(place)])]


def _flat_histogram(
    codes: Integer[Array, "#s d n"],
    level: Int[Array, "s *d n"],
    weight: Shaped[Array, "s n"] | None,
    sets: int,
    layout: Layout,
) -> Shaped[Array, "s l w"]:
    """(level, column) counts of all seeds by one scatter."""
    n_seeds = len(level)
    seed = jnp.arange(n_seeds, dtype=jnp.int32)[:, None, None]
    column = jnp.asarray(layout.offsets, jnp.int32)[None, :, None] + codes.astype(jnp.int32)
    level = level[:, None, :] if level.ndim == 2 else level
    bins = (seed * sets + level) * layout.n_columns + column
    # Not flattened, so that each device counts its own rows.
    weights = None if weight is None else jnp.broadcast_to(weight[:, None, :], bins.shape)
    histogram = _histogram(bins, weights, n_seeds * sets * layout.n_columns)
    return histogram.reshape(n_seeds, sets, layout.n_columns)


def _histograms_by_column(
    codes: Integer[Array, "s d n"],
    level: Int[Array, "s n"],
    weight: Shaped[Array, "s n"] | None,
    sets: int,
    layout: Layout,
    most_pairs: int,
    over_seeds: Callable[[Callable[..., Array], Any], Array],
) -> Shaped[Array, "s l w"]:
    """`_flat_histogram`, computed seed by seed and column by column, so that counts stay in a CPU's cache.

    If two columns have up to ``most_pairs`` joint counts, these are made, and sums give those of each column.
    """
    width = max(layout.n_codes)

    def count_seed(seed: tuple[Array, Array, Array | None]) -> Shaped[Array, "d l g"]:
        codes, level, weight = seed

        def count(*columns: Integer[Array, " n"]) -> Shaped[Array, "l ..."]:
            bins = level
            for column in columns:
                bins = bins * width + column.astype(jnp.int32)
            histogram = _histogram(bins, weight, sets * width ** len(columns))
            return histogram.reshape(sets, *[width] * len(columns))

        if sets * width**2 > most_pairs or len(codes) > _MOST_PAIRED:
            return jax.lax.map(count, codes)
        counts = []
        # Pairs of columns halve the number of scatters; sums then give both columns. The loop is unrolled,
        # because XLA would otherwise compute the bins within the scatter.
        for left in range(0, len(codes) - 1, 2):
            joint = count(codes[left], codes[left + 1])
            counts += [joint.sum(axis=2, dtype=joint.dtype), joint.sum(axis=1, dtype=joint.dtype)]
        return jnp.stack(counts if len(codes) % 2 == 0 else [*counts, count(codes[-1])])

    columns = jnp.moveaxis(over_seeds(count_seed, (codes, level, weight)), 1, 2)
    sizes = np.array(layout.n_codes)
    if (sizes == columns.shape[-1]).all():
        return columns.reshape(*columns.shape[:2], -1)
    column = np.repeat(np.arange(len(sizes)), sizes)
    cell = np.arange(layout.n_columns) - np.repeat(np.array(layout.offsets), sizes)
    return columns[:, :, jnp.asarray(column), jnp.asarray(cell)]


def _histogram(bins: Array, weight: Array | None, size: int) -> Array:
    # The bins are in range by construction, so the scatter needs no bounds check.
    ones = jnp.ones((), jnp.int32) if weight is None else weight
    return jnp.zeros(size, ones.dtype).at[bins].add(ones, mode="promise_in_bounds")


def running_sum(x: Shaped[Array, "*s l g"]) -> Shaped[Array, "*s l g"]:
    """Cumulative sum over the levels: unrolled for few levels, otherwise in the platform's fastest form.

    On a CPU jnp.cumsum is ten times slower than a scan, and a loop over few levels costs more than its
    additions. On an accelerator a scan is a loop of tiny kernels.
    """
    if x.shape[-2] <= _WRITTEN_OUT:
        return jnp.stack(list(accumulate(jnp.moveaxis(x, -2, 0))), axis=-2)

    def scanned(x: Array) -> Array:
        rows = jnp.moveaxis(x, -2, 0)
        _, sums = jax.lax.scan(lambda total, row: (total + row, total + row), jnp.zeros_like(rows[0]), rows)
        return jnp.moveaxis(sums, 0, -2)

    return jax.lax.platform_dependent(x, cpu=scanned, default=partial(jax.lax.cumsum, axis=x.ndim - 2))
