"""The best feasible value so far of all runs, by method and setting."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.studies.papers.c_tpe.settings import Setting
from benchmarks.studies.papers.power import N_RESAMPLED
from benchmarks.studies.papers.runs import Arrays


@dataclass(frozen=True)
class Results:
    """All runs.

    Attributes:
        losses: method -> setting -> (s, n).
        feasible: the same, whether the evaluation satisfied the setting's constraints.
        oracle: setting -> best and worst feasible entry of the table.
    """

    losses: dict[str, dict[Setting, np.ndarray]]
    feasible: dict[str, dict[Setting, np.ndarray]]
    oracle: dict[Setting, tuple[float, float]]
    _drawn: dict[tuple, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of_units(cls, units: Sequence[tuple[str, Arrays]], oracle: Arrays) -> "Results":
        """From the arrays of `searches.search` with their method, and those of `searches.oracles`."""
        losses: dict[str, dict[Setting, np.ndarray]] = {}
        feasible: dict[str, dict[Setting, np.ndarray]] = {}
        for method, arrays in units:
            for setting, what, own in _by_setting(arrays):
                target = losses if what == "losses" else feasible
                target.setdefault(method, {})[setting] = own
        best = {setting: (float(own[0]), float(own[1])) for setting, _, own in _by_setting(oracle)}
        return cls(losses, feasible, best)

    def with_more(self, again: "Results") -> "Results":
        """All runs, and of the methods and settings that ran again the seeds of both."""
        both = {}
        for name in ("losses", "feasible"):
            own, more = getattr(self, name), getattr(again, name)
            both[name] = {
                method: {
                    at: np.concatenate([runs, more[method][at]]) if at in more.get(method, {}) else runs
                    for at, runs in settings.items()
                }
                for method, settings in own.items()
            }
        return Results(both["losses"], both["feasible"], self.oracle)

    def settings(self, methods: Sequence[str], quantile: float) -> list[Setting]:
        """Settings at a quantile that all of these methods have."""
        sets = [set(self.losses.get(method, {})) for method in methods]
        found = set.intersection(*sets) if sets else set()
        return sorted(s for s in found if s.quantile == quantile)

    def tables(self) -> list[str]:
        """Names of all tables."""
        return sorted({setting.table for setting in self.oracle})

    def best(self, method: str, setting: Setting) -> np.ndarray:
        """(s, n) best feasible value so far, infinite while there is none."""
        losses, feasible = self.losses[method][setting], self.feasible[method][setting]
        usable = feasible & ~np.isnan(losses)
        return np.minimum.accumulate(np.where(usable, losses.astype(np.float64), np.inf), axis=1)

    def after(self, method: str, settings: Sequence[Setting], budget: int) -> list[np.ndarray]:
        """(s,) of each setting."""
        return [self.best(method, setting)[:, budget - 1] for setting in settings]

    def medians(self, method: str, settings: Sequence[Setting], budget: int) -> np.ndarray:
        """(settings,) medians over the seeds."""
        return np.array([np.median(own) for own in self.after(method, settings, budget)])

    def resampled(self, method: str, settings: Sequence[Setting], budget: int, copy: int) -> np.ndarray:
        """(settings, resamplings) medians of seeds drawn with replacement; another ``copy``, other draws."""
        return np.stack([self._of_one(method, setting, budget, copy) for setting in settings])

    def _of_one(self, method: str, setting: Setting, budget: int, copy: int) -> np.ndarray:
        key = method, setting, budget, copy
        if key not in self._drawn:
            (own,) = self.after(method, [setting], budget)
            rng = np.random.default_rng(zlib.crc32(repr(key).encode()))
            chosen = rng.integers(0, len(own), (N_RESAMPLED, len(own)))
            self._drawn[key] = np.median(own[chosen], axis=1)
        return self._drawn[key]


def percentage_loss(results: Results, method: str, setting: Setting) -> np.ndarray:
    """(s, n) (f - oracle) / oracle; while a run has no feasible row, of the worst feasible entry."""
    low, high = results.oracle[setting]
    return (np.minimum(results.best(method, setting), high) - low) / abs(low)


def gap_ratio(
    results: Results, method: str, other: str, settings: Sequence[Setting], budget: int
) -> tuple[float, float]:
    """Mean over settings of the log ratio of mean percentage losses, and its standard error."""
    logs, variances = [], []
    for setting in settings:
        a, b = (percentage_loss(results, name, setting)[:, budget - 1] for name in (method, other))
        logs.append(np.log(a.mean() / b.mean()))
        variances.append(sum(x.var(ddof=1) / len(x) / x.mean() ** 2 for x in (a, b)))
    return float(np.mean(logs)), float(np.sqrt(np.sum(variances)) / len(logs))


def _by_setting(arrays: Arrays) -> Iterator[tuple[Setting, str, np.ndarray]]:
    for name, array in arrays.items():
        if name not in ("quantiles", "seconds"):
            table, kind, *what = name.split("/")
            for quantile, own in zip(arrays["quantiles"], array, strict=True):
                yield Setting(table, kind, float(quantile)), "".join(what), own
