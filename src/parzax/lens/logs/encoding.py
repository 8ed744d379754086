"""From the checked rows of a log to `parzax.Encoded`, seed by seed, with pools where bounds move."""

import math
from typing import Any

import numpy as np

from parzax.importance import Encoded, Grid
from parzax.importance.encode import encode_seeds
from parzax.importance.levels import level_sets
from parzax.lens.logs.bounds import assign_pools
from parzax.lens.logs.groups import find_groups


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
    values, regime = (x.reshape(*shape, len(obs.space)) for x in (obs.values, obs.regime))
    encoded = encode_seeds(
        obs.space, values, regime, losses, weight, find_groups(obs),
        levels=tuple(levels.tolist()), region=region, grid=grid, rows=rows, ranks=ranks,
    )  # fmt: skip
    in_region = encoded.level[:, : obs.n] <= len(levels)
    return encoded, assign_pools(encoded.codes, obs, grid, in_region)


def loss_ranks(losses: np.ndarray, rows: int) -> np.ndarray:
    """(s, rows) int32 number of usable rows with a smaller loss; ``rows`` for rows that are left out."""
    ranks = np.full((len(losses), rows), rows, np.int32)
    for rank, loss in zip(ranks, losses, strict=True):
        places = level_sets(loss, None, (0.5,), 1.0, False)[1]
        rank[: len(loss)] = np.where(np.isnan(loss), rows, places)
    return ranks
