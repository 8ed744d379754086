"""What each column of a table is: objective, parameter, bookkeeping."""

import re
from collections.abc import Iterable, Sequence
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
    several = [c for c in columns if c.startswith("values_")]
    if isinstance(target, str) and target == "value" and target not in columns and several:
        return sorted(several, key=lambda c: int(c[7:]) if c[7:].isdigit() else columns.index(c))
    targets = named_columns("target", target, columns)
    if not targets:
        raise TypeError(f"target must be a column name or a list of them, got {target!r}.")
    check_unique(targets)
    return targets


def named_columns(argument: str, names: Any, columns: Sequence[str], most: int | None = None) -> list[str]:
    """A column name or a list of them as a list, each of which must exist; none for None."""
    names = [] if names is None else names
    names = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be a column name or a list of them, got {names!r}.")
    if most is not None and len(names) > most:
        raise TypeError(f"{argument} must be one column, got {names!r}.")
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(
            f"{argument}: the table has no column {listed(absent)}; its columns are {listed(columns)}."
        )
    return names


def find_parameters(
    columns: Sequence[str], names: Sequence[str] | None, taken: Sequence[str], trial_states: bool
) -> tuple[dict[str, str], list[str]]:
    """Parameter name -> column, of a space's ``names`` or all that are not ``taken``; and what was guessed.

    Of a space it is ``params_<name>``, else ``<name>``. A column ``state`` without trial states is like any.
    """
    free, left = [c for c in columns if c not in taken], []
    ordinary = not trial_states and "state" in free
    if names is not None:
        present = set(columns)
        found = {name: c for name in names for c in (name, PREFIX + name) if c in present}
        absent = [name for name in names if name not in found]
        if absent:
            what = f"the parameters {listed(absent)} of the space (params_<name> or <name>)"
            raise ValueError(f"the table has no column for {what}; its columns are {listed(columns)}.")
        ordinary = ordinary and "state" not in found.values()
    else:
        found = {c.removeprefix(PREFIX): c for c in free if c.startswith(PREFIX)}
        if not found:
            left = [c for c in free if _BOOKKEEPING.fullmatch(c) and not (c == "state" and ordinary)]
            hidden = set(left)
            found = {c: c for c in free if c not in hidden}
        if not found:
            raise ValueError(f"no column is a parameter; the columns are {listed(columns)}.")
        if len(found) > MAX_PARAMETERS:
            what = f"{len(found)} columns would be parameters, more than {MAX_PARAMETERS}"
            raise ValueError(f"{what}; pass a space that names the parameters, or drop the other columns.")
    notes = [f"not parameters: the columns {listed(left)}"] if left else []
    if ordinary:
        what = "a parameter" if "state" in found.values() else "ignored"
        notes.append(f"state: none of its values is a trial state, so it leaves out no row and is {what}")
    return found, notes
