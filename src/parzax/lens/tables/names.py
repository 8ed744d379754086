"""Names of columns that somebody gives: checked, and suggested where one is not there."""

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from parzax.lens._words import listed
from parzax.lens.tables.formats import bare_name


def named_columns(argument: str, names: Any, columns: Collection[str], most: int | None = None) -> list[str]:
    """Column names as a list, from one name, a list or None (no names); ValueError for a missing column."""
    names = [] if names is None else names
    names = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be a column name or a list of them, got {names!r}.")
    if most is not None and len(names) > most:
        raise TypeError(f"{argument} must be one column, got {names!r}.")
    if absent := [name for name in names if name not in columns]:
        raise ValueError(f"{argument}: the table has no column {listed(absent)}; {suggest(absent, columns)}")
    return names


def suggest(absent: Sequence[str], names: Collection[str], otherwise: str = "its columns are") -> str:
    """For an error message: at most three of ``names`` that each absent one may stand for, else all names.

    Capitals, signs and all but the last part of a name do not count: "LR" may stand for "config/lr".
    """
    alike = [similar for name in absent for similar in _find_similar(name, names)]
    return f"did you mean {listed(alike)}?" if alike else f"{otherwise} {listed([*names], 60)}."


def _find_similar(wanted: str, names: Collection[str]) -> list[str]:
    ends = {name: _last_part(name) for name in names}
    same = [name for name in names if ends[name] == _last_part(wanted)]
    near = get_close_matches(_last_part(wanted), {*ends.values()}, n=3, cutoff=0.8)
    return (same or [name for name in names if ends[name] in near])[:3]


def _last_part(name: str) -> str:
    last = re.split(r"[./]", bare_name(name))[-1]
    return re.sub(r"[\W_]", "", last.lower()) or last
