"""Kernels of regimes of many values: rows of a table, or masses pair by pair."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import in_two_rounds
from parzax.kernels import AbstractKernel
from parzax.parzen.basis import Many
from parzax.parzen.terms import finite, kernels_of, over, with_wide
from parzax.space import Points

# Entries that the tables of one part of many values may have: 32 MiB in float64.
_TABLE = 1 << 22
# For up to this many points there is no table: it would be compiled beside the masses of all other parts.
_FEW_POINTS = 64

Sums = tuple[Float[Array, "j n"], Float[Array, " j"]]


class ManyTerms(NamedTuple):
    """What one part of the basis adds to the logs of product kernels."""

    kernels: AbstractKernel  # (k, 1 + m), the wide ones first
    row: Int[Array, "k n"] | None  # which of the m kernels a row has; None where each has its own
    present: Bool[Array, "n k"]
    table: Float[Array, "k c m"] | None  # log kernel - log anchor of c values; None where pairs are cheaper
    anchor: Float[Array, "k c"] | None  # log anchor, beside the table


def many_terms_of_one_scale(
    part: Many,
    rows: Points,
    scale: Float[Array, " s"],
    by_row: Float[Array, "n d"],
    n_slots: int,
    n_points: int,
) -> ManyTerms:
    """`many_terms` where all kernels of a slot have one scale: one kernel per value if these are fewer."""
    if 2 * part.most > len(rows):
        return many_terms(part, rows, kernels_of(part, rows.unit, by_row), None, n_slots, n_points)
    last = jnp.asarray(part.n_values)[:, None] - 1
    number = jnp.minimum(jnp.arange(part.most, dtype=jnp.int32)[None], last)
    place = jax.vmap(lambda axis, number: axis.centre(number, scale.dtype))(_stacked(part), number)
    own = jnp.broadcast_to(scale[part.slot][:, None], place.shape)
    kernels = over(part.family.around, place, own, jnp.broadcast_to(last + 1, place.shape))
    # Rows of another regime have a number of its own, and do not count.
    return many_terms(part, rows, kernels, jnp.minimum(part.columns(rows.index).T, last), n_slots, n_points)


def many_terms(
    part: Many, rows: Points, kernels: AbstractKernel, row: Array | None, n_slots: int, n_points: int
) -> ManyTerms:
    """(k, m) kernels, of which each row has one, and their table where ``n_points`` points make it worth it.

    ``row`` (k, n) says which kernel a row has; None where each has its own.
    """
    dtype, present, n_kernels = rows.unit.dtype, part.here(rows), jax.tree.leaves(kernels)[0].shape[-1]
    kernels = with_wide(part, kernels, dtype)
    size = part.most * max(n_kernels, 1) * len(part)
    if n_points <= _FEW_POINTS or part.most > 2 * n_points or size > _TABLE:
        return ManyTerms(kernels, row, present, None, None)
    number = jnp.broadcast_to(jnp.arange(part.most, dtype=jnp.int32)[:, None], (part.most, len(part)))
    exists = number < jnp.asarray(part.n_values)[None]

    def masses(axis: Any, kernels: AbstractKernel, number: Int[Array, " c"]) -> Float[Array, "c n"]:
        return _masses_of_cells(kernels, _cells(axis, number, dtype))

    of_numbers = partial(jax.vmap(masses, in_axes=(0, 0, 1), out_axes=1), part.axis, kernels)
    logs = finite(in_two_rounds(of_numbers, jnp.where(exists, number, 0)), n_slots)
    differences = jnp.where(exists[..., None], logs[..., 1:] - logs[..., :1], 0)
    return ManyTerms(kernels, row, present, jnp.swapaxes(differences, 0, 1), logs[..., 0].T)


def many_logs(parts: Sequence[Many], terms: Sequence[ManyTerms], at: Points, n_slots: int) -> Sums:
    """Sums over the regimes of log kernel - log anchor, and of log anchor."""
    shape, dtype = (len(at.unit), len(terms[0].present)), at.unit.dtype
    total = jnp.zeros(shape, dtype), jnp.zeros(shape[:1], dtype)
    pairwise: dict[Any, list[tuple[Many, ManyTerms]]] = {}

    def read(regime: tuple[Array, ...]) -> Sums:
        table, anchor, number = regime
        return table[number], anchor[number]

    for part, own in zip(parts, terms, strict=True):
        if own.table is None:
            pairwise.setdefault((part.family, own.row is None), []).append((part, own))
        else:
            regimes = own.table, own.anchor, part.columns(at.index).T
            total = _added(total, read, regimes, own.row, part.here(at).T, own.present.T)
    for group in pairwise.values():
        total = _added_pair_by_pair(total, group, at, n_slots)
    return total


def _added_pair_by_pair(total: Sums, group: list[tuple[Many, ManyTerms]], at: Points, n_slots: int) -> Sums:
    """One regime after the other in one loop, whatever their axes are."""
    dtype = at.unit.dtype
    most = max(jax.tree.leaves(own.kernels)[0].shape[1] for _, own in group)
    each = []
    for part, own in group:
        missing = most - jax.tree.leaves(own.kernels)[0].shape[1]
        kernels = jax.tree.map(lambda a, n=missing: jnp.pad(a, ((0, 0), (0, n)), mode="edge"), own.kernels)
        # A number of another regime may be none of this one's, and its cell has no derivative.
        number = jnp.minimum(part.columns(at.index).T, jnp.asarray(part.n_values)[:, None] - 1)
        cells = jax.vmap(lambda axis, number: _cells(axis, number, dtype))(_stacked(part), number)
        each.append(((cells, kernels), own.row, part.here(at).T, own.present.T))

    def masses(regime: tuple[Any, AbstractKernel]) -> Sums:
        cells, kernels = regime
        logs = in_two_rounds(lambda cells: finite(_masses_of_cells(kernels, cells), n_slots), cells)
        return logs[:, 1:] - logs[:, :1], logs[:, 0]

    return _added(total, masses, *jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *each))


def _added(
    total: Sums,
    logs: Callable[[Any], Sums],
    regimes: Any,
    row: Int[Array, "k n"] | None,
    here: Bool[Array, "k j"],
    present: Bool[Array, "k n"],
) -> Sums:
    """With ``logs`` of k regimes: each one's difference from the anchor where point and row are in it."""

    def add(total: Sums, one: tuple[Any, ...]) -> tuple[Sums, None]:
        regime, row, here, present = one
        difference, anchor = logs(regime)
        by_row = difference if row is None else difference[:, row]
        both = here[:, None] & present[None]
        return (total[0] + jnp.where(both, by_row, 0), total[1] + jnp.where(here, anchor, 0)), None

    return jax.lax.scan(add, total, (regimes, row, here, present))[0]


def _stacked(part: Many) -> Any:
    """The axes of its regimes."""
    return jax.tree.map(jnp.asarray, part.axis)


def _cells(axis: Any, number: Int[Array, " c"], dtype: Any) -> tuple[Array, Array, Array]:
    """Lower ends, upper ends and widths of the cells of some values."""
    return *axis.cell(number, dtype), axis.width(number, dtype)


def _masses_of_cells(kernels: AbstractKernel, cells: tuple[Array, Array, Array]) -> Float[Array, "c n"]:
    """log masses of some cells under n kernels of one regime."""
    return jax.vmap(lambda *cell: jax.vmap(lambda one: one.log_mass_of_cell(*cell))(kernels))(*cells)
