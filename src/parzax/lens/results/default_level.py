"""Choose the level if none is given, and the level of a sweep that is shown first, by the same rule."""

from dataclasses import replace

import numpy as np

from parzax.importance.flags import few_rows
from parzax.lens.logs import Observations
from parzax.lens.logs.encoding import first_sets
from parzax.lens.logs.groups import configuration_shares

# A property holds for the result if at least this share of the seeds has it.
MOST_SEEDS = 0.5
_USUAL = 0.1
_HUNDREDTHS = np.arange(1, 100) / 100


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


def explain_level(level: float, n_target: np.ndarray, n_region: np.ndarray) -> str:
    """Why a level was picked, from the (...,) rows of its target and of the region; "" for the usual one."""
    if (n_target == n_region).all():
        return "as good as any other, as none has rows both in the target and outside it"
    if have_few_rows(n_target[..., None], n_region)[0]:
        return "the nearest to half of the rows, as none leaves more than ten in the target and outside it"
    if level == _USUAL:
        return ""
    return f"the nearest to {_USUAL:g} that leaves more than ten rows in the target and outside it"


def candidate_levels(region: float) -> np.ndarray:
    """Candidates for the level: 0.01, 0.02, ... below the region's level, or hundredths of that level."""
    below = _HUNDREDTHS[region - 1e-9 > _HUNDREDTHS]
    return below if len(below) else _HUNDREDTHS * region


def choose_level(
    obs: Observations, losses: np.ndarray, region: float, *, raw: bool = False
) -> tuple[Observations, np.ndarray]:
    """Choose a level (1,) if none is given, and say in the log's report why it is not 0.1.

    Args:
        obs: the log. Rows that do not count have weight 0.
        losses: (..., n) losses that rank the rows, one array per objective; NaN in unusable rows.
        region: level of the region.
        raw: whether sizes of sets are rounded as Optuna does.
    """
    levels, losses = candidate_levels(region), losses.reshape(-1, obs.n)
    weight = np.ones(obs.losses.shape[:-1]) if obs.weight is None else obs.weight
    weight = np.resize(weight.reshape(-1, obs.n), losses.shape)
    pairs = zip(first_sets(losses, weight, levels, region, raw), weight, strict=True)
    sizes = np.cumsum([np.bincount(first_set, w, len(levels) + 2) for first_set, w in pairs], axis=1)
    if not raw:
        sizes = sizes * configuration_shares(obs, losses)[:, None]
    rows = sizes[:, : len(levels)], sizes[:, len(levels)]
    number = pick_level(levels, *rows)
    why = explain_level(levels[number], rows[0][:, number], rows[1])
    report = replace(obs.report, level=why and f"no level was given: {levels[number]:g} is {why}")
    return replace(obs, report=report), levels[[number]]
