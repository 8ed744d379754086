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
        estimates: `parzax.importance.Interactions`, in NumPy; its arrays are attributes of the result too, and
            ``pairs`` are pairs of names here. ``importance`` compares across pairs, levels and logs: over
            independent parameters, with those of single ones and those of higher order, it sums to 1.
            ``main`` is on coarser cells than `parzax.cond_ped_anova`, and of the rows alone in which both are
            active. ``slots`` are those with rows.
        space: the search space, d parameters.
        target_quantile: (q,) levels as asked.
        region_quantile: level of the region.
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
