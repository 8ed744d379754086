"""The parameters among the columns of a table, and columns by their names."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from parzax.lens.tables.columns import Table, check_unique, listed
from parzax.lens.tables.formats import FORMATS, OPTUNA, PLAIN, Format
from parzax.lens.tables.unmarked import BOOKKEEPING, MAX_PARAMETERS, SEED, find_unmarked


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


class Roles(NamedTuple):
    """Which columns of a table are parameters, and sentences about the other columns.

    Attributes:
        column_of: dictionary: name of a parameter -> its column.
        left_out: sentences on columns that are not parameters, for the report.
        notes: sentences on what was guessed.
    """

    column_of: dict[str, str]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def find_parameters(
    table: Table,
    form: Format,
    names: Sequence[str] | None,
    taken: Sequence[str],
    asked: Sequence[str],
    numbers_of: Callable[[str], np.ndarray | None],
    losses: np.ndarray,
    certain: Collection[str] = (),
) -> Roles:
    """The parameters of a table: by the ``names`` of a space, by the columns ``asked`` for, or by evidence.

    Args:
        table: all columns except those to drop.
        form: the format of the table.
        names: parameter names of a space. The column of a name has the prefix of the format, or the name
            itself.
        taken: columns with another role.
        asked: columns that the user calls parameters.
        numbers_of: returns a column as (n,) numbers, or None for labels.
        losses: (n, m) objectives, NaN in rows that are not used.
        certain: columns that are parameters in any case, because their bounds are given.
    """
    if asked:
        column_of = {bare_name(column): column for column in asked}
        check_unique([bare_name(column) for column in asked])
        return Roles(column_of)
    free = [column for column in table.names if column not in taken]
    marked = {name: c for c in free if (name := form.parameter_of(c)) is not None}
    if names is None and (n := len(marked or free)) > MAX_PARAMETERS:
        what = f"{n} columns would be parameters, more than {MAX_PARAMETERS}"
        raise ValueError(f"{what}; name the parameters, or pass a space.")
    if names is not None:
        column_of = {name: marked.get(name, name) for name in names}
        absent = [name for name, column in column_of.items() if column not in table.names]
        if absent:
            what = f"the parameters {listed(absent)} of the space (params_<name> or <name>)"
            raise ValueError(f"the table has no column for {what}; {suggest(absent, table.names)}")
        return Roles(column_of)
    if marked:
        # The report does not mention Optuna's other columns; unmarked columns of other tools may be
        # parameters.
        others = [c for c in free if c not in marked.values()]
        others = [c for c in others if form is not OPTUNA or not BOOKKEEPING.fullmatch(c)]
        roles = Roles(marked, (f"the columns {listed(others)}",) if others else ())
    else:
        columns, left_out = find_unmarked(free, form, table, taken[0], numbers_of, losses, certain)
        roles = Roles(dict(zip(columns, columns, strict=True)), left_out, _note_seed(columns))
    if form not in (PLAIN, OPTUNA):
        where = f", with its parameters in {form.prefix}*" if form.prefix else ""
        roles = roles._replace(notes=(f"a table of {form.name}{where}", *roles.notes))
    if not roles.column_of:
        reasons = f" ({'; '.join(roles.left_out)})" if roles.left_out else ""
        remedy = "if some are parameters after all, name them (--parameters)"
        raise ValueError(f"no column is a parameter; columns are {listed(table.names)}{reasons}; {remedy}.")
    return roles


def _note_seed(columns: Collection[str]) -> tuple[str, ...]:
    seeds = [column for column in columns if SEED.fullmatch(column)]
    if len(seeds) != 1:
        return ()
    option = f"seed={seeds[0]!r} (--seed {quote(seeds[0])})"
    return (f"{seeds[0]}: if it numbers repeated runs, {option} gives standard errors",)


def bare_name(column: str) -> str:
    """The parameter's name without the prefix of a format."""
    names = (form.parameter_of(column) for form in FORMATS)
    return next((name for name in names if name is not None), column)
