"""Tests over settings and over tables, and the smallest effect that each would have seen."""

from collections.abc import Callable, Sequence

import numpy as np
import scipy.stats

# Relative differences of losses that are tried, and the largest that would not matter to a reader.
EFFECTS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MATTERS = 0.1
# "Seen" means in so many cases.
POWER, N_RESAMPLED = 0.8, 200


def signed_rank(difference: np.ndarray, alternative: str) -> float:
    """p value of Wilcoxon's test; settings without a difference say nothing; 1 where all are such."""
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    return float(np.asarray(scipy.stats.wilcoxon(difference, alternative=alternative)[1]))


def differences(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Ours minus theirs; what is infinite (no feasible row) is worse than everything, and equal to itself."""
    difference = np.subtract(ours, theirs, out=np.zeros_like(ours), where=ours != theirs)
    largest = np.abs(difference[np.isfinite(difference)]).max(initial=1.0)
    return np.clip(difference, -2 * largest, 2 * largest)


def over_tables(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> float:
    """z of the rank-sum test stratified by table (van Elteren 1960); negative where ours is smaller."""
    sums = variance = 0.0
    for a, b in zip(ours, theirs, strict=True):
        n, m = len(a), len(b)
        both = np.concatenate([a, b])
        ranks = scipy.stats.rankdata(both)
        weight = 1 / (n + m + 1)
        ties = np.unique(both, return_counts=True)[1].astype(float)
        sums += weight * (ranks[:n].sum() - n * (n + m + 1) / 2)
        spread = n + m + 1 - (ties**3 - ties).sum() / ((n + m) * (n + m - 1))
        variance += weight**2 * n * m / 12 * spread
    return sums / np.sqrt(variance) if variance > 0 else 0.0


def smallest_effect(p_values: Callable[[float], np.ndarray], level: float) -> float:
    """The smallest relative difference with p below ``level`` in 80 % of resamplings; infinite if none is.

    ``p_values`` makes the second of two samples of one sampler worse by a factor 1 + effect, and tests them.
    """
    seen = (effect for effect in EFFECTS if (p_values(effect) < level).mean() >= POWER)
    return next(seen, np.inf)


def of_settings(first: np.ndarray, second: np.ndarray, level: float) -> float:
    """Smallest effect of the one-sided signed-rank test on logs of medians (settings, resamplings)."""
    usable = np.isfinite(first).all(axis=1) & np.isfinite(second).all(axis=1)
    if not usable.any():
        return np.inf
    logs = np.log(first[usable]) - np.log(second[usable])
    # Equal differences would each be tested by permutations, at a thousand times the cost.
    logs += 1e-12 * np.random.default_rng(0).normal(size=logs.shape)

    def p_values(effect: float) -> np.ndarray:
        return np.asarray(scipy.stats.wilcoxon(logs - np.log1p(effect), alternative="less", axis=0)[1])

    return smallest_effect(p_values, level)


def of_tables(runs: Sequence[np.ndarray], n_theirs: int, level: float) -> float:
    """Smallest effect of the stratified rank-sum test, two-sided, against so many runs of the other."""
    rng = np.random.default_rng(0)
    drawn = [
        [[own[rng.integers(0, len(own), n)] for own in runs] for n in (len(runs[0]), n_theirs)]
        for _ in range(N_RESAMPLED)
    ]

    def p_values(effect: float) -> np.ndarray:
        worse = ((first, [own * (1 + effect) for own in second]) for first, second in drawn)
        return np.array([two_sided(over_tables(*pair)) for pair in worse])

    return smallest_effect(p_values, level)


def two_sided(z: float) -> float:
    """p value of a normal score."""
    return float(2 * scipy.stats.norm.sf(abs(z)))


def in_words(effect: float) -> str:
    """For a row's note."""
    if np.isinf(effect):
        return "the test would not see a difference of 100 % in 80 % of cases"
    return f"a difference of {100 * effect:g} % would be seen in 80 % of cases"
