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

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped, UInt32

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax._numerics import divisor
from parzax.importance.counts import configuration_share
from parzax.importance.encode import Encoded, check_encoded, without_values
from parzax.importance.flags import few_rows, status_bit
from parzax.importance.layout import Layout
from parzax.importance.pair_slots import PairCounts, Pairs, checked_pairs, pair_counts
from parzax.status import Status

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
    n_draws: int,
) -> Int[Array, "q p"]:
    """Number of draws under the null hypothesis with an interaction of at least ``least``.

    All pairs and levels use the same random words, since each pair at each level is compared only with its
    draws. The slots of one pair use different words; the words of a cell depend only on the regimes of the
    slot and the position of the cell. ``rows``, ``target`` and ``fit`` are as in `null_interactions`.
    """
    n_rounds, n_slots = -(-n_draws // _BLOCK), len(fit[0]) // len(least)
    size = -(-n_draws // n_rounds)
    kinds = jnp.arange(n_slots, dtype=jnp.int32)
    kind_of_slot = jnp.tile(kinds, len(least))

    def count_round(number: Int[Array, ""]) -> Int[Array, "q p"]:
        keys = jax.vmap(partial(jax.random.fold_in, key))(number * n_slots + kinds)
        words = jax.vmap(partial(random_words, w=target.shape[-1], n=size))(keys)
        counted = number * size + jnp.arange(size, dtype=number.dtype) < n_draws

        def draw_slot(kind: Array, rows: SlotRows, target: Array, fit: Array) -> Float[Array, " b"]:
            return null_interactions(rows, target, fit, words[kind] if n_slots > 1 else words[0])

        def draw_defined(slot: tuple[Any, ...]) -> Float[Array, " b"]:
            nothing = jnp.zeros(size, target.dtype)
            return jax.lax.cond(slot[1].scale > 0, lambda: draw_slot(*slot), lambda: nothing)

        def draw_in_turn(*slots: Any) -> Float[Array, "r b"]:
            return jax.lax.map(draw_defined, slots)

        def count_level(level: tuple[Array, ...]) -> Int[Array, " p"]:
            least, target, fit = level
            slots = kind_of_slot, rows, target, fit
            drawn = jax.lax.platform_dependent(*slots, cpu=draw_in_turn, default=jax.vmap(draw_slot))
            larger = (pair_sums(drawn, len(least)) >= least[:, None]) & counted[None]
            return larger.sum(axis=1, dtype=jnp.int32)

        return jax.lax.map(count_level, (least.T, target, fit))

    return jax.lax.map(count_round, jnp.arange(n_rounds, dtype=jnp.int32)).sum(axis=0, dtype=jnp.int32)


def pair_sums(x: Shaped[Array, " r *b"], n_pairs: int) -> Shaped[Array, " p *b"]:
    """Sums over the slots of each pair, in the dtype of x."""
    return x.reshape(n_pairs, len(x) // max(n_pairs, 1), *x.shape[1:]).sum(axis=1, dtype=x.dtype)


# An interaction with one of these bits says nothing, so it has no p-value.
_UNDEFINED = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS | Status.CONSTANT | Status.SINGLE_VALUE
_UNDEFINED |= Status.UNIDENTIFIABLE | Status.NEVER_TOGETHER
# Rounding separates two equal interactions by at most this many times eps * variance of membership.
_ROUNDING = 64


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Interactions:
    """Interactions of p pairs of parameters with k regimes at q levels; leading axes are batches.

    The arrays of this pytree are all JAX's or all NumPy's.

    Attributes:
        variance: (..., q, p) I = v_xy - v_x - v_y, signed.
        importance: (..., q, p) max(I, 0) over the variance of membership in the target, g (1 - g) with g =
            n_T / n_R: a second-order Sobol index. 0 where g (1 - g) is 0.
        joint: (..., q, p) v_xy, variance of membership that both parameters explain together.
        main: (..., q, p, 2) v_x and v_y, variance that each parameter explains alone on the same cells.
        p_value: (..., q, p) p-value of the null hypothesis of no interaction; NaN where it is undefined, and
            everywhere if ``n_draws`` is 0.
        status: (..., q, p) int32 bits of `parzax.Status`.
        n_active: (..., p) rows (weight) of the region in which both parameters are active.
        n_target, n_region: (..., q) and (...,) rows (weight) of target sets and region, ties included.
        regime_variance: (..., q, p, k, k) contribution to the variance of the rows in which the first
            parameter is in one regime and the second in another; 0 without rows.
        pairs, n_draws: indices of both parameters of each pair; number of draws from the null; static.
    """

    variance: Float[Any, "*s q p"]
    importance: Float[Any, "*s q p"]
    joint: Float[Any, "*s q p"]
    main: Float[Any, "*s q p 2"]
    p_value: Float[Any, "*s q p"]
    status: Int[Any, "*s q p"]
    n_active: Shaped[Any, "*s p"]
    n_target: Shaped[Any, "*s q"]
    n_region: Shaped[Any, "*s"]
    regime_variance: Float[Any, "*s q p k k"]
    pairs: tuple[tuple[int, int], ...] = field(metadata={"static": True})
    n_draws: int = field(metadata={"static": True})


def interactions(
    encoded: Encoded, key: PRNGKeyArray | None = None, *, pairs: Any = None, n_draws: int = 0
) -> Interactions:
    """How much of membership in the target each pair of parameters explains beyond its two parameters alone.

    `parzax.interactions` has the equations. Pure and unbatched; `jax.jit` and `jax.vmap` apply.

    Args:
        encoded: the result of `parzax.encode`.
        key: random key of the draws, such as ``jax.random.key(1)``; ``jax.random.key(0)`` by default.
        pairs: ((first, second), ...) indices of parameters, or None for all pairs; static.
        n_draws: number of draws under the null hypothesis, for p-values; static.

    Returns:
        `Interactions`, with levels in the requested order; NumPy arrays if ``encoded`` has NumPy arrays. It
        is computed in float64 inside ``jax.enable_x64(True)``, in float32 otherwise. Data raise no error. A
        pair has the log's statuses at each level (NO_DATA, ALL_EQUAL, TIED_CUTOFF, INVALID_ROWS), and

        * NEVER_TOGETHER: no row of the region has both active; SAME_SETS: every row is in the target;
        * CONSTANT: one of the two stays in one cell wherever both are active;
        * SINGLE_VALUE, UNIDENTIFIABLE: a domain has one value, or bounds that move, so it has no cells;
        * LOW_DATA: at most ten rows in the target, or outside it; NOT_ABOVE_CHANCE: I < 0.

    Raises:
        TypeError, ValueError: if ``encoded`` is no `Encoded`, for a batch without `jax.vmap`, and for invalid
            pairs or draws.

    >>> import jax, jax.numpy as jnp, parzax as px
    >>> x = jax.random.uniform(jax.random.key(0), (1000, 3), minval=-1)
    >>> space = px.Space({name: px.Float(-1, 1) for name in "xyz"})
    >>> result = px.importance.interactions(px.encode(space, x, x[:, 0] * x[:, 1], levels=[0.5]))
    >>> result.pairs[result.importance[0].argmax()], bool(result.importance.max() > 0.8)
    ((0, 1), True)
    """
    check_encoded(encoded, "interactions")
    n_draws = _checks.whole_number("n_draws", n_draws, 0)
    if key is not None:
        _checks.check_key(key)
    pairs = checked_pairs(pairs, range(len(encoded.layout.offsets)))
    log = without_values(encoded, rank=None, cutoffs=None)
    estimates = _estimate_log(key, log, pairs=pairs, n_draws=n_draws)
    return jax.tree.map(np.asarray, estimates) if isinstance(encoded.codes, np.ndarray) else estimates


def estimate_interactions(key: Any, log: Encoded, pairs: Pairs, n_draws: int) -> Interactions:
    """`interactions` of s seeds: a key for each, or None, and encoded logs.

    On a CPU seeds and slots are computed one after the other, so that counts and draws stay in its caches.
    """
    # A jitted function is traced once for both platforms.
    estimate_log = partial(_estimate_log, pairs=pairs, n_draws=n_draws)

    def in_turn(*seeds: Any) -> Interactions:
        return jax.lax.map(lambda seed: estimate_log(*seed), seeds)

    return jax.lax.platform_dependent(key, log, cpu=in_turn, default=jax.vmap(estimate_log))


@jit_on_meshes("pairs", "n_draws")
def _estimate_log(key: PRNGKeyArray | None, log: Encoded, *, pairs: Pairs, n_draws: int) -> Interactions:
    log = jax.tree.map(jnp.asarray, log)
    if log.groups is not None:
        share = configuration_share(log)
        weight = jnp.ones_like(log.level, share.dtype) if log.weight is None else log.weight
        log = replace(log, weight=share * weight)
    counts, dtype = pair_counts(log, pairs), jnp.result_type(float)
    sets, cells = (x.astype(dtype) for x in (counts.sets, counts.cells))
    n_region, n_slot, target = divisor(sets[-1]), cells.sum(axis=(-1, -2)), cells[:-1]
    rows = SlotRows.from_counts(cells[-1], n_region)
    share = n_slot[:-1] / divisor(n_slot[-1:])
    excess, squares = target - share[..., None, None] * rows.cells[None], share * (1 - share) * n_slot[-1:]
    slot_variances = jax.vmap(explained, in_axes=(0, 0, 1))(rows, jnp.moveaxis(excess, 0, -1), squares)
    pair_variances = pair_sums(slot_variances, len(pairs))
    variance, membership = interaction(pair_variances), sets[:-1] / n_region * (1 - sets[:-1] / n_region)
    status = _status(counts, variance, pairs, log.layout) | log.status[:, None]
    importance = jnp.where(membership[None] > 0, jnp.maximum(variance, 0) / divisor(membership)[None], 0)
    p_value = jnp.full(status.shape, jnp.nan, dtype)
    if n_draws and pairs:
        # Sums of the same numbers in another order may differ by a few roundings.
        least = variance - _ROUNDING * jnp.finfo(dtype).eps * membership[None]
        fit = jax.vmap(jax.vmap(additive_fit), in_axes=(None, 0))(rows, excess)
        key = jax.random.key(0) if key is None else key
        larger = count_larger_draws(key, least, rows, target, fit, n_draws)
        defined = status & np.int32(_UNDEFINED) == 0
        p_value = jnp.where(defined, (1 + larger).astype(dtype) / (n_draws + 1), jnp.nan)
    joint, main = pair_variances[:, 0].T, pair_variances[:, 1:].transpose(2, 0, 1)
    k = log.layout.n_regimes - 1
    by_regime = interaction(slot_variances).T.reshape(len(target), len(pairs), k, k)
    return Interactions(
        variance.T, importance.T, joint, main, p_value, status, counts.active, counts.sets[:-1],
        counts.sets[-1], by_regime, pairs=pairs, n_draws=n_draws,
    )  # fmt: skip


def _status(
    counts: PairCounts, variance: Float[Array, "p q"], pairs: Pairs, layout: Layout
) -> Int[Array, "q p"]:
    """Status bits of every level and pair that follow from the counts."""
    members, region, n_region = np.array(pairs, np.int64).reshape(-1, 2).T, counts.cells[-1], counts.sets[-1]
    together = counts.active > 0
    lines = [((region > 0).any(axis=axis).sum(axis=1) > 1) for axis in (1, 2)]
    varied = pair_sums((lines[0] & lines[1]).astype(jnp.int32), len(pairs)) > 0
    n_slot = counts.cells.sum(axis=(-1, -2), dtype=counts.cells.dtype)
    rows = pair_sums(n_slot.T, len(pairs)).T
    low_data = few_rows(rows[:-1], jnp.broadcast_to(rows[-1:], rows[:-1].shape)) & (together & varied)[None]
    level_bits = status_bit(Status.SAME_SETS, counts.sets[:-1] == n_region)[:, None]
    level_bits |= status_bit(Status.LOW_DATA, low_data) | status_bit(Status.NOT_ABOVE_CHANCE, variance.T < 0)
    has_cells = ~(layout.varying | layout.single_valued)[members].any(axis=0)
    pair_bits = status_bit(Status.UNIDENTIFIABLE, layout.varying[members].any(axis=0))
    pair_bits |= status_bit(Status.SINGLE_VALUE, layout.single_valued[members].any(axis=0))
    pair_bits |= status_bit(Status.CONSTANT, together & ~varied & has_cells)
    pair_bits |= status_bit(Status.NEVER_TOGETHER, ~together & (n_region > 0))
    return level_bits | pair_bits[None]
