"""The result of `interactions`, with its tables."""

from dataclasses import dataclass

import numpy as np

from parzax.importance import Interactions
from parzax.results.base import AbstractResult, ReadTable, attributes, mean_and_error
from parzax.results.pairs.table import pairs_table
from parzax.results.uncertainty import Tested
from parzax.status import Status, describe

# Where nothing can be said of a pair.
_UNDEFINED = Status.NEVER_TOGETHER | Status.UNIDENTIFIABLE | Status.NO_DATA


@dataclass(frozen=True, eq=False)
class InteractionResult(AbstractResult, Tested):
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

    variance, importance, joint, main = attributes("variance", "importance", "joint", "main")
    p_value, status, slots, slot_variance = attributes("p_value", "status", "slots", "slot_variance")
    n_active, n_target, n_region, n_draws = attributes("n_active", "n_target", "n_region", "n_draws")

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The p pairs of names."""
        return tuple((self.names[a], self.names[b]) for a, b in self.estimates.pairs)

    @property
    def is_defined(self) -> np.ndarray:
        """(..., q, p) whether anything can be said of a pair; where not, a status says why."""
        return (self.status & int(_UNDEFINED)) == 0

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
        first, second = np.array(self.estimates.pairs, int).reshape(-1, 2).T
        out[first, second] = out[second, first] = values
        return out

    def advice(self) -> list[str]:
        """One sentence for each status set anywhere in the result."""
        return describe(self.status, of_pairs=True)

    def _columns(self) -> dict[str, np.ndarray]:
        first, second = np.array(self.pairs, dtype=object).reshape(-1, 2).T
        columns = {"first": first, "second": second}
        columns |= {name: self.by_seed(getattr(self, name)) for name in ("importance", "variance", "joint")}
        columns["main_first"], columns["main_second"] = np.moveaxis(self.by_seed(self.main), -1, 0)
        columns |= {name: self.by_seed(getattr(self, name)) for name in ("p_value", "p_adjusted")}
        columns["n_active"] = self.by_seed(self.n_active)[:, None]
        columns["n_target"] = self.by_seed(self.n_target)[..., None]
        columns["n_region"] = self.by_seed(self.n_region)[..., None, None]
        return columns | {"status": self.by_seed(self.status)}

    def _table(self) -> ReadTable:
        return pairs_table(self)

    def __repr__(self) -> str:
        return self._described("pair")
