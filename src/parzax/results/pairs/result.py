"""The result of `interactions`, with its tables."""

from dataclasses import dataclass
from typing import Any

from parzax.results.frame import to_frame
from parzax.results.pairs.arrays import InteractionArrays
from parzax.results.pairs.table import long_columns, to_html, to_text


@dataclass(frozen=True, eq=False)
class InteractionResult(InteractionArrays):
    """Interactions at q levels of p pairs of parameters; leading axes "..." are the observations' seeds.

    Attributes:
        space: the search space, d parameters.
        pairs: the p pairs of names.
        target_quantile: (q,) levels as asked.
        region_quantile: level of the region.
        variance: (..., q, p) I = v_xy - v_x - v_y, signed; the names of the equation are at `interactions`.
        joint: (..., q, p) v_xy.
        main: (..., q, p, 2) v_x and v_y on the same grid: coarser than `parzax.cond_ped_anova`, and of the
            rows alone in which both are active.
        importance: (..., q, p) max(I, 0) over the variance of membership in the target, g (1 - g) with g =
            n_T / n_R: a second-order Sobol index. Over independent parameters these, those of single ones
            and those of higher order sum to 1, so they compare across pairs, levels and logs.
        p_value: (..., q, p) of the null that there is no interaction; NaN where nothing is known, and
            everywhere without permutations.
        p_adjusted: (..., q, p) the same, adjusted for the pairs of a level (Holm, 1979).
        status: (..., q, p) int32 bits of `parzax.Status`.
        n_active: (..., p) rows (weight) of the region in which both are active.
        n_target, n_region: (..., q) and (...,) rows (weight) of target and region, ties included.
        slots: the pairs of regimes with rows in common.
        slot_variance: (..., q, r) the part that each of these has in ``variance``.
        n_draws: draws from the null.
        report: how the log was read.
    """

    def to_dataframe(self, backend: str | None = None) -> Any:
        """One row per seed, level and pair.

        Columns: seed (if there is a seed axis), target_quantile, first, second, importance, variance, joint,
        main_first, main_second, p_value, p_adjusted, n_active, n_target, n_region, status, status_names.

        Args:
            backend: "pandas", "polars" or "pyarrow"; the first of these that is installed if not given.

        Raises:
            ValueError: for another backend.
            ImportError: without narwhals (the extra ``parzax[dataframe]``), or without the backend.
        """
        return to_frame(long_columns(self), backend)

    def __repr__(self) -> str:
        q, p = len(self.target_quantile), len(self.pairs)
        seeds = f"{self.n_seeds} seeds, " if self.importance.ndim > 2 else ""
        size = f"InteractionResult({seeds}{q} level{'s' * (q != 1)}, {p} pair{'s' * (p != 1)}"
        most = f"; most important at {self.target_quantile[0]:g}: {self.ranking()[0]}" if p else ""
        return f"{size}{most})"

    def __str__(self) -> str:
        return to_text(self)

    def _repr_html_(self) -> str:
        return to_html(self)
