"""What c-TPE must do on the benchmark tables: medians, signed-rank tests, and figures of earlier runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.stats

BUDGETS = (50, 100, 200)
OTHERS = ("TPE", "random", "naive")
# Medians measured earlier, in agreement with the authors' code: validation error in % at these BUDGETS on
# ImageNet16-120 with both constraints, from 50 runs, rounded to 0.1.
STORED = {0.1: (65.8, 65.6, 65.4), 0.5: (58.6, 57.3, 56.9), 0.9: (55.0, 54.7, 53.8)}
N_STORED, ROUNDING = 50, 0.05
# Of the difference of two medians, in standard errors.
WITHIN = 3.0
# Of the tests: the full comparison has 15 settings per quantile, the quick one 6, whose smallest p is 1/64.
LEVEL, QUICK_LEVEL = 0.01, 0.05
# "No worse": the opposite is not to be seen at this level.
WORSE_LEVEL = 0.05


class Setting(NamedTuple):
    """Table, what is constrained, and at which quantile."""

    table: str
    constraints: str
    quantile: float


@dataclass
class Results:
    """Best feasible values.

    Attributes:
        best: sampler -> setting -> (s, b) of s runs after b budgets; infinite without a feasible row.
        optima: setting -> best feasible entry of the table.
        repeated: (q, r, b) more runs of c-TPE on ImageNet16-120 with both constraints.
    """

    best: dict[str, dict[Setting, np.ndarray]]
    optima: dict[Setting, float]
    repeated: np.ndarray

    def put(self, sampler: str, table: str, name: str, quantiles: Sequence[float], best: np.ndarray) -> None:
        """Add runs (q, s, b)."""
        for quantile, runs in zip(quantiles, best, strict=True):
            self.best.setdefault(sampler, {})[Setting(table, name, quantile)] = runs

    def put_optima(self, table: str, name: str, quantiles: Sequence[float], optima: np.ndarray) -> None:
        """Add the best entries (q,)."""
        for quantile, optimum in zip(quantiles, optima, strict=True):
            self.optima[Setting(table, name, quantile)] = float(optimum)

    def stacked(self, sampler: str, settings: Sequence[Setting]) -> np.ndarray:
        """(settings, s, b)."""
        return np.stack([self.best[sampler][setting] for setting in settings])

    def medians(self, sampler: str, settings: Sequence[Setting]) -> np.ndarray:
        """(settings, b)."""
        return np.median(self.stacked(sampler, settings), axis=1)


@dataclass
class Median:
    """One setting of one sampler.

    ``n_infeasible`` counts the runs that found no feasible row at all.
    """

    sampler: str
    table: str
    constraints: str
    quantile: float
    medians: list[float]
    n_infeasible: int
    optimum: float


@dataclass
class Test:
    """c-TPE against another sampler at one quantile and after one budget.

    Wins, losses and ties are counted by medians. ``p_better`` and ``p_worse`` are of the one-sided
    signed-rank tests on the logarithms of the medians, whose differences are comparable from table to table;
    ``p_better_raw`` is of the same on the medians themselves. ``level`` is None where nothing is claimed.
    """

    other: str
    quantile: float
    budget: int
    wins: int
    losses: int
    ties: int
    p_better: float
    p_better_raw: float
    p_worse: float
    claim: str
    level: float | None

    @property
    def holds(self) -> bool:
        """Whether the claim holds."""
        if self.level is None:
            return True
        if self.claim == "better":
            return max(self.p_better, self.p_better_raw) < self.level
        return self.p_worse >= self.level

    @property
    def text(self) -> str:
        """The claim in words."""
        p = max(self.p_better, self.p_better_raw) if self.claim == "better" else self.p_worse
        return (
            f"c-TPE {self.claim} than {self.other} at quantile {self.quantile}, {self.budget} evaluations: "
            f"p = {p:.2g}"
        )


@dataclass
class Figure:
    """A median of c-TPE beside the stored one; ``error`` is the standard error of their difference."""

    quantile: float
    budget: int
    median: float
    n_runs: int
    standard_error: float
    stored: float
    error: float

    @property
    def in_errors(self) -> float:
        """The difference beyond rounding, in standard errors."""
        return max(0.0, abs(self.median - self.stored) - ROUNDING) / self.error

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return self.in_errors <= WITHIN

    @property
    def text(self) -> str:
        """The claim in words."""
        return f"{self.median:.2f} agrees with {self.stored} ({self.in_errors:.1f} standard errors)"


def medians(results: Results) -> list[Median]:
    """Every setting of every sampler."""
    return [
        Median(
            sampler,
            *setting,
            medians=np.median(runs, axis=0).tolist(),
            n_infeasible=int(np.isinf(runs[:, -1]).sum()),
            optimum=results.optima[setting],
        )
        for sampler, settings in results.best.items()
        for setting, runs in settings.items()
    ]


def signed_rank(difference: np.ndarray, alternative: str) -> float:
    """p value of a one-sided test; settings without a difference say nothing; 1 where all are such."""
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    _, p = scipy.stats.wilcoxon(difference, alternative=alternative)
    return np.asarray(p).item()


def differences(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Ours minus theirs; what is infinite (no feasible row) is worse than everything, and equal to itself."""
    difference = np.subtract(ours, theirs, out=np.zeros_like(ours), where=ours != theirs)
    largest = np.abs(difference[np.isfinite(difference)]).max(initial=1.0)
    return np.clip(difference, -2 * largest, 2 * largest)


def compare(results: Results, other: str, quantile: float, budget: int, quick: bool) -> Test:
    """One test, on the settings that both samplers have."""
    settings = [s for s in results.best["c-TPE"] if s.quantile == quantile and s in results.best[other]]
    ours, theirs = (results.medians(name, settings)[:, BUDGETS.index(budget)] for name in ("c-TPE", other))
    logs = differences(np.log(ours), np.log(theirs))
    claim = "no worse" if other == "TPE" and quantile == 0.9 else "better"
    level = WORSE_LEVEL if claim == "no worse" else QUICK_LEVEL if quick else LEVEL
    claimed = budget == max(BUDGETS) and (other, quantile) != ("random", 0.9)
    return Test(
        other,
        quantile,
        budget,
        wins=int((logs < 0).sum()),
        losses=int((logs > 0).sum()),
        ties=int((logs == 0).sum()),
        p_better=signed_rank(logs, "less"),
        p_better_raw=signed_rank(differences(ours, theirs), "less"),
        p_worse=signed_rank(logs, "greater"),
        claim=claim,
        level=level if claimed else None,
    )


def tests(results: Results, *, quick: bool) -> list[Test]:
    """c-TPE against every other sampler at every quantile and budget."""
    quantiles = sorted({setting.quantile for setting in results.best["c-TPE"]})
    others = [other for other in OTHERS if other in results.best]
    return [compare(results, o, q, b, quick) for o in others for q in quantiles for b in BUDGETS]


def figures(results: Results, n_bootstrap: int = 2000) -> list[Figure]:
    """Medians on ImageNet16-120 beside the stored ones, with bootstrap standard errors."""
    rng = np.random.default_rng(0)
    found = []
    for runs, (quantile, stored) in zip(results.repeated, STORED.items(), strict=True):
        n = len(runs)
        resampled = {
            size: np.median(runs[rng.integers(0, n, (n_bootstrap, size))], axis=1).std(axis=0)
            for size in (n, N_STORED)
        }
        for b, budget in enumerate(BUDGETS):
            own, theirs = float(resampled[n][b]), float(resampled[N_STORED][b])
            median, error = float(np.median(runs[:, b])), float(np.hypot(own, theirs))
            found.append(Figure(quantile, budget, median, n, own, stored[b], error))
    return found


def medians_table(results: Results) -> str:
    """Settings down, samplers across."""
    names = ["c-TPE", *(other for other in OTHERS if other in results.best)]
    lines = [("table", "constraints", "quantile", *names, "optimum")]
    for setting, optimum in sorted(results.optima.items(), key=lambda item: item[0].quantile):
        cells = ["/".join(f"{x:.4g}" for x in results.medians(name, [setting])[0]) for name in names]
        lines.append((setting.table, setting.constraints, f"{setting.quantile}", *cells, f"{optimum:.4g}"))
    return aligned(lines)


def tests_table(rows: Sequence[Test]) -> str:
    """One line per test."""
    lines = [
        ("against", "quantile", "evaluations", "wins/losses/ties", "p better", "raw", "p worse", "claim", "")
    ]
    for row in rows:
        claim = "" if row.level is None else f"{row.claim}, {row.level:g}"
        lines.append(
            (row.other, f"{row.quantile}", f"{row.budget}", f"{row.wins}/{row.losses}/{row.ties}",
             f"{row.p_better:.2g}", f"{row.p_better_raw:.2g}", f"{row.p_worse:.2g}", claim,
             "" if row.holds else "BROKEN")
        )  # fmt: skip
    return aligned(lines)


def figures_table(rows: Sequence[Figure]) -> str:
    """One line per figure."""
    lines = [("quantile", "evaluations", "median", "its error", "runs", "stored", "difference in errors", "")]
    for row in rows:
        lines.append(
            (f"{row.quantile}", f"{row.budget}", f"{row.median:.2f}", f"{row.standard_error:.2f}",
             f"{row.n_runs}", f"{row.stored:.1f}", f"{row.in_errors:.1f}", "" if row.holds else "BROKEN")
        )  # fmt: skip
    return aligned(lines)


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns, padded on the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )
