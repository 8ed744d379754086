"""Good values at every level, and data for small pictures of the densities."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from parzax._words import visible
from parzax.lens.results import ImportanceResult
from parzax.lens.results.phrases import number, percent, regime_text, shorten
from parzax.lens.results.result import RegimeDensity, good_text
from parzax.space import Categorical

MOST_REGIMES = 6  # largest number of regimes shown per parameter
_MOST_PICTURES = 40
_MOST_CELLS = 20  # largest number of choices in a picture
_MOST_NUMBERS = 150_000  # largest count of numbers in all pictures; beyond it, pictures show fewer levels
_UNIT = 5000  # masses are whole numbers of 1 / 5000
_TEXT = 120


class RegimeValues(NamedTuple):
    """One regime of one parameter."""

    parameter: int
    caption: str  # its domain and conditions
    texts: list[str]  # (q,) which values are good at each level, and how many rows the regime has
    picture: dict[str, Any] | None  # densities by level as whole numbers; None if there is nothing to draw


def regime_values(
    result: ImportanceResult, order: list[int], parameters: Sequence[int]
) -> list[RegimeValues]:
    """The regimes of ``parameters``, at the levels ``order``; pictures of the first ones."""
    good = [{(x.parameter, x.regime): x for x in result.good_values(i)} for i in order]
    alpha, beta = (result.mean_over_seeds(x)[order] for x in (result.alpha, result.beta))
    out: list[RegimeValues] = []
    for j in parameters:
        name = result.names[j]
        domains = result.space[name]
        for k, domain in enumerate(domains[:MOST_REGIMES]):
            shared, texts = len(domains) > 1 or bool(domain.conditions), []
            for i, at_level in enumerate(good):
                values = at_level.get((name, k))
                nothing = "nothing stands out" if alpha[i, j, k] > 0 else "no rows among the best"
                target, region = (percent(round(share, 2)) for share in (alpha[i, j, k], beta[i, j, k]))
                part = f"; here are {target} of the best rows, {region} of all" if shared else ""
                texts.append(((values and good_text(values, domains)) or nothing) + part)
            has_picture = len(out) < _MOST_PICTURES and beta[0, j, k] > 0
            picture = _picture(result, result.density(name)[k], order) if has_picture else None
            out.append(RegimeValues(j, visible(shorten(regime_text(domain), _TEXT)), texts, picture))
    return out


def stride(pictures: Sequence[dict[str, Any] | None], n_levels: int) -> int:
    """Number of neighbouring levels that share one picture, so that the file stays small."""
    n_cells = sum(len(picture["region"]) for picture in pictures if picture)
    return max(1, -(-n_cells * n_levels // _MOST_NUMBERS))


def _picture(result: ImportanceResult, density: RegimeDensity, order: list[int]) -> dict[str, Any] | None:
    """A picture's data: mean masses of the cells over seeds, in the region and in each target."""
    if len(density.values) < 2:
        return None
    target, region = (result.mean_over_seeds(x)[order] for x in (density.target, density.region))
    values, kept = list(density.values), np.arange(len(density.values))
    choices = isinstance(density.domain, Categorical)
    if choices and len(values) > _MOST_CELLS:
        most = np.maximum(target.max(axis=0), region[0])
        kept = np.sort(np.argsort(-most, kind="stable")[:_MOST_CELLS])
    named = [visible(shorten(str(values[i]) if choices else number(float(values[i])), 14)) for i in kept]
    return {
        "region": np.round(region[0, kept] * _UNIT).astype(int).tolist(),
        "target": np.round(target[:, kept] * _UNIT).astype(int).tolist(),
        "ticks": named if len(named) <= 8 else [named[0], named[-1]],
        "hidden": len(values) - len(kept),
    }
