"""The result of an importance computation: arrays by level and parameter, statuses, tables, files."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parzax.importance.density import RegimeDensity, regime_densities
from parzax.importance.files import read_result, save_result
from parzax.importance.seeds import mean_and_error
from parzax.observations import ImportReport, Observations
from parzax.parzen import GridEstimator
from parzax.space import Space
from parzax.status import describe

if TYPE_CHECKING:
    from parzax.importance.sweep import Sweep


@dataclass(frozen=True, eq=False)
class ImportanceResult:
    """Importances at q levels for d parameters, with everything they were made of.

    Leading axes "..." are the seeds of the observations; all arrays are NumPy.

    Attributes:
        space: the search space.
        target_quantile: (q,) levels as asked.
        region_quantile: level of the region.
        importance: (..., q, d) share of the positive variances; rows sum to 1, or are 0 with a status.
        variance: (..., q, d) within-regime local marginal variance, Eq. 11. Debiased it is signed;
            importances count negative ones as 0.
        divergence: (..., q, d, k) estimate of D_PE per regime (what enters Eq. 11); "inactive" last, 0.
        inter: (..., q, d) inter-regime term.
        unweighted: (..., q, d) ablation without regime probabilities, Eq. 18.
        status: (..., q, d) int32 bits of `parzax.Status`.
        regime_target: (..., q, d, k) rows (weight) of each target set in each regime, ties included.
        regime_region: (..., d, k) rows (weight) of the region in each regime.
        counts: (..., q + 1, w) counts behind the densities, the region last; see `density`.
        estimator: how it was computed.
        reference: "region" or "uniform".
        report: how the log was read.
    """

    space: Space
    target_quantile: np.ndarray
    region_quantile: float
    importance: np.ndarray
    variance: np.ndarray
    divergence: np.ndarray
    inter: np.ndarray
    unweighted: np.ndarray
    status: np.ndarray
    regime_target: np.ndarray
    regime_region: np.ndarray
    counts: np.ndarray
    estimator: GridEstimator
    reference: str
    report: ImportReport

    @classmethod
    def from_sweep(
        cls,
        out: "Sweep",
        *,
        order: np.ndarray,
        obs: Observations,
        target_quantile: np.ndarray,
        region_quantile: float,
        estimator: GridEstimator,
        reference: str,
    ) -> "ImportanceResult":
        """Wrap the arrays of a sweep (s seeds, ascending levels) in the shape and order that was asked."""
        if len(order) > 1 and (order[:-1] > order[1:]).any():
            counts = np.concatenate([out.counts[:, order], out.counts[:, -1:]], axis=1)
            by_level = (x if x is out.n_region else x[:, order] for x in out[1:])
            out = type(out)(counts, *by_level)
        if obs.batch_shape != (len(out.counts),):
            out = type(out)(*(x.reshape(*obs.batch_shape, *x.shape[1:]) for x in out))
        return cls(
            space=obs.space,
            target_quantile=target_quantile,
            region_quantile=region_quantile,
            importance=out.importance,
            variance=out.variance,
            divergence=out.divergence,
            inter=out.inter,
            unweighted=out.unweighted,
            status=out.status,
            regime_target=out.n_target,
            regime_region=out.n_region,
            counts=out.counts,
            estimator=estimator,
            reference=reference,
            report=obs.report,
        )

    # --- views ---------------------------------------------------------------------------------

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
    def seeds_counted(self) -> np.ndarray:
        """(q,) number of seeds that `over_seeds` counts at each level: those that have an importance."""
        return self.has_importance.reshape(-1, len(self.target_quantile)).sum(axis=0)

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
        With the parity estimator's 1/d every seed counts.

        Returns:
            Means, 0 where no seed counts, and standard errors, NaN where fewer than two do.
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

    def density(self, name: str) -> list[RegimeDensity]:
        """p_T, p_R and their ratio on the grid, per regime of parameter ``name``: which values are good.

        Masses per cell at every level, smoothed as the divergence saw them. A set without rows in the
        regime gives the prior.
        """
        return regime_densities(self, name)

    def to_dataframe(self, backend: str | None = None) -> Any:
        """One row per (seed, level, parameter), as a DataFrame of the first installed backend or ``backend``.

        Args:
            backend: "pandas", "polars" or "pyarrow"; needs the extra ``parzax[dataframe]``.
        """
        from parzax.importance.table import to_dataframe

        return to_dataframe(self, backend)

    def __repr__(self) -> str:
        q = len(self.target_quantile)
        seeds = f"{self.n_seeds} seeds, " if self.importance.ndim > 2 else ""
        return (
            f"ImportanceResult({seeds}{q} level{'s' * (q > 1)}, {len(self.names)} parameters; "
            f"most important at {self.target_quantile[0]:g}: {self.ranking()[0]!r})"
        )

    def __str__(self) -> str:
        from parzax.importance.table import to_text

        return to_text(self)

    # --- files ---------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything to one ``.npz`` file (arrays and JSON text, no pickles)."""
        save_result(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "ImportanceResult":
        """Read a file written by `save`; nothing in it is executed.

        Raises:
            ValueError: if the file is missing, truncated, or not such a file.
        """
        return cls(**read_result(path))
