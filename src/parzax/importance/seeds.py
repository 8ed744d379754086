"""Mean and standard error over seeds, some of which may have nothing to say."""

from typing import TYPE_CHECKING

import numpy as np

from parzax.status import Status

if TYPE_CHECKING:
    from parzax.importance.result import ImportanceResult


def mean_and_error(x: np.ndarray, counts: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over the leading axis, of the seeds that count.

    Args:
        x: (s, ...) one entry per seed.
        counts: (s,) plus any number of the axes that follow: whether the seed counts there; all by default.

    Returns:
        Mean and standard error (deviations over n - 1, by the square root of n), each of shape x.shape[1:].
        The mean of no seed is 0, the error of fewer than two NaN.

    >>> mean, error = mean_and_error(np.array([1.0, 0.0, 0.5]), np.array([True, False, True]))
    >>> float(mean), float(error)
    (0.75, 0.25)
    """
    if counts is None:
        counts = np.ones(len(x), dtype=bool)
    counts = counts.reshape(*counts.shape, *(1,) * (x.ndim - counts.ndim))
    n = counts.sum(axis=0).astype(x.dtype)
    mean = np.where(counts, x, 0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(counts, np.square(x - mean), 0).sum(axis=0)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
    return mean, np.where(n > 1, error, np.nan)


def seeds_with_data(result: "ImportanceResult") -> np.ndarray:
    """(s, q) seeds whose variances count: all but those with NO_DATA.

    Unlike a share, the variance of a seed with ALL_ZERO is an estimate like any other, 0 or below; without
    it the mean would be too high.
    """
    flat = result.status.reshape(-1, *result.status.shape[-2:])
    return (flat & int(Status.NO_DATA) == 0).all(axis=-1)
