"""`Encoded`, the arrays that estimators read; and the encoder on a device: regimes, cells, level sets."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer, Shaped

from parzax import _checks
from parzax._entries import check_groups, check_weight
from parzax._mesh import jit_on_meshes
from parzax._numerics import ordered_key
from parzax.importance.borders import Tables, build_tables
from parzax.importance.flags import status_bit
from parzax.importance.layout import Grid, Layout, layout
from parzax.importance.levels import checked_levels, compute_levels, rank_levels
from parzax.space import INACTIVE, Recorded, Space, Varying, refuse_rows
from parzax.space.cells import STEP_SLACK
from parzax.status import Status


class Encoded(eqx.Module):
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
        layout: where each cell is counted; static.
        levels: the q levels, in the requested order; static.
        region: level of the region; static.
        grid: how values were put on the grid; static.
    """

    codes: Integer[Any, "*s d n"]
    level: Integer[Any, "*s n"]
    rank: Int[Any, "*s n"] | None
    weight: Shaped[Any, "*s n"] | None
    status: Int[Any, "*s q"]
    layout: Layout = eqx.field(static=True)
    levels: tuple[float, ...] = eqx.field(static=True)
    region: float = eqx.field(static=True)
    grid: Grid = eqx.field(static=True)
    groups: Int[Any, "*s n"] | None = None

    # Equinox's wrappers of methods are avoided, as in `parzax.space.Frame`.
    __getattribute__ = object.__getattribute__

    @property
    def counted_groups(self) -> Int[Any, "*s n"] | None:
        """The groups, unless every row counts, as on Optuna's grid."""
        return None if self.grid.optuna_rounding else self.groups

    @property
    def place(self) -> tuple[int, ...]:
        """Position of each requested level in ascending order."""
        return rank_levels(self.levels)


def check_encoded(encoded: Any, function: str) -> None:
    """Raise unless ``encoded`` is one encoded log; errors name the public function that was called."""
    _checks.instance("encoded", encoded, Encoded, "what parzax.encode or Observations.encode gives")
    if encoded.codes.ndim != 2:
        raise ValueError(f"encoded is a batch of shape {encoded.codes.shape[:-2]}; use jax.vmap({function}).")


def encode_arrays(
    space: Space,
    x: Any,
    losses: Any,
    levels: Any,
    region: float = 1.0,
    weight: Any = None,
    grid: Grid | None = None,
    groups: Any = None,
) -> Encoded:
    """`parzax.encode` of JAX arrays, which stay where they are; arrays that are not traced are checked."""
    grid = Grid() if grid is None else grid
    check_encodable(space, grid)
    target, region = checked_levels(levels, region)
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
    settings = {"space": space, "grid": grid, "levels": tuple(target.tolist()), "region": region}
    encoded = _encoded(x, losses, weight, **settings)
    if not _checks.is_traced(encoded.status) and jax.device_get(encoded.status)[0] & int(Status.INVALID_ROWS):
        _refuse(space, grid, x, losses, weight)
    return replace(encoded, groups=groups)


def _refuse(space: Space, grid: Grid, x: Array, losses: Array, weight: Array | None) -> None:
    """Raise for the first invalid weight, or for the first row outside the space."""
    counts = ~np.isnan(np.asarray(losses))
    if weight is not None:
        check_weight(np.where(counts, weight, 0), losses.shape)
    _, valid = compute_codes(x, space, grid)
    refuse_rows("x", space, x, np.asarray(valid) | ~counts[:, None])


@jit_on_meshes("space", "grid", "levels", "region")
def _encoded(
    x: Float[Array, "n d"],
    losses: Float[Array, " n"],
    weight: Shaped[Array, " n"] | None,
    *,
    space: Space,
    grid: Grid,
    levels: tuple[float, ...],
    region: float,
) -> Encoded:
    codes, valid = compute_codes(x, space, grid)
    usable = valid.all(axis=1)
    usable = usable if weight is None else usable & (weight >= 0) & jnp.isfinite(weight)
    some_invalid = (~usable & ~jnp.isnan(losses)).any()
    if weight is not None:
        weight = jnp.where(usable, weight, 0)
        usable = usable & (weight > 0)
    ascending = tuple(sorted(levels))
    level, rank, status = compute_levels(losses, usable, weight, ascending, region, grid.optuna_rounding)
    status = status[np.array(rank_levels(levels))]
    return Encoded(
        codes, level, rank, weight, status | status_bit(Status.INVALID_ROWS, some_invalid),
        layout=layout(space, grid), levels=levels, region=region, grid=grid,
    )  # fmt: skip


def compute_codes(
    x: Float[Array, "n d"], space: Space, grid: Grid
) -> tuple[Integer[Array, "d n"], Bool[Array, "n d"]]:
    """Grid codes of native values, and which values are valid: `parzax.lens.logs.grid_codes`, in JAX."""
    table = build_tables(space, grid, np.dtype(x.dtype).type)
    key, missing = ordered_key(x), jnp.isnan(x)
    slot, active = _applying_slots(x, key, missing, space, table)
    held = _in_domain(x, key, slot, table)
    valid = jnp.where(active, held, missing)
    cell = table.borders.count_below(key, slot)
    codes = jnp.where(active & held, jnp.asarray(table.code)[slot] + cell, jnp.asarray(table.inactive)[None])
    return codes.astype(np.min_scalar_type(table.inactive.max())).T, valid


def _applying_slots(
    x: Float[Array, "n d"], key: Int[Array, "n d"], missing: Bool[Array, "n d"], space: Space, table: Tables
) -> tuple[Any, Bool[Array, "n d"]]:
    """The slot that applies for each parameter (the first slot if none applies), and whether one applies."""
    first, walk, parameter = jnp.asarray(table.first_slot)[None], space.walk, table.parameter
    if walk is None:
        return first, jnp.ones(x.shape, bool)
    columns = parameter[walk.parents]
    parent_key = key[:, columns]
    held = _in_domain(x[:, columns], parent_key, jnp.asarray(walk.parents)[None], table)
    tested = parent_key[:, walk.parent]
    inside = (tested >= jnp.asarray(table.low)[None]) & (tested < jnp.asarray(table.high)[None])
    given = ~jnp.asarray(table.recorded)[None] | ~missing[:, parameter]
    applies = walk.applied(inside & held[:, walk.parent], given)
    if len(parameter) == len(space):
        return first, applies
    # At most one slot of a parameter applies, so a sum over its slots gives the number of that slot.
    number = np.arange(len(parameter)) - table.first_slot[parameter] + 1
    numbers = jnp.asarray((parameter[:, None] == np.arange(len(space))) * number[:, None], jnp.float32)
    regime = jnp.matmul(applies.astype(jnp.float32), numbers).astype(jnp.int32)
    return first + jnp.maximum(regime - 1, 0), regime + INACTIVE >= 0


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
    if table.values.size.any():
        start, size = jnp.asarray(table.values.start)[slot], jnp.asarray(table.values.size)[slot]
        place = table.values.count_below(key, slot)
        end = jnp.asarray(table.value_ends.keys)[start + place]
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
