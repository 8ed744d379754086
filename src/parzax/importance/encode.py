"""`encode` and `Encoded`: rows on the grid and in level sets, in NumPy on the host or in JAX."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer, Shaped

from parzax import _checks
from parzax._checks import check_groups, check_weight
from parzax._mesh import jit_on_meshes
from parzax._numerics import count_below, ordered_key
from parzax.importance.flags import status_bit
from parzax.importance.layout import CellRule, Grid, Layout, border_table, cell_search, layout
from parzax.importance.levels import checked_cutoffs, checked_levels, level_sets, rank_levels
from parzax.space import INACTIVE, Recorded, Space, Varying
from parzax.space.checks import check_regimes, refuse_rows
from parzax.status import Status

# Values that are encoded together, so that they stay in the second-level cache.
_BLOCK = 1 << 16


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows of one log on the grid; made by `parzax.encode` or ``obs.encode``.

    A pytree whose arrays are all JAX's or all NumPy's. Seeds are `jax.vmap` over a leading axis.

    Attributes:
        codes: (d, n) cell of each row for each parameter, as unsigned integers. The cells of a parameter are
            numbered regime after regime; the last code is "inactive"; see `Layout`.
        level: (n,) index of the first level set, in ascending order of the levels, that holds the row; q for
            rows of the region alone, q + 1 for rows outside it and rows that are left out.
        rank: (n,) number of usable rows with a smaller loss, so that tied rows share a rank; n for rows that
            are left out. None if resampling was not requested.
        weight: (n,) frequency weights, or None for 1 each.
        groups: (n,) int32 labels of rows that belong together, such as the epochs of one configuration, or
            None where every row stands alone. Rows of a group in the same cells count as one row together.
        status: (q,) int32 bits of `parzax.Status` that depend on losses alone.
        n_failed: () int32 number of rows left out because their loss is NaN or infinite in the bad direction.
        cutoffs: (q + 1,) largest loss of each set, if they were given; None if they follow from the rows.
        layout: where each cell is counted; static.
        levels: the q levels, in the requested order; static.
        region: level of the region; static.
        grid: how values were put on the grid; static.
    """

    codes: Integer[Any, "*s d n"]
    level: Integer[Any, "*s n"]
    rank: Int[Any, "*s n"] | None
    weight: Shaped[Any, "*s n"] | None
    groups: Int[Any, "*s n"] | None
    status: Int[Any, "*s q"]
    n_failed: Int[Any, "*s"]
    cutoffs: Float[Any, "*s q1"] | None
    layout: Layout = field(metadata={"static": True})
    levels: tuple[float, ...] = field(metadata={"static": True})
    region: float = field(metadata={"static": True})
    grid: Grid = field(metadata={"static": True})

    @property
    def counted_groups(self) -> Int[Any, "*s n"] | None:
        """The groups, unless every row counts, as on Optuna's grid."""
        return None if self.grid.of_reference else self.groups

    @property
    def place(self) -> tuple[int, ...]:
        """Position of each requested level in ascending order."""
        return rank_levels(self.levels)


def without_values(log: Any, **changes: Any) -> Any:
    """`Encoded` or `Counts` whose levels are only their order, so that one program serves all levels."""
    return replace(log, levels=tuple(map(float, rank_levels(log.levels))), region=1.0, **changes)


def check_encoded(encoded: Any, function: str) -> None:
    """Raise unless ``encoded`` is one encoded log; errors name the public function that was called."""
    _checks.instance("encoded", encoded, Encoded, "what parzax.encode or Observations.encode gives")
    if encoded.codes.ndim != 2:
        raise ValueError(f"encoded is a batch of shape {encoded.codes.shape[:-2]}; use jax.vmap({function}).")


def encode(
    space: Space,
    x: Any,
    losses: Any,
    levels: Any,
    region: float = 1.0,
    weight: Any = None,
    grid: Grid = Grid(),
    groups: Any = None,
    cutoffs: Any = None,
) -> Encoded:
    """Put the rows of one log on the grid and into level sets, for `parzax.importance.estimate`.

    With JAX arrays, traced or not, it is a pure function of ``x``, ``losses``, ``weight`` and ``groups``; all
    other arguments are static. `jax.jit` and `jax.vmap` apply. NumPy arrays are encoded on the host in
    float64. Host and device give exactly the same codes and levels: in float64, and in float32 if it
    represents the values. A cell is the number of the grid's borders below a value.

    Args:
        space: the search space.
        x: (n, d) native values, NaN = inactive, categories as codes.
        losses: (n,) lower is better; -inf is a legal best. Rows with NaN or +inf are failed rows: they are
            left out, and ``n_failed`` counts them.
        levels: a number or (q,) numbers in (0, 1): the levels gamma' of the target sets, below ``region``. A
            target set has the best ceil(level * N) of N usable rows, and all rows tied with the last of them.
        region: level gamma of the region, in (0, 1].
        weight: (n,) frequency weights, at least 0; None counts every row once.
        grid: number of cells, and rounding of sizes.
        groups: (n,) labels, equal for rows that belong together, such as the epochs of one configuration;
            integers, or text on the host. Rows of a group in the same cells count as one row together, and
            `parzax.importance.resample` and `shuffle` take whole groups. By default every row is a group.
        cutoffs: (q + 1,) largest loss of each target set in the order of ``levels``, then of the region, for
            rows that are a part of a log: `parzax.importance.Counts.merge` adds the counts of its parts. Rows
            tied with a cut-off are included, and the status of the losses is 0. By default they follow from
            the rows.

    Returns:
        `parzax.Encoded`. A row of a traced array is left out if a value is outside its domain or is given for
        an inactive parameter, or if its weight is negative or not finite; every level then has the status
        INVALID_ROWS. Such rows of arrays that are not traced raise an error.

    Raises:
        TypeError, ValueError: levels outside (0, 1), repeated, or not below the region's; shapes that do not
            fit; unless traced, rows outside the space and weights that are negative or not finite; bounds
            that move (`parzax.Varying`) and parameters with several `parzax.Recorded` domains, which only
            ``parzax.Observations.encode`` takes.

    >>> import jax.numpy as jnp, parzax as px
    >>> space = px.Space({"x": px.Float(0, 1)})
    >>> x, losses = jnp.array([[0.2], [0.7], [0.9]]), jnp.array([1.0, 3.0, 2.0])
    >>> px.encode(space, x, losses, [0.3, 0.6]).level.tolist()
    [0, 2, 1]
    """
    check_encodable(space, grid)
    target, region = checked_levels(levels, region)
    levels = tuple(target.tolist())
    settings: dict[str, Any] = {"levels": levels, "region": region, "grid": grid}
    on_device = any(isinstance(array, jax.Array) for array in (x, losses, weight, groups))
    as_floats = _checks.floating_array if on_device else _checks.float_array
    x, losses = (as_floats(name, a) for name, a in (("x", x), ("losses", losses)))
    _checks.check_shape("x", x, "n", len(space), hint="; one log at a time, or use jax.vmap for a batch")
    _checks.check_shape("losses", losses, len(x))
    if weight is not None:
        weight = (_checks.real_array if on_device else _checks.float_array)("weight", weight)
        _checks.check_shape("weight", weight, len(x))
    if groups is not None:
        on_host = not isinstance(groups, jax.Array)
        # JAX would convert 64 bits to 32, so that different labels could become equal.
        groups = check_groups(groups, losses.shape) if on_host else _device_groups(groups, len(x))
    if cutoffs is not None:
        cutoffs = checked_cutoffs(_checks.floats("cutoffs", cutoffs), levels)
    if on_device:
        if weight is not None and weight.dtype.kind in "ub":
            weight = weight.astype(jnp.int32)
        cutoffs = None if cutoffs is None else jnp.asarray(cutoffs, losses.dtype)
        encoded = _encoded(x, losses, weight, groups, cutoffs, space=space, **settings)
        traced = _checks.is_traced(encoded.status)
        if not traced and jax.device_get(encoded.status)[0] & int(Status.INVALID_ROWS):
            used = np.asarray(losses) < np.inf
            if weight is not None:
                check_weight(np.where(used, weight, 0), losses.shape)
            valid = jax.jit(space.classify)(x)[1]
            refuse_rows("x", space, x, np.asarray(valid) | ~used[:, None])
        return encoded
    used = losses < np.inf
    if weight is not None:
        weight = check_weight(np.where(used, weight, 0), losses.shape)
    regime = check_regimes(space, x, None, used)
    arrays = x, regime, np.where(used, losses, np.nan), weight, groups, cutoffs
    batch: Any = (None if a is None else a[None] for a in arrays)
    return jax.tree.map(lambda a: np.asarray(a[0]), encode_seeds(space, *batch, **settings))


def _device_groups(groups: Array, n: int) -> Int[Array, " n"]:
    """Labels of JAX as int32."""
    _checks.check_shape("groups", groups, n)
    if groups.dtype.kind not in "iu":
        raise TypeError(f"groups must be integers, got dtype {groups.dtype}.")
    if groups.dtype.itemsize > 4:
        groups = jnp.unique(groups, return_inverse=True, size=n)[1].reshape(groups.shape)
    return groups.astype(jnp.int32)


def encode_seeds(
    space: Space,
    values: Float[np.ndarray, "s n d"],
    regime: Int[np.ndarray, "s n d"],
    losses: Float[np.ndarray, "s n"],
    weight: Float[np.ndarray, "s n"] | None,
    groups: Int[np.ndarray, "s n"] | None,
    cutoffs: Float[np.ndarray, "s q1"] | None = None,
    *,
    levels: tuple[float, ...],
    region: float,
    grid: Grid,
    rows: int | None = None,
    ranks: bool = True,
) -> Encoded:
    """`encode` of s logs of checked rows on the host, whose regimes are known (-1 = inactive).

    Losses are NaN in rows that are left out. The arrays are padded to ``rows`` rows; padding is in no set.
    ``ranks`` says whether they are needed.
    """
    n = losses.shape[1]
    size, q1 = n if rows is None else rows, len(levels) + 1
    unusable = np.isnan(losses)
    if weight is not None:
        weight = np.where(unusable, 0.0, weight)
        if (weight == np.floor(weight)).all() and (weight.sum(axis=1) < 2**31).all():
            weight = weight.astype(np.int32)  # so that counts are exact
    level = np.full((len(losses), size), q1, np.min_scalar_type(q1))
    status = np.empty((len(losses), len(levels)), np.int32)
    rank = np.full(level.shape, size, np.int32) if ranks and cutoffs is None else None
    for i, loss in enumerate(losses):
        row_weight, cutoff = (a if a is None else a[i] for a in (weight, cutoffs))
        level[i, :n], places, status[i] = level_sets(
            loss, row_weight, levels, region, grid.level_size, ranks, cutoff
        )
        if rank is not None:
            rank[i, :n] = np.where(places < n, places, size)
    return Encoded(
        codes=host_codes(space, values, regime, grid, size),
        level=level,
        rank=rank,
        weight=None if weight is None else _padded(weight, size),
        groups=None if groups is None else _padded(groups, size),
        status=status,
        n_failed=unusable.sum(axis=1, dtype=np.int32),
        cutoffs=cutoffs,
        layout=layout(space, grid),
        levels=levels,
        region=region,
        grid=grid,
    )


def _padded(x: Shaped[np.ndarray, "s n"], rows: int) -> Shaped[np.ndarray, "s {rows}"]:
    """``x`` with further columns of 0; `numpy.pad` would take as long as the level sets."""
    out = np.zeros((len(x), rows), x.dtype)
    out[:, : x.shape[1]] = x
    return out


def host_codes(
    space: Space, values: np.ndarray, regime: np.ndarray, grid: Grid, rows: int | None = None
) -> np.ndarray:
    """Codes of the rows of (s, n, d) values, column-major: (s, d, rows), of the narrowest type that fits.

    Rows are padded to ``rows`` with the code of "inactive". Rows of a domain whose bounds move are not yet
    in a pool, see `parzax.lens.logs.bounds`.
    """
    (s, n, d), (inactive, plan) = values.shape, _plan(space, grid)
    codes = np.empty((s, d, n if rows is None else rows), inactive.dtype)
    codes[...] = inactive
    size = max(_BLOCK // d, 1)
    seeds, block = (max(min(most, size // max(other, 1)), 1) for most, other in ((s, n), (n, 1)))
    with np.errstate(all="ignore"):
        for seed, row in product(range(0, s, seeds), range(0, n, block)):
            part = slice(seed, seed + seeds), slice(row, min(row + block, n))
            native, regimes = (x[part].swapaxes(1, 2) for x in (values, regime))
            for number, (columns, searches, rule, step) in enumerate(plan):
                position = np.array(native[:, columns], order="C")
                for j, search in searches:
                    position[:, j] = search(position[:, j])
                cell = rule(position).astype(codes.dtype)
                cell += step
                # A product with 0 or 1 is several times faster than an assignment under a mask.
                cell *= np.ascontiguousarray(regimes[:, columns] == number).view(np.uint8)
                codes[part[0], columns, part[1]] += cell
    return codes


@lru_cache(maxsize=256)
def _plan(space: Space, grid: Grid) -> tuple[np.ndarray, list[tuple[Any, list[Any], CellRule, np.ndarray]]]:
    """Codes of "inactive", (d, 1); and for the regimes of each number, what gives the codes of their values.

    These are their parameters, the searches of those whose values have no `CellRule` in common with others, a
    rule for all of them, and the difference between the code of the first cell and that of "inactive"; it
    wraps round.
    """
    columns, plan = layout(space, grid), []
    inactive = np.array(columns.n_codes)[:, None] - 1
    dtype = np.min_scalar_type(inactive.max())
    for number in range(columns.n_regimes - 1):
        blocks = [block for block in columns.blocks if block.regime == number and not block.is_pool]
        parameters = [block.parameter for block in blocks]
        searches = [cell_search(space.domains[j][number], grid) for j in parameters]
        rules = [x if isinstance(x, CellRule) and x.scale is None else None for x in searches]
        others = [(i, search) for i, search in enumerate(searches) if rules[i] is None]
        low, spacing = np.array([(rule or CellRule())[:2] for rule in rules]).T[..., None]
        step = np.array([[block.start - columns.inactive[block.parameter]] for block in blocks])
        everywhere = slice(None) if len(parameters) == len(space) else parameters
        plan.append((everywhere, others, CellRule(low, spacing), step.astype(dtype)))
    return inactive.astype(dtype), plan


@jit_on_meshes("space", "grid", "levels", "region")
def _encoded(
    x: Float[Array, "n d"],
    losses: Float[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    groups: Int[Array, " n"] | None,
    cutoffs: Float[Array, " q1"] | None,
    *,
    space: Space,
    grid: Grid,
    levels: tuple[float, ...],
    region: float,
) -> Encoded:
    codes, valid = compute_codes(x, space, grid)
    failed = ~(losses < jnp.inf)
    usable = valid.all(axis=1)
    usable = usable if weight is None else usable & (weight >= 0) & jnp.isfinite(weight)
    some_invalid = (~usable & ~failed).any()
    usable &= ~failed
    weight = None if weight is None else jnp.where(usable, weight, 0)
    losses = jnp.where(usable, losses, jnp.nan)
    level, rank, status = level_sets(losses, weight, levels, region, grid.level_size, cutoffs=cutoffs)
    status |= status_bit(Status.INVALID_ROWS, some_invalid)
    arrays = codes, level, rank, weight, groups, status, failed.sum(dtype=jnp.int32), cutoffs
    return Encoded(*arrays, layout(space, grid), levels, region, grid)


def compute_codes(
    x: Float[Array, "n d"], space: Space, grid: Grid
) -> tuple[Integer[Array, "d n"], Bool[Array, "n d"]]:
    """Grid codes of native values, and which values are valid: `host_codes`, in JAX."""
    columns, (regime, valid) = layout(space, grid), space.classify(x)
    keys, start, size = border_table(space, grid, np.dtype(x.dtype).type)
    inactive = np.array(columns.n_codes) - 1
    first_cell = np.array([b.start - columns.offsets[b.parameter] for b in columns.blocks if not b.is_pool])
    first_slot = np.searchsorted([slot.parameter for slot in space.slots], np.arange(len(space)))
    slot = jnp.asarray(first_slot, jnp.int32)[None] + jnp.maximum(regime, 0).astype(jnp.int32)
    start, size, first_cell = (jnp.asarray(entries, jnp.int32)[slot] for entries in (start, size, first_cell))
    cell = count_below(keys, ordered_key(x), start, size, max(columns.n_codes))
    codes = jnp.where(valid & (regime != INACTIVE), first_cell + cell, jnp.asarray(inactive, jnp.int32)[None])
    return codes.astype(np.min_scalar_type(inactive.max())).T, valid


def check_encodable(space: Any, grid: Any) -> None:
    """Raise for a space or grid that cannot be encoded on a device, with the remedy."""
    _checks.instance("space", space, Space, "a parzax.Space")
    _checks.instance("grid", grid, Grid, "a parzax.Grid")
    remedy = "encode such a log on the host: parzax.Observations.from_arrays(...).encode(levels)."
    for name, domains in zip(space.names, space.domains, strict=True):
        if grid.max_pools and any(isinstance(domain, Varying) for domain in domains):
            raise ValueError(
                f"the bounds of {name!r} move, and rows with similar bounds are pooled by log; {remedy}"
            )
        if len(domains) > 1 and any(isinstance(c, Recorded) for domain in domains for c in domain.conditions):
            raise ValueError(f"only the log knows which domain of {name!r} applies (Recorded); {remedy}")
