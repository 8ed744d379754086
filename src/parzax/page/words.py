"""The sentences of a page."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parzax._words import join_names
from parzax._words import plural as plural
from parzax.page.numbers import NOT_COMPARED, TOP, Numbers
from parzax.results import ImportanceResult
from parzax.results.base import size_text
from parzax.results.phrases import DEPENDENT, OF_LEVEL, OF_PARAMETER, value_text
from parzax.status import Status

_MOST_NAMES = 12  # names that a sentence lists
_MOST_RANGES = 4  # ranges of levels that a sentence lists
# Nothing is compared at such a level.
_OF_LEVEL = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS
# Plain whole numbers are much faster than flags. Whether it is above chance is said in other words.
_REMARKS = {int(bit): text for bit, text in OF_PARAMETER.items() if bit != Status.NOT_ABOVE_CHANCE}


def level_words(result: ImportanceResult, own: Numbers, labels: Sequence[str]) -> list[dict[str, Any]]:
    """What is said about every level, ascending; ``labels`` of all parameters.

    Returns:
        Of each level ``label`` ("best 10 % of all rows (γ′ = 0.1): 30 of 300 rows"), ``headline`` (the most
        important parameters), ``notes`` (whether there are enough rows, and what is unusual about the level)
        and ``chance`` (which parameters are not above chance).
    """
    words: list[dict[str, Any]] = []
    for i, level in enumerate(own.levels):
        rows = f"{size_text(result.n_target[..., own.order[i]])} of {size_text(result.n_region)} rows"
        within = "" if result.region_quantile == 1 else f" within the best {percent(result.region_quantile)}"
        label = f"best {percent(level)} (γ′ = {level:g}){within}: {rows}"
        notes = [_sentence(own.verdicts[i])] if own.verdicts[i] else []
        if np.isfinite(tau := float(own.stability[i])):
            # Without ties Kendall's tau is a share of pairs in the same order.
            share = percent(round((1 + tau) / 2, 2))
            notes.append(
                f"Other samples of these rows put about {share} of the pairs of parameters in the same order "
                f"as here (Kendall's tau {tau:.2f}); mere chance would be {percent(0.5)}."
            )
        seen = int(np.bitwise_or.reduce(own.status[i]))
        notes += [_sentence(text) for bit, text in OF_LEVEL.items() if seen & bit]
        words.append({"label": label, "headline": headline(own, i, labels), "notes": notes})
        words[-1]["chance"] = chance_words(own, i, labels)
    return words


def headline(own: Numbers, level: int, labels: Sequence[str]) -> str:
    """The most important parameters at a level, with their intervals."""
    if not np.isfinite(own.mean[level]).any():
        return "Nothing can be said at this level."
    chosen = _top(own, level)
    if not chosen:
        return "No parameter is above chance at this level."
    parts = [f"{labels[j]} {value_text(own.mean[level, j])}{_between(own, level, j)}" for j in chosen]
    return f"Most important: {', '.join(parts)}."


def chance_words(own: Numbers, level: int, labels: Sequence[str]) -> str:
    """Which parameters are not above chance at a level."""
    names = [labels[int(j)] for j in own.ranking if own.chance[level, j]]
    absent = [
        f"{labels[int(j)]} ({status_words(own, level, int(j))})"
        for j in own.ranking
        if own.status[level, j] & int(NOT_COMPARED)
        and not own.status[level, j] & int(_OF_LEVEL)
        and not own.mean[level, j] > 0
    ]
    rest = f" Not compared, and counted as 0: {listed(absent)}." if absent else ""
    if own.tested:
        if not names:
            return f"Every parameter that could be compared is above chance at this level.{rest}"
        return f"Not above chance at this level, {len(names)} of {len(labels)}: {listed(names)}.{rest}"
    test = "No test against chance was made."
    if not names:
        return f"{test} No variance that was compared is below what a random target gives on average.{rest}"
    below = "is not above what a random target gives on average"
    return f"{test} The variance of {len(names)} of {len(labels)} parameters {below}: {listed(names)}.{rest}"


def summary(
    result: ImportanceResult, own: Numbers, labels: Sequence[str], good: Sequence[tuple[int, str]]
) -> list[str]:
    """The page in a few sentences, at the level that it opens at; ``good`` values of some parameters."""
    i = own.default
    chosen = _top(own, i)
    where = f"the best {percent(own.levels[i])} ({size_text(result.n_target[..., own.order[i]])} rows)"
    if chosen:
        first, *rest = [
            f"{labels[j]} ({value_text(own.mean[i, j])}{_between(own, i, j, ', ')})" for j in chosen
        ]
        then = f", then {' and '.join(rest)}" if rest else ""
        lines = [f"For being among {where}, {first} matters most{then}. Importances of all add up to 1."]
    else:
        known = np.isfinite(own.mean[i]).any()
        lines = [
            f"For being among {where}, {'no parameter is above chance' if known else 'nothing can be said'}."
        ]
    values = [f"{labels[j]}: {text}" for j, text in good if j in chosen]
    if values:
        lines.append(f"Good values: {'; '.join(values)}.")
    lines += _changes(own, labels)
    if own.verdicts[i]:
        lines.append(f"How sure? {_sentence(own.verdicts[i])}")
    elif own.interval:
        lines.append(f"How sure? Intervals are {own.interval}.")
    else:
        lines.append("How sure? Unknown: this is one run, and no resamples were asked for.")
    if result.n_seeds == 1 and result.uncertainty is not None:
        lines[-1] += f" {DEPENDENT}"
    return lines


def status_words(own: Numbers, level: int, parameter: int) -> str:
    """What is unusual about a parameter at a level."""
    bits = int(own.status[level, parameter])
    remarks = [text for bit, text in _REMARKS.items() if bits & bit]
    return "; ".join(dict.fromkeys(["not above chance"] * bool(own.chance[level, parameter]) + remarks))


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return join_names(names, _MOST_NAMES)


def interval_text(low: float, high: float) -> str:
    """ "0.20 to 0.35", "" where there is none."""
    return f"{low:.2f} to {high:.2f}" if np.isfinite(low) and np.isfinite(high) else ""


def _top(own: Numbers, level: int) -> list[int]:
    mean = np.nan_to_num(own.mean[level])
    order = np.argsort(-mean, kind="stable")[:TOP]
    return [int(j) for j in order if mean[j] > 0 and not own.chance[level, j]]


def _between(own: Numbers, level: int, parameter: int, before: str = " (") -> str:
    text = interval_text(own.low[level, parameter], own.high[level, parameter])
    return f"{before}{text}{')' if before == ' (' else ''}" if text else ""


def _changes(own: Numbers, labels: Sequence[str]) -> list[str]:
    """Which parameter is the most important one in which range of levels, if that changes.

    Levels at which none is above chance do not count.
    """
    mean = np.where(own.chance, 0, np.nan_to_num(own.mean))
    first = np.where((mean > 0).any(axis=1), mean.argmax(axis=1), -1)
    if len(set(first.tolist()) - {-1}) < 2:
        return []
    starts = np.flatnonzero(np.diff(first, prepend=-1))
    stops = np.append(starts[1:], len(first)) - 1
    known = first[starts] >= 0
    starts, stops = starts[known], stops[known]
    # The longest ones, but of each parameter one before two of another.
    by_length = np.argsort(starts - stops, kind="stable").tolist()
    seen: list[int] = [int(first[starts[k]]) for k in by_length]
    repeated = [winner in seen[:i] for i, winner in enumerate(seen)]
    chosen = [k for _, k in sorted(zip(repeated, by_length, strict=True), key=lambda pair: pair[0])]
    longest = sorted(chosen[:_MOST_RANGES])
    ranges: dict[str, list[str]] = {}
    for k in longest:
        low, high = own.levels[starts[k]], own.levels[stops[k]]
        at = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        ranges.setdefault(labels[int(first[starts[k]])], []).append(at)
    parts = ", ".join(f"{name} ({', '.join(at)})" for name, at in ranges.items())
    rest = ", and others between" if len(starts) > len(longest) else ""
    none = " At the other levels no parameter is above chance." if not rest and (first < 0).any() else ""
    return [f"Which one is the most important depends on the level γ′: {parts}{rest}.{none}"]


def _sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def p_text(p: float, bound: bool = False) -> str:
    """A p-value with three decimals, an upper end with ≤."""
    return "<0.001" if p < 0.001 else f"{'≤' * bound}{p:.3f}"


def percent(share: float) -> str:
    """ "10 %": a share with a space that no line ends at."""
    return f"{100 * share:.6g}\N{NO-BREAK SPACE}%"
