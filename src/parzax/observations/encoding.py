"""The encoder of logs: from checked NumPy arrays to `parzax.importance.Encoded`, on the host in float64."""

import math
from typing import Any

import numpy as np

from parzax.importance import Encoded, Grid
from parzax.importance.layout import layout
from parzax.observations.codes import grid_codes
from parzax.observations.levels import level_sets
from parzax.observations.pools import in_pools


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
    """A log on the grid, its seeds as a leading axis, and sentences about bounds that move, by parameter.

    ``losses`` (s, n) rank the n rows of the s seeds of ``obs``; they are NaN where not usable. There are
    ``rows`` with padding, which is in no set. ``ranks`` says whether `Encoded.rank` is needed.
    """
    shape = (math.prod(obs.batch_shape), obs.n)
    weight = None if obs.weight is None else obs.weight.reshape(shape)
    sets = level_sets(losses, weight, levels, region, raw=grid.optuna_rounding, rows=rows)
    values, regime = (x.reshape(*shape, len(obs.space)) for x in (obs.values, obs.regime))
    codes = grid_codes(obs.space, values, regime, grid, rows)
    pools = in_pools(codes, obs, grid, sets.level[:, : obs.n] <= len(levels)) if obs.bounds else {}
    encoded = Encoded(
        codes, sets.level, loss_ranks(losses, weight, rows) if ranks else None, frequencies(weight, rows),
        sets.status, layout=layout(obs.space, grid), levels=tuple(levels.tolist()), region=region, grid=grid,
    )  # fmt: skip
    return encoded, pools


def frequencies(weight: np.ndarray | None, size: int) -> np.ndarray | None:
    """Padded weights: int32 where they are whole numbers that fit, so that counts are exact."""
    if weight is None:
        return None
    whole = (weight == np.floor(weight)).all() and weight.sum(axis=-1).max(initial=0) < 2**31
    return np.pad(weight, ((0, 0), (0, size - weight.shape[1]))).astype(np.int32 if whole else float)


def loss_ranks(losses: np.ndarray, weight: np.ndarray | None, rows: int) -> np.ndarray:
    """(s, rows) int32 number of usable rows with a smaller loss; ``rows`` for those that are left out."""
    usable = ~np.isnan(losses) & (True if weight is None else weight > 0)
    ranks = np.full((len(losses), rows), rows, np.int32)
    for own, loss, used in zip(ranks, losses, usable, strict=True):
        own[: loss.size][used] = np.searchsorted(np.sort(loss[used]), loss[used])
    return ranks


def capacity(n: int) -> int:
    """Padded number of rows: 64, 256, 1024, 4096, then doubling, so that few shapes are compiled."""
    return next((size for size in (64, 256, 1024, 4096) if n <= size), 1 << (n - 1).bit_length())
