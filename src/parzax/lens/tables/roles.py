"""Columns by their names, and the parameters among them."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from parzax.lens.tables.columns import Table, check_unique, listed
from parzax.lens.tables.formats import FORMATS, OPTUNA, Format

MAX_PARAMETERS = 10_000
# Columns of recorded regimes, and of the index that pandas writes to files.
_INDEX = re.compile(r"regimes_.*|Unnamed: \d+|__index_level_0__|#|")
_OF_OPTUNA = re.compile(
    rf"number|duration|trial_id|value|values_.*|datetime_.*|user_attrs_.*|system_attrs_.*|{_INDEX.pattern}"
)


def full_name(name: str, columns: Sequence[str]) -> str:
    """The only column whose last part is ``name`` (ignoring capitals and signs); ``name`` if there is none.

    Columns that a format calls parameters do not count.
    """
    if name in columns:
        return name
    same = [column for column in columns if _last_part(column) == _letters(name)]
    same = [column for column in same if bare_name(column) == column]
    return same[0] if len(same) == 1 else name


def named_columns(argument: str, names: Any, columns: Sequence[str], most: int | None = None) -> list[str]:
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


def suggest(absent: Sequence[str], names: Sequence[str], otherwise: str = "its columns are") -> str:
    """For an error message: at most three of ``names`` that each absent one may stand for, else all names.

    Capitals, signs and all but the last part of a name do not count: "LR" may stand for "config/lr".
    """
    alike = [similar for name in absent for similar in _find_similar(name, names)]
    return f"did you mean {listed(alike)}?" if alike else f"{otherwise} {listed(names, 60)}."


def _find_similar(wanted: str, names: Sequence[str]) -> list[str]:
    ends, letters = {name: _last_part(name) for name in names}, {name: _letters(name) for name in names}
    end, word = _last_part(wanted), _letters(wanted)
    same = [name for name in names if ends[name] == end or letters[name] == word]
    near = get_close_matches(word, {*letters.values(), *ends.values()}, n=3, cutoff=0.8)
    return (same or [name for name in names if letters[name] in near or ends[name] in near])[:3]


def _last_part(name: str) -> str:
    return _letters(re.split(r"[./]", bare_name(name))[-1])


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower()) or name


def bare_name(column: str) -> str:
    """The parameter's name without the prefix of a format."""
    names = (form.parameter_of(column) for form in FORMATS)
    return next((name for name in names if name is not None), column)


def find_parameters(
    table: Table,
    form: Format,
    target: str,
    names: Sequence[str] | None,
    taken: Sequence[str],
    asked: list[str],
) -> tuple[dict[str, str], bool, list[str]]:
    """The columns of the parameters, and which other columns are left out.

    They are the columns ``asked`` for, those of the ``names`` of a space, those that the format marks, or all
    columns that the format does not call something else.

    Args:
        table: all columns except those to drop.
        form: the format of the table.
        target: the first objective.
        names: parameter names of a space. The column of a name has the prefix of the format, or the name
            itself.
        taken: columns with another role.
        asked: columns that the user calls parameters.

    Returns:
        Dictionary parameter -> column; whether the columns are certain to be parameters; and sentences on
        columns that are left out.
    """
    if asked:
        check_unique([bare_name(column) for column in asked])
        return {bare_name(column): column for column in asked}, True, []
    free = [column for column in table.names if column not in taken]
    marked = {name: c for c in free if (name := form.parameter_of(c)) is not None}
    if names is not None:
        column_of = {name: marked.get(name, name) for name in names}
        if absent := [name for name, column in column_of.items() if column not in table.names]:
            what = f"the parameters {listed(absent)} of the space (params_<name> or <name>)"
            raise ValueError(f"the table has no column for {what}; {suggest(absent, table.names)}")
        return column_of, True, []
    others = form.find_others(table.names) | {c for c in free if _INDEX.fullmatch(c)}
    at = table.names.index(target)
    if form.results_last and not others.issuperset(table.names[:at]):
        others |= {*table.names[at:]}
    column_of = marked or {column: column for column in free if column not in others}
    if len(column_of) > MAX_PARAMETERS:
        what = f"{len(column_of)} columns would be parameters, more than {MAX_PARAMETERS}"
        raise ValueError(f"{what}; name the parameters, or pass a space.")
    # Other columns of Optuna need no mention.
    unsaid = _INDEX if form is not OPTUNA else _OF_OPTUNA
    rest = [c for c in free if c not in column_of.values() and not unsaid.fullmatch(c)]
    if not column_of:
        remedy = "name the parameters (parameters=, --parameters)"
        raise ValueError(f"no column is left for parameters; columns are {listed(table.names)}; {remedy}.")
    return column_of, bool(marked), [f"the columns {listed(rest)}"] if rest else []
