"""Rows that belong together: by given labels, or as repeats of one configuration."""

import math
from typing import Any

import numpy as np

from parzax import _checks
from parzax._entries import number_rows
from parzax.space import Space

# A log has groups of repeats if at least this share of its rows repeats the configuration of another.
_REPEATED = 0.1


def check_groups(groups: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Labels of groups, integers or text, as int32 numbers of ``shape`` (..., n)."""
    labels = _checks.unmasked("groups", groups)
    if labels.shape != shape:
        raise ValueError(f"groups must have shape {shape}, one label per row, got {labels.shape}.")
    if labels.dtype.kind not in "biuUT":
        raise TypeError(f"groups must hold whole numbers or text, got dtype {labels.dtype}; convert it.")
    return np.unique(labels, return_inverse=True)[1].reshape(shape).astype(np.int32)


def find_groups(obs: Any) -> np.ndarray | None:
    """(s, n) int32 numbers of the groups of rows that belong together; None if every row is a group.

    They are the log's ``groups``, if given. Otherwise rows with the same configuration belong together, if
    the configuration has an active parameter with continuous values and at least a tenth of the rows are
    such repeats.
    """
    n_seeds, n = math.prod(obs.batch_shape), obs.n
    if obs.groups is not None:
        return obs.groups.reshape(n_seeds, n)
    values, regime = (x.reshape(n_seeds, n, len(obs.space)) for x in (obs.values, obs.regime))
    usable = ~np.isnan(obs.losses).all(axis=-1) & (obs.weight is None or obs.weight > 0)
    continuous = usable.reshape(n_seeds, n)[..., None] & _continuous(obs.space, regime)
    repeats = [_find_repeats(*seed) for seed in zip(values, regime, continuous, strict=True)]
    if all(numbers is None for numbers in repeats):
        return None
    alone = np.arange(n)
    return np.stack([alone if numbers is None else numbers for numbers in repeats]).astype(np.int32)


def _continuous(space: Space, regime: np.ndarray) -> np.ndarray:
    """(s, n, d) whether the parameter is active with a domain of continuous values."""
    is_continuous = np.zeros((len(space), 1 + max(map(len, space.domains))), bool)  # "inactive" is the last
    for j, domains in enumerate(space.domains):
        is_continuous[j, : len(domains)] = [domain.n_values is None for domain in domains]
    return is_continuous[np.arange(len(space)), regime]


def _find_repeats(values: np.ndarray, regime: np.ndarray, continuous: np.ndarray) -> np.ndarray | None:
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
    if numbers.max(initial=0) + 1 > most:
        return None
    groups = len(rows) + np.arange(len(values))
    groups[rows] = numbers
    return groups
