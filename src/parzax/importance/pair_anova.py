"""Membership in the target that two parameters explain, jointly and beyond each parameter alone.

A slot has n_r of the region's n_R rows, n_t of them in the target. Cell c of the slot has r_c rows, and u_c
is the number of its target rows minus the expected number r_c n_t / n_r. With C occupied cells (or rows, or
columns, of the slot's grid)

    SSB = sum_c u_c^2 / r_c,    SSW = sum of squares - SSB,    v = [SSB - (C - 1) SSW / (n_r - C)] / n_R

is the explained variance minus the part that chance explains (one-way analysis of variance). The
interaction is

    I = v_xy - v_x - v_y

The null hypothesis of no interaction: membership is a function of one parameter, plus a function of the
other, plus noise. Permuting all losses would test another hypothesis, that neither parameter has any effect;
I varies more than in such permutations if additive effects are strong. Permuting within the cells of one
parameter would remove the effect of the other. So the additive part is fitted by least squares, and the signs
of the rows' residuals are flipped at random (the wild bootstrap of Wu, 1986, and Liu, 1988). Each row keeps
its cell, and each cell keeps the size of its noise.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from parzax._numerics import divisor
from parzax.importance.pair_slots import PairLayout

# Rounds of the fit. If the parameters have correlation rho, k rounds reduce the error by the factor rho^2k.
_ROUNDS = 30
_WORD = 32
# Number of draws computed together, so that their random words fit a CPU's second-level cache.
_BLOCK = 256


class SlotRows(NamedTuple):
    """Constants of the slots' rows, for the partitions into cells, grid rows and grid columns."""

    cells: Float[Array, "*r w w"]  # r, rows per cell
    # 1 / r of each partition's cells; 0 without rows.
    inverses: tuple[Float[Array, "*r w w"], Float[Array, "*r w"], Float[Array, "*r w"]]
    chance: Float[Array, "*r 3"]  # (C - 1) / (n_r - C)
    # 1 / n_R; 0 where the grid has one occupied row or column, or as many cells as rows.
    scale: Float[Array, "*r"]

    @classmethod
    def from_counts(cls, cells: Float[Array, "*r w w"], n_region: Float[Array, ""]) -> "SlotRows":
        """Inverses, chance and scale of slots from their rows per cell."""
        rows, columns = cells.sum(axis=-1), cells.sum(axis=-2)
        occupied_rows, occupied_columns = (rows > 0).sum(axis=-1), (columns > 0).sum(axis=-1)
        occupied = (cells > 0).sum(axis=(-1, -2)), occupied_rows, occupied_columns
        occupied = jnp.stack(occupied, axis=-1).astype(cells.dtype)
        freedom = rows.sum(axis=-1)[..., None] - occupied
        varied = (occupied_rows > 1) & (occupied_columns > 1) & (freedom[..., 0] > 0)
        inverses = _inverse(cells), _inverse(rows), _inverse(columns)
        scale = jnp.where(varied, 1 / divisor(n_region), 0)
        return cls(cells, inverses, (occupied - 1) / divisor(freedom), scale)


def explained(
    rows: SlotRows, excess: Float[Array, "w w b"], squares: Float[Array, " b"]
) -> Float[Array, "3 b"]:
    """v_xy, v_x and v_y of one slot.

    ``excess`` is u for b memberships, each minus any constant; ``squares`` sums over the rows the squares of
    membership minus the same constant.
    """
    sums = excess, excess.sum(axis=1), excess.sum(axis=0)
    weighted = [jnp.square(u) * inverse[..., None] for u, inverse in zip(sums, rows.inverses, strict=True)]
    between = jnp.stack([x.reshape(-1, x.shape[-1]).sum(axis=0) for x in weighted])
    offset = jnp.square(sums[1].sum(axis=0)) / divisor(rows.cells.sum())
    within = squares[None] - between
    return rows.scale * (between - offset[None] - rows.chance[:, None] * within)


def _inverse(rows: Float[Array, "*c"]) -> Float[Array, "*c"]:
    return jnp.where(rows > 0, 1 / divisor(rows), 0)


def interaction(variances: Float[Array, "*r 3 b"]) -> Float[Array, "*r b"]:
    """I = v_xy - v_x - v_y."""
    return variances[..., 0, :] - variances[..., 1, :] - variances[..., 2, :]


def additive_fit(rows: SlotRows, excess: Float[Array, "w w"]) -> Float[Array, "w w"]:
    """a_x + b_y per cell: the least-squares fit to the cells' means with weights r; 0 without rows.

    It is computed by backfitting.
    """
    _, row_inverse, column_inverse = rows.inverses

    def step(_: Any, fit: tuple[Array, Array]) -> tuple[Array, Array]:
        a = (excess - rows.cells * fit[1][None]).sum(axis=1) * row_inverse
        return a, (excess - rows.cells * a[:, None]).sum(axis=0) * column_inverse

    a, b = jax.lax.fori_loop(0, _ROUNDS, step, (jnp.zeros_like(row_inverse), jnp.zeros_like(column_inverse)))
    return a[:, None] + b[None]


def random_words(key: PRNGKeyArray, w: int, n: int) -> UInt32[Array, "w w 2 n"]:
    """Random bits for (w, w) cells; a cell gets the same bits for every w."""
    a, b = np.indices((w, w))
    # Cells are numbered so that the cells of a smaller w come first.
    number = np.where(a < b, b * b + a, a * a + 2 * a - b)
    return jax.random.bits(key, (w * w, 2, n), jnp.uint32)[jnp.asarray(number)]


def sign_sums(k: Float[Array, "w w"], words: UInt32[Array, "w w b"]) -> Float[Array, "w w b"]:
    """Sums of k random signs, from random words: twice the number of ones among k bits, minus k.

    If k is above 32, the sum of 32 signs is scaled to variance k; it is nearly normal. A fractional k is
    rounded up, and the sum scaled to variance k.
    """
    bits = jnp.minimum(jnp.ceil(k), _WORD)
    # Shifting a word by all of its bits is undefined.
    shift = jnp.minimum(_WORD - bits, _WORD - 1).astype(jnp.uint32)
    mask = jnp.where(bits > 0, jnp.uint32(2**_WORD - 1) >> shift, jnp.uint32(0))
    ones = jax.lax.population_count(words & mask[..., None]).astype(k.dtype)
    scale = jnp.sqrt(k / jnp.maximum(bits, 1))
    return (2 * ones - bits[..., None]) * scale[..., None]


def null_interactions(
    rows: SlotRows, target: Float[Array, "w w"], fit: Float[Array, "w w"], words: UInt32[Array, "w w 2 b"]
) -> Float[Array, " b"]:
    """I of b draws under the null hypothesis, for one slot at one level.

    ``words`` are random bits: for each cell, the first b for its target rows, the other b for its other rows.
    """
    region, others = rows.cells, rows.cells - target
    share = target.sum() / divisor(region.sum())
    # Residuals of rows in the target, and of rows outside it.
    inside, outside = 1 - share - fit, -share - fit
    residual = inside[..., None] * sign_sums(target, words[..., 0, :])
    residual += outside[..., None] * sign_sums(others, words[..., 1, :])
    fixed = (region * jnp.square(fit) + target * jnp.square(inside) + others * jnp.square(outside)).sum()
    squares = fixed + 2 * (fit[..., None] * residual).sum(axis=(0, 1))
    return interaction(explained(rows, (region * fit)[..., None] + residual, squares))


def count_larger_draws(
    key: PRNGKeyArray,
    least: Float[Array, "p q"],
    rows: SlotRows,
    target: Float[Array, "q r w w"],
    fit: Float[Array, "q r w w"],
    where: PairLayout,
    n_draws: int,
) -> Int[Array, "q p"]:
    """Number of draws under the null hypothesis with an interaction of at least ``least``.

    All pairs and levels use the same random words, since each pair at each level is compared only with its
    draws. The slots of one pair use different words; the words of a cell depend only on the regimes of the
    slot and the position of the cell. ``rows``, ``target`` and ``fit`` are as in `null_interactions`.
    """
    n_rounds, k = -(-n_draws // _BLOCK), where.layout.n_regimes
    size = -(-n_draws // n_rounds)
    kinds, kind_of_slot = np.unique([i * k + j for _, (i, j) in where.slots], return_inverse=True)

    def count_round(number: Int[Array, ""]) -> Int[Array, "q p"]:
        keys = jax.vmap(partial(jax.random.fold_in, key))(number * k**2 + jnp.asarray(kinds, number.dtype))
        words = jax.vmap(partial(random_words, w=target.shape[-1], n=size))(keys)
        counted = number * size + jnp.arange(size, dtype=number.dtype) < n_draws

        def draw_slot(kind: Array, rows: SlotRows, target: Array, fit: Array) -> Float[Array, " b"]:
            return null_interactions(rows, target, fit, words[kind] if len(kinds) > 1 else words[0])

        def draw_defined(slot: tuple[Any, ...]) -> Float[Array, " b"]:
            nothing = jnp.zeros(size, target.dtype)
            return jax.lax.cond(slot[1].scale > 0, lambda: draw_slot(*slot), lambda: nothing)

        def draw_in_turn(*slots: Any) -> Float[Array, "r b"]:
            return jax.lax.map(draw_defined, slots)

        def count_level(level: tuple[Array, ...]) -> Int[Array, " p"]:
            least, target, fit = level
            slots = jnp.asarray(kind_of_slot), rows, target, fit
            drawn = jax.lax.platform_dependent(*slots, cpu=draw_in_turn, default=jax.vmap(draw_slot))
            larger = (where.pair_sums(drawn) >= least[:, None]) & counted[None]
            return larger.sum(axis=1, dtype=jnp.int32)

        return jax.lax.map(count_level, (least.T, target, fit))

    return jax.lax.map(count_round, jnp.arange(n_rounds, dtype=jnp.int32)).sum(axis=0, dtype=jnp.int32)
