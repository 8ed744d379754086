"""Find good values: the range or the choices of each regime that are over-represented in the target."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from parzax._words import join_names, plural, visible
from parzax.lens.logs.bounds import span_text
from parzax.lens.results.arrays import ResultArrays
from parzax.space import Categorical, Domain, Int, Ordinal, Space, Varying

# Number of choices in a line of text.
_CHOICES_SHOWN = 6


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


def good_values(
    result: ResultArrays, densities: Callable[[str], Sequence[Any]], level: int
) -> list[GoodValues]:
    """Good values of all parameters at the ``level``-th level, the most important parameter first.

    ``densities`` returns one density per regime of a parameter; each is averaged over the seeds. The good
    values are those whose share of the target's density exceeds their share of the region's by most. For a
    number they are a contiguous range, for a category any set of choices. Regimes without rows in the target,
    parameters of a single value, and importances that are not defined, 0 or not above chance are left out.
    """
    importance = result.over_seeds()[0][level]
    shown = result.is_above(level) & result.by_seed(result.is_defined)[:, level].any(axis=0)
    rows = result.mean_over_seeds(result.regime_target)[level]
    good = []
    for name in result.ranking(level):
        j = result.space.index(name)
        for regime, density in enumerate(densities(name) if shown[j] else ()):
            if rows[j, regime] > 0 and len(density.values) > 1:
                masses = (result.mean_over_seeds(x)[level] for x in (density.target, density.region))
                values, cells = _best(density.domain, density.values, *masses)
                counts = result.by_seed(density.rows).sum(axis=0)[[level, -1]]
                target, region = (counts[:, cells].sum(axis=1) / counts.sum(axis=1)).tolist()
                numbers = target, region, float(importance[j]), float(rows[j, regime])
                good.append(GoodValues(name, regime, values, *numbers))
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


def to_lines(good: Sequence[GoodValues], space: Space, level: float, left_out: int = 0) -> list[str]:
    """Lines of text: a title, one line per entry of ``good``, and one on the number ``left_out``."""
    lines = [f"good values at level {level:g}"]
    several = {name for name in space.names if len(space[name]) > 1}
    for name, regime, values, target, region, *_ in good:
        what = visible(values_text(values, space[name][regime]))
        where = f" [{regime}]" if name in several else ""
        shares = f"{target:.0%} of the target, {region:.0%} of the region"
        if part := regime_part(space[name]):
            shares = f"{target:.0%} of the target rows {part}, {region:.0%} of such rows of the region"
        lines.append(f"{visible(name)}{where}: {what} ({shares})")
    if len(lines) == 1:
        lines[0] += ": none stand out"
    if left_out:
        lines.append(f"not listed (not above chance, or not comparable): {plural(left_out, 'parameter')}")
    return lines


def regime_part(domains: Sequence[Domain]) -> str:
    """Which rows the shares of `GoodValues` are of, in words; "" if they are all rows."""
    if len(domains) > 1:
        return "in this regime"
    return "where it is active" if domains[0].conditions else ""


def values_text(values: Sequence[Any], domain: Domain) -> str:
    """The values of `GoodValues` as text: "0.2 to 0.4", or the first few choices."""
    if isinstance(domain, Categorical):
        return join_names(list(map(str, values)), _CHOICES_SHOWN)
    return span_text(*values) + " of the way between its bounds" * isinstance(domain, Varying)
