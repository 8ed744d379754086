"""Evidence from names: whether a column holds an identity, a state, a time or a result."""

import re
from collections.abc import Sequence

import numpy as np

from parzax.lens._words import word_set

RESULT = "a result, by its name"
# Last words in the names of results. Digits at the end of a word matter only in the words listed here.
_RESULTS = word_set("""
    loss losses nll acc accuracy auc auroc auprc aupr ap map f1 rmse mse mae mape smape mase msle rmsle crps
    r2 r² err error errors score scores reward rewards rew return returns perplexity ppl bleu rouge meteor
    cider chrf wer cer psnr ssim lpips fid pesq iou miou dice jaccard recall sensitivity specificity correct
    incorrect metric metrics objective fitness regret logloss xent crossentropy elbo likelihood loglikelihood
    aic bic brier ece mcc kappa ndcg mrr hits top pearson pearsonr spearman spearmanr correlation divergence
    silhouette hypervolume flops gflops flos macs throughput utilization sharpe drawdown pnl
""")
# Words that may follow or precede the words above: a data set, or how several numbers were reduced to one.
_OF_WHAT = word_set("""
    train training val valid validation test eval dev mean std sem avg best final last min max median macro
    micro weighted ovr ovo overall at top epoch step
""")
# Pairs of last words in the names of results; the second word alone may end the name of a setting.
_PAIRS = frozenset((
    "cross entropy", "grad norm", "gradient norm", "explained variance", "exact match", "model memory",
    "peak memory", "gpu memory", "success rate", "win rate", "hit rate", "error rate", "failure rate",
    "positive rate", "negative rate", "global step",
    "auc pr", "pearson r", "spearman r", "rouge l", "rouge lsum",
))  # fmt: skip
_LIMITS = word_set("max clip clipping")
_SECONDS = word_set("s sec second seconds")
_LENGTHS = word_set("epoch epochs step steps iterations iters rounds trees")
_COMPLETED = word_set("run ran trained taken done seen")
# First words in the names of results. The names of settings that also begin with them are listed below.
_DATA_SETS = word_set("val valid validation test eval dev holdout")
_SETTINGS = word_set("""
    size fraction frac split splits batch batches ratio every interval freq frequency step steps set sets
    epoch epochs n num seed fold folds strategy mode path file data dataset loader workers patience delay
    percent percentage pct portion proportion share period iter iters iterations episodes env envs temperature
    method transform augmentation aug crop crops resize resolution scale scales prob probability threshold
    weight timeout len length tokens beams days subset accumulation on before after during rate k p samples
""")
# Words next to "params" in the names of model sizes.
_SIZES = word_set("n num number no nr of total count trainable model m million millions size")
_PARAMETERS = word_set("param params parameters")
_TIMES = word_set("runtime walltime clock duration elapsed timestamp latency time datetime date")
_MOMENTS = word_set("created started updated submitted finished completed ended")
_UNITS = word_set("s sec secs second seconds ms min mins minute minutes h hour hours")
_OF_TIMES = _UNITS | word_set("total iter start end taken spent this at")
_PROCESSORS = word_set("gpu cpu wall node core compute")
_IDENTITIES = word_set("id uuid guid pid hostname host url logdir commit ip hash sha")
# Words before "name" in columns that identify a row; "model_name" may be a parameter.
_NAMED = word_set("run trial experiment exp job")
_NUMBERED = _NAMED | word_set("row number no nr num index idx counter")
_STATES = word_set("state status outcome")
# Words before "state"; "random_state" is a parameter.
_OF_STATES = _NAMED | word_set(
    "eval evaluation train training task worker exit end final result search process st"
)
_ENDINGS = word_set("""
    success succeeded successful converged pruned failed crashed diverged completed finished done stopped
    feasible
""")
# Words in the names of objectives that are better if larger, or if smaller. "Score" may be either.
_MORE_IS_BETTER = word_set("""
    acc accuracy auc auroc auprc f1 reward rewards recall precision iou miou dice bleu r2 return returns ndcg
    mrr mcc psnr ssim success win
""")
_LESS_IS_BETTER = word_set("""
    loss losses nll logloss xent crossentropy err error errors rmse mse mae mape smape mase msle rmsle crps
    perplexity ppl wer cer fid lpips regret brier ece cost costs
""")
_NEGATED = word_set("neg negative minus inverse 1")
# Words in the names of numbers that say how much results differ, or in which order they stand.
_OF_RESULTS = word_set("std stdev stderr sem var variance rank ranking")
# A setting may have few values, a result hardly ever.
_FEW_VALUES = 5


def why_by_name(name: str, numbers: np.ndarray | None) -> str:
    """Why a column is not a parameter, by its name; "" if the name does not speak against it.

    Args:
        name: the column's name.
        numbers: (n,) the column as numbers; None for labels, which are never results or times.
    """
    words = split_words(name)
    # A path is text; drop_path is a rate.
    if _is_identity(words) or (words[-1] == "path" and numbers is None):
        return "an identity, by its name"
    if sounds_like_state(name):
        return "a state, by its name"
    if numbers is None:
        return ""
    if _is_time(words):
        return "a time, by its name"
    of_part = _begins_with_data_set(words) and (len(np.unique(numbers)) >= _FEW_VALUES or len(numbers) < 20)
    # Whole numbers of bits or epochs are settings.
    inexact = _last_words(words)[-1] in ("precision", "epoch") and (np.nan_to_num(numbers) % 1).any()
    by_product = counts_parameters(name) or _is_by_product(words)
    return RESULT if _ends_as_result(words) or of_part or inexact or by_product else ""


def direction_by_name(name: str) -> str:
    """ "minimize" or "maximize" if the name of an objective says which; else ""."""
    words = {*split_words(name)}
    more, less = (not words.isdisjoint(said) for said in (_MORE_IS_BETTER, _LESS_IS_BETTER))
    sure = more != less and words.isdisjoint(_NEGATED)
    return ("maximize" if more else "minimize") * sure


def may_be_objective(name: str) -> bool:
    """Whether a result with this name may be an objective: it is no time, state, identity, size or rank."""
    words = split_words(name)
    aside = _is_identity(words) or _is_time(words) or sounds_like_state(name) or counts_parameters(name)
    by_product = _is_by_product(words) and not _ends_as_result(words)
    return not aside and not by_product and _OF_RESULTS.isdisjoint(words) and not _UNITS.issuperset(words)


def sounds_like_result(name: str) -> bool:
    """Whether the name of a column says that it measures how good a run is."""
    words = split_words(name)
    return _ends_as_result(words) or _begins_with_data_set(words)


def sounds_like_state(name: str) -> bool:
    """Whether the name of a column says that it tells how a run ended."""
    words = split_words(name)
    named = words[-1] == "status" or (words[-1] in _STATES and _OF_STATES.issuperset(words[:-1]))
    code = words[-2:] in (["exit", "code"], ["return", "code"])
    return named or code or words[-1] in _ENDINGS or words == ["is", "best"]


def counts_parameters(name: str) -> bool:
    """Whether the name of a column says that it is the size of a model, such as params_total."""
    words = set(split_words(name))
    return len(words) > 1 and not words.isdisjoint(_PARAMETERS) and words - _PARAMETERS <= _SIZES


def split_words(name: str) -> list[str]:
    """The words of a name in small letters, at least one; capitals begin words, but not in val/mIoU."""
    spaced = re.sub(r"(?<=[a-z0-9]{2})(?=[A-Z])|(?<=\d)(?=[A-Z][a-z])", " ", name.replace("^", "")).lower()
    return [word for word in re.split(r"[\W_]+", spaced) if word] or [""]


def _is_identity(words: Sequence[str]) -> bool:
    named = words[-1] == "name" and not _NAMED.isdisjoint(words)
    return words[-1] in _IDENTITIES or named or _NUMBERED.issuperset(words)


def _is_time(words: Sequence[str]) -> bool:
    # The time per epoch is a time; the number of steps per second is not.
    counted = words[: words.index("per")] if "per" in words[1:] else words
    bare = [word for word in counted if word not in _OF_TIMES] or counted
    of_processor = words[-1] in _UNITS and not _PROCESSORS.isdisjoint(words)
    alone = words in (["sec"], ["secs"], ["seconds"], ["minutes"], ["mins"])
    at_end = words[-1] == "at" and not _ENDINGS.isdisjoint(words[-2:-1])
    return (
        bare[-1] in _TIMES | _MOMENTS
        or of_processor
        or alone
        or at_end
        or (counted != words and counted[-1] in _UNITS)
    )


def _last_words(words: Sequence[str]) -> Sequence[str]:
    """The words without digits at their ends, and without words for a data set or a reduction."""
    bare = [word if word in _RESULTS else word.rstrip("0123456789") for word in words]
    return [word for word in bare if word and word not in _OF_WHAT] or [word for word in bare if word] or [""]


def _ends_as_result(words: Sequence[str]) -> bool:
    # Only the end of a name counts: loss_weight and score_threshold are settings.
    end = _last_words(words)
    pair = " ".join(words[-2:]) in _PAIRS or " ".join(end[-2:]) in _PAIRS
    return end[-1] in _RESULTS or (pair and _LIMITS.isdisjoint(words))


def _begins_with_data_set(words: Sequence[str]) -> bool:
    """Whether a name denotes a result on some data, such as val/xyz; val_batch_size is a setting."""
    return words[0] in _DATA_SETS and len(words) > 1 and _SETTINGS.isdisjoint(words)


def _is_by_product(words: Sequence[str]) -> bool:
    """Whether a name denotes a number that is known only after a run, such as its best epoch or its speed."""
    best = words[0] in ("best", "stopped") and len(words) > 1 and words[1] != "of"
    speed = words[-2:-1] == ["per"] and words[-1] in _SECONDS
    return best or speed or (words[0] in _LENGTHS and words[-1] in _COMPLETED)
