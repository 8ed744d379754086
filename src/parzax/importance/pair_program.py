"""Interactions of all pairs, levels and seeds, and draws from their null, as one compiled function."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Integer, PRNGKeyArray, Shaped, UInt8

from parzax._numerics import divisor, total
from parzax._programs import program
from parzax.importance.additive import null_interactions
from parzax.importance.anova import explained
from parzax.importance.counts import level_counts

# Roundings, of the variance of membership, by which two equal interactions may differ.
_ROUNDING = 64
# Draws at a time, which stay in the second-level cache.
_BLOCK = 256


class PairArrays(NamedTuple):
    """What `pair_arrays` returns: r slots, p pairs, q levels of s seeds in ascending order.

    Attributes:
        slots: (s, q, r, 3) variances of slots, v_xy, v_x and v_y, each its part of the region's.
        pairs: (s, q, p, 3) sums over the slots of a pair.
        beyond: (s, q, p) how many draws from the null have an interaction as large, or larger.
        n_target: (s, q, r) rows of slots in the target.
        n_region: (s, r) rows of slots in the region.
        n_cells: (s, r, 3) occupied cells of the grid, of its rows and of its columns.
        n_sets: (s, q + 1) rows in each target set, and in the region.
    """

    slots: Float[Any, "s q r 3"]
    pairs: Float[Any, "s q p 3"]
    beyond: Int[Any, "s q p"]
    n_target: Shaped[Any, "s q r"]
    n_region: Shaped[Any, "s r"]
    n_cells: Int[Any, "s r 3"]
    n_sets: Shaped[Any, "s q1"]


# Most of the work is in loops, which XLA counts once; full optimisation takes twice as long to compile and
# gains nothing.
@program(size="middling")
def pair_arrays(
    key: PRNGKeyArray,
    codes: UInt8[Any, "s c n"],
    columns: Int[Any, "s r 2"],
    pair: Int[Any, " r"],
    level: Integer[Any, "s n"],
    weight: Shaped[Any, "s n"] | None,
    *,
    width: int,
    n_levels: int,
    n_pairs: int,
    n_draws: int,
) -> PairArrays:
    """Interactions of all seeds, levels and pairs; one dispatch, in JAX's default dtype.

    Args:
        key: of the draws.
        codes: (s, c, n) cells of rows, see `parzax.importance.pair_cells.PairCells`.
        columns: (s, r, 2) which two columns of codes make a slot.
        pair: (r,) the pair of every slot, ascending.
        level: (s, n) first level set of each row; q = region only, more = excluded.
        weight: (s, n) frequency weights, or None.
        width: codes are below; other codes are outside.
        n_levels, n_pairs, n_draws: q, p and b; static, as ``width`` is.
    """
    last = jnp.append(pair[1:] != pair[:-1], True)[: len(pair)]
    first = jnp.append(True, pair[1:] != pair[:-1])[: len(pair)]

    def of_seed(own: tuple[Any, ...]) -> PairArrays:
        codes, columns, level, weight, key = own
        sets = level_counts(jnp.zeros_like(level), level, weight, n_levels=n_levels, n_cells=1)[:, 0]
        dtype = jnp.result_type(float)

        def counted(slot: Int[Array, " 2"]) -> Shaped[Array, "q1 w w"]:
            return _slot_counts(codes[slot[0]], codes[slot[1]], level, weight, n_levels, width)

        counts = jax.lax.map(counted, columns)
        whole = divisor(sets[-1].astype(dtype))
        found = jax.lax.map(lambda own: _variances(own.astype(dtype), whole), counts)
        summed = jax.ops.segment_sum(found, pair, num_segments=n_pairs, indices_are_sorted=True)
        region = counts[:, -1]
        n_region = jax.vmap(total)(region.reshape(len(pair), -1))
        n_target = jax.vmap(jax.vmap(total))(counts[:, :-1].reshape(len(pair), n_levels, -1))
        there = region > 0
        lines = (there.sum((1, 2)), there.any(axis=2).sum(1), there.any(axis=1).sum(1))
        beyond = jnp.zeros((n_pairs, n_levels), jnp.int32)
        if n_draws:
            share = sets[:-1].astype(dtype) / whole
            slack = _ROUNDING * jnp.finfo(dtype).eps * share * (1 - share)
            observed = summed[..., 0] - summed[..., 1] - summed[..., 2] - slack[None]

            def step(sums: Array, own: tuple[Array, ...]) -> tuple[Array, Array]:
                number, one, begins, counts = own
                drawn = _null_of_slot(jax.random.fold_in(key, number), counts, n_draws, dtype, whole)
                sums = jnp.where(begins, 0, sums) + drawn
                return sums, (sums >= observed[one][:, None]).sum(axis=1).astype(jnp.int32)

            start = jnp.zeros((n_levels, n_draws), dtype)
            number = jnp.arange(len(pair))
            _, counted_beyond = jax.lax.scan(step, start, (number, pair, first, counts))
            # The sums of a pair are complete at its last slot.
            beyond = jax.ops.segment_sum(
                jnp.where(last[:, None], counted_beyond, 0), pair, num_segments=n_pairs
            )
        return PairArrays(
            jnp.moveaxis(found, 1, 0), jnp.moveaxis(summed, 1, 0), beyond.T, n_target.T, n_region,
            jnp.stack(lines, axis=-1).astype(jnp.int32), sets,
        )  # fmt: skip

    return jax.lax.map(of_seed, (codes, columns, level, weight, jax.random.split(key, len(codes))))


def _slot_counts(
    first: UInt8[Array, " n"],
    second: UInt8[Array, " n"],
    level: Integer[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    n_levels: int,
    width: int,
) -> Shaped[Array, "q1 w w"]:
    """Counts of the level sets, and of the region last, on the grid of one slot."""
    first, second = first.astype(jnp.int32), second.astype(jnp.int32)
    inside = (first < width) & (second < width)
    code = jnp.where(inside, first * width + second, -1)
    counts = level_counts(code, level, weight, n_levels=n_levels, n_cells=width**2)
    return counts.reshape(n_levels + 1, width, width)


def _variances(counts: Float[Array, "q1 w w"], whole: Float[Array, ""]) -> Float[Array, "q 3"]:
    """v_xy, v_x and v_y of one slot at all levels, each its part of the region's ``whole``."""
    region, target = counts[-1], jnp.moveaxis(counts[:-1], 0, -1)
    n, n_target = region.sum(), target.sum(axis=(0, 1))
    share = n_target / divisor(n)
    found = explained(region, target - share[None, None] * region[..., None], n_target * (1 - share))
    return jnp.stack([*found], axis=-1) * (n / whole)


def _null_of_slot(
    key: PRNGKeyArray, counts: Shaped[Array, "q1 w w"], n: int, dtype: jnp.dtype, whole: Float[Array, ""]
) -> Float[Array, "q b"]:
    """The part of a slot in the interactions of its pair, of draws from the null; the same at all levels."""
    width, region = counts.shape[-1], counts[-1].astype(dtype)
    n_blocks = -(-n // _BLOCK)
    size = -(-n // n_blocks)

    def of_block(key: PRNGKeyArray) -> Float[Array, "q b"]:
        words = jax.random.bits(key, (2, width, width, size), jnp.uint32)
        targets = counts[:-1].astype(dtype)
        return jax.lax.map(lambda target: null_interactions(region, target, words), targets)

    blocks = jax.lax.map(of_block, jax.random.split(key, n_blocks))
    drawn = jnp.moveaxis(blocks, 0, 1).reshape(len(counts) - 1, n_blocks * size)[:, :n]
    return drawn * (region.sum() / whole)
