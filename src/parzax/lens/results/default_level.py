"""Choose the level if none is given, and the level of a sweep that is shown first, by the same rule."""

import numpy as np

from parzax.importance.flags import few_rows
from parzax.importance.levels import level_sets
from parzax.lens.logs import Observations
from parzax.lens.logs.groups import configuration_shares

# A property holds for the result if at least this share of the seeds has it.
MOST_SEEDS = 0.5
_USUAL = 0.1
# Levels of a page, and candidates if no level is given.
LEVELS = np.arange(1, 50) / 50


def pick_level(levels: np.ndarray, n_target: np.ndarray, n_region: np.ndarray) -> int:
    """Index of the level nearest to 0.1 that leaves more than ten rows in the target and outside it.

    If no level does, it is the index of the level whose target is nearest to half of the region. A row that
    ties with the cut-off is in the target, and a row of weight w counts w times. With several seeds, a level
    is not used if half of the seeds or more have too few rows there.

    Args:
        levels: (q,) target quantiles.
        n_target: (..., q) rows in each target.
        n_region: (...,) rows in the region.

    >>> int(pick_level(np.array([0.1, 0.2, 0.5]), np.array([6, 12, 30]), np.array(60)))
    1
    """
    few = have_few_rows(n_target, n_region)
    if not few.all():
        return int(np.where(few, np.inf, np.abs(levels - _USUAL)).argmin())
    target, region = n_target.reshape(-1, len(levels)), n_region.reshape(-1, 1)
    share = (target / np.maximum(region, 1)).mean(axis=0)
    return int(np.lexsort((np.abs(levels - 0.5), np.abs(share - 0.5)))[0])


def have_few_rows(n_target: np.ndarray, n_region: np.ndarray) -> np.ndarray:
    """(q,) whether half of the seeds or more have ten rows or fewer in the target, or outside it."""
    target, region = n_target.reshape(-1, n_target.shape[-1]), n_region.reshape(-1, 1)
    return (few_rows(target, region) | (target == region)).mean(axis=0) >= MOST_SEEDS


def choose_level(
    obs: Observations, losses: np.ndarray, levels: np.ndarray, region: float, raw: bool
) -> tuple[float, str]:
    """The level of a log for which none was given, and why it is not 0.1; "" if it is.

    ``losses`` (s, n) rank the rows; ``levels`` are candidates in ascending order; with ``raw`` sets are those
    of Optuna's grid, where every row counts. Otherwise rows of one configuration count once.
    """
    weights = [None] * len(losses) if obs.weight is None else obs.weight.reshape(losses.shape)
    settings, m = (tuple(levels.tolist()), region, raw, False), len(levels)
    sizes = np.zeros((len(losses), m + 2))
    for size, loss, weight in zip(sizes, losses, weights, strict=True):
        first_set = level_sets(loss, weight, *settings)[0]
        size[:] = np.bincount(first_set, weight, m + 2).cumsum()
    shares = 1.0 if raw else configuration_shares(obs, losses)[:, None]
    n_target, n_region = (sizes * shares)[:, :m], (sizes * shares)[:, m]
    i = pick_level(levels, n_target, n_region)
    if (n_target[:, i] == n_region).all():
        why = "as good as any other, as none has both best rows and others"
    elif have_few_rows(n_target[:, [i]], n_region)[0]:
        why = "the nearest to half of the rows, as none has more than ten best rows and more than ten others"
    elif levels[i] == _USUAL:
        return _USUAL, ""
    else:
        why = f"the nearest to {_USUAL:g} with more than ten best rows and more than ten others"
    return float(levels[i]), f"no level was given: {levels[i]:g} is {why}"
