"""Ranks, normalised gaps and tests, from method -> case -> gap (s, n) after each evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.stats

Curves = Mapping[str, np.ndarray]
# Normalised gaps below these are one: what is left there is rounding; and, in ratios, as good as nothing,
# since one that is exactly 0, as in tables, would outweigh everything else in a geometric mean.
ROUNDING, FLOOR = 1e-8, 1e-4
N_RESAMPLED = 1000
# A gap so many times another's is behind it, whatever a test over a few problems says.
FAR = 2.0


def shared(found: Mapping[str, Curves]) -> list[str]:
    """The cases that all methods have."""
    return [case for case in next(iter(found.values()), {}) if all(case in own for own in found.values())]


def typical(random: Curves) -> dict[str, float]:
    """Median gap of a random configuration, by case: what gaps are divided by."""
    return {case: float(np.median(gaps[:, 0])) for case, gaps in random.items()}


def normalised(
    found: Curves, scale: Mapping[str, float], cases: Sequence[str], floor: float = FLOOR
) -> np.ndarray:
    """(cases, n): median over runs of the gap over that of a random configuration, at least ``floor``."""
    medians = np.stack([np.median(found[case], axis=0) / (scale[case] or 1.0) for case in cases])
    return np.maximum(medians, floor)


def ranks(found: Mapping[str, Curves], cases: Sequence[str], budget: int) -> np.ndarray:
    """(methods, cases): mean over runs of the rank among the methods; ties share theirs.

    Runs of one number are of the same instance.
    """
    per_case = []
    for case in cases:
        n = min(len(own[case]) for own in found.values())
        at = np.stack([own[case][:n, budget - 1] for own in found.values()])
        per_case.append(scipy.stats.rankdata(at, axis=0).mean(axis=1))
    return np.stack(per_case, axis=1)


def interval(values: np.ndarray) -> tuple[float, float]:
    """95 % interval of a geometric mean over cases, by resampling the cases."""
    logs, rng = np.log(values), np.random.default_rng(0)
    means = logs[rng.integers(0, len(logs), (N_RESAMPLED, len(logs)))].mean(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return float(low), float(high)


def critical_difference(n_methods: int, n_cases: int, level: float = 0.05) -> float:
    """Of mean ranks: Nemenyi's, after Demsar (2006)."""
    quantile = scipy.stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_cases)))


@dataclass(frozen=True)
class Comparison:
    """One method with another at a budget.

    Attributes:
        wins, losses: cases in which its median gap is smaller or larger.
        ratio: geometric mean over cases of its normalised gap over the other's.
        p: of Wilcoxon's signed-rank test over cases, on logs; two-sided, adjusted by Holm where there are
            several comparisons.
    """

    wins: int
    losses: int
    ratio: float
    p: float

    def __str__(self) -> str:
        """As a cell of a table."""
        return f"{self.wins}/{self.losses}, {self.ratio:.2f}, p = {self.p:.2g}"


def compare(
    ours: Curves, theirs: Mapping[str, Curves], scale: Mapping[str, float], budget: int
) -> dict[str, Comparison]:
    """Ours with each of the others, on the cases that both have."""
    raw = {}
    for name, other in theirs.items():
        cases = [case for case in ours if case in other]
        difference, coarse = (
            np.subtract(*(np.log(normalised(own, scale, cases, f)[:, budget - 1]) for own in (ours, other)))
            for f in (ROUNDING, FLOOR)
        )
        p, ratio = signed_rank(difference), float(np.exp(coarse.mean()))
        raw[name] = Comparison(int((difference < 0).sum()), int((difference > 0).sum()), ratio, p)
    adjusted = holm([own.p for own in raw.values()])
    return {
        name: Comparison(own.wins, own.losses, own.ratio, p)
        for (name, own), p in zip(raw.items(), adjusted, strict=True)
    }


def worse(ours: Curves, theirs: Curves, budget: int) -> dict[str, float]:
    """Case -> p value of the signed-rank test over runs that ours are worse, adjusted by Holm over cases."""
    cases = [case for case in ours if case in theirs]
    p = []
    for case in cases:
        n = min(len(ours[case]), len(theirs[case]))
        difference = ours[case][:n, budget - 1] - theirs[case][:n, budget - 1]
        p.append(signed_rank(difference, "greater"))
    return dict(zip(cases, holm(p), strict=True))


def signed_rank(difference: np.ndarray, alternative: str = "two-sided") -> float:
    """p value; equal pairs say nothing, and it is 1 where all are."""
    told = difference[difference != 0]
    return float(np.asarray(scipy.stats.wilcoxon(told, alternative=alternative)[1])) if len(told) else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p values (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order, found, highest = np.argsort(p, kind="stable"), [0.0] * len(p), 0.0
    for place, i in enumerate(order):
        highest = max(highest, min((len(p) - place) * p[i], 1.0))
        found[i] = highest
    return found
