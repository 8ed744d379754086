"""Uncertainty of importances: intervals, ranks and p-values from replicates of the log, on the host."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from parzax import _checks
from parzax.importance import Importance, importance
from parzax.importance.flags import LOW_DATA_ROWS
from parzax.lens.results.base import attributes
from parzax.lens.results.phrases import SIGNIFICANCE

# An importance interval is narrow enough if its half-width is at most this value.
TOLERANCE = 0.1
# Margins fall as 1 / sqrt(rows) only with more rows than this in the target and outside it. With fewer rows
# nothing is extrapolated.
FEW_ROWS = 20


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
        n_groups: (...,) number of groups of rows that belong together; samples take whole groups. n if every
            row stands alone.
        n_shuffles: number of shuffles.
        method: "half-sampling" or "bootstrap".
        balance: whether importances subtract negative variances, see `parzax.importance.importance`.
        level: nominal coverage of the intervals.
    """

    sampled: np.ndarray
    estimates: Importance
    p_value: np.ndarray
    spread: np.ndarray
    n_rows: np.ndarray
    n_groups: np.ndarray
    n_shuffles: int = 0
    method: str = "half-sampling"
    balance: bool = True
    level: float = 0.9

    # Fields that a file stores: arrays that the result does not have itself, and settings as JSON.
    ARRAYS: ClassVar = ("sampled", "p_value", "spread", "n_rows", "n_groups")
    SETTINGS: ClassVar = ("n_shuffles", "method", "balance", "level")

    variance, importance = attributes("variance", "importance")

    @classmethod
    def unknown(cls, estimates: Importance, balance: bool) -> "Uncertainty":
        """That of a log of which neither samples nor shuffles were drawn."""
        shape = estimates.variance.shape
        rows = np.zeros(shape[:-2])
        return cls(
            np.zeros((0, *shape)), estimates, np.full(shape, np.nan), rows, rows, rows, balance=balance
        )

    @cached_property
    def p_adjusted(self) -> np.ndarray:
        """(..., q, d) p-values, adjusted for the number of parameters (Holm 1979)."""
        return holm(self.p_value)

    @property
    def above_chance(self) -> np.ndarray:
        """(..., q, d) whether the adjusted p-value is at most 0.05."""
        return np.asarray(self.p_adjusted <= SIGNIFICANCE)

    @property
    def n_fewer(self) -> np.ndarray:
        """(..., q) rows in the target, or in the region outside it if there are fewer."""
        n_target = self.estimates.n_target
        return np.minimum(n_target, self.estimates.n_region[..., None] - n_target)

    @property
    def n_resamples(self) -> int:
        """Number of samples, b."""
        return len(self.sampled)

    @property
    def draws(self) -> np.ndarray:
        """(b, ..., q, d) variances that other logs of this size might have.

        For half-samples v + spread (v* - m), where v is the variance of the log and m the mean of the middle
        three fifths of the v*. For bootstrap samples v*.
        """
        return self._recentred(self.variance, self.sampled)

    @property
    def importances(self) -> np.ndarray:
        """(b, ..., q, d) importances (Eq. 8) that other logs of this size might have, between 0 and 1.

        For half-samples they are centred as `draws` are.
        """
        return np.clip(self._recentred(self.importance, self._shares), 0, 1)

    @cached_property
    def variance_interval(self) -> np.ndarray:
        """(..., q, d, 2) ends of the intervals of the variances; debiased variances may be negative.

        An interval holds the variance of the log, and 0 where the parameter is not above chance.
        """
        return self._reaching(self._interval(self.draws), self.variance, self.p_adjusted > SIGNIFICANCE)

    @cached_property
    def importance_interval(self) -> np.ndarray:
        """(..., q, d, 2) ends of the intervals of the importances.

        An interval contains the importance of the log. It also contains 0 if the parameter is not above
        chance, because another log may then give it no importance. In tests (docs/uncertainty.md) intervals
        had the nominal coverage for importances of at least 5 %.
        """
        ends = self._interval(self.importances)
        return self._reaching(ends, self.importance, self.p_adjusted > SIGNIFICANCE)

    def top(self, r: int = 1) -> np.ndarray:
        """(..., q, d) share of the draws in which a parameter is among the ``r`` with the highest variance.

        If variances are equal, the first parameter in the order of the space ranks higher. A parameter whose
        variance is 0 or less is never counted. The share is NaN without samples.
        """
        r = _checks.whole_number("r", r, 1)
        if not len(self.sampled):
            return np.full(self.variance.shape, np.nan)
        draws = self.draws
        rank = np.argsort(np.argsort(-draws, axis=-1, kind="stable"), axis=-1)
        return ((rank < r) & (draws > 0)).mean(axis=0)

    @property
    def margin(self) -> np.ndarray:
        """(..., q) half the width of the widest interval of an importance; NaN where there is none."""
        widths = np.diff(self.importance_interval)[..., 0]
        return np.where((self.importance > 0).any(axis=-1), widths.max(axis=-1) / 2, np.nan)

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

    def interval_of(self, level: Any, parameters: Any) -> tuple[np.ndarray, np.ndarray]:
        """Low and high end of the interval of the summed importance of some parameters of a single log.

        Like `importance_interval`, it holds 0 if none of them is above chance.

        Args:
            level: index of a level, or a slice of them.
            parameters: indices of parameters.
        """
        share, sampled = (x[..., parameters].sum(axis=-1) for x in (self.importance, self._shares))
        draws, q = np.clip(self._recentred(share, sampled), 0, 1), self.variance.shape[-2]
        chance = ~self.any_above_chance(level, parameters)
        ends = self._interval(draws.reshape(len(draws), q)[:, level])
        ends = self._reaching(ends, share.reshape(q)[level], chance)
        return ends[..., 0], ends[..., 1]

    def any_above_chance(self, level: Any, parameters: Any) -> np.ndarray:
        """Whether any of ``parameters`` of a single log is above chance; True if none was tested."""
        p = self.p_adjusted.reshape(self.p_value.shape[-2:])[level][..., parameters]
        tested = ~np.isnan(p).all(axis=-1)
        return np.asarray(~tested | (p <= SIGNIFICANCE).any(axis=-1))

    @staticmethod
    def _reaching(ends: np.ndarray, estimate: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """Intervals ``ends`` (..., 2), extended to contain the estimate, and also 0 where ``chance``."""
        zero = np.where(chance, 0, estimate)
        low = np.minimum(ends[..., 0], np.minimum(estimate, zero))
        return np.stack([low, np.maximum(ends[..., 1], np.maximum(estimate, zero))], axis=-1)

    def _recentred(self, estimate: np.ndarray, sampled: np.ndarray) -> np.ndarray:
        if self.method == "bootstrap" or not len(sampled):
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
        return np.moveaxis(np.quantile(draws, [tail, 1 - tail], axis=0), 0, -1).astype(self.variance.dtype)


def shuffles_for(n_parameters: int) -> int:
    """Smallest number of shuffles with which an adjusted p-value of ``n_parameters`` tests can be <= 0.05."""
    return round(n_parameters / SIGNIFICANCE)


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
