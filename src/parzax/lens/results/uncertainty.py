"""Uncertainty of importances: samples and shuffles of a log; intervals, ranks and p-values from them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from parzax import _checks
from parzax.importance import Encoded, Importance, importance
from parzax.importance.estimate import How
from parzax.importance.flags import LOW_DATA_ROWS
from parzax.lens.logs import Observations
from parzax.lens.logs.encoding import loss_ranks
from parzax.lens.logs.groups import find_groups
from parzax.lens.results.replicates import draw_replicates

# Family-wise error rate of the tests of all parameters at one level.
SIGNIFICANCE = 0.05
# An importance interval is narrow enough if its half-width is at most this value.
TOLERANCE = 0.1
# Margins fall as 1 / sqrt(rows) only with more rows than this in the target and outside it. With fewer rows
# nothing is extrapolated.
FEW_ROWS = 20
# Smallest number of shuffles on the page and the command line.
SHUFFLES = 1000
# Number of samples of a single log on the page and the command line. It does not depend on the number of
# levels, so that results for a level agree.
_SAMPLES = 500
# Limit of rows times parameters times samples, which takes some seconds; and the smallest useful number of
# samples. A log that is too large for so many samples gets none.
_MOST_NUMBERS, _FEWEST_SAMPLES = 100_000_000, 50
# Cap on the default number of shuffles, unless p-values of many parameters need more.
_MOST_SHUFFLES = 2000
# Largest number of rows after each row is repeated as often as its weight says.
_MOST_ROWS = 1 << 24
# Relative tolerance for equal variances: samples, shuffles and the log may be rounded differently.
_SAME = 1e-5


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Uncertainty of the importances of one log, estimated from samples and shuffles of its rows.

    Without samples the ends of intervals are NaN, without shuffles the p-values.

    Attributes:
        sampled: (b, ..., q, d) variances v* of the samples (Eq. 11 of arXiv 2601.20800).
        estimates: `parzax.importance.Importance` of the log.
        p_value: (..., q, d) (1 + #{v* >= v}) / (n_shuffles + 1), where v* are the variances of logs whose
            losses were shuffled within the parameter's regimes; NaN where no shuffle was possible.
        spread: (...,) factor by which deviations of the samples are multiplied: sqrt(m / (n - m)) for samples
            of m of n rows without replacement, which is about 1 for halves.
        n_rows: (...,) number n of rows that have a loss.
        n_shuffles: number of shuffles.
        balance: whether importances subtract negative variances, see `parzax.importance.importance`.
    """

    sampled: np.ndarray
    estimates: Importance
    p_value: np.ndarray
    spread: np.ndarray
    n_rows: np.ndarray
    n_shuffles: int = 0
    balance: bool = True

    level: ClassVar[float] = 0.9  # nominal coverage of the intervals

    @cached_property
    def p_adjusted(self) -> np.ndarray:
        """(..., q, d) p-values, adjusted for the number of parameters (Holm 1979)."""
        return holm(self.p_value)

    @property
    def above_chance(self) -> np.ndarray:
        """(..., q, d) whether the adjusted p-value is at most 0.05."""
        return np.asarray(self.p_adjusted <= SIGNIFICANCE)

    @cached_property
    def n_fewer(self) -> np.ndarray:
        """(..., q) rows in the target, or in the region outside it if there are fewer."""
        n_target = self.estimates.n_target
        return np.minimum(n_target, self.estimates.n_region[..., None] - n_target)

    @cached_property
    def n_resamples(self) -> int:
        """Number of samples, b."""
        return len(self.sampled)

    @property
    def draws(self) -> np.ndarray:
        """(b, ..., q, d) variances that other logs of this size might have.

        v + spread (v* - m), where v is the variance of the log and m the mean of the middle three fifths of
        the v*.
        """
        return self._recentred(self.estimates.variance, self.sampled)

    @property
    def importances(self) -> np.ndarray:
        """(b, ..., q, d) importances (Eq. 8) that other logs might have, in [0, 1], centred as `draws`."""
        return np.clip(self._recentred(self.estimates.importance, self._shares), 0, 1)

    @cached_property
    def variance_interval(self) -> np.ndarray:
        """(..., q, d, 2) ends of the intervals of the variances; debiased variances may be negative.

        An interval holds the variance of the log, and 0 where the parameter is not above chance.
        """
        return self._reaching(
            self._interval(self.draws), self.estimates.variance, self.p_adjusted > SIGNIFICANCE
        )

    @cached_property
    def importance_interval(self) -> np.ndarray:
        """(..., q, d, 2) ends of the intervals of the importances.

        An interval contains the importance of the log. It also contains 0 if the parameter is not above
        chance, because another log may then give it no importance. In tests (docs/uncertainty.md) intervals
        had the nominal coverage for importances of at least 5 %.
        """
        ends = self._interval(self.importances)
        return self._reaching(ends, self.estimates.importance, self.p_adjusted > SIGNIFICANCE)

    def top(self, r: int = 1) -> np.ndarray:
        """(..., q, d) share of the draws in which a parameter is among the ``r`` with the highest variance.

        If variances are equal, the first parameter in the order of the space ranks higher. A parameter whose
        variance is 0 or less is never counted. The share is NaN without samples.
        """
        r = _checks.whole_number("r", r, 1)
        if not len(self.sampled):
            return np.full(self.estimates.variance.shape, np.nan)
        draws = self.draws
        rank = np.argsort(np.argsort(-draws, axis=-1, kind="stable"), axis=-1)
        return ((rank < r) & (draws > 0)).mean(axis=0)

    @cached_property
    def margin(self) -> np.ndarray:
        """(..., q) half the width of the widest interval of an importance; NaN where there is none."""
        widths = np.diff(self.importance_interval)[..., 0]
        return np.where((self.estimates.importance > 0).any(axis=-1), widths.max(axis=-1) / 2, np.nan)

    def rows_needed(self, tolerance: float = TOLERANCE) -> np.ndarray:
        """(..., q) total number of rows at which `margin` would be ``tolerance``.

        The number is extrapolated: `margin` is assumed proportional to 1 / sqrt(rows). If the margin is at
        most ``tolerance`` already, the number is at most the present number of rows. With few rows margins do
        not follow this law, so the number is NaN if ten rows or fewer are in the target or outside it. If the
        margin is above ``tolerance``, this limit is 20 rows instead of ten.
        """
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}.")
        least = np.where(self.margin <= tolerance, LOW_DATA_ROWS, FEW_ROWS)
        needed = np.asarray(self.n_rows)[..., None] * np.square(self.margin / tolerance)
        return np.where(self.n_fewer > least, needed, np.nan)

    def interval_of(self, parameters: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """(..., q, 2) ends of the interval of a sum of importances, and (..., q) whether it is above chance.

        Like `importance_interval`, it holds 0 unless one of the ``parameters`` (indices) is above chance. If
        none was tested, the sum counts as above chance.
        """
        share, sampled = (x[..., parameters].sum(axis=-1) for x in (self.estimates.importance, self._shares))
        p = self.p_adjusted[..., parameters]
        above = np.asarray(np.isnan(p).all(axis=-1) | (p <= SIGNIFICANCE).any(axis=-1))
        ends = self._interval(np.clip(self._recentred(share, sampled), 0, 1))
        return self._reaching(ends, share, ~above), above

    @staticmethod
    def _reaching(ends: np.ndarray, estimate: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """Intervals ``ends`` (..., 2), extended to contain the estimate, and also 0 where ``chance``."""
        zero = np.where(chance, 0, estimate)
        low = np.minimum(ends[..., 0], np.minimum(estimate, zero))
        return np.stack([low, np.maximum(ends[..., 1], np.maximum(estimate, zero))], axis=-1)

    def _recentred(self, estimate: np.ndarray, sampled: np.ndarray) -> np.ndarray:
        if not len(sampled):
            return sampled
        spread = self.spread.reshape(*self.spread.shape, *(1,) * (estimate.ndim - self.spread.ndim))
        # The distribution is skewed: intervals around its mean are too short on one side, and around its
        # median on the other. So the mean leaves out a fifth of the samples at either end.
        cut = len(sampled) // 5
        middle = np.sort(sampled, axis=0)[cut : len(sampled) - cut].mean(axis=0)
        return estimate + spread.astype(estimate.dtype) * (sampled - middle)

    @cached_property
    def _shares(self) -> np.ndarray:
        """(b, ..., q, d) importances of the samples, not recentred."""
        return importance(self.sampled, balance=self.balance)

    def _interval(self, draws: np.ndarray) -> np.ndarray:
        tail = (1 - self.level) / 2
        if not len(draws):
            return np.full((*draws.shape[1:], 2), np.nan)
        return np.moveaxis(np.quantile(draws, [tail, 1 - tail], axis=0), 0, -1).astype(
            self.estimates.variance.dtype
        )


def holm(p: np.ndarray) -> np.ndarray:
    """p-values (..., d) adjusted for d tests, max over j <= i of (d - j + 1) p_(j), at most 1 (Holm 1979).

    NaN stands for a test that was not made: it stays NaN and is not counted in d.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    order = np.argsort(p, axis=-1, kind="stable")  # NaN comes last
    ranked = np.take_along_axis(p, order, axis=-1)
    tests = (~np.isnan(p)).sum(axis=-1, keepdims=True)
    steps = ranked * np.maximum(tests - np.arange(p.shape[-1]), 1)
    adjusted = np.where(np.isnan(ranked), np.nan, np.minimum(np.maximum.accumulate(steps, axis=-1), 1))
    return np.take_along_axis(adjusted, np.argsort(order, axis=-1), axis=-1)


def resolve_counts(n_resamples: Any, n_shuffles: Any, n_parameters: int) -> tuple[int, int]:
    """Check the numbers of samples and of shuffles; choose the number of shuffles if it is None."""
    n_samples = _checks.whole_number("n_resamples", n_resamples, 0)
    if n_shuffles is None:
        n_shuffles = default_shuffles(n_samples, n_parameters) if n_samples else 0
    return n_samples, _checks.whole_number("n_shuffles", n_shuffles, 0)


def choose_counts(obs: Observations, n_resamples: int | None) -> dict[str, int]:
    """Choose ``n_resamples`` and ``n_shuffles`` of `cond_ped_anova` for the page and the command line.

    If ``n_resamples`` is None, only a single log without fractional weights is resampled. A log that is too
    large for samples gets only shuffles, whose time does not grow with the number of rows. If its rows belong
    together in groups, shuffles take as long as samples, so it gets neither.
    """
    n_parameters = obs.values.shape[-1]
    if n_resamples is None:
        integral = obs.weight is None or bool((obs.weight == np.floor(obs.weight)).all())
        fitting = min(_SAMPLES, _MOST_NUMBERS // max(obs.n * n_parameters, 1))
        n_resamples = fitting if fitting >= _FEWEST_SAMPLES else 0
        if obs.batch_shape or not integral or (not n_resamples and find_groups(obs) is not None):
            return {}
    elif not _checks.whole_number("n_resamples", n_resamples, 0):
        return {}
    n_shuffles = default_shuffles(max(n_resamples, SHUFFLES), n_parameters)
    return {"n_resamples": n_resamples, "n_shuffles": n_shuffles}


def default_shuffles(n_samples: int, n_parameters: int) -> int:
    """Default number of shuffles: at least the number of samples, and enough for adjusted p-values."""
    least = round(n_parameters / SIGNIFICANCE)  # with fewer no adjusted p-value can be 0.05 or less
    return max(n_samples, least, min(2 * least, _MOST_SHUFFLES))


def estimate_uncertainty(
    key: Any,
    losses: np.ndarray,
    log: Encoded,
    estimates: Importance,
    how: How,
    numbers: Sequence[int],
) -> Uncertainty:
    """Intervals and p-values of importances, from samples of the rows and shuffles of the losses.

    ``log`` and ``estimates`` belong to the ``losses`` (s, n), which are NaN in unusable rows. ``numbers`` has
    the number of samples and the number of shuffles.
    """
    shape, counts = estimates.variance.shape, estimates.counts
    if log.weight is not None:
        log, losses = _repeat_rows(log, losses, log.weight)
    log = replace(log, rank=loss_ranks(losses, log.codes.shape[2]))
    counts = np.rint(counts).astype(np.int64).reshape(-1, *counts.shape[-2:])
    sampled, shuffled = draw_replicates(key, log, counts, numbers, how[0], how[1])
    usable = ~np.isnan(losses)
    n_rows = n_groups = usable.sum(axis=1)
    if log.groups is not None:
        seeds = zip(log.groups[:, : usable.shape[1]], usable, strict=True)
        n_groups = np.array([len(np.unique(numbers[rows])) for numbers, rows in seeds])
    # The mean of m of n rows, drawn without replacement, deviates sqrt((n - m) / m) times as much as the mean
    # of n new rows.
    spread = np.sqrt(n_groups // 2 / np.maximum(n_groups - n_groups // 2, 1))
    p_value = p_values(estimates.variance.reshape(-1, *shape[-2:]), shuffled).reshape(shape)
    spread, n_rows = (x.reshape(shape[:-2]) for x in (spread, n_rows))
    sampled = np.moveaxis(sampled, 1, 0).reshape(-1, *shape)
    return Uncertainty(sampled, estimates, p_value, spread, n_rows, numbers[1], how[2])


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
