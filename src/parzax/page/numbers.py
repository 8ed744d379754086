"""The numbers of a page: importances, intervals and chances by level and parameter, seeds as one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from parzax.results import ImportanceResult
from parzax.results.seeds import MOST_SEEDS, by_seed, share_of_seeds, usual_level
from parzax.status import Status

TOP = 3  # "among the three most important"
_DECIMALS = 4
# Nothing was compared with chance.
NOT_COMPARED = Status.CONSTANT | Status.SINGLE_VALUE | Status.NEVER_ACTIVE | Status.NOT_IN_TARGET
NOT_COMPARED |= Status.UNIDENTIFIABLE | Status.UNIQUE_LABELS | Status.NO_DATA | Status.ALL_EQUAL
NOT_COMPARED |= Status.SAME_SETS


@dataclass(frozen=True)
class Numbers:
    """What is shown, levels ascending; NaN where there is nothing to show."""

    order: np.ndarray  # (q,) which level of the result each one is
    levels: np.ndarray  # (q,) target quantiles
    mean: np.ndarray  # (q, d) importance
    low: np.ndarray  # (q, d) ends of its interval
    high: np.ndarray
    p: np.ndarray  # (q, d) p-value against chance, adjusted for the number of parameters
    bound: np.ndarray  # (q, d) whether no shuffle came near, so that their number alone sets the p-value
    top: np.ndarray  # (q, d) probability of being among the `TOP` most important ones
    chance: np.ndarray  # (q, d) whether it is not above chance; False where nothing was compared
    status: np.ndarray  # (q, d) bits that are set in most seeds
    stability: np.ndarray  # (q,) how well the ranking of resamples agrees with that of the log
    verdicts: list[str]  # (q,) whether there are enough rows, in words; "" where nobody has asked
    interval: str  # what the interval is, "" if there is none
    tested: bool  # whether ``chance`` is by permutation; else it is by the sign of the debiased variance

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
    shape, uncertainty = result.importance.shape[-2:], result.uncertainty
    mean, error = (np.asarray(x, np.float64) for x in result.over_seeds())
    defined = by_seed(result, result.is_defined).any(axis=0)
    mean = np.where(defined, mean, np.nan)
    bits = (int(bit) * (share_of_seeds(result, bit) >= MOST_SEEDS) for bit in Status if bit)
    status = np.asarray(sum(bits), np.int64)
    chance = status & int(Status.NOT_ABOVE_CHANCE) != 0
    low = high = p = top = np.full(shape, np.nan)
    bound, interval = np.zeros(shape, bool), ""
    stability, verdicts = np.full(shape[0], np.nan), [""] * shape[0]
    if result.n_seeds > 1:
        low, high, interval = mean - error, mean + error, f"± standard error of {result.n_seeds} seeds"
    tested = uncertainty is not None and uncertainty.n_shuffles > 0
    if uncertainty is not None and tested:
        # What counts as 0 for a reason of its own is not compared; Optuna's estimator compares it.
        apart = (status & int(NOT_COMPARED) != 0) & ~(np.nan_to_num(mean) > 0)
        chance = (by_seed(result, uncertainty.above_chance).mean(axis=0) < MOST_SEEDS) & ~apart
    if uncertainty is not None and result.n_seeds == 1:
        low, high = by_seed(result, uncertainty.importance_interval)[0].transpose(2, 0, 1)
        p_alone, p, top = (
            by_seed(result, x)[0] for x in (uncertainty.p_value, uncertainty.p_adjusted, uncertainty.top(TOP))
        )
        bound = at_most(p_alone, p, uncertainty.n_shuffles)
        stability = by_seed(result, uncertainty.rank_stability)[0]
        verdicts = [str(text) for text in uncertainty.verdicts()] or verdicts
        interval = f"{100 * uncertainty.level:g} % interval"
    low, high = (np.where(defined, x, np.nan) for x in (low, high))
    levels = np.asarray(result.target_quantile, np.float64)
    by_level = [x[order] for x in (levels, mean, low, high, p, bound, top, chance, status, stability)]
    verdicts = [verdicts[i] for i in order]
    return Numbers(order, *by_level, verdicts=verdicts, interval=interval, tested=tested)


def at_most(alone: np.ndarray, adjusted: np.ndarray, n_draws: int) -> np.ndarray:
    """Of p-values by so many draws from the null: whether none came near, so that they are upper ends."""
    return np.asarray((n_draws > 0) & (alone * (n_draws + 1) < 1.5) & (adjusted < 1))


def rounded(x: np.ndarray) -> Any:
    """Nested lists for JSON: numbers with four decimals, None for NaN."""
    return np.where(np.isfinite(x), np.round(np.float64(x), _DECIMALS), np.array(None)).tolist()


def text_or_dash(text: Callable[..., str], x: float, *arguments: Any) -> str:
    """``text`` of a number, a dash where there is none."""
    return text(x, *arguments) if np.isfinite(x) else "–"
