"""The null of an interaction: membership is a sum of a function of either parameter, and noise.

A permutation of all losses would test that neither parameter has any effect: beside strong additive effects I
varies more than it does there, and a permutation within the cells of one parameter loses the effect of the
other. So the additive part is fitted by least squares, and the signs of the rows' residuals are flipped at
random (the wild bootstrap of Wu, 1986, and Liu, 1988): rows stay where they are, and the noise of every cell
stays as large as it is.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from parzax._numerics import divisor
from parzax.importance.anova import SlotRows, explained, interaction
from parzax.importance.pair_layout import PairLayout

# Rounds of the fit: k of them leave rho^2k of the error, for parameters with a correlation of rho.
_ROUNDS = 30
_WORD = 32
# Draws that are computed side by side; their random words stay in a CPU's second-level cache.
_BLOCK = 256


def additive_fit(rows: SlotRows, excess: Float[Array, "w w"]) -> Float[Array, "w w"]:
    """a_x + b_y per cell, nearest to the cells' means under weights r (backfitting); 0 without rows."""
    _, of_rows, of_columns = rows.inverses

    def step(_: Any, fit: tuple[Array, Array]) -> tuple[Array, Array]:
        _, b = fit
        a = (excess - rows.cells * b[None]).sum(axis=1) * of_rows
        return a, (excess - rows.cells * a[:, None]).sum(axis=0) * of_columns

    a, b = jax.lax.fori_loop(0, _ROUNDS, step, (jnp.zeros_like(of_rows), jnp.zeros_like(of_columns)))
    return a[:, None] + b[None]


def random_words(key: PRNGKeyArray, w: int, n: int) -> UInt32[Array, "w w 2 n"]:
    """Random bits of (w, w) cells; those of a cell are the same for every w."""
    a, b = np.indices((w, w))
    # Numbers of cells in which those of a smaller w come first.
    number = np.where(a < b, b * b + a, a * a + 2 * a - b)
    return jax.random.bits(key, (w * w, 2, n), jnp.uint32)[jnp.asarray(number)]


def sign_sums(k: Float[Array, "w w"], words: UInt32[Array, "w w b"]) -> Float[Array, "w w b"]:
    """Sums of k random signs, from random words: twice the number of ones among k bits, less k.

    Beyond 32 signs, the sum of 32 of them scaled to the variance k, which is nearly normal; so are
    fractions of a sign.
    """
    bits = jnp.minimum(jnp.ceil(k), _WORD)
    # A shift by all the bits of a word is not defined.
    shift = jnp.minimum(_WORD - bits, _WORD - 1).astype(jnp.uint32)
    mask = jnp.where(bits > 0, jnp.uint32(2**_WORD - 1) >> shift, jnp.uint32(0))
    ones = jax.lax.population_count(words & mask[..., None]).astype(k.dtype)
    scale = jnp.sqrt(k / jnp.maximum(bits, 1))
    return (2 * ones - bits[..., None]) * scale[..., None]


def null_interactions(
    rows: SlotRows,
    target: Float[Array, "w w"],
    fit: Float[Array, "w w"],
    words: UInt32[Array, "w w 2 b"],
) -> Float[Array, " b"]:
    """I of draws from the null, for one slot and level, from ``words`` for target rows and for the others."""
    region, others = rows.cells, rows.cells - target
    share = target.sum() / divisor(region.sum())
    # A row's residual is one of two numbers, by whether it is in the target.
    inside, outside = 1 - share - fit, -share - fit
    residual = inside[..., None] * sign_sums(target, words[..., 0, :])
    residual += outside[..., None] * sign_sums(others, words[..., 1, :])
    kept = (region * jnp.square(fit) + target * jnp.square(inside) + others * jnp.square(outside)).sum()
    squares = kept + 2 * (fit[..., None] * residual).sum(axis=(0, 1))
    return interaction(explained(rows, (region * fit)[..., None] + residual, squares))


def draws_beyond(
    key: PRNGKeyArray,
    least: Float[Array, "p q"],
    rows: SlotRows,
    target: Float[Array, "q r w w"],
    fit: Float[Array, "q r w w"],
    where: PairLayout,
    n_draws: int,
) -> Int[Array, "q p"]:
    """How many draws from the null have an interaction of at least ``least``.

    Pairs and levels share the random words, as draws of one are compared with that one alone; slots of a pair
    do not. The words depend on the regimes of a slot and the place of a cell, not on what else is computed.

    ``rows``, ``target`` and ``fit`` are those of `null_interactions`.
    """
    n_rounds, k = -(-n_draws // _BLOCK), where.layout.n_regimes
    size = -(-n_draws // n_rounds)
    kinds, which = np.unique([i * k + j for _, (i, j) in where.slots], return_inverse=True)

    def of_round(number: Int[Array, ""]) -> Int[Array, "q p"]:
        keys = jax.vmap(partial(jax.random.fold_in, key))(number * k**2 + jnp.asarray(kinds, number.dtype))
        words = jax.vmap(partial(random_words, w=target.shape[-1], n=size))(keys)
        counted = number * size + jnp.arange(size, dtype=number.dtype) < n_draws

        def of_slot(which: Array, rows: SlotRows, target: Array, fit: Array) -> Float[Array, " b"]:
            return null_interactions(rows, target, fit, words[which] if len(kinds) > 1 else words[0])

        def in_turn(*slots: Any) -> Float[Array, "r b"]:
            def of_defined(slot: tuple[Any, ...]) -> Float[Array, " b"]:
                nothing = jnp.zeros(size, target.dtype)
                return jax.lax.cond(slot[1].scale > 0, lambda: of_slot(*slot), lambda: nothing)

            return jax.lax.map(of_defined, slots)

        def of_level(level: tuple[Array, ...]) -> Int[Array, " p"]:
            least, target, fit = level
            slots = jnp.asarray(which), rows, target, fit
            drawn = jax.lax.platform_dependent(*slots, cpu=in_turn, default=jax.vmap(of_slot))
            beyond = (where.pair_sums(drawn) >= least[:, None]) & counted[None]
            return beyond.sum(axis=1, dtype=jnp.int32)

        return jax.lax.map(of_level, (least.T, target, fit))

    return jax.lax.map(of_round, jnp.arange(n_rounds, dtype=jnp.int32)).sum(axis=0, dtype=jnp.int32)
