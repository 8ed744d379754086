"""Bounds that move from row to row: from what is given to arrays, and what is wrong with them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parzax import _checks
from parzax.space import Space, Varying
from parzax.space.axes import BOUND_SLACK
from parzax.space.cells import STEP_SLACK

Bounds = dict[str, np.ndarray]


def given_bounds(
    bounds: Any, shape: tuple[int, ...], known: tuple[str, ...], column: Callable[[str, str], Any]
) -> Bounds:
    """Name -> (..., n, 2) bounds of rows of ``shape`` (..., n), as they are said: NaN where they are missing.

    Each of low and high is a number, an array of that shape, or what ``column`` gives of the argument's name
    and a text.
    """
    _checks.instance("bounds", bounds, Mapping, "a dictionary, name -> (low, high)")
    found = {}
    for name, pair in bounds.items():
        if name not in known:
            raise ValueError(
                f"bounds: there is no parameter {name!r}; the parameters are {', '.join(known)}."
            )
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"bounds[{name!r}] must be a pair (low, high), got {pair!r}.")
        sides = []
        for side, bound in zip(("low", "high"), pair, strict=True):
            what = f"bounds[{name!r}], {side}"
            array = _checks.float_array(what, column(what, bound) if isinstance(bound, str) else bound)
            if array.shape not in ((), shape):
                raise ValueError(f"{what} must be a number or have shape {shape}, got {array.shape}.")
            sides.append(np.broadcast_to(array, shape))
        found[name] = np.stack(sides, axis=-1)
    return found


def checked_bounds(
    space: Space, values: np.ndarray, regime: np.ndarray, bounds: Bounds, used: np.ndarray
) -> Bounds:
    """Bounds of parameters in the rows in which they are of a domain that moves, NaN in all others.

    Rows outside ``used`` (..., n) may hold anything, and have none.

    Raises:
        ValueError: a parameter without a `Varying` domain; with the row, bounds that are missing, infinite,
            the wrong way round or beyond the domain, and values that are not within them, or not on a step.
    """
    found = {}
    for name, given in bounds.items():
        j, here = space.index(name), np.zeros(used.shape, dtype=bool)
        domains = [(i, own) for i, own in enumerate(space[name]) if isinstance(own, Varying)]
        if not domains:
            raise ValueError(
                f"bounds: {name!r} has no domain that moves; declare it as px.Varying(low, high)."
            )
        value, low, high = values[..., j], given[..., 0], given[..., 1]
        for i, domain in domains:
            own = (regime[..., j] == i) & used
            _check(name, domain, own, value, low, high)
            here |= own
        found[name] = np.where(here[..., None], given, np.nan)
    return found


def _check(
    name: str, domain: Varying, here: np.ndarray, value: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    """Refuse the first row that is wrong."""

    def refuse(bad: np.ndarray, what: Callable[[Any], str]) -> None:
        if (bad & here).any():
            rows = np.argwhere(bad & here)
            where = tuple(rows[0])
            more = f" (and {len(rows) - 1} more such rows)" if len(rows) > 1 else ""
            ends = f"[{float(low[where])!r}, {float(high[where])!r}]"
            row = _checks.axis_label(where)
            raise ValueError(f"bounds[{name!r}]: {row} has {ends}{what(float(value[where]))}{more}.")

    with np.errstate(invalid="ignore", over="ignore"):
        refuse(~np.isfinite(low) | ~np.isfinite(high), lambda _: "; give finite bounds where it is active")
        refuse(low > high, lambda _: "; give the lower one first")
        slack = BOUND_SLACK * np.maximum(np.abs(low), np.abs(high))
        span = f"[{domain.low!r}, {domain.high!r}]"
        refuse(
            (low < domain.low - slack) | (high > domain.high + slack),
            lambda _: f", which is beyond the domain's {span}; declare px.Varying over all bounds",
        )
        refuse(
            ~((value >= low - slack) & (value <= high + slack)),
            lambda x: f", but the value is {x!r}; correct the one or the other",
        )
        if domain.step is not None:
            steps = (value - low) / domain.step
            refuse(
                np.abs(steps - np.round(steps)) > STEP_SLACK,
                lambda x: (
                    f", and {x!r} is no whole number of steps of {domain.step!r} above the lower one; "
                    "correct it, or leave step out"
                ),
            )


def notes(space: Space, bounds: Bounds) -> dict[str, str]:
    """A sentence for every parameter whose bounds move."""
    moving = [name for name in space.names if any(isinstance(own, Varying) for own in space[name])]
    return {name: f"bounds move, {_reach(bounds.get(name))}" for name in moving}


def _reach(bounds: np.ndarray | None) -> str:
    if bounds is None or np.isnan(bounds).all():
        return "and are not known, so that its values are not compared"
    rows = bounds.reshape(-1, 2)
    ends = zip(("low", "high"), np.nanmin(rows, axis=0), np.nanmax(rows, axis=0), strict=True)
    return ", ".join(f"{side} {span_text(low, high)}" for side, low, high in ends)


def span_text(low: float, high: float) -> str:
    """ "0.1 to 0.5", or "0.1" where both ends are the same."""
    return f"{low:.4g}" + f" to {high:.4g}" * bool(low < high)
