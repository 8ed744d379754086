"""The encoder of logs: from checked NumPy arrays to `parzax.importance.Encoded`, on the host in float64."""

import math
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from parzax.importance import Encoded, Grid
from parzax.importance.layout import grid_axis, layout, nearest_cells
from parzax.importance.levels import rank_levels
from parzax.lens.logs.groups import find_groups
from parzax.lens.logs.levels import level_sets
from parzax.lens.logs.pools import assign_pools
from parzax.space import Space

# Numbers in a block of rows, so that a block fits the second-level cache.
_BLOCK = 65536


def encode_log(
    obs: Any,
    losses: np.ndarray,
    levels: np.ndarray,
    region: float,
    grid: Grid,
    *,
    rows: int,
    ranks: bool = False,
) -> tuple[Encoded, dict[str, str]]:
    """Put a log on the grid, with seeds as the leading axis; also return sentences on bounds that move.

    ``losses`` (s, n) rank the n rows of the s seeds of ``obs``; they are NaN in rows that are not usable. The
    arrays are padded to ``rows`` rows; padding is in no set. ``ranks`` says whether `Encoded.rank` is needed.
    """
    shape = (math.prod(obs.batch_shape), obs.n)
    weight = None if obs.weight is None else obs.weight.reshape(shape)
    sets = level_sets(losses, weight, levels, region, raw=grid.optuna_rounding, rows=rows)
    values, regime = (x.reshape(*shape, len(obs.space)) for x in (obs.values, obs.regime))
    codes = grid_codes(obs.space, values, regime, grid, rows)
    pools = assign_pools(codes, obs, grid, sets.level[:, : obs.n] <= len(levels)) if obs.bounds else {}
    requested = tuple(levels.tolist())
    # Equinox's checks of a new module would take as long as the codes of a thousand rows.
    encoded = object.__new__(Encoded)
    vars(encoded).update(
        codes=codes, level=sets.level, rank=loss_ranks(losses, weight, rows) if ranks else None,
        weight=frequencies(weight, rows), status=sets.status[:, rank_levels(requested)],
        layout=layout(obs.space, grid), levels=requested, region=region, grid=grid,
        groups=pad_groups(find_groups(obs), rows),
    )  # fmt: skip
    return encoded, pools


def frequencies(weight: np.ndarray | None, size: int) -> np.ndarray | None:
    """Padded weights, as int32 if all are integers that fit, so that counts are exact."""
    if weight is None:
        return None
    exact = (weight == np.floor(weight)).all() and weight.sum(axis=-1).max(initial=0) < 2**31
    return np.pad(weight, ((0, 0), (0, size - weight.shape[1]))).astype(np.int32 if exact else float)


def pad_groups(groups: np.ndarray | None, rows: int) -> np.ndarray | None:
    """(s, rows) numbers of groups; padding has number 0 and is in no sample."""
    return None if groups is None else np.pad(groups, ((0, 0), (0, rows - groups.shape[1])))


def loss_ranks(losses: np.ndarray, weight: np.ndarray | None, rows: int) -> np.ndarray:
    """(s, rows) int32 number of usable rows with a smaller loss; ``rows`` for rows that are left out."""
    usable = ~np.isnan(losses) & (True if weight is None else weight > 0)
    ranks = np.full((len(losses), rows), rows, np.int32)
    for seed, loss in enumerate(losses):
        order = np.flatnonzero(usable[seed])
        order = order[np.argsort(loss[order])]
        # All tied rows have the rank of the first one.
        is_first = np.ones(len(order), bool)
        is_first[1:] = loss[order[1:]] != loss[order[:-1]]
        ranks[seed, order] = np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))
    return ranks


def grid_codes(
    space: Space, values: np.ndarray, regime: np.ndarray, grid: Grid, rows: int | None = None
) -> np.ndarray:
    """Codes of the rows of (s, n, d) values, column-major: (s, d, rows), of the narrowest type that fits.

    Rows are padded to ``rows`` with the code of "inactive". Rows of a domain whose bounds move are not yet
    in a pool, see `parzax.lens.logs.pools`.
    """
    (n_seeds, n, n_parameters), (inactive, plan) = values.shape, _plan(space, grid)
    codes = np.empty((n_seeds, n_parameters, n if rows is None else rows), inactive.dtype)
    codes[...] = inactive
    size = max(1, _BLOCK // n_parameters)
    seeds_at_once, rows_at_once = max(1, size // max(n, 1)), max(1, min(n, size))
    with np.errstate(invalid="ignore", divide="ignore"):
        for seed, row in product(range(0, n_seeds, seeds_at_once), range(0, n, rows_at_once)):
            seeds, block = slice(seed, seed + seeds_at_once), slice(row, min(row + rows_at_once, n))
            native, regimes = (x[seeds, block].swapaxes(1, 2) for x in (values, regime))
            for number, (columns, transforms, low, spacing, step) in enumerate(plan):
                position = np.array(native[:, columns], order="C")
                for j, transform in transforms:
                    position[:, j] = transform(position[:, j])
                cell = nearest_cells(position, low, spacing).astype(codes.dtype)
                cell += step
                # A product with 0 or 1 is several times faster than an assignment under a mask. It also
                # clears the results of NaN and of values of other regimes.
                cell *= np.ascontiguousarray(regimes[:, columns] == number).view(np.uint8)
                codes[seeds, columns, block] += cell
    return codes


@lru_cache(maxsize=256)
def _plan(space: Space, grid: Grid) -> tuple[np.ndarray, list[tuple]]:
    """Codes of "inactive", (d, 1); and for each regime number the arrays that encode its parameters."""
    where, plan = layout(space, grid), []
    last = np.array(where.n_codes)[:, None] - 1
    dtype = np.min_scalar_type(last.max())
    for regime in range(where.n_regimes - 1):
        blocks = [block for block in where.blocks if block.regime == regime and not block.is_pool]
        columns = [block.parameter for block in blocks]
        axes = [grid_axis(space.domains[j][regime], grid) for j in columns]
        # Difference between the code of the regime's first cell and that of "inactive"; unsigned, so it wraps
        # round.
        steps = np.array([[block.start - where.inactive[block.parameter]] for block in blocks]).astype(dtype)
        transforms = [(j, axis.transform) for j, axis in enumerate(axes) if axis.transform]
        low, spacing = (np.array([[axis.low] for axis in axes]), np.array([[axis.spacing] for axis in axes]))
        everywhere = slice(None) if len(columns) == len(space) else columns
        plan.append((everywhere, transforms, low, spacing, steps))
    return last.astype(dtype), plan
