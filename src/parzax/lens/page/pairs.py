"""Interactions of pairs, as the page shows them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from parzax._words import join_names, plural
from parzax.lens.page.numbers import Numbers, rounded, texts_or_dash
from parzax.lens.page.words import MOST_NAMES
from parzax.lens.results import InteractionResult
from parzax.lens.results.phrases import p_text, value_text
from parzax.status import Status

PAIRED = 8  # parameters whose pairs are computed by default
_ON_THE_MAP = f"It has pairs of the {PAIRED} most important parameters, unless others were asked for."
_MOST_PAIRS = 20  # largest number of pairs in the table
_MOST_OTHERS = 3  # largest number of pairs in the table that are not above chance


def pairs(
    interactions: InteractionResult, stats: Numbers, labels: Mapping[str, str]
) -> dict[str, Any] | None:
    """Importances and p-values of the pairs of shown parameters at every level of the page, or None.

    Each level of the page shows the nearest level of the interactions. Several seeds are averaged, without
    p-values. ``labels`` maps the name of each shown parameter to its label, in the order of the page's rows.

    Returns:
        A dictionary in which numbers of rows of the page stand for parameters. ``pairs`` are the pairs, and
        ``map`` the rows that occur in one. For each level of the interactions there are ``importance`` (None
        if unknown), ``above`` (chance), ``table`` (entries: pair, texts), ``more`` (what the table leaves
        out) and ``words``. ``level`` has, for each level of the page, the index of the nearest of these.
    """
    row_of, called = {name: row for row, name in enumerate(labels)}, list(labels.values())
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
    above = interactions.stands_out[at][:, kept]
    never_together = np.bitwise_or.reduce(by_seed(interactions.status)) & int(Status.NEVER_TOGETHER) != 0
    rows = [[row_of[name] for name in interactions.pairs[i]] for i in kept]
    compared = sorted({row for pair in rows for row in pair})
    looked_at = " and ".join(f"{quantile:g}" for quantile in np.sort(levels))
    outside = [name for row, name in enumerate(called) if row not in compared]
    left_out = [f"Not on the map: {join_names(outside, MOST_NAMES)}. {_ON_THE_MAP}"]
    shares, p_texts = texts_or_dash(value_text, mean), np.full(mean.shape, "")
    if n_draws > 0 and interactions.n_seeds == 1:
        p_values = (by_seed(array)[0] for array in (interactions.p_value, interactions.p_adjusted))
        p_texts = texts_or_dash(partial(p_text, n_draws=n_draws), *p_values)
    tables, more, words = [], [], []
    for q, quantile in enumerate(levels):
        # First the pairs above chance, then the others, each by importance; undefined ones come last.
        order = np.lexsort((-np.nan_to_num(mean[q], nan=-1.0), ~above[q])).tolist()
        n_above = int(above[q].sum())
        listing = order[:_MOST_PAIRS] if n_above > _MOST_PAIRS else order[: n_above + _MOST_OTHERS]
        tables.append([[i, shares[q, i], p_texts[q, i]] for i in listing])
        rest, rest_above = len(kept) - len(listing), n_above - int(above[q, listing].sum())
        more.append(f"and {rest} more, {rest_above or 'none'} of them above chance" if rest else "")
        blank = np.flatnonzero(np.isnan(mean[q])).tolist()
        shown_at = f"; shown are those for {quantile:g}" if len(levels) > 1 else ""
        words.append([f"Pairs were looked at for γ′ = {looked_at}{shown_at}."])
        words[-1] += [_count(n_above, len(kept), n_draws > 0)]
        words[-1] += _unknown(blank, rows, never_together[q], called) + left_out * bool(outside)
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


def _count(above: int, of: int, tested: bool) -> str:
    share, one = f"{above} of {plural(of, 'pair')}", above == 1
    if not tested:
        explain = f"{'explains' if one else 'explain'} more together than alone"
        return f"{share} {explain}; no test against chance was made."
    none = "No pair is above chance, so no cell has a colour."
    return f"{share} {'is' if one else 'are'} above chance." if above else none


def _unknown(
    blank: Sequence[int], rows: Sequence[Sequence[int]], never: np.ndarray, called: Sequence[str]
) -> list[str]:
    """Explain the crosses in the map: which parameters have only crosses, and what other crosses mean."""
    lines, told = [], set()
    for row in sorted({row for k in blank for row in rows[k]}):
        with_row = [k for k, pair in enumerate(rows) if row in pair]
        if all(k in blank for k in with_row):
            apart = "is never active in the same row as another"
            why = apart if never[with_row].all() else "could not be compared together with any other"
            lines.append(f"{called[row]} {why} on the map.")
            told.update(with_row)
    rest = [k for k in blank if k not in told]
    if rest:
        why = "never active in the same row" + ("" if never[rest].all() else ", or not comparable")
        crosses = [" × ".join(called[row] for row in rows[k]) for k in rest]
        lines.append(f"Crosses are pairs that are {why}: {join_names(crosses, MOST_NAMES)}.")
    return lines
