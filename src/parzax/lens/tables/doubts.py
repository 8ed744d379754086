"""Columns that may not be parameters: one error lists them, with a command to copy that has the best guess.

Names and values of columns decide only whether to ask the user, and what to suggest.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from parzax.lens._rows import number_rows
from parzax.lens._words import listed, split_words
from parzax.lens.tables.formats import counts_parameters
from parzax.lens.tables.table import Table

# --- the error -----------------------------------------------------------------------------------


class DoubtError(ValueError):
    """It is not certain what the columns of a table are.

    Attributes:
        doubts: a few words on each doubt.
        guess: arguments of `parzax.Observations.from_dataframe` that remove the doubts.
    """

    def __init__(self, doubts: Sequence[str], guess: Mapping[str, Any], call: str) -> None:
        self.doubts, self.guess = tuple(doubts), dict(guess)
        super().__init__(self.ask(call))

    def ask(self, call: str) -> str:
        """All doubts, and a call or command to copy that removes them."""
        reasons = f"The table does not say what its columns are: {'; '.join(self.doubts)}."
        return f"{reasons} If this guess is right, copy it; else change it: {call}"

    def command(self, words: Sequence[str]) -> str:
        """The command with these words, and the options of the guess."""
        options = {"directions": "direction"}
        extra: list[str] = []
        for name, value in self.guess.items():
            values = [value] if isinstance(value, str) else list(value)
            extra += [f"--{options.get(name, name)}", *values]
        return shlex.join(["parzax", *words, *extra])


def python_call(function: str, source: Any, arguments: Mapping[str, Any]) -> str:
    """A call of Python to copy; only arguments that are text or numbers are shown."""
    first = repr(str(source)) if isinstance(source, str) or hasattr(source, "__fspath__") else "df"
    shown = {name: list(x) if isinstance(x, tuple) else x for name, x in arguments.items()}
    texts = [f"{name}={x!r}" for name, x in shown.items() if isinstance(x, (str, list, bool, int, float))]
    return f"px.Observations.{function}({', '.join([first, *texts])})"


# --- names ---------------------------------------------------------------------------------------


def _alternatives(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


# Better if larger, and better if smaller.
_MORE = _alternatives("""
    acc accuracy auc auroc auprc f1 rew rewards? recall precision iou miou dice bleu r2 returns? ndcg mrr mcc
    psnr ssim success win
""")
_LESS = _alternatives("""
    loss losses nll logloss xent crossentropy err errors? rmse mse mae mape smape mase msle rmsle crps
    perplexity ppl wer cer fid lpips regret brier ece costs?
""")
_OTHER_RESULTS = _alternatives("""
    aupr ap map r² scores? rouge meteor cider chrf pesq jaccard sensitivity specificity correct incorrect
    metric objective fitness elbo likelihood loglikelihood aic bic kappa hits top pearsonr? spearmanr?
    correlation divergence silhouette hypervolume g?flops flos macs throughput utilization sharpe drawdown pnl
    drop gap improvement savings reduction run ran taken trained seen
""")
# Two words of which the second alone may end the name of a setting.
_PAIRS = (
    "cross entropy|(?<!max )(?<!clip )(?:grad|gradient) norm|explained variance|exact match"
    "|(?:model|peak|gpu) memory|(?:success|win|hit|error|failure|positive|negative) rate|global step|auc pr"
    "|(?:pearson|spearman) r|rouge l(?:sum)?"
)
# What may follow the words above: a data set, or how several numbers were reduced to one.
_OF_WHAT = _alternatives(r"""
    train training val valid validation test eval dev mean std sem avg best final last min max median macro
    micro weighted ovr ovo overall at top epoch step score rate \d+
""")
# A result of some data set, such as val/xyz, but not val_fraction; and what is known only after a run.
_OF_DATA = re.compile(
    r"(?:val|valid|validation|test|eval|dev|holdout) (?!.*\b(?:fraction|frac|split|ratio|percent|percentage"
    r"|pct|portion|proportion|share|interval|period|temperature|prob|probability|threshold|scale|weight|time"
    r"|p|k)\b).+"
)
_AFTER_RUN = r"(?:best|stopped) (?!of\b).*|.* per (?:s|secs?|seconds?)"
_RESULT = re.compile(
    rf"(?:.* )?(?:(?:{_MORE}|{_LESS}|{_OTHER_RESULTS})\d*|{_PAIRS})(?: {_OF_WHAT})*|{_AFTER_RUN}"
)
_UNIT = "(?:s|ms|secs?|seconds?|mins?|minutes?|h|hours?)"
_TIME = re.compile(
    "(?:.* )?(?:runtime|walltime|clock|duration|elapsed|timestamp|latency|time|datetime|date|created|started"
    rf"|updated|submitted|finished|completed|ended|converged)(?: (?:{_UNIT}|total|iter|start|end|taken|spent"
    rf"|this|at|per .*))*|(?:.* )?(?:gpu|cpu|wall|node|core|compute) {_UNIT}|{_UNIT} per .*"
    "|secs?|seconds|mins|minutes"
)
_NUMBERED = "(?:run|trial|experiment|exp|job|row|number|no|nr|num|index|idx|counter)"
_IDENTITY = re.compile(
    r"(?:.* )?(?:id|uuid|guid|pid|hostname|host|url|logdir|commit|ip|hash|sha)"
    rf"|(?:.* )?(?:run|trial|experiment|exp|job)\b.* name|{_NUMBERED}(?: {_NUMBERED})*"
)
_TRIAL = re.compile(
    "(?:.* )?(?:trial|run|job|arm|config(?:uration)? id)(?: (?:id|number|num|no|index|idx|uuid))?|t?id"
)
# "State" alone or behind one of these words; "random_state" is a parameter.
_STATE = re.compile(
    r"(?:(?:run|trial|experiment|exp|job|eval|evaluation|train|training|task|worker|exit|end|final|result"
    r"|search|process|st) )*(?:state|outcome)|.*\bstatus|.*\b(?:exit|return) code|is best"
    r"|.*\b(?:success|succeeded|successful|converged|pruned|failed|crashed|diverged|completed|finished|done"
    r"|stopped|feasible)"
)
_REPEAT = re.compile("(?:cv |data )?(?:fold|repeat|rep|replicate|replication)|(?:random )?seed")
_STEP = re.compile(
    "(?:.* )?(?<!per )(?:(?:train|training|val|global|current|trainer) )*(?:epoch|iteration|round|budget"
    "|fidelity)|(?:(?:global|trainer|train|training|current) )*(?:step|iter)"
)


# What a name says, in the order in which it is asked; labels are never times or results.
_REASONS = {
    "an identity": _IDENTITY,
    "a state": _STATE,
    "a fold or a seed": _REPEAT,
    "a time": _TIME,
    "a result": _RESULT,
    "a counter of steps": _STEP,
}


def why_by_name(name: str, numbers: np.ndarray | None) -> str:
    """What a column is by its name, if not a parameter; "" if the name says nothing.

    ``numbers`` (n,) is the column as numbers; None for labels.
    """
    why = next((why for why, pattern in _REASONS.items() if _fits(pattern, name)), "")
    if numbers is None:
        return "" if why in ("a time", "a result") else why
    # Whole numbers of bits, or of rows of a data set, are settings.
    integral = not (np.nan_to_num(numbers, posinf=0, neginf=0) % 1).any()
    if integral and split_words(name)[0] == "precision":
        return ""
    return why or "a result" * (counts_parameters(name) or (not integral and _fits(_OF_DATA, name)))


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.fullmatch(" ".join(split_words(name))) is not None


def sounds_like_state(name: str) -> bool:
    """Whether the name of a column says that it tells how a run ended."""
    return _fits(_STATE, name)


def sounds_like_result(name: str) -> bool:
    """Whether the name of a column says that it measures how good or how large a run is."""
    return _fits(_RESULT, name) or counts_parameters(name)


def direction_by_name(name: str) -> str:
    """ "minimize" or "maximize" if the name of an objective ends with a word that says which.

    It is "unclear" if such a word stands elsewhere, beside its opposite or a negation; "" if there is none.

    >>> [direction_by_name(name) for name in ("val_loss", "test/accuracy", "accuracy_drop", "value")]
    ['minimize', 'maximize', 'unclear', '']
    """
    text = " ".join(split_words(name))
    more, less = (re.search(rf"\b{words}\d*\b", text) for words in (_MORE, _LESS))
    at_end = re.fullmatch(rf"(?:.* )?(?:{_MORE}|{_LESS})\d*(?: {_OF_WHAT})*", text)
    negated = re.search(r"\b(?:neg|negative|minus|inverse|1|std|sem)\b", text)
    if (more or less) and ((more and less) or negated or not at_end):
        return "unclear"
    return "maximize" if more else "minimize" if less else ""


# --- values --------------------------------------------------------------------------------------

# With fewer rows, or fewer different values, two columns may have the same order by chance.
_LEAST_ROWS, _LEAST_VALUES = 12, 5
# A longer log is judged by about this many rows.
_PART = 4096
# A column with at least this rank correlation with the objective may be a result.
_LIKE_OBJECTIVE = 0.95
# Choices repeat. If more than this share of a column's labels are different, they identify the rows.
_NEARLY_ALL = 0.8
# The rows of a trial are told only if different trials are at most this share of the rows.
_MOST_TRIALS = 0.9
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T_].*)?|\d\d?[./]\d\d?[./]\d{4}.*")


def _why_by_values(table: Table, name: str, numbers: np.ndarray | None, losses: np.ndarray) -> str:
    """What a column may be by its values, if not a parameter; "" if they say nothing."""
    if numbers is not None:
        return why_by_numbers(numbers, losses)
    column = table.columns[name].as_labels()
    n = int((column.index >= 0).sum())
    if column.labels and all(_DATE.fullmatch(str(label).strip()) for label in column.labels):
        return "a time"
    many = n >= _LEAST_ROWS and len(column.labels) > _NEARLY_ALL * n and not column.categories
    return "an identity" if many else ""


def why_by_numbers(numbers: np.ndarray, losses: np.ndarray) -> str:
    """What a column of numbers (n,) may be, if not a parameter; "" if they say nothing.

    ``losses`` are the objectives (n, m), NaN in rows that are not used. A column may be a result if its rank
    correlation with one of them is at least 0.95.
    """
    if _counts_rows(numbers):
        return "a counter of the rows"
    if _holds_times(numbers):
        return "a time"
    likeness = max((rank_correlation(numbers, loss) for loss in losses.T), default=0.0)
    return f"a result (rank correlation {likeness:.2f})" if likeness >= _LIKE_OBJECTIVE else ""


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Absolute Spearman correlation of two columns (n,); 0 if they are too short to tell."""
    rows = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    rows = rows[:: max(len(rows) // _PART, 1)]
    x, y = x[rows], y[rows]
    if len(rows) < _LEAST_ROWS or min(len(np.unique(x)), len(np.unique(y))) < _LEAST_VALUES:
        return 0.0
    return abs(float(np.corrcoef(_mean_ranks(x), _mean_ranks(y))[0, 1]))


def _mean_ranks(x: np.ndarray) -> np.ndarray:
    _, value, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[value]


def _counts_rows(numbers: np.ndarray) -> bool:
    """Whether a column may count the rows: different integers, consecutive, in order, or with few gaps."""
    n = len(numbers)
    integral = n >= _LEAST_VALUES and np.isfinite(numbers).all() and not (numbers % 1).any()
    if not integral or len(np.unique(numbers)) < n:
        return False
    in_order = abs(np.sign(np.diff(numbers)).sum()) == n - 1
    return np.ptp(numbers) == n - 1 or (n >= _LEAST_ROWS and (in_order or np.ptp(numbers) < 2 * n))


def _holds_times(numbers: np.ndarray) -> bool:
    """Whether the numbers are times since 1970 in seconds, or in thousandths of these and so on."""
    present = numbers[np.isfinite(numbers)]
    if len(present) < _LEAST_VALUES or len(np.unique(present)) <= len(present) / 2:
        return False
    low, high = present.min(), present.max()
    # The years 2001 to 2033. A parameter with such large values would span more of this range.
    return any(1e9 * unit <= low and high <= 2e9 * unit for unit in (1, 1e3, 1e6, 1e9)) and high < 1.1 * low


# --- doubts --------------------------------------------------------------------------------------


def find_doubts(
    table: Table,
    numbers: Mapping[str, np.ndarray | None],
    states: Sequence[str],
    losses: np.ndarray,
    trial: np.ndarray | None,
) -> tuple[dict[str, str], dict[str, str]]:
    """Which columns may not be parameters, and the columns that may name a trial or count its rows.

    Args:
        table: all columns except those to drop.
        numbers: the columns that would be parameters, as (n,) numbers; None for labels.
        states: columns that hold only words of states.
        losses: (n, m) objectives, NaN in rows that are not used.
        trial: (n,) number of each row's trial, if the rows of a trial are known.

    Returns:
        Dictionary column -> what it may be; dictionary "trial" or "step" -> its column.
    """
    labelled = {name: table.columns[name].as_labels() for name in numbers}
    codes = {name: column.index for name, column in labelled.items()}
    # A missing value counts as one more value.
    n_values = {name: len(x.labels) + bool((x.index < 0).any()) for name, x in labelled.items()}
    doubts: dict[str, str] = {}
    for name, column in numbers.items():
        if why := why_by_name(name, column):
            doubts[name] = f"{why}, by its name"
        elif why := "a state" if name in states else _why_by_values(table, name, column, losses):
            doubts[name] = f"{why}, by its values"
    alike: dict[bytes, list[str]] = {}
    for name, code in codes.items():
        alike.setdefault(_pattern(name, code, n_values[name], numbers[name]), []).append(name)
    repeating = [
        [name for name in names if _repeats(n_values[name], numbers[name])] for names in alike.values()
    ]
    repeats = max(repeating, key=len, default=[])
    repeats = repeats if len(repeats) > 1 else []
    group, rows, guess = trial, "a trial", {}
    if trial is None:
        group, rows, guess = _guess_trials(codes, n_values, numbers, doubts, repeats)
    if group is not None:
        changing = {name for name in codes if number_rows([group, codes[name]], table.n).max() > group.max()}
        doubts |= dict.fromkeys(changing - doubts.keys(), f"it changes within {rows}")
    for names in alike.values():
        first, *copies = [name for name in names if name not in doubts] or [""]
        doubts |= {name: f"it follows from {first!r}" for name in copies if name not in repeats}
    return {name: doubts[name] for name in codes if name in doubts}, guess


def _pattern(name: str, code: np.ndarray, n_values: int, column: np.ndarray | None) -> bytes:
    """A key that two columns share if one follows from the other.

    They have equal values in the same rows, if values repeat; or they order the rows in the same way.
    """
    if len(code) >= _LEAST_ROWS and 1 < n_values <= len(code) / 2:
        return code.tobytes()
    if len(code) < _LEAST_ROWS or column is None or n_values < _LEAST_VALUES:
        return name.encode()
    _, place = np.unique(column, return_inverse=True)
    return b"order" + min(place.tobytes(), (place.max() - place).tobytes())


def _repeats(n_values: int, column: np.ndarray | None) -> bool:
    """Whether a column has continuous values that repeat, as a setting has in the rows of its trial."""
    if column is None or not _LEAST_VALUES <= n_values <= len(column) / 2:
        return False
    return bool((np.nan_to_num(column, posinf=0, neginf=0) % 1).any())


def _guess_trials(
    codes: Mapping[str, np.ndarray],
    n_values: Mapping[str, int],
    numbers: Mapping[str, np.ndarray | None],
    doubts: Mapping[str, str],
    repeats: Sequence[str],
) -> tuple[np.ndarray | None, str, dict[str, str]]:
    """(n,) number of each row's trial, if rows share one; words for such rows; columns of trials and steps.

    Rows of a trial have the same entry in a column whose name says that it names trials, or equal settings,
    unless a column names each row as a trial.
    """
    n = max(map(len, codes.values()), default=0)
    trials = [c for c in codes if _fits(_TRIAL, c) and 1 < n_values[c] <= _MOST_TRIALS * n]
    named = [c for c in codes if n_values[c] == n and doubts.get(c, "").startswith("an identity")]
    if not trials and any(_fits(_TRIAL, c) or numbers[c] is None for c in named):
        return None, "", {}
    settings = trials[:1] or repeats or [c for c in codes if c not in doubts or _fits(_REPEAT, c)]
    group = number_rows([codes[name] for name in settings], n)
    counts = np.bincount(group)
    if not settings or len(counts) > _MOST_TRIALS * n:
        return None, "", {}
    # A column of steps tells the rows of a trial apart.
    apart = [c for c, code in codes.items() if number_rows([group, code], n).max() == n - 1]
    steps = [c for c in apart if _fits(_STEP, c) or (n_values[c] == counts.max() and not _fits(_REPEAT, c))]
    steps = [c for c in steps if _counts_steps(group, numbers[c])]
    guess = {"trial": trials[0]} if trials else {}
    guess |= {"step": steps[0]} if steps else {}
    return group, "a trial" if trials else f"rows of equal {listed(settings, 3)}", guess


def _counts_steps(group: np.ndarray, numbers: np.ndarray | None) -> bool:
    """Whether numbers start alike in most groups of rows, or mostly go up by the same step within them."""
    if numbers is None:
        return False
    order = np.lexsort((numbers, group))
    is_first = np.diff(group[order], prepend=-1) > 0
    starts, steps = numbers[order][is_first], np.diff(numbers[order])[~is_first[1:]]
    return any(np.unique(x, return_counts=True)[1].max() > len(x) / 2 for x in (starts, steps) if len(x))


# Columns that count the steps of a run, not the trials of a search.
_COURSE = re.compile(r"(?:.*[._/])?(?:_step|epoch|global_step|training_iteration)")


def why_no_trials(table: Table) -> str:
    """Why the rows of a table may not be trials: they are metrics of trials, or steps of one run; else ""."""
    if {"metric_name", "mean"} <= {*table.columns}:
        return "a row may be a metric of a trial ('metric_name'), and not a trial"
    for name in filter(_COURSE.fullmatch, table.columns):
        with suppress(ValueError):  # raised for text that is no number
            numbers = table.columns[name].as_numbers()
            if len(numbers) >= _LEAST_ROWS and (np.diff(numbers) > 0).all():
                return f"the rows may be the course of a single run: {name!r} increases from row to row"
    return ""
