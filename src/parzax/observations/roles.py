"""What each column of a table is: objective, parameter, bookkeeping."""

import re
from collections.abc import Sequence
from typing import Any

from parzax.observations.columns import check_unique, listed

# Optuna's `trials_dataframe`, and the index columns that pandas writes to files.
_BOOKKEEPING = re.compile(
    r"number|state|duration|trial_id|value|values_.*|datetime_.*|user_attrs_.*|system_attrs_.*"
    r"|regimes_.*|Unnamed: 0|__index_level_0__|"
)
PREFIX = "params_"
MAX_PARAMETERS = 10_000


def find_targets(columns: Sequence[str], target: str | Sequence[str]) -> list[str]:
    """The objective columns; "value" also stands for all of ``values_*``."""
    if isinstance(target, str):
        several = [c for c in columns if c.startswith("values_")]
        if target == "value" and "value" not in columns and several:
            return sorted(several, key=lambda c: int(c[7:]) if c[7:].isdigit() else columns.index(c))
        targets = [target]
    else:
        targets = list(target)
    if not targets or not all(isinstance(t, str) for t in targets):
        raise TypeError(f"target must be a column name or a list of them, got {target!r}.")
    _require("target", targets, columns)
    check_unique(targets)
    return targets


def named_columns(argument: str, names: Any, columns: Sequence[str]) -> list[str]:
    """A column name or a list of them as a list, each of which must exist."""
    names = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be a column name or a list of them, got {names!r}.")
    _require(argument, names, columns)
    return names


def find_parameters(
    columns: Sequence[str], used: Sequence[str], ordinary: Sequence[str] = ()
) -> tuple[dict[str, str], list[str]]:
    """Parameter name -> column, without a space; and the columns left out as bookkeeping.

    Args:
        columns: all columns.
        used: targets, weight and constraints.
        ordinary: columns that hold something else than the bookkeeping that their names promise.
    """
    prefixed = {c.removeprefix(PREFIX): c for c in columns if c.startswith(PREFIX) and c not in used}
    taken = set(used)
    if prefixed:
        found, left = prefixed, []
    else:
        left = [c for c in columns if _BOOKKEEPING.fullmatch(c) and c not in taken and c not in ordinary]
        hidden = taken.union(left)
        found = {c: c for c in columns if c not in hidden}
    if not found:
        raise ValueError(f"no column is a parameter; the columns are {listed(columns)}.")
    if len(found) > MAX_PARAMETERS:
        raise ValueError(
            f"{len(found)} columns would be parameters, more than {MAX_PARAMETERS}; pass a space that names "
            "the parameters, or drop the other columns."
        )
    return found, left


def find_space_columns(columns: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Parameter name -> column, for the names of a space: ``params_<name>``, else ``<name>``."""
    present = set(columns)
    found, absent = {}, []
    for name in names:
        column = next((c for c in (PREFIX + name, name) if c in present), None)
        if column is None:
            absent.append(name)
        else:
            found[name] = column
    if absent:
        raise ValueError(
            f"the table has no column for the parameters {listed(absent)} of the space (params_<name> or "
            f"<name>); its columns are {listed(columns)}."
        )
    return found


def _require(argument: str, names: Sequence[str], columns: Sequence[str]) -> None:
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(
            f"{argument}: the table has no column {listed(absent)}; its columns are {listed(columns)}."
        )
