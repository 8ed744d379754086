"""Opening a data frame: pandas, polars, pyarrow, anything that narwhals reads."""

from typing import Any

import numpy as np

from parzax import _checks
from parzax.observations.columns import Column, Table, check_unique, listed


def open_table(df: Any) -> Table:
    """A data frame as a table; a `Table` as it is."""
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
    return Table(frame.columns, len(frame), lambda name: _column(name, frame.get_column(name)))


def _column(name: str, series: Any) -> Column:
    """A narwhals series as a column; ValueError for types that are neither numbers nor labels."""
    import narwhals as nw

    dtype, rows = series.dtype, np.arange(len(series))
    if dtype.is_numeric():
        values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        missing, integers = np.isnan(values), dtype.is_integer()
        promoted = not integers and bool(missing.any() and (missing | (values == np.floor(values))).all())
        return Column(name, rows, numbers=values, integers=integers, promoted=promoted)
    if dtype.is_temporal() or dtype.is_nested() or dtype == nw.Binary:
        raise ValueError(
            f"column {name!r} holds {dtype}, which is neither a number nor a label; convert it, or drop it."
        )
    labels, null = series.to_list(), series.is_null()
    if dtype not in (nw.Boolean, nw.String, nw.Enum):
        labels = [x.item() if isinstance(x, np.generic) else x for x in labels]
        labels = [None if isinstance(x, float) and x != x else x for x in labels]
    if null.any():
        labels = [None if missing else x for x, missing in zip(labels, null.to_list(), strict=True)]
    return Column.of_labels(name, rows, labels, categories=dtype in (nw.Categorical, nw.Enum))
