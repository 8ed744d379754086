"""From a result to its `Uncertainty`: how many samples and shuffles, weights as repeated rows, p-values."""

from dataclasses import replace
from typing import Any

import numpy as np

from parzax import _checks
from parzax.importance import Encoded
from parzax.importance.draws import METHODS
from parzax.observations.encoding import loss_ranks
from parzax.results.replicates import replicates
from parzax.results.result import ImportanceResult
from parzax.results.uncertainty import Uncertainty, shuffles_for

# Roundings by which a variance may differ from the same counts' in another place of the program.
_SAME = 1e-5
# Shuffles that nobody asked for, beyond those without which nothing could be above chance.
_MOST_SHUFFLES = 2000
# Shuffles of the page and of the command line, at least.
SHUFFLES = 1000
# Rows that weights may stand for.
_MOST_ROWS = 1 << 24


def check_resampling(
    n_resamples: Any, n_shuffles: Any, key: Any, method: str, n_parameters: int
) -> tuple[int, int]:
    """How many samples and shuffles; errors name what is wrong.

    By default there are as many shuffles as samples, or twice as many as p-values of so many parameters need.
    """
    n_samples = _checks.whole_number("n_resamples", n_resamples, 0)
    if n_shuffles is None:
        n_shuffles = shuffles_by_default(n_samples, n_parameters) if n_samples else 0
    n_shuffles = _checks.whole_number("n_shuffles", n_shuffles, 0)
    _checks.one_of("resampling", method, tuple(METHODS))
    if (n_samples or n_shuffles) and key is not None:
        _checks.check_key(key)
    return n_samples, n_shuffles


def shuffles_by_default(n_samples: int, n_parameters: int) -> int:
    """As many as samples, and enough for p-values of so many parameters."""
    least = shuffles_for(n_parameters)
    return max(n_samples, least, min(2 * least, _MOST_SHUFFLES))


def uncertainty(
    key: Any,
    losses: np.ndarray,
    encoded: Encoded,
    result: ImportanceResult,
    *,
    n_samples: int,
    n_shuffles: int,
    method: str,
) -> Uncertainty:
    """Intervals and p-values of a result, from samples of the rows and shuffles of the losses.

    ``encoded`` and ``result`` are those of the ``losses`` (s, n), which are NaN where not usable.
    `parzax.results.replicates` has the other arguments.
    """
    shape, n_levels = result.variance.shape, len(encoded.levels)
    counts = result.by_seed(result.counts)[:, [*np.argsort(encoded.levels, kind="stable"), n_levels]]
    if encoded.weight is not None:
        encoded, losses = _repeated(encoded, losses, encoded.weight)
    replicated = replicates(
        key,
        replace(encoded, rank=loss_ranks(losses, None, encoded.codes.shape[2]), weight=None),
        np.rint(counts).astype(np.int64),
        n_samples=n_samples,
        n_shuffles=n_shuffles,
        divergence=result.estimator.divergence,
        uniform=result.reference == "uniform",
        method=method,
    )
    sampled, shuffled = (variances[:, :, np.array(encoded.place)] for variances in replicated)
    usable = (~np.isnan(losses)).sum(axis=1)
    spread = np.ones(len(usable))
    if method == "half-sampling":
        # Of m of n rows without replacement deviations are sqrt((n - m) / m) of those of n new rows.
        spread = np.sqrt(usable // 2 / np.maximum(usable - usable // 2, 1))
    return Uncertainty(
        np.moveaxis(sampled, 1, 0).reshape(n_samples, *shape),
        result.variance,
        result.importance,
        _p_values(result.variance.reshape(-1, *shape[-2:]), shuffled).reshape(shape),
        spread.reshape(shape[:-2]),
        usable.reshape(shape[:-2]),
        np.minimum(result.n_target, result.n_region[..., None] - result.n_target),
        n_shuffles,
        method,
        balance=result.estimator.balance,
    )


def _p_values(variance: np.ndarray, shuffled: np.ndarray) -> np.ndarray:
    """(s, q, d) from (s, b, q, d); NaN without shuffles, and where nothing ever varies."""
    if not shuffled.shape[1]:
        return np.full(variance.shape, np.nan)
    reached = (shuffled >= variance[:, None] - _SAME * np.abs(variance[:, None])).sum(axis=1)
    p = (1 + reached) / (shuffled.shape[1] + 1)
    return np.where((shuffled == 0).all(axis=1) & (variance == 0), np.nan, p)


def _repeated(encoded: Encoded, losses: np.ndarray, weight: np.ndarray) -> tuple[Encoded, np.ndarray]:
    """Rows of weight w as w rows, and their losses; without those of weight 0."""
    if (weight != np.floor(weight)).any():
        raise ValueError(
            "resampling needs weights that are whole numbers, as a row of weight 2 is two rows; leave the "
            "weights out, or set n_resamples=0."
        )
    times = weight.astype(np.int64)
    longest = int(times.sum(axis=1).max(initial=0))
    if longest > _MOST_ROWS:
        raise ValueError(
            f"the weights stand for {longest} rows, too many to resample (at most {_MOST_ROWS}); divide "
            "them, or set n_resamples=0."
        )
    rows = np.full((len(times), 1 << max(longest - 1, 0).bit_length()), -1)
    for filled, counts in zip(rows, times, strict=True):
        filled[: counts.sum()] = np.repeat(np.arange(len(counts)), counts)
    codes = np.take_along_axis(encoded.codes, rows[:, None], axis=2)
    level = np.take_along_axis(encoded.level, rows, axis=1)
    level[rows < 0] = len(encoded.levels) + 1
    repeated = np.where(rows < 0, np.nan, np.take_along_axis(losses, rows, axis=1))
    return replace(encoded, codes=codes, level=level, weight=None, rank=None), repeated
