"""Rows that belong together: by given labels, or as repeats of one configuration."""

import math
from typing import Any

import numpy as np

from parzax._words import plural
from parzax.lens._rows import number_rows
from parzax.space import Space

# A log has groups of repeats if at least this share of its rows repeat the configuration of another row.
_REPEATED = 0.1


def find_groups(obs: Any) -> np.ndarray | None:
    """(s, n) int32 numbers of the groups of rows that belong together; None if every row is a group.

    They are the log's ``groups``, if given, else its ``repeats``.
    """
    return obs.repeats if obs.groups is None else obs.groups.reshape(-1, obs.n)


def find_repeats(obs: Any) -> np.ndarray | None:
    """(s, n) int32 numbers of the configurations of the rows; None if repeats make no groups.

    Rows with the same configuration belong together, if the configuration has an active parameter with
    continuous values, at least a tenth of the rows are such repeats, and there are several configurations.
    """
    *batch, n, d = obs.values.shape
    n_seeds = math.prod(batch)
    usable = ~np.isnan(obs.losses).all(axis=-1) & (obs.weight is None or obs.weight > 0)
    values, regime = (x.reshape(n_seeds, n, d) for x in (obs.values, obs.regime))
    continuous = usable.reshape(n_seeds, n)[..., None] & _continuous(obs.space, regime)
    repeats = [_number_repeats(*seed) for seed in zip(values, regime, continuous, strict=True)]
    if all(seed is None for seed in repeats):
        return None
    return np.stack([np.arange(n) if seed is None else seed for seed in repeats]).astype(np.int32)


def describe_groups(groups: np.ndarray | None, losses: np.ndarray, *, raw: bool = False) -> str:
    """A sentence on the rows of a log that belong together; "" if every usable row stands alone.

    ``groups`` are (s, m) and ``losses`` (s, n) with n <= m. With ``raw`` every row counts, as in Optuna.
    """
    if groups is None:
        return ""
    usable = ~np.isnan(losses)
    n_rows = int(usable.sum())
    seeds = zip(groups[:, : usable.shape[1]], usable, strict=True)
    n_groups = sum(len(np.unique(numbers[rows])) for numbers, rows in seeds)
    if n_groups == n_rows:
        return ""
    once = "" if raw else "Rows of a group with the same values count once; "
    return f"{n_rows} rows make {plural(n_groups, 'group')}. {once}samples and shuffles take whole groups"


def configuration_shares(obs: Any, losses: np.ndarray) -> np.ndarray:
    """(t,) share of different configurations among the rows, for each of (t, n) losses of a log.

    It is 1 if every row is a separate group. Native values are compared, not cells as in
    `parzax.importance.counts.configuration_share`.
    """
    groups, shares = find_groups(obs), np.ones(len(losses))
    if groups is None:
        return shares
    n_seeds, n = groups.shape
    values, regime = (x.reshape(n_seeds, n, -1) for x in (obs.values, obs.regime))
    weight = np.ones((n_seeds, n)) if obs.weight is None else obs.weight.reshape(n_seeds, n)
    for i, loss in enumerate(losses):
        seed = i % n_seeds
        rows = np.flatnonzero(~np.isnan(loss) & (weight[seed] > 0))
        columns = [groups[seed, rows], *values[seed, rows].T, *regime[seed, rows].T]
        n_configurations = number_rows(columns, len(rows)).max(initial=-1) + 1
        shares[i] = n_configurations / weight[seed, rows].sum() if len(rows) else 1.0
    return shares


def _continuous(space: Space, regime: np.ndarray) -> np.ndarray:
    """(s, n, d) whether the parameter is active with a domain of continuous values."""
    frame = space.frame()
    # the last column is for "inactive" (-1)
    is_continuous = np.zeros((len(space.names), 1 + max(map(len, space.domains))), bool)
    is_continuous[frame.parameter, frame.regime] = ~frame.counted
    return is_continuous[np.arange(len(is_continuous)), regime]


def _number_repeats(values: np.ndarray, regime: np.ndarray, continuous: np.ndarray) -> np.ndarray | None:
    """(n,) numbers of the configurations of one log; None if too few rows are repeats.

    ``values``, ``regime`` and ``continuous`` are (n, d).
    """
    rows = np.flatnonzero(continuous.any(axis=1))
    most = (1 - _REPEATED) * len(rows)
    first = np.argmax(continuous.sum(axis=0))
    # Most logs have no repeats; one column is enough to see that.
    if not len(rows) or len(np.unique(values[rows, first])) > most:
        return None
    numbers = number_rows([*values[rows].T, *regime[rows].T], len(rows))
    if not 1 < numbers.max(initial=-1) + 1 <= most:
        return None
    groups = len(rows) + np.arange(len(values))
    groups[rows] = numbers
    return groups
