"""From the columns of a table to values of a given space: codes for labels, numbers for the rest."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from parzax.observations.columns import Column, short
from parzax.space import INACTIVE, Categorical, Space, choice_key

_UNKNOWN = -1.0


def match(label: Any, domain: Categorical) -> int:
    """Code of ``label`` among the choices of ``domain``, -1 if it is none of them.

    By type and value first. Otherwise by what a table may have made of a choice, if only one
    choice fits: a number of another type (1.0 for 1), its text ("True", "0.5"), or a number for its text.
    """
    exact = domain.codes.get(choice_key(label))
    if exact is not None:
        return exact
    fitting = [code for code, choice in enumerate(domain.choices) if _fits(label, choice)]
    return fitting[0] if len(fitting) == 1 else -1


def _fits(label: Any, choice: Any) -> bool:
    if choice is None:
        return label == "None"
    if isinstance(label, str) and isinstance(choice, bool):
        return label.lower() == str(choice).lower()
    if isinstance(label, bool) and isinstance(choice, str):
        return choice.lower() == str(label).lower()
    if isinstance(label, str) and isinstance(choice, str):
        return False
    if str(label) == str(choice):
        return True
    try:
        return float(label) == float(choice)
    except (TypeError, ValueError, OverflowError):
        return False


def encode_columns(
    space: Space, columns: Mapping[str, Column], used: np.ndarray, given: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray | None]:
    """Values and, where they are needed, regimes of all rows.

    A missing entry is inactive; for a parameter that is active in that row and has the choice None, it
    is that choice.

    Args:
        space: the search space.
        columns: parameter name -> its column, n rows.
        used: (n,) rows that count; only these are checked.
        given: parameter name -> (n,) recorded regime, -1 = inactive.

    Returns:
        (n, d) values as `Observations.from_arrays` takes them, and (n, d) regimes or None.

    Raises:
        ValueError: naming row and column, for a label that is no choice or text where a number belongs.
    """
    values = np.full((len(used), len(space)), np.nan)
    codes: dict[str, list[np.ndarray]] = {}
    for j, (name, domains) in enumerate(zip(space.names, space.domains, strict=True)):
        if isinstance(domains[0], Categorical):
            codes[name] = [_codes(columns[name], d) for d in domains if isinstance(d, Categorical)]
            values[:, j] = codes[name][0]
        else:
            column = columns[name]
            values[used, j] = column.take(used).as_numbers()
    regimes = _regimes(space, values, given)
    # Codes of a parameter with several domains depend on its regime, and regimes on the codes of
    # its parents: each pass settles one more generation.
    for _ in range(len(space)):
        before = values.copy()
        for name, own in codes.items():
            j = space.index(name)
            for i, of_domain in enumerate(own):
                here = regimes[:, j] == i
                values[here, j] = of_domain[here]
            inactive = regimes[:, j] == INACTIVE
            values[inactive & columns[name].missing(), j] = np.nan
        if np.array_equal(before, values, equal_nan=True):
            break
        regimes = _regimes(space, values, given)
    for name in codes:
        j = space.index(name)
        unknown = np.flatnonzero((values[:, j] == _UNKNOWN) & (regimes[:, j] != INACTIVE) & used)
        if len(unknown):
            _refuse(columns[name], int(unknown[0]), space[name][regimes[unknown[0], j]])
    return values, regimes if given else None


def _codes(column: Column, domain: Categorical) -> np.ndarray:
    """(n,) code of every entry, -1 for a label that is no choice, NaN (or the code of None) where missing."""
    found, index = column.distinct()
    # The last entry is for index -1, missing.
    table = np.array([*(match(x, domain) for x in found), domain.codes.get(choice_key(None), np.nan)], float)
    return table[index]


def _regimes(space: Space, values: np.ndarray, given: Mapping[str, np.ndarray]) -> np.ndarray:
    if not given:
        return space.derive_regimes(values)
    regimes = np.empty(values.shape, dtype=np.int16)
    rest = [name for name in space.names if name not in given]
    try:
        others = Space({name: space[name] for name in rest}) if rest else None
    except ValueError as error:
        raise ValueError(
            f"with recorded regimes, those of their dependants must be recorded too: {error}"
        ) from error
    if others is not None:
        at = [space.index(name) for name in rest]
        regimes[:, at] = others.derive_regimes(values[:, at])
    for name, regime in given.items():
        regimes[:, space.index(name)] = regime
    return regimes


def _refuse(column: Column, i: int, domain: Any) -> None:
    label = column.distinct()[0][column.distinct()[1][i]]
    choices = ", ".join(map(short, domain.choices[:12])) + (", ..." if len(domain.choices) > 12 else "")
    several = sum(_fits(label, choice) for choice in domain.choices) > 1
    raise ValueError(
        f"{column.where(i)}: {short(label)} "
        + ("could be several" if several else "is not one")
        + f" of the choices {choices}."
    )
