"""Good values at every level, and small pictures of the densities."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from parzax._words import visible
from parzax.page.numbers import Numbers
from parzax.page.words import percent
from parzax.results import ImportanceResult
from parzax.results.good_values import good_values, values_text
from parzax.results.labels import shorten
from parzax.results.phrases import number, regime
from parzax.results.result import RegimeDensity
from parzax.space import Categorical

MOST_REGIMES = 6  # of one parameter
_MOST_PICTURES = 40
_MOST_CELLS = 20  # choices that a picture shows
_MOST_NUMBERS = 150_000  # in all pictures; beyond that they show fewer levels
_UNIT = 5000  # masses are whole numbers of 1 / 5000
_TEXT = 120


class RegimeValues(NamedTuple):
    """One regime of one parameter.

    Attributes:
        parameter, regime: which.
        caption: its domain and conditions.
        good: (q,) which values are good at each level, "" where none stand out.
        texts: (q,) the same in a sentence, with the shares of the regime.
        picture: the densities as whole numbers, by level; None where there is nothing to draw.
    """

    parameter: int
    regime: int
    caption: str
    good: list[str]
    texts: list[str]
    picture: dict[str, Any] | None


def regime_values(result: ImportanceResult, own: Numbers, parameters: Sequence[int]) -> list[RegimeValues]:
    """The regimes of ``parameters``, in their order; pictures of the first ones."""
    densities = cache(result.density)
    good = [
        {(found.parameter, found.regime): found for found in good_values(result, densities, int(level))}
        for level in own.order
    ]
    alpha, beta = (x.reshape(-1, *x.shape[-3:]).mean(axis=0)[own.order] for x in (result.alpha, result.beta))
    out: list[RegimeValues] = []
    for j in parameters:
        name = result.names[j]
        domains = result.space[name]
        for k, domain in enumerate(domains[:MOST_REGIMES]):
            shared = len(domains) > 1 or bool(domain.conditions)
            chosen, texts = [], []
            for i in range(len(own.levels)):
                found = None if own.chance[i, j] else good[i].get((name, k))
                chosen.append("")
                # A surplus that the shares do not show is none to speak of.
                if found is not None and round(found.target, 2) > round(found.region, 2):
                    what = visible(shorten(values_text(found, domain), _TEXT))
                    chosen[-1] = f"{what} ({_shares(found.target, found.region)})"
                nothing = "nothing stands out" if alpha[i, j, k] > 0 else "no rows among the best"
                part = f"; in this regime {_shares(alpha[i, j, k], beta[i, j, k])}" if shared else ""
                texts.append((chosen[-1] or nothing) + part)
            picture = None
            if len(out) < _MOST_PICTURES and beta[0, j, k] > 0:
                picture = _picture(densities(name)[k], own)
            caption = visible(shorten(regime(domain), _TEXT))
            out.append(RegimeValues(j, k, caption, chosen, texts, picture))
    return out


def stride(values: Sequence[RegimeValues], n_levels: int) -> int:
    """How many levels share one picture, so that these take little room."""
    n_cells = sum(len(own.picture["region"]) for own in values if own.picture is not None)
    return max(1, -(-n_cells * n_levels // _MOST_NUMBERS))


def _picture(density: RegimeDensity, own: Numbers) -> dict[str, Any] | None:
    """Mean masses over the seeds, per cell: the region's at the default level, the target's at every one."""
    if len(density.values) < 2:
        return None
    target, region = (
        np.mean(x.reshape(-1, *x.shape[-2:]), axis=0, dtype=np.float64)[own.order]
        for x in (density.target, density.region)
    )
    values, kept = list(density.values), np.arange(len(density.values))
    choices = isinstance(density.domain, Categorical)
    if choices and len(values) > _MOST_CELLS:
        most = np.maximum(target.max(axis=0), region[own.default])
        kept = np.sort(np.argsort(-most, kind="stable")[:_MOST_CELLS])
    named = [visible(shorten(str(values[i]) if choices else number(float(values[i])), 14)) for i in kept]
    return {
        "region": np.round(region[own.default, kept] * _UNIT).astype(int).tolist(),
        "target": np.round(target[:, kept] * _UNIT).astype(int).tolist(),
        "ticks": named if len(named) <= 8 else [named[0], named[-1]],
        "hidden": len(values) - len(kept),
    }


def _shares(target: float, region: float) -> str:
    return f"{percent(round(target, 2))} of the best rows, {percent(round(region, 2))} of all"
