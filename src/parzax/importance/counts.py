"""Counts per (level, cell), `Counts`: one pass over the rows, then a running sum over the levels.

The counts of the parts of a log add up to the counts of the log.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import accumulate
from operator import add, or_
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, Shaped

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax._numerics import divisor
from parzax.importance.encode import Encoded, check_encoded, without_values
from parzax.importance.layout import Grid, Layout, layout
from parzax.importance.levels import checked_cutoffs, checked_levels, rank_levels
from parzax.pareto.order import changes
from parzax.space import Space

# Below this many (row, parameter) pairs one flat scatter is fastest on a CPU; above it, a loop over the
# columns, whose counts stay in the first-level cache.
_FLAT_LIMIT = 1 << 17
# Largest number of joint counts of two columns, so that they fit the first-level cache.
_PAIR_LIMIT = 1 << 13
# Largest number of columns for which all pairs are unrolled; more would take too long to compile.
_MOST_PAIRED = 32
# Running sums over up to this many levels are unrolled.
_WRITTEN_OUT = 4


def sweep_counts(
    codes: Integer[Array, "#s d n"],
    level: Integer[Array, "s *d n"],
    weight: Shaped[Array, "s n"] | None,
    *,
    place: tuple[int, ...],
    layout: Layout,
) -> Shaped[Array, "s q1 w"]:
    """Rows (weight) of every level set, and of the region last, in the columns of ``layout``.

    ``level`` is the first set that holds a row, (s, n), or (s, d, n) if it differs between parameters.
    ``codes`` may have a single seed, which is then used for all seeds. Set i of the answer is at position
    ``place[i]`` in ascending order.
    """
    arrays = codes, level.astype(jnp.int32), weight
    sets = len(place) + 2
    flat = partial(_flat_histogram, sets=sets, layout=layout)
    if codes.size <= _FLAT_LIMIT or len(codes) < len(level) or level.ndim == 3:
        histogram = flat(*arrays)
    else:
        by_column = partial(_histograms_by_column, sets=sets, layout=layout)
        cpu = partial(by_column, most_pairs=_PAIR_LIMIT, over_seeds=jax.lax.map)
        # On an accelerator the time is proportional to the scattered entries, so pairs of columns halve it.
        n_columns, n_rows = codes.shape[1:]
        paired = partial(by_column, most_pairs=n_rows, over_seeds=lambda count, seeds: jax.vmap(count)(seeds))
        pairs_pay = n_columns <= _MOST_PAIRED and sets * max(layout.n_codes) ** 2 <= n_rows
        default = paired if pairs_pay else flat
        histogram = jax.lax.platform_dependent(*arrays, cpu=cpu, default=default)
    counts = running_sum(histogram[:, :-1])
    return counts if list(place) == sorted(place) else counts[:, np.array([*place, len(place)])]


def _flat_histogram(
    codes: Integer[Array, "#s d n"],
    level: Int[Array, "s *d n"],
    weight: Shaped[Array, "s n"] | None,
    sets: int,
    layout: Layout,
) -> Shaped[Array, "s l w"]:
    """(level, column) counts of all seeds by one scatter."""
    n_seeds = len(level)
    seed = jnp.arange(n_seeds, dtype=jnp.int32)[:, None, None]
    column = jnp.asarray(layout.offsets, jnp.int32)[None, :, None] + codes.astype(jnp.int32)
    level = level[:, None, :] if level.ndim == 2 else level
    bins = (seed * sets + level) * layout.n_columns + column
    # Not flattened, so that each device counts its own rows.
    weights = None if weight is None else jnp.broadcast_to(weight[:, None, :], bins.shape)
    histogram = _histogram(bins, weights, n_seeds * sets * layout.n_columns)
    return histogram.reshape(n_seeds, sets, layout.n_columns)


def _histograms_by_column(
    codes: Integer[Array, "s d n"],
    level: Int[Array, "s n"],
    weight: Shaped[Array, "s n"] | None,
    sets: int,
    layout: Layout,
    most_pairs: int,
    over_seeds: Callable[[Callable[..., Array], Any], Array],
) -> Shaped[Array, "s l w"]:
    """`_flat_histogram`, computed seed by seed and column by column, so that counts stay in a CPU's cache.

    If two columns have up to ``most_pairs`` joint counts, these are made, and sums give those of each column.
    """
    width = max(layout.n_codes)

    def count_seed(seed: tuple[Array, Array, Array | None]) -> Shaped[Array, "d l g"]:
        codes, level, weight = seed

        def count(*columns: Integer[Array, " n"]) -> Shaped[Array, "l ..."]:
            bins = level
            for column in columns:
                bins = bins * width + column.astype(jnp.int32)
            histogram = _histogram(bins, weight, sets * width ** len(columns))
            return histogram.reshape(sets, *[width] * len(columns))

        if sets * width**2 > most_pairs or len(codes) > _MOST_PAIRED:
            return jax.lax.map(count, codes)
        counts = []
        # Pairs of columns halve the number of scatters; sums then give both columns. The loop is unrolled,
        # because XLA would otherwise compute the bins within the scatter.
        for left in range(0, len(codes) - 1, 2):
            joint = count(codes[left], codes[left + 1])
            counts += [joint.sum(axis=2, dtype=joint.dtype), joint.sum(axis=1, dtype=joint.dtype)]
        return jnp.stack(counts if len(codes) % 2 == 0 else [*counts, count(codes[-1])])

    columns = jnp.moveaxis(over_seeds(count_seed, (codes, level, weight)), 1, 2)
    sizes = np.array(layout.n_codes)
    if (sizes == columns.shape[-1]).all():
        return columns.reshape(*columns.shape[:2], -1)
    column = np.repeat(np.arange(len(sizes)), sizes)
    cell = np.arange(layout.n_columns) - np.repeat(np.array(layout.offsets), sizes)
    return columns[:, :, jnp.asarray(column), jnp.asarray(cell)]


def _histogram(bins: Array, weight: Array | None, size: int) -> Array:
    # The bins are in range by construction, so the scatter needs no bounds check.
    ones = jnp.ones((), jnp.int32) if weight is None else weight
    return jnp.zeros(size, ones.dtype).at[bins].add(ones, mode="promise_in_bounds")


def running_sum(x: Shaped[Array, "*s l g"]) -> Shaped[Array, "*s l g"]:
    """Cumulative sum over the levels: unrolled for few levels, otherwise in the platform's fastest form.

    On a CPU jnp.cumsum is ten times slower than a scan, and a loop over few levels costs more than its
    additions. On an accelerator a scan is a loop of tiny kernels.
    """
    if x.shape[-2] <= _WRITTEN_OUT:
        return jnp.stack(list(accumulate(jnp.moveaxis(x, -2, 0))), axis=-2)

    def scanned(x: Array) -> Array:
        rows = jnp.moveaxis(x, -2, 0)
        _, sums = jax.lax.scan(lambda total, row: (total + row, total + row), jnp.zeros_like(rows[0]), rows)
        return jnp.moveaxis(sums, 0, -2)

    return jax.lax.platform_dependent(x, cpu=scanned, default=partial(jax.lax.cumsum, axis=x.ndim - 2))


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Counts:
    """Histogram of each target set and of the region over the cells of the grid.

    `parzax.importance.estimate` needs nothing else. Made by `Counts.of` from encoded rows, by
    `parzax.lens.count` from large files, and by `Counts.from_table` from any engine's group-by. A pytree;
    leading axes are batches.

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
    layout: Layout = field(metadata={"static": True})
    levels: tuple[float, ...] = field(metadata={"static": True})
    region: float = field(metadata={"static": True})
    grid: Grid = field(metadata={"static": True})
    space: Space | None = field(default=None, metadata={"static": True})

    @classmethod
    def of(cls, encoded: Encoded) -> "Counts":
        """Count the rows of an encoded log; ``estimate(Counts.of(encoded))`` equals ``estimate(encoded)``.

        Pure and unbatched; `jax.jit` and `jax.vmap` apply. `merge` adds the counts of the parts of a log:
        shards of one encoded log, or blocks that `parzax.encode` encoded with the log's ``cutoffs``.

        Raises:
            TypeError, ValueError: an argument that is not a single `Encoded`; a log with groups (except on
                Optuna's grid), because a group may span several parts.

        >>> import numpy as np, parzax as px
        >>> space, x = px.Space({"x": px.Int(1, 2)}), np.array([[1.0], [2.0], [2.0]])
        >>> px.importance.Counts.of(px.encode(space, x, np.arange(3.0), 0.3)).counts.tolist()
        [[1, 0, 0], [1, 2, 0]]
        """
        check_encoded(encoded, "Counts.of")
        if encoded.counted_groups is not None:
            raise ValueError(
                "encoded has groups, whose rows count once together, so counts of parts do not add up; use "
                "estimate(encoded), or dataclasses.replace(encoded, groups=None) to count every row."
            )
        counts = _count(without_values(encoded))
        counts = np.asarray(counts) if isinstance(encoded.codes, np.ndarray) else counts
        settings = encoded.layout, encoded.levels, encoded.region, encoded.grid
        return cls(counts, encoded.status, encoded.cutoffs, *settings)

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
        grid: Grid = Grid(),
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
        >>> px.importance.Counts.from_table(px.Space({"x": px.Int(1, 2)}), 0.25, **table).counts.tolist()
        [[2, 0, 0], [3, 5, 0]]
        """
        _checks.instance("space", space, Space, "a parzax.Space")
        names = np.asarray(parameter)
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
        levels = tuple(target.tolist())
        # Row i of the histogram has what is in the i-th smallest set but in no smaller one.
        counts = histogram[:-1].cumsum(axis=0)[[*rank_levels(levels), len(levels)]]
        cutoffs = None if cutoffs is None else checked_cutoffs(cutoffs, levels)
        status = np.zeros(len(levels), np.int32)
        return cls(counts, status, cutoffs, columns, levels, region, grid, space)

    def merge(self, *others: "Counts") -> "Counts":
        """Add the counts of parts of a log.

        If any part is in NumPy, integer counts are returned in NumPy as int64. Traced 32-bit counts may wrap
        around above 2^31 rows in a cell. The order of the parts does not change integer counts. Status bits
        are combined.

        Raises:
            ValueError: parts that differ in grid, space, levels, region or cut-offs, or JAX counts whose sum
                may exceed 32 bits. Cut-offs of traced arrays are not compared.

        >>> import numpy as np, parzax as px
        >>> space, x = px.Space({"x": px.Int(1, 2)}), np.array([[1.0], [2.0], [2.0]])
        >>> part = px.importance.Counts.of(px.encode(space, x, np.arange(3.0), 0.5, cutoffs=[1.0, 2.0]))
        >>> part.merge(part).counts.tolist()
        [[2, 2, 0], [2, 4, 0]]
        """
        parts = (self, *others)
        for other in others:
            _checks.instance("others", other, Counts, "parzax.importance.Counts")
            _check_same(self, other)
        counts = [part.counts for part in parts]
        if not _checks.is_traced(*counts):
            if any(isinstance(array, np.ndarray) for array in counts):
                counts = [np.asarray(array) for array in counts]
                counts = [array.astype(np.int64) if array.dtype.kind in "iu" else array for array in counts]
            elif sum(int(a.max(initial=0)) for a in counts if a.dtype == jnp.int32) >= 2**31:
                raise ValueError(
                    "counts: 32 bits do not hold the sum of the parts; give jax.device_get(part)."
                )
        return replace(self, counts=reduce(add, counts), status=reduce(or_, (part.status for part in parts)))


@jit_on_meshes()
def _count(encoded: Encoded) -> Array:
    return count_seeds(jax.tree.map(lambda a: jnp.asarray(a)[None], encoded))[0]


def count_seeds(encoded: Encoded) -> Shaped[Array, "s q1 w"]:
    """Counts of s encoded logs in one batch, so that a CPU runs no loop over seeds.

    Rows of a group in the same cells are one configuration. The counts of a log with groups are those of its
    rows times the share of different configurations (`configuration_share`): if each row was repeated k times
    in its group, they equal the counts of the log without repeats.
    """
    arrays = encoded.codes, encoded.level, encoded.weight
    counts = sweep_counts(*arrays, place=encoded.place, layout=encoded.layout)
    return jax.vmap(count_configurations)(counts, encoded)


def count_configurations(counts: Shaped[Array, "*b q1 w"], encoded: Encoded) -> Shaped[Array, "*b q1 w"]:
    """Counts of rows times `configuration_share`, if the rows of a group count once together."""
    if encoded.counted_groups is None:
        return counts
    share = configuration_share(encoded)
    return counts.astype(share.dtype) * share


def configuration_share(encoded: Encoded) -> Float[Array, ""]:
    """Different configurations of all groups, divided by the rows (weight) of the region; 1 without rows."""
    codes, level, weight = encoded.codes, encoded.level, encoded.weight
    groups = jnp.asarray(encoded.groups)
    in_region = level <= len(encoded.levels)
    # Rows with equal cells have equal hashes; rows with different cells collide with probability 2^-32.
    factors = np.random.default_rng(0).integers(2**31, size=len(codes), dtype=np.uint32) * 2 + 1
    hashes = (codes.astype(jnp.uint32) * factors[:, None]).sum(axis=0, dtype=jnp.uint32)
    outside, *ordered = jax.lax.sort((~in_region, groups, hashes), num_keys=3)
    n = (changes(ordered) & ~outside).sum(dtype=jnp.int32)
    n_rows = in_region.sum(dtype=jnp.int32) if weight is None else jnp.where(in_region, weight, 0).sum()
    share = n.astype(jnp.result_type(float)) / divisor(n_rows.astype(jnp.result_type(float)))
    return jnp.where(n_rows > 0, share, 1)


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
    if given and not _checks.is_traced(*given) and (len(given) == 1 or not np.array_equal(*given)):
        hint = "count all parts with the cut-offs of the log"
        raise ValueError(f"parts to be merged differ in cutoffs: {one.cutoffs} and {other.cutoffs}; {hint}.")
