"""The result of `interactions`, with its table for reading."""

from dataclasses import dataclass

import numpy as np

from parzax._words import plural
from parzax.importance import Interactions
from parzax.lens.results.base import (
    MOST_SEEDS,
    AbstractResult,
    ReadTable,
    attributes,
    mean_and_error,
    mean_text,
    size_text,
)
from parzax.lens.results.labels import short_labels
from parzax.lens.results.uncertainty import Tested
from parzax.status import Status, describe

_ROWS_SHOWN, _LEVELS_SHOWN, _NAME = 15, 6, 20
# Statuses of pairs whose interaction is undefined.
_UNDEFINED = Status.NEVER_TOGETHER | Status.UNIDENTIFIABLE | Status.NO_DATA


@dataclass(frozen=True, eq=False)
class InteractionResult(AbstractResult, Tested):
    """Interactions of p pairs of parameters at q levels; leading axes "..." are the observations' seeds.

    Attributes:
        estimates: `parzax.importance.Interactions`, in NumPy. Its arrays are attributes of the result too;
            ``pairs`` are pairs of names here. ``importance`` can be compared across pairs, levels and logs:
            for independent parameters, the importances of single parameters, of pairs and of higher orders
            sum to 1. ``main`` is computed on coarser cells than in `parzax.cond_ped_anova`, and only from
            rows in which both parameters are active.
        space: the search space, d parameters.
        target_quantile: (q,) requested levels.
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
        """(..., q, p) whether the interaction of a pair is defined; if not, a status says why."""
        return (self.status & int(_UNDEFINED)) == 0

    @property
    def stands_out(self) -> np.ndarray:
        """(q, p) pairs above chance in more than half of the seeds; without draws, those above 0."""
        if not self.n_draws:
            return self.over_seeds()[0] > 0
        return self.mean_over_seeds(self.above_chance) > MOST_SEEDS

    def over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of the importance over the seeds where it is defined, (q, p) each."""
        return mean_and_error(self.by_seed(self.importance), self.by_seed(self.is_defined))

    def is_above(self, level: int) -> np.ndarray:
        """(p,) whether each pair stands out at the ``level``-th level, see `stands_out`."""
        return self.stands_out[level]

    def ranking(self, level: int | None = None) -> list[tuple[str, str]]:
        """Pairs at the ``level``-th level (by default `usual_level`), those above chance first.

        Within these two groups, pairs are sorted by mean importance, highest first; ties keep the order of
        ``pairs``.
        """
        return [self.pairs[i] for i in self.order(level)]

    def order(self, level: int | None = None) -> np.ndarray:
        """Indices of the pairs in the order of `ranking`; pairs that are defined in no seed come last."""
        level = self.usual_level if level is None else level
        defined = self.by_seed(self.is_defined).any(axis=(0, 1))
        return np.lexsort((-self.over_seeds()[0][level], ~self.stands_out[level], ~defined))

    def matrix(self, level: int | None = None) -> np.ndarray:
        """(d, d) symmetric: mean importance at a level, as in `ranking`.

        It is NaN on the diagonal, for pairs that were not requested, and for pairs that are defined in no
        seed.
        """
        level = self.usual_level if level is None else level
        defined = self.by_seed(self.is_defined)[:, level].any(axis=0)
        return self.to_matrix(np.where(defined, self.over_seeds()[0][level], np.nan))

    def to_matrix(self, values: np.ndarray) -> np.ndarray:
        """(d, d) symmetric matrix of one value per pair; NaN for the diagonal and other pairs."""
        out = np.full((len(self.names),) * 2, np.nan)
        first, second = np.array(self.estimates.pairs, int).reshape(-1, 2).T
        out[first, second] = out[second, first] = values
        return out

    def _columns(self) -> dict[str, np.ndarray]:
        first, second = np.array(self.pairs, dtype=object).reshape(-1, 2).T
        columns = {name: getattr(self, name) for name in ("importance", "variance", "joint")}
        columns |= {"main_first": self.main[..., 0], "main_second": self.main[..., 1]}
        columns |= {"p_value": self.p_value, "p_adjusted": self.p_adjusted}
        columns |= {"n_active": self.n_active[..., None, :], "n_target": self.n_target[..., None]}
        columns |= {"n_region": self.n_region[..., None, None], "status": self.status}
        return {"first": first, "second": second, **columns}

    def _table(self) -> ReadTable:
        """One line per pair, the most important first; with several levels, one column per level.

        An importance in brackets is not above chance; "-" means undefined. With several seeds an entry is
        mean ± standard error, and is above chance if most seeds are.
        """
        levels, p = np.argsort(self.target_quantile, kind="stable"), len(self.pairs)
        order = self.order()
        shown = order[:_ROWS_SHOWN] if p > _ROWS_SHOWN + 1 else order
        names = short_labels(self.names, _NAME)
        labels = [" × ".join(names[j] for j in self.estimates.pairs[i]) for i in shown]
        title = "interactions"
        if self.n_seeds > 1:
            title += f", mean ± standard error of {self.n_seeds} seeds"
        kept = levels[np.unique(np.linspace(0, len(levels) - 1, _LEVELS_SHOWN).round().astype(int))]
        defined, above = self.by_seed(self.is_defined).any(axis=0), self.stands_out | (not self.n_draws)
        shares = np.vectorize(_share, otypes=[object])(*self.over_seeds(), defined, above)
        columns = [["pair", *labels]]
        if len(levels) > 1:
            title += ", by level"
            title += f"; {len(kept)} of {len(levels)} levels shown" if len(kept) < len(levels) else ""
            shares = shares[kept][:, shown]
            columns += [[f"{self.target_quantile[i]:g}", *x] for i, x in zip(kept, shares, strict=True)]
        else:
            title += f" at level {self.target_quantile[0]:g}"
            p_adjusted = self.by_seed(self.p_adjusted)[:, 0, shown].T
            p_values = ["-" if np.isnan(p).all() else f"{np.nanmedian(p):.2g}" for p in p_adjusted]
            shares = shares[0, shown]
            columns += [
                ["importance", *shares],
                ["variance", *(f"{self.variance[..., 0, i].mean():.3g}" for i in shown)],
                ["p (Holm)", *p_values],
                ["n active", *(size_text(self.n_active[..., i]) for i in shown)],
            ]
        has_brackets = any(text.startswith("(") for text in shares.flat)
        return ReadTable(title, columns, ("pair",), self._notes(has_brackets))

    def _notes(self, has_brackets: bool) -> list[str]:
        p = len(self.pairs)
        if not p:
            return ["no pairs: the space has a single parameter"]
        lines = ["importance: interaction's share of the variance of membership in the target"]
        if p > _ROWS_SHOWN + 1:
            lines.append(f"{p - _ROWS_SHOWN} more pairs, in to_dataframe()")
        if self.n_draws:
            draws = f"{plural(self.n_draws, 'draw')} from the null"
            brackets = "; importances are in brackets where it is above 0.05" * has_brackets
            lines.append(f"p: by {draws}, adjusted for {plural(p, 'pair')} (Holm){brackets}")
        if len(self.target_quantile) == 1:
            lines.append(f"target: {plural(size_text(self.n_target), 'row')}")
        lines.append(f"region: {plural(size_text(self.n_region), 'row')} (level {self.region_quantile:g})")

        def where(bit: Status) -> str:
            return f"{int(self.share_of_seeds(bit).any(axis=0).sum())} of {plural(p, 'pair')}"

        return [*lines, *self.report.lines(self.n_seeds), *describe(self.status, where)]

    def __repr__(self) -> str:
        return self._described("pair")


def _share(mean: float, error: float, defined: bool, above: bool) -> str:
    """An importance as text, in brackets if it is not above chance."""
    if not defined:
        return "-"
    text = mean_text(mean, error) if mean else "0"
    return text if above or not mean else f"({text})"
