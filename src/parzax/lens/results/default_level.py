"""Choose the level if none is given, and the level of a sweep that is shown first, by the same rule."""

from dataclasses import replace

import numpy as np

from parzax.importance import Encoded
from parzax.importance.flags import few_rows

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


def explain_level(level: float, n_target: np.ndarray, n_region: np.ndarray) -> str:
    """Why a level was picked, from the (...,) rows of its target and of the region; "" for the usual one."""
    if (n_target == n_region).all():
        return "as good as any other, as none has rows both in the target and outside it"
    if have_few_rows(n_target[..., None], n_region)[0]:
        return "the nearest to half of the rows, as none leaves more than ten in the target and outside it"
    if level == _USUAL:
        return ""
    return f"the nearest to {_USUAL:g} that leaves more than ten rows in the target and outside it"


def at_usual_level(encoded: Encoded, share: np.ndarray) -> tuple[Encoded, str]:
    """A log of s seeds that was encoded at many levels, at the usual one alone, and why it is not 0.1.

    ``share`` (s,) is the share of different configurations among the rows of each seed.
    """
    levels, m = np.array(encoded.levels), len(encoded.levels)
    weight = np.ones(encoded.level.shape) if encoded.weight is None else encoded.weight
    pairs = zip(encoded.level, weight, strict=True)
    sizes = np.cumsum([np.bincount(first, w, m + 2) for first, w in pairs], axis=1)
    sizes = sizes * share[:, None]
    n_target, n_region = sizes[:, list(encoded.place)], sizes[:, m]
    i = pick_level(levels, n_target, n_region)
    first = np.where(encoded.level <= encoded.place[i], 0, np.where(encoded.level <= m, 1, 2))
    chosen = replace(
        encoded, level=first.astype(np.uint8), levels=(float(levels[i]),), status=encoded.status[:, [i]]
    )
    why = explain_level(levels[i], n_target[:, i], n_region)
    return chosen, why and f"no level was given: {levels[i]:g} is {why}"
