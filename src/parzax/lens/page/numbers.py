"""The numbers of a page: importances, intervals and tests by level and parameter, averaged over seeds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from parzax.lens.results import ImportanceResult
from parzax.lens.results.base import MOST_SEEDS
from parzax.lens.results.phrases import p_text
from parzax.status import NOT_COMPARED, Status

TOP = 3  # "among the three most important"
_DECIMALS = 4
# At a level with one of these statuses no parameters are compared.
NO_LEVEL = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS


@dataclass(frozen=True)
class Numbers:
    """Numbers and texts that a page shows, levels ascending; NaN, "–" or "" if there is nothing to show."""

    order: np.ndarray  # (q,) index of each level in the result
    levels: np.ndarray  # (q,) target quantiles
    default: int  # index of the level at which the page opens: the result's usual level
    interval: str  # description of the intervals, "" without intervals
    # whether ``chance`` comes from permutation tests; else from the sign of the debiased variance
    tested: bool
    mean: np.ndarray  # (q, d) importance
    low: np.ndarray  # (q, d) ends of the interval of the importance
    high: np.ndarray
    p: np.ndarray  # (q, d) texts of p-values against chance, adjusted for the number of parameters
    top: np.ndarray  # (q, d) probability of being among the `TOP` most important ones
    first: np.ndarray  # (q, d) probability of being the most important one
    chance: np.ndarray  # (q, d) whether the parameter is not above chance; False if nothing was compared
    status: np.ndarray  # (q, d) bits that are set in most seeds
    stability: np.ndarray  # (q,) how well the ranking of resamples agrees with that of the log
    verdicts: np.ndarray  # (q,) sentences that say whether there are enough rows

    @property
    def rough(self) -> np.ndarray:
        """(q,) whether a level has only a few rows in the target, or outside it."""
        return np.asarray((self.status & int(Status.LOW_DATA) != 0).any(axis=1))

    @property
    def pale(self) -> np.ndarray:
        """(q, d) entries drawn without colour: not above chance, 0, or not known."""
        return np.asarray(self.chance | ~(np.nan_to_num(self.mean) > 0))

    @property
    def unsure(self) -> np.ndarray:
        """(q, d) what is above chance, but rests on few rows in a regime, so that it may be far off."""
        return np.asarray(~self.chance & (self.status & int(Status.LOW_REGIME_DATA) != 0))

    @property
    def ranking(self) -> list[int]:
        """(d,) parameters by mean importance over the levels, highest first: their order in all pictures."""
        return np.argsort(-np.nan_to_num(self.mean).mean(axis=0), kind="stable").tolist()


def numbers(result: ImportanceResult) -> Numbers:
    """Numbers of a result: mean ± standard error of several seeds, or one log's intervals if it has them."""
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
        # Parameters whose status sets their importance to 0 are not compared. Optuna's estimator gives some
        # of them more than 0; these are compared.
        apart = (status & int(NOT_COMPARED | NO_LEVEL) != 0) & ~(np.nan_to_num(mean) > 0)
        chance = (result.mean_over_seeds(sampled.above_chance) < MOST_SEEDS) & ~apart
    # A parameter not above chance is no candidate for the most important ones, and gets no standard error.
    left_out = ("low", "high", "top") if result.n_seeds > 1 else ("top",)
    shown |= {name: np.where(chance, np.nan, shown[name]) for name in left_out}
    shown |= {"mean": mean, "chance": chance, "status": status}
    order = np.argsort(result.target_quantile, kind="stable")
    levels = np.asarray(result.target_quantile[order], np.float64)
    default = order.tolist().index(result.usual_level)
    by_level = {name: x[order] for name, x in shown.items()}
    return Numbers(order, levels, default, interval, tested, **by_level)


def texts_or_dash(text: Callable[..., str], *arrays: np.ndarray) -> np.ndarray:
    """Apply ``text`` to the entries of ``arrays``; a dash if one of the numbers is not finite."""
    return np.vectorize(lambda *x: text(*x) if np.isfinite(x).all() else "–", otypes=[object])(*arrays)


def rounded(x: np.ndarray) -> Any:
    """Turn an array into nested lists for JSON: numbers with four decimals, None for NaN."""
    return np.where(np.isfinite(x), np.round(np.float64(x), _DECIMALS), np.array(None)).tolist()
