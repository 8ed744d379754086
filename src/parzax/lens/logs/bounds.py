"""Bounds that move from row to row: read, checked, and put into pools of rows with similar bounds.

For x in [0, c], rows with different c share no grid for x, but one grid for the places x / c. A pool of rows
with similar c is a regime in Eq. 11 of conditional PED-ANOVA (arXiv 2601.20800). (The paper's Appendix B.2
suggests fixed intervals; in native units these would give importance to x even if only c matters.)
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import and_more, axis_label, find_first
from parzax._words import plural
from parzax.importance import Encoded
from parzax.importance.layout import PLACES, cell_search, grid_cells
from parzax.space import Float, Int, Numeric, Ordinal, Space, Varying
from parzax.space.axes import BOUND_SLACK, STEP_SLACK

Bounds = dict[str, np.ndarray]
# Numbers with at most this relative difference count as equal.
_SAME = 1e-9
# Above this rank correlation of widths and middles, pools are made by width alone.
_ALIKE = 0.99
# The pool of the narrowest ranges is halved if their widths differ by more than this factor and each half has
# this many rows.
_DIFFERENT, _LEAST_HALF = 2.0, 50
# Share of a step by which a bound may miss the last step.
_STEP_SLACK = 1e-6


def read_bounds(
    bounds: Any, shape: tuple[int, ...], names: tuple[str, ...], read: Callable[[str, str], Any]
) -> Bounds:
    """Name -> (..., n, 2) bounds of rows of ``shape`` (..., n), unchecked; NaN where missing.

    Low and high are each a number, an array of ``shape``, or a text. For a text, ``read`` gets the name of
    the argument and the text, and returns the array.
    """
    _checks.instance("bounds", bounds, Mapping, "a dictionary, name -> (low, high)")
    arrays = {}
    for name, pair in bounds.items():
        _checks.one_of("a parameter of bounds", name, names)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"bounds[{name!r}] must be a pair (low, high), got {pair!r}.")
        sides = []
        for side, bound in zip(("low", "high"), pair, strict=True):
            what = f"bounds[{name!r}], {side}"
            array = _checks.float_array(what, read(what, bound) if isinstance(bound, str) else bound)
            if array.shape not in ((), shape):
                raise ValueError(f"{what} must be a number or have shape {shape}, got {array.shape}.")
            sides.append(np.broadcast_to(array, shape))
        arrays[name] = np.stack(sides, axis=-1)
    return arrays


def let_bounds_move(
    space: Space, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]], keep: np.ndarray
) -> Space:
    """An inferred space, with `Varying` domains for the parameters with bounds."""
    domains = {name: space[name] for name in space.names}
    for name, sides in bounds.items():
        (domain,) = space[name]
        # inferred because there are few different values, which means nothing if the bounds move
        if isinstance(domain, Ordinal):
            domain = (Int if domain.has_integers else Float)(domain.values[0], domain.values[-1])
        if not isinstance(domain, Numeric):
            raise ValueError(f"bounds: {name!r} is not a number but categorical, so it cannot have bounds.")
        lows, highs = (side[keep & np.isfinite(side)] for side in sides)
        low, high = lows.min(initial=domain.low), highs.max(initial=domain.high)
        step = 1 if domain.has_integers else None
        domains[name] = (Varying(low, high, log=domain.log and low > 0, step=step, when=domain.when),)
    return Space(domains)


def check_bounds(
    space: Space, values: np.ndarray, regime: np.ndarray, bounds: Bounds, used: np.ndarray
) -> Bounds:
    """Check bounds; return them for the rows where the domain of the parameter is `Varying`, NaN elsewhere.

    Rows outside ``used`` (..., n) may hold anything and get NaN.

    Raises:
        ValueError: for a parameter without a `Varying` domain. With the row: for bounds that are missing,
            infinite, reversed or beyond the domain, and for values outside their bounds or not on a step.
    """
    checked = {}
    for name, given in bounds.items():
        j, moves = space.index(name), np.zeros(used.shape, dtype=bool)
        if not any(isinstance(domain, Varying) for domain in space[name]):
            raise ValueError(f"bounds: {name!r} has no domain that moves; declare px.Varying(low, high).")
        for i, domain in enumerate(space[name]):
            if isinstance(domain, Varying):
                rows = (regime[..., j] == i) & used
                _check(name, domain, rows, values[..., j], given[..., 0], given[..., 1])
                moves |= rows
        checked[name] = np.where(moves[..., None], given, np.nan)
    return checked


def _check(
    name: str, domain: Varying, rows: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    """Raise for the first row with wrong bounds."""
    with np.errstate(invalid="ignore", over="ignore"):
        slack = BOUND_SLACK * np.maximum(np.abs(low), np.abs(high))
        span = f"[{domain.low!r}, {domain.high!r}]"
        problems = [
            (~np.isfinite(low) | ~np.isfinite(high), "; give finite bounds where it is active"),
            (low > high, "; give the lower bound first"),
            ((low < domain.low - slack) | (high > domain.high + slack),
             f", which is beyond the domain's {span}; declare px.Varying over all bounds"),
            (~((value >= low - slack) & (value <= high + slack)),
             ", but the value is {value!r}; correct the value or the bounds"),
        ]  # fmt: skip
        if domain.step is not None:
            steps = (value - low) / domain.step
            no_step = f"is not a whole number of steps of {domain.step!r} above the lower bound"
            problem = f", and {{value!r}} {no_step}; correct it, or leave step out"
            problems.append((np.abs(steps - np.round(steps)) > STEP_SLACK, problem))
    for bad, problem in problems:
        if where := find_first(bad & rows):
            ends = f"{axis_label(where)} has [{float(low[where])!r}, {float(high[where])!r}]"
            problem = problem.format(value=float(value[where]))
            raise ValueError(f"bounds[{name!r}]: {ends}{problem}{and_more(bad & rows)}.")


def assign_pools(encoded: Encoded, obs: Any, in_region: np.ndarray) -> dict[str, str]:
    """Put the rows of domains whose bounds move into pools; return a sentence for each parameter.

    The sentence says how many rows the pools of the first seed have.

    Rows outside the region, rows without bounds, and rows whose bounds leave one value get no pool.

    Args:
        encoded: s seeds, whose ``codes`` are changed in place; ``grid.max_pools`` limits the number of pools.
        obs: the log, `parzax.Observations`.
        in_region: (s, n) mask of the rows of the region.
    """
    where, grid, shape, bounds = encoded.layout, encoded.grid, in_region.shape, obs.bounds or {}
    if not where.varying.any():
        return {}
    weight = np.where(in_region, 1.0 if obs.weight is None else obs.weight.reshape(shape), 0.0)
    n_cells, find_cells = grid_cells(PLACES, grid)[1], cell_search(PLACES, grid)
    pools: dict[str, list[float]] = {}
    for block in where.blocks:
        if not block.varying or block.is_pool:
            continue
        name, j = obs.space.names[block.parameter], block.parameter
        pools.setdefault(name, [])
        if name not in bounds or not grid.max_pools:
            continue
        # The first pool follows the cell of rows without a pool.
        domain, start = obs.space[name][block.regime], block.start - where.offsets[j] + block.n_cells
        here = (obs.regime[..., j].reshape(shape) == block.regime) & (weight > 0)
        low, high = np.moveaxis(bounds[name].reshape(*shape, 2), -1, 0)
        place = relative_places(obs.values[..., j].reshape(shape), low, high, domain)
        for seed in range(shape[0]):
            rows = np.flatnonzero(here[seed] & ~np.isnan(place[seed]))
            if len(rows):
                ends = _ends(low[seed, rows], high[seed, rows], domain)
                pool = find_pools(*ends, weight[seed, rows], grid.max_pools)
                cells = start + pool * n_cells + find_cells(place[seed, rows])
                encoded.codes[seed, j, rows] = cells.astype(encoded.codes.dtype)
                if seed == 0:
                    pools[name] += [n for n in np.bincount(pool, weight[seed, rows]).tolist() if n]
    return {name: _describe_pools(sizes, shape[0], given=name in bounds) for name, sizes in pools.items()}


def relative_places(values: np.ndarray, low: np.ndarray, high: np.ndarray, domain: Varying) -> np.ndarray:
    """Places of values (n,) between their bounds, from 0 to 1; NaN if the bounds leave one value, or none.

    The place is u = (x - low) / (high - low), computed from logarithms if the domain has a log axis. Stepped
    values are the centres of cells that fill [0, 1]: low and high are then half a step further out.
    """
    start, end = _ends(low, high, domain)
    length = end - start
    # A range shorter than a step has one value.
    single = high - low <= (0.0 if domain.step is None else domain.step * (1 - _STEP_SLACK))
    with np.errstate(invalid="ignore", divide="ignore"):
        place = ((np.log(values) if domain.log else values) - start) / np.where(single, np.nan, length)
    return np.clip(place, 0.0, 1.0)


def find_pools(start: np.ndarray, end: np.ndarray, weight: np.ndarray, most: int) -> np.ndarray:
    """Pool number of each of n rows, from 0 to at most ``most`` - 1.

    Rows with a total weight of n are put into K = n^(1/3) / 2 pools, rounded, of about equal weight; equal
    ranges stay together. Pools are made by the width of the ranges, or by their middle if all widths are
    equal. If the rank correlation of width and middle is at most 0.99, fewer pools are made by width, and
    each is split by middle. This treats both ends of a range alike; for [0, c] the pools are by c. In the
    pool of the narrowest ranges widths may differ by any factor, so it is halved if it has enough rows.

    Args:
        start, end: (n,) ends of the ranges on the axis of the domain.
        weight: (n,) frequency weights, above 0.
        most: K is between 1 and ``most`` - 1, so that one pool can still be halved.
    """
    n_pools = min(max(math.floor(np.cbrt(weight.sum()) / 2 + 0.5), 1), max(most - 1, 1))
    scale = np.maximum(np.abs(start), np.abs(end)).max()
    width, middle = (_rank(x, weight, _SAME * scale) for x in (end - start, start / 2 + end / 2))
    if np.ptp(width) == 0:
        return _split(middle, n_pools)
    if np.ptp(middle) == 0 or abs(np.corrcoef(width, middle)[0, 1]) > _ALIKE:
        pool = _split(width, n_pools)
        return _halve_narrowest(pool, end - start, weight) if most > 1 else pool
    n_widths = math.isqrt(n_pools)
    n_middles, pool = n_pools // n_widths, _split(width, n_widths)
    inner = np.zeros_like(pool)
    for number in np.unique(pool):
        rows = pool == number
        inner[rows] = _split(_rank(middle[rows], weight[rows], 0.0), n_middles)
    return pool * n_middles + inner


def _halve_narrowest(pool: np.ndarray, width: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Halve the pool of the narrowest ranges, if it has enough rows and its widths differ enough."""
    first = pool == pool.min()
    narrow = width[first]
    if weight[first].sum() < 2 * _LEAST_HALF or narrow.max() <= _DIFFERENT * narrow.min():
        return pool
    moved = pool + 1
    moved[first] = pool.min() + _split(_rank(narrow, weight[first], 0.0), 2)
    return moved


def _ends(low: np.ndarray, high: np.ndarray, domain: Varying) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the ranges on the axis; for values in steps, the outer ends of the first and last cell."""
    if domain.step is not None:
        last = low + domain.step * np.floor((high - low) / domain.step + _STEP_SLACK)
        low, high = low - domain.step / 2, last + domain.step / 2
    return (np.log(low), np.log(high)) if domain.log else (low, high)


def _rank(x: np.ndarray, weight: np.ndarray, same: float) -> np.ndarray:
    """Share of the weight below each number, plus half the share at it; 0.5 if all are within ``same``."""
    if np.ptp(x) <= same:
        return np.full(len(x), 0.5)
    _, equal = np.unique(x, return_inverse=True)
    tied_weight = np.bincount(equal, weight)
    upto = np.cumsum(tied_weight)
    return ((upto - tied_weight / 2) / upto[-1])[equal]


def _split(ranks: np.ndarray, n: int) -> np.ndarray:
    """Index of the part that contains each number, if [0, 1] has n equal parts."""
    return np.minimum((ranks * n).astype(np.int64), n - 1)


def _describe_pools(sizes: list[float], n_seeds: int, *, given: bool) -> str:
    """How values between bounds that move are compared; ``given`` says whether the log has the bounds.

    ``sizes`` are the numbers of rows of the pools.
    """
    if not sizes:
        return f"bounds move, {'' if given else 'and are not given, '}so its values are not compared"
    pools = f"{plural(len(sizes), 'pool')} of rows with similar bounds"
    n_rows = f"{', '.join(f'{size:.6g}' for size in sizes)} rows{' in the first seed' * (n_seeds > 1)}"
    return f"bounds move, values compared by their places between them in {pools} ({n_rows})"


def span_text(low: float, high: float) -> str:
    """A range as text: both ends with four digits, or more if they look equal; one end if they are.

    >>> span_text(0.1, 0.5), span_text(2, 2), span_text(1700000189, 1700016442)
    ('0.1 to 0.5', '2', '1.7e+09 to 1.70002e+09')
    """
    spellings = ([f"{end:.{digits}g}" for end in (low, high)] for digits in range(4, 18))
    ends = next((ends for ends in spellings if ends[0] != ends[1]), [f"{low:.4g}"])
    return " to ".join(ends)
