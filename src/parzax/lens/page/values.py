"""Good values at every level, and data for small pictures of the densities."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from parzax._words import visible
from parzax.lens.page.numbers import Numbers
from parzax.lens.page.words import percent
from parzax.lens.results import ImportanceResult
from parzax.lens.results.good_values import GoodValues, good_values, regime_part, values_text
from parzax.lens.results.labels import shorten
from parzax.lens.results.phrases import number, regime_text
from parzax.lens.results.result import RegimeDensity
from parzax.space import Categorical, Domain

MOST_REGIMES = 6  # largest number of regimes shown per parameter
_MOST_PICTURES = 40
_MOST_CELLS = 20  # largest number of choices in a picture
_MOST_NUMBERS = 150_000  # largest count of numbers in all pictures; beyond it, pictures show fewer levels
_UNIT = 5000  # masses are whole numbers of 1 / 5000
_TEXT = 120


class RegimeValues(NamedTuple):
    """One regime of one parameter."""

    parameter: int
    regime: int
    caption: str  # its domain and conditions
    good: list[str]  # (q,) which values are good at each level, "" where none stand out
    texts: list[str]  # (q,) the same as a sentence, with the shares of rows
    picture: dict[str, Any] | None  # densities by level as whole numbers; None if there is nothing to draw


def regime_values(result: ImportanceResult, stats: Numbers, parameters: Sequence[int]) -> list[RegimeValues]:
    """The regimes of ``parameters``, in their order; pictures of the first ones."""
    densities = cache(result.density)
    by_level = [good_values(result, densities, i) for i in stats.order.tolist()]
    good = [{(values.parameter, values.regime): values for values in at_level} for at_level in by_level]
    alpha, beta = (result.mean_over_seeds(x)[stats.order] for x in (result.alpha, result.beta))
    out: list[RegimeValues] = []
    for j in parameters:
        name = result.names[j]
        domains = result.space[name]
        for k, domain in enumerate(domains[:MOST_REGIMES]):
            shared = len(domains) > 1 or bool(domain.conditions)
            good_texts, texts = [""] * len(stats.levels), []
            for i, at_level in enumerate(good):
                values = None if stats.chance[i, j] else at_level.get((name, k))
                good_texts[i] = good_text(values, domains) if values else ""
                nothing = "nothing stands out" if alpha[i, j, k] > 0 else "no rows among the best"
                part = f"; in this regime {_shares(alpha[i, j, k], beta[i, j, k])}" if shared else ""
                texts.append((good_texts[i] or nothing) + part)
            has_picture = len(out) < _MOST_PICTURES and beta[0, j, k] > 0
            picture = _picture(result, densities(name)[k], stats) if has_picture else None
            caption = visible(shorten(regime_text(domain), _TEXT))
            out.append(RegimeValues(j, k, caption, good_texts, texts, picture))
    return out


def good_text(good: GoodValues, domains: Sequence[Domain]) -> str:
    """ "0.2 to 0.4 (80 % of the best rows, 20 % of all)"; "" if both rounded shares are equal.

    For one of several domains, or a parameter with conditions, shares are of its rows: "80 % of the best
    rows where it is active, 20 % of all such rows".
    """
    if round(good.target, 2) <= round(good.region, 2):
        return ""
    what = visible(shorten(values_text(good.values, domains[good.regime]), _TEXT))
    if not (part := regime_part(domains)):
        return f"{what} ({_shares(good.target, good.region)})"
    target, region = (percent(round(share, 2)) for share in (good.target, good.region))
    return f"{what} ({target} of the best rows {part}, {region} of all such rows)"


def stride(pictures: Sequence[dict[str, Any] | None], n_levels: int) -> int:
    """Number of neighbouring levels that share one picture, so that the file stays small."""
    n_cells = sum(len(picture["region"]) for picture in pictures if picture)
    return max(1, -(-n_cells * n_levels // _MOST_NUMBERS))


def _picture(result: ImportanceResult, density: RegimeDensity, stats: Numbers) -> dict[str, Any] | None:
    """A picture's data: mean masses of the cells over seeds, in the region and in each target."""
    if len(density.values) < 2:
        return None
    target, region = (result.mean_over_seeds(x)[stats.order] for x in (density.target, density.region))
    values, kept = list(density.values), np.arange(len(density.values))
    choices = isinstance(density.domain, Categorical)
    if choices and len(values) > _MOST_CELLS:
        most = np.maximum(target.max(axis=0), region[stats.default])
        kept = np.sort(np.argsort(-most, kind="stable")[:_MOST_CELLS])
    named = [visible(shorten(str(values[i]) if choices else number(float(values[i])), 14)) for i in kept]
    return {
        "region": np.round(region[stats.default, kept] * _UNIT).astype(int).tolist(),
        "target": np.round(target[:, kept] * _UNIT).astype(int).tolist(),
        "ticks": named if len(named) <= 8 else [named[0], named[-1]],
        "hidden": len(values) - len(kept),
    }


def _shares(target: float, region: float) -> str:
    return f"{percent(round(target, 2))} of the best rows, {percent(round(region, 2))} of all"
