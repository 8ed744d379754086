"""What a result holds, arrays by level and parameter, and what follows from them alone."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parzax.importance import Importance
from parzax.importance.flags import low_regimes
from parzax.observations import ImportReport
from parzax.results.estimator import GridEstimator
from parzax.results.uncertainty import Uncertainty
from parzax.space import Space
from parzax.status import Status, describe


@dataclass(frozen=True, eq=False)
class ResultArrays:
    """The part of `ImportanceResult` that its tables, densities and files are made of."""

    estimates: Importance
    space: Space
    target_quantile: np.ndarray
    region_quantile: float
    estimator: GridEstimator
    reference: str
    report: ImportReport
    uncertainty: Uncertainty | None = None

    @cached_property
    def importance(self) -> np.ndarray:
        """(..., q, d) share of the variances (Eq. 8); rows sum to 1, or are 0 with a status."""
        return self.estimates.share

    @property
    def variance(self) -> np.ndarray:
        """(..., q, d) within-regime local marginal variance, Eq. 11.

        Debiased it is signed; importances count negative ones as 0, and make up for them.
        """
        return self.estimates.variance

    @property
    def divergence(self) -> np.ndarray:
        """(..., q, d, k) estimate of D_PE per regime (what enters Eq. 11); "inactive" last, 0.

        Where bounds move, a mean over pools with like bounds, such that Eq. 11 has their sum.
        """
        return self.estimates.divergence

    @property
    def inter(self) -> np.ndarray:
        """(..., q, d) inter-regime term; each pool with like bounds counts as a regime."""
        return self.estimates.inter

    @property
    def unweighted(self) -> np.ndarray:
        """(..., q, d) ablation without regime probabilities, Eq. 18."""
        return self.estimates.unweighted

    @property
    def status(self) -> np.ndarray:
        """(..., q, d) int32 bits of `parzax.Status`."""
        return self.estimates.status

    @property
    def regime_target(self) -> np.ndarray:
        """(..., q, d, k) rows (weight) of each target set in each regime, ties included."""
        return self.estimates.regime_target

    @property
    def regime_region(self) -> np.ndarray:
        """(..., d, k) rows (weight) of the region in each regime."""
        return self.estimates.regime_region

    @property
    def counts(self) -> np.ndarray:
        """(..., q + 1, w) rows (weight) per cell, the region last; see `ImportanceResult.density`."""
        return self.estimates.counts

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, the order of the last axis."""
        return self.space.names

    @property
    def n_target(self) -> np.ndarray:
        """(..., q) rows (weight) in each target set, ties included."""
        return self.regime_target[..., 0, :].sum(axis=-1)

    @property
    def n_region(self) -> np.ndarray:
        """(...,) rows (weight) in the region."""
        return self.regime_region[..., 0, :].sum(axis=-1)

    @property
    def alpha(self) -> np.ndarray:
        """(..., q, d, k) probability of each regime in the target, "inactive" last."""
        return self.regime_target / np.where(self.n_target > 0, self.n_target, 1)[..., None, None]

    @property
    def beta(self) -> np.ndarray:
        """(..., q, d, k) probability of each regime in the region, the same at every level."""
        share = self.regime_region / np.where(self.n_region > 0, self.n_region, 1)[..., None, None]
        return np.broadcast_to(share[..., None, :, :], self.regime_target.shape)

    @property
    def standard(self) -> np.ndarray:
        """(..., q, d) standard local marginal variance, within + inter (Eq. 17)."""
        return self.variance + self.inter

    @property
    def n_seeds(self) -> int:
        """Number of seeds (1 without a seed axis)."""
        return int(np.prod(self.importance.shape[:-2], dtype=int))

    @property
    def has_importance(self) -> np.ndarray:
        """(..., q) whether any parameter has an importance there; where not, a status says why."""
        return np.asarray((self.importance > 0).any(axis=-1))

    @property
    def is_defined(self) -> np.ndarray:
        """(..., q, d) whether an importance says anything; where not, tables show "-" and JSON null.

        It does not where no parameter has one (`has_importance`), and where rows cannot be compared
        (UNIDENTIFIABLE).
        """
        return self.has_importance[..., None] & (self.status & int(Status.UNIDENTIFIABLE) == 0)

    @property
    def seeds_counted(self) -> np.ndarray:
        """(q,) number of seeds that `over_seeds` counts at each level: those that have an importance."""
        return self.has_importance.reshape(-1, len(self.target_quantile)).sum(axis=0)

    @property
    def regime_status(self) -> np.ndarray:
        """(..., q, d, k) status bits of each regime, "inactive" last (always 0).

        LOW_DATA where the regime has ten rows or fewer in the target (though it should have more, were good
        rows everywhere alike) or in the region outside it; SPARSE_REGIME where it was left out of the sum.
        """
        target, region = self.regime_target[..., :-1], self.regime_region[..., None, :, :-1]
        n_target, n_region = self.n_target[..., None, None], self.n_region[..., None, None, None]
        low = low_regimes(target, np.broadcast_to(region, target.shape), n_target, n_region)
        sparse = (region > 0) & (region < self.estimator.divergence.min_rows)
        bits = np.where(low, int(Status.LOW_DATA), 0) | np.where(sparse, int(Status.SPARSE_REGIME), 0)
        return np.pad(bits.astype(np.int32), [(0, 0)] * (bits.ndim - 1) + [(0, 1)])

    @property
    def regime_importance(self) -> np.ndarray:
        """(..., q, d, k) each regime's part of the importance of each parameter, "inactive" last (always 0).

        Regime i adds (n_T/n_R)^2 alpha_i^2 / beta_i D_i to the variance (Eq. 11, arXiv 2601.20800). Its part
        of the importance is in proportion to that; debiased divergences below 0 count as 0. The parts sum
        over k to the importance, except where that is positive by convention alone (1/d of the parity
        estimator): there they are 0.
        """
        # Of one parameter: n_T and n_R are the same for all of its regimes, and so drop out.
        term = np.square(self.alpha) * np.maximum(self.divergence, 0)
        term = np.where(self.beta > 0, term / np.where(self.beta > 0, self.beta, 1), 0)
        whole = term.sum(axis=-1, keepdims=True)
        return self.importance[..., None] * term / np.where(whole > 0, whole, 1)

    def over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of the importance over the seeds that have one, (q, d) each.

        A seed in which no parameter has an importance at a level (`has_importance`: NO_DATA, ALL_ZERO and
        their like) says nothing about shares, so it is left out there; `seeds_counted` has how many remain.
        With the parity estimator's 1/d every seed counts. Means are 0 where no seed does, and standard errors
        NaN where fewer than two do.
        """
        flat = self.importance.reshape(-1, *self.importance.shape[-2:])
        return mean_and_error(flat, self.has_importance.reshape(flat.shape[:2]))

    def ranking(self, level: int = 0) -> list[str]:
        """Names by mean importance at the ``level``-th level, highest first; ties in the space's order."""
        mean, _ = self.over_seeds()
        return [self.names[j] for j in np.argsort(-mean[level], kind="stable")]

    def advice(self) -> list[str]:
        """One sentence for each status set anywhere in the result."""
        return describe(self.status)


def mean_and_error(x: np.ndarray, counts: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean (0 of no seed) and standard error (NaN of fewer than 2) over the first axis, where ``counts``.

    The error is that from deviations over n - 1; all seeds count by default.

    >>> mean, error = mean_and_error(np.array([1.0, 0.0, 0.5]), np.array([True, False, True]))
    >>> float(mean), float(error)
    (0.75, 0.25)
    """
    counts = np.ones(len(x), dtype=bool) if counts is None else counts
    counts = counts.reshape(*counts.shape, *(1,) * (x.ndim - counts.ndim))
    n = counts.sum(axis=0).astype(x.dtype)
    mean = np.where(counts, x, 0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(counts, np.square(x - mean), 0).sum(axis=0)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
    return mean, np.where(n > 1, error, np.nan)


def seeds_with_data(status: np.ndarray) -> np.ndarray:
    """(s, q) seeds whose variances count, of a status (..., q, d): all but those with NO_DATA."""
    # Unlike a share, the variance of a seed with ALL_ZERO is an estimate like any other, 0 or below:
    # without it the mean would be too high.
    flat = status.reshape(-1, *status.shape[-2:])
    return (flat & int(Status.NO_DATA) == 0).all(axis=-1)
