"""Interactions of pairs, as the page shows them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parzax.page.numbers import Numbers, at_most
from parzax.page.words import listed, p_text, plural
from parzax.results.phrases import value_text
from parzax.results.uncertainty import SIGNIFICANCE
from parzax.status import Status

_MOST_PAIRS = 20  # in the table
_MOST_OTHERS = 3  # of these, not above chance
_MOST_SEEDS = (
    0.5  # a pair is above chance where it is in more than this share of the seeds, as in all pictures
)
_UNDEFINED = int(Status.NEVER_TOGETHER | Status.UNIDENTIFIABLE | Status.NO_DATA)
_DECIMALS = 4


def pairs(
    interactions: Any, own: Numbers, names: Sequence[str], shown: Sequence[int], labels: Sequence[str]
) -> dict[str, Any] | None:
    """Importances and p-values of the pairs of ``shown`` parameters at every level of the page; or None.

    A level of the page shows that of the interactions which is nearest to it. Several seeds are averaged, and
    their p-values left out. ``labels`` are of all parameters.

    Returns:
        With rows of the page in place of parameters: ``pairs``; ``map``, the rows that have any; by level of
        the interactions ``importance`` (None where nothing is known), ``above`` chance, the ``table`` (pair,
        texts), what it leaves out (``more``) and the ``words``; and of each level of the page its ``level``.
    """
    if interactions is None:
        return None
    n = len(interactions.pairs)
    importance, p, alone = (
        np.asarray(getattr(interactions, name), np.float64)
        for name in ("importance", "p_adjusted", "p_value")
    )
    levels = np.asarray(interactions.target_quantile, np.float64).reshape(-1)
    if importance.shape[-2:] != (len(levels), n):
        raise ValueError(
            f"interactions: importance has shape {importance.shape} for {len(levels)} levels and {n} pairs."
        )
    row_of = {names[j]: row for row, j in enumerate(shown)}
    kept = [i for i, pair in enumerate(interactions.pairs) if all(name in row_of for name in pair)]
    if not kept:
        return None
    status = np.broadcast_to(np.asarray(getattr(interactions, "status", 0)), importance.shape)
    shape = (-1, len(levels), n)
    status = np.asarray(status.reshape(shape)[..., kept], np.int64)
    importance, p, alone = (x.reshape(shape)[..., kept] for x in (importance, p, alone))
    known = (status & _UNDEFINED == 0) & np.isfinite(importance)
    # Over the seeds where there is something to say.
    mean = np.where(known, np.maximum(importance, 0), 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    mean = np.where(known.any(axis=0), mean, np.nan)
    tested = bool(np.isfinite(p).any())
    above = (p <= SIGNIFICANCE).mean(axis=0) > _MOST_SEEDS if tested else np.nan_to_num(mean) > 0
    above &= np.isfinite(mean)
    one = len(p) == 1
    if not one:
        p = np.full_like(p, np.nan)
    bound = at_most(alone[0], p[0], getattr(interactions, "n_draws", 0))
    nearest = np.abs(own.levels[:, None] - levels).argmin(axis=1)
    found, inverse = np.unique(nearest, return_inverse=True)
    rows = [[row_of[name] for name in interactions.pairs[i]] for i in kept]
    compared = sorted({row for pair in rows for row in pair})
    called = [labels[j] for j in shown]
    tables, more, words = [], [], []
    for q in found:
        order = _order(mean[q], above[q])
        n_above = int(above[q].sum())
        listing = order[: min(n_above, _MOST_PAIRS) + _MOST_OTHERS]
        if n_above > _MOST_PAIRS:
            listing = order[:_MOST_PAIRS]
        texts = [
            _texts(float(mean[q, i]), float(p[0, q, i]), bool(bound[q, i]), one and tested) for i in listing
        ]
        tables.append([[i, *text] for i, text in zip(listing, texts, strict=True)])
        more.append(_more(len(kept) - len(listing), n_above - int(above[q, listing].sum())))
        several = f"Pairs were looked at for γ′ = {_and([f'{level:g}' for level in np.sort(levels[found])])}"
        at = f"{several}; shown are those for {levels[q]:g}." if len(found) > 1 else f"{several}."
        blank = [k for k, pair in enumerate(rows) if np.isnan(mean[q, k])]
        words.append(
            [
                *(at, _count(n_above, len(kept), tested)),
                *_unknown(q, blank, rows, status, called),
                *_left_out(called, compared),
            ]
        )
    return {
        "pairs": rows,
        "map": compared,
        "importance": [_rounded(mean[q]) for q in found],
        "above": [above[q].astype(int).tolist() for q in found],
        "table": tables,
        "more": more,
        "words": words,
        "tested": tested,
        "level": inverse.tolist(),
    }


def _order(mean: np.ndarray, above: np.ndarray) -> list[int]:
    """Those above chance by importance, then the others by theirs, at last those without any."""
    return np.lexsort((-np.nan_to_num(mean, nan=-1.0), ~above)).tolist()


def _texts(importance: float, p: float, bound: bool, has_p: bool) -> list[str]:
    share = value_text(importance) if np.isfinite(importance) else "–"
    return [share, p_text(p, bound) if np.isfinite(p) else "–" * has_p]


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
    q: int, blank: Sequence[int], rows: Sequence[Sequence[int]], status: np.ndarray, called: Sequence[str]
) -> list[str]:
    """Why there are crosses: which parameters have nothing else, and what the others mean."""
    if not blank:
        return []
    never = (status[:, q] & int(Status.NEVER_TOGETHER) != 0).any(axis=0)
    lines, told = [], set()
    for row in sorted({row for k in blank for row in rows[k]}):
        own = [k for k, pair in enumerate(rows) if row in pair]
        if all(k in blank for k in own):
            why = "is never active in the same row as another on the map"
            if not all(never[k] for k in own):
                why = "could not be compared together with any other on the map"
            lines.append(f"{called[row]} {why}.")
            told.update(own)
    rest = [k for k in blank if k not in told]
    if rest:
        why = "never active in the same row"
        why += "" if all(never[k] for k in rest) else ", or not comparable"
        lines.append(f"Crosses are pairs that are {why}: {listed([_named(rows[k], called) for k in rest])}.")
    return lines


def _left_out(called: Sequence[str], compared: Sequence[int]) -> list[str]:
    rest = [name for row, name in enumerate(called) if row not in compared]
    if not rest:
        return []
    them = "it" if len(rest) == 1 else "them"
    return [f"Not on the map, because no pair with {them} was looked at: {listed(rest)}."]


def _named(pair: Sequence[int], called: Sequence[str]) -> str:
    return " × ".join(called[row] for row in pair)


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _rounded(x: np.ndarray) -> list[float | None]:
    return [round(float(v), _DECIMALS) if np.isfinite(v) else None for v in x]
