"""Tables: columns by name, from data frames and from records, whose nested values become columns.

``config/lr`` is the value ``lr`` within the record ``config``.
"""

import ast
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from parzax import _checks
from parzax.lens._words import listed, short
from parzax.lens.logs.columns import MAX_WHOLE, Column

# Keys of the record that Weights & Biases makes of each value of a configuration.
_WRAPPED = {"value", "desc"}
# Columns whose text may be a record, as in files with tables of Weights & Biases.
_NESTED = ("config", "summary", "params", "hyperparameters")
# Columns with more different plain numbers are read at once.
_MANY = 256


@dataclass(frozen=True)
class Table:
    """The columns of a log of ``n`` rows, by name."""

    columns: dict[str, Column]
    n: int

    def without(self, *names: str) -> "Table":
        """The table without some columns."""
        return Table({name: x for name, x in self.columns.items() if name not in names}, self.n)


def check_unique(names: Sequence[str]) -> None:
    """Refuse a name that appears twice."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"column {short(twice)} appears more than once.")


def stack_tables(tables: Sequence[Table]) -> Table:
    """One table with the rows of several tables; columns that a table lacks are missing values."""
    if len(tables) == 1:
        return tables[0]
    columns = {}
    for name in dict.fromkeys(name for table in tables for name in table.columns):
        parts = (t.columns[name].values() if name in t.columns else [None] * t.n for t in tables)
        columns[name] = Column.of_values(name, [value for part in parts for value in part])
    return Table(columns, sum(table.n for table in tables))


# --- records -------------------------------------------------------------------------------------


def flatten(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A record without nesting; a list becomes its JSON text, which is a label.

    >>> flatten({"loss": 0.3, "config": {"lr": 0.1, "opt": {"name": "adam"}, "layers": [64, 32]}})
    {'loss': 0.3, 'config/lr': 0.1, 'config/opt/name': 'adam', 'config/layers': '[64, 32]'}
    """
    flat: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if prefix == "config/" and isinstance(value, Mapping) and {"value"} <= value.keys() <= _WRAPPED:
            value = value["value"]
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{name}/")
        else:
            flat[name] = json.dumps(value, default=str) if isinstance(value, list) else value
    return flat


def to_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """A table with one row per record; keys that a record lacks are missing values."""
    flat = [flatten(record) for record in records]
    names = dict.fromkeys(name for row in flat for name in row)
    columns = {name: Column.of_values(name, [row.get(name) for row in flat]) for name in names}
    return Table(columns, len(flat))


class _Literals(ast.NodeTransformer):
    """Turns nan and inf into numbers, np.float64(0.5) into what it holds, and other names into text."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id) if node.id.lower() in ("nan", "inf", "infinity") else node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Constant(ast.unparse(node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        wraps_one = len(node.args) == 1 and not node.keywords
        return self.visit(node.args[0]) if wraps_one else ast.Constant(ast.unparse(node))


def _read_repr(text: str) -> Any:
    """The value of Python's repr, of which nothing is executed; ValueError for another text."""
    return ast.literal_eval(_Literals().visit(ast.parse(text.strip(), mode="eval")))


def parse_cell(value: Any) -> Any:
    """The value of a cell; text that is a dictionary in JSON or in Python's repr becomes the dictionary."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        for read in (json.loads, _read_repr):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return read(value)
    return value


# --- data frames ---------------------------------------------------------------------------------


def open_table(df: Any) -> Table:
    """A data frame (pandas, polars, pyarrow, anything narwhals reads) as a table, or plain Python values.

    Those are a dictionary of columns, or a list of records.

    Cells that hold records become columns. A `Table` stays as it is.
    """
    if isinstance(df, Table):
        return df
    if isinstance(df, list) and df and all(isinstance(record, Mapping) for record in df):
        return to_table(df)
    if isinstance(df, Mapping):
        return _read_columns(df)
    names = [*getattr(df, "column_names", getattr(df, "columns", ()))]
    if not all(isinstance(name, str) for name in names):
        raise ValueError("the table's column names must be plain strings (no multi-index, no numbers).")
    check_unique(names)
    nw = _checks.optional("narwhals", "Reading tables", "dataframe")
    frame = nw.from_native(df, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    _checks.instance("df", frame, nw.DataFrame, "a table (pandas, polars, pyarrow, ...)")
    if not frame.columns:
        raise ValueError("the table has no columns.")
    if len(frame) == 0:
        raise ValueError(f"the table has no rows; its columns are {listed(frame.columns)}.")
    columns = [column for name in frame.columns for column in _read_series(name, frame.get_column(name), nw)]
    check_unique([column.name for column in columns])
    return Table({column.name: column for column in columns}, len(frame))


def _read_columns(columns: Mapping[str, Any]) -> Table:
    """A dictionary of columns as a table, such as ``cv_results_`` of scikit-learn; masked is missing."""
    lists = [getattr(column, "tolist", lambda column=column: list(column))() for column in columns.values()]
    sizes = {len(column) for column in lists}
    if len(sizes) > 1:
        raise ValueError(f"the columns have different lengths: {listed(sorted(sizes))}.")
    if sizes <= {0}:
        raise ValueError("the table has no rows.")
    return to_table([dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)])


def _read_series(name: str, series: Any, nw: Any) -> list[Column]:
    """A narwhals series as a column, or as a column for each name in its records.

    Dates, times and the like are labels, by their text.
    """
    dtype = series.dtype
    if dtype.is_numeric():
        numbers = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if dtype.is_integer() and np.nanmax(np.abs(numbers), initial=0) > MAX_WHOLE:
            return [Column.of_values(name, series.to_list())]
        missing = np.isnan(numbers)
        # pandas turns integers with gaps into floats.
        promoted = bool(missing.any() and (missing | (numbers == np.floor(numbers))).all())
        return [Column(name, numbers=numbers, integers=dtype.is_integer() or promoted)]
    if isinstance(dtype, nw.Struct) or dtype == nw.Object or (dtype == nw.String and name in _NESTED):
        first = series.drop_nulls().head(1).to_list()
        if first and isinstance(parse_cell(first[0]), Mapping):
            cells = map(parse_cell, series.to_list())
            records = [{name: cell if isinstance(cell, Mapping) else None} for cell in cells]
            return [*to_table(records).columns.values()]
    if dtype == nw.String:
        return [_read_text(name, series.to_arrow())]
    cells = zip(series.to_list(), series.is_null().to_list(), strict=True)
    values = [None if missing else x.item() if isinstance(x, np.generic) else x for x, missing in cells]
    return [Column.of_values(name, values, categories=dtype in (nw.Categorical, nw.Enum))]


def _read_text(name: str, array: Any) -> Column:
    """A pyarrow array of text as a column: booleans, many different plain numbers, or labels.

    Numbers in text are labels here, which `parse_numbers` reads; it takes long for many.
    """
    from pyarrow import ArrowInvalid, ChunkedArray, float64, string

    compute: Any = import_module("pyarrow.compute")
    array = array.combine_chunks() if isinstance(array, ChunkedArray) else array
    codes = array.cast(string()).dictionary_encode()
    texts, index = codes.dictionary, codes.indices.fill_null(-1).to_numpy().astype(np.int64)
    if len(texts) > _MANY and not compute.any(compute.match_substring_regex(texts, r"^[+-]?0\d")).as_py():
        with suppress(ArrowInvalid):
            numbers = texts.cast(float64()).to_numpy()
            if len(np.unique(numbers)) == len(texts):
                integers = compute.all(compute.match_substring_regex(texts, r"^[+-]?\d+$")).as_py()
                return Column(name, numbers=np.append(numbers, np.nan)[index], integers=bool(integers))
    labels = tuple(texts.to_pylist())
    if labels and {label.lower() for label in labels} <= {"true", "false"}:
        flags = np.array([*(label.lower() == "true" for label in labels), None])
        return Column.of_values(name, flags[index].tolist())
    return Column(name, labels=labels, index=index)
