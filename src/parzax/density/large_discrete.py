"""Kernels of discrete regimes with many values: log masses are read from a table or computed pair by pair."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import LatticeMasses, in_two_rounds
from parzax.density.basis import Basis, LargeDiscrete
from parzax.density.log_kernels import finite, kernels_of, vmap_twice, with_wide
from parzax.kernels import AbstractKernel
from parzax.space import Points

# Largest number of entries in the tables of one part of the basis: 32 MiB in float64.
_TABLE = 1 << 22
# No table is made for up to this many points, because its code adds to the compilation time.
_FEW_POINTS = 64
# Pair by pair a float32 mass on a lattice costs a third of an entry of a table. Its factors are multiplied in
# groups of regimes, with one logarithm for each group (see `LatticeMasses` for how many do not underflow).
_TABLE_COST, _GROUP = 3, 3

Sums = tuple[Float[Array, "j n"], Float[Array, " j"]]


class LogMasses(NamedTuple):
    """The terms of one part of the basis in the logs of product kernels."""

    kernels: AbstractKernel  # (k, 1 + m), the wide kernel first
    row: Int[Array, "k n"] | None  # index of each row's kernel among the m kernels; None if m is n
    present: Bool[Array, "n k"]  # whether row n is in regime k
    # log kernel - log anchor at c values; None if computing them pair by pair is cheaper
    table: Float[Array, "k c m"] | None
    anchor: Float[Array, "k c"] | None  # log anchor at c values; None without a table


def log_masses(
    basis: Basis,
    rows: Points,
    scale: Float[Array, "n d"],
    n_points: int,
    slot_scale: Float[Array, " s"] | None = None,
) -> tuple[LogMasses, ...]:
    """Masses under the kernels of all rows, in a table if that is faster for ``n_points`` points.

    If all kernels of a slot share one ``slot_scale``, a kernel per value can replace a kernel per row. This
    is done if the number of values is at most half the number of rows.
    """

    def masses_of_part(part: LargeDiscrete) -> LogMasses:
        if slot_scale is None or 2 * part.most > len(rows):
            return _log_masses(basis, part, rows, kernels_of(part, rows.unit, scale), None, n_points)
        last = jnp.asarray(part.n_values)[:, None] - 1
        number = jnp.minimum(jnp.arange(part.most, dtype=jnp.int32)[None], last)
        place = jax.vmap(lambda axis, number: axis.centre(number, scale.dtype))(_axes(part), number)
        shared = (jnp.broadcast_to(x, place.shape) for x in (slot_scale[part.slot][:, None], last + 1))
        # A row of another regime holds a value number of that regime; ``present`` excludes the row.
        row = jnp.minimum(part.columns(rows.index).T, last)
        return _log_masses(basis, part, rows, vmap_twice(part.family.around, place, *shared), row, n_points)

    return tuple(map(masses_of_part, basis.large))


def _log_masses(
    basis: Basis, part: LargeDiscrete, rows: Points, kernels: AbstractKernel, row: Array | None, n_points: int
) -> LogMasses:
    """`LogMasses` of (k, m) kernels; ``row`` (k, n) has the index of each row's kernel, None if m is n."""
    dtype, present = rows.unit.dtype, part.here(rows)
    kernels = with_wide(part, kernels, dtype)
    size = part.most * max(_n_kernels(kernels) - 1, 1) * len(part)
    cost = 2 * _TABLE_COST * part.most if _is_fast(part, row, dtype) else part.most
    if n_points <= _FEW_POINTS or cost > 2 * n_points or size > _TABLE:
        return LogMasses(kernels, row, present, None, None)
    number = jnp.broadcast_to(jnp.arange(part.most, dtype=jnp.int32)[:, None], (part.most, len(part)))
    exists = number < jnp.asarray(part.n_values)[None]

    def masses(axis: Any, kernels: AbstractKernel, number: Int[Array, " c"]) -> Float[Array, "c n"]:
        return _masses_of_cells(kernels, _cells(axis, number, dtype))

    by_regime = partial(jax.vmap(masses, in_axes=(0, 0, 1), out_axes=1), part.axis, kernels)
    logs = finite(in_two_rounds(by_regime, jnp.where(exists, number, 0)), basis.n_slots)
    differences = jnp.where(exists[..., None], logs[..., 1:] - logs[..., :1], 0)
    return LogMasses(kernels, row, present, jnp.swapaxes(differences, 0, 1), logs[..., 0].T)


def large_discrete_logs(basis: Basis, prepared: Sequence[LogMasses], at: Points) -> Sums:
    """Sum of log kernel - log anchor over the discrete regimes with many values, and sum of log anchor."""
    shape, dtype = (len(at.unit), len(prepared[0].present)), at.unit.dtype
    sums = jnp.zeros(shape, dtype), jnp.zeros(shape[:1], dtype)
    pairwise: dict[Any, list[tuple[LargeDiscrete, LogMasses]]] = {}

    def read(regime: tuple[Array, ...]) -> Sums:
        table, anchor, number = regime
        return table[number], anchor[number]

    for part, masses in zip(basis.large, prepared, strict=True):
        if masses.table is None and _is_fast(part, masses.row, dtype):
            sums = _add_on_lattice(sums, part, masses, at)
        elif masses.table is None:
            pairwise.setdefault((part.family, masses.row is None), []).append((part, masses))
        else:
            regimes = masses.table, masses.anchor, part.columns(at.index).T
            sums = _add(sums, read, regimes, masses.row, part.here(at).T, masses.present.T)
    for group in pairwise.values():
        sums = _add_pair_by_pair(sums, group, at, basis.n_slots)
    return sums


def _add_pair_by_pair(
    sums: Sums, group: list[tuple[LargeDiscrete, LogMasses]], at: Points, n_slots: int
) -> Sums:
    """Add the terms of regimes without a table, in one loop over regimes with any kind of axis."""
    most = max(_n_kernels(masses.kernels) for _, masses in group)
    each = []
    for part, (kernels, row, present, *_) in group:
        padding = (0, 0), (0, most - _n_kernels(kernels))
        kernels = jax.tree.map(lambda a, padding=padding: jnp.pad(a, padding, mode="edge"), kernels)
        each.append(((_cells_at(part, at), kernels), row, part.here(at).T, present.T))

    def logs(regime: tuple[Any, AbstractKernel]) -> Sums:
        cells, kernels = regime
        masses = in_two_rounds(lambda cells: finite(_masses_of_cells(kernels, cells), n_slots), cells)
        return masses[:, 1:] - masses[:, :1], masses[:, 0]

    return _add(sums, logs, *jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *each))


def _add(
    sums: Sums,
    logs: Callable[[Any], Sums],
    regimes: Any,
    row: Int[Array, "k n"] | None,
    here: Bool[Array, "k j"],
    present: Bool[Array, "k n"],
) -> Sums:
    """Add ``logs`` of each of k regimes to the sums.

    log kernel - log anchor is added if both point and row are in the regime, log anchor if the point is.
    """

    def add(sums: Sums, one: tuple[Any, ...]) -> tuple[Sums, None]:
        regime, row, here, present = one
        difference, anchor = logs(regime)
        by_row = difference if row is None else difference[:, row]
        shared = here[:, None] & present[None]
        return (sums[0] + jnp.where(shared, by_row, 0), sums[1] + jnp.where(here, anchor, 0)), None

    return jax.lax.scan(add, sums, (regimes, row, here, present))[0]


def _is_fast(part: LargeDiscrete, row: Array | None, dtype: Any) -> bool:
    """Whether `_add_on_lattice` applies."""
    return part.on_lattice and row is None and dtype == jnp.float32


def _add_on_lattice(sums: Sums, part: LargeDiscrete, masses: LogMasses, at: Points) -> Sums:
    """Add the terms of regimes whose cells have equal widths, in a loop over groups of regimes."""
    dtype, here, wide = at.unit.dtype, part.here(at).T, _kernels(masses.kernels, slice(0, 1))
    anchor = jax.vmap(_masses_of_cells)(wide, _cells_at(part, at))[..., 0]

    def prepare(kernels: Any, n_values: Array) -> tuple[LatticeMasses, Array, Array]:
        size = n_values.astype(dtype)
        number = jnp.round(kernels.place * size - 0.5)
        return LatticeMasses.of(1 / (size * kernels.scale)), number, kernels.log_inside

    kernels = jax.vmap(prepare)(_kernels(masses.kernels, slice(1, None)), jnp.asarray(part.n_values))
    regimes = kernels, part.columns(at.index).T.astype(dtype), anchor, here, masses.present.T

    def in_groups(x: Array) -> Array:
        padded = jnp.pad(x, ((0, -len(part) % _GROUP), *((0, 0),) * (x.ndim - 1)))
        return padded.reshape(-1, _GROUP, *x.shape[1:])

    def add(ratio: Array, group: Any) -> tuple[Array, None]:
        product = jnp.ones_like(ratio)
        for i in range(_GROUP):
            kernels, number, anchor, here, present = jax.tree.map(lambda a, i=i: a[i], group)
            lattice, centre, log_inside = kernels
            exponent, factor = jax.vmap(lattice.at)(jnp.abs(number[:, None] - centre[None]))
            shared = here[:, None] & present[None]
            ratio = ratio + jnp.where(shared, exponent - log_inside[None] - anchor[:, None], 0)
            product = product * jnp.where(shared, factor, 1)
        return ratio + jnp.log(product), None

    ratio = jax.lax.scan(add, sums[0], jax.tree.map(in_groups, regimes))[0]
    return ratio, sums[1] + jnp.where(here, anchor, 0).sum(axis=0)


def _kernels(kernels: AbstractKernel, which: slice) -> AbstractKernel:
    return jax.tree.map(lambda a: a[:, which], kernels)


def _cells_at(part: LargeDiscrete, at: Points) -> tuple[Array, Array, Array]:
    """`_cells` of the values of j points in k regimes, (k, j)."""
    # A value number from another regime may be too large here; its cell would have NaN derivatives.
    number = jnp.minimum(part.columns(at.index).T, jnp.asarray(part.n_values)[:, None] - 1)
    return jax.vmap(lambda axis, number: _cells(axis, number, at.unit.dtype))(_axes(part), number)


def _n_kernels(kernels: AbstractKernel) -> int:
    return jax.tree.leaves(kernels)[0].shape[1]


def _axes(part: LargeDiscrete) -> Any:
    return jax.tree.map(jnp.asarray, part.axis)


def _cells(axis: Any, number: Int[Array, " c"], dtype: Any) -> tuple[Array, Array, Array]:
    """Lower ends, upper ends and widths of the cells of c values."""
    return *axis.cell(number, dtype), axis.width(number, dtype)


def _masses_of_cells(kernels: AbstractKernel, cells: tuple[Array, Array, Array]) -> Float[Array, "c n"]:
    """log masses of c cells under n kernels of one regime."""
    return jax.vmap(lambda *cell: jax.vmap(lambda one: one.log_mass_of_cell(*cell))(kernels))(*cells)
