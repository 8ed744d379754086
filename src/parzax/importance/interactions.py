"""From `Encoded` to `Interactions`: what pairs of parameters explain jointly, in one compiled function."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax._numerics import divisor
from parzax.importance.encode import Encoded, check_encoded, without_values
from parzax.importance.flags import few_rows, status_bit
from parzax.importance.log_counts import configuration_share
from parzax.importance.pair_anova import SlotRows, additive_fit, count_larger_draws, explained, interaction
from parzax.importance.pair_slots import PairCounts, PairLayout, PairSlot, pair_counts, pair_layout
from parzax.status import Status

# An interaction with one of these bits says nothing, so it has no p-value.
_UNDEFINED = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS | Status.CONSTANT | Status.SINGLE_VALUE
_UNDEFINED |= Status.UNIDENTIFIABLE | Status.NEVER_TOGETHER
# Rounding separates two equal interactions by at most this many times eps * variance of membership.
_ROUNDING = 64


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Interactions:
    """Interactions of p pairs of parameters at q levels, in r slots; leading axes are batches.

    A slot is a combination of two regimes, one for each parameter of a pair; its rows are active in both. The
    arrays of this pytree are all JAX's or all NumPy's.

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
        slot_variance: (..., q, r) contribution of each slot to the variance of its pair; 0 without rows.
        pairs, slots, n_draws: indices of both parameters of each pair; pair and regimes of each slot; number
            of draws from the null; static.
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
    slot_variance: Float[Any, "*s q r"]
    pairs: tuple[tuple[int, int], ...] = field(metadata={"static": True})
    slots: tuple[PairSlot, ...] = field(metadata={"static": True})
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
    where = pair_layout(encoded.layout, pairs)
    log = replace(without_values(encoded), rank=None, cutoffs=None)
    estimates = _estimate_log(key, log, where=where, n_draws=n_draws)
    return jax.tree.map(np.asarray, estimates) if isinstance(encoded.codes, np.ndarray) else estimates


def estimate_interactions(key: Any, log: Encoded, where: PairLayout, n_draws: int) -> Interactions:
    """`interactions` of s seeds: a key for each, or None, and encoded logs.

    On a CPU seeds and slots are computed one after the other, so that counts and draws stay in its caches.
    """
    # A jitted function is traced once for both platforms.
    estimate_log = partial(_estimate_log, where=where, n_draws=n_draws)

    def in_turn(*seeds: Any) -> Interactions:
        return jax.lax.map(lambda seed: estimate_log(*seed), seeds)

    return jax.lax.platform_dependent(key, log, cpu=in_turn, default=jax.vmap(estimate_log))


@jit_on_meshes("where", "n_draws")
def _estimate_log(key: PRNGKeyArray | None, log: Encoded, *, where: PairLayout, n_draws: int) -> Interactions:
    log = jax.tree.map(jnp.asarray, log)
    if log.groups is not None:
        share = configuration_share(log)
        weight = jnp.ones_like(log.level, share.dtype) if log.weight is None else log.weight
        log = replace(log, weight=share * weight)
    counts, dtype = pair_counts(log, where), jnp.result_type(float)
    sets, n_slot, cells = (x.astype(dtype) for x in (counts.sets, counts.slots, counts.cells))
    n_region, target = divisor(sets[-1]), cells[:-1]
    rows = SlotRows.from_counts(cells[-1], n_region)
    share = n_slot[:-1] / divisor(n_slot[-1:])
    excess, squares = target - share[..., None, None] * rows.cells[None], share * (1 - share) * n_slot[-1:]
    slot_variances = jax.vmap(explained, in_axes=(0, 0, 1))(rows, jnp.moveaxis(excess, 0, -1), squares)
    pair_variances = where.pair_sums(slot_variances)
    variance, membership = interaction(pair_variances), sets[:-1] / n_region * (1 - sets[:-1] / n_region)
    status = _status(counts, variance, where) | log.status[:, None]
    importance = jnp.where(membership[None] > 0, jnp.maximum(variance, 0) / divisor(membership)[None], 0)
    p_value = jnp.full(status.shape, jnp.nan, dtype)
    if n_draws and where.slots:
        # Sums of the same numbers in another order may differ by a few roundings.
        least = variance - _ROUNDING * jnp.finfo(dtype).eps * membership[None]
        fit = jax.vmap(jax.vmap(additive_fit), in_axes=(None, 0))(rows, excess)
        key = jax.random.key(0) if key is None else key
        larger = count_larger_draws(key, least, rows, target, fit, where, n_draws)
        defined = status & np.int32(_UNDEFINED) == 0
        p_value = jnp.where(defined, (1 + larger).astype(dtype) / (n_draws + 1), jnp.nan)
    joint, main = pair_variances[:, 0].T, pair_variances[:, 1:].transpose(2, 0, 1)
    return Interactions(
        variance.T, importance.T, joint, main, p_value, status, counts.active, counts.sets[:-1],
        counts.sets[-1], interaction(slot_variances).T, pairs=where.pairs, slots=where.slots, n_draws=n_draws,
    )  # fmt: skip


def _status(counts: PairCounts, variance: Float[Array, "p q"], where: PairLayout) -> Int[Array, "q p"]:
    """Status bits of every level and pair that follow from the counts."""
    pairs, layout = np.array(where.pairs, np.int64).reshape(-1, 2).T, where.layout
    region, together, n_region = counts.cells[-1], counts.active > 0, counts.sets[-1]
    lines = [((region > 0).any(axis=axis).sum(axis=1) > 1) for axis in (1, 2)]
    varied = where.pair_sums((lines[0] & lines[1]).astype(jnp.int32)) > 0
    rows = where.pair_sums(counts.slots.T).T
    low_data = few_rows(rows[:-1], jnp.broadcast_to(rows[-1:], rows[:-1].shape)) & (together & varied)[None]
    level_bits = status_bit(Status.SAME_SETS, counts.sets[:-1] == n_region)[:, None]
    level_bits |= status_bit(Status.LOW_DATA, low_data) | status_bit(Status.NOT_ABOVE_CHANCE, variance.T < 0)
    has_cells = ~(layout.varying | layout.single_valued)[pairs].any(axis=0)
    pair_bits = status_bit(Status.UNIDENTIFIABLE, layout.varying[pairs].any(axis=0))
    pair_bits |= status_bit(Status.SINGLE_VALUE, layout.single_valued[pairs].any(axis=0))
    pair_bits |= status_bit(Status.CONSTANT, together & ~varied & has_cells)
    pair_bits |= status_bit(Status.NEVER_TOGETHER, ~together & (n_region > 0))
    return level_bits | pair_bits[None]
