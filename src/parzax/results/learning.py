"""Whether the order of the rows shows a search that learns, in NumPy."""

import math
from dataclasses import replace

import numpy as np

from parzax.observations import ImportReport, Observations

# The first seeds are looked at, of each the first rows, and of these the first configurations.
_SEEDS, _ROWS, _CONFIGURATIONS = 4, 1000, 300
# Fewer configurations show nothing.
_LEAST = 20
# Share of the rows that are the best ones, and cells of equally many rows of each parameter.
_BEST, _CELLS = 0.2, 6
# A standard normal number is above it with probability 0.005.
_THRESHOLD = 2.576


def with_learning(obs: Observations, losses: np.ndarray) -> ImportReport:
    """The report of a log, which says whether its rows show a search that learns; see `shows_learning`."""
    return replace(obs.report, learned=shows_learning(obs, losses))


def shows_learning(obs: Observations, losses: np.ndarray) -> bool:
    """Whether later rows lie closer to the best rows than earlier rows do, beyond chance.

    In a random search every order of the rows is as likely, so the correlation r of log(5 + place of a row)
    with the rank of its closeness to the best fifth has mean 0 and variance 1 / (n - 1). The logarithm gives
    weight to the first rows, which are random in most searches. Closeness is the sum over parameters of
    log(share of the best rows / share of all rows) in the row's cell, without the row itself, so that losses
    that only drift with time do not count. With several seeds, r * sqrt(n - 1) is added up over them.

    Args:
        obs: the log, with rows in the order in which they were tried.
        losses: (s, n) what ranks the rows of the s seeds; NaN rows are left out.

    Returns:
        False for logs of fewer than 20 different rows, and for tables that are sorted by the losses or by a
        parameter (as grids are), whose order says nothing about the search.
    """
    n_seeds = math.prod(obs.batch_shape)
    values, usable = obs.values.reshape(n_seeds, obs.n, len(obs.space)), ~np.isnan(losses)
    if obs.weight is not None:
        usable &= obs.weight.reshape(losses.shape) > 0
    rows = [np.flatnonzero(seed)[:_ROWS] for seed in usable[:_SEEDS]]
    trends = [_trend(values[seed, own], losses[seed, own]) for seed, own in enumerate(rows)]
    return sum(trends) > _THRESHOLD * math.sqrt(len(trends))


def _trend(values: np.ndarray, loss: np.ndarray) -> float:
    """r * sqrt(n - 1) of the rows of one seed; 0 where the order says nothing."""
    # A configuration that was repeated, or has a row per epoch, counts once, where it is last.
    last = sorted({row.tobytes(): i for i, row in enumerate(values)}.values())[:_CONFIGURATIONS]
    values, loss = np.where(np.isnan(values), np.inf, values)[last], loss[last]
    n = len(loss)
    if n < _LEAST or any(map(_is_sorted, [loss, *values.T])):
        return 0.0
    best = np.zeros(n, bool)
    best[np.argsort(loss, kind="stable")[: math.ceil(_BEST * n)]] = True
    closeness = np.zeros(n)
    for column in values.T:
        cell = _CELLS * np.searchsorted(np.sort(column), column) // n
        of_best, of_all = (np.bincount(cell, weights=rows, minlength=_CELLS) for rows in (best, best >= 0))
        closeness += np.log(of_best[cell] - best + 0.5) - np.log(best.sum() - best + 0.5 * _CELLS)
        closeness -= np.log(of_all[cell] - 0.5)
    rank = np.searchsorted(np.sort(closeness), closeness)
    if np.ptp(rank) == 0:
        return 0.0
    return float(np.corrcoef(rank, np.log(5 + np.arange(n)))[0, 1] * math.sqrt(n - 1))


def _is_sorted(x: np.ndarray) -> bool:
    """Whether values never fall, or never rise, and are not all equal."""
    rises, falls = (x[1:] > x[:-1]).any(), (x[1:] < x[:-1]).any()
    return bool(rises != falls)
