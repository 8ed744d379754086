"""The sentences of a page."""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from parzax._words import join_names, plural, visible
from parzax.lens.logs import ImportReport
from parzax.lens.logs.report import LEARNED
from parzax.lens.page.numbers import NO_LEVEL, TOP, Numbers
from parzax.lens.results import ImportanceResult
from parzax.lens.results.base import size_text
from parzax.lens.results.default_level import explain_level
from parzax.lens.results.labels import shorten
from parzax.lens.results.phrases import DEPENDENT, NAME, value_text
from parzax.status import NOT_COMPARED, OF_LEVELS, Status, drop_consequences

MOST_NAMES = 12  # largest number of names that a sentence lists
_MOST_RANGES = 4  # largest number of ranges of levels that a sentence lists
_LARGE = 0.1  # an importance from here on is mentioned even if it is not above chance
_NEAR_HALF = 0.4  # a target of half of the rows has hardly more of them than one of this level


def level_words(result: ImportanceResult, stats: Numbers, labels: Sequence[str]) -> list[dict[str, Any]]:
    """The texts about every level, ascending. ``labels`` are the labels of all parameters.

    Returns:
        For each level ``label`` ("best 10 % of all rows (γ′ = 0.1): 30 of 300 rows"), ``headline`` (the most
        important parameters), ``notes`` (whether there are enough rows, and what is unusual about the level)
        and ``chance`` (which parameters are not above chance).
    """
    words: list[dict[str, Any]] = []
    for i, level in enumerate(stats.levels):
        n_target, n_region = size_text(result.n_target[..., stats.order[i]]), size_text(result.n_region)
        rows = f"{n_target} of {plural(n_region, 'row')}{_say_ties(stats, i)}"
        within = "" if result.region_quantile == 1 else f" within the best {percent(result.region_quantile)}"
        label = f"best {percent(level)} (γ′ = {level:g}){within}: {rows}"
        # The summary says how important and how sure the level is at which the page opens.
        opening = i == stats.default
        notes = [_sentence(stats.verdicts[i])] if stats.verdicts[i] and not opening else []
        if np.isfinite(tau := float(stats.stability[i])):
            # Without ties (1 + tau) / 2 is the share of pairs in the same order.
            share = percent(round((1 + tau) / 2, 2))
            notes.append(
                f"In other samples of these rows, about {share} of the pairs of parameters are in the same "
                f"order as here; by chance alone it would be {percent(0.5)}."
            )
        bits = Status(int(np.bitwise_or.reduce(drop_consequences(stats.status[i])))) & OF_LEVELS
        bits &= ~Status.ALL_ZERO
        notes += [_sentence(bit.fact) for bit in bits]
        headline = "The summary above is about this level."
        headline = headline if opening else f"At this level {_say_important(stats, i, labels)}."
        chance = _chance_words(stats, i, labels)
        words.append({"label": label, "headline": headline, "notes": notes, "chance": chance})
    return words


def _chance_words(stats: Numbers, level: int, labels: Sequence[str]) -> str:
    """Which parameters are not above chance at a level."""
    names = [labels[j] for j in stats.ranking if stats.chance[level, j]]
    share, listing = f"{len(names)} of {plural(len(labels), 'parameter')}", join_names(names, MOST_NAMES)
    if not np.isfinite(stats.mean[level]).any():
        text = "No parameter could be compared at this level."
    elif stats.tested:
        text = f"Not above chance at this level, {len(names)} of {len(labels)}: {listing}."
        text = text if names else "Every parameter that could be compared is above chance at this level."
    else:
        text = "No test against chance was made. "
        below = f"The variance of {share} is not above what a random target gives on average"
        none = "No variance that was compared is below what a random target gives on average."
        text += f"{below}: {listing}." if names else none
    not_compared = (stats.status[level] & int(NOT_COMPARED) != 0) & ~(stats.mean[level] > 0)
    not_compared &= stats.status[level] & int(NO_LEVEL) == 0
    absent = [f"{labels[j]} ({status_words(stats, level, j)})" for j in stats.ranking if not_compared[j]]
    return text + f" Not compared, and counted as 0: {join_names(absent, MOST_NAMES)}." * bool(absent)


def summary(
    result: ImportanceResult, stats: Numbers, labels: Sequence[str], good: Sequence[tuple[int, str]]
) -> list[str]:
    """Summarise the page, at the level at which it opens. ``good`` has (parameter, good values) pairs."""
    i, any_share = stats.default, bool(np.isfinite(stats.mean[stats.default]).any())
    n_target, n_region = result.n_target[..., stats.order[i]], result.n_region
    rows = plural(size_text(n_target), "row") + _say_ties(stats, i)
    where = f"the best {percent(stats.levels[i])} ({rows}, {_say_goal(result.report)})"
    lines = [f"For being among {where}, {_say_important(stats, i, labels)}."]
    lines[0] += " Importances of all parameters add up to 1." * any_share
    lines += map(_sentence, filter(None, [result.report.say_lost(result.n_seeds), result.report.steps]))
    if len(stats.levels) > 1 and (why := explain_level(float(stats.levels[i]), n_target, n_region)):
        lines.append(f"The level γ′ = {stats.levels[i]:g} is shown first: it is {why}.")
    values = [f"{labels[j]}: {text}" for j, text in good if j in _find_above(stats, i)[:TOP]]
    if values:
        lines.append(f"Good values: {'; '.join(values)}.")
    lines += _changes(stats, labels)
    next_step = list(filter(None, [_say_next(stats, i, labels)]))
    if not any_share:
        return lines + next_step  # no importance, so nothing to say about certainty
    ways = "--resamples 100, or n_resamples=100 in Python, draws them"
    unknown = f"unknown: no samples of the rows were drawn ({ways})"
    sure = stats.verdicts[i] or (stats.interval and f"intervals are {stats.interval}") or unknown
    lines.append(f"How sure? {_say_stable(stats, i, labels)}{_sentence(sure)}")
    lines += next_step
    single = result.n_seeds == 1 and result.uncertainty
    if result.report.groups:
        lines.append(_sentence(result.report.groups))
    if result.report.learned or single:
        lines.append(LEARNED if result.report.learned else DEPENDENT)
    return lines


def status_words(stats: Numbers, level: int, parameter: int) -> str:
    """What is unusual about a parameter at a level."""
    # "Not above chance" stands for NOT_ABOVE_CHANCE.
    bits = Status(int(drop_consequences(stats.status[level, parameter])))
    bits &= ~(OF_LEVELS | Status.NOT_ABOVE_CHANCE)
    remarks = ["not above chance"] if stats.chance[level, parameter] else []
    return "; ".join(dict.fromkeys([*remarks, *(bit.fact for bit in bits)]))


def interval_text(low: float, high: float) -> str:
    """The interval as text, "0.20 to 0.35"; "" if there is none."""
    return f"{low:.2f} to {high:.2f}" if np.isfinite(low) and np.isfinite(high) else ""


def _say_ties(stats: Numbers, level: int) -> str:
    """Words for a target that has more rows than its level says; "" otherwise."""
    return ", ties included" if (stats.status[level] & int(Status.TIED_CUTOFF)).any() else ""


def _say_goal(report: ImportReport) -> str:
    """What the best rows have, for example "smallest val_loss"."""
    if len(report.direction) > 1:
        return f"by {len(report.direction)} objectives together"
    name, *_ = *report.objectives, "objective value"
    best = "largest" if "maximize" in report.direction else "smallest"
    return f"{best} {visible(shorten(name, NAME))}"


def _find_above(stats: Numbers, level: int) -> list[int]:
    """The parameters said to matter at a level: above chance, and, but for the largest, not unsure."""
    ranked, chance, unsure = _rank(stats, level), stats.chance[level], stats.unsure[level]
    return [j for j in ranked if not chance[j] and (j == ranked[0] or not unsure[j])]


def _rank(stats: Numbers, level: int) -> list[int]:
    """The parameters with an importance at a level, highest first."""
    mean = np.nan_to_num(stats.mean[level])
    return [j for j in np.argsort(-mean, kind="stable").tolist() if mean[j] > 0]


def _say_important(stats: Numbers, level: int, labels: Sequence[str]) -> str:
    """Which parameters matter at a level, as the end of a sentence.

    "Matters most" is said of a parameter above chance only if no other one has a larger share, or a large
    share that may be chance. What has few rows in a regime is named last.
    """
    if not np.isfinite(stats.mean[level]).any():
        return "nothing can be said"
    ranked, above = _rank(stats, level), _find_above(stats, level)
    least = min([_LARGE, *(stats.mean[level, j] for j in (above or ranked)[:1])])
    large = [j for j in ranked if stats.mean[level, j] >= least]
    doubtful, unsure = ([j for j in large if where[level, j]] for where in (stats.chance, stats.unsure))
    aside = [j for j in unsure if j not in above]
    named = [*above, *aside][:1]
    texts = {j: _with_numbers(stats, level, j, labels, named=[j] == named) for j in ranked}
    first, *others = [texts[j] for j in above] or [""]
    text = f"no parameter is {'sure to matter' if aside else 'above chance'}"
    if above and not doubtful and above[0] == ranked[0]:
        text = f"{first} matters most" + (f", then {_join(others[: TOP - 1])}" if others else "")
    elif above:
        verb = "is" if len(above) == 1 else "are"
        text = f"{'' if aside else 'only '}{_join([first, *others])} {verb} above chance"
    if doubtful:
        text += f"; chance alone may explain the importance of {_join([texts[j] for j in doubtful])}"
    if unsure:
        listing = _join([texts[j] if j in aside else labels[j] for j in unsure])
        text += f"; few rows in a regime, so that the importance may be far off: {listing}"
    return text


def _join(texts: Sequence[str]) -> str:
    """Join texts to "a, b and c"; of more than `TOP` texts, only the first and the number of the others."""
    left = len(texts) - TOP
    *before, last = [*texts[:TOP], f"{left} more"] if left > 0 else texts
    return f"{', '.join(before)} and {last}" if before else last


def _with_numbers(stats: Numbers, level: int, j: int, labels: Sequence[str], *, named: bool) -> str:
    """ "lr (0.35, 0.20 to 0.45)", or "lr (0.35, p = 0.064)" if it is not above chance.

    ``named``: whether it is said what the numbers are, which the first parameter of a sentence needs.
    """
    share, more = value_text(stats.mean[level, j]), interval_text(stats.low[level, j], stats.high[level, j])
    if named:
        share, more = f"importance {share}", more and f"{stats.interval.partition(' of ')[0]} {more}"
    if stats.chance[level, j]:
        p = str(stats.p[level, j])
        more = "" if p == "–" else f"p {p}" if p[:1] in "<>≤" else f"p = {p}"
    return f"{labels[j]} ({', '.join(filter(None, [share, more]))})"


def _say_stable(stats: Numbers, level: int, labels: Sequence[str]) -> str:
    """How often samples of the log give the same parameter the highest importance.

    Said only of one that matters: what may be chance does not come first. "" without samples.
    """
    first = _rank(stats, level)[0]
    if len(labels) < 2 or np.isnan(stats.first[level, first]) or first not in _find_above(stats, level):
        return ""
    often = percent(round(float(stats.first[level, first]), 2))
    return f"{labels[first]} comes first in {often} of samples of these rows. "


def _say_next(stats: Numbers, level: int, labels: Sequence[str]) -> str:
    """What to do where nothing is above chance; "" elsewhere, and where another level would not help."""
    if _find_above(stats, level) or (stats.status[level] & int(NO_LEVEL | NOT_COMPARED) != 0).all():
        return ""
    n_levels = (~stats.pale & ~stats.rough[:, None]).sum(axis=0)
    j = int(n_levels.argmax())
    if n_levels[j]:
        several = f"{n_levels[j]} of the {len(stats.levels)} levels"
        return f"{labels[j]} is above chance at {several}; p-values are not adjusted for levels."
    if len(stats.levels) > 1 or stats.levels[level] >= _NEAR_HALF:
        return ""
    return (
        "To find out more, add rows, or ask about the better half: target_quantile=0.5 "
        "(--target-quantile 0.5) has more rows in the target. Choose one level before you look: among many, "
        "some show noise above chance."
    )


def _changes(stats: Numbers, labels: Sequence[str]) -> list[str]:
    """Which parameter is the most important one in which range of levels, if that changes.

    A level does not count if its largest importance is not above chance, or if it has only a few rows.
    """
    winner = np.nan_to_num(stats.mean).argmax(axis=1)
    sure = ~stats.pale[np.arange(len(winner)), winner] & ~stats.rough
    winners: list[int] = np.where(sure, winner, -1).tolist()
    if len({*winners} - {-1}) < 2:
        return []
    at_level = zip(winners, [f"{level:g}" for level in stats.levels], strict=True)
    runs: list[tuple[int, list[str]]] = [
        (winner, [level for _, level in run])
        for winner, run in groupby(at_level, itemgetter(0))
        if winner >= 0
    ]
    # The longest ranges first, but no parameter gets a second range before each has one.
    by_length = sorted(range(len(runs)), key=lambda k: -len(runs[k][1]))
    first_of = {runs[k][0]: k for k in reversed(by_length)}
    shown = sorted(by_length, key=lambda k: first_of[runs[k][0]] != k)[:_MOST_RANGES]
    ranges: dict[str, list[str]] = {}
    for winner, levels in (runs[k] for k in sorted(shown)):
        ranges.setdefault(labels[winner], []).append(" to ".join(dict.fromkeys([levels[0], levels[-1]])))
    parts = ", ".join(f"{name} ({', '.join(at)})" for name, at in ranges.items())
    rest = ", and others between." if len(runs) > len(shown) else "."
    none = ""
    if rest == "." and -1 in winners:
        few = ", or there are few rows" * bool(stats.rough.any())
        none = f" At the other levels the largest importance is not above chance{few}."
    return [f"The most important parameter depends on the level γ′: {parts}{rest}{none}"]


def _sentence(text: str) -> str:
    """The text with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def percent(share: float) -> str:
    """A share as text, "10 %", with a space at which no line breaks."""
    return f"{100 * share:.6g}\N{NO-BREAK SPACE}%"
