"""CSV, TSV, Parquet, Feather and Arrow files, read by whichever of pyarrow, polars and pandas is there."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

SEPARATORS = {".csv": ",", ".tsv": "\t"}
PARQUET = (".parquet", ".pq")
COLUMNAR = (*PARQUET, ".feather", ".arrow", ".ipc")
MAX_COLUMNS = 100_000
# A longer row is not a row of a log.
_MAX_ROW = 1 << 26
_NULLS = ["", "NaN", "nan", "NA", "N/A", "<NA>", "null", "NULL"]


def read_table(path: Path) -> Any:
    """A pyarrow, polars or pandas table; ValueError for a file that is none."""
    suffix = path.suffix.lower()
    readers = {"pyarrow": _with_pyarrow, "polars": _with_polars, "pandas": _with_pandas}
    read = next((reader for library, reader in readers.items() if find_spec(library)), None)
    if read is None:
        raise ImportError(
            f"reading {suffix} files needs pyarrow, polars or pandas; pip install 'parzax[dataframe]'."
        )
    with path.open("rb") as file:
        if suffix in SEPARATORS:
            head = file.readline(1 << 24)
            if b"\0" in head[:8192] + file.read(8192):
                raise ValueError(f"{str(path)!r} is not a text file.")
            _check_width(file, head.count(SEPARATORS[suffix].encode()) + 1)
            file.seek(0)
        try:
            return read(file, suffix)
        except Exception as error:  # each library has its own errors for a damaged file
            if isinstance(error, ImportError) or str(error).startswith(repr(str(path))):
                raise
            message = (str(error) or type(error).__name__).rstrip(".")
            if "straddling" in message:
                message = f"a row is longer than {_MAX_ROW >> 20} MiB"
            raise ValueError(f"{str(path)!r} cannot be read as {suffix[1:]}: {message}.") from error


def _with_pyarrow(file: BinaryIO, suffix: str) -> Any:
    import pyarrow

    if suffix in SEPARATORS:
        from pyarrow import csv

        # One block as far as possible: types are inferred from the first one.
        block = min(max(os.fstat(file.fileno()).st_size + 1, 1 << 20), _MAX_ROW)
        return csv.read_csv(
            file,
            read_options=csv.ReadOptions(block_size=block),
            parse_options=csv.ParseOptions(delimiter=SEPARATORS[suffix], newlines_in_values=True),
            convert_options=csv.ConvertOptions(null_values=_NULLS, strings_can_be_null=True),
        )
    if suffix in PARQUET:
        from pyarrow import parquet

        with parquet.ParquetFile(file) as columns:
            _check_width(file, columns.metadata.num_columns)
            return columns.read()
    try:
        return pyarrow.ipc.open_file(file).read_all()
    except pyarrow.ArrowInvalid:
        file.seek(0)
        return pyarrow.ipc.open_stream(file).read_all()


def _with_polars(file: BinaryIO, suffix: str) -> Any:
    import polars

    if suffix in SEPARATORS:
        separator = SEPARATORS[suffix]
        return polars.read_csv(file, separator=separator, null_values=_NULLS, infer_schema_length=None)
    return polars.read_parquet(file) if suffix in PARQUET else polars.read_ipc(file)


def _with_pandas(file: BinaryIO, suffix: str) -> Any:
    import pandas

    if suffix in SEPARATORS:
        # Before version 3.1 pandas rounds decimals roughly in the last place, unless it is asked not to.
        inexact = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
        exact: Any = {"float_precision": "round_trip"} if inexact else {}
        return pandas.read_csv(file, sep=SEPARATORS[suffix], na_values=_NULLS, keep_default_na=False, **exact)
    return pandas.read_parquet(file) if suffix in PARQUET else pandas.read_feather(file)


def _check_width(file: BinaryIO, n_columns: int) -> None:
    if n_columns > MAX_COLUMNS:
        raise ValueError(
            f"{file.name!r} has {n_columns} columns, more than {MAX_COLUMNS}; keep those of the parameters."
        )
