"""The numbers of a page: importances, intervals and chances by level and parameter, seeds as one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from parzax.results import ImportanceResult
from parzax.results.base import MOST_SEEDS
from parzax.results.phrases import p_text
from parzax.status import NOT_COMPARED, Status

TOP = 3  # "among the three most important"
_DECIMALS = 4
# At a level with one of these statuses no parameters are compared.
NO_LEVEL = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS


@dataclass(frozen=True)
class Numbers:
    """What is shown, levels ascending; NaN, "–" or "" where there is nothing to show."""

    order: np.ndarray  # (q,) which level of the result each one is
    levels: np.ndarray  # (q,) target quantiles
    default: int  # the level that a page opens at: the usual one of the result
    interval: str  # what the interval is, "" if there is none
    tested: bool  # whether ``chance`` is by permutation; else it is by the sign of the debiased variance
    mean: np.ndarray  # (q, d) importance
    low: np.ndarray  # (q, d) ends of its interval
    high: np.ndarray
    p: np.ndarray  # (q, d) texts of p-values against chance, adjusted for the number of parameters
    top: np.ndarray  # (q, d) probability of being among the `TOP` most important ones
    first: np.ndarray  # (q, d) probability of being the most important one
    chance: np.ndarray  # (q, d) whether it is not above chance; False where nothing was compared
    status: np.ndarray  # (q, d) bits that are set in most seeds
    stability: np.ndarray  # (q,) how well the ranking of resamples agrees with that of the log
    verdicts: np.ndarray  # (q,) whether there are enough rows, in words

    @property
    def rough(self) -> np.ndarray:
        """(q,) levels with a few rows in the target, or outside it."""
        return np.asarray((self.status & int(Status.LOW_DATA) != 0).any(axis=1))

    @property
    def pale(self) -> np.ndarray:
        """(q, d) what has no colour: what is not above chance, and what is 0 or not known."""
        return np.asarray(self.chance | ~(np.nan_to_num(self.mean) > 0))

    @property
    def ranking(self) -> list[int]:
        """(d,) parameters by importance, the mean over the levels, highest first; as in all pictures."""
        return np.argsort(-np.nan_to_num(self.mean).mean(axis=0), kind="stable").tolist()


def numbers(result: ImportanceResult) -> Numbers:
    """Of several seeds means and standard errors; of one the intervals of ``result.uncertainty``, if any."""
    mean, error = (np.asarray(x, np.float64) for x in result.over_seeds())
    defined = result.by_seed(result.is_defined).any(axis=0)
    mean, blank = np.where(defined, mean, np.nan), np.full(mean.shape, np.nan)
    bits = (int(bit) * (result.share_of_seeds(bit) >= MOST_SEEDS) for bit in Status if bit)
    status = np.asarray(sum(bits), np.int64)
    sampled, interval = result.uncertainty, ""
    shown = {"low": blank, "high": blank, "p": np.full(mean.shape, "–"), "top": blank, "first": blank}
    shown |= {"stability": blank[:, 0], "verdicts": np.full(len(mean), "")}
    if result.n_seeds > 1:
        interval = f"± standard error of {result.n_seeds} seeds"
        shown |= {"low": mean - error, "high": mean + error}
    elif sampled is not None:
        interval = f"{100 * sampled.level:g} % interval" * (sampled.n_resamples > 0)
        low, high = np.moveaxis(result.by_seed(sampled.importance_interval)[0], -1, 0)
        shown |= {"low": np.where(defined, low, np.nan), "high": np.where(defined, high, np.nan)}
        p = texts_or_dash(partial(p_text, n_draws=sampled.n_shuffles), sampled.p_value, sampled.p_adjusted)
        by_name = {"p": p, "top": sampled.top(TOP), "first": sampled.top()}
        by_name |= {"stability": sampled.rank_stability}
        shown |= {name: result.by_seed(x)[0] for name, x in by_name.items()}
        if interval:
            shown |= {"verdicts": np.array(sampled.verdicts(), dtype=object)}
    chance = status & int(Status.NOT_ABOVE_CHANCE) != 0
    tested = sampled is not None and sampled.n_shuffles > 0
    if sampled is not None and tested:
        # Parameters that count as 0 by their status are not compared; Optuna's estimator compares them.
        apart = (status & int(NOT_COMPARED | NO_LEVEL) != 0) & ~(np.nan_to_num(mean) > 0)
        chance = (result.mean_over_seeds(sampled.above_chance) < MOST_SEEDS) & ~apart
    # What is not above chance is no candidate for the most important ones, and has no standard error.
    left_out = ("low", "high", "top") if result.n_seeds > 1 else ("top",)
    shown |= {name: np.where(chance, np.nan, shown[name]) for name in left_out}
    shown |= {"mean": mean, "chance": chance, "status": status}
    order = np.argsort(result.target_quantile, kind="stable")
    levels = np.asarray(result.target_quantile[order], np.float64)
    default = order.tolist().index(result.usual_level)
    by_level = {name: x[order] for name, x in shown.items()}
    return Numbers(order, levels, default, interval, tested, **by_level)


def texts_or_dash(text: Callable[..., str], *arrays: np.ndarray) -> np.ndarray:
    """``text`` of the numbers of each entry, a dash where they are not all finite."""
    return np.vectorize(lambda *x: text(*x) if np.isfinite(x).all() else "–", otypes=[object])(*arrays)


def rounded(x: np.ndarray) -> Any:
    """Nested lists for JSON: numbers with four decimals, None for NaN."""
    return np.where(np.isfinite(x), np.round(np.float64(x), _DECIMALS), np.array(None)).tolist()
