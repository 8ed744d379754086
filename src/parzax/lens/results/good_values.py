"""Find good values: the range or the choices of each regime that are over-represented in the target."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from parzax._words import join_names, visible
from parzax.lens.logs.bounds import span_text
from parzax.lens.results.phrases import percent, shorten
from parzax.space import Categorical, Domain, Int, Ordinal, Varying

# Number of choices, and of characters, in a line of text.
_CHOICES_SHOWN, _TEXT = 6, 120


class GoodValues(NamedTuple):
    """Values that are more frequent in the target than in the region, for one regime of one parameter.

    Attributes:
        parameter: name of the parameter.
        regime: number of the regime's domain.
        values: ends (low, high) of a range of numbers, both included; or choices, the best first. If bounds
            move (`parzax.Varying`), the ends are places between the bounds, from 0 to 1.
        target: share of the target's rows in this regime that have such values.
        region: share of the region's rows in this regime that have such values.
        importance: the parameter's mean importance over seeds.
        n_target: mean number of rows of the target in the regime.
    """

    parameter: str
    regime: int
    values: tuple[Any, ...]
    target: float
    region: float
    importance: float
    n_target: float


def good_values(result: Any, level: int) -> list[GoodValues]:
    """Good values of all parameters of an `ImportanceResult` at a level, the most important parameter first.

    They are the values whose share of the target's density exceeds their share of the region's by most; the
    densities are averaged over the seeds. For a number they are a contiguous range, for a category any set of
    choices. Regimes without rows in the target, parameters of a single value, and importances that are not
    defined, 0 or not above chance are left out.
    """
    rows, good = result.mean_over_seeds(result.regime_target)[level], []
    for j in result.order(level):
        shown = result.above[level, j] and result.has_mean[level, j]
        for regime, density in enumerate(result.density(result.names[j]) if shown else ()):
            if rows[j, regime] > 0 and len(density.values) > 1:
                masses = (result.mean_over_seeds(x)[level] for x in (density.target, density.region))
                values, cells = _best(density.domain, density.values, *masses)
                counts = result.by_seed(density.rows).sum(axis=0)[[level, -1]]
                target, region = (counts[:, cells].sum(axis=1) / counts.sum(axis=1)).tolist()
                numbers = target, region, float(result.mean[level, j]), float(rows[j, regime])
                good.append(GoodValues(result.names[j], regime, values, *numbers))
    return good


def _best(
    domain: Domain, values: list, target: np.ndarray, region: np.ndarray
) -> tuple[tuple[Any, ...], Any]:
    """The good values of one regime, and the cells of the grid that contain them."""
    excess = target - region
    if isinstance(domain, Categorical):
        chosen = np.flatnonzero(excess > 0)
        chosen = chosen[np.argsort(-target[chosen] / np.maximum(region[chosen], 1e-300), kind="stable")]
        return tuple(values[i] for i in chosen), chosen
    # The contiguous cells with the largest sum, as the largest difference of two running sums.
    running = np.concatenate([[0.0], np.cumsum(excess)])
    lowest = np.minimum.accumulate(running[:-1])
    stop = int(np.argmax(running[1:] - lowest)) + 1
    start = int(np.argmin(running[:stop]))
    return _ends(domain, values, start, stop), slice(start, stop)


def _ends(domain: Domain, values: list, start: int, stop: int) -> tuple[Any, Any]:
    """The ends of a range of cells: midway to the next cell on the domain's axis, or listed numbers."""
    if isinstance(domain, Ordinal):
        return float(values[start]), float(values[stop - 1])
    # If bounds move, values are places between them, not values on the domain's axis.
    log = getattr(domain, "log", False) and not isinstance(domain, Varying)
    centres = np.log(values) if log else np.asarray(values, np.float64)
    middles = (centres[1:] + centres[:-1]) / 2
    edges = [values[0], *(np.exp(middles) if log else middles), values[-1]]
    low, high = edges[start], edges[stop]
    if isinstance(domain, Int):
        low, high = int(np.ceil(low - 1e-9)), int(np.floor(high + 1e-9))
        return low, max(low, high)
    return float(low), float(high)


def good_text(good: GoodValues, domains: Sequence[Domain]) -> str:
    """ "0.2 to 0.4 (80 % of the best rows, 20 % of all)"; "" if both rounded shares are equal.

    For one of several domains, or a parameter with conditions, shares are of its rows: "80 % of the best
    rows where it is active, 20 % of all such rows".
    """
    if round(good.target, 2) <= round(good.region, 2):
        return ""
    target, region = (percent(round(share, 2)) for share in (good.target, good.region))
    part = "on this domain" if len(domains) > 1 else "where it is active" if domains[0].conditions else ""
    shares = (
        f"of the best rows {part}, {region} of all such rows"
        if part
        else f"of the best rows, {region} of all"
    )
    return f"{visible(shorten(values_text(good.values, domains[good.regime]), _TEXT))} ({target} {shares})"


def values_text(values: Sequence[Any], domain: Domain) -> str:
    """The values of `GoodValues` as text: "0.2 to 0.4", or the first few choices."""
    if isinstance(domain, Categorical):
        return join_names(list(map(str, values)), _CHOICES_SHOWN)
    return span_text(*values) + " of the way between its bounds" * isinstance(domain, Varying)
