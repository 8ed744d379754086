"""How near readings of logs are to truths, for `benchmarks.studies.adaptive_logs`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.stats

from benchmarks.studies.papers.runs import Arrays

ROWS, SURROGATE = "rows", "surrogate"
# A surrogate that predicts a smaller part of the variance of left-out rows leaves the answer to the rows.
LEAST_QUALITY = 0.2
# A share, or a worth as part of the largest, that is no further from an interval counts as inside.
TOLERANCE = 0.005
# A draw with at most this share says that a parameter does nothing.
NEGLIGIBLE = 0.01
N_BOOTSTRAP = 2000


class LogSet(NamedTuple):
    """Readings of the logs of one search on one problem.

    Attributes:
        searcher, problem: their names.
        n: number of trials.
        truth: (q, d) true shares.
        rows: (s, q, d) shares of the rows.
        above: (s, q, d) whether those are above chance; None if that was not asked.
        shown: (s,) whether the order of the rows shows a search that learns.
        best: (s,) the least loss.
        peers: shares (few, d) of Optuna's evaluators, at the first level, of the first logs.
        draws: for each of the first k logs, shares (b, q, d) of draws from its surrogate.
        quality: (k,) of these surrogates.
        worths: by name, for each of few logs: draws (b, slots) of the worth of tuning, and the truth.
    """

    searcher: str
    problem: str
    n: int
    truth: np.ndarray
    rows: np.ndarray
    above: np.ndarray | None
    shown: np.ndarray
    best: np.ndarray
    peers: Mapping[str, np.ndarray]
    draws: Sequence[np.ndarray]
    quality: np.ndarray
    worths: Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]]

    @property
    def answered(self) -> np.ndarray:
        """(k,) whether the surrogate answers."""
        return self.quality >= LEAST_QUALITY

    @property
    def answers(self) -> np.ndarray:
        """(k, q, d) means of the draws where the surrogate answers, else the shares of the rows."""
        triples = zip(self.answered, self.draws, self.rows, strict=False)
        answers = [draws.mean(axis=0) if by_surrogate else rows for by_surrogate, draws, rows in triples]
        return np.array(answers).reshape(-1, *self.rows.shape[1:])

    def shares(self, reader: str) -> np.ndarray:
        """(few, d) at the first level: by the rows, by the surrogate or by one of Optuna's evaluators."""
        if reader in (ROWS, SURROGATE):
            return (self.rows if reader == ROWS else self.answers)[:, 0]
        return self.peers.get(reader, self.rows[:0, 0])

    def distances(self, reader: str) -> np.ndarray:
        """(few,) from the truth at the first level."""
        return distance(self.shares(reader), self.truth[0])

    def rank_correlations(self, reader: str) -> np.ndarray:
        """(few,) with the truth at the first level; 0 if all shares are equal."""
        pairs = [scipy.stats.rankdata(row) for row in self.shares(reader)]
        true = scipy.stats.rankdata(self.truth[0])
        return np.array([np.corrcoef(row, true)[0, 1] if np.ptp(row) else 0.0 for row in pairs])

    def errors(self, reader: str) -> np.ndarray:
        """(k,) mean distance over the levels of the rows or of the answers."""
        shares = self.rows if reader == ROWS else self.answers
        return distance(shares, self.truth).mean(axis=1)

    def covered(self, least: float = 0.0) -> np.ndarray:
        """Whether 90 % intervals hold shares of at least ``least``, where the surrogate answers; flat."""
        some, true = self.truth >= least, self.truth
        inside = [
            _inside(draws, true, TOLERANCE)[some]
            for draws, by_surrogate in zip(self.draws, self.answered, strict=True)
            if by_surrogate
        ]
        return np.concatenate([*inside, np.zeros(0, bool)])

    def covered_worth(self, name: str) -> np.ndarray:
        """The same of the worth of tuning, or of ``target_worth``."""
        inside = [
            _inside(draws, true, TOLERANCE * true.max())
            for (draws, true), by_surrogate in zip(self.worths[name], self.answered, strict=False)
            if by_surrogate
        ]
        return np.concatenate([*inside, np.zeros(0, bool)])

    def above_chance(self, reader: str, parameter: slice = slice(-1, None)) -> np.ndarray:
        """(k, q) whether any of some parameters, by default the last, is above chance."""
        assert self.above is not None
        above = self.above > 0
        if reader == SURROGATE:
            above = np.array(above[: len(self.draws)])
            for log, draws in enumerate(self.draws):
                if self.answered[log]:
                    above[log] = (1 + (draws <= NEGLIGIBLE).sum(axis=0)) / (len(draws) + 1) <= 0.05
        return np.asarray(above[..., parameter].any(axis=-1))


def gather(
    searcher: str, problem: str, n: int, truth: np.ndarray, rows: Arrays, surrogates: Iterable[Arrays]
) -> LogSet:
    """What units left; those of surrogates may be few."""
    read = [part for part in surrogates if f"{n}/draws" in part]
    peers = {name: rows[f"{n}/{name}"] for name in ("PED-ANOVA", "f-ANOVA", "MDI") if f"{n}/{name}" in rows}
    worths = {
        name: [(part[f"{n}/{name}"], part[f"{n}/true_{name}"]) for part in read if f"{n}/{name}" in part]
        for name in ("worth", "target_worth")
    }
    draws = [part[f"{n}/draws"] for part in read]
    quality = np.array([float(part[f"{n}/quality"]) for part in read])
    shares, shown, best = (rows[f"{n}/{name}"] for name in ("rows", "shown", "best"))
    above = rows.get(f"{n}/above")
    return LogSet(searcher, problem, n, truth, shares, above, shown, best, peers, draws, quality, worths)


def distance(shares: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Half the sum of absolute differences."""
    return np.abs(shares - truth).sum(axis=-1) / 2


def _inside(draws: np.ndarray, true: np.ndarray, slack: float) -> np.ndarray:
    low, high = np.nanquantile(draws, (0.05, 0.95), axis=0)
    return (low - slack <= true) & (true <= high + slack)


class Comparison(NamedTuple):
    """A ratio of mean distances, or a mean difference, over the same logs, with its 90 % interval."""

    value: float
    low: float
    high: float
    n_logs: int


def compare(
    sets: Iterable[LogSet], measure: Callable[[LogSet, str], np.ndarray], reader: str, *, ratio: bool = True
) -> Comparison | None:
    """The surrogate's answers beside another reading of the same logs; None without logs.

    The interval is that of resampled logs.
    """
    parts = []
    for of_set in sets:
        pair = measure(of_set, SURROGATE), measure(of_set, reader)
        n = min(map(len, pair))
        parts.append(np.stack([pair[0][:n], pair[1][:n]]))
    both = np.concatenate([*parts, np.zeros((2, 0))], axis=1)
    if not both.size:
        return None

    def compared(means: np.ndarray) -> np.ndarray:
        return means[0] / means[1] if ratio else means[0] - means[1]

    rows = np.random.default_rng(0).integers(both.shape[1], size=(N_BOOTSTRAP, both.shape[1]))
    low, high = np.quantile(compared(both[:, rows].mean(axis=-1)), (0.05, 0.95))
    return Comparison(float(compared(both.mean(axis=1))), float(low), float(high), both.shape[1])


def geometric_mean(ratios: Iterable[float]) -> float:
    """Of positive numbers; NaN of none."""
    logs = np.log(list(ratios))
    return float(np.exp(logs.mean())) if len(logs) else np.nan
