"""From counts per level and cell to divergences of regimes and variances of parameters."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from parzax._numerics import divisor, total
from parzax.divergence.divergence import AbstractDivergence, RegimeCounts, regime_divergence
from parzax.importance import variance as variances
from parzax.importance.layout import Group, Layout

# Of a domain with so many cells or more, the cells at either end that rows may crowd into.
_MANY_CELLS, _AT_END = 48, 2
# Columns of more runs than this are gathered: slower than slices, but one equation.
_MOST_RUNS = 16


class Measures(NamedTuple):
    """What counts of s seeds at q levels say of d parameters in l slots, "inactive" last.

    A slot is a regime, or a pool of one whose bounds move; see `Layout.n_slots`.
    """

    divergence: Float[Array, "s q d l"]
    rows: Shaped[Array, "s q1 d l"]  # the region's last
    variance: Float[Array, "s q d"]
    inter: Float[Array, "s q d"]
    unweighted: Float[Array, "s q d"]
    occupied: Shaped[Array, "s d l"]  # cells of the grid that have rows of the region
    crowded: Shaped[Array, "s d l"]  # 1 where rows are crowded, see `_facts`


def measures(
    counts: Shaped[Array, "s q1 w"], layout: Layout, divergence: AbstractDivergence, uniform: bool
) -> Measures:
    """Divergences (0 in slots of fewer rows than these ask for), and variances from them."""
    stacks = [_stack(counts, group) for group in layout.groups]
    facts = [_facts(*part) for part in zip(stacks, layout.groups, strict=True)]
    rows, occupied, crowded = jnp.split(
        _by_parameter(facts, layout), (counts.shape[1], counts.shape[1] + 1), 1
    )
    rows = rows.at[..., -1].set(counts[..., jnp.asarray(layout.inactive)])
    n_target, n_region = rows[:, :-1], rows[:, -1]
    enough = n_region >= jnp.asarray(divergence.min_rows, n_region.dtype)
    parts = [_divergences(*part, divergence, uniform) for part in zip(stacks, layout.groups, strict=True)]
    estimates = jnp.where(enough[:, None], _by_parameter(parts, layout), 0)
    over_levels = jax.vmap(_variances, in_axes=(0, 0, None))
    of_parameters = jax.vmap(over_levels)(estimates, n_target, n_region)
    return Measures(estimates, rows, *of_parameters, occupied[:, 0], crowded[:, 0])


def _variances(
    divergence: Float[Array, "d k"], n_target: Shaped[Array, "d k"], n_region: Shaped[Array, "d k"]
) -> tuple[Float[Array, " d"], Float[Array, " d"], Float[Array, " d"]]:
    """Within-regime, inter-regime and unweighted variance of every parameter at one level.

    A pool of rows with like bounds is a regime here.
    """
    # Every row is in exactly one regime of the first parameter.
    total_target, total_region = total(n_target[0]), total(n_region[0])
    within = jax.vmap(variances.within_regime_variance, in_axes=(0, 0, 0, None))
    inter = jax.vmap(partial(variances.inter_regime_variance, dtype=divergence.dtype))
    unweighted = jax.vmap(variances.unweighted_variance, in_axes=(0, None, None))
    return (
        within(divergence, n_target, n_region, total_region),
        inter(n_target, n_region),
        unweighted(divergence, total_target, total_region),
    )


def _divergences(
    stack: Shaped[Array, "s q1 j g"], group: Group, divergence: AbstractDivergence, uniform: bool
) -> Float[Array, "s q j"]:
    """Divergence of every regime and pool; the blocks of a group share one padded batch."""
    family = group.family
    if family is None:
        return jnp.zeros((len(stack), stack.shape[1] - 1, len(group.blocks)))
    sizes = [block.n_cells for block in group.blocks]
    # Seeds and blocks are one axis: of two XLA's CPU backend makes loops of some of the products.
    blocks = jnp.moveaxis(stack, 2, 1)
    shape, blocks = blocks.shape[:2], blocks.reshape(-1, *blocks.shape[2:])
    padded = min(sizes) < group.width
    n_cells = jnp.tile(jnp.array(sizes), shape[0]) if padded else None

    def of_block(sets: Shaped[Array, "q1 g"], n_cells: Array | None) -> Float[Array, " q"]:
        return regime_divergence(divergence, RegimeCounts(sets, family, n_cells, uniform))

    divergences = jax.vmap(of_block)(blocks, n_cells)
    return jnp.moveaxis(divergences.reshape(*shape, -1), 2, 1)


def of_regimes(
    rows: Shaped[Array, "s q1 d l"], divergence: Float[Array, "s q d l"], layout: Layout
) -> tuple[Shaped[Array, "s q1 d k"], Float[Array, "s q d k"]]:
    """Rows and divergences per regime, of what they are in each slot, where pools are slots of one regime.

    D_i of a regime is such that its pools p have their part of Eq. 11: n_T,i^2 / n_R,i D_i = sum_p n_T,p^2 /
    n_R,p D_p, n_T and n_R being rows of target and region. 0 without rows.
    """
    d, k = len(layout.offsets), layout.n_regimes
    regime = np.full((d, layout.n_slots), -1)
    regime[:, -1] = k - 1
    for block in layout.blocks:
        regime[block.parameter, block.slot] = block.regime
    member = regime[..., None] == np.arange(k)

    def summed(x: Shaped[Array, "... d l"]) -> Shaped[Array, "... d k"]:
        return jnp.where(jnp.asarray(member), x[..., None], 0).sum(axis=-2, dtype=x.dtype)

    of_regimes = summed(rows)
    target, region = (x.astype(divergence.dtype) for x in (rows[:, :-1], rows[:, -1:]))
    part = summed(jnp.where(region > 0, jnp.square(target) / divisor(region) * divergence, 0))
    n_target = divisor(of_regimes[:, :-1].astype(divergence.dtype))
    pooled = part * of_regimes[:, -1:].astype(divergence.dtype) / jnp.square(n_target)
    return of_regimes, jnp.where(jnp.asarray(member.sum(axis=1) > 1), pooled, summed(divergence))


def _facts(stack: Shaped[Array, "s q1 j g"], group: Group) -> Shaped[Array, "s q3 j"]:
    """Of each block the rows of every set, then the cells that have rows of the region, then its crowding.

    A block is crowded (1, else 0) where more than half of its rows lie at one end of many cells, as values of
    a log axis do on a linear one. All rows in one cell are a constant, not crowded.
    """
    rows, region = stack.sum(axis=-1, dtype=stack.dtype), stack[:, -1]
    occupied = (region > 0).sum(axis=-1, dtype=stack.dtype)
    many = np.array([block.n_cells >= _MANY_CELLS and not block.is_pool for block in group.blocks])
    if group.family is not None and not group.family.exchangeable and many.any():
        cells, last = np.arange(group.width), np.array([block.n_cells for block in group.blocks])[:, None]
        ends = np.stack([(cells < _AT_END) & (last > 0), (cells >= last - _AT_END) & (cells < last)])
        ends = jnp.asarray(ends[:, None] & many[None, None, :, None], stack.dtype)
        at_ends = (region[None] * ends).sum(axis=-1, dtype=stack.dtype).max(axis=0)
        crowded = ((2 * at_ends > rows[:, -1]) & (occupied > 1)).astype(stack.dtype)
    else:
        crowded = jnp.zeros_like(occupied)
    return jnp.concatenate([rows, occupied[:, None], crowded[:, None]], axis=1)


def _stack(counts: Shaped[Array, "... w"], group: Group) -> Shaped[Array, "... j g"]:
    """The columns of a group's blocks, each padded to its width."""
    kept = [(0, 0)] * (counts.ndim - 1)
    runs = group.runs
    if len(runs) > _MOST_RUNS:  # each would be some equations to compile
        cells = np.arange(group.width)
        columns = np.array([np.where(cells < b.n_cells, b.start + cells, -1) for b in group.blocks])
        gathered = counts[..., jnp.asarray(np.maximum(columns, 0))]
        return jnp.where(jnp.asarray(columns >= 0), gathered, jnp.zeros((), counts.dtype))
    parts = []
    for first, n_blocks, stride in runs:
        end = first.start + n_blocks * stride
        own = counts[..., first.start : end]
        own = jnp.pad(own, [*kept, (0, n_blocks * stride - own.shape[-1])])
        own = own.reshape(*counts.shape[:-1], n_blocks, stride)[..., : first.n_cells]
        parts.append(jnp.pad(own, [*kept, (0, 0), (0, group.width - first.n_cells)]))
    return jnp.concatenate(parts, axis=-2)


def _by_parameter(parts: list[Shaped[Array, "... _"]], layout: Layout) -> Shaped[Array, "... d l"]:
    """From one number per block of each group to (parameter, slot); 0 elsewhere."""
    x = jnp.concatenate(parts, axis=-1)
    shape = (len(layout.offsets), layout.n_slots)
    source = np.full(shape, x.shape[-1])
    for i, block in enumerate(block for group in layout.groups for block in group.blocks):
        source[block.parameter, block.slot] = i
    padded = jnp.concatenate([x, jnp.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)
    return padded[..., jnp.asarray(source.reshape(-1))].reshape(*x.shape[:-1], *shape)
