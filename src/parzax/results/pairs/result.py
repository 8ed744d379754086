"""The result of `interactions`, with its tables."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from parzax.importance import Interactions
from parzax.observations import ImportReport
from parzax.results.arrays import mean_and_error
from parzax.results.frame import to_frame
from parzax.results.pairs.table import long_columns, to_html, to_text
from parzax.results.uncertainty import SIGNIFICANCE, holm
from parzax.space import Space
from parzax.status import Status, describe

# Where nothing can be said of a pair.
_UNDEFINED = Status.NEVER_TOGETHER | Status.UNIDENTIFIABLE | Status.NO_DATA
# In place of advice that is about single parameters.
_OF_PAIRS = {
    "CONSTANT": "Wherever both are active one of the two stays in one cell of the grid, such as the only "
    "category for which the other is active, so that there is nothing to interact.",
    "SINGLE_VALUE": "One of the two has a domain of a single value, so that there is nothing to interact.",
}


def _estimate(name: str) -> Any:
    return property(lambda self: getattr(self.estimates, name), doc=f"`Interactions.{name}`.")


@dataclass(frozen=True, eq=False)
class InteractionResult:
    """Interactions at q levels of p pairs of parameters; leading axes "..." are the observations' seeds.

    Attributes:
        estimates: `parzax.importance.Interactions`, in NumPy. Its arrays are attributes of the result too;
            ``pairs`` are pairs of names here. ``importance`` compares across pairs, levels and logs: over
            independent parameters, with those of single ones and those of higher order, it sums to 1.
            ``main`` is on coarser cells than `parzax.cond_ped_anova`, and of the rows in which both are
            active.
        space: the search space, d parameters.
        target_quantile: (q,) levels as asked.
        region_quantile: level of the region.
        report: how the log was read.
    """

    estimates: Interactions
    space: Space
    target_quantile: np.ndarray
    region_quantile: float
    report: ImportReport

    variance, importance, joint, main = map(_estimate, ("variance", "importance", "joint", "main"))
    p_value, status, slots, slot_variance = map(_estimate, ("p_value", "status", "slots", "slot_variance"))
    n_active, n_target, n_region, n_draws = map(_estimate, ("n_active", "n_target", "n_region", "n_draws"))

    @cached_property
    def p_adjusted(self) -> np.ndarray:
        """(..., q, p) p-values adjusted for the pairs of a level (Holm, 1979)."""
        return holm(self.p_value)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The p pairs of names."""
        return tuple((self.names[a], self.names[b]) for a, b in self.estimates.pairs)

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, the order of `matrix`."""
        return self.space.names

    @property
    def n_seeds(self) -> int:
        """Number of seeds (1 without a seed axis)."""
        return int(np.prod(self.importance.shape[:-2], dtype=int))

    @property
    def is_defined(self) -> np.ndarray:
        """(..., q, p) whether anything can be said of a pair; where not, a status says why."""
        return (self.status & int(_UNDEFINED)) == 0

    @property
    def above_chance(self) -> np.ndarray:
        """(..., q, p) whether a pair's adjusted p-value is at most 5 %; nowhere without permutations."""
        return np.asarray(self.p_adjusted <= SIGNIFICANCE)

    def by_seed(self, array: np.ndarray) -> np.ndarray:
        """(s, q, p) a (..., q, p) array with all its seed axes as one, of length 1 if there is none."""
        return array.reshape(self.n_seeds, *self.importance.shape[-2:])

    def over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of the importance over the seeds where it is defined, (q, p) each."""
        return mean_and_error(self.by_seed(self.importance), self.by_seed(self.is_defined))

    def ranking(self, level: int = 0) -> list[tuple[str, str]]:
        """Pairs by mean importance at the ``level``-th level, highest first; ties in order of ``pairs``."""
        return [self.pairs[i] for i in self.order(self.over_seeds()[0][level])]

    def order(self, values: np.ndarray) -> np.ndarray:
        """Indices of the pairs by (p,) values, highest first; at last those that are nowhere defined."""
        known = self.by_seed(self.is_defined).any(axis=(0, 1))
        return np.argsort(-np.where(known, values, -1.0), kind="stable")

    def matrix(self, level: int = 0) -> np.ndarray:
        """(d, d) symmetric: mean importance at the ``level``-th level; NaN where nothing is known.

        That is on the diagonal, of pairs that were not asked for, and where `is_defined` holds in no seed.
        """
        defined = self.by_seed(self.is_defined)[:, level].any(axis=0)
        return self.to_matrix(np.where(defined, self.over_seeds()[0][level], np.nan))

    def to_matrix(self, values: np.ndarray) -> np.ndarray:
        """(d, d) symmetric, of one value per pair; NaN for others."""
        out = np.full((len(self.names),) * 2, np.nan)
        for (a, b), value in zip(self.pairs, values.tolist(), strict=True):
            i, j = self.names.index(a), self.names.index(b)
            out[i, j] = out[j, i] = value
        return out

    def advice(self) -> list[str]:
        """One sentence for each status set anywhere in the result."""
        lines = (line.split(": ", 1) for line in describe(self.status))
        return [f"{name}: {_OF_PAIRS.get(name, text)}" for name, text in lines]

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
