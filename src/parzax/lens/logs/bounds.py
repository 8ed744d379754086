"""Bounds that move from row to row: read as arrays, and checked."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import and_more, axis_label, find_first
from parzax.space import Float, Int, Numeric, Ordinal, Space, Varying
from parzax.space.axes import BOUND_SLACK, STEP_SLACK

Bounds = dict[str, np.ndarray]


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
            raise ValueError(f"bounds: {name!r} is not a number but {domain.kind}, so it cannot have bounds.")
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


def describe_bounds(space: Space, bounds: Bounds) -> dict[str, str]:
    """Name -> a sentence about the bounds, for every parameter whose bounds move."""
    sentences = {}
    for name in space.names:
        if not any(isinstance(domain, Varying) for domain in space[name]):
            continue
        rows = bounds.get(name, np.full((1, 2), np.nan)).reshape(-1, 2)
        reach = "and are not given, so its values are not compared"
        if not np.isnan(rows).all():
            ends = zip(("low", "high"), np.nanmin(rows, axis=0), np.nanmax(rows, axis=0), strict=True)
            reach = ", ".join(f"{side} {span_text(low, high)}" for side, low, high in ends)
        sentences[name] = f"bounds move, {reach}"
    return sentences


def span_text(low: float, high: float) -> str:
    """A range as text: both ends with four digits, or more if they look equal; one end if they are.

    >>> span_text(0.1, 0.5), span_text(2, 2), span_text(1700000189, 1700016442)
    ('0.1 to 0.5', '2', '1.7e+09 to 1.70002e+09')
    """
    spellings = ([f"{end:.{digits}g}" for end in (low, high)] for digits in range(4, 18))
    ends = next((ends for ends in spellings if ends[0] != ends[1]), [f"{low:.4g}"])
    return " to ".join(ends)
