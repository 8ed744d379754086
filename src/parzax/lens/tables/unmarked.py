"""The parameters of a table that marks none: all columns whose names, places and values allow it."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from shlex import quote

import numpy as np

from parzax.lens._rows import number_rows
from parzax.lens.tables import evidence
from parzax.lens.tables.columns import Table, listed
from parzax.lens.tables.formats import PLAIN, Format
from parzax.lens.tables.names import RESULT, why_by_name
from parzax.lens.tables.repeats import tells_repeats_apart
from parzax.lens.tables.states import holds_states

# Names of bookkeeping columns: of Optuna's `trials_dataframe`, of recorded regimes, and of the index that
# pandas writes to files.
BOOKKEEPING = re.compile(
    r"number|duration|trial_id|value|values_.*|datetime_.*|user_attrs_.*|system_attrs_.*"
    r"|regimes_.*|Unnamed: \d+|__index_level_0__|#|"
)
SEED = re.compile(r"(.*[._/])?(random[._]?)?seed", re.IGNORECASE)
MAX_PARAMETERS = 10_000
# Choices repeat. If more than this share of a column's labels are different, they identify the rows.
_NEARLY_ALL = 0.8


def find_unmarked(
    free: Sequence[str],
    form: Format,
    table: Table,
    target: str,
    numbers_of: Callable[[str], np.ndarray | None],
    losses: np.ndarray,
    certain: Collection[str],
) -> tuple[list[str], tuple[str, ...]]:
    """The columns that are parameters, and sentences about the other columns.

    ``free`` are the columns without another role, ``target`` is the first objective, and the other arguments
    are as in `find_parameters`. ValueError if a column may as well be a result.
    """
    reasons: dict[str, list[str]] = {}
    parameters: list[str] = []
    numbers: dict[str, np.ndarray] = {}
    first_of: dict[bytes, str] = {}
    written, last_result = form.find_others(table.names), ""

    def why_not(name: str) -> str:
        if name in certain:
            return ""
        if name in written:
            return f"written by {form.name}"
        if form is PLAIN and BOOKKEEPING.fullmatch(name):
            return "bookkeeping"
        if last_result:
            return f"written after the result {last_result!r}"
        column = numbers_of(name)
        why = why_by_name(name, column)
        if column is None:
            return why or _why_no_choices(table, name)
        why = why or evidence.why_by_values(column, losses)
        order = None if why else evidence.order_of_rows(column)
        if order is not None and (first := first_of.setdefault(order, name)) != name:
            return f"the same order of rows as {first!r}"
        if not why:
            numbers[name] = column
        return why

    for name in table.names:
        why = why_not(name) if name in free else ""
        if why:
            reasons.setdefault(why, []).append(name)
        elif name in free:
            parameters.append(name)
        if form.results_last and parameters and (name == target or why == RESULT):
            last_result = name
    settings = [name for name in parameters if name not in certain and not tells_repeats_apart(name)]
    for name, first in _find_copies(table, settings, numbers).items():
        parameters.remove(name)
        reasons.setdefault(f"one value for each value of {first!r}", []).append(name)
    _refuse_doubtful({name: numbers.get(name) for name in parameters}, losses)
    return parameters, tuple(f"{listed(names)}: {why}" for why, names in reasons.items())


def _why_no_choices(table: Table, name: str) -> str:
    """Why the values of a column of labels show that it is no parameter; "" if they do not."""
    if holds_states(table, name):
        return "a state, by its values"
    with suppress(ValueError):  # text that is no number, such as dates
        column = table.read(name).as_labels()
        n = (column.index >= 0).sum()
        if n >= evidence.LEAST_ROWS and len(column.labels) > _NEARLY_ALL * n and not column.categories:
            return "a different label in nearly every row"
    return ""


def _find_copies(table: Table, names: Sequence[str], numbers: Mapping[str, np.ndarray]) -> dict[str, str]:
    """A dictionary: column -> an earlier column with equal values in the same rows, such as its label.

    Only labels and integers with few different values are compared. There must be more settings than values:
    in a table of few settings, each parameter may have a different value in each setting.
    """
    first_of: dict[bytes, str] = {}
    copies, codes = {}, {name: table.codes(name) for name in names}
    for name, code in codes.items():
        n_values = code.max() + 1
        few = 2 <= n_values < table.n**0.5 and table.n >= evidence.LEAST_ROWS
        if few and not (np.nan_to_num(numbers.get(name, 0), posinf=0, neginf=0) % 1).any():
            first = first_of.setdefault(code.tobytes(), name)
            copies |= {name: (first, n_values)} if first != name else {}
    n_settings = number_rows(codes.values(), table.n).max() + 1 if copies else 0
    return {name: first for name, (first, n_values) in copies.items() if n_values < n_settings}


def _refuse_doubtful(numbers: Mapping[str, np.ndarray | None], losses: np.ndarray) -> None:
    """Raise ValueError, with the remedy, if a parameter orders the rows nearly as an objective does.

    ``numbers`` are the columns of all parameters, None for labels and for certain parameters.
    """
    numeric = {name: column for name, column in numbers.items() if column is not None}
    doubtful = [name for name in numeric if evidence.may_be_result(name, numeric, losses)]
    if not doubtful:
        return
    models = np.column_stack([losses, *(numeric[name] for name in doubtful)])
    similar = [name for name in numeric if name not in doubtful]
    similar = [name for name in similar if evidence.order_as(numeric[name], models) >= evidence.SIMILAR]
    clear = [name for name in numbers if name not in (*doubtful, *similar)]
    if not clear:
        similar, clear = [], [name for name in numbers if name not in doubtful]
    first, one = doubtful[0], len(doubtful) == 1
    doubt = (
        f"the column {first!r} orders the rows nearly as the objective does (rank correlation "
        f"{evidence.order_as(numeric[first], losses):.3f}). If {listed(doubtful)} {'is' if one else 'are'}"
    )
    if not clear:
        kind = "a parameter" if one else "parameters"
        raise ValueError(f"{doubt} {kind}, name the parameters: {_option('parameters', doubtful)}.")
    out = [name for name in numbers if name in (*doubtful, *similar)]
    drop, keep = _option("drop", out), _option("parameters", clear)
    remedy = f"drop {'it' if len(out) == 1 else 'them'}: {drop}"
    remedy = remedy if len(drop) < len(keep) else f"name the parameters: {keep}"
    also = f"; {listed(similar)} may be results too (rank correlation of {evidence.SIMILAR} or more)"
    kind, rest = "a result" if one else "results", "if not, --parameters has to name all parameters"
    raise ValueError(f"{doubt} {kind}, {remedy}{also if similar else ''}; {rest}.")


def _option(name: str, columns: Sequence[str]) -> str:
    return f"{name}={list(columns)!r} (--{name} {' '.join(map(quote, columns))})"
