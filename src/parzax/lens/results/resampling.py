"""Compute the `Uncertainty` of a result: numbers of samples and shuffles, repeated rows, and p-values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parzax import _checks
from parzax.importance import Encoded
from parzax.lens.logs import Observations
from parzax.lens.logs.encoding import loss_ranks
from parzax.lens.logs.groups import find_groups
from parzax.lens.results.replicates import draw_replicates
from parzax.lens.results.result import ImportanceResult
from parzax.lens.results.uncertainty import Uncertainty, shuffles_for

# Relative tolerance for equal variances: samples, shuffles and the log may be rounded differently.
_SAME = 1e-5
# Cap on the default number of shuffles, unless p-values of many parameters need more.
_MOST_SHUFFLES = 2000
# Number of samples of a single log on the page and the command line. It does not depend on the number of
# levels, so that results for a level agree.
_SAMPLES = 500
# Limit of rows times parameters times samples, which takes some seconds; and the smallest useful number of
# samples. A log that is too large for so many samples gets none.
_MOST_NUMBERS, _FEWEST_SAMPLES = 100_000_000, 50
# Smallest number of shuffles on the page and the command line.
SHUFFLES = 1000
# Largest number of rows after each row is repeated as often as its weight says.
_MOST_ROWS = 1 << 24


def resolve_counts(n_resamples: Any, n_shuffles: Any, obs: Any) -> tuple[int, int]:
    """Check the numbers of samples and of shuffles, or choose them; errors name the wrong argument.

    By default there are as many shuffles as samples, or twice the number that adjusted p-values of
    the log's parameters need, if that is more.
    """
    n_samples = _checks.whole_number("n_resamples", n_resamples, 0)
    if n_shuffles is None:
        n_shuffles = default_shuffles(n_samples, len(obs.space)) if n_samples else 0
    return n_samples, _checks.whole_number("n_shuffles", n_shuffles, 0)


def choose_counts(obs: Observations, n_resamples: int | None) -> dict[str, int]:
    """Choose ``n_resamples`` and ``n_shuffles`` of `cond_ped_anova` for the page and the command line.

    If ``n_resamples`` is None, only a single log without weights is resampled. A log that is too large for
    samples gets only shuffles, whose time does not grow with the number of rows. If its rows belong together
    in groups, shuffles take as long as samples, so it gets neither.
    """
    if n_resamples is None:
        integral = obs.weight is None or bool((obs.weight == np.floor(obs.weight)).all())
        if obs.batch_shape or not integral:
            return {}
        fitting = min(_SAMPLES, _MOST_NUMBERS // max(obs.n * len(obs.space), 1))
        n_samples = fitting if fitting >= _FEWEST_SAMPLES else 0
    else:
        n_samples = _checks.whole_number("n_resamples", n_resamples, 0)
    n_shuffles = 0 if n_resamples == 0 else default_shuffles(max(n_samples, SHUFFLES), len(obs.space))
    if n_resamples is None and not n_samples and find_groups(obs) is not None:
        n_shuffles = 0
    return {"n_resamples": n_samples, "n_shuffles": n_shuffles}


def default_shuffles(n_samples: int, n_parameters: int) -> int:
    """Default number of shuffles: at least the number of samples, and enough for adjusted p-values."""
    least = shuffles_for(n_parameters)
    return max(n_samples, least, min(2 * least, _MOST_SHUFFLES))


def estimate_uncertainty(
    key: Any,
    losses: np.ndarray,
    log: Encoded,
    result: ImportanceResult,
    numbers: Sequence[int],
    method: str,
) -> Uncertainty:
    """Intervals and p-values of a result, from samples of the rows and shuffles of the losses.

    ``log`` and ``result`` belong to the ``losses`` (s, n), which are NaN in unusable rows. ``numbers`` has
    the number of samples and the number of shuffles.
    """
    shape = result.variance.shape
    if log.weight is not None:
        log, losses = _repeat_rows(log, losses, log.weight)
    log = replace(log, rank=loss_ranks(losses, log.codes.shape[2]))
    counts = np.rint(result.by_seed(result.counts)).astype(np.int64)
    how = {"divergence": result.method.divergence, "reference": result.method.reference, "method": method}
    sampled, shuffled = draw_replicates(key, log, counts, numbers, **how)
    usable = ~np.isnan(losses)
    n_rows = n_groups = usable.sum(axis=1)
    if log.groups is not None:
        seeds = zip(log.groups[:, : usable.shape[1]], usable, strict=True)
        n_groups = np.array([len(np.unique(numbers[rows])) for numbers, rows in seeds])
    spread = np.ones(len(usable))
    if method == "half-sampling":
        # The mean of m of n rows, drawn without replacement, deviates sqrt((n - m) / m) times as much as the
        # mean of n new rows.
        spread = np.sqrt(n_groups // 2 / np.maximum(n_groups - n_groups // 2, 1))
    return Uncertainty(
        np.moveaxis(sampled, 1, 0).reshape(-1, *shape),
        result.estimates,
        p_values(result.variance.reshape(-1, *shape[-2:]), shuffled).reshape(shape),
        spread.reshape(shape[:-2]),
        n_rows.reshape(shape[:-2]),
        n_groups.reshape(shape[:-2]),
        numbers[1],
        method,
        result.method.balance,
    )


def p_values(variance: np.ndarray, shuffled: np.ndarray) -> np.ndarray:
    """(s, q, d) p-values from (s, b, q, d) shuffled variances; NaN without shuffles, or if none can vary."""
    if not shuffled.shape[1]:
        return np.full(variance.shape, np.nan)
    reached = (shuffled >= variance[:, None] - _SAME * np.abs(variance[:, None])).sum(axis=1)
    p = (1 + reached) / (shuffled.shape[1] + 1)
    return np.where((shuffled == 0).all(axis=1) & (variance == 0), np.nan, p)


def _repeat_rows(log: Encoded, losses: np.ndarray, weight: np.ndarray) -> tuple[Encoded, np.ndarray]:
    """Repeat each row of a log, and its loss, as often as its weight says."""
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
    repeated = np.where(rows < 0, np.nan, np.take_along_axis(losses, rows, axis=1))
    groups = None if log.groups is None else np.take_along_axis(log.groups, rows, axis=1)
    codes = np.take_along_axis(log.codes, rows[:, None], axis=2)
    level = np.where(rows < 0, len(log.levels) + 1, np.take_along_axis(log.level, rows, axis=1))
    return replace(log, codes=codes, level=level, weight=None, groups=groups), repeated
