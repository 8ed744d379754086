"""The logs of product kernels at points: a matrix product for some regimes, pair by pair for others.

The log of a product kernel is a sum over regimes. Where the log of a factor is linear in features of the
point (c and c^2 for a coordinate c with normal kernels, one indicator per value of a discrete domain with few
values), the terms of all kernels at all points are one matrix product: features times coefficients of the
kernels. The other terms are computed for each pair of a point and a kernel. These are the terms of discrete
domains with many values, of kernel families without such features, and of all continuous domains if
`parzax.density.basis.loses_digits`.

The factor of a kernel is the wide kernel, that is the prior, in each regime that its row is not in. A row
that is in no regime therefore is the prior.
"""

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics.lattice import LatticeMasses
from parzax._numerics.logsumexp import relative_to_last
from parzax.density.basis import Basis, Regimes
from parzax.density.cut import CutKernel, CutRows
from parzax.kernels import AbstractKernel, AbstractProductKernel
from parzax.space import Points

# log(0) is replaced by minus this fraction of the largest float, because 0 * -inf would be NaN.
_LOWEST = 0.125
# Number of (point, kernel) pairs per block: on a CPU (2 MiB in float32, which fits a core's cache) and on
# other platforms. The key says whether each pair needs many intermediate values.
_PAIRS = {False: (1 << 19, 1 << 26), True: (1 << 17, 1 << 22)}
# Largest number of entries in a table of the masses of all values: 32 MiB in float64.
_TABLE = 1 << 22

LogKernels = Callable[[Points], Float[Array, "j n"]]
# Log masses of all v values of k regimes, for each part of a basis; None where there is no table.
Tables = tuple[Float[Array, "k v n"] | None, ...]
# Features of points, and their coefficients for each kernel.
Linear = tuple[Callable[[Points], Float[Array, "j f"]], Float[Array, "f n"]]


def log_kernels(
    basis: Basis,
    rows: Points,
    scale: Float[Array, "n d"],
    tables: Tables,
    coefficients: Float[Array, "f n"] | None = None,
    anchored: bool = False,
) -> tuple[LogKernels, bool, Float[Array, "f n"]]:
    """Function that returns sum_d log k_nd(x_d) of n kernels at j points, and whether it works pair by pair.

    The third result has the coefficients of its matrix product. Everything that depends on the kernels alone
    is computed here, once for all calls of the function. -inf is replaced by a finite number, see `restored`.
    ``tables`` are those of `tables_of`; ``coefficients`` are those of an earlier call, if they were kept.
    With ``anchored``, and unless the function works pair by pair, the logs are `relative_to_last`.
    """
    linear: list[Linear] = []
    pairwise: list[LogKernels] = []
    for part, table in zip(basis.parts, tables, strict=True):
        kernels = kernels_of(part, rows, scale)
        if part.cells is not None:
            linear.append(_few_values(part, kernels, basis.n_slots))
        elif part.axis is None and isinstance(kernels, AbstractProductKernel) and not basis.pairwise:
            linear.append(_product(part, kernels))
        elif part.axis is None:
            pairwise.append(_pairwise(part, kernels))
        elif (
            part.is_lattice and scale.dtype == jnp.float32 and table is None and type(kernels) is part.family
        ):
            linear.append(_wide_masses(part, kernels, part.here(rows)))
            pairwise.append(_on_lattice(part, kernels, part.here(rows)))
        else:
            pairwise.append(_many_values(part, kernels, basis.n_slots, table))
    if coefficients is None:
        none = jnp.zeros((0, len(rows)), scale.dtype)
        coefficients = jnp.concatenate([none, *(factors for _, factors in linear)])
        coefficients = relative_to_last(coefficients) if anchored and not pairwise else coefficients

    def evaluate(at: Points) -> Float[Array, "j n"]:
        features = [jnp.zeros((at.unit.shape[0], 0), scale.dtype), *(features(at) for features, _ in linear)]
        products = jnp.matmul(jnp.concatenate(features, axis=-1), coefficients, precision="highest")
        return sum((term(at) for term in pairwise), products)

    return evaluate, bool(pairwise), coefficients


def kernels_of(part: Regimes, rows: Points, scale: Float[Array, "n d"]) -> AbstractKernel:
    """The kernels of n rows in k regimes, (k, n): the wide kernel where a row is not in the regime.

    The last row, which is the prior, has the places and scales of the wide kernels of open axes.
    """
    here, dtype = part.here(rows), scale.dtype
    n_values = jnp.asarray(part.n_values)
    wide = jax.vmap(lambda n: part.family.wide(n, dtype))(n_values)
    columns = part.columns(rows.unit), part.columns(scale)
    if part.is_open:
        wide = columns[0][:, -1], columns[1][:, -1]
    place, width = (jnp.where(here, x, default[:, None]) for x, default in zip(columns, wide, strict=True))
    around = jax.vmap(part.family.around, in_axes=(0, 0, None))
    kernels: Any = jax.vmap(around)(place, width, n_values)
    if isinstance(rows, CutRows):
        kernels = jax.vmap(jax.vmap(CutKernel.of))(kernels, *map(part.columns, (rows.lower, rows.upper)))
    return kernels


def _product(part: Regimes, kernels: Any) -> Linear:
    """Terms of continuous regimes with product kernels, sum_i features_i(x) coefficients_i(kernel)."""
    family: Any = part.family
    coefficients = jax.vmap(jax.vmap(lambda kernel: kernel.coefficients(), out_axes=-1))(kernels)
    constants = jax.vmap(jax.vmap(lambda kernel: kernel.constant()))(kernels)
    # Regimes that always apply share one constant. As a product it is not fused into the concatenation, which
    # XLA would not vectorise.
    ones = jnp.ones((1, part.n_always), constants.dtype)
    always = jnp.matmul(ones, constants[: part.n_always], precision="highest")

    def features(at: Points) -> Float[Array, "j f"]:
        here = part.here(at).T
        features = jax.vmap(jax.vmap(family.features))(part.columns(at.unit).T)
        features = jax.lax.collapse(jnp.where(here[..., None], features, 0), 1)
        some = here[:, part.n_always :].astype(features.dtype)
        return jnp.concatenate([features, jnp.ones((here.shape[0], 1), features.dtype), some], axis=-1)

    return features, jnp.concatenate([_flat(coefficients), always, constants[part.n_always :]])


def _few_values(part: Regimes, kernels: AbstractKernel, n_slots: int) -> Linear:
    """Terms of discrete regimes with few values: the log mass of the value that the point has."""
    lower, upper = jnp.asarray(part.cells)
    over_rows = jax.vmap(lambda kernel, low, high: kernel.log_mass(low, high), in_axes=(0, None, None))
    masses = jax.vmap(jax.vmap(over_rows, in_axes=(None, 0, 0)))(kernels, lower, upper)
    masses = _flat(finite(masses, n_slots))

    def features(at: Points) -> Float[Array, "j f"]:
        number = jnp.arange(lower.shape[1], dtype=at.index.dtype)
        has = part.here(at).T[..., None] & (part.columns(at.index).T[..., None] == number[None, None])
        return jax.lax.collapse(has.astype(masses.dtype), 1)

    return features, masses


def _pairwise(part: Regimes, kernels: AbstractKernel) -> LogKernels:
    """Terms of continuous regimes, pair by pair."""

    def log_density(kernels: AbstractKernel, unit: Float[Array, " j"]) -> Float[Array, "j n"]:
        return jax.vmap(lambda x: jax.vmap(lambda kernel: kernel.log_density(x))(kernels))(unit)

    return lambda at: _sum_of(log_density, kernels, part.columns(at.unit), part.here(at), kernels)


def tables_of(basis: Basis, rows: Points, scale: Float[Array, "n d"], n_points: Any) -> Tables:
    """For each part of the basis the log masses of all values of its discrete regimes with many values.

    None for parts of other regimes, and where ``n_points`` are so few, or the masses so many, that they are
    computed for the value of each point.
    """

    def table_of(part: Regimes) -> Float[Array, "k v n"] | None:
        is_shorter = not isinstance(n_points, int) or part.most < n_points
        if part.axis is None or not is_shorter or part.most * len(part.slot) * len(rows) > _TABLE:
            return None
        regimes = jax.tree.map(jnp.asarray, part.axis), kernels_of(part, rows, scale)
        every = jnp.minimum(jnp.arange(part.most, dtype=jnp.int32)[None], _last_values(part))
        return jax.lax.map(lambda one: _masses(basis.n_slots, *one), (regimes, every))

    return tuple(map(table_of, basis.parts))


def _many_values(part: Regimes, kernels: AbstractKernel, n_slots: int, table: Array | None) -> LogKernels:
    """Terms of discrete regimes with many values: masses of the points' values, or those in a table."""
    regimes: Any = table
    read: Callable[..., Array] = operator.getitem
    if table is None:
        regimes, read = (jax.tree.map(jnp.asarray, part.axis), kernels), partial(_masses, n_slots)

    def terms(at: Points) -> Float[Array, "j n"]:
        number = jnp.minimum(part.columns(at.index), _last_values(part))
        return _sum_of(read, regimes, number, part.here(at), kernels)

    return terms


def _last_values(part: Regimes) -> Int[Array, "k 1"]:
    """Number of the last value; a value number from another regime may be larger, without a cell here."""
    return jnp.asarray(part.n_values)[:, None] - 1


def _masses(
    n_slots: int, regime: tuple[Any, AbstractKernel], number: Int[Array, " c"]
) -> Float[Array, "c n"]:
    """log masses of values under the kernels of one regime, given with its axis."""
    (axis, kernels), over, dtype = regime, jax.vmap, jax.tree.leaves(regime[1])[0].dtype
    cells = *axis.cell(number, dtype), axis.width(number, dtype)
    by_cell = over(lambda *cell: over(lambda kernel: kernel.log_mass_of_cell(*cell))(kernels))
    return finite(by_cell(*cells), n_slots)


def _wide_masses(part: Regimes, kernels: AbstractKernel, present: Bool[Array, "k n"]) -> Linear:
    """Terms of the wide kernels: those of the rows that are not in the regime; the last row is one."""
    regimes = jax.tree.map(jnp.asarray, part.axis), jax.tree.map(lambda a: a[:, -1:], kernels)

    def features(at: Points) -> Float[Array, "j k"]:
        number = jnp.minimum(part.columns(at.index), _last_values(part))
        masses = jax.vmap(partial(_masses, 1))(regimes, number)[..., 0]
        return jnp.where(part.here(at), masses, 0).T

    return features, (~present).astype(jax.tree.leaves(kernels)[0].dtype)


def _on_lattice(part: Regimes, kernels: Any, present: Bool[Array, "k n"]) -> LogKernels:
    """Terms of normal kernels at centres of cells of equal width: three times as fast as `_many_values`."""
    dtype = kernels.scale.dtype
    size = jnp.asarray(part.n_values)[:, None].astype(dtype)
    lattice = jax.vmap(LatticeMasses.of)(1 / (size * kernels.scale))
    regimes = lattice, jnp.round(kernels.place * size - 0.5), kernels.log_inside, present

    def term(regime: Any, number: Float[Array, " j"]) -> Float[Array, "j n"]:
        lattice, centre, log_inside, present = regime
        logs = jax.vmap(lattice.log_mass)(jnp.abs(number[:, None] - centre[None]))
        return jnp.where(present[None], logs - log_inside[None], 0)

    return lambda at: _sum_of(term, regimes, part.columns(at.index).astype(dtype), part.here(at), kernels)


def _sum_of(
    term: Callable[..., Array], regimes: Any, x: Array, here: Array, kernels: AbstractKernel
) -> Float[Array, "j n"]:
    """Sum of term(regime, x) over the regimes that apply, in a loop."""
    first = jax.tree.leaves(kernels)[0]
    zero = jnp.zeros((here.shape[1], first.shape[1]), first.dtype)

    def add(total: Float[Array, "j n"], one: Any) -> tuple[Float[Array, "j n"], None]:
        regime, x, here = one
        return total + jnp.where(here[:, None], term(regime, x), 0), None

    return jax.lax.scan(add, zero, (regimes, x, here))[0]


def finite(x: Float[Array, "*n"], n_slots: int) -> Float[Array, "*n"]:
    """Replace -inf by a finite stand-in for log(0), divided by the number of slots.

    Sums and products of it stay finite, and its exponential is 0.
    """
    return jnp.where(jnp.isneginf(x), _log_of_zero(x) / n_slots, x)


def restored(x: Float[Array, "*n"], n_slots: int) -> Float[Array, "*n"]:
    """Put back -inf where a sum contains the stand-in of `finite`."""
    return jnp.where(x < _log_of_zero(x) / (2 * n_slots), -jnp.inf, x)


def _log_of_zero(x: Array) -> float:
    return -_LOWEST * float(jnp.finfo(x.dtype).max)


def _flat(x: Float[Array, "k f n"]) -> Float[Array, "kf n"]:
    return x.reshape(-1, x.shape[-1])


def in_blocks(
    function: Callable[[Points], Array], points: Points, n_kernels: int, pairwise: bool
) -> Float[Array, "... j"]:
    """Evaluate function(points) in blocks of points; the last axis of the result is that of the points.

    The block size depends on the platform and limits the number of points times ``n_kernels``. The limit is
    lower if the function is ``pairwise``, because each pair then needs many intermediate values. A symbolic
    number of points is one block.
    """
    n_points = points.unit.shape[0]
    on_cpu, elsewhere = (max(1, pairs // max(n_kernels, 1)) for pairs in _PAIRS[pairwise])
    if not isinstance(n_points, int) or n_points <= on_cpu:
        return function(points)
    cpu, default = (partial(_map_blocks, function, block) for block in (on_cpu, elsewhere))
    return jax.lax.platform_dependent(points, cpu=cpu, default=default)


def _map_blocks(function: Callable[[Points], Array], block: int, points: Points) -> Float[Array, "... j"]:
    """Evaluate function(points) for at most ``block`` points at once.

    Each block is recomputed for its gradient, so only one block is in memory, forwards and backwards. The
    axis of points is divided into a few equal parts, and each block takes points from every part. An axis
    that is sharded over a power of two of devices therefore stays sharded, without communication.
    """
    n_points = len(points)
    if n_points <= block:
        return function(points)
    n_parts = math.gcd(n_points, 1 << min(6, max(block.bit_length() - 4, 0)))
    length = n_points // n_parts
    n_blocks = -(-length // (block // n_parts))
    size = -(-length // n_blocks)

    def split(x: Array) -> Array:
        parts = x.reshape(n_parts, length, -1)
        parts = jnp.pad(parts, ((0, 0), (0, n_blocks * size - length), (0, 0)), mode="edge")
        blocks = jnp.moveaxis(parts.reshape(n_parts, n_blocks, size, -1), 1, 0)
        return blocks.reshape(n_blocks, n_parts * size, -1)

    out = jax.lax.map(jax.checkpoint(lambda at: function(at)), jax.tree.map(split, points))
    out = jnp.moveaxis(out.reshape(*out.shape[:-1], n_parts, size), 0, -2)
    return out.reshape(*out.shape[:-2], -1)[..., :length].reshape(*out.shape[:-3], n_points)
