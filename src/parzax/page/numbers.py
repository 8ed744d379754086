"""The numbers of a page: importances, intervals and chances by level and parameter, seeds as one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from parzax.results import ImportanceResult
from parzax.results.usual_level import usual_level
from parzax.status import Status

TOP = 3  # "among the three most important"
_MOST_SEEDS = 0.5  # what holds in this share of the seeds is said
# Nothing was compared with chance.
NOT_COMPARED = Status.CONSTANT | Status.SINGLE_VALUE | Status.NEVER_ACTIVE | Status.NOT_IN_TARGET
NOT_COMPARED |= Status.UNIDENTIFIABLE | Status.UNIQUE_LABELS | Status.NO_DATA | Status.ALL_EQUAL
NOT_COMPARED |= Status.SAME_SETS


@dataclass(frozen=True)
class Numbers:
    """What is shown, levels ascending; NaN where there is nothing to show.

    Attributes:
        order: (q,) which level of the result each one is.
        levels: (q,) target quantiles.
        mean, low, high: (q, d) importance, and its interval.
        p: (q, d) p-value against chance, adjusted for the number of parameters.
        bound: (q, d) whether no shuffle came near, so that their number alone sets the p-value.
        top: (q, d) probability of being among the `TOP` most important ones.
        chance: (q, d) whether it is not above chance; False where nothing was compared.
        status: (q, d) bits that are set in most seeds.
        stability: (q,) how well the ranking of resamples agrees with that of the log.
        verdicts: (q,) whether there are enough rows, in words; "" where nobody has asked.
        interval: what the interval is, "" if there is none.
        tested: whether ``chance`` is by permutation; else it is by the sign of the debiased variance.
    """

    order: np.ndarray
    levels: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    bound: np.ndarray
    top: np.ndarray
    chance: np.ndarray
    status: np.ndarray
    stability: np.ndarray
    verdicts: list[str]
    interval: str
    tested: bool

    @property
    def default(self) -> int:
        """The level that a page opens at: the nearest to 0.1 that has more than a few rows, if any has."""
        return usual_level(self.levels, self.status)

    @property
    def rough(self) -> np.ndarray:
        """(q,) levels with a few rows in the target, or outside it."""
        return np.asarray((self.status & int(Status.LOW_DATA) != 0).any(axis=1))

    @property
    def pale(self) -> np.ndarray:
        """(q, d) what has no colour: what is not above chance, and what is 0 or not known."""
        return np.asarray(self.chance | ~(np.nan_to_num(self.mean) > 0))

    @property
    def ranking(self) -> np.ndarray:
        """(d,) parameters by importance, the mean over the levels, highest first; as in all pictures."""
        return np.argsort(-np.nan_to_num(self.mean).mean(axis=0), kind="stable")


def numbers(result: ImportanceResult) -> Numbers:
    """Of several seeds means and standard errors; of one the intervals of ``result.uncertainty``, if any."""
    order = np.argsort(result.target_quantile, kind="stable")
    shape = result.importance.shape[-2:]
    uncertainty = result.uncertainty
    mean, error = (np.asarray(x, np.float64) for x in result.over_seeds())
    defined = _most(result, result.is_defined, any_seed=True)
    mean = np.where(defined, mean, np.nan)
    low, high, p, top, interval = *(np.full(shape, np.nan) for _ in range(4)), ""
    bound = np.zeros(shape, bool)
    stability, verdicts = np.full(shape[0], np.nan), [""] * shape[0]
    bits = sum(int(bit) * _most(result, result.status & int(bit) != 0) for bit in Status if bit)
    status = np.asarray(bits, np.int64)
    chance = status & int(Status.NOT_ABOVE_CHANCE) != 0
    if result.n_seeds > 1:
        low, high, interval = mean - error, mean + error, f"± standard error of {result.n_seeds} seeds"
    tested = uncertainty is not None and uncertainty.n_shuffles > 0
    if uncertainty is not None:
        if tested:
            # What counts as 0 for a reason of its own is not compared; Optuna's estimator compares it.
            apart = (status & int(NOT_COMPARED) != 0) & ~(np.nan_to_num(mean) > 0)
            chance = ~_most(result, uncertainty.above_chance) & ~apart
        if result.n_seeds == 1:
            low, high = np.moveaxis(_only(uncertainty.importance_interval, (*shape, 2)), -1, 0)
            p, top = _only(uncertainty.p_adjusted, shape), _only(uncertainty.top(TOP), shape)
            bound = at_most(_only(uncertainty.p_value, shape), p, uncertainty.n_shuffles)
            stability = _only(uncertainty.rank_stability, shape[:1])
            verdicts = [str(text) for text in uncertainty.verdicts()] or verdicts
            interval = f"{100 * uncertainty.level:g} % interval"
    low, high = (np.where(defined, x, np.nan) for x in (low, high))
    by_level = [x[order] for x in (mean, low, high, p, bound, top, chance, status, stability)]
    return Numbers(
        order, np.asarray(result.target_quantile, np.float64)[order], *by_level,
        verdicts=[verdicts[i] for i in order], interval=interval, tested=tested,
    )  # fmt: skip


def at_most(alone: np.ndarray, adjusted: np.ndarray, n_draws: int) -> np.ndarray:
    """Of p-values by so many draws from the null: whether none came near, so that they are upper ends."""
    return np.asarray((n_draws > 0) & (alone * (n_draws + 1) < 1.5) & (adjusted < 1))


def _most(result: ImportanceResult, holds: np.ndarray, *, any_seed: bool = False) -> np.ndarray:
    """(q, d) what holds in at least half of the seeds, or in any."""
    flat = np.asarray(holds).reshape(-1, *result.importance.shape[-2:])
    return np.asarray(flat.any(axis=0) if any_seed else flat.mean(axis=0) >= _MOST_SEEDS)


def _only(array: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The numbers of the only seed."""
    return np.asarray(array, np.float64).reshape(shape)
