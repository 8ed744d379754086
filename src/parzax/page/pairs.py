"""Interactions of pairs, as the page shows them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parzax.importance.phrases import value_text
from parzax.page.numbers import Numbers

_MOST_PAIRS = 20  # in the table
_DECIMALS = 4


def pairs(
    interactions: Any, own: Numbers, names: Sequence[str], shown: Sequence[int]
) -> dict[str, Any] | None:
    """Importances and p-values of the pairs of ``shown`` parameters at every level of the page; or None.

    A level of the page shows that of the interactions which is nearest to it. Several seeds are averaged, and
    their p-values left out.
    """
    if interactions is None:
        return None
    n = len(interactions.pairs)
    importance, p = (
        np.asarray(getattr(interactions, name), np.float64) for name in ("importance", "p_adjusted")
    )
    levels = np.asarray(interactions.target_quantile, np.float64).reshape(-1)
    if importance.shape[-2:] != (len(levels), n):
        raise ValueError(
            f"interactions: importance has shape {importance.shape} for {len(levels)} levels and {n} pairs."
        )
    several = int(np.prod(importance.shape[:-2], dtype=int)) > 1
    importance, p = (x.reshape(-1, len(levels), n).mean(axis=0) for x in (importance, p))
    row_of = {names[j]: row for row, j in enumerate(shown)}
    kept = [i for i, pair in enumerate(interactions.pairs) if all(name in row_of for name in pair)]
    # The strongest at any level first.
    kept.sort(key=lambda i: -np.nan_to_num(importance[:, i]).max(initial=0.0))
    nearest = np.abs(own.levels[:, None] - levels).argmin(axis=1)
    found, inverse = np.unique(nearest, return_inverse=True)
    text = [
        [_text(float(importance[q, i]), float(p[q, i]), several) for i in kept[:_MOST_PAIRS]] for q in found
    ]
    return {
        "pairs": [[row_of[name] for name in interactions.pairs[i]] for i in kept],
        "importance": [_rounded(importance[q, kept]) for q in found],
        "text": text,
        "level": inverse.tolist(),
    }


def _text(importance: float, p: float, several: bool) -> list[str]:
    if not np.isfinite(importance):
        return ["–", ""]
    share = value_text(max(importance, 0.0))
    return [share, "" if several or not np.isfinite(p) else p_text(p)]


def p_text(p: float) -> str:
    """A p-value with three decimals."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _rounded(x: np.ndarray) -> list[float | None]:
    return [round(float(v), _DECIMALS) if np.isfinite(v) else None for v in x]
