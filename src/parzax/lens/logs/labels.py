"""Convert the columns of a table to values of a space: codes for labels, numbers for the rest."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from parzax.lens._words import listed, short
from parzax.lens.logs.columns import Column
from parzax.space import INACTIVE, Categorical, Space, choice_key

# Code of a label that is not among the choices.
_UNKNOWN = -1


def match_label(label: Any, domain: Categorical) -> int:
    """Code of ``label``: the choice of equal type and value, else the only choice that it may stand for."""
    exact = domain.codes.get(choice_key(label))
    if exact is not None:
        return exact
    fitting = [code for code, choice in enumerate(domain.choices) if _fits(label, choice)]
    return fitting[0] if len(fitting) == 1 else _UNKNOWN


def _fits(label: Any, choice: Any) -> bool:
    """Whether a table may hold the choice as this label: 1 as 1.0, True as a text, the text "0.5" as 0.5."""
    types = {type(label), type(choice)}
    if types == {str} or choice is None:
        return label == "None" and choice is None
    if types == {bool, str}:
        return str(label).lower() == str(choice).lower()
    try:
        return str(label) == str(choice) or float(label) == float(choice)
    except (TypeError, ValueError, OverflowError):
        return False


def encode_columns(space: Space, columns: Mapping[str, Column], used: np.ndarray) -> np.ndarray:
    """Values (n, d) for `Observations.from_arrays`.

    A missing entry means inactive, or None if None is a choice and the parameter is active. Only rows
    ``used`` (n,) are checked.
    """
    values, codes = np.full((len(used), len(space.names)), np.nan), {}
    for j, (name, domains) in enumerate(zip(space.names, space.domains, strict=True)):
        if isinstance(domains[0], Categorical):
            codes[j] = [_match_labels(columns[name], d) for d in domains if isinstance(d, Categorical)]
        values[:, j] = codes[j][0] if j in codes else columns[name].as_numbers(used)
    if not codes:
        return values
    regimes, _ = space.classify(values)
    # The codes of a parameter with several domains depend on its regime, and its regime on the codes of its
    # parents. Each pass settles one more generation.
    for _ in space.names:
        before = values.copy()
        for j, codes_of_domains in codes.items():
            for i, codes_of_domain in enumerate(codes_of_domains):
                values[:, j] = np.where(regimes[:, j] == i, codes_of_domain, values[:, j])
            values[(regimes[:, j] == INACTIVE) & columns[space.names[j]].missing(), j] = np.nan
        if np.array_equal(before, values, equal_nan=True):
            break
        regimes, _ = space.classify(values)
    for j in codes:
        unknown = np.flatnonzero((values[:, j] == _UNKNOWN) & (regimes[:, j] != INACTIVE) & used)
        if len(unknown):
            _refuse(columns[space.names[j]], int(unknown[0]), space.domains[j][regimes[unknown[0], j]])
    return values


def _match_labels(column: Column, domain: Categorical) -> np.ndarray:
    """(n,) code of every entry, -1 for a label that is no choice, NaN (or the code of None) where missing."""
    column = column.as_labels()
    none = domain.codes.get(choice_key(None), np.nan)
    # The last entry is for missing entries (index -1).
    return np.array([*(match_label(label, domain) for label in column.labels), none], float)[column.index]


def _refuse(column: Column, i: int, domain: Any) -> None:
    labelled = column.as_labels()
    label = labelled.labels[labelled.index[i]]
    problem = "could be several" if sum(_fits(label, x) for x in domain.choices) > 1 else "is not one"
    raise ValueError(
        f"{column.where(i)}: {short(label)} {problem} of the choices {listed(domain.choices, 12)}."
    )
