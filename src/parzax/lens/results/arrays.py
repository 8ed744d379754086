"""Arrays of a result, by level and parameter, and quantities computed from them alone."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from parzax.importance import Importance
from parzax.importance.flags import low_regimes
from parzax.lens.results.base import AbstractResult, attributes, mean_and_error
from parzax.lens.results.estimator import GridEstimator
from parzax.lens.results.uncertainty import Uncertainty
from parzax.status import Status


@dataclass(frozen=True, eq=False)
class ResultArrays(AbstractResult):
    """The arrays of `ImportanceResult`; its tables, densities and files are computed from them."""

    estimates: Importance
    uncertainty: Uncertainty | None = None
    estimator: GridEstimator = field(default_factory=GridEstimator)
    reference: str = "region"

    @cached_property
    def importance(self) -> np.ndarray:
        """(..., q, d) part of the variances (Eq. 8); rows sum to 1, or are 0 with a status."""
        return self.estimates.importance

    variance, inter, unweighted = attributes("variance", "inter", "unweighted")
    divergence, counts, status = attributes("divergence", "counts", "status")
    regime_target, regime_region = attributes("regime_target", "regime_region")
    n_target, n_region = attributes("n_target", "n_region")

    @property
    def alpha(self) -> np.ndarray:
        """(..., q, d, k) probability of each regime in the target, "inactive" last."""
        return self.regime_target / _divisor(self.n_target)[..., None, None]

    @property
    def beta(self) -> np.ndarray:
        """(..., q, d, k) probability of each regime in the region, the same at every level."""
        share = self.regime_region / _divisor(self.n_region)[..., None, None]
        return np.broadcast_to(share[..., None, :, :], self.regime_target.shape)

    @property
    def standard(self) -> np.ndarray:
        """(..., q, d) standard local marginal variance, within + inter (Eq. 17)."""
        return self.variance + self.inter

    @property
    def has_importance(self) -> np.ndarray:
        """(..., q) whether any parameter has an importance at this level; if not, a status says why."""
        return np.asarray((self.importance > 0).any(axis=-1))

    @property
    def is_defined(self) -> np.ndarray:
        """(..., q, d) whether the importance is defined; if not, tables show "-" and JSON has null.

        It is undefined at levels where no parameter has an importance (`has_importance`), and for parameters
        whose rows cannot be compared (UNIDENTIFIABLE).
        """
        return self.has_importance[..., None] & (self.status & int(Status.UNIDENTIFIABLE) == 0)

    @property
    def seeds_counted(self) -> np.ndarray:
        """(q,) number of seeds that `over_seeds` counts at each level: those that have an importance."""
        return self.by_seed(self.has_importance).sum(axis=0)

    @property
    def regime_status(self) -> np.ndarray:
        """(..., q, d, k) status bits of each regime, "inactive" last (always 0).

        LOW_DATA is set if the regime has ten rows or fewer in the target, unless a random target would be
        expected to have more than ten rows there. It is also set if the regime has ten rows or fewer in the
        region outside the target. SPARSE_REGIME is set if the regime was left out of the sum.
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
        of the importance is proportional to this term; debiased divergences below 0 count as 0. The parts
        sum over k to the importance. The exception is an importance that is positive only by convention (1/d
        of the parity estimator): its parts are 0.
        """
        # n_T and n_R are the same in all regimes of a parameter, so they cancel. A regime without rows in the
        # region has none in the target either.
        term = np.square(self.alpha) * np.maximum(self.divergence, 0) / _divisor(self.beta)
        return self.importance[..., None] * term / _divisor(term.sum(axis=-1, keepdims=True))

    def over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of the importance over the seeds that have one, (q, d) each.

        A seed without any importance at a level (`has_importance`; for example NO_DATA or ALL_ZERO) is left
        out at that level; `seeds_counted` is the number of seeds that remain. With the parity estimator's 1/d
        every seed counts. Means are 0 where no seed counts, and standard errors are NaN where fewer than two
        seeds count.
        """
        return mean_and_error(self.by_seed(self.importance), self.by_seed(self.has_importance))

    def may_matter(self, level: int, parameters: Any) -> np.ndarray:
        """(...) whether any of ``parameters`` (..., k) is above chance; True if this was not tested."""
        parameters = np.asarray(parameters)
        if (sampled := self.uncertainty) is None or self.n_seeds > 1:
            return np.ones(parameters.shape[:-1], bool)
        return sampled.any_above_chance(level, parameters)

    def is_above(self, level: int) -> np.ndarray:
        """(d,) parameters with an importance that are above chance, or were not tested."""
        return (self.over_seeds()[0][level] > 0) & self.may_matter(level, np.arange(len(self.names))[:, None])

    def ranking(self, level: int | None = None) -> list[str]:
        """Names by mean importance at the ``level``-th level, highest first; ties in the space's order.

        Where a single log was tested against chance, the parameters above it come first. By default the level
        is `usual_level`.
        """
        return [self.names[j] for j in self.order(level)]

    def order(self, level: int | None = None) -> list[int]:
        """Indices of the parameters in the order of `ranking`."""
        level = self.usual_level if level is None else level
        mean, above = self.over_seeds()[0][level], self.is_above(level)
        return np.lexsort((-mean, ~above)).tolist()

    def _columns(self) -> dict[str, np.ndarray]:
        columns = {"parameter": np.array(self.names, dtype=object)}
        for name in ("importance", "variance", "standard", "inter", "unweighted"):
            columns[name] = getattr(self, name)
        if (sampled := self.uncertainty) is not None:
            ends = {"importance": sampled.importance_interval, "variance": sampled.variance_interval}
            columns |= {f"{name}_low": x[..., 0] for name, x in ends.items()}
            columns |= {f"{name}_high": x[..., 1] for name, x in ends.items()}
            columns |= {"p_value": sampled.p_value, "p_adjusted": sampled.p_adjusted}
        columns |= {"n_target": self.n_target[..., None], "n_region": self.n_region[..., None, None]}
        return columns | {"status": self.status}


def _divisor(total: np.ndarray) -> np.ndarray:
    """``total``, with 1 in place of 0, to divide by."""
    return np.where(total > 0, total, 1)


def seeds_with_data(status: np.ndarray) -> np.ndarray:
    """(s, q) seeds whose variances count, from a status (..., q, d): all seeds except those with NO_DATA."""
    # A seed with ALL_ZERO has no shares, but its variances (0 or below) are valid estimates: without them the
    # mean would be too high.
    flat = status.reshape(-1, *status.shape[-2:])
    return (flat & int(Status.NO_DATA) == 0).all(axis=-1)
