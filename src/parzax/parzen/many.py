"""Kernels of regimes of many values: rows of a table, or masses pair by pair."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import in_two_rounds
from parzax.kernels import AbstractKernel
from parzax.parzen.basis import Many
from parzax.parzen.terms import finite, with_wide
from parzax.space import Points

# Entries that the tables of one part of many values may have: 32 MiB in float64.
_TABLE = 1 << 22
# For up to this many points there is no table: it would be compiled beside the masses of all other parts.
_FEW_POINTS = 64


class ManyTerms(NamedTuple):
    """What one part of the basis adds to the logs of product kernels."""

    kernels: AbstractKernel  # (k, n + 1), the wide ones last
    present: Bool[Array, "n k"]
    table: Float[Array, "k c n"] | None  # log kernel - log anchor of c values; None where pairs are cheaper
    anchor: Float[Array, "k c"] | None  # log anchor, beside the table


def many_terms(
    part: Many, rows: Points, scale: Float[Array, "n d"], n_slots: int, n_points: int
) -> ManyTerms:
    """The kernels, and their table where ``n_points`` points make it worth it."""
    kernels, present = with_wide(part, rows, scale), part.here(rows)
    size = part.most * max(len(scale), 1) * len(part)
    if n_points <= _FEW_POINTS or part.most > 2 * n_points or size > _TABLE:
        return ManyTerms(kernels, present, None, None)
    number = jnp.broadcast_to(jnp.arange(part.most, dtype=jnp.int32)[:, None], (part.most, len(part)))
    known = number < jnp.asarray(part.n_values)[None]
    masses = partial(jax.vmap(_masses_of_values, in_axes=(0, 0, 1), out_axes=1), part.axis, kernels)
    logs = finite(in_two_rounds(masses, jnp.where(known, number, 0), 0), n_slots)
    differences = jnp.where(known[..., None] & present.T[None], logs[..., :-1] - logs[..., -1:], 0)
    return ManyTerms(kernels, present, jnp.swapaxes(differences, 0, 1), logs[..., -1].T)


def many_logs(
    parts: tuple[Many, ...], terms: tuple[ManyTerms, ...], at: Points, n_slots: int
) -> tuple[Float[Array, "j n"], Float[Array, " j"]]:
    """Sums over the regimes of log kernel - log anchor, and of log anchor."""
    dtype = at.unit.dtype
    n_rows = len(terms[0].present) if terms else 0
    total = jnp.zeros((len(at.unit), n_rows), dtype), jnp.zeros(len(at.unit), dtype)
    by_family: dict[type[AbstractKernel], list[tuple[Many, ManyTerms]]] = {}
    for part, own in zip(parts, terms, strict=True):
        if own.table is None:
            by_family.setdefault(part.family, []).append((part, own))
        else:
            total = _added_from_table(total, part, own, at)
    for group in by_family.values():
        total = _added_pair_by_pair(total, group, at, n_slots)
    return total


Sums = tuple[Float[Array, "j n"], Float[Array, " j"]]


def _added_from_table(total: Sums, part: Many, own: ManyTerms, at: Points) -> Sums:
    def read(total: Sums, one: tuple[Array, Array, Array, Array]) -> tuple[Sums, None]:
        table, anchor, number, here = one
        logs, anchors = total
        return (
            logs + jnp.where(here[:, None], table[number], 0),
            anchors + jnp.where(here, anchor[number], 0),
        ), None

    columns = part.columns(at.index).T, part.here(at).T
    return jax.lax.scan(read, total, (own.table, own.anchor, *columns))[0]


def _added_pair_by_pair(
    total: Sums, group: list[tuple[Many, ManyTerms]], at: Points, n_slots: int
) -> Sums:
    """One regime after the other in one loop, whatever their axes are."""
    dtype = at.unit.dtype
    each = [
        (_cells(part, part.columns(at.index).T, dtype), own.kernels, part.here(at).T, own.present.T)
        for part, own in group
    ]
    regimes = jax.tree.map(lambda *own: jnp.concatenate(own), *each)

    def add(total: Sums, one: tuple[Any, Any, Array, Array]) -> tuple[Sums, None]:
        cells, kernels, here, present = one
        logs, anchors = total
        found = in_two_rounds(lambda cells: finite(_masses_of_cells(kernels, cells), n_slots), cells, 0)
        own, anchor = found[:, :-1], found[:, -1]
        both = here[:, None] & present[None]
        return (
            logs + jnp.where(both, own - anchor[:, None], 0),
            anchors + jnp.where(here, anchor, 0),
        ), None

    return jax.lax.scan(add, total, regimes)[0]


def _cells(part: Many, number: Int[Array, "k c"], dtype: Any) -> tuple[Array, Array, Array]:
    """Lower ends, upper ends and widths of the cells of some values of every regime."""

    def own(axis: Any, number: Int[Array, " c"]) -> tuple[Array, Array, Array]:
        return *axis.cell(number, dtype), axis.width(number, dtype)

    return jax.vmap(own)(jax.tree.map(jnp.asarray, part.axis), number)


def _masses_of_cells(kernels: AbstractKernel, cells: tuple[Array, Array, Array]) -> Float[Array, "c n"]:
    """log masses of some cells under n kernels of one regime."""
    return jax.vmap(lambda *cell: jax.vmap(lambda one: one.log_mass_of_cell(*cell))(kernels))(*cells)


def _masses_of_values(axis: Any, kernels: AbstractKernel, number: Int[Array, " c"]) -> Float[Array, "c n"]:
    dtype = jax.tree.leaves(kernels)[0].dtype
    return _masses_of_cells(kernels, (*axis.cell(number, dtype), axis.width(number, dtype)))
