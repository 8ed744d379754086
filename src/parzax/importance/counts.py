"""Counts per (level, cell): one pass over the rows, then a running sum over the levels."""

from functools import partial
from itertools import accumulate
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from parzax._checks import vectors
from parzax.observations import Layout

# Below this many (row, parameter) pairs one flat scatter is fastest on a CPU; above it, a loop over the
# columns, whose counts stay in the first-level cache.
_FLAT_LIMIT = 1 << 17
# Joint counts of two columns are worth it while they fit the first-level cache.
_PAIR_LIMIT = 1 << 13
# Sums of up to this many rows are written out.
_WRITTEN_OUT = 4


def level_counts(
    codes: Int[Array, " n"],
    level: Int[Array, " n"],
    weight: Shaped[Array, " n"] | None = None,
    *,
    n_levels: int,
    n_cells: int,
) -> Shaped[Array, "q1 g"]:
    """Counts of nested level sets on a grid, for one column of codes.

    Args:
        codes: (n,) grid cell of each row, in 0..g-1; other rows (and negative levels) are not counted.
        level: (n,) first level set that contains the row, 0..q-1; q for rows of the region only;
            q + 1 (or more) for rows outside it, and for padding.
        weight: (n,) frequency weights; None counts every row once. Integer weights give integer counts.
        n_levels: q.
        n_cells: g.

    Returns:
        (q + 1, g): row l counts the l-th level set, which holds all rows with level <= l; the last
        row counts the region. int32 without weights. Pure, unbatched, jit- and vmap-able.

    >>> import jax.numpy as jnp
    >>> level_counts(jnp.array([0, 1, 1]), jnp.array([0, 1, 3]), n_levels=2, n_cells=2).tolist()
    [[1, 0], [1, 1], [1, 1]]
    """
    codes, level = _bounded(codes, n_cells), _bounded(level, n_levels + 1)
    for name, array in (("codes", codes), ("level", level)):
        if not jnp.issubdtype(array.dtype, jnp.integer):
            raise TypeError(f"{name} must hold integers, got dtype {array.dtype}; convert it.")
    weight = None if weight is None else jnp.asarray(weight)
    vectors(codes=codes, level=level, **({} if weight is None else {"weight": weight}))
    if weight is not None and not jnp.issubdtype(weight.dtype, jnp.floating):
        weight = weight.astype(jnp.promote_types(weight.dtype, jnp.int32))  # sums of bytes would wrap round
    codes, first = codes.astype(jnp.int32), level.astype(jnp.int32)
    known = (codes >= 0) & (codes < n_cells) & (first >= 0)
    bins = jnp.where(known, first * n_cells + codes, (n_levels + 1) * n_cells)
    histogram = _histogram(bins, weight, (n_levels + 2) * n_cells)
    return running_sum(histogram.reshape(n_levels + 2, n_cells)[:-1], axis=0)


def _bounded(x: Any, high: int) -> Array:
    """Clipped to -1..high in its own dtype, before JAX turns 64 bits into 32 and wraps them round."""
    if isinstance(x, (np.ndarray, np.generic, list, tuple)):
        x = np.asarray(x)
        return jnp.asarray(np.clip(x, -1 if x.dtype.kind == "i" else 0, high) if x.dtype.kind in "iu" else x)
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return x
    low = -1 if jnp.issubdtype(x.dtype, jnp.signedinteger) else 0
    return jnp.clip(x, low, min(high, int(jnp.iinfo(x.dtype).max)))


def sweep_counts(
    codes: Int[Array, "s d n"],
    level: Int[Array, "s n"],
    weight: Shaped[Array, "s n"] | None,
    *,
    n_levels: int,
    layout: Layout,
) -> Shaped[Array, "s q1 w"]:
    """`level_counts` of all parameters and seeds at once, in the columns of ``layout``."""
    n_seeds = len(codes)
    rows_of_counts = n_levels + 2
    first = level.astype(jnp.int32)
    if codes.size <= _FLAT_LIMIT:
        seed = jnp.arange(n_seeds, dtype=jnp.int32)[:, None, None]
        offset = jnp.asarray(layout.offsets, jnp.int32)[:, None]
        row = (seed * rows_of_counts + first[:, None, :]) * layout.n_columns
        bins = row + offset + codes.astype(jnp.int32)
        flat_weight = None if weight is None else jnp.broadcast_to(weight[:, None, :], bins.shape).reshape(-1)
        size = n_seeds * rows_of_counts * layout.n_columns
        histogram = _histogram(bins.reshape(-1), flat_weight, size)
        histogram = histogram.reshape(n_seeds, rows_of_counts, layout.n_columns)
    else:
        width = layout.n_codes
        paired = rows_of_counts * width**2 <= _PAIR_LIMIT
        count = partial(
            _pair_histograms if paired else _column_histograms, levels=rows_of_counts, width=width
        )
        columns = jax.lax.map(lambda seed: count(*seed), (codes, first, weight))
        ends = [last - start + 1 for start, last in zip(layout.offsets, layout.inactive, strict=True)]
        histogram = jnp.concatenate([columns[:, j, :, :end] for j, end in enumerate(ends)], axis=-1)
    return running_sum(histogram[:, :-1], axis=1)


def _column_histograms(
    codes: Int[Array, "d n"],
    first: Int[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    levels: int,
    width: int,
) -> Shaped[Array, "d l g"]:
    """(level, cell) counts of one column after the other."""

    def one(column: Int[Array, " n"]) -> Shaped[Array, "l g"]:
        return _histogram(first * width + column.astype(jnp.int32), weight, levels * width)

    return jax.lax.map(one, codes).reshape(-1, levels, width)


def _pair_histograms(
    codes: Int[Array, "d n"],
    first: Int[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    levels: int,
    width: int,
) -> Shaped[Array, "d l g"]:
    """The same from joint counts of two columns at a time: half the scatters, then two sums."""
    counts = []
    # Written out, not looped: inside a loop XLA computes the bins one by one within the scatter.
    for left in range(0, len(codes) - 1, 2):
        pair = codes[left].astype(jnp.int32) * width + codes[left + 1].astype(jnp.int32)
        joint = _histogram(first * width**2 + pair, weight, levels * width**2)
        joint = joint.reshape(levels, width, width)
        counts += [joint.sum(axis=2, dtype=joint.dtype), joint.sum(axis=1, dtype=joint.dtype)]
    if len(codes) % 2:
        last = _histogram(first * width + codes[-1].astype(jnp.int32), weight, levels * width)
        counts.append(last.reshape(levels, width))
    return jnp.stack(counts)


def _histogram(bins: Array, weight: Array | None, size: int) -> Array:
    # bins are in range by construction, so the scatter needs no bounds check.
    ones = jnp.ones((), jnp.int32) if weight is None else weight
    return jnp.zeros(size, ones.dtype).at[bins].add(ones, mode="promise_in_bounds")


def running_sum(x: Array, axis: int) -> Array:
    """Cumulative sum along ``axis``: written out when short, else a scan.

    On a CPU jnp.cumsum is ten times slower, and a loop of a few rounds costs more than what it adds.
    """
    rows = jnp.moveaxis(x, axis, 0)
    if len(rows) <= _WRITTEN_OUT:
        sums = jnp.stack(list(accumulate(rows)))
    else:
        _, sums = jax.lax.scan(lambda total, row: (total + row, total + row), jnp.zeros_like(rows[0]), rows)
    return jnp.moveaxis(sums, 0, axis)
