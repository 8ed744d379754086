"""`Counts`: rows per level set and cell. The counts of the parts of a log add up to the counts of the log."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax._numerics import count_below, ordered_key
from parzax.importance.counts import sweep_counts
from parzax.importance.encode import Encoded, check_encodable, check_encoded, compute_codes, wide_floats
from parzax.importance.flags import status_bit
from parzax.importance.layout import Grid, Layout, layout
from parzax.importance.levels import checked_levels, rank_levels
from parzax.space import Space, refuse_rows
from parzax.status import Status


class Counts(eqx.Module):
    """Histogram of each target set and of the region over the cells of the grid.

    `parzax.importance.estimate` needs nothing else.

    Made by `parzax.importance.count`, `parzax.count_rows` (a block of rows), `parzax.lens.count` (files)
    and `Counts.from_table` (any engine's group-by). A pytree; leading axes are batches.

    Attributes:
        counts: (q + 1, w) weight per cell: one row per level in the order of ``levels``, then the region.
            ``layout`` describes the columns.
        status: (q,) int32 bits of `parzax.Status` computed from the losses; 0 if unknown.
        cutoffs: (q + 1,) largest loss of each set, in the order of ``counts``; None if unknown.
        layout, levels, region, grid: as in `parzax.Encoded`; static.
        space: the search space; None if unknown; static.
    """

    counts: Shaped[Any, "*s q1 w"]
    status: Int[Any, "*s q"]
    cutoffs: Float[Any, "*s q1"] | None
    layout: Layout = eqx.field(static=True)
    levels: tuple[float, ...] = eqx.field(static=True)
    region: float = eqx.field(static=True)
    grid: Grid = eqx.field(static=True)
    space: Space | None = eqx.field(static=True, default=None)

    @classmethod
    def from_table(
        cls,
        space: Space,
        levels: Any,
        region: float = 1.0,
        *,
        parameter: Any,
        level: Any,
        cell: Any,
        count: Any,
        cutoffs: Any = None,
        grid: Grid | None = None,
    ) -> "Counts":
        """Build counts from a group-by with m rows, each a parameter, level, cell and count.

        Args:
            space, levels, region, grid: as in `parzax.encode`.
            parameter: (m,) names of parameters.
            level: (m,) number of (ascending) cut-offs below the loss: 0 is the smallest target set, q the
                region outside all targets. Rows with larger numbers are ignored.
            cell: (m,) number of the cell, from 0; see `cell_starts`. The cells of the domains of a parameter
                follow each other. The last cell is "inactive", also for unconditional parameters. Put missing
                values there; of an unconditional parameter they are an error.
            count: (m,) number of rows. Counts of the same parameter, level and cell are added.
            cutoffs: (q + 1,) cut-offs in the order of ``levels``, then the region's. Only `merge` needs them.

        Raises:
            TypeError, ValueError: entries that are no whole numbers, are negative or beyond the last cell; an
                unknown parameter; missing values of an unconditional parameter; parameters whose levels have
                different numbers of rows, because the group-by dropped missing values.

        >>> import parzax as px
        >>> table = {"parameter": ["x"] * 3, "level": [0, 1, 1], "cell": [0, 0, 1], "count": [2, 1, 5]}
        >>> px.Counts.from_table(px.Space({"x": px.Int(1, 2)}), 0.25, **table).counts.tolist()
        [[2, 0, 0], [3, 5, 0]]
        """
        _checks.instance("space", space, Space, "a parzax.Space")
        grid, names = Grid() if grid is None else grid, np.asarray(parameter)
        target, region = checked_levels(levels, region)
        columns = layout(space, grid)
        numbers = {"level": level, "cell": cell, "count": count}
        arrays = {name: _whole_numbers(name, array, names.shape) for name, array in numbers.items()}
        histogram = np.zeros((len(target) + 2, columns.n_columns), np.int64)
        if unknown := set(names.tolist()) - set(space.names):
            raise ValueError(f"parameter: the space has no {unknown.pop()!r}, but {', '.join(space.names)}.")
        for j, name in enumerate(space.names):
            level, cell, count = (array[names == name] for array in arrays.values())
            if (cell >= columns.n_codes[j]).any():
                cells = f'{columns.n_codes[j]} cells (from 0, the last one is "inactive")'
                raise ValueError(f"cell: {name!r} has {cells}, got {cell.max()}.")
            at = np.minimum(level, len(target) + 1), columns.offsets[j] + cell
            np.add.at(histogram, at, count)
        _check_rows(histogram, columns, space)
        return of_histogram(histogram, space, target, region, grid, cutoffs)

    @property
    def place(self) -> tuple[int, ...]:
        """Position of each requested level in ascending order."""
        return rank_levels(self.levels)

    def merge(self, *others: "Counts") -> "Counts":
        """Add the counts of parts of a log.

        If any part is in NumPy, integer counts are returned in NumPy as int64. Traced 32-bit counts may wrap
        around above 2^31 rows in a cell. The order of the parts does not change integer counts. Status bits
        are combined.

        The result of `parzax.importance.count` has no space and no cut-offs to compare, so merge only the
        shards of one encoded log.

        Raises:
            ValueError: parts that differ in shape, grid, space, levels, region or cut-offs, or JAX counts
                whose sum may exceed 32 bits. Cut-offs of traced arrays are not compared.

        >>> import numpy as np, parzax as px
        >>> space, x = px.Space({"x": px.Int(1, 2)}), np.array([[1.0], [2.0], [2.0]])
        >>> part = px.count_rows(space, x, np.arange(3.0), cutoffs=[1.0, 2.0], levels=0.5)
        >>> part.merge(part).counts.tolist()
        [[2, 2, 0], [2, 4, 0]]
        """
        parts = (self, *others)
        for other in others:
            _checks.instance("others", other, Counts, "parzax.Counts")
            _check_same(self, other)
        counts = [part.counts for part in parts]
        if any(isinstance(array, np.ndarray) for array in counts) and not _checks.is_traced(*counts):
            counts = [np.asarray(array) for array in counts]
            counts = [array.astype(np.int64) if array.dtype.kind in "iu" else array for array in counts]
        elif not _checks.is_traced(*counts) and _overflows(counts):
            raise ValueError("counts: 32 bits do not hold the sum of the parts; give jax.device_get(part).")
        status = reduce(lambda one, other: one | other, (part.status for part in parts))
        return replace(self, counts=reduce(add, counts), status=status)


def count(encoded: Encoded) -> Counts:
    """Count the rows of an encoded log; ``estimate(count(encoded))`` equals ``estimate(encoded)``.

    Pure and unbatched; `jax.jit` and `jax.vmap` apply. `Counts.merge` adds the counts of the parts of one
    encoded log, such as its shards.

    Raises:
        TypeError, ValueError: an argument that is not a single `Encoded`; a log with groups (except on
            Optuna's grid), because a group may span several parts.
    """
    check_encoded(encoded, "count")
    if encoded.groups is not None and not encoded.grid.optuna_rounding:
        raise ValueError(
            "encoded has groups, whose rows count once together, so counts of parts do not add up; use "
            "estimate(encoded), or dataclasses.replace(encoded, groups=None) to count every row."
        )
    arrays = encoded.codes, encoded.level, encoded.weight
    counts = _count(*arrays, place=encoded.place, layout=encoded.layout)
    counts = np.asarray(counts) if isinstance(encoded.codes, np.ndarray) else counts
    settings = encoded.layout, encoded.levels, encoded.region, encoded.grid
    return Counts(counts, encoded.status, None, *settings)


@jit_on_meshes("place", "layout")
def _count(codes: Any, level: Any, weight: Any, **static: Any) -> Array:
    arrays = jax.tree.map(lambda a: jnp.asarray(a)[None], (codes, level, weight))
    return sweep_counts(*arrays, **static)[0]


def count_arrays(
    space: Space, x: Any, losses: Any, cutoffs: Any, levels: tuple[float, ...], region: float, grid: Grid
) -> Counts:
    """`parzax.count_rows` of JAX arrays, which stay where they are, for checked levels and region."""
    check_encodable(space, grid)
    x, losses = (wide_floats(name, a) for name, a in (("x", x), ("losses", losses)))
    _checks.check_shape("x", x, "n", len(space), hint="; use jax.vmap for a batch")
    _checks.check_shape("losses", losses, len(x))
    cutoffs = wide_floats("cutoffs", cutoffs) if isinstance(cutoffs, jax.Array) else cutoffs
    checked = checked_cutoffs(cutoffs, levels)
    cutoffs = jnp.asarray(cutoffs if isinstance(cutoffs, jax.Array) else checked, losses.dtype)
    counts, valid = _count_arrays(x, losses, cutoffs, space=space, grid=grid, levels=levels)
    if not _checks.is_traced(valid) and not valid.all():
        refuse_rows("x", space, x, np.asarray(valid))
    status = jnp.broadcast_to(status_bit(Status.INVALID_ROWS, ~valid.all()), (len(levels),))
    return Counts(counts, status, cutoffs, layout(space, grid), levels, region, grid, space)


@jit_on_meshes("space", "grid", "levels")
def _count_arrays(
    x: Float[Array, "n d"],
    losses: Float[Array, " n"],
    cutoffs: Float[Array, " q1"],
    *,
    space: Space,
    grid: Grid,
    levels: tuple[float, ...],
) -> tuple[Int[Array, "q1 w"], Bool[Array, "n d"]]:
    (codes, valid), usable, q1 = compute_codes(x, space, grid), ~jnp.isnan(losses), len(levels) + 1
    # Losses are compared as integers: XLA may treat all subnormal floats as equal.
    level = count_below(jnp.sort(ordered_key(cutoffs)), ordered_key(losses), -1, q1, q1)
    level = jnp.where(usable & valid.all(axis=1), level, q1)
    counts = sweep_counts(
        codes[None], level[None], None, place=rank_levels(levels), layout=layout(space, grid)
    )
    return counts[0], valid | ~usable[:, None]


def of_histogram(
    histogram: Int[np.ndarray, "q2 w"], space: Space, levels: Any, region: float, grid: Grid, cutoffs: Any
) -> Counts:
    """`Counts` from the rows of each (first level set, column), levels ascending; row q + 1 is left out."""
    levels = tuple(np.asarray(levels).tolist())
    counts = histogram[:-1].cumsum(axis=0)[[*rank_levels(levels), len(levels)]]
    cutoffs = None if cutoffs is None else checked_cutoffs(cutoffs, levels)
    status = np.zeros(len(levels), np.int32)
    return Counts(counts, status, cutoffs, layout(space, grid), levels, region, grid, space)


def checked_cutoffs(cutoffs: Any, levels: Sequence[float]) -> Float[np.ndarray, " q1"]:
    """(q + 1,) cut-offs in float64, or an error if they are NaN or do not ascend with the levels.

    Of traced cut-offs only the shape is checked.
    """
    hint = "; give one per level and the region's last"
    _checks.check_shape("cutoffs", cutoffs, len(levels) + 1, hint=hint)
    if _checks.is_traced(cutoffs):
        return cutoffs
    array = _checks.float_array("cutoffs", cutoffs)
    if np.isnan(array).any():
        raise ValueError(f"cutoffs must not be NaN, got {array.tolist()}; rows without a loss have no rank.")
    ascending = array[[*np.argsort(levels), len(levels)]]
    if (ascending[1:] < ascending[:-1]).any():
        raise ValueError(f"cutoffs must ascend with the levels, the region's last, got {array.tolist()}.")
    return array


def _whole_numbers(name: str, values: Any, shape: tuple[int, ...]) -> Int[np.ndarray, " m"]:
    array = _checks.unmasked(name, values)
    if array.dtype.kind not in "iu" or array.ndim != 1 or array.shape != shape:
        got = f"shape {array.shape} of {array.dtype}"
        raise ValueError(f"{name} must be one whole number for each entry of parameter, got {got}.")
    if array.size and (array.min() < 0 or array.sum(dtype=float) >= 2**63):
        got = f"{array.min()} to {array.max()}"
        raise ValueError(f"{name} must not be negative, nor 2^63 in total, got {got}.")
    return array.astype(np.int64)


def _check_rows(histogram: Int[np.ndarray, "q2 w"], columns: Layout, space: Space) -> None:
    """Raise unless every row has one cell of each parameter, and none is inactive without conditions."""
    rows, names = np.add.reduceat(histogram[:-1], columns.offsets, axis=1), space.names
    if (differs := (rows != rows[:, :1]).any(axis=0)).any():
        j = int(differs.argmax())
        counts = f"{rows[:, 0].tolist()} rows by level, and {names[j]!r} has {rows[:, j].tolist()}"
        raise ValueError(f"count: {names[0]!r} has {counts}; count rows without a value in the last cell.")
    for name, domains, offset, n in zip(names, space.domains, columns.offsets, columns.n_codes, strict=True):
        inactive = histogram[:-1, offset + n - 1].sum()
        if inactive and not domains[-1].conditions:
            cell = f'its last cell, {n - 1} ("inactive")'
            hint = "but it is always active; cells are numbered from 0."
            raise ValueError(f"cell: {name!r} has {inactive} rows in {cell}, {hint}")


def _overflows(counts: Sequence[Array]) -> bool:
    """Whether 32 bits may not hold the sum of integers."""
    integers = [array for array in counts if jnp.issubdtype(array.dtype, jnp.int32)]
    return sum(int(array.max(initial=0)) for array in integers) >= 2**31


def _check_same(one: Counts, other: Counts) -> None:
    """Raise if the counts of two parts do not belong together."""
    for name in ("grid", "levels", "region", "space"):
        pair = getattr(one, name), getattr(other, name)
        if pair[0] != pair[1] and not (name == "space" and None in pair):
            raise ValueError(f"parts to be merged differ in {name}: {pair[0]!r} and {pair[1]!r}.")
    if one.layout != other.layout or one.counts.shape != other.counts.shape:
        shapes = f"{one.counts.shape} and {other.counts.shape}"
        raise ValueError(f"parts to be merged are of different spaces: their counts are {shapes}.")
    given = [part.cutoffs for part in (one, other) if part.cutoffs is not None]
    if _checks.is_traced(*given) or not given:
        return
    if len(given) == 1 or not np.array_equal(*given):
        hint = "count all parts with the cut-offs of the log"
        raise ValueError(f"parts to be merged differ in cutoffs: {one.cutoffs} and {other.cutoffs}; {hint}.")
