"""Which columns of an unmarked table are not parameters, by their names and their values."""

import re
from collections.abc import Sequence

import numpy as np

# Words that end the names of results of a run.
_RESULTS = frozenset((
    "loss", "losses", "nll", "acc", "accuracy", "auc", "auroc", "auprc", "map", "f1", "rmse", "mse", "mae",
    "mape", "r2", "err", "error", "errors", "score", "scores", "reward", "rewards", "return", "returns",
    "perplexity", "ppl", "bleu", "rouge", "iou", "dice", "recall", "sensitivity", "specificity", "correct",
    "incorrect", "metric", "metrics", "objective", "fitness", "regret",
))  # fmt: skip
# Words that may follow these: the data set, or how several numbers were reduced to one.
_OF_WHAT = frozenset((
    "train", "training", "val", "valid", "validation", "test", "eval", "dev", "mean", "std", "avg", "best",
    "final", "last", "min", "max", "median",
))  # fmt: skip
_TIMES = frozenset((
    "runtime", "walltime", "duration", "elapsed", "timestamp", "latency", "time", "datetime", "date",
))  # fmt: skip
_UNITS = frozenset((
    "s", "sec", "secs", "seconds", "ms", "minutes", "h", "hours", "total", "iter", "start", "end",
))  # fmt: skip
_IDENTITIES = frozenset((
    "id", "uuid", "guid", "pid", "hostname", "host", "url", "path", "logdir", "commit", "ip",
))  # fmt: skip
# Words before "name" in columns that identify a row; "model_name" may be a parameter.
_NAMED = frozenset(("run", "trial", "experiment", "exp", "job"))
# Words in the names of objectives that are better if larger.
_MORE_IS_BETTER = frozenset((
    "acc", "accuracy", "auc", "auroc", "f1", "score", "reward", "recall", "precision", "iou", "dice", "bleu",
    "r2", "return",
))  # fmt: skip
# With fewer rows, or fewer different values, two columns may have the same order by chance.
_LEAST_ROWS, _LEAST_VALUES = 20, 5
# A longer log is first compared on about this many rows.
_PART = 4096
# From this rank correlation with the objective on, a column may be a result.
DOUBTFUL = 0.98


def why_no_parameter(name: str, numbers: np.ndarray | None, losses: np.ndarray) -> str:
    """Why a column is not a parameter; "" if nothing speaks against it.

    Args:
        name: the column's name.
        numbers: (n,) the column as numbers; None for labels.
        losses: (n, m) the objectives, NaN in rows that are not used.
    """
    words = _words(name)
    if words[-1] in _IDENTITIES or (words[-1] == "name" and not _NAMED.isdisjoint(words)):
        return "an identity, by its name"
    if numbers is None:
        return ""
    named = [word for word in words if word not in _OF_WHAT] or words
    # Only the last word of a name counts: loss_weight and score_threshold are settings.
    if named[-1] in _RESULTS or (named[-1] == "precision" and (np.nan_to_num(numbers) % 1).any()):
        return "a result, by its name"
    if ([word for word in words if word not in _UNITS] or words)[-1] in _TIMES:
        return "a time, by its name"
    if _counts_rows(numbers):
        return "a counter of the rows"
    if any(_is_function(numbers, loss) for loss in losses.T):
        return "an exact function of the objective"
    return ""


def order_as(numbers: np.ndarray, losses: np.ndarray) -> float:
    """Largest absolute Spearman rank correlation of a column (n,) with any of the objectives (n, m)."""
    return max((_order_as(*_both(numbers, loss)) for loss in losses.T), default=0.0)


def _order_as(x: np.ndarray, loss: np.ndarray) -> float:
    if not _speaks(x, loss):
        return 0.0
    # A part of a long log shows whether sorting all of it is worth the time.
    part = slice(None, None, max(len(x) // _PART, 1))
    likeness = _correlation(_ranks(x[part]), _ranks(loss[part]))
    doubtful = likeness > DOUBTFUL - 0.02 and len(x) > len(x[part])
    return _correlation(_ranks(x), _ranks(loss)) if doubtful else likeness


def order_of_rows(numbers: np.ndarray) -> bytes | None:
    """The order of the rows by a column (n,); a column and its negative have the same order.

    None for a constant column, and for few rows, where two columns may have the same order by chance.
    """
    present = np.isfinite(numbers)
    if present.sum() < _LEAST_ROWS or np.ptp(numbers[present]) == 0:
        return None
    place = np.zeros(len(numbers), int)
    place[present] = np.unique(numbers[present], return_inverse=True)[1] + 1
    reversed_place = np.where(present, place.max() + 1 - place, 0)
    return min(place.tobytes(), reversed_place.tobytes())


def more_is_better(name: str) -> bool:
    """Whether the name of an objective says that larger is better."""
    return not _MORE_IS_BETTER.isdisjoint(_words(name))


def sounds_like_result(name: str) -> bool:
    """Whether the name of a column says that it holds results."""
    words = [word for word in _words(name) if word not in _OF_WHAT]
    return bool(words) and words[-1] in _RESULTS


def _words(name: str) -> Sequence[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return [word for word in re.split(r"[^a-z0-9]+", spaced) if word] or [""]


def _counts_rows(numbers: np.ndarray) -> bool:
    """Whether the numbers are n consecutive integers, each once."""
    n = len(numbers)
    # A cheap test first: numbers without a gap span n - 1.
    if n < _LEAST_VALUES or not np.isfinite(numbers).all() or np.ptp(numbers) != n - 1:
        return False
    return bool((np.diff(np.sort(numbers)) == 1).all() and numbers.min() == np.floor(numbers.min()))


def _is_function(numbers: np.ndarray, loss: np.ndarray) -> bool:
    """Whether a column is a + b * loss, or the rank of the loss, in all rows where both are finite."""
    x, y = _both(numbers, loss)
    part = slice(None, None, max(len(x) // _PART, 1))
    if not _speaks(x, y) or _correlation(_ranks(x[part]), _ranks(y[part])) < 1 - 1e-3:
        return False
    kinds = (y, *(_ranks(sign * y, kind) for sign in (1, -1) for kind in ("min", "max", "dense")))
    return any(_correlation(x, kind) > 1 - 1e-9 for kind in kinds)


def _both(numbers: np.ndarray, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers and the losses of the rows where both are finite."""
    rows = np.isfinite(numbers) & np.isfinite(loss)
    return numbers[rows], loss[rows]


def _speaks(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether there are enough rows and different values that a common order cannot be chance."""
    different = len(np.unique(x[:_PART])) >= _LEAST_VALUES and len(np.unique(y[:_PART])) >= _LEAST_VALUES
    return len(x) >= _LEAST_ROWS and different


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    return abs(float(np.corrcoef(x, y)[0, 1])) if np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0


def _ranks(x: np.ndarray, kind: str = "average") -> np.ndarray:
    """Ranks from 1; ``kind`` says how equal values are ranked, as in `scipy.stats.rankdata`."""
    _, value, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = {"min": last - counts + 1, "max": last, "dense": np.arange(1, len(counts) + 1)}
    return ranks.get(kind, last - (counts - 1) / 2)[value]
