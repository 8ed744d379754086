"""From the checked rows of a log to `parzax.Encoded`, seed by seed, with pools where bounds move."""

from typing import Any

import numpy as np

from parzax.importance import Encoded, Grid
from parzax.importance.encode import encode_seeds
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
    weight = None if obs.weight is None else obs.weight.reshape(losses.shape)
    values, regime = (x.reshape(*losses.shape, x.shape[-1]) for x in (obs.values, obs.regime))
    encoded = encode_seeds(
        obs.space, values, regime, losses, weight, find_groups(obs),
        levels=tuple(levels.tolist()), region=region, grid=grid, rows=rows, ranks=ranks,
    )  # fmt: skip
    in_region = encoded.level[:, : losses.shape[1]] <= len(levels)
    return encoded, assign_pools(encoded, obs, in_region)
