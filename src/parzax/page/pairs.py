"""Interactions of pairs, as the page shows them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parzax.page.numbers import Numbers, at_most, rounded, text_or_dash
from parzax.page.words import listed, p_text, plural
from parzax.results import InteractionResult
from parzax.results.phrases import value_text
from parzax.results.seeds import pairs_above_chance
from parzax.status import Status

_MOST_PAIRS = 20  # in the table
_MOST_OTHERS = 3  # of these, not above chance


def pairs(
    interactions: InteractionResult,
    stats: Numbers,
    names: Sequence[str],
    shown: Sequence[int],
    labels: Sequence[str],
) -> dict[str, Any] | None:
    """Importances and p-values of the pairs of ``shown`` parameters at every level of the page, or None.

    A level of the page shows that of the interactions which is nearest to it. Several seeds are averaged, and
    their p-values left out. ``labels`` are of all parameters.

    Returns:
        With rows of the page in place of parameters: ``pairs``; ``map``, the rows that have any; by level of
        the interactions ``importance`` (None where nothing is known), ``above`` chance, the ``table`` (pair,
        texts), what it leaves out (``more``) and the ``words``; and of each level of the page its ``level``.
    """
    row_of = {names[j]: row for row, j in enumerate(shown)}
    kept = [i for i, pair in enumerate(interactions.pairs) if all(name in row_of for name in pair)]
    if not kept:
        return None
    nearest = np.abs(stats.levels[:, None] - interactions.target_quantile).argmin(axis=1)
    at, level = np.unique(nearest, return_inverse=True)
    levels, n_draws = interactions.target_quantile[at], interactions.n_draws

    def by_seed(array: np.ndarray) -> np.ndarray:
        return interactions.by_seed(array)[:, at][..., kept]

    defined = by_seed(interactions.is_defined).any(axis=0)
    mean = np.where(defined, interactions.over_seeds()[0][at][:, kept], np.nan)
    above = pairs_above_chance(interactions)[at][:, kept]
    p = by_seed(interactions.p_adjusted)[0]
    bound = at_most(by_seed(interactions.p_value)[0], p, n_draws)
    never_together = np.bitwise_or.reduce(by_seed(interactions.status)) & int(Status.NEVER_TOGETHER) != 0
    rows = [[row_of[name] for name in interactions.pairs[i]] for i in kept]
    compared = sorted({row for pair in rows for row in pair})
    called = [labels[j] for j in shown]
    left_out = _left_out(called, compared)
    ascending = [f"{quantile:g}" for quantile in np.sort(levels)]
    looked_at = " and ".join(filter(None, [", ".join(ascending[:-1]), ascending[-1]]))
    has_p = n_draws > 0 and interactions.n_seeds == 1
    tables, more, words = [], [], []
    for q, quantile in enumerate(levels):
        # Those above chance by importance, then the others by theirs, at last those without any.
        order = np.lexsort((-np.nan_to_num(mean[q], nan=-1.0), ~above[q])).tolist()
        n_above = int(above[q].sum())
        listing = order[:_MOST_PAIRS] if n_above > _MOST_PAIRS else order[: n_above + _MOST_OTHERS]
        p_texts = [text_or_dash(p_text, p[q, i], bool(bound[q, i])) if has_p else "" for i in listing]
        shares = [text_or_dash(value_text, mean[q, i]) for i in listing]
        tables.append(list(map(list, zip(listing, shares, p_texts, strict=True))))
        more.append(_more(len(kept) - len(listing), n_above - int(above[q, listing].sum())))
        blank = np.flatnonzero(np.isnan(mean[q])).tolist()
        shown_at = f"; shown are those for {quantile:g}" if len(levels) > 1 else ""
        sentences = [f"Pairs were looked at for γ′ = {looked_at}{shown_at}."]
        sentences += [_count(n_above, len(kept), n_draws > 0)]
        words.append([*sentences, *_unknown(blank, rows, never_together[q], called), *left_out])
    return {
        "pairs": rows,
        "map": compared,
        "importance": rounded(mean),
        "above": above.astype(int).tolist(),
        "table": tables,
        "more": more,
        "words": words,
        "tested": n_draws > 0,
        "level": level.tolist(),
    }


def _more(rest: int, above: int) -> str:
    if not rest:
        return ""
    if above:
        return f"and {rest} more, {above} of them above chance"
    return f"and {rest} more, none above chance" if rest > 1 else "and 1 more, not above chance"


def _count(above: int, of: int, tested: bool) -> str:
    if not tested:
        explain = "explains" if above == 1 else "explain"
        test = "no test against chance was made"
        return f"{above} of {plural(of, 'pair')} {explain} more together than alone; {test}."
    if not above:
        return "No pair is above chance, so no cell has a colour."
    return f"{above} of {plural(of, 'pair')} {'is' if above == 1 else 'are'} above chance."


def _unknown(
    blank: Sequence[int], rows: Sequence[Sequence[int]], never: np.ndarray, called: Sequence[str]
) -> list[str]:
    """Why there are crosses: which parameters have nothing else, and what the others mean."""
    lines, told = [], set()
    for row in sorted({row for k in blank for row in rows[k]}):
        with_row = [k for k, pair in enumerate(rows) if row in pair]
        if all(k in blank for k in with_row):
            why = "is never active in the same row as another on the map"
            if not all(never[k] for k in with_row):
                why = "could not be compared together with any other on the map"
            lines.append(f"{called[row]} {why}.")
            told.update(with_row)
    rest = [k for k in blank if k not in told]
    if rest:
        why = "never active in the same row"
        why += "" if all(never[k] for k in rest) else ", or not comparable"
        crosses = [" × ".join(called[row] for row in rows[k]) for k in rest]
        lines.append(f"Crosses are pairs that are {why}: {listed(crosses)}.")
    return lines


def _left_out(called: Sequence[str], compared: Sequence[int]) -> list[str]:
    rest = [name for row, name in enumerate(called) if row not in compared]
    if not rest:
        return []
    them = "it" if len(rest) == 1 else "them"
    return [f"Not on the map, because no pair with {them} was looked at: {listed(rest)}."]
