"""Rows against their space: regimes, values outside, missing and superfluous ones."""

from typing import Any

import numpy as np

from parzax import _checks
from parzax.space import INACTIVE, Categorical, Domain, Space


def checked_regimes(
    space: Space, values: np.ndarray, regime: Any, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Regimes of all rows, and the values with unusable entries of unused rows set to NaN.

    Args:
        space: the search space.
        values: (..., n, d) native values.
        regime: (..., n, d) int or None to derive it.
        used: (..., n) rows that count; only these are checked.

    Returns:
        (..., n, d) int16 regimes, (..., n, d) float64 values.
    """
    regimes = space.derive_regimes(values) if regime is None else _given(space, values, regime)
    missing = np.isnan(values)
    for column, (name, domains) in enumerate(zip(space.names, space.domains, strict=True)):
        bad = np.zeros(used.shape, dtype=bool)
        value, own = values[..., column], regimes[..., column]
        absent = missing[..., column]
        for i, domain in enumerate(domains):
            # One domain that always applies is by far the commonest case.
            here = None if len(domains) == 1 and not domain.conditions and regime is None else own == i
            wrong = domain.outside(value)
            if here is not None:
                wrong &= here
            if not wrong.any():
                continue
            _raise_first(
                wrong & used & absent, values, column, name, "is missing but the parameter is active"
            )
            _raise_first(wrong & used, values, column, name, f"is outside {_describe(domain)}")
            bad |= wrong
        superfluous = (own == INACTIVE) & ~absent
        if superfluous.any():
            _raise_first(superfluous & used, values, column, name, "is given but the parameter is inactive")
            bad |= superfluous
        if bad.any():
            regimes[..., column] = np.where(bad, INACTIVE, own)
            values = values.copy()
            values[..., column] = np.where(bad, np.nan, value)
    if regime is not None:
        _check_conditions(space, values, regimes, used)
    return regimes, values


def _given(space: Space, values: np.ndarray, regime: Any) -> np.ndarray:
    regime = np.asarray(regime)
    if regime.shape != values.shape or regime.dtype.kind not in "iu":
        raise ValueError(
            f"regime must be integers of shape {values.shape}, "
            f"got dtype {regime.dtype}, shape {regime.shape}."
        )
    counts = np.array([len(d) for d in space.domains])
    bad = np.argwhere((regime < INACTIVE) | (regime >= counts))
    if len(bad):
        *row, column = bad[0]
        raise ValueError(
            f"regime: {_checks.axis_label(tuple(row))}, column {space.names[column]!r} is "
            f"{int(regime[tuple(bad[0])])}; it must be -1 (inactive) or below {counts[column]}."
        )
    return regime.astype(np.int16)


def _check_conditions(space: Space, values: np.ndarray, regimes: np.ndarray, used: np.ndarray) -> None:
    """Given regimes must be those of the conditions wherever the conditions can tell."""
    derived = space.derive_regimes(values, recorded=regimes)
    found = np.argwhere((derived != regimes) & used[..., None])
    if len(found):
        *row, column = where = tuple(found[0])
        raise ValueError(
            f"regime: {_checks.axis_label(tuple(row))}, column {space.names[column]!r} is "
            f"{int(regimes[where])}, but by the conditions of the space it is {int(derived[where])}; "
            "leave regime out to derive it."
        )


def _raise_first(mask: np.ndarray, values: np.ndarray, column: int, name: str, what: str) -> None:
    found = np.argwhere(mask)
    if len(found):
        where = tuple(found[0])
        value = float(values[(*where, column)])
        raise ValueError(
            f"values: {_checks.axis_label(where)}, column {column} ({name!r}) = {value!r} {what}"
            f"{_more(len(found))}."
        )


def _more(count: int) -> str:
    return f" (and {count - 1} more such rows)" if count > 1 else ""


def _describe(domain: Domain) -> str:
    if isinstance(domain, Categorical):
        return f"the codes 0..{len(domain.choices) - 1} of {list(domain.choices)[:6]!r}"
    text = repr(domain)
    return text if not domain.conditions else text.split("when=")[0].rstrip(", ") + ")"
