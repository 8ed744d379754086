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
from parzax._numerics import ordered_key
from parzax.importance.flags import status_bit
from parzax.importance.layout import (
    CellRule,
    Grid,
    Layout,
    Tables,
    build_tables,
    cell_search,
    count_in_slot,
    layout,
)
from parzax.importance.levels import checked_cutoffs, checked_levels, level_sets, rank_levels
from parzax.space import INACTIVE, Recorded, Space, Varying
from parzax.space.axes import STEP_SLACK
from parzax.space.checks import check_regimes, refuse_rows
from parzax.status import Status

_GRID = Grid()
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
        return None if self.grid.optuna_rounding else self.groups

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
    grid: Grid = _GRID,
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
    if not any(isinstance(array, jax.Array) for array in (x, losses, weight, groups)):
        return _encode_on_host(space, x, losses, levels, region, weight, grid, groups, cutoffs)
    x, losses = (wide_floats(name, a) for name, a in (("x", x), ("losses", losses)))
    _checks.check_shape("x", x, "n", len(space), hint="; use jax.vmap for a batch")
    _checks.check_shape("losses", losses, len(x))
    if weight is not None:
        weight = _checks.real_array("weight", weight)
        weight = weight.astype(jnp.int32) if weight.dtype.kind in "ub" else weight
        _checks.check_shape("weight", weight, len(x))
    if groups is not None:
        if not isinstance(groups, jax.Array):
            # JAX would convert 64 bits to 32, so that different labels could become equal.
            groups = jnp.asarray(check_groups(groups, losses.shape))
        _checks.check_shape("groups", groups, len(x))
        if groups.dtype.kind not in "iu":
            raise TypeError(f"groups must be integers, got dtype {groups.dtype}.")
        if groups.dtype.itemsize > 4:
            groups = jnp.unique(groups, return_inverse=True, size=len(groups))[1].reshape(groups.shape)
        groups = groups.astype(jnp.int32)
    if cutoffs is not None:
        cutoffs = wide_floats("cutoffs", cutoffs) if isinstance(cutoffs, jax.Array) else cutoffs
        checked = checked_cutoffs(cutoffs, levels)
        cutoffs = jnp.asarray(cutoffs if isinstance(cutoffs, jax.Array) else checked, losses.dtype)
    settings = {"space": space, "grid": grid, "levels": levels, "region": region}
    encoded = _encoded(x, losses, weight, groups, cutoffs, **settings)
    if not _checks.is_traced(encoded.status) and jax.device_get(encoded.status)[0] & int(Status.INVALID_ROWS):
        used = np.asarray(losses) < np.inf
        if weight is not None:
            check_weight(np.where(used, weight, 0), losses.shape)
        valid = np.asarray(compute_codes(x, space, grid)[1])
        refuse_rows("x", space, x, valid | ~used[:, None])
    return encoded


def _encode_on_host(
    space: Space,
    x: Any,
    losses: Any,
    levels: tuple[float, ...],
    region: float,
    weight: Any,
    grid: Grid,
    groups: Any,
    cutoffs: Any,
) -> Encoded:
    values, losses = (np.array(_checks.float_array(name, a)) for name, a in (("x", x), ("losses", losses)))
    _checks.check_shape("x", values, "n", len(space), hint="; one log at a time")
    _checks.check_shape("losses", losses, len(values))
    used = losses < np.inf
    if weight is not None:
        _checks.check_shape("weight", weight := _checks.float_array("weight", weight), len(values))
        weight = check_weight(np.where(used, weight, 0), losses.shape)
    groups = None if groups is None else check_groups(groups, losses.shape)
    regime = check_regimes(space, values, None, used)
    cutoffs = None if cutoffs is None else checked_cutoffs(cutoffs, levels)
    given = values, regime, np.where(used, losses, np.nan), weight, groups, cutoffs
    arrays: Any = (None if a is None else a[None] for a in given)
    encoded = encode_seeds(space, *arrays, levels=levels, region=region, grid=grid)
    return jax.tree.map(lambda a: np.asarray(a[0]), encoded)


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
    (s, n), dtype = losses.shape, np.min_scalar_type(len(levels) + 1)
    size = n if rows is None else rows
    failed = np.isnan(losses)
    if weight is not None:
        weight = np.where(failed, 0.0, weight)
        if (weight == np.floor(weight)).all() and (weight.sum(axis=1) < 2**31).all():
            weight = weight.astype(np.int32)  # so that counts are exact
    level, status = np.full((s, size), len(levels) + 1, dtype), np.zeros((s, len(levels)), np.int32)
    rank = np.full((s, size), size, np.int32) if ranks and cutoffs is None else None
    for i, loss in enumerate(losses):
        row_weight, cutoff = (a if a is None else a[i] for a in (weight, cutoffs))
        settings = levels, region, grid.optuna_rounding, ranks, cutoff
        level[i, :n], seed_rank, status[i] = level_sets(loss, row_weight, *settings)
        if rank is not None:
            rank[i, :n] = np.where(seed_rank == n, size, seed_rank)
    pad = (0, 0), (0, size - n)
    return Encoded(
        codes=host_codes(space, values, regime, grid, size),
        level=level,
        rank=rank,
        weight=None if weight is None else np.pad(weight, pad),
        groups=None if groups is None else np.pad(groups, pad),
        status=status,
        n_failed=np.array([np.count_nonzero(seed) for seed in failed], np.int32),
        cutoffs=cutoffs,
        layout=layout(space, grid),
        levels=levels,
        region=region,
        grid=grid,
    )


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
    raw = grid.optuna_rounding
    losses = jnp.where(usable, losses, jnp.nan)
    level, rank, status = level_sets(losses, weight, levels, region, raw, cutoffs=cutoffs)
    status |= status_bit(Status.INVALID_ROWS, some_invalid)
    arrays = codes, level, rank, weight, groups, status, failed.sum(dtype=jnp.int32), cutoffs
    return Encoded(*arrays, layout(space, grid), levels, region, grid)


def compute_codes(
    x: Float[Array, "n d"], space: Space, grid: Grid
) -> tuple[Integer[Array, "d n"], Bool[Array, "n d"]]:
    """Grid codes of native values, and which values are valid: `host_codes`, in JAX."""
    table = build_tables(space, grid, np.dtype(x.dtype).type)
    key, missing = ordered_key(x), jnp.isnan(x)
    slot, active = _applying_slots(x, key, missing, space, table)
    held = _in_domain(x, key, slot, table)
    valid = jnp.where(active, held, missing)
    cell = count_in_slot(table.borders, key, slot)
    codes = jnp.where(active & held, jnp.asarray(table.code)[slot] + cell, jnp.asarray(table.inactive)[None])
    return codes.astype(np.min_scalar_type(table.inactive.max())).T, valid


def _applying_slots(
    x: Float[Array, "n d"], key: Int[Array, "n d"], missing: Bool[Array, "n d"], space: Space, table: Tables
) -> tuple[Any, Bool[Array, "n d"]]:
    """The slot that applies for each parameter (the first slot if none applies), and whether one applies."""
    frame = space.frame()
    first, parameter = jnp.asarray(frame.first, jnp.int32)[None], frame.parameter.astype(np.int32)
    if not frame.n_rounds:
        return first, jnp.ones(x.shape, bool)
    parents, parent = np.unique(frame.tested, return_inverse=True)
    columns = parameter[parents]
    parent_key = key[:, columns]
    held = _in_domain(x[:, columns], parent_key, jnp.asarray(parents)[None], table)
    tested = parent_key[:, parent]
    inside = (tested >= jnp.asarray(table.low)[None]) & (tested < jnp.asarray(table.high)[None])
    given = ~jnp.asarray(table.recorded)[None] | ~missing[:, parameter]
    applies = frame.applied(inside & held[:, parent], given)
    if frame.membership is None:
        return first, applies
    # At most one slot of a parameter applies, so a sum over its slots gives the number of that slot.
    number = frame.membership * (frame.regime[:, None] + 1).astype(np.float32)
    regime = jnp.matmul(applies.astype(jnp.float32), jnp.asarray(number)).astype(jnp.int32) + INACTIVE
    return first + jnp.maximum(regime, 0), regime != INACTIVE


def _in_domain(
    x: Float[Array, "n m"], key: Int[Array, "n m"], slot: Any, table: Tables
) -> Bool[Array, "n m"]:
    """Whether values lie in the domains of their slots, up to rounding; as `parzax.space.Domain.outside`."""
    inside = (key >= jnp.asarray(table.smallest)[slot]) & (key <= jnp.asarray(table.largest)[slot])
    if table.step.any():
        first, step = jnp.asarray(table.first)[slot], jnp.asarray(table.step)[slot]
        nearest = jnp.round(x)
        if not np.isin(table.step, (0, 1)).all():
            steps = jnp.round((x - first) / jnp.where(step > 0, step, 1))
            nearest = jnp.where(step == 1, nearest, first + steps * step)
        inside = inside & ((step == 0) | (jnp.abs(x - nearest) <= STEP_SLACK * step))
    _, starts, sizes = table.values
    if sizes.any():
        start, size = jnp.asarray(starts)[slot], jnp.asarray(sizes)[slot]
        place = count_in_slot(table.values, key, slot)
        end = jnp.asarray(table.value_ends[0])[start + place]
        inside = inside & ((size == 0) | ((place > 0) & (key <= end)))
    return inside


def wide_floats(name: str, x: Any) -> Array:
    """An array of float32 or float64; others become JAX's default floats."""
    x = _checks.real_array(name, x)
    return x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.result_type(float))


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
