"""Samples and shuffles of groups of rows that belong together, such as the epochs of one configuration."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Integer, Key

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

    For each parameter, the rows of a group that share a cell are one unit. Units of a regime exchange their
    cells. The losses stay, so rows of one group remain together in the target.

    Args:
        encoded: the log.
        block: number of each row's regime or pool; rows outside the region have a number that no regime has.
    """
    codes, place, layout = jnp.asarray(encoded.codes), encoded.place, encoded.layout
    groups, level = (
        jnp.broadcast_to(jnp.asarray(x)[None], block.shape) for x in (encoded.groups, encoded.level)
    )
    block, codes, groups, level = jax.lax.sort((block, codes, groups, level), dimension=1, num_keys=3)
    unit = jax.vmap(lambda *keys: jnp.cumsum(changes(list(keys)), dtype=jnp.int32) - 1)(block, codes, groups)

    def of_units(x: Integer[Array, "d n"], fill: Any) -> Integer[Array, "d n"]:
        return jax.vmap(lambda x, unit: jnp.full_like(x, fill).at[unit].set(x))(x, unit)

    unit_block, unit_code = of_units(block, jnp.iinfo(block.dtype).max), of_units(codes, 0)

    def permute_codes(key: Any) -> Integer[Array, "d n"]:
        bits = jax.random.bits(key, block.shape, jnp.uint32)
        # Units are numbered regime by regime, so the sort permutes the units within each regime.
        *_, permuted = jax.lax.sort((unit_block, bits, unit_code), dimension=1, num_keys=2)
        return jnp.take_along_axis(permuted, unit, axis=1)

    def count(keys: Key[Array, " b"]) -> Int[Array, "b q1 w"]:
        shuffled = jax.vmap(permute_codes)(keys)
        levels = jnp.broadcast_to(level.astype(jnp.int32)[None], shuffled.shape)
        return sweep_counts(shuffled, levels, None, place=place, layout=layout)

    return count
