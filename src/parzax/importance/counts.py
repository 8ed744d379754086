"""Counts per (level, cell): one pass over the rows, then a running sum over the levels."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Shaped

from parzax.observations import Layout

# Below this many (row, parameter) pairs one flat scatter is fastest on a CPU; above it, a loop over the
# columns, whose counts stay in the first-level cache.
_FLAT_LIMIT = 1 << 17


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
        codes: (n,) grid cell of each row, in 0..g-1.
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
    first = jnp.minimum(jnp.asarray(level).astype(jnp.int32), n_levels + 1)
    histogram = _histogram(
        first * n_cells + jnp.asarray(codes).astype(jnp.int32), weight, (n_levels + 2) * n_cells
    )
    return running_sum(histogram.reshape(n_levels + 2, n_cells)[:-1], axis=0)


def sweep_counts(
    codes: Int[Array, "s d n"],
    level: Int[Array, "s n"],
    weight: Shaped[Array, "s n"] | None,
    *,
    n_levels: int,
    layout: Layout,
) -> Shaped[Array, "s q1 w"]:
    """`level_counts` of all parameters and seeds at once, in the columns of ``layout``."""
    n_seeds, n_parameters, n_rows = codes.shape
    rows_of_counts = n_levels + 2
    first = level.astype(jnp.int32)
    if codes.size <= _FLAT_LIMIT:
        seed = jnp.arange(n_seeds, dtype=jnp.int32)[:, None, None]
        offset = jnp.asarray(layout.offsets, jnp.int32)[:, None]
        bins = (
            (seed * rows_of_counts + first[:, None, :]) * layout.n_columns + offset + codes.astype(jnp.int32)
        )
        flat_weight = None if weight is None else jnp.broadcast_to(weight[:, None, :], bins.shape).reshape(-1)
        size = n_seeds * rows_of_counts * layout.n_columns
        histogram = _histogram(bins.reshape(-1), flat_weight, size)
        histogram = histogram.reshape(n_seeds, rows_of_counts, layout.n_columns)
    else:
        ends = (*layout.offsets[1:], layout.n_columns)
        widths = [end - start for start, end in zip(layout.offsets, ends, strict=True)]
        widest = max(widths)

        def column(carry: None, index: Array) -> tuple[None, Array]:
            seed, parameter = index // n_parameters, index % n_parameters
            bins = first[seed] * widest + codes[seed, parameter].astype(jnp.int32)
            own = None if weight is None else weight[seed]
            return carry, _histogram(bins, own, rows_of_counts * widest)

        _, stacked = jax.lax.scan(column, None, jnp.arange(n_seeds * n_parameters))
        stacked = stacked.reshape(n_seeds, n_parameters, rows_of_counts, widest)
        histogram = jnp.concatenate([stacked[:, j, :, :width] for j, width in enumerate(widths)], axis=-1)
    return running_sum(histogram[:, :-1], axis=1)


def _histogram(bins: Array, weight: Array | None, size: int) -> Array:
    # bins are in range by construction, so the scatter needs no bounds check.
    ones = jnp.ones((), jnp.int32) if weight is None else weight
    return jnp.zeros(size, ones.dtype).at[bins].add(ones, mode="promise_in_bounds")


def running_sum(x: Array, axis: int) -> Array:
    """Cumulative sum along ``axis`` as a scan; jnp.cumsum is ten times slower on a CPU."""
    if x.shape[axis] == 1:
        return x
    rows = jnp.moveaxis(x, axis, 0)
    _, sums = jax.lax.scan(lambda total, row: (total + row,) * 2, jnp.zeros_like(rows[0]), rows)
    return jnp.moveaxis(sums, 0, axis)
