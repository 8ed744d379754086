"""What the name of a column suggests: an identity, a state, a time, a result, a counter, or a direction.

A name never decides alone: `parzax.lens.tables.doubts` asks.
"""

import re
from collections.abc import Sequence

import numpy as np

from parzax.lens._words import word_set

# Last words in the names of results. Digits at the end of a word matter only in the words listed here.
_RESULTS = word_set("""
    loss losses nll acc accuracy auc auroc auprc aupr ap map f1 rmse mse mae mape smape mase msle rmsle crps
    r2 r² err error errors score scores reward rewards rew return returns perplexity ppl bleu rouge meteor
    cider chrf wer cer psnr ssim lpips fid pesq iou miou dice jaccard recall sensitivity specificity correct
    incorrect metric metrics objective fitness regret logloss xent crossentropy elbo likelihood loglikelihood
    aic bic brier ece mcc kappa ndcg mrr hits top pearson pearsonr spearman spearmanr correlation divergence
    silhouette hypervolume flops gflops flos macs throughput utilization sharpe drawdown pnl
    cost drop gap improvement savings reduction
""")
# Words that may follow or precede the words above: a data set, or how several numbers were reduced to one.
_OF_WHAT = word_set("""
    train training val valid validation test eval dev mean std sem avg best final last min max median macro
    micro weighted ovr ovo overall at top epoch step
""")
# Pairs of last words in the names of results; the second word alone may end the name of a setting.
_PAIRS = re.compile(
    "cross entropy|(?:grad|gradient) norm|explained variance|exact match|(?:model|peak|gpu) memory"
    "|(?:success|win|hit|error|failure|positive|negative) rate|global step|auc pr|(?:pearson|spearman) r"
    "|rouge l(?:sum)?"
)
_LIMITS = word_set("max clip clipping")
# First words in the names of results. The names of settings that also begin with them are listed below.
_DATA_SETS = word_set("val valid validation test eval dev holdout")
_SETTINGS = word_set("""
    size fraction frac split splits batch batches ratio every interval freq frequency step steps set sets
    epoch epochs n num seed fold folds strategy mode path file data dataset loader workers patience delay
    percent percentage pct portion proportion share period iter iters iterations episodes env envs temperature
    method transform augmentation aug crop crops resize resolution scale scales prob probability threshold
    weight timeout len length tokens beams days subset accumulation on before after during rate k p samples
""")
# Numbers that are known only after a run: its best epoch, its length, its speed.
_BY_PRODUCT = re.compile(
    r"(?:best|stopped) (?!of\b).*|.*\bper (?:s|sec|seconds?)"
    r"|(?:epochs?|steps?|iters?|iterations|rounds|trees)\b.* (?:run|ran|trained|taken|done|seen)"
)
# Words next to "params" in the names of model sizes.
_SIZES = word_set("n num number no nr of total count trainable model m million millions size")
_PARAMETERS = word_set("param params parameters")
_TIMES = word_set("""
    runtime walltime clock duration elapsed timestamp latency time datetime date created started updated
    submitted finished completed ended
""")
_UNITS = word_set("s sec secs second seconds ms min mins minute minutes h hour hours")
_OF_TIMES = _UNITS | word_set("total iter start end taken spent this at")
_PROCESSORS = word_set("gpu cpu wall node core compute")
_SECONDS = re.compile("secs?|seconds|minutes|mins")
_IDENTITIES = word_set("id uuid guid pid hostname host url logdir commit ip hash sha")
# Words before "name" in columns that identify a row; "model_name" may be a parameter.
_NAMED = word_set("run trial experiment exp job")
_NUMBERED = _NAMED | word_set("row number no nr num index idx counter")
# "State" alone or behind one of these words; "random_state" is a parameter.
_STATES = re.compile(
    r"(?:(?:run|trial|experiment|exp|job|eval|evaluation|train|training|task|worker|exit|end|final|result"
    r"|search|process|st) )*(?:state|outcome)|.*\bstatus|.*\b(?:exit|return) code|is best"
    r"|.*\b(?:success|succeeded|successful|converged|pruned|failed|crashed|diverged|completed|finished|done"
    r"|stopped|feasible)"
)
_STEPS = re.compile(
    r"(?:.* )?(?:(?:train|training|val|global|current|trainer) )*(?:epoch|iteration|round|budget|fidelity)"
    r"|(?:(?:global|trainer|train|training|current) )*(?:step|iter)"
)
_REPEATS = re.compile("(?:cv |data )?(?:fold|repeat|rep|replicate|replication)|(?:random )?seed")
_TRIALS = re.compile(
    "(?:.* )?(?:trial|run|job|arm|config(?:uration)? id)(?: (?:id|number|num|no|index|idx|uuid))?|t?id"
)
# Words of objectives that are better if larger, or if smaller. "Score" may be either.
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
    """What the name of a column says that it is, instead of a parameter; "" if nothing.

    Args:
        name: the column's name.
        numbers: (n,) the column as numbers; None for labels, which are never results or times.
    """
    words = split_words(name)
    # A path is text; drop_path is a rate.
    if _is_identity(words) or (words[-1] == "path" and numbers is None):
        return "an identity"
    if sounds_like_state(name):
        return "a state"
    if names_repeats(name):
        return "a fold or a seed"
    # Whole numbers of bits or steps may be settings.
    inexact = numbers is not None and bool((np.nan_to_num(numbers, posinf=0, neginf=0) % 1).any())
    if names_steps(name) and not inexact:
        return "a counter of steps"
    if numbers is None:
        return ""
    if _is_time(words):
        return "a time"
    several = len(np.unique(numbers)) >= _FEW_VALUES or len(numbers) < 20
    of_run = inexact and _last_words(words)[-1] in ("precision", "epoch")
    of_part = several and _begins_with_data_set(words)
    by_product = counts_parameters(name) or _BY_PRODUCT.fullmatch(" ".join(words))
    return "a result" if _ends_as_result(words) or of_part or of_run or by_product else ""


def sounds_like_state(name: str) -> bool:
    """Whether the name of a column says that it tells how a run ended."""
    return _STATES.fullmatch(" ".join(split_words(name))) is not None


def names_steps(name: str) -> bool:
    """Whether the name of a column says that it counts the steps of a run."""
    return _STEPS.fullmatch(" ".join(split_words(name))) is not None


def names_repeats(name: str) -> bool:
    """Whether the name of a column says that it tells repeats of a configuration apart."""
    return _REPEATS.fullmatch(" ".join(split_words(name))) is not None


def names_trials(name: str) -> bool:
    """Whether the name of a column says that it names trials."""
    return _TRIALS.fullmatch(" ".join(split_words(name))) is not None


def direction_by_name(name: str) -> str:
    """ "minimize" or "maximize" if the name of an objective ends with a word that says which.

    It is "unclear" if such a word stands elsewhere, beside its opposite or a negation; "" if there is none.

    >>> [direction_by_name(name) for name in ("val_loss", "test/accuracy", "accuracy_drop", "value")]
    ['minimize', 'maximize', 'unclear', '']
    """
    words = split_words(name)
    end = [word for word in _last_words(words) if word not in ("score", "rate")][-1:]
    more, less = (not said.isdisjoint(words) for said in (_MORE_IS_BETTER, _LESS_IS_BETTER))
    at_end = {*end} & (_MORE_IS_BETTER | _LESS_IS_BETTER)
    sure = more != less and at_end and _NEGATED.isdisjoint(words)
    return ("maximize" if more else "minimize") if sure else "unclear" if more or less else ""


def may_be_objective(name: str) -> bool:
    """Whether a result with this name may be an objective: it is no time, state, identity, size or rank."""
    words = split_words(name)
    text = " ".join(words)
    aside = _is_identity(words) or _is_time(words) or sounds_like_state(name) or counts_parameters(name)
    aside = aside or names_steps(name) or names_repeats(name) or names_trials(name)
    by_product = _BY_PRODUCT.fullmatch(text) and not _ends_as_result(words)
    return not aside and not by_product and _OF_RESULTS.isdisjoint(words) and not _UNITS.issuperset(words)


def sounds_like_result(name: str) -> bool:
    """Whether the name of a column says that it measures how good a run is."""
    words = split_words(name)
    return _ends_as_result(words) or _begins_with_data_set(words)


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
    per = counted != words and counted[-1] in _UNITS
    at_end = words[-1] == "at" and _STATES.fullmatch(" ".join(words[:-1]))
    return bare[-1] in _TIMES or of_processor or per or bool(_SECONDS.fullmatch(" ".join(words)) or at_end)


def _last_words(words: Sequence[str]) -> Sequence[str]:
    """The words without digits at their ends, and without words for a data set or a reduction."""
    bare = [word if word in _RESULTS else word.rstrip("0123456789") for word in words]
    return [word for word in bare if word and word not in _OF_WHAT] or [word for word in bare if word] or [""]


def _ends_as_result(words: Sequence[str]) -> bool:
    # Only the end of a name counts: loss_weight and score_threshold are settings.
    end = _last_words(words)
    pair = any(_PAIRS.fullmatch(" ".join(two)) for two in (words[-2:], end[-2:]))
    return end[-1] in _RESULTS or (pair and _LIMITS.isdisjoint(words))


def _begins_with_data_set(words: Sequence[str]) -> bool:
    """Whether a name denotes a result on some data, such as val/xyz; val_batch_size is a setting."""
    return words[0] in _DATA_SETS and len(words) > 1 and _SETTINGS.isdisjoint(words)
