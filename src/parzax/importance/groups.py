"""Samples and shuffles of groups of rows that belong together, such as the epochs of one configuration."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer, Key, Shaped

from parzax._numerics import divisor
from parzax.importance.counts import sweep_counts
from parzax.importance.draws import METHODS, rows_before, sample_size
from parzax.importance.encode import Encoded
from parzax.importance.levels import sizes
from parzax.pareto.order import changes


def number_groups(
    groups: Int[Array, " n"], usable: Bool[Array, " n"]
) -> tuple[Int[Array, " n"], Int[Array, ""]]:
    """Group numbers 0, 1, ... of usable rows (larger numbers elsewhere), and the number of usable groups."""
    row = jnp.arange(len(groups), dtype=jnp.int32)
    unused, ordered, row = jax.lax.sort((~usable, groups, row), num_keys=2)
    number = jnp.cumsum(changes([unused, ordered]), dtype=jnp.int32) - 1
    n_groups = jnp.where(unused, 0, number + 1).max(initial=0)
    return jnp.zeros_like(number).at[row].set(number, unique_indices=True), n_groups


def configuration_share(
    codes: Integer[Array, "d n"],
    level: Integer[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    groups: Int[Array, " n"],
    n_levels: int,
) -> Float[Array, ""]:
    """Sum over groups of their different configurations, divided by the rows (weight) of the region.

    Rows of one group in the same cells are one configuration. Counts of rows times this share are counts of
    configurations. If each row was repeated k times in its group, they equal the counts of the log without
    repeats.
    """
    in_region = level <= n_levels
    # Rows with equal cells have equal hashes; rows with different cells collide with probability 2^-32.
    factors = np.random.default_rng(0).integers(2**31, size=len(codes), dtype=np.uint32) * 2 + 1
    hashes = (codes.astype(jnp.uint32) * factors[:, None]).sum(axis=0, dtype=jnp.uint32)
    outside, *ordered = jax.lax.sort((~in_region, groups, hashes), num_keys=3)
    n = (changes(ordered) & ~outside).sum(dtype=jnp.int32)
    n_rows = in_region.sum(dtype=jnp.int32) if weight is None else jnp.where(in_region, weight, 0).sum()
    share = n.astype(jnp.result_type(float)) / divisor(n_rows.astype(jnp.result_type(float)))
    return jnp.where(n_rows > 0, share, 1)


def share_of(encoded: Encoded) -> Float[Array, ""] | None:
    """`configuration_share` of an encoded log; None without groups, and where every row counts."""
    if encoded.counted_groups is None:
        return None
    codes, level, groups = (jnp.asarray(x) for x in (encoded.codes, encoded.level, encoded.groups))
    return configuration_share(codes, level, encoded.weight, groups, len(encoded.levels))


def count_configurations(counts: Array, share: Float[Array, "..."] | None) -> Array:
    """Counts of configurations from counts of rows; these themselves without a `configuration_share`."""
    return counts if share is None else counts.astype(share.dtype) * share


def group_sample_counter(encoded: Encoded, method: str) -> Callable[[Key[Array, " b"]], Int[Array, "b q1 w"]]:
    """A function that maps keys to counts; each key draws one random sample of the groups.

    A group is drawn with all its rows. The level sets of a sample are computed from the sample's rows.
    """
    rank, levels = jnp.asarray(encoded.rank), (*sorted(encoded.levels), encoded.region)
    m, draw = len(rank), jax.vmap(METHODS[method], in_axes=(0, None, None, None))
    ranked, row = jax.lax.sort((rank, jnp.arange(m, dtype=jnp.int32)), num_keys=1)
    usable, first_tied = ranked < m, jnp.minimum(ranked, m - 1)
    ordered = jnp.asarray(encoded.codes)[:, row]
    group, n_groups = number_groups(jnp.asarray(encoded.groups)[row], usable)
    size = sample_size(n_groups, method)

    def find_level(weight: Int[Array, " m"]) -> Int[Array, " m"]:
        n_rows = weight.sum(dtype=jnp.int32)
        needed = sizes(levels, n_rows, True, encoded.grid.optuna_rounding).astype(jnp.int32)
        better = rows_before(weight[None], first_tied)[0]
        return (needed[None] <= better[:, None]).sum(axis=1, dtype=jnp.int32)

    def count(keys: Key[Array, " b"]) -> Int[Array, "b q1 w"]:
        weight = jnp.where(usable[None], draw(keys, m, size, n_groups)[:, group], 0)
        level = jax.vmap(find_level)(weight)
        return sweep_counts(ordered[None], level, weight, place=encoded.place, layout=encoded.layout)

    return count


def group_shuffle_counter(
    encoded: Encoded, block: Int[Array, "d n"]
) -> Callable[[Key[Array, " b"]], Int[Array, "b q1 w"]]:
    """A function that maps keys to counts; each key shuffles the groups of the log once.

    For each parameter, the rows of a group in one regime are one unit. Units of a regime exchange their lists
    of cells; a unit with more rows than the list that it gets repeats the list. The losses stay, so rows of
    one group remain together in the target.

    Args:
        encoded: the log.
        block: number of each row's regime or pool; rows outside the region have a number that no regime has.
    """
    codes, place, layout = jnp.asarray(encoded.codes), encoded.place, encoded.layout
    groups, level = (jnp.broadcast_to(jnp.asarray(x), block.shape) for x in (encoded.groups, encoded.level))
    # Stable, so that the rows of a unit stay in their order.
    block, groups, codes, level = jax.lax.sort((block, groups, codes, level), dimension=1, num_keys=2)
    unit = jax.vmap(lambda *keys: jnp.cumsum(changes(list(keys)), dtype=jnp.int32) - 1)(block, groups)
    row = jnp.broadcast_to(jnp.arange(block.shape[1], dtype=jnp.int32)[None], block.shape)
    empty = jnp.full_like(row, jnp.iinfo(jnp.int32).max)

    def of_units(x: Int[Array, "d n"]) -> Int[Array, "d n"]:
        return jax.vmap(lambda empty, x, unit: empty.at[unit].min(x))(empty, x, unit)

    unit_block, start = of_units(block.astype(jnp.int32)), of_units(row)
    size = jax.vmap(lambda unit: jnp.zeros_like(unit).at[unit].add(1))(unit)
    within = row - jnp.take_along_axis(start, unit, axis=1)

    def permute_codes(key: Any) -> Integer[Array, "d n"]:
        bits = jax.random.bits(key, block.shape, jnp.uint32)
        # Units are numbered regime by regime, so the sort permutes the units within each regime.
        *_, starts, lengths = jax.lax.sort((unit_block, bits, start, size), dimension=1, num_keys=2)
        first, length = (jnp.take_along_axis(x, unit, axis=1) for x in (starts, lengths))
        return jnp.take_along_axis(codes, first + within % length, axis=1)

    def count(keys: Key[Array, " b"]) -> Int[Array, "b q1 w"]:
        shuffled = jax.vmap(permute_codes)(keys)
        levels = jnp.broadcast_to(level.astype(jnp.int32)[None], shuffled.shape)
        return sweep_counts(shuffled, levels, None, place=place, layout=layout)

    return count
