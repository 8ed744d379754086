"""Test whether the order of the rows shows a search that learns, in NumPy."""

import math

import numpy as np

from parzax.lens.logs import Observations

# Limits of the test: number of seeds, rows per seed, and configurations per seed, the first ones of each.
_SEEDS, _ROWS, _CONFIGURATIONS = 4, 1000, 300
# Largest number of rows of a log that are read, failed ones included.
_LOOKED_AT = 4096
# A log with fewer configurations is never reported as a search that learns.
_LEAST = 20
# Share of the rows that count as best, and number of cells (with equally many rows) per parameter.
_BEST, _CELLS = 0.2, 6
# Threshold that a standard normal variable exceeds with probability 0.005.
_THRESHOLD = 2.576


def shows_learning(obs: Observations, losses: np.ndarray) -> bool:
    """Whether later rows lie closer to the best rows than earlier rows do, beyond chance.

    In a random search every order of the rows is as likely, so the correlation r of log(5 + place of a row)
    with the rank of its closeness to the best fifth has mean 0 and variance 1 / (n - 1). The logarithm gives
    weight to the first rows, which are random in most searches. Closeness is the sum over parameters of
    log(share of the best rows / share of all rows) in the row's cell, without the row itself, so that losses
    that only drift with time do not count. With several seeds, r * sqrt(n - 1) is added up over them.

    Args:
        obs: the log, with rows in the order in which they were tried.
        losses: (s, n) losses that rank the rows of each seed. Rows with NaN are left out.

    Returns:
        False for logs of fewer than 20 different rows, and for tables that are sorted by the losses or by a
        parameter (as grids are), whose order says nothing about the search.
    """
    values, usable = obs.values.reshape(*losses.shape, obs.values.shape[-1]), ~np.isnan(losses)
    if obs.weight is not None:
        usable &= obs.weight.reshape(losses.shape) > 0
    rows = [np.flatnonzero(seed[:_LOOKED_AT])[:_ROWS] for seed in usable[:_SEEDS]]
    trends = [_trend(values[seed, used], losses[seed, used]) for seed, used in enumerate(rows)]
    return sum(trends) > _THRESHOLD * math.sqrt(len(trends))


def _trend(values: np.ndarray, loss: np.ndarray) -> float:
    """The statistic r * sqrt(n - 1) of the rows of one seed; 0 if the order says nothing."""
    # A repeated configuration, or one with a row per epoch, counts once, with its last loss and its first
    # place: a search such as successive halving repeats its best rows later.
    rows = np.ascontiguousarray(values).view(f"V{values.strides[0]}").reshape(-1).tolist()
    last = list(dict(zip(rows, range(len(rows)), strict=True)).values())[:_CONFIGURATIONS]
    values, loss = np.where(np.isnan(values), np.inf, values)[last], loss[last]
    n, d = values.shape
    if n < _LEAST or _any_sorted(np.column_stack([loss, values])):
        return 0.0
    best = np.zeros(n, bool)
    best[np.argsort(loss, kind="stable")[: math.ceil(_BEST * n)]] = True
    # Cells of all parameters are numbered one parameter after the other.
    cell = _CELLS * _ranks(values) // n + _CELLS * np.arange(d)
    of_best, of_all = (np.bincount(cell[rows].reshape(-1), minlength=_CELLS * d) for rows in (best, ...))
    closeness = (np.log(of_best[cell] - best[:, None] + 0.5) - np.log(of_all[cell] - 0.5)).sum(axis=1)
    closeness -= d * np.log(best.sum() - best + 0.5 * _CELLS)
    rank = _ranks(np.round(closeness, 9)[:, None])[:, 0]  # rows with equal cells are tied
    if np.ptp(rank) == 0:
        return 0.0
    return float(np.corrcoef(rank, np.log(5 + np.arange(n)))[0, 1] * math.sqrt(n - 1))


def _ranks(x: np.ndarray) -> np.ndarray:
    """(n, d) number of smaller entries in each column."""
    return np.stack([np.searchsorted(np.sort(column), column) for column in x.T], axis=1)


def _any_sorted(x: np.ndarray) -> bool:
    """Whether the values of a column never fall, or never rise, and are not all equal."""
    rises, falls = (x[1:] > x[:-1]).any(axis=0), (x[1:] < x[:-1]).any(axis=0)
    return bool((rises != falls).any())
