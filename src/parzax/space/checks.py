"""Checks of rows against a space: values in their domains, regimes by the conditions."""

from dataclasses import replace
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import and_more, axis_label, find_first
from parzax.space.domains import Categorical, Domain
from parzax.space.frame import INACTIVE
from parzax.space.space import Space


def check_regimes(space: Space, values: np.ndarray, regime: Any, used: np.ndarray) -> np.ndarray:
    """Check values (..., n, d) and return the regimes (..., n, d) int16 of all rows, derived if not given.

    Only the rows ``used`` (..., n) are checked. In other rows unusable values are replaced by NaN, in place.
    """
    given = None if regime is None else _check_given(space, values, regime)
    regimes, valid = space.classify(values, given)
    # A given regime must equal the regime from the conditions, wherever these can be evaluated.
    contradicted = np.zeros(values.shape, bool) if given is None else given != regimes
    for column in () if valid.all() else range(len(space)):
        bad, value, of_column = ~valid[..., column], values[..., column], regimes[..., column]
        name, absent, checked = space.names[column], np.isnan(value), used & ~contradicted[..., column]
        for i, domain in enumerate(space.domains[column]):
            wrong = bad & checked & (of_column == i)
            _refuse(wrong & absent, value, column, name, "is missing but the parameter is active")
            _refuse(wrong, value, column, name, f"is outside {_describe_domain(domain)}")
        inactive = bad & checked & (of_column == INACTIVE)
        _refuse(inactive, value, column, name, "is given but the parameter is inactive")
        of_column[bad], value[bad] = INACTIVE, np.nan
    if given is not None and (where := find_first(contradicted & used[..., None])):
        what = f"but by the conditions of the space it is {int(regimes[where])}"
        raise ValueError(f"{_entry(space, given, where)}, {what}; leave regime out to derive it.")
    return regimes


def refuse_rows(name: str, space: Space, x: Any, valid: np.ndarray) -> None:
    """Raise ValueError for the first row of native values (n, d) that is not ``valid`` (n, d)."""
    if where := find_first(np.logical_not(valid.all(axis=1))):
        wrong = [space.names[j] for j in np.flatnonzero(~valid[where])]
        row = f"row {where[0]} is not a configuration of the space: {np.asarray(x[where]).tolist()}"
        remedy = "values are native, categories are codes, inactive parameters are NaN"
        raise ValueError(f"{name}: {row} is wrong in {', '.join(wrong)}; {remedy}.")


def _check_given(space: Space, values: np.ndarray, regime: Any) -> np.ndarray:
    regime = _checks.unmasked("regime", regime)
    if regime.shape != values.shape or regime.dtype.kind not in "iu":
        given = f"dtype {regime.dtype}, shape {regime.shape}"
        raise ValueError(f"regime must be integers of shape {values.shape}, got {given}.")
    counts = np.array([len(d) for d in space.domains])
    if where := find_first((regime < INACTIVE) | (regime >= counts)):
        limit = counts[where[-1]]
        raise ValueError(f"{_entry(space, regime, where)}; it must be -1 (inactive) or below {limit}.")
    return regime.astype(np.int16)


def _entry(space: Space, regimes: np.ndarray, where: tuple[Any, ...]) -> str:
    column = f"column {space.names[where[-1]]!r}"
    return f"regime: {axis_label(where[:-1])}, {column} is {int(regimes[where])}"


def _refuse(bad: np.ndarray, value: np.ndarray, column: int, name: str, what: str) -> None:
    if where := find_first(bad):
        entry = f"{axis_label(where)}, column {column} ({name!r}) = {float(value[where])!r}"
        raise ValueError(f"values: {entry} {what}{and_more(bad)}.")


def _describe_domain(domain: Domain) -> str:
    if isinstance(domain, Categorical):
        return f"the codes 0..{len(domain.choices) - 1} of {list(domain.choices)[:6]!r}"
    return repr(replace(domain, when=()))
