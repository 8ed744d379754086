"""From counts per level and cell to divergences of regimes and variances of parameters."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from parzax._numerics import divisor, total
from parzax.divergence.divergence import AbstractDivergence, RegimeCounts, regime_divergence
from parzax.importance.layout import Group, Layout
from parzax.importance.variance import inter_regime_variance, unweighted_variance, within_regime_variance

# A domain is tested for crowding if it has 48 cells or more; the two cells at either end count as its end.
_MANY_CELLS, _AT_END = 48, 2


def estimate_regimes(
    counts: Shaped[Array, "s q1 w"], layout: Layout, divergence: AbstractDivergence, uniform: bool
) -> tuple[
    Float[Array, "s q d l"], Shaped[Array, "s q1 d l"], Shaped[Array, "s d l"], Shaped[Array, "s d l"]
]:
    """Estimates for d parameters with l slots, "inactive" last, from the counts of s seeds at q levels.

    A slot is a regime, or a pool of a regime whose bounds move; see `Layout.n_slots`.

    Returns:
        Divergences, 0 in slots with fewer than ``divergence.min_rows`` rows; rows of the target sets, and of
        the region last; cells of the grid that have rows of the region; and 1 for slots whose rows are
        crowded at one end of the domain (`_summarise`), else 0.
    """
    groups, q1 = layout.groups, counts.shape[1]
    stacks = [_stack(counts, group) for group in groups]
    summaries = [_summarise(stack, group) for stack, group in zip(stacks, groups, strict=True)]
    rows, occupied, crowded = jnp.split(_by_parameter(summaries, layout), (q1, q1 + 1), 1)
    inactive = counts[..., jnp.asarray(layout.inactive)]
    rows = jnp.concatenate([rows[..., :-1], inactive[..., None]], axis=-1)
    enough = rows[:, -1] >= jnp.asarray(divergence.min_rows, rows.dtype)
    divergences = [_divergences(*pair, divergence, uniform) for pair in zip(stacks, groups, strict=True)]
    estimates = jnp.where(enough[:, None], _by_parameter(divergences, layout), 0)
    return estimates, rows, occupied[:, 0], crowded[:, 0]


def level_variances(
    divergence: Float[Array, "d k"], n_target: Shaped[Array, "d k"], n_region: Shaped[Array, "d k"]
) -> tuple[Float[Array, " d"], Float[Array, " d"], Float[Array, " d"]]:
    """Within-regime, inter-regime and unweighted variance of every parameter at one level.

    A pool of rows with similar bounds counts as a regime here.
    """
    # Every row is in exactly one regime of the first parameter.
    total_target, total_region = total(n_target[0]), total(n_region[0])

    def estimate_parameter(divergence: Array, n_target: Array, n_region: Array) -> tuple[Array, Array, Array]:
        return (
            within_regime_variance(divergence, n_target, n_region, total_region),
            inter_regime_variance(n_target, n_region, dtype=divergence.dtype),
            unweighted_variance(divergence, total_target, total_region),
        )

    return jax.vmap(estimate_parameter)(divergence, n_target, n_region)


def _divergences(
    stack: Shaped[Array, "s q1 j g"], group: Group, divergence: AbstractDivergence, uniform: bool
) -> Float[Array, "s q j"]:
    """Divergence of every regime and pool; the blocks of a group share one padded batch."""
    family, width, blocks = group
    if family is None:
        return jnp.zeros((len(stack), stack.shape[1] - 1, len(blocks)))
    sizes = [block.n_cells for block in blocks]
    # Seeds and blocks are one axis: with two axes XLA's CPU backend turns some products into loops.
    batch = jnp.moveaxis(stack, 2, 1)
    n_cells = jnp.tile(jnp.array(sizes), len(stack)) if min(sizes) < width else None

    def estimate_block(sets: Shaped[Array, "q1 g"], n_cells: Array | None) -> Float[Array, " q"]:
        return regime_divergence(divergence, RegimeCounts(sets, family, n_cells, uniform))

    divergences = jax.vmap(estimate_block)(batch.reshape(-1, *batch.shape[2:]), n_cells)
    return jnp.moveaxis(divergences.reshape(*batch.shape[:2], -1), 2, 1)


def merge_pools(
    rows: Shaped[Array, "s q1 d l"], divergence: Float[Array, "s q d l"], layout: Layout
) -> tuple[Shaped[Array, "s q1 d k"], Float[Array, "s q d k"]]:
    """Rows and divergences per regime, from rows and divergences per slot: the pools of a regime are merged.

    The divergence D_i of a regime contributes as much to Eq. 11 as its pools p together: n_T,i^2 / n_R,i D_i
    = sum_p n_T,p^2 / n_R,p D_p, where n_T and n_R are rows of target and region. D_i is 0 without rows.
    """
    member = np.zeros((len(layout.offsets), layout.n_slots, layout.n_regimes), bool)
    member[:, -1, -1] = True
    for block in layout.blocks:
        member[block.parameter, block.slot, block.regime] = True

    def sum_slots(x: Shaped[Array, "... d l"]) -> Shaped[Array, "... d k"]:
        return jnp.where(jnp.asarray(member), x[..., None], 0).sum(axis=-2, dtype=x.dtype)

    regime_rows = sum_slots(rows)
    target, region = (x.astype(divergence.dtype) for x in (rows[:, :-1], rows[:, -1:]))
    part = sum_slots(jnp.where(region > 0, jnp.square(target) / divisor(region) * divergence, 0))
    n_target, n_region = (x.astype(divergence.dtype) for x in (regime_rows[:, :-1], regime_rows[:, -1:]))
    pooled = part * n_region / jnp.square(divisor(n_target))
    return regime_rows, jnp.where(jnp.asarray(member.sum(axis=1) > 1), pooled, sum_slots(divergence))


def _summarise(stack: Shaped[Array, "s q1 j g"], group: Group) -> Shaped[Array, "s q3 j"]:
    """Per block: the rows of every set, the number of cells with rows of the region, and 1 if it is crowded.

    A block is crowded if more than half of its rows lie at one end of its many cells. That happens if values
    were searched on a log axis and the domain is linear. If all rows are in one cell, the parameter is
    constant and not crowded. A circle has no ends.
    """
    family, width, blocks = group
    rows, region = stack.sum(axis=-1, dtype=stack.dtype), stack[:, -1]
    occupied = (region > 0).sum(axis=-1, dtype=stack.dtype)
    crowded = jnp.zeros_like(occupied)
    wide = np.array([[block.n_cells >= _MANY_CELLS and not block.is_pool] for block in blocks])
    if family is not None and not family.exchangeable and not family.periodic and wide.any():
        cells, size = np.arange(width), np.array([[block.n_cells] for block in blocks])
        ends = np.stack([(cells < _AT_END) & wide, (cells >= size - _AT_END) & (cells < size) & wide])
        at_ends = (region[None] * jnp.asarray(ends[:, None], stack.dtype)).sum(axis=-1, dtype=stack.dtype)
        crowded = ((2 * at_ends.max(axis=0) > rows[:, -1]) & (occupied > 1)).astype(stack.dtype)
    return jnp.concatenate([rows, occupied[:, None], crowded[:, None]], axis=1)


def _stack(counts: Shaped[Array, "... w"], group: Group) -> Shaped[Array, "... j g"]:
    """The columns of a group's blocks, each padded to the width of the group."""
    _, width, blocks = group
    starts, sizes = np.array([(block.start, block.n_cells) for block in blocks]).T
    strides = np.unique(np.diff(starts)).tolist() or [width]
    if len(strides) == 1 and (sizes == width).all():  # a slice is faster than a gather
        run = counts[..., starts[0] : starts[-1] + width]
        run = jnp.pad(run, [(0, 0)] * (counts.ndim - 1) + [(0, strides[0] - width)])
        return run.reshape(*counts.shape[:-1], len(starts), strides[0])[..., :width]
    cells = np.arange(width)
    columns = np.where(cells < sizes[:, None], starts[:, None] + cells, counts.shape[-1])
    return counts.at[..., columns].get(mode="fill", fill_value=0)


def _by_parameter(parts: list[Shaped[Array, "... _"]], layout: Layout) -> Shaped[Array, "... d l"]:
    """Arrange one number per block of each group by (parameter, slot); 0 in unused slots."""
    x = jnp.concatenate(parts, axis=-1)
    source = np.full((len(layout.offsets), layout.n_slots), x.shape[-1])
    for i, block in enumerate(block for *_, blocks in layout.groups for block in blocks):
        source[block.parameter, block.slot] = i
    return x.at[..., source].get(mode="fill", fill_value=0)
