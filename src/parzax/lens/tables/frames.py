"""Data frames of any library as tables; cells that hold records become columns."""

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from parzax import _checks
from parzax.lens.tables.columns import Column, Table, check_unique, listed
from parzax.lens.tables.records import parse_cell, to_table

# Columns whose text may be a record, as in files with tables of Weights & Biases.
_NESTED = ("config", "summary", "params", "hyperparameters")
# Columns with more different plain numbers are read at once.
_MANY = 256


def open_table(df: Any) -> Table:
    """A data frame (pandas, polars, pyarrow, anything narwhals reads) as a table; a `Table` as it is."""
    if isinstance(df, Table):
        return df
    nw = _checks.optional("narwhals", "Reading tables", "dataframe")
    library = type(df).__module__.partition(".")[0]
    names = getattr(df, "column_names" if library == "pyarrow" else "columns", ())
    if library == "pandas" and not all(isinstance(name, str) for name in names):
        raise ValueError("the table's column names must be plain strings (no multi-index, no numbers).")
    check_unique([name for name in names if isinstance(name, str)])
    frame = nw.from_native(df, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    _checks.instance("df", frame, nw.DataFrame, "a table (pandas, polars, pyarrow, ...)")
    if not frame.columns:
        raise ValueError("the table has no columns.")
    if len(frame) == 0:
        raise ValueError(f"the table has no rows; its columns are {listed(frame.columns)}.")
    nested = {
        name: cells for name in frame.columns if (cells := _nested_cells(name, frame.get_column(name), nw))
    }
    parts = {name: to_table([{name: cell} for cell in cells]) for name, cells in nested.items()}
    part_of = {column: part for part in parts.values() for column in part.names}
    names = [column for name in frame.columns for column in (parts[name].names if name in parts else (name,))]
    check_unique(names)

    def read(name: str) -> Column:
        if name in part_of:
            return part_of[name].read(name)
        return _read_series(name, frame.get_column(name), nw)

    return Table(names, len(frame), read)


def _nested_cells(name: str, series: Any, nw: Any) -> list[Any]:
    """The cells of a column of records, None where a cell is empty; [] for any other column."""
    if isinstance(series.dtype, nw.Struct):
        return series.to_list()
    if series.dtype != nw.Object and not (series.dtype == nw.String and name in _NESTED):
        return []
    first = series.drop_nulls().head(1).to_list()
    if not first or not isinstance(parse_cell(first[0]), Mapping):
        return []
    cells = list(map(parse_cell, series.to_list()))
    return [cell if isinstance(cell, Mapping) else None for cell in cells]


def _read_series(name: str, series: Any, nw: Any) -> Column:
    """A narwhals series as a column; ValueError for dates, times and bytes."""
    dtype, rows = series.dtype, np.arange(len(series))
    if dtype.is_numeric():
        values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        missing, integers = np.isnan(values), dtype.is_integer()
        promoted = not integers and bool(missing.any() and (missing | (values == np.floor(values))).all())
        return Column(name, rows, numbers=values, integers=integers, promoted=promoted)
    if dtype.is_temporal() or dtype == nw.Binary:
        kind = "dates or times" if dtype.is_temporal() else str(dtype)
        advice = "if it is a parameter, write it as numbers or text"
        raise ValueError(f"column {name!r}: it holds {kind}, neither numbers nor labels; {advice}.")
    if dtype == nw.String:
        return read_text(name, series.to_arrow())
    labels, null = series.to_list(), series.is_null()
    if dtype not in (nw.Boolean, nw.Enum):
        labels = [x.item() if isinstance(x, np.generic) else x for x in labels]
        labels = [None if isinstance(x, float) and x != x else x for x in labels]
    if null.any():
        labels = [None if missing else x for x, missing in zip(labels, null.to_list(), strict=True)]
    return Column.of_labels(name, rows, labels, categories=dtype in (nw.Categorical, nw.Enum))


def read_text(name: str, array: Any) -> Column:
    """A pyarrow array of text as a column: booleans, many different plain numbers, or labels.

    Numbers in text are labels here, which `parzax.lens.tables.spelling` reads; it takes long for many.
    """
    from pyarrow import ArrowInvalid, float64, string

    compute: Any = import_module("pyarrow.compute")
    array, rows = array.cast(string()), np.arange(len(array))
    n_texts = compute.count_distinct(array).as_py()
    if n_texts > _MANY and not compute.any(compute.match_substring_regex(array, r"^[+-]?0\d")).as_py():
        with suppress(ArrowInvalid):
            numbers = array.cast(float64())
            if compute.count_distinct(numbers).as_py() == n_texts:
                whole = compute.all(compute.match_substring_regex(array, r"^[+-]?\d+$")).as_py()
                return Column(name, rows, numbers=numbers.to_numpy(), promoted=bool(whole))
    column = Column.of_labels(name, rows, array.to_pylist())
    if column.labels and {label.lower() for label in column.labels} <= {"true", "false"}:
        labels = [None if i < 0 else column.labels[i].lower() == "true" for i in column.index]
        return Column.of_labels(name, rows, labels)
    return column
