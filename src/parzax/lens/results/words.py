"""The three sentences of a result, always of one form: what mattered, how sure that is, what to do next."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from parzax._words import plural
from parzax.lens.results.good_values import good_text
from parzax.lens.results.labels import short_labels
from parzax.lens.results.phrases import percent, size_text, value_text
from parzax.lens.results.uncertainty import TOLERANCE
from parzax.status import NOT_COMPARED, OF_LEVELS, Status, drop_consequences

# Statuses with which a parameter, or a level, is not compared with chance.
NOT_TESTED = NOT_COMPARED | Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS
_NAMED = 3  # parameters that a sentence names
_LARGE = 0.1  # importances from here on are mentioned even if chance may explain them
_NEAR_HALF = 0.4  # with half of the rows in the target, hardly more are in it than at this level
_LEARNED = "these rows come from a search that learns, so importances may be off by 0.3, whatever p says"
_MAY_LEARN = "less sure if a search that learns (such as TPE) chose the rows"


def importance_sentences(result: Any, level: int) -> list[str]:
    """The three sentences of a `parzax.ImportanceResult` at the ``level``-th level."""
    labels, mean = short_labels(result.names, 28), result.over_seeds()[0][level]
    ranked = [j for j in np.argsort(-mean, kind="stable").tolist() if mean[j] > 0]
    above = [j for j in ranked if result.above[level, j]]
    named = {j: f"{labels[j]} ({value_text(mean[j])})" for j in ranked}
    if not result.is_defined[..., level, :].any():
        return _nothing(result, level)
    best = f"for being among {best_rows(result, level)}"
    mattered = f"{_join(named[j] for j in above)} {best}" if above else f"no parameter is above chance {best}"
    doubtful = [named[j] for j in ranked if mean[j] >= _LARGE and j not in above]
    if doubtful:
        mattered += f"; chance alone may explain {_join(doubtful)}"
    return [
        f"What mattered: {mattered}.",
        f"How sure: {_sureness(result, level, labels, above)}.",
        f"Do next: {_next_step(result, level, labels, above)}.",
    ]


def interaction_sentences(result: Any, level: int) -> list[str]:
    """The three sentences of a `parzax.lens.results.InteractionResult` at the ``level``-th level."""
    labels, mean, above = result.labels, result.over_seeds()[0][level], result.above[level]
    if not labels:
        return ["What mattered: there are no pairs, as the space has a single parameter."]
    if not result.is_defined[..., level, :].any():
        return _nothing(result, level)
    named = [f"{labels[j]} ({value_text(mean[j])})" for j in result.order(level) if above[j]]
    best = f"for being among {best_rows(result, level)}"
    found = "interact" if result.n_draws else "explain more together than alone"
    if result.n_seeds > 1:
        sure = f"± is the standard error of {plural(result.n_seeds, 'seed')}"
    else:
        sure = (
            f"p-values are adjusted for {plural(len(labels), 'pair')}"
            if result.n_draws
            else "not tested against chance"
        )
    level_bits = Status(int(np.bitwise_or.reduce(drop_consequences(result.usual_status[level])))) & OF_LEVELS
    look = (
        f"look at both parameters of {labels[result.order(level)[0]]} together"
        if named
        else "tune each parameter by itself"
    )
    return [
        f"What mattered: {f'{_join(named)} {found}' if named else 'no pair is above chance'} {best}.",
        f"How sure: {'; '.join([sure, *(bit.fact for bit in level_bits), _MAY_LEARN])}.",
        f"Do next: {look}.",
    ]


def comparison_sentences(result: Any, level: int) -> list[str]:
    """The three sentences of a `parzax.lens.results.Comparison` at the ``level``-th level."""
    labels, change = result.labels, result.difference[level]
    best = f"the best {percent(result.levels[level])} ({result.goal})"
    named = [f"{labels[j]} ({change[j]:+.2f})" for j in result.order(level) if result.differs[level, j]]
    if np.isnan(change).all():
        mattered, sure = (
            "nothing can be compared, as one log has no importances",
            "there is nothing to be sure of",
        )
    else:
        rows = " and ".join(plural(size_text(log.n_region), "row") for log in (result.first, result.second))
        mattered = f"{_join(named)} changed" if named else "no parameter's importance changed beyond chance"
        untested = np.isnan(result.p_value[level]).all()
        sure = (
            "unknown: it takes resamples, or several seeds"
            if untested
            else f"logs of {rows}, adjusted p-values"
        )
    look = (
        "tune anew what changed" if named else "treat the logs as alike, or add rows to see smaller changes"
    )
    learned = result.first.learned() or result.second.learned()
    return [
        f"What mattered: {mattered}, for being among {best}.",
        f"How sure: {sure}{f'; {_LEARNED}' * learned}.",
        f"Do next: {look}.",
    ]


def _nothing(result: Any, level: int) -> list[str]:
    """The sentences of a level without importances."""
    bits = Status(int(np.bitwise_or.reduce(drop_consequences(result.usual_status[level])))) & OF_LEVELS
    advice = next((bit.advice for bit in bits), Status.ALL_ZERO.advice).rstrip(".")
    return [
        f"What mattered: nothing can be said of {best_rows(result, level)}.",
        "How sure: there is nothing to be sure of.",
        f"Do next: {advice[0].lower()}{advice[1:]}.",
    ]


def best_rows(result: Any, level: int) -> str:
    """The target in words: "the best 10 % (30 of 300 rows, smallest loss)"."""
    target, region = size_text(result.n_target[..., level]), plural(size_text(result.n_region), "row")
    of = f"{target} of {'the best ' * (result.region < 1)}{region}"
    return f"the best {percent(result.levels[level])} ({of}, {result.goal})"


def _sureness(result: Any, level: int, labels: list[str], above: list[int]) -> str:
    """How sure the first sentence is, and what is unusual about the parameters that it names."""
    known, status = result.uncertainty, result.usual_status[level]
    if result.n_seeds > 1:
        parts = [f"± is the standard error of {plural(int(result.seeds_counted[level]), 'seed')}"]
    elif known.n_resamples:
        parts = []
        if above and len(labels) > 1:
            often = percent(round(float(result.by_seed(known.top())[0, level, above[0]]), 2))
            parts.append(f"{labels[above[0]]} comes first in {often} of {known.n_resamples} resamples")
        parts.append(f"intervals are up to {2 * result.by_seed(known.margin)[0, level]:.2f} wide")
    else:
        parts = ["unknown, as the rows were not resampled"]
    if len(labels) == 1:
        parts.append("a single parameter has an importance of 1, whether it matters or not")
    level_bits = Status(int(np.bitwise_or.reduce(drop_consequences(status)))) & OF_LEVELS & ~Status.ALL_ZERO
    parts += [bit.fact for bit in level_bits]
    for j in above[:_NAMED]:
        parts += [f"{labels[j]}: {bit.fact}" for bit in Status(int(status[j])) & ~OF_LEVELS]
    return "; ".join(parts + ([_LEARNED] if result.learned() else [_MAY_LEARN] * (result.n_seeds == 1)))


def _next_step(result: Any, level: int, labels: list[str], above: list[int]) -> str:
    """What to do: which values to look at, or how to find out more."""
    known, steps = result.uncertainty, []
    tested = result.n_seeds > 1 or known.n_shuffles > 0
    if not tested:
        return "resample the rows, for intervals and p-values: n_resamples=500 (--resamples 500)"
    if not above:
        half = ", or ask about the better half (level 0.5), which has more of them among the best"
        return "add rows" + half * bool(len(result.levels) == 1 and result.levels[level] < _NEAR_HALF)
    for good in result.good_values(level):
        j = result.space.index(good.parameter)
        if j in above[:_NAMED] and (text := good_text(good, result.space[good.parameter])):
            steps.append(f"{labels[j]} {text}")
    text = f"look at {'; '.join(steps[:_NAMED])}" if steps else f"look at the values of {labels[above[0]]}"
    margin, needed, fewer = (
        result.by_seed(x)[0, level] for x in (known.margin, known.rows_needed(), known.n_fewer)
    )
    if result.n_seeds > 1 or not margin > TOLERANCE:
        return text
    if np.isnan(needed):
        return f"{text}; add rows, as only {size_text(fewer)} are on one side of the cut-off"
    step = 10 ** max(len(str(int(needed - known.n_rows))) - 2, 0)
    more = int(np.ceil((needed - known.n_rows) / step) * step)  # rounded up to two figures
    return f"{text}; about {more} more rows would make intervals {2 * TOLERANCE:g} wide"


def _join(texts: Iterable[str]) -> str:
    """ "a, b and c"; of more texts the first three, and how many more there are."""
    texts = list(texts)
    *before, last = [*texts[:_NAMED], f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else texts
    return f"{', '.join(before)} and {last}" if before else last
